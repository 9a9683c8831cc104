//! One opened share: its run directory, its files, its points.

use crate::context::Context;
use crate::directory::{self, RunDirectory};
use crate::lease::LeaseState;
use crate::options::RunnerOptions;
use crate::timed::SlowCalls;
use crate::{cache_test, summarize};
use plimsoll_load::{
    Content, Jobs, LaidOut, Memory, NotGood, OperationContext, OutsideStalls, PartDone, Share,
    StartGate,
};
use plimsoll_model::units::{Bytes, amount};
use plimsoll_model::{
    Cause, ClientMemory, Event, Failure, Flag, InPlace, LoadObserver, Outcome, Phase, PointResult,
    PointSpec, Prepared, StoredOn, TargetFacts, Workload,
};
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// Space left for the lease and for what file systems need for themselves, in bytes.
const SPARE: u64 = 1 << 20;
/// Time between two attempts to connect again to a server that restarts.
const REOPEN_PAUSE: Duration = Duration::from_millis(200);
/// What follows the load of a point, such as verifying, has at least so much time, also at the end of the study.
const AFTER_THE_LOAD: Duration = Duration::from_secs(30);
/// How often, and at what intervals, cleaning up is tried again on a target that does not answer.
const CLEAN_UP_TRIES: u32 = 3;
const CLEAN_UP_PAUSE: Duration = Duration::from_secs(1);
/// Longest time for it all, on one target, in which nothing is removed.
const CLEAN_UP_PATIENCE: Duration = Duration::from_secs(20);
/// The same where somebody waits for the end.
const STOPPED_PATIENCE: Duration = Duration::from_secs(10);
/// Trees of many files take long to be removed; a server that always finds more is left at last.
const CLEAN_UP_AT_MOST: Duration = Duration::from_secs(1800);

pub(crate) struct Session {
    share: Arc<dyn Share>,
    /// `None` where a file of the user's is read in place.
    directory: Option<RunDirectory>,
    options: RunnerOptions,
    /// The study's number and this target's and client's in it: no two write or draw alike.
    own: u64,
    operation_context: OperationContext,
    facts: TargetFacts,
    jobs: Jobs,
    /// Calls between two loads in which the target stalled.
    slow: SlowCalls,
    /// Whether there was space for all of it, before any of it was made.
    has_space: bool,
}

impl Session {
    pub(crate) fn open(
        share: Arc<dyn Share>,
        options: &RunnerOptions,
        nonce: u32,
    ) -> Result<(Self, Vec<Flag>), Failure> {
        let facts = share.facts();
        let stalls = OutsideStalls::default();
        let slow = SlowCalls::new(options.deadline.clone(), stalls.clone());
        let mut namespace = slow.names(share.namespace()?);
        let deadline = &options.deadline;
        // A study that was stopped meanwhile learns of it from the next call.
        let wait = |time: Duration| {
            let _ = deadline.sleep(time);
        };
        let in_place = facts.in_place.as_ref();
        let mut flags = match directory::find(&mut *namespace, &wait) {
            Ok(mut found) => {
                // Two targets may lead to one folder: this run's other directories are no other run.
                found.retain(|f| !directory::is_of_run(&f.name, &options.study, nonce));
                other_runs(found, &facts.given)
            }
            // What may be read is not always what may be listed.
            Err(failure) if in_place.is_some() && failure.cause == Cause::NotPermitted => {
                Vec::new()
            }
            Err(failure) if can_be_done_without(&failure) => vec![Flag::CallFailed {
                target: facts.given.clone(),
                call: "search for other runs and their files".to_owned(),
                reason: failure.happened,
                instead: "Make sure that no other measurement runs there.".to_owned(),
            }],
            Err(failure) => return Err(failure),
        };
        let (directory, read) = match in_place {
            Some(InPlace { file, .. }) => {
                (None, Some(LaidOut { file: namespace.open(file)?, generation: 0 }))
            }
            None => {
                let (study, silence) = (&options.study, options.longest_trial);
                let made = RunDirectory::make(namespace, study, nonce, silence, deadline)?;
                (Some(made), None)
            }
        };
        // Several clients, and several targets, of one study write nothing alike: what two have in
        // common, a storage may keep once.
        let study = u64::from_str_radix(&options.study.0, 16).unwrap_or(0);
        let own = study | u64::from(nonce) << 32;
        let operation_context = OperationContext {
            content: Arc::new(Content::new(own)),
            paths: Arc::default(),
            deadline: options.deadline.clone(),
            operation_timeout: options.operation_timeout,
            stalls,
        };
        flags.extend(share.take_flags());
        let session = Session {
            jobs: Jobs::new(share.clone(), operation_context.clone(), read),
            share,
            directory,
            slow,
            options: options.clone(),
            own,
            operation_context,
            facts,
            has_space: false,
        };
        Ok((session, flags))
    }

