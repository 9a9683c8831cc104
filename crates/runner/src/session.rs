//! One opened target: its run directory, its files, its trials.

use crate::directory::{self, READ_FILE, RunDirectory, WRITE_FILE};
use crate::lease::LeaseState;
use crate::options::RunnerOptions;
use crate::{probe, reckon};
use plimsoll_load::{Content, FileId, Files, LaidOut, Means, RunSpec, Share, TeamResult, Verified};
use plimsoll_model::units::{Bytes, MIB};
use plimsoll_model::{
    Cause, Event, Failure, Flag, InPlace, Outcome, Phase, StoredOn, TargetFacts, TrialResult,
    TrialSpec, Workload,
};
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// Room left for the lease and for what file systems need for themselves, in bytes.
const SPARE: u64 = 1 << 20;
/// How often, and at what intervals, cleaning up is tried again on a target that does not answer.
const CLEAN_UP_TRIES: u32 = 3;
const CLEAN_UP_PAUSE: Duration = Duration::from_secs(1);
/// Longest time for it all, on one target.
const CLEAN_UP_PATIENCE: Duration = Duration::from_secs(20);
/// The same where somebody waits for the end.
const STOPPED_PATIENCE: Duration = Duration::from_secs(10);

pub(crate) struct Session {
    share: Arc<dyn Share>,
    /// `None` where a file of the user's is read in place.
    directory: Option<RunDirectory>,
    options: RunnerOptions,
    means: Means,
    facts: TargetFacts,
    read: Option<LaidOut>,
    write: Option<WriteFile>,
    write_size: u64,
    /// The last generation of content used on this target: no two layouts or trials share one.
    generation: u32,
}

/// The file that is written, as the last layout or trial left it.
struct WriteFile {
    laid_out: LaidOut,
    /// The `TrialSpec::generation` it was laid out for.
    block: u32,
}

