//! The loop: prepare, idle window, block after block, stop rule, clean up.

mod adapt;
mod calibrate;
mod condition;
mod rate;
mod vary;

use crate::held::Held;
use crate::hosts::Hosts;
use crate::keep::Keep;
use crate::left::{Ahead, Later, Left, Took};
use crate::observers::{Preparing, Watching};
use crate::progress::Progress;
use crate::schedule::Schedule;
use crate::settings::Settings;
use crate::{check, costs, disturbed, resume, size, stability, steps};
use plimsoll_explain::Forecast;
use plimsoll_model::{
    Cause, Cell, Clock, Ended, Failure, Flag, HostLoad, HostName, Length, Measure, Metric, Nanos,
    Origin, Outcome, Plan, PointResult, PointSpec, Rule, SCHEMA, Study, StudyId, SubjectRunner,
    Switch, Target, Trial, Workload, WriteState, label,
};
use plimsoll_watch::Watch;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// By how much of the cap the first block may end after it.
const GRACE: f64 = 0.25;
/// A search for the rate that a router keeps has this time at least, in seconds: it finds the rate, if not within its width.
const LEAST_SEARCH_SECONDS: f64 = 10.0;
/// No operation is given less time than this, in seconds.
const LEAST_TIMEOUT_SECONDS: f64 = 1.0;

/// Length of the windows of a trial's series.
const WINDOW_SECONDS: f64 = 0.1;
/// The idle window before every block but the first, where the first one is no shorter: CPU times have steps of
/// 10 ms, and of a much shorter window they show chance.
pub(crate) const IDLE_BETWEEN_BLOCKS: Duration = Duration::from_secs(1);

/// Everything a study is conducted with.
pub struct Conduct<'a> {
    /// Its identity.
    pub id: StudyId,
    /// When it begins, in seconds since 1970.
    pub started_unix_seconds: u64,
    /// Version of the program.
    pub version: String,
    /// What is to be done.
    pub plan: Plan,
    /// Measures the points of trials; it has the subjects, opened, in the plan's order.
    pub runner: Box<dyn SubjectRunner + 'a>,
    /// Sets the plan's factors.
    pub settings: Box<dyn Settings + 'a>,
    /// Hosts to watch: the one that the trials are driven on, then those that the plan names.
    pub hosts: Vec<Box<dyn Watch>>,
    /// What is odd already.
    pub flags: Vec<Flag>,
    /// When its time began to count: before its targets were opened.
    pub begun: Nanos,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Set from outside to stop early.
    pub stop: Arc<AtomicBool>,
    /// Where trials go.
    pub keep: &'a mut dyn Keep,
    /// Who looks on.
    pub observer: &'a mut dyn FnMut(Progress<'_>),
}

/// Workload that follows the blocks of a plan, and in how many blocks. One that the plan has already is measured again.
#[derive(Clone, Debug, PartialEq)]
pub struct FollowUp {
    /// What is measured.
    pub workload: Workload,
    /// In how many blocks.
    pub blocks: u32,
}

/// What follows from what was measured, asked whenever a study has all its blocks; nothing ends it.
pub type Follow<'a> = &'a dyn Fn(&Study) -> Vec<FollowUp>;

/// Conducts a study to its end. An `Err` means that nothing was measured; what failed later is in
/// the study's [`Ended`]. Either way subjects and settings are left as they were found, or a flag says
/// what could not be removed or put back.
pub fn conduct(order: Conduct<'_>) -> Result<Study, Failure> {
    conduct_with(order, &|_| Vec::new())
}

/// The same, in stages: what follows each of them depends on what was measured until then.
pub fn conduct_with<'a>(order: Conduct<'a>, follow: Follow<'a>) -> Result<Study, Failure> {
    check::plan(&order.plan)?;
    let Conduct { id, started_unix_seconds, version, plan, .. } = &order;
    let study = Study {
        schema: SCHEMA.to_owned(),
        id: id.clone(),
        started_unix_seconds: *started_unix_seconds,
        origin: Origin::Measured { version: version.clone() },
        plan: plan.clone(),
        subjects: Vec::new(),
        hosts: Vec::new(),
        flags: order.flags.clone(),
        measures: Vec::new(),
        trials: Vec::new(),
        ended: Ended::Open,
    };
    carry_out(order, study, None, follow)
}

