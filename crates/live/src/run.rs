//! A run as far as its news show it: what is done, what is being done, and the last minutes of rates
//! and loads. A pure function of the news, so that every picture drawn from it can be tested.

use crate::news::{Header, News, Notice, TrialEnd};
use plimsoll_model::{
    Cell, Count, CpuTimes, HostLoad, HostName, OpKind, Part, Phase, Plan, Rule, Window, factor,
};
use std::collections::{BTreeMap, VecDeque};

/// Windows kept: two minutes of 100 ms.
const POINTS: usize = 1200;
/// Loads kept of each host.
const LOADS: usize = 600;
/// Most hosts, kinds of operation in a window, and cells of the plan that are kept: a feed is read by
/// another process, which must not take its word for how much memory it needs.
const HOSTS: usize = 64;
const KINDS: usize = 8;
pub(crate) const CELLS: usize = 100_000;

/// A run under way.
#[derive(Clone, Debug)]
pub struct Run {
    /// Which it is and what it is to do.
    pub header: Header,
    /// Seconds from its beginning to the latest news.
    pub at_seconds: f64,
    /// What is being done.
    pub doing: Doing,
    /// The trial under way or the last one.
    pub trial: Option<TrialNow>,
    /// Blocks that are wanted as things stand.
    pub blocks: u32,
    /// The last windows, oldest first.
    pub points: VecDeque<Point>,
    /// The hosts watched.
    pub hosts: Vec<HostNow>,
    /// What is done of each cell that anything is done of.
    cells: BTreeMap<Cell, CellNow>,
    /// News left out because the observer was slow.
    pub missed: u64,
    /// Seconds since the trial's first operation, at the last window's end.
    window_seconds: f64,
    /// Bytes of the phase: all of them, and those done.
    total_bytes: u64,
    done_bytes: u64,
}

/// What is being done.
#[derive(Clone, Debug, PartialEq)]
pub enum Doing {
    /// Connecting.
    Starting,
    /// Watching idle hosts.
    Baseline {
        /// For so long.
        seconds: f64,
    },
    /// Rebooting a host.
    Rebooting {
        /// Which.
        host: HostName,
    },
    /// Setting a factor.
    Setting {
        /// Which, to what and where, in words.
        what: String,
    },
    /// Preparing a subject.
    Preparing {
        /// Its index in the plan.
        subject: usize,
        /// Share (0..1) of the phase, where its end is known.
        share: Option<f64>,
    },
    /// A trial.
    Trial {
        /// What of it.
        phase: Phase,
        /// Share (0..1) of the phase, where its end is known.
        share: Option<f64>,
    },
}

/// A trial under way.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialNow {
    /// Its number, from 0.
    pub number: u32,
    /// Its block, from 0.
    pub block: u32,
    /// Its place in the plan.
    pub cell: Cell,
    /// Trials planned as things stand.
    pub planned: u32,
    /// Whether it is over.
    pub ended: bool,
    /// The seconds left as they were estimated last, and when, in seconds since the run began.
    estimated_seconds: f64,
    seconds_left: f64,
}

/// A window, in rates. Where a trial begins there is none: lines have a gap there.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Seconds since the run began.
    pub at_seconds: f64,
    /// Length of the window in seconds, and what completed in it by kind of operation; `None` of a gap.
    done: Option<(f64, BTreeMap<OpKind, Count>)>,
    /// Mean client latency in seconds, where an operation completed.
    pub latency_seconds: Option<f64>,
}

impl Point {
    fn gap(at_seconds: f64) -> Point {
        Point { at_seconds, done: None, latency_seconds: None }
    }

    /// Whether a trial begins here.
    pub fn is_gap(&self) -> bool {
        self.done.is_none()
    }

    /// The kinds of operation that completed.
    pub fn kinds(&self) -> impl Iterator<Item = (OpKind, Count)> {
        self.done.iter().flat_map(|(_, kinds)| kinds.iter().map(|(kind, count)| (*kind, *count)))
    }