impl Session {
    pub(crate) fn open(
        share: Arc<dyn Share>,
        options: &RunnerOptions,
        nonce: u32,
    ) -> Result<(Self, Vec<Flag>), Failure> {
        let facts = share.facts();
        let mut namespace = share.namespace()?;
        let deadline = &options.deadline;
        // A study that was stopped meanwhile learns of it from the next call.
        let wait = |time: Duration| {
            let _ = deadline.sleep(time);
        };
        let in_place = facts.in_place.as_ref();
        let mut flags = match directory::find(&mut *namespace, &wait) {
            Ok(mut found) => {
                // Two targets may lead to one folder: this study's other directories are no other
                // run.
                found.retain(|f| !directory::belongs_to(&f.name, &options.study));
                other_runs(found, &facts.given)
            }
            // What may be read is not always what may be listed.
            Err(failure) if in_place.is_some() && failure.cause == Cause::NotPermitted => {
                Vec::new()
            }
            Err(failure) if can_be_done_without(&failure) => vec![Flag::CallFailed {
                target: facts.given.clone(),
                call: "look for other runs and their leftovers".to_owned(),
                reason: failure.happened,
                instead: "Make sure that nothing else measures there.".to_owned(),
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
        let study = u64::from_str_radix(&options.study.0, 16).unwrap_or(0);
        let means = Means {
            content: Arc::new(Content::new(study)),
            deadline: options.deadline.clone(),
            operation_timeout: options.operation_timeout,
        };
        flags.extend(share.take_flags());
        let session = Session {
            share,
            directory,
            options: options.clone(),
            means,
            facts,
            read,
            write: None,
            write_size: 0,
            generation: 0,
        };
        Ok((session, flags))
    }

    pub(crate) fn facts(&self) -> TargetFacts {
        self.facts.clone()
    }

    pub(crate) fn lay_out_rate(
        &mut self,
        bytes: u64,
        events: &mut dyn FnMut(Event),
    ) -> Result<f64, Failure> {
        let begun = self.means.deadline.now();
        let laid_out = self.lay_out(WRITE_FILE, bytes, events)?;
        let seconds = self.means.deadline.now().since(begun).as_secs_f64();
        self.directory()?.discard(WRITE_FILE, laid_out.file)?;
        Ok(bytes as f64 / seconds.max(1e-9))
    }

    pub(crate) fn prepare(
        &mut self,
        workloads: &[Workload],
        events: &mut dyn FnMut(Event),
    ) -> Result<Vec<Flag>, Failure> {
        let largest = |wanted: fn(&Workload) -> bool| {
            workloads.iter().filter(|w| wanted(w)).map(|w| w.size.0).max().unwrap_or(0)
        };
        let read_size = largest(|w| w.pattern.reads());
        self.write_size = largest(|w| w.pattern.writes());
        let read = match self.read {
            Some(in_place) => in_place,
            None => {
                self.check_space(read_size)?;
                if read_size == 0 {
                    return Ok(self.share.take_flags());
                }
                let laid_out = self.lay_out(READ_FILE, read_size, events)?;
                *self.read.insert(laid_out)
            }
        };
        let mut flags = self.share.take_flags();
        if !self.facts.memory_below {
            return Ok(flags);
        }
        events(Event::Phase { phase: Phase::Probe, total_bytes: 0 });
        let reads_from = probe::reads_from(&*self.share, &self.means, read, read_size)?;
        self.facts.reads_from = Some(reads_from);
        if reads_from != StoredOn::Disk {
            flags.push(Flag::WorkingSet {
                target: self.facts.given.clone(),
                size: Bytes(read_size),
                reads_from,
                settles: self.options.server_memory.map(|m| Bytes(m.saturating_mul(2))),
            });
        }
        Ok(flags)
    }

    /// The run's directory; nothing is written where there is none.
    fn directory(&mut self) -> Result<&mut RunDirectory, Failure> {
        self.directory.as_mut().ok_or_else(|| {
            let happened = "a file there is read in place, and nothing is written";
            let next = "Leave --file out to write, or name patterns that read.";
            Failure::new(Cause::Usage, "write to the target", &self.facts.given, happened, next)
        })
    }

    fn check_space(&mut self, read_size: u64) -> Result<(), Failure> {
        let space = match self.directory()?.namespace().space() {
            Ok(space) if space.total > 0 => space,
            // It was said when the target was opened.
            Ok(_) => return Ok(()),
            Err(failure) if can_be_done_without(&failure) => return Ok(()),
            Err(failure) => return Err(failure),
        };
        self.facts.space_bytes = (space.total, space.available);
        let needed = read_size + self.write_size;
        if space.available >= needed + SPARE {
            return Ok(());
        }
        // Two files of equal size, a power of two that leaves a tenth free.
        let fitting = (space.available / 10 * 9 / 2 + 1).next_power_of_two() / 2;
        let next = if fitting >= 1 << 20 {
            format!(
                "Make room, or give --size {} or less.",
                Bytes(fitting).to_string().replace(' ', "")
            )
        } else {
            "Make room on the target: not even --size 1MiB fits.".to_owned()
        };
        Err(Failure::new(
            Cause::NoSpace,
            "find room for the test files",
            &self.facts.given,
            format!("they need {} and {} are free", Bytes(needed), whole_mib(space.available)),
            next,
        ))
    }

    /// Creates and lays out a file with a generation of its own.
    fn lay_out(
        &mut self,
        name: &str,
        size: u64,
        events: &mut dyn FnMut(Event),
    ) -> Result<LaidOut, Failure> {
        events(Event::Phase { phase: Phase::LayOut, total_bytes: size });
        let file = self.directory()?.create(name)?;
        self.generation += 1;
        let laid_out = LaidOut { file, generation: self.generation };
        let mut renewed = self.means.deadline.now();
        let (deadline, silence) = (self.means.deadline.clone(), self.options.longest_trial);
        let directory = &mut self.directory;
        let mut progress = |bytes: u64| {
            events(Event::Progress { bytes });
            if deadline.now().since(renewed) > silence.max(Duration::from_secs(60)) {
                renewed = deadline.now();
                // A lease that cannot be renewed shows soon enough in the layout itself.
                let _ = directory.as_mut().map(RunDirectory::renew);
            }
        };
        plimsoll_load::lay_out(&*self.share, &self.means, laid_out, size, &mut progress)?;
        Ok(laid_out)
    }

    /// The files of a trial; the written one is laid out afresh for each new block, and for each
    /// trial that will read it back.
    fn files(&mut self, spec: &TrialSpec, events: &mut dyn FnMut(Event)) -> Result<Files, Failure> {
        if spec.workload.pattern.writes() {
            let reuse = self
                .write
                .as_ref()
                .is_some_and(|w| w.block == spec.generation && !spec.workload.verify);
            if !reuse {
                if let Some(old) = self.write.take() {
                    self.directory()?.discard(WRITE_FILE, old.laid_out.file)?;
                }
                let size = self.write_size.max(spec.workload.size.0);
                let laid_out = self.lay_out(WRITE_FILE, size, events)?;
                self.write = Some(WriteFile { laid_out, block: spec.generation });
            }
        }
        let write = self.write.as_ref().map(|w| w.laid_out);
        // A pattern that only reads never touches the other file, nor the other way round.
        let nothing = LaidOut { file: FileId(u32::MAX), generation: 0 };
        let read = self.read.or(write).unwrap_or(nothing);
        Ok(Files { read, write: write.unwrap_or(read) })
    }

    pub(crate) fn trial(&mut self, spec: &TrialSpec, events: &mut dyn FnMut(Event)) -> TrialResult {
        let failed = |phase: Phase, failure: Failure| TrialResult {
            outcome: match failure.cause {
                Cause::Interrupted => Outcome::Stopped,
                _ => Outcome::Failed { phase: phase.to_string(), failure },
            },
            ..TrialResult::empty()
        };
        self.means.deadline.give(self.options.set_up);
        let renewed = self.directory.as_mut().map_or(Ok(()), RunDirectory::renew);
        let prepared = renewed.and_then(|()| self.files(spec, events));
        let files = match prepared {
            Ok(files) => files,
            Err(failure) => return failed(Phase::LayOut, failure),
        };
        events(Event::Phase { phase: Phase::Measure, total_bytes: 0 });
        let team = match self.drive(spec, files, events) {
            Ok(team) => team,
            Err(failure) => return failed(Phase::Measure, failure),
        };
        events(Event::Phase { phase: Phase::Reckon, total_bytes: 0 });
        let mut result = reckon::result(&team, spec, &self.facts.given);
        result.flags.extend(self.share.take_flags());
        if spec.workload.pattern.writes() {
            if spec.workload.verify && result.outcome == Outcome::Complete {
                self.verify(spec, files.write, &team, &mut result, events);
            }
            // The next trial must not write the same bytes again: a server may notice that nothing
            // changed and write nothing.
            self.generation += 1;
            if let Some(write) = &mut self.write {
                write.laid_out.generation = self.generation;
            }
        }
        result
    }

    fn drive(
        &self,
        spec: &TrialSpec,
        files: Files,
        events: &mut dyn FnMut(Event),
    ) -> Result<TeamResult, Failure> {
        let seconds = |s: f64| Duration::from_secs_f64(s.clamp(0.0, 1e7));
        let run = RunSpec {
            workload: spec.workload.clone(),
            files,
            content: self.means.content.clone(),
            clock: self.means.deadline.clock().clone(),
            duration: seconds(spec.seconds),
            window: seconds(spec.window_seconds),
            operation_timeout: seconds(spec.operation_timeout_seconds),
            seed: spec.seed,
        };
        let (share, stop) = (&*self.share, &**self.means.deadline.stop());
        if !self.options.live {
            return plimsoll_load::run(share, &run, stop, None);
        }
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            let running = scope.spawn(move || {
                let mut observer = |at: Duration, window| {
                    // Nobody listens any more only if the receiver's thread died.
                    let _ = sender.send((at, window));
                };
                plimsoll_load::run(share, &run, stop, Some(&mut observer))
            });
            for (at, window) in receiver {
                events(Event::Window { at_seconds: at.as_secs_f64(), window });
            }
            running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Reads back what the trial wrote.
    fn verify(
        &self,
        spec: &TrialSpec,
        laid_out: LaidOut,
        team: &TeamResult,
        result: &mut TrialResult,
        events: &mut dyn FnMut(Event),
    ) {
        let size = spec.workload.size.0;
        events(Event::Phase { phase: Phase::Verify, total_bytes: size });
        self.means.deadline.give(self.options.set_up);
        let verified = plimsoll_load::verify(
            &*self.share,
            &self.means,
            laid_out,
            size,
            Some(&team.written),
            &mut |bytes| events(Event::Progress { bytes }),
        );
        match verified {
            Ok(verified) if verified.is_good() => {}
            Ok(Verified { stale, misplaced, corrupt, first, .. }) => {
                result.flags.push(Flag::BadContent { stale, misplaced, corrupt });
                result.outcome = Outcome::Failed {
                    phase: Phase::Verify.to_string(),
                    failure: reckon::bad_content(&self.facts.given, first.unwrap_or_default()),
                };
            }
            Err(failure) if failure.cause == Cause::Interrupted => {
                result.outcome = Outcome::Stopped;
            }
            Err(failure) => {
                result.outcome = Outcome::Failed { phase: Phase::Verify.to_string(), failure };
            }
        }
    }

    /// Removes everything made. A server that was gone gets a few chances to be back.
    pub(crate) fn close(mut self) -> Option<Flag> {
        let deadline = self.means.deadline.clone();
        let asked_for = deadline.stop().load(Ordering::Relaxed);
        deadline.finish_within(if asked_for { STOPPED_PATIENCE } else { CLEAN_UP_PATIENCE });
        let mut directory = self.directory.take()?;
        let files = [self.read, self.write.as_ref().map(|w| w.laid_out)];
        for laid_out in files.into_iter().flatten() {
            directory.namespace().close(laid_out.file);
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
            if directory.remove().is_ok() {
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

/// Rounded down to a MiB, for people.
fn whole_mib(bytes: u64) -> Bytes {
    if bytes < MIB { Bytes(bytes) } else { Bytes(bytes / MIB * MIB) }
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
