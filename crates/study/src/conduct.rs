//! The loop: prepare, idle window, block after block, stop rule, clean up.

use crate::costs;
use crate::hosts::{self, Hosts};
use crate::keep::Keep;
use crate::progress::Progress;
use crate::schedule::Schedule;
use crate::size;
use crate::stability;
use plimsoll_host::Watch;
use plimsoll_model::{
    Cause, Cell, Clock, Ended, Event, Failure, Flag, Nanos, Origin, Outcome, Phase, Plan, Rule,
    SCHEMA, Study, StudyId, Target, Trial, PointSpec,
};
use plimsoll_runner::Drive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Length of the windows of a trial's series.
const WINDOW_SECONDS: f64 = 0.1;
/// The idle window before every block but the first.
const IDLE_BETWEEN_BLOCKS: Duration = Duration::from_secs(1);

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
    /// Drives the trials; it has the targets, opened, in the plan's order.
    pub runner: Box<dyn Drive + 'a>,
    /// Hosts to watch: the one that the trials are driven on, then those that the plan names.
    pub hosts: Vec<Box<dyn Watch>>,
    /// What is odd already.
    pub flags: Vec<Flag>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Set from outside to stop early.
    pub stop: Arc<AtomicBool>,
    /// Where trials go.
    pub keep: &'a mut dyn Keep,
    /// Who looks on.
    pub observer: &'a mut dyn FnMut(Progress<'_>),
}

/// Conducts a study to its end. An `Err` means that nothing was measured; what failed later is in
/// the study's [`Ended`]. Either way the targets are left as they were found, or a flag says what
/// could not be removed.
pub fn conduct(order: Conduct<'_>) -> Result<Study, Failure> {
    let Conduct { id, started_unix_seconds, version, plan, .. } = &order;
    let study = Study {
        schema: SCHEMA.to_owned(),
        id: id.clone(),
        started_unix_seconds: *started_unix_seconds,
        origin: Origin::Measured { version: version.clone() },
        plan: plan.clone(),
        targets: Vec::new(),
        hosts: Vec::new(),
        flags: order.flags.clone(),
        trials: Vec::new(),
        ended: Ended::Open,
    };
    let mut conductor = Conductor {
        begun: order.clock.now(),
        schedule: Schedule::new(&order.plan),
        hosts: Hosts::new(order.hosts),
        study,
        runner: order.runner,
        clock: order.clock,
        stop: order.stop,
        keep: order.keep,
        observer: order.observer,
    };
    let outcome = conductor.prepare().and_then(|()| conductor.blocks());
    conductor.finish(outcome)
}

struct Conductor<'a> {
    begun: Nanos,
    schedule: Schedule,
    hosts: Hosts,
    study: Study,
    runner: Box<dyn Drive + 'a>,
    clock: Arc<dyn Clock>,
    stop: Arc<AtomicBool>,
    keep: &'a mut dyn Keep,
    observer: &'a mut dyn FnMut(Progress<'_>),
}