    /// A rate of one kind of operation, or of all; not a number of a gap.
    fn rate(&self, kind: Option<OpKind>, of: fn(Count) -> u64) -> f64 {
        let Some((seconds, kinds)) = &self.done else { return f64::NAN };
        let counted = kinds.iter().filter(|(other, _)| kind.is_none_or(|kind| kind == **other));
        counted.map(|(_, count)| of(*count) as f64).sum::<f64>() / seconds
    }

    /// Bytes per second of one kind of operation, or of all.
    pub fn bytes_per_second(&self, kind: Option<OpKind>) -> f64 {
        self.rate(kind, |count| count.bytes)
    }

    /// Operations per second of one kind, or of all.
    pub fn operations_per_second(&self, kind: Option<OpKind>) -> f64 {
        self.rate(kind, |count| count.operations)
    }
}

/// A host and its last loads.
#[derive(Clone, Debug, Default)]
pub struct HostNow {
    /// Its name in the study.
    pub name: HostName,
    /// Busy share (0..1) of each core, lately.
    pub cores_busy: Vec<f64>,
    /// Its last loads, oldest first.
    pub loads: VecDeque<LoadNow>,
}

/// Load of a host over a short time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadNow {
    /// Seconds since the run began, at the end of that time.
    pub at_seconds: f64,
    /// CPU seconds by class over all cores, per second of all cores: shares from 0 to 1.
    pub shares: CpuTimes,
}

/// What is done of one cell of the plan.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CellNow {
    /// Trials that ran to their end.
    pub complete: u32,
    /// Trials that failed, were stopped or have no figure.
    pub incomplete: u32,
    /// Trials that say nothing about the subject.
    pub void: u32,
    sum: f64,
}

impl CellNow {
    /// Mean headline of the complete trials.
    pub fn mean(&self) -> Option<f64> {
        (self.complete > 0).then(|| self.sum / f64::from(self.complete))
    }
}

impl Run {
    /// A run of which nothing is known but its plan.
    pub fn new(header: Header) -> Run {
        let plan = &header.plan;
        Run {
            at_seconds: 0.0,
            doing: Doing::Starting,
            trial: None,
            blocks: plan.first_blocks(),
            points: VecDeque::new(),
            hosts: Vec::new(),
            cells: BTreeMap::new(),
            missed: 0,
            window_seconds: 0.0,
            total_bytes: 0,
            done_bytes: 0,
            header,
        }
    }

    /// Takes in a piece of news.
    pub fn apply(&mut self, notice: &Notice) {
        if notice.at_seconds.is_finite() {
            self.at_seconds = self.at_seconds.max(notice.at_seconds);
        }
        match &notice.news {
            News::Baseline { seconds } => self.doing = Doing::Baseline { seconds: *seconds },
            News::Preparing { subject } => {
                self.doing = Doing::Preparing { subject: *subject, share: None };
            }
            News::Setting { factor, level, host } => {
                self.doing = Doing::Setting { what: format!("{factor} to {level} on {host}") };
            }
            News::Reboot { host } => self.doing = Doing::Rebooting { host: host.clone() },
            News::Trial { number, block, cell, planned, seconds_left } => {
                self.doing = Doing::Trial { phase: Phase::Prepare, share: None };
                self.trial = Some(TrialNow {
                    number: *number,
                    block: *block,
                    cell: *cell,
                    planned: *planned,
                    ended: false,
                    estimated_seconds: self.at_seconds,
                    seconds_left: *seconds_left,
                });
                self.window_seconds = 0.0;
                self.push(Point::gap(self.at_seconds));
            }
            News::Phase { phase, total_bytes } => self.phase(*phase, total_bytes.0),
            // Its words are for the line of progress.
            News::Step { .. } => self.phase(Phase::Measure, 0),
            News::Progress { bytes } => self.progress(bytes.0),
            News::Window { trial_seconds, window } => self.window(*trial_seconds, window),
            News::Left { seconds } => {
                if let Some(trial) = &mut self.trial {
                    (trial.estimated_seconds, trial.seconds_left) = (self.at_seconds, *seconds);
                }
            }
            News::Loads { hosts } => hosts.iter().for_each(|load| self.load(load)),
            News::Ended { cell, end, headline } => {
                if let Some(trial) = &mut self.trial {
                    trial.ended = true;
                }
                if !is_planned(&self.header.plan, *cell) {
                    return;
                }
                let now = self.cells.entry(*cell).or_default();
                match (end, headline) {
                    (TrialEnd::Void, _) => now.void += 1,
                    (TrialEnd::Complete, Some(value)) if value.is_finite() => {
                        now.complete += 1;
                        now.sum += value;
                    }
                    _ => now.incomplete += 1,
                }
            }
            News::BlocksWanted { blocks } => self.blocks = *blocks,
            // Cells are numbered by all workloads: what follows a piece of news that was missed has no place.
            News::FollowUp { before, workloads } => {
                let known = &mut self.header.plan.workloads;
                if *before == known.len() && known.len() + workloads.len() <= MOST_WORKLOADS {
                    known.extend(workloads.iter().cloned());
                }
            }
            News::Missed { count } => self.missed = *count,
        }
    }

