//! A run as far as its news tell: what is done, what is being done, and the last minutes of rates
//! and loads. A pure function of the news, so that every picture drawn from it can be tested.

use crate::news::{Header, News, Told};
use plimsoll_model::{CpuTimes, HostLoad, Phase, Rule, Window, Workload};
use std::collections::VecDeque;

/// Windows kept: two minutes of 100 ms.
const POINTS: usize = 1200;
/// Loads kept of each host.
const LOADS: usize = 600;
/// Most hosts, and most cells of target and workload, that are kept: a feed is read by another
/// process, which must not take its word for how much memory it needs.
const HOSTS: usize = 64;
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
    /// What is done of each target's workloads: `cells[target][workload]`.
    pub cells: Vec<Vec<CellNow>>,
    /// News left out because the observer was slow.
    pub missed: u64,
    /// Seconds since the trial's first operation, at the last window's end.
    window_seconds: f64,
    /// Bytes of the phase: all of them, and those done.
    total_bytes: u64,
    done_bytes: u64,
}

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Doing {
    /// Connecting.
    Starting,
    /// Watching idle hosts.
    Baseline {
        /// For so long.
        seconds: f64,
    },
    /// Preparing a target.
    Preparing {
        /// Its index in the plan.
        target: usize,
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
    /// Index of the target.
    pub target: usize,
    /// What is done.
    pub workload: Workload,
    /// Trials planned as things stand.
    pub planned: u32,
    /// Whether it is over.
    pub ended: bool,
    /// When it began, in seconds since the run began.
    began_seconds: f64,
    seconds_left: f64,
}

/// A window, in rates. Not finite where a trial begins: lines have a gap there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Seconds since the run began.
    pub at_seconds: f64,
    /// Bytes per second read.
    pub read_bytes_per_second: f64,
    /// Bytes per second written.
    pub write_bytes_per_second: f64,
    /// Operations per second.
    pub ops_per_second: f64,
    /// Mean client latency in seconds, where an operation completed.
    pub latency_seconds: Option<f64>,
}

impl Point {
    /// Bytes per second of both directions.
    pub fn bytes_per_second(&self) -> f64 {
        self.read_bytes_per_second + self.write_bytes_per_second
    }
}

/// A host and its last loads.
#[derive(Clone, Debug, Default)]
pub struct HostNow {
    /// Its name in the study.
    pub name: String,
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
    /// Trials that did not.
    pub incomplete: u32,
    sum: f64,
}

impl CellNow {
    /// Mean throughput of the complete trials in bytes per second.
    pub fn mean_bytes_per_second(&self) -> Option<f64> {
        (self.complete > 0).then(|| self.sum / f64::from(self.complete))
    }
}

impl Run {
    /// A run of which nothing is known but its plan.
    pub fn new(header: Header) -> Run {
        let plan = &header.plan;
        let cells = vec![vec![CellNow::default(); plan.workloads.len()]; plan.targets.len()];
        Run {
            at_seconds: 0.0,
            doing: Doing::Starting,
            trial: None,
            blocks: plan.first_blocks(),
            points: VecDeque::new(),
            hosts: Vec::new(),
            cells,
            missed: 0,
            window_seconds: 0.0,
            total_bytes: 0,
            done_bytes: 0,
            header,
        }
    }

    /// Takes in a piece of news.
    pub fn apply(&mut self, told: &Told) {
        if told.at_seconds.is_finite() {
            self.at_seconds = self.at_seconds.max(told.at_seconds);
        }
        match &told.news {
            News::Baseline { seconds } => self.doing = Doing::Baseline { seconds: *seconds },
            News::Preparing { target } => {
                self.doing = Doing::Preparing { target: *target, share: None };
            }
            News::Trial { number, block, target, workload, planned, seconds_left } => {
                self.doing = Doing::Trial { phase: Phase::Prepare, share: None };
                self.trial = Some(TrialNow {
                    number: *number,
                    block: *block,
                    target: *target,
                    workload: workload.clone(),
                    planned: *planned,
                    ended: false,
                    began_seconds: self.at_seconds,
                    seconds_left: *seconds_left,
                });
                self.window_seconds = 0.0;
                self.push(Point::gap(self.at_seconds));
            }
            News::Phase { phase, total_bytes } => self.phase(*phase, total_bytes.0),
            News::Progress { bytes } => self.progress(bytes.0),
            News::Window { trial_seconds, window } => self.window(*trial_seconds, window),
            News::Loads { hosts } => hosts.iter().for_each(|load| self.load(load)),
            News::Ended { target, workload, complete, bytes_per_second } => {
                if let Some(trial) = &mut self.trial {
                    trial.ended = true;
                }
                if let Some(cell) = self.cell(*target, workload) {
                    match (complete, bytes_per_second) {
                        (true, Some(rate)) if rate.is_finite() => {
                            cell.complete += 1;
                            cell.sum += rate;
                        }
                        _ => cell.incomplete += 1,
                    }
                }
            }
            News::BlocksWanted { blocks } => self.blocks = *blocks,
            News::Missed { count } => self.missed = *count,
        }
    }