impl Conductor<'_> {
    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn elapsed(&self) -> f64 {
        self.clock.now().since(self.begun).as_secs_f64()
    }

    /// Opens every target, lays out what is read, watches the idle hosts.
    fn prepare(&mut self) -> Result<(), Failure> {
        let observer = &mut *self.observer;
        let mut slowest = f64::INFINITY;
        for target in 0..self.study.plan.targets.len() {
            observer(Progress::Preparing { target });
            self.study.flags.extend(self.runner.take_on(target)?);
        }
        self.study.flags.extend(size::fit(&mut self.study.plan, &self.runner.facts())?);
        if self.study.plan.storage.adapt_size {
            let largest = self.study.plan.workloads.iter().map(|w| w.size.0).max().unwrap_or(0);
            for target in 0..self.study.plan.targets.len() {
                observer(Progress::Preparing { target });
                let sample = size::SAMPLE.min(largest);
                let events = &mut |e: Event| observer(Progress::Event(&e));
                slowest = slowest.min(self.runner.lay_out_rate(target, sample, events)?);
            }
            self.study.flags.extend(size::adapt(&mut self.study.plan, slowest));
        }
        self.schedule = Schedule::new(&self.study.plan);
        for target in 0..self.study.plan.targets.len() {
            observer(Progress::Preparing { target });
            let events = &mut |e: Event| observer(Progress::Event(&e));
            self.study.flags.extend(self.runner.prepare(
                target,
                &self.study.plan.workloads,
                events,
            )?);
        }
        self.study.targets = self.runner.facts();
        label(&mut self.study.targets);
        self.study.hosts = self.hosts.facts();
        self.same_machine();
        self.study
            .flags
            .extend(stability::difference(&self.study.targets, &self.study.plan.workloads));
        let seconds = self.study.plan.design.baseline_seconds;
        if seconds > 0.0 {
            (self.observer)(Progress::Baseline { seconds });
        }
        let flags =
            self.hosts.idle(Duration::from_secs_f64(seconds.max(0.0)), &*self.clock, &self.stop);
        self.study.flags.extend(flags);
        if self.stopped() {
            return Err(interrupted());
        }
        self.keep.begin(&self.study)
    }

    /// A server's host may be the one that drives the trials, under another name too.
    fn same_machine(&mut self) {
        let plan = &self.study.plan;
        let named = plan.hosts.iter().filter(|server| server.host == *plan.client());
        let named = named.map(|server| server.host.to_string());
        let here = plan.on.is_none() || self.study.hosts.first().is_some_and(|h| h.is_this_machine);
        let others = self.study.hosts.iter().skip(1);
        let found = others.filter(|host| here && host.is_this_machine);
        let all = named.chain(found.map(|host| host.name.clone()));
        add_new(&mut self.study.flags, all.map(|host| Flag::SameMachine { host }).collect());
    }

    /// Runs blocks until the rule, the cap, the user or a failure ends the study.
    fn blocks(&mut self) -> Result<(), Failure> {
        let mut seconds_per_trial = self.study.plan.trial_seconds;
        loop {
            let begun = self.elapsed();
            let next = self.schedule.next_size() as f64 * seconds_per_trial;
            // The first block always runs: a study without a figure helps nobody.
            if next > 0.0
                && self.schedule.blocks() > 0
                && begun + next > self.study.plan.design.cap_seconds
            {
                return self.cap_reached();
            }
            let Some((block, cells)) = self.schedule.next_block() else {
                self.study.ended = Ended::Done;
                return Ok(());
            };
            self.hosts.again();
            self.study.hosts = self.hosts.facts();
            if block > 0 && self.study.plan.design.baseline_seconds > 0.0 {
                let flags = self.hosts.idle(IDLE_BETWEEN_BLOCKS, &*self.clock, &self.stop);
                add_new(&mut self.study.flags, flags);
            }
            let count = cells.len() as f64;
            for (done, cell) in cells.iter().enumerate() {
                if done > 0 && self.elapsed() > self.longest(cells.len()) {
                    return self.cap_reached();
                }
                let left = (cells.len() - done) as u32 + self.schedule.trials_left();
                self.trial(block, cell, left, seconds_per_trial)?;
                if self.stopped() {
                    return Err(interrupted());
                }
            }
            seconds_per_trial = (self.elapsed() - begun) / count;
            if block + 1 == self.study.plan.first_blocks()
                && matches!(self.study.plan.design.rule, Rule::Stein { .. })
            {
                self.schedule.want(plimsoll_explain::blocks_needed(&self.study));
                let blocks = self.schedule.blocks_wanted();
                (self.observer)(Progress::BlocksWanted { blocks });
            }
        }
    }

    /// When even a block that has begun is broken off, in seconds: the first may end after the cap,
    /// but not at any time.
    fn longest(&self, trials: usize) -> f64 {
        2.0 * (self.study.plan.design.cap_seconds + trials as f64 * self.study.plan.trial_seconds)
    }

    fn cap_reached(&mut self) -> Result<(), Failure> {
        self.study.ended = Ended::CapReached;
        self.study.flags.push(Flag::CapReached {
            blocks: self.schedule.blocks(),
            wanted: self.schedule.blocks_wanted(),
        });
        Ok(())
    }

    fn trial(&mut self, block: u32, cell: &Cell, left: u32, each: f64) -> Result<(), Failure> {
        let number = self.study.trials.len() as u32;
        let until_cap = (self.study.plan.design.cap_seconds - self.elapsed()).max(0.0);
        (self.observer)(Progress::Trial {
            number,
            block,
            target: cell.target,
            workload: &cell.workload,
            planned: number + left,
            seconds_left: (f64::from(left) * each).min(until_cap),
        });
        let started_seconds = self.elapsed();
        let spec = PointSpec {
            number,
            target: cell.target,
            workload: cell.workload.clone(),
            generation: block + 1,
            seconds: self.study.plan.trial_seconds,
            warm_up_seconds: self.study.plan.warm_up_seconds,
            window_seconds: WINDOW_SECONDS,
            operation_timeout_seconds: self.study.plan.storage.operation_timeout_seconds,
            seed: plimsoll_stats::order::sub_seed(self.study.plan.design.seed, &format!("trial {number}")),
        };
        self.hosts.clear(match self.study.plan.targets.get(cell.target) {
            // As tables of mounts have it; a link over there is not followed from here.
            Some(Target::Directory(there)) if self.study.plan.on.is_some() => {
                Some(there.path.clone())
            }
            Some(Target::Directory(here)) => here.path.canonicalize().ok(),
            _ => None,
        });
        let (hosts, observer) = (&mut self.hosts, &mut *self.observer);
        let mut next_look = hosts::LOOK.as_secs_f64();
        let mut result = self.runner.trial(&spec, &mut |event| {
            match &event {
                Event::Phase { phase: Phase::Measure, .. } => hosts.begin(),
                Event::Phase { phase: Phase::Reckon, .. } => hosts.end(),
                Event::Finished { .. } => hosts.end(),
                Event::Window { at_seconds, .. } if *at_seconds >= next_look => {
                    next_look = at_seconds + hosts::LOOK.as_secs_f64();
                    observer(Progress::Loads(&hosts.look()));
                }
                _ => {}
            }
            observer(Progress::Event(&event));
        });
        self.hosts.rest(&*self.clock);
        let loads = self.hosts.loads();
        result.flags.extend(self.hosts.flags());
        if matches!(result.outcome, Outcome::Complete) {
            costs::add(&mut result, &loads, &self.study.plan, cell.target);
        }
        let fatal = match &result.outcome {
            Outcome::Failed { failure, .. } if ends_study(failure) => Some(failure.clone()),
            _ => None,
        };
        let trial = Trial {
            number,
            block: Some(block),
            cell: cell.clone(),
            started_seconds,
            result,
            loads,
            mount: self.hosts.mount(),
            imported: None,
        };
        let kept = self.keep.add_trial(&self.study, &trial);
        (self.observer)(Progress::Ended(&trial));
        self.study.trials.push(trial);
        kept?;
        fatal.map_or(Ok(()), Err)
    }

    /// Cleans up and says why it ended.
    fn finish(mut self, outcome: Result<(), Failure>) -> Result<Study, Failure> {
        let left = self.runner.close();
        let measured = !self.study.targets.is_empty() && !self.study.trials.is_empty();
        match outcome {
            Err(mut failure) if !measured => {
                // Nothing to keep: the failure itself must name what was left behind.
                for flag in left {
                    failure.next =
                        format!("{} {}: {}", failure.next, flag.message(), flag.advice());
                }
                return Err(failure);
            }
            Err(failure) if failure.cause == Cause::Interrupted => {
                self.study.ended = Ended::Interrupted;
            }
            Err(failure) => self.study.ended = Ended::Failed { failure },
            Ok(()) => {}
        }
        self.study.flags.extend(left);
        if let Err(failure) = self.keep.end(&self.study) {
            // The figures are worth more than the store: they are handed back all the same.
            self.study.ended = Ended::Failed { failure };
        }
        Ok(self.study)
    }
}

/// Whether going on makes no sense: the server is gone, full, or does not let us.
fn ends_study(failure: &Failure) -> bool {
    !matches!(failure.cause, Cause::Trial)
}

fn interrupted() -> Failure {
    Failure::new(Cause::Interrupted, "finish the study", "the plan", "it was interrupted", "")
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

/// Gives each target a short name that is unique in the study: what it speaks, and a number where
/// two speak the same.
fn label(targets: &mut [plimsoll_model::TargetFacts]) {
    let first_word =
        |t: &plimsoll_model::TargetFacts| t.protocol.split(' ').next().unwrap_or("").to_owned();
    let names: Vec<String> = targets.iter().map(first_word).collect();
    for (i, target) in targets.iter_mut().enumerate() {
        let same = names.iter().filter(|n| **n == names[i]).count();
        let nth = names[..=i].iter().filter(|n| **n == names[i]).count();
        target.label = if same > 1 { format!("{} {nth}", names[i]) } else { names[i].clone() };
    }
}