    /// Trials that are over, and trials planned as things stand.
    pub fn trials(&self) -> (u32, u32) {
        match &self.trial {
            Some(trial) => (trial.number.saturating_add(u32::from(trial.ended)), trial.planned),
            None => (
                0,
                u32::try_from(cells(&self.header.plan))
                    .unwrap_or(u32::MAX)
                    .saturating_mul(self.blocks),
            ),
        }
    }

    /// Seconds until the end as things stand, once a trial has begun.
    pub fn seconds_left(&self) -> Option<f64> {
        let trial = self.trial.as_ref()?;
        Some((trial.seconds_left - (self.at_seconds - trial.estimated_seconds)).max(0.0))
    }

    /// Whether more blocks may turn out to be needed.
    pub fn may_grow(&self) -> bool {
        let grows = matches!(self.header.plan.design.rule, Rule::Sequential { .. });
        grows && self.trial.as_ref().is_none_or(|t| t.block < self.blocks)
    }

    /// The latest window that is not a gap, while its trial is under way.
    pub fn now(&self) -> Option<&Point> {
        self.points.back().filter(|p| !p.is_gap())
    }

    /// Whether bytes were moved since so many seconds after the beginning, or nothing at all was done.
    pub fn moves_bytes(&self, from_seconds: f64) -> bool {
        let recent = || self.points.iter().filter(|p| p.at_seconds >= from_seconds);
        recent().flat_map(Point::kinds).any(|(_, count)| count.bytes > 0)
            || !recent().flat_map(Point::kinds).any(|(_, count)| count.operations > 0)
    }

    fn phase(&mut self, phase: Phase, total_bytes: u64) {
        self.total_bytes = total_bytes;
        self.done_bytes = 0;
        let share = (total_bytes > 0).then_some(0.0);
        match (&mut self.doing, &self.trial) {
            (Doing::Preparing { share: now, .. }, _) => *now = share,
            (_, Some(_)) => self.doing = Doing::Trial { phase, share },
            (_, None) => {}
        }
    }

    fn progress(&mut self, bytes: u64) {
        self.done_bytes = self.done_bytes.saturating_add(bytes);
        if let Doing::Preparing { share: Some(share), .. }
        | Doing::Trial { share: Some(share), .. } = &mut self.doing
        {
            *share = (self.done_bytes as f64 / self.total_bytes as f64).min(1.0);
        }
    }