/// Carries out what is ordered: a study that begins, or goes on from what it was `before`.
pub(crate) fn carry_out<'a>(
    order: Conduct<'a>,
    study: Study,
    before: Option<Study>,
    follow: Follow<'a>,
) -> Result<Study, Failure> {
    let mut conductor = Conductor {
        begun: order.begun,
        earlier: before.as_ref().map_or(0.0, resume::stopped_at),
        first_block: before.as_ref().map_or(0, resume::blocks),
        before,
        is_kept: false,
        schedule: Schedule::new(&study.plan),
        hosts: Hosts::new(order.hosts),
        study,
        unix_seconds: order.started_unix_seconds,
        runner: order.runner,
        settings: order.settings,
        setting: None,
        clock: order.clock,
        stop: order.stop,
        keep: order.keep,
        observer: order.observer,
        follow,
        paces: BTreeMap::new(),
        tried_out: 0,
        took: Took::default(),
        writes: Vec::new(),
        held: Held::default(),
    };
    let outcome = conductor.prepare().and_then(|()| conductor.blocks());
    conductor.finish(outcome)
}

struct Conductor<'a> {
    begun: Nanos,
    /// Seconds of the study before that.
    earlier: f64,
    /// The first block of this run.
    first_block: u32,
    /// The study as it was, where one is continued.
    before: Option<Study>,
    /// Whether this run has begun it in the store.
    is_kept: bool,
    /// When this run begins, in seconds since 1970.
    unix_seconds: u64,
    schedule: Schedule,
    hosts: Hosts,
    study: Study,
    runner: Box<dyn SubjectRunner + 'a>,
    settings: Box<dyn Settings + 'a>,
    /// The setting that is in effect, once one was set, and the block that it was set in.
    setting: Option<(u32, u16)>,
    clock: Arc<dyn Clock>,
    stop: Arc<AtomicBool>,
    keep: &'a mut dyn Keep,
    observer: &'a mut dyn FnMut(Progress<'_>),
    /// What follows when all blocks are measured.
    follow: Follow<'a>,
    /// What short runs showed of each workload, where they were made.
    paces: BTreeMap<usize, calibrate::Pace>,
    /// Runs so far that are no trials.
    tried_out: u32,
    took: Took,
    /// What is known of writes before the first block, by subject.
    writes: Vec<(usize, WriteState)>,
    /// What is held of trials that are kept.
    held: Held,
}