    /// Trials that are over, and trials planned as things stand.
    pub fn trials(&self) -> (u32, u32) {
        match &self.trial {
            Some(trial) => (trial.number.saturating_add(u32::from(trial.ended)), trial.planned),
            None => {
                let cells = self.header.plan.targets.len() * self.header.plan.workloads.len();
                (0, u32::try_from(cells).unwrap_or(u32::MAX).saturating_mul(self.blocks))
            }
        }
    }

    /// Seconds until the end as things stand, once a trial has begun.
    pub fn seconds_left(&self) -> Option<f64> {
        let trial = self.trial.as_ref()?;
        Some((trial.seconds_left - (self.at_seconds - trial.began_seconds)).max(0.0))
    }

    /// Whether more blocks may turn out to be needed.
    pub fn may_grow(&self) -> bool {
        let pilot = matches!(self.header.plan.design.rule, Rule::Stein { pilot, .. } if self.blocks == pilot);
        pilot && self.trial.as_ref().is_none_or(|t| t.block < self.blocks)
    }

    /// The latest window that is not a gap, while its trial is under way.
    pub fn now(&self) -> Option<&Point> {
        self.points.back().filter(|p| p.ops_per_second.is_finite())
    }

    fn phase(&mut self, phase: Phase, total_bytes: u64) {
        self.total_bytes = total_bytes;
        self.done_bytes = 0;
        let share = (total_bytes > 0).then_some(0.0);
        self.doing = match (self.doing, &self.trial) {
            (Doing::Preparing { target, .. }, _) => Doing::Preparing { target, share },
            (_, Some(_)) => Doing::Trial { phase, share },
            (doing, None) => doing,
        };
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
        let ops = window.read_ops as f64 + window.write_ops as f64;
        // Little's law gives the mean. Where the number in flight was not measured: in a closed loop
        // everything is in flight all the time.
        let closed_loop = self.trial.as_ref().map(|t| {
            f64::from(t.workload.workers.get()) * f64::from(t.workload.depth.get()) * seconds
        });
        let in_flight = match window.in_flight_ns {
            0 => closed_loop,
            measured => Some(measured as f64 / 1e9),
        };
        self.push(Point {
            at_seconds: self.at_seconds,
            read_bytes_per_second: window.read_bytes as f64 / seconds,
            write_bytes_per_second: window.write_bytes as f64 / seconds,
            ops_per_second: ops / seconds,
            latency_seconds: in_flight.filter(|_| ops > 0.0).map(|area| area / ops),
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

    /// The cell of a target and a workload, whose size may have been lowered since the plan.
    fn cell(&mut self, target: usize, workload: &Workload) -> Option<&mut CellNow> {
        let place = self.place(workload)?;
        self.cells.get_mut(target)?.get_mut(place)
    }

    /// The index of a workload in the plan.
    pub fn place(&self, workload: &Workload) -> Option<usize> {
        let same = |w: &Workload| Workload { size: workload.size, ..w.clone() } == *workload;
        self.header.plan.workloads.iter().position(same)
    }
}

impl Point {
    fn gap(at_seconds: f64) -> Point {
        let nothing = f64::NAN;
        Point {
            at_seconds,
            read_bytes_per_second: nothing,
            write_bytes_per_second: nothing,
            ops_per_second: nothing,
            latency_seconds: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::{header, told, trial, window};

    #[test]
    fn latency_follows_from_what_is_in_flight() {
        let mut run = Run::new(header());
        run.apply(&trial(0));
        let mut done = Window { read_ops: 100, read_bytes: 409_600, ..Window::default() };
        run.apply(&told(0.1, News::Window { trial_seconds: 0.1, window: done }));
        let point = *run.now().unwrap();
        assert!((point.ops_per_second - 1000.0).abs() < 1e-6);
        let latency = point.latency_seconds.unwrap();
        assert!((latency - 0.004).abs() < 1e-9, "four workers and 1000 a second: 4 ms");
        done.in_flight_ns = 50_000_000;
        run.apply(&told(0.2, News::Window { trial_seconds: 0.2, window: done }));
        let latency = run.now().unwrap().latency_seconds.unwrap();
        assert!((latency - 0.0005).abs() < 1e-9, "50 ms in flight for 100 operations");
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut run = Run::new(header());
        for i in 0..5000u32 {
            run.apply(&trial(i));
            run.apply(&window(f64::from(i) + 0.1));
            let load = HostLoad { host: format!("host {i}"), ..HostLoad::default() };
            run.apply(&told(f64::from(i) + 0.2, News::Loads { hosts: vec![load] }));
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
        run.at_seconds += 1e6;
        assert_eq!(run.seconds_left(), Some(0.0));
        assert_eq!(run.trials(), (10, 60));
    }

    #[test]
    fn sizes_lowered_since_the_plan_do_not_hide_a_cell() {
        let mut run = Run::new(header());
        let mut workload = run.header.plan.workloads[3].clone();
        workload.size.0 /= 4;
        let bytes_per_second = Some(1e6);
        run.apply(&told(
            1.0,
            News::Ended { target: 1, workload, complete: true, bytes_per_second },
        ));
        assert_eq!(run.cells[1][3].mean_bytes_per_second(), Some(1e6));
    }
}