    fn window(&mut self, trial_seconds: f64, window: &Window) {
        let seconds = trial_seconds - self.window_seconds;
        self.window_seconds = trial_seconds;
        if !seconds.is_finite() || seconds <= 0.0 {
            return;
        }
        let operations = window.kinds.values().map(|count| count.operations as f64).sum::<f64>();
        // Little's law gives the mean. Where the number in flight was not measured: in a closed loop
        // everything is in flight all the time.
        let workload = self.trial.as_ref().and_then(|t| self.header.plan.workload(t.cell));
        let closed_loop = workload.map(|workload| {
            let in_flight =
                |part: &Part| f64::from(part.workers.get()) * f64::from(part.depth().get());
            workload.parts.iter().map(in_flight).sum::<f64>() * seconds
        });
        let in_flight = match window.in_flight_ns {
            0 => closed_loop,
            measured => Some(measured as f64 / 1e9),
        };
        let kinds = window.kinds.iter().take(KINDS).map(|(kind, count)| (*kind, *count));
        self.push(Point {
            at_seconds: self.at_seconds,
            done: Some((seconds, kinds.collect())),
            latency_seconds: in_flight.filter(|_| operations > 0.0).map(|area| area / operations),
        });
    }

    fn push(&mut self, point: Point) {
        if self.points.len() >= POINTS {
            self.points.pop_front();
        }
        self.points.push_back(point);
    }

    fn load(&mut self, load: &HostLoad) {
        let known = self.hosts.iter().position(|h| h.name == load.host);
        let place = match known {
            Some(place) => place,
            None if self.hosts.len() >= HOSTS => return,
            None => {
                self.hosts.push(HostNow { name: load.host.clone(), ..HostNow::default() });
                self.hosts.len() - 1
            }
        };
        let host = &mut self.hosts[place];
        let total = load.cpu.total();
        if !total.is_finite() || total <= 0.0 {
            return;
        }
        host.cores_busy.clone_from(&load.cores_busy);
        if host.loads.len() >= LOADS {
            host.loads.pop_front();
        }
        let share = |seconds: f64| seconds / total;
        let cpu = &load.cpu;
        host.loads.push_back(LoadNow {
            at_seconds: self.at_seconds,
            shares: CpuTimes {
                user: share(cpu.user),
                nice: share(cpu.nice),
                system: share(cpu.system),
                idle: share(cpu.idle),
                iowait: share(cpu.iowait),
                irq: share(cpu.irq),
                softirq: share(cpu.softirq),
                steal: share(cpu.steal),
            },
        });
    }

    /// What is done of a cell.
    pub fn cell(&self, cell: Cell) -> CellNow {
        self.cells.get(&cell).copied().unwrap_or_default()
    }
}

/// Workloads up to which news of more is taken in: its writer is another program.
const MOST_WORKLOADS: usize = 1000;

/// How many cells a plan has.
pub(crate) fn cells(plan: &Plan) -> usize {
    let columns = plan.subjects.len().saturating_mul(factor::settings(&plan.factors));
    columns.saturating_mul(plan.workloads.len())
}