impl Conductor<'_> {
    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn elapsed(&self) -> f64 {
        self.earlier + self.clock.now().since(self.begun).as_secs_f64()
    }

    /// Attaches every subject, prepares what the workloads need, watches the idle hosts.
    fn prepare(&mut self) -> Result<(), Failure> {
        let mut observer = Preparing(&mut *self.observer);
        for subject in 0..self.study.plan.subjects.len() {
            observer.begin(subject);
            let found = self.runner.attach(subject)?;
            if self.before.is_some() {
                resume::expect_not_running(&self.study.id, &found)?;
            }
            self.study.flags.extend(found);
        }
        if let Some(before) = &self.before {
            resume::expect_same(&before.id, &before.subjects, &self.runner.facts())?;
        }
        self.study.flags.extend(size::fit(&mut self.study.plan, &self.runner.facts())?);
        if self.study.plan.storage.adapt_size {
            self.adapt_to_time()?;
        }
        self.prepare_workloads(0)?;
        if self.study.plan.design.quick && self.before.is_none() {
            self.study.plan.design.cap_seconds += self.elapsed();
        }
        self.note_facts();
        self.study.hosts = self.hosts.facts();
        self.same_machine();
        let difference = stability::difference(&self.study.subjects, &self.study.plan.workloads);
        self.study.flags.extend(difference);
        let seconds = self.study.plan.design.baseline_seconds;
        if seconds > 0.0 {
            (self.observer)(Progress::Baseline { seconds });
        }
        self.idle(Duration::from_secs_f64(seconds.max(0.0)), self.before.is_some());
        // A study that is continued keeps its lengths, and what is known of its writes.
        let calibrate = std::mem::take(&mut self.study.plan.design.calibrate);
        match &self.before {
            Some(before) => self.writes = resume::writes(before),
            None => {
                self.calibrate(calibrate)?;
                self.fix_rates()?;
                self.condition(calibrate)?;
            }
        }
        let measured = self.before.as_ref().map_or_else(Vec::new, resume::measured);
        self.schedule = Schedule::new(&self.study.plan).after(self.first_block, measured);
        if self.stopped() {
            return Err(interrupted());
        }
        match self.before {
            Some(_) => self.goes_on()?,
            None => {
                self.keep.begin(&self.study)?;
                self.is_kept = true;
            }
        }
        self.held = Held::new(&self.study, &*self.keep);
        Ok(())
    }

    /// Prepares what the workloads from this one on need. In turn: what is laid out for one subject lies beside what is
    /// laid out for the others.
    fn prepare_workloads(&mut self, from: usize) -> Result<(), Failure> {
        let mut observer = Preparing(&mut *self.observer);
        let mut waiting: Vec<usize> = (0..self.study.plan.subjects.len()).collect();
        while !waiting.is_empty() {
            for subject in std::mem::take(&mut waiting) {
                observer.begin(subject);
                let kind = Some(self.study.plan.subjects[subject].kind());
                let mut workloads = self.study.plan.workloads[from..].to_vec();
                workloads.retain(|workload| workload.subject() == kind);
                let prepared = self.runner.prepare(subject, &workloads, &mut observer)?;
                self.study.flags.extend(prepared.flags);
                waiting.extend(prepared.more.then_some(subject));
            }
        }
        Ok(())
    }

    /// Takes up what follows from what was measured; whether anything does.
    fn follow_up(&mut self) -> Result<bool, Failure> {
        let follow_ups = (self.follow)(&self.study);
        if follow_ups.is_empty() {
            return Ok(false);
        }
        let known = self.study.plan.workloads.len();
        let mut more: Vec<(usize, u32)> = Vec::new();
        for FollowUp { workload, blocks } in follow_ups {
            let workloads = &mut self.study.plan.workloads;
            let number = workloads.iter().position(|one| *one == workload).unwrap_or_else(|| {
                workloads.push(workload);
                workloads.len() - 1
            });
            more.push((number, blocks));
        }
        check::plan(&self.study.plan)?;
        if self.study.plan.workloads.len() > known {
            let workloads = &self.study.plan.workloads[known..];
            (self.observer)(Progress::FollowUp { before: known, workloads });
            self.prepare_workloads(known)?;
        }
        self.schedule.extend(&self.study.plan, &more);
        self.keep.update(&self.study)?;
        Ok(true)
    }

    /// Notes that the study is continued, and lets its seconds go on where it stopped. That is kept with
    /// the first trial: until then the study is as it was.
    fn goes_on(&mut self) -> Result<(), Failure> {
        let Some(before) = &self.before else { return Ok(()) };
        resume::expect_same(&before.id, &before.subjects, &self.study.subjects)?;
        let preparing = self.elapsed() - resume::stopped_at(before);
        self.earlier -= preparing;
        self.study.plan.design.cap_seconds -= preparing;
        resume::renew(&mut self.study.flags, self.unix_seconds, self.first_block);
        self.look();
        Ok(())
    }

    /// A server's host may be one that drives the trials, under another name too.
    fn same_machine(&mut self) {
        let plan = &self.study.plan;
        let drives = |host| host == plan.client() || plan.clients.contains(host);
        let named = plan.hosts.iter().filter(|server| drives(&server.host));
        let named = named.map(|server| server.host.to_string());
        // Clients are watched first.
        let (driving, others) = self
            .study
            .hosts
            .split_at_checked(plan.clients.len().max(1))
            .unwrap_or((&self.study.hosts, &[]));
        let here = !plan.is_remote() || driving.iter().any(|host| host.is_this_machine);
        let found = others.iter().filter(|host| here && host.is_this_machine);
        let all = named.chain(found.map(|host| host.name.clone()));
        add_new(&mut self.study.flags, all.map(|host| Flag::SameMachine { host }).collect());
    }

    /// Runs blocks until the rule, the cap, the user or a failure ends the study.
    fn blocks(&mut self) -> Result<(), Failure> {
        // Work that ends when it is done takes no time that is known before.
        let timed = |workload: &Workload| matches!(workload.length, Length::For { .. });
        let mut seconds_per_trial = match self.study.plan.workloads.iter().all(timed) {
            true => self.study.plan.longest_trial_seconds(),
            false => 0.0,
        };
        loop {
            let begun = self.elapsed();
            let forecast = Forecast::new(&self.study);
            let next = self.schedule.next_size() as f64 * seconds_per_trial;
            // The first block always runs: a study without a figure helps nobody.
            if next > 0.0
                && self.schedule.blocks() > self.first_block
                && begun + next > self.study.plan.design.cap_seconds
            {
                return self.cap_reached();
            }
            let Some((block, cells)) = self.schedule.next_block() else {
                if self.follow_up()? {
                    continue;
                }
                self.study.ended = Ended::Done;
                return Ok(());
            };
            self.hosts.again();
            self.study.hosts = self.hosts.facts();
            if block > self.first_block {
                match self.runner.reopen() {
                    // The trial that follows fails by it, and keeps the reason.
                    Err(failure) if failure.cause == Cause::Unreachable => {}
                    reopened => reopened?,
                }
                self.idle_between();
            }
            self.took.before_block(self.elapsed() - begun);
            let count = cells.len() as f64;
            for (done, cell) in cells.iter().enumerate() {
                if done > 0 && self.elapsed() > self.latest_end() {
                    return self.cap_reached();
                }
                let left = (cells.len() - done) as u32 + self.schedule.trials_left();
                let now = self.elapsed();
                let ahead = Ahead {
                    workloads: &self.study.plan.workloads,
                    forecast: &forecast,
                    rest: &cells[done + 1..],
                    block: &cells,
                    now,
                    cap: self.study.plan.design.cap_seconds,
                };
                let later = self.took.later(cell.workload, &ahead);
                self.set(block, *cell)?;
                let later_cells = cells.len() - done - 1;
                self.trial(block, *cell, left, later_cells, seconds_per_trial, later)?;
                if let Some(workload) = self.study.plan.workload(*cell) {
                    let seconds = self.elapsed() - now;
                    self.took.add(cell.workload, workload, seconds);
                }
                if self.stopped() {
                    return Err(interrupted());
                }
            }
            seconds_per_trial = (self.elapsed() - begun) / count;
            self.look();
        }
    }

    /// Asks the stop rule, where it looks after the blocks that there are.
    fn look(&mut self) {
        let blocks = self.schedule.blocks();
        let Rule::Sequential { first, .. } = self.study.plan.design.rule else { return };
        if blocks >= first {
            self.schedule.want(plimsoll_explain::blocks_needed(&self.study));
            let until_cap = self.study.plan.design.cap_seconds - self.elapsed();
            // No more than there is time for.
            let more = Forecast::new(&self.study).blocks_within(until_cap);
            let blocks = blocks.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
            (self.observer)(Progress::BlocksWanted { blocks });
        }
    }

    /// When even a block that has begun is broken off, in seconds: the first may end after the cap, but by
    /// a quarter of it and one trial at most. Work that ends when it is done has no length to wait for.
    fn latest_end(&self) -> f64 {
        let before = self.before.as_ref().map_or(0.0, resume::stopped_at);
        let cap = self.study.plan.design.cap_seconds - before;
        let timed = |workload: &&Workload| matches!(workload.length, Length::For { .. });
        let workloads = self.study.plan.workloads.iter().filter(timed);
        before + cap * (1.0 + GRACE) + workloads.map(Workload::seconds).fold(0.0, f64::max)
    }

    /// Seconds until the study's end, which nothing goes on long after, as with a server whose replies come byte by
    /// byte.
    fn left(&self) -> f64 {
        (self.latest_end() - self.elapsed()).max(LEAST_TIMEOUT_SECONDS)
    }

    /// Seconds for a search that so many trials of its block follow: an equal share of the time until the cap.
    fn left_for_search(&self, later_cells: usize) -> f64 {
        let until_cap = self.study.plan.design.cap_seconds - self.elapsed();
        (until_cap / (later_cells + 1) as f64).max(LEAST_SEARCH_SECONDS)
    }

    /// A workload that is begun now: one that ends when it is done has no longer than the study has.
    fn in_time(&self, workload: Workload) -> Workload {
        let length = match workload.length {
            Length::UntilDone { at_most_seconds } => {
                Length::UntilDone { at_most_seconds: at_most_seconds.min(self.left()) }
            }
            timed @ Length::For { .. } => timed,
        };
        Workload { length, ..workload }
    }

    /// The value that a cell's first complete trial stepped to.
    fn first_step(&self, cell: Cell) -> Option<f64> {
        let mut own = self.study.trials.iter().filter(|trial| trial.cell == cell);
        own.find_map(|trial| trial.result.value(0, Metric::all(Measure::STEP)))
    }

    /// How long an operation may take that is begun now, in seconds.
    fn operation_timeout(&self) -> f64 {
        self.study.plan.storage.operation_timeout_seconds.min(self.left())
    }

    fn cap_reached(&mut self) -> Result<(), Failure> {
        // A block may have been broken off since the last look.
        self.look();
        self.study.ended = Ended::CapReached;
        self.study.flags.push(Flag::CapReached {
            blocks: self.schedule.blocks(),
            wanted: self.schedule.blocks_wanted(),
        });
        Ok(())
    }

    /// A short look at the idle hosts: what a block or a setting is measured against.
    fn idle_between(&mut self) {
        let seconds = self.study.plan.design.baseline_seconds;
        if seconds > 0.0 {
            let window = IDLE_BETWEEN_BLOCKS.min(Duration::from_secs_f64(seconds));
            self.idle(window, true);
        }
    }

    /// Watches the idle hosts for a while, and notes what disturbs; `later` than the window before the load began.
    fn idle(&mut self, window: Duration, later: bool) {
        let begun = self.elapsed();
        for flag in self.hosts.idle(window, &*self.clock, &self.stop) {
            let flag = if later { flag.in_later_window(begun) } else { flag };
            if !self.study.flags.iter_mut().any(|known| known.seen_again(flag.clone())) {
                self.study.flags.push(flag);
            }
        }
    }

    fn trial(
        &mut self,
        block: u32,
        cell: Cell,
        left: u32,
        later_cells: usize,
        each: f64,
        later: Later,
    ) -> Result<(), Failure> {
        let Some(workload) = self.study.plan.workload(cell).cloned() else { return Ok(()) };
        let subject = usize::from(cell.subject);
        let number = self.study.trials.len() as u32;
        let until_cap = (self.study.plan.design.cap_seconds - self.elapsed()).max(0.0);
        // No more than there is time for.
        let left = left.min((until_cap / each).ceil() as u32).max(1);
        (self.observer)(Progress::Trial {
            number,
            block,
            cell,
            workload: &workload,
            planned: number + left,
            seconds_left: self.took.left(cell.workload, &workload, &later).unwrap_or(until_cap),
        });
        if self.study.plan.storage.drop_caches {
            let kept = self.settings.drop_caches();
            add_new(&mut self.study.flags, kept);
            self.hosts.rest(&*self.clock);
        }
        let started_seconds = self.elapsed();
        let seed = self.study.plan.design.seed;
        let first_file = self.schedule.first_file(block);
        let spec = self.spec(number, subject, workload.clone(), &format!("trial {number}"));
        let spec = PointSpec { first_file, ..spec };
        let (mut result, loads, points) = match &workload.steps {
            None => {
                let (result, loads) = self.point(&spec, Left::new(&workload, later));
                (result, loads, Vec::new())
            }
            Some(steps) => {
                let mut order = plimsoll_stats::order::generator(seed, &format!("steps {number}"));
                let begun = self.clock.now();
                let clock = self.clock.clone();
                let bounds = steps::Bounds {
                    start: self.first_step(cell),
                    left_seconds: self.left_for_search(later_cells),
                    spent: &|| clock.now().since(begun).as_secs_f64(),
                };
                let mut point = |workload: &Workload, most_seconds: f64| {
                    let spec = PointSpec {
                        workload: self.in_time(workload.clone()),
                        operation_timeout_seconds: self.operation_timeout(),
                        left_seconds: self.left().min(most_seconds),
                        ..spec.clone()
                    };
                    self.point(&spec, None)
                };
                steps::measure(&workload, steps, &bounds, &mut order, &mut point)
            }
        };
        let others = self.study.trials.iter().filter(|other| other.cell == cell);
        result.flags.extend(disturbed::flags(&result, &loads, &others.collect::<Vec<_>>()));
        let fatal = match &result.outcome {
            Outcome::Failed { failure, .. } if resume::ends_study(failure) => Some(failure.clone()),
            _ => None,
        };
        let mount = self.hosts.mount();
        let trial = Trial {
            number,
            block: Some(block),
            cell,
            started_seconds,
            result,
            points,
            loads,
            mount,
            imported: None,
        };
        let first_again = self.before.as_ref().is_some_and(|b| b.trials.len() as u32 == number);
        let mut kept = if first_again { self.keep.update(&self.study) } else { Ok(()) };
        kept = kept.and_then(|()| self.keep.add_trial(&self.study, &trial));
        (self.observer)(Progress::Ended(&trial));
        self.study.trials.push(trial);
        if self.note_facts() {
            kept = kept.and_then(|()| self.keep.update(&self.study));
        }
        kept?;
        self.held.let_go(&mut self.study.trials);
        fatal.map_or(Ok(()), Err)
    }

    /// A point, with a seed of its own by its name.
    fn spec(&self, number: u32, subject: usize, workload: Workload, name: &str) -> PointSpec {
        let plan = &self.study.plan;
        PointSpec {
            number,
            subject,
            workload: self.in_time(workload),
            first_file: 0,
            window_seconds: WINDOW_SECONDS,
            operation_timeout_seconds: self.operation_timeout(),
            left_seconds: self.left(),
            seed: plimsoll_stats::order::sub_seed(plan.design.seed, name),
        }
    }

    /// The router whose highest rate is searched. Of parts of its path only CPU time is measured, which looking costs.
    fn router(&self, subject: usize) -> Option<&HostName> {
        let plan = &self.study.plan;
        let path = plan.subjects.get(subject)?.path()?;
        path.via.as_ref().filter(|_| plan.parts.is_none())
    }

    /// One point, and the loads of the hosts meanwhile.
    fn point(&mut self, spec: &PointSpec, left: Option<Left>) -> (PointResult, Vec<HostLoad>) {
        let directory = match self.study.plan.target(spec.subject) {
            // As tables of mounts have it; a link on another host is not followed from here.
            Some(Target::Directory(there)) if self.study.plan.is_remote() => {
                Some(there.path.clone())
            }
            Some(Target::Directory(here)) => here.path.canonicalize().ok(),
            _ => None,
        };
        let router = self.router(spec.subject).map(ToString::to_string);
        self.hosts.clear(directory, router.as_deref());
        let mut watching = Watching::new(&mut self.hosts, &mut *self.observer, left);
        let mut result = self.runner.point(spec, &mut watching);
        // What a path carries leaves nothing to be written.
        if self.study.plan.subjects.get(spec.subject).is_none_or(|subject| subject.path().is_none())
        {
            self.hosts.rest(&*self.clock);
        }
        let loads = self.hosts.loads();
        result.flags.extend(self.hosts.flags());
        if result.outcome == Outcome::Complete {
            costs::add(&mut result, &loads, &self.study.plan, spec);
            costs::add_of_router(&mut result, &loads, &self.study, spec);
        }
        (result, loads)
    }

    /// Takes over what the runner found out by now of the subjects, and of measures of its own; whether
    /// that is news.
    fn note_facts(&mut self) -> bool {
        let (mut subjects, measures) = (self.runner.facts(), self.runner.measures());
        let labels = label::labels(&self.study.plan);
        subjects.iter_mut().zip(labels).for_each(|(subject, label)| subject.set_label(label));
        self.note_writes(&mut subjects);
        let known = &mut self.study;
        let new = (&known.subjects, &known.measures) != (&subjects, &measures);
        (known.subjects, known.measures) = (subjects, measures);
        new
    }

    /// Cleans up and says why it ended.
    fn finish(mut self, outcome: Result<(), Failure>) -> Result<Study, Failure> {
        let restarts = self.study.plan.factors.iter().any(|f| f.switch == Switch::Restart);
        let released = restarts && self.runner.release().is_ok();
        // What restarts a server is put back before the run's directories are removed.
        let mut left = self.settings.restore();
        if released {
            // Where that fails, removing them does, and says so.
            let _ = self.runner.reopen();
        }
        left.extend(self.runner.close());
        let known = self.before.as_ref().map_or(0, |before| before.trials.len());
        let measured = !self.study.subjects.is_empty() && self.study.trials.len() > known;
        match outcome {
            Err(mut failure) if !measured => {
                // The store has the study already, and is to say why nothing came of it.
                if self.is_kept {
                    self.study.ended = match failure.cause {
                        Cause::Interrupted => Ended::Interrupted,
                        _ => Ended::Failed { failure: failure.clone() },
                    };
                    self.study.flags.extend(left.iter().cloned());
                    // The first failure is worth more than the store's.
                    let _ = self.keep.update(&self.study);
                }
                failure.next = next_step(&failure, &left);
                return Err(failure);
            }
            Err(failure) if failure.cause == Cause::Interrupted => {
                self.study.ended = Ended::Interrupted;
            }
            Err(failure) => self.study.ended = Ended::Failed { failure },
            Ok(()) => {}
        }
        self.study.flags.extend(left);
        let whole = self.held.take_back(&mut self.study, &*self.keep);
        if let Err(failure) = whole.and_then(|()| self.keep.update(&self.study)) {
            // The figures are worth more than the store: they are handed back all the same.
            self.study.ended = Ended::Failed { failure };
        }
        Ok(self.study)
    }
}

fn interrupted() -> Failure {
    Failure::new(Cause::Interrupted, "finish the study")
        .on("the plan")
        .happened("it was interrupted")
}

/// What to do after a failure before the first trial. It alone can name what was left behind.
fn next_step(failure: &Failure, left: &[Flag]) -> String {
    let again = match (failure.cause, left.is_empty()) {
        (Cause::Interrupted, true) => "Run the command again; no file of this run remains.",
        (Cause::Interrupted, false) => "Run the command again.",
        _ => "",
    };
    let own = if failure.next.is_empty() { again.to_owned() } else { failure.next.clone() };
    let left = left.iter().map(|flag| format!("{}. {}", flag.message(), flag.advice()));
    let all: Vec<String> = std::iter::once(own).chain(left).filter(|s| !s.is_empty()).collect();
    all.join(" ")
}

fn add_new(flags: &mut Vec<Flag>, new: Vec<Flag>) {
    for flag in new {
        let kind = std::mem::discriminant;
        let same = |f: &Flag| kind(f) == kind(&flag) && f.host() == flag.host();
        if !flags.iter().any(same) {
            flags.push(flag);
        }
    }
}