    pub(crate) fn facts(&self) -> TargetFacts {
        self.facts.clone()
    }

    /// The jobs, and the run as they see it.
    fn jobs<'s>(&'s mut self, observer: &'s mut dyn LoadObserver) -> (&'s mut Jobs, Context<'s>) {
        let Session { jobs, directory, facts, operation_context, options, .. } = self;
        let silence = options.longest_trial;
        (
            jobs,
            Context::new(directory, observer, &facts.given, &operation_context.deadline, silence),
        )
    }

    pub(crate) fn lay_out_rate(
        &mut self,
        bytes: u64,
        observer: &mut dyn LoadObserver,
    ) -> Result<f64, Failure> {
        let (jobs, mut context) = self.jobs(observer);
        let took = jobs.lay_out(bytes, &mut context)?;
        Ok(bytes as f64 / took.as_secs_f64().max(1e-9))
    }

    pub(crate) fn prepare(
        &mut self,
        workloads: &[Workload],
        observer: &mut dyn LoadObserver,
    ) -> Result<Prepared, Failure> {
        let needed = self.jobs.claim(workloads)?;
        if !workloads.is_empty() && !std::mem::replace(&mut self.has_space, true) {
            let parts = workloads.iter().flat_map(|workload| &workload.parts);
            let less = parts.filter_map(|part| part.job.needs_less()).next();
            self.check_space(needed.read.saturating_add(needed.written), less)?;
        }
        let (jobs, mut context) = self.jobs(observer);
        let mut prepared = jobs.prepare(&mut context)?;
        prepared.flags.extend(self.share.take_flags());
        if !prepared.more && self.facts.memory_below && self.facts.reads_from.is_none() {
            prepared.flags.extend(self.find_out_reads_from(observer)?);
        }
        Ok(prepared)
    }

    /// Finds out what reads come from, where there is something to read.
    fn find_out_reads_from(
        &mut self,
        observer: &mut dyn LoadObserver,
    ) -> Result<Option<Flag>, Failure> {
        let target = self.facts.given.clone();
        let memory = self.share.memory();
        if let Memory::Client(memory @ ClientMemory::FileSystem { .. }) = memory {
            self.facts.reads_from = Some(StoredOn::ClientMemory);
            return Ok(Some(Flag::ClientMemory { target, memory, surely: true }));
        }
        let (files, size) = self.jobs.read_files();
        if files.is_empty() {
            return Ok(None);
        }
        observer.event(Event::Phase { phase: Phase::Probe, total_bytes: 0 });
        let found =
            cache_test::reads_from(&*self.share, &self.operation_context, files, size, self.own)?;
        let server_memory = self.options.server_memory;
        let reads_from = match found {
            // Then it is a disk that is as fast, or not what the server has.
            StoredOn::ServerMemory if server_memory.is_some_and(|m| size > m) => StoredOn::Unknown,
            found => found,
        };
        self.facts.reads_from = Some(reads_from);
        Ok(match (reads_from, memory) {
            (StoredOn::Disk, _) => None,
            (_, Memory::Client(memory)) => {
                let surely = reads_from == StoredOn::ClientMemory;
                Some(Flag::ClientMemory { target, memory, surely })
            }
            (_, Memory::Server | Memory::None) => Some(Flag::WorkingSet {
                target,
                size: Bytes(size),
                reads_from,
                settles: server_memory.map(|m| Bytes(m.saturating_mul(2))),
            }),
        })
    }

    /// Whether there is space for so many bytes; what is read in place needs none. `less`: what makes
    /// jobs need less that have no size to choose.
    fn check_space(&mut self, needed: u64, less: Option<&str>) -> Result<(), Failure> {
        let Some(directory) = &mut self.directory else { return Ok(()) };
        let space = match directory.names().0.space() {
            Ok(space) if space.total > 0 => space,
            // It was reported when the target was opened.
            Ok(_) => return Ok(()),
            Err(failure) if can_be_done_without(&failure) => return Ok(()),
            Err(failure) => return Err(failure),
        };
        self.facts.space_bytes = (space.total, space.available);
        if space.available >= needed.saturating_add(SPARE) {
            return Ok(());
        }
        // Two files of equal size, a power of two that leaves a tenth free.
        let fitting = (space.available / 10 * 9 / 2 + 1).next_power_of_two() / 2;
        let next = if let Some(less) = less {
            format!("Free some space, or {less}.")
        } else if fitting >= 1 << 20 {
            format!(
                "Free some space, or give --size {} or less.",
                Bytes(fitting).to_string().replace(' ', "")
            )
        } else {
            "Free some space on the target: even --size 1MiB does not fit.".to_owned()
        };
        Err(Failure::new(Cause::NoSpace, "find space for the test files")
            .on(&self.facts.given)
            .happened(format!(
                "they need {}, but {} are free",
                amount(Bytes(needed)),
                amount(Bytes(space.available))
            ))
            .next(next))
    }

    /// One point; and of one that begins at a gate, how long after its instant it did.
    pub(crate) fn point(
        &mut self,
        spec: &PointSpec,
        gate: Option<&StartGate<'_>>,
        observer: &mut dyn LoadObserver,
    ) -> (PointResult, Option<Duration>) {
        let failed = |phase, failure| (PointResult::empty(ended(phase, failure)), None);
        let left = Duration::try_from_secs_f64(spec.left_seconds).unwrap_or(Duration::MAX);
        let end = self.operation_context.deadline.now() + left;
        self.operation_context.deadline.give(left.min(self.options.set_up));
        let renewed = self.directory.as_mut().map_or(Ok(()), RunDirectory::renew);
        let (jobs, mut context) = self.jobs(observer);
        if let Err(failure) = renewed.and_then(|()| jobs.ready(spec, &mut context)) {
            return failed(Phase::LayOut, failure);
        }
        // The load has an end of its own, and its operations have theirs.
        self.operation_context.deadline.give(self.options.set_up);
        observer.event(Event::Phase { phase: Phase::Measure, total_bytes: 0 });
        observer.load_begins();
        let load = self.operation_context.deadline.now();
        let begun = self.load(gate, observer);
        observer.load_ends();
        observer.event(Event::Phase { phase: Phase::Summarize, total_bytes: 0 });
        let left = end.since(self.operation_context.deadline.now()).max(AFTER_THE_LOAD);
        self.operation_context.deadline.give(left.min(self.options.set_up));
        let (jobs, mut context) = self.jobs(observer);
        let parts = jobs.finish(&mut context);
        let late = match begun {
            Ok(late) => late,
            Err(failure) => return failed(Phase::Measure, failure),
        };
        let mut result = PointResult::empty(Outcome::Complete);
        for (part, done) in spec.workload.parts.iter().zip(parts) {
            let PartDone { team, counted, figures: own, buffer, found } = done;
            let (mut figures, outcome, flags) =
                summarize::part(&team, part, counted, spec, &self.facts.given);
            result.flags.extend(summarize::add(&mut figures, own));
            figures.buffer = buffer;
            result.parts.push(figures);
            result.flags.extend(flags);
            let (outcome, flags) = match found {
                Ok(flags) => (outcome, flags),
                Err(not_good) => {
                    let NotGood { failure, flags } = *not_good;
                    (outcome.worse(ended(Phase::Verify, failure)), flags)
                }
            };
            result.flags.extend(flags);
            result.outcome = result.outcome.worse(outcome);
        }
        result.flags.extend(self.share.take_flags());
        if let Some(main) = result.parts.first_mut() {
            main.stalls.extend(self.operation_context.stalls.take(load));
        }
        (result, late)
    }

    /// The load of a point whose jobs are ready.
    fn load(
        &mut self,
        gate: Option<&StartGate<'_>>,
        observer: &mut dyn LoadObserver,
    ) -> Result<Option<Duration>, Failure> {
        let jobs = &mut self.jobs;
        if !self.options.live {
            return jobs.run(None, gate);
        }
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            let running = scope.spawn(move || {
                let mut windows = |at: Duration, parts| {
                    // Nobody listens any more only if the receiver's thread died.
                    let _ = sender.send((at, parts));
                };
                jobs.run(Some(&mut windows), gate)
            });
            for (at, parts) in receiver {
                observer.event(Event::Window { at_seconds: at.as_secs_f64(), parts });
            }
            running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    pub(crate) fn release(&self) -> Result<(), Failure> {
        self.share.release()
    }

    /// Makes the connection that names are worked on with anew; every lane has one of its own. A server
    /// that restarts between two trials is waited for as long as lanes wait for one that does within.
    pub(crate) fn reopen(&mut self) -> Result<(), Failure> {
        let deadline = self.operation_context.deadline.clone();
        // What restarted the server may have taken the time that was left.
        if deadline.end() < deadline.now() + self.operation_context.operation_timeout {
            deadline.give(self.operation_context.operation_timeout);
        }
        let end = deadline.now() + self.operation_context.operation_timeout / 2;
        loop {
            match self.try_reopen() {
                Err(failure) if failure.cause == Cause::Unreachable && deadline.now() < end => {
                    if deadline.sleep(REOPEN_PAUSE).is_err() {
                        return Err(failure);
                    }
                }
                ended => return ended,
            }
        }
    }

    fn try_reopen(&mut self) -> Result<(), Failure> {
        self.share.resume()?;
        if let Some(directory) = &mut self.directory {
            let namespace = self.slow.timed(|| self.share.namespace())?;
            directory.reconnect(self.slow.names(namespace));
        }
        Ok(())
    }

    /// Removes everything made. A server that was gone gets a few chances to be back.
    pub(crate) fn close(mut self) -> Option<Flag> {
        let deadline = self.operation_context.deadline.clone();
        let asked_for = deadline.stop().load(Ordering::Relaxed);
        let patience = if asked_for { STOPPED_PATIENCE } else { CLEAN_UP_PATIENCE };
        deadline.finish_within(patience);
        let end = deadline.now() + CLEAN_UP_AT_MOST;
        let mut progress = || {
            if deadline.now() < end {
                deadline.finish_within(patience);
            }
        };
        let mut directory = self.directory.take()?;
        for file in self.jobs.open_files() {
            directory.names().0.close(file);
        }
        for attempt in 0..CLEAN_UP_TRIES {
            if attempt > 0 {
                if deadline.sleep(CLEAN_UP_PAUSE).is_err() {
                    break;
                }
                match self.share.namespace() {
                    Ok(namespace) => directory.reconnect(namespace),
                    Err(_) => continue,
                }
            }
            if directory.remove(&mut progress).is_ok() {
                return None;
            }
        }
        Some(Flag::NotCleaned {
            target: self.facts.given.clone(),
            directory: directory.name().to_owned(),
            on: None,
        })
    }
}

/// How a point ended that failed in a phase.
fn ended(phase: Phase, failure: Failure) -> Outcome {
    match failure.cause {
        Cause::Interrupted => Outcome::Stopped,
        _ => Outcome::Failed { phase: phase.to_string(), failure },
    }
}

/// Whether a call that failed says something about that call alone: the server is there, and nobody
/// wants the study to end.
fn can_be_done_without(failure: &Failure) -> bool {
    matches!(failure.cause, Cause::Trial | Cause::NotPermitted)
}

fn other_runs(found: Vec<directory::Found>, target: &str) -> Vec<Flag> {
    let (dead, live): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|f| f.state == LeaseState::Dead);
    let mut flags: Vec<Flag> =
        live.into_iter().map(|f| Flag::OtherRun { directory: f.name }).collect();
    if !dead.is_empty() {
        flags.push(Flag::Leftovers {
            directories: dead.into_iter().map(|f| f.name).collect(),
            target: target.to_owned(),
            on: None,
        });
    }
    flags
}