fn is_planned(plan: &Plan, cell: Cell) -> bool {
    usize::from(cell.subject) < plan.subjects.len()
        && usize::from(cell.workload) < plan.workloads.len()
        && usize::from(cell.setting) < factor::settings(&plan.factors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::{header, notice, trial, window};

    #[test]
    fn latency_follows_from_what_is_in_flight() {
        let mut run = Run::new(header());
        run.apply(&trial(0));
        let mut done = Window::only(OpKind::READ, 100, 409_600);
        run.apply(&notice(0.1, News::Window { trial_seconds: 0.1, window: done.clone() }));
        let point = run.now().unwrap();
        assert!((point.operations_per_second(None) - 1000.0).abs() < 1e-6);
        let latency = point.latency_seconds.unwrap();
        assert!((latency - 0.004).abs() < 1e-9, "four workers and 1000 a second: 4 ms");
        done.in_flight_ns = 50_000_000;
        run.apply(&notice(0.2, News::Window { trial_seconds: 0.2, window: done }));
        let latency = run.now().unwrap().latency_seconds.unwrap();
        assert!((latency - 0.0005).abs() < 1e-9, "50 ms in flight for 100 operations");
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut run = Run::new(header());
        for i in 0..5000u32 {
            run.apply(&trial(i));
            run.apply(&window(f64::from(i) + 0.1));
            let load = HostLoad {
                host: format!("ssh://host-{i}").parse().unwrap(),
                ..HostLoad::default()
            };
            run.apply(&notice(f64::from(i) + 0.2, News::Loads { hosts: vec![load] }));
        }
        assert_eq!((run.points.len(), run.hosts.len()), (POINTS, HOSTS));
    }

    #[test]
    fn the_time_left_runs_out_and_not_below_zero() {
        let mut run = Run::new(header());
        assert_eq!(run.seconds_left(), None);
        assert_eq!(run.trials(), (0, 60));
        run.apply(&trial(10));
        assert_eq!(run.seconds_left(), Some(50.0));
        run.at_seconds += 20.0;
        assert_eq!(run.seconds_left(), Some(30.0));
        run.apply(&notice(80.0, News::Left { seconds: 600.0 }));
        assert_eq!(run.seconds_left(), Some(600.0), "it was too short");
        run.at_seconds += 20.0;
        assert_eq!(run.seconds_left(), Some(580.0));
        run.at_seconds += 1e6;
        assert_eq!(run.seconds_left(), Some(0.0));
        assert_eq!(run.trials(), (10, 60));
    }

    #[test]
    fn a_kind_of_operation_has_rates_of_its_own() {
        let mut run = Run::new(header());
        run.apply(&trial(0));
        assert!(run.now().is_none() && run.points[0].bytes_per_second(None).is_nan());
        let mut done = Window::only(OpKind::WRITE, 10, 1_000_000);
        done.add(&Window::only(OpKind::LOOKUP, 50, 0));
        run.apply(&notice(0.5, News::Window { trial_seconds: 0.5, window: done }));
        let point = run.now().unwrap();
        assert_eq!(point.kinds().count(), 2);
        assert_eq!(point.operations_per_second(Some(OpKind::LOOKUP)), 100.0);
        assert_eq!(point.bytes_per_second(Some(OpKind::WRITE)), 2e6);
        assert_eq!(point.bytes_per_second(None), 2e6);
    }

    #[test]
    fn only_cells_of_the_plan_are_kept() {
        let mut run = Run::new(header());
        let cell = Cell { subject: 1, workload: 3, setting: 0 };
        let ended = |cell| News::Ended { cell, end: TrialEnd::Complete, headline: Some(1e6) };
        run.apply(&notice(1.0, ended(cell)));
        assert_eq!(run.cell(cell).mean(), Some(1e6));
        for strange in
            [Cell { subject: 2, ..cell }, Cell { workload: 5, ..cell }, Cell { setting: 1, ..cell }]
        {
            run.apply(&notice(1.0, ended(strange)));
            assert_eq!(run.cell(strange), CellNow::default());
        }
    }

    /// `plimsoll play` adds paced films once it knows their number: the dashboard had no name for them.
    #[test]
    fn workloads_that_follow_from_what_was_measured_have_a_place() {
        let mut run = Run::new(header());
        let workloads = vec![run.header.plan.workloads[0].clone()];
        let added = Cell { subject: 1, workload: 5, setting: 0 };
        let end = TrialEnd::Complete;
        let ended = News::Ended { cell: added, end, headline: Some(1e6) };
        run.apply(&notice(1.0, News::FollowUp { before: 3, workloads: workloads.clone() }));
        run.apply(&notice(1.0, ended.clone()));
        assert_eq!(run.cell(added), CellNow::default(), "they belong to another plan");
        run.apply(&notice(2.0, News::FollowUp { before: 5, workloads }));
        run.apply(&notice(2.0, ended));
        assert_eq!(run.cell(added).mean(), Some(1e6));
        let endless = vec![run.header.plan.workloads[0].clone(); MOST_WORKLOADS];
        run.apply(&notice(3.0, News::FollowUp { before: 6, workloads: endless }));
        assert_eq!(run.header.plan.workloads.len(), 6);
    }
}
