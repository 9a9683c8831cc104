//! One opened share: its run directory, its files, its points.

use crate::directory::{self, READ_FILE, RunDirectory, WRITE_FILE};
use crate::lease::LeaseState;
use crate::options::RunnerOptions;
use crate::{cache_test, summarize};
use plimsoll_load::{Content, FileId, Files, LaidOut, Means, RunSpec, Share, TeamResult, Verified};
use plimsoll_model::units::{Bytes, MIB};
use plimsoll_model::{
    Cause, Event, Failure, Flag, InPlace, Job, Length, LoadObserver, Outcome, Part, PatternJob,
    Phase, PointResult, PointSpec, StoredOn, TargetFacts, Workload,
};
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// Space left for the lease and for what file systems need for themselves, in bytes.
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
    /// The `PointSpec::generation` it was laid out for.
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
            paths: Arc::default(),
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
        observer: &mut dyn LoadObserver,
    ) -> Result<f64, Failure> {
        let begun = self.means.deadline.now();
        let laid_out = self.lay_out(WRITE_FILE, bytes, observer)?;
        let seconds = self.means.deadline.now().since(begun).as_secs_f64();
        self.directory()?.discard(WRITE_FILE, laid_out.file)?;
        Ok(bytes as f64 / seconds.max(1e-9))
    }

    pub(crate) fn prepare(
        &mut self,
        workloads: &[Workload],
        observer: &mut dyn LoadObserver,
    ) -> Result<Vec<Flag>, Failure> {
        let jobs = || workloads.iter().flat_map(|w| &w.parts).filter_map(|p| pattern(p).ok());
        let largest = |wanted: fn(&PatternJob) -> bool| {
            jobs().filter(|job| wanted(job)).map(|job| job.size.0).max().unwrap_or(0)
        };
        let read_size = largest(|job| job.pattern.reads());
        self.write_size = largest(|job| job.pattern.writes());
        let read = match self.read {
            Some(in_place) => in_place,
            None => {
                self.check_space(read_size)?;
                if read_size == 0 {
                    return Ok(self.share.take_flags());
                }
                let laid_out = self.lay_out(READ_FILE, read_size, observer)?;
                *self.read.insert(laid_out)
            }
        };
        let mut flags = self.share.take_flags();
        if !self.facts.memory_below {
            return Ok(flags);
        }
        observer.event(Event::Phase { phase: Phase::Probe, total_bytes: 0 });
        let reads_from = cache_test::reads_from(&*self.share, &self.means, read, read_size)?;
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
            // It was reported when the target was opened.
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
        observer: &mut dyn LoadObserver,
    ) -> Result<LaidOut, Failure> {
        observer.event(Event::Phase { phase: Phase::LayOut, total_bytes: size });
        let file = self.directory()?.create(name)?;
        self.generation += 1;
        let laid_out = LaidOut { file, generation: self.generation };
        let mut renewed = self.means.deadline.now();
        let (deadline, silence) = (self.means.deadline.clone(), self.options.longest_trial);
        let directory = &mut self.directory;
        let mut progress = |bytes: u64| {
            observer.event(Event::Progress { bytes });
            if deadline.now().since(renewed) > silence.max(Duration::from_secs(60)) {
                renewed = deadline.now();
                // A lease that cannot be renewed shows soon enough in the layout itself.
                let _ = directory.as_mut().map(RunDirectory::renew);
            }
        };
        plimsoll_load::lay_out(&*self.share, &self.means, laid_out, size, &mut progress)?;
        Ok(laid_out)
    }

    /// The files of a point; the written one is laid out afresh for each new block, and for each
    /// point that will read it back.
    fn files(
        &mut self,
        spec: &PointSpec,
        job: &PatternJob,
        observer: &mut dyn LoadObserver,
    ) -> Result<Files, Failure> {
        if job.pattern.writes() {
            let reuse =
                self.write.as_ref().is_some_and(|w| w.block == spec.generation && !job.verify);
            if !reuse {
                if let Some(old) = self.write.take() {
                    self.directory()?.discard(WRITE_FILE, old.laid_out.file)?;
                }
                let size = self.write_size.max(job.size.0);
                let laid_out = self.lay_out(WRITE_FILE, size, observer)?;
                self.write = Some(WriteFile { laid_out, block: spec.generation });
            }
        }
        let write = self.write.as_ref().map(|w| w.laid_out);
        // A pattern that only reads never touches the other file, nor the other way round.
        let nothing = LaidOut { file: FileId(u32::MAX), generation: 0 };
        let read = self.read.or(write).unwrap_or(nothing);
        Ok(Files { read, write: write.unwrap_or(read) })
    }

    pub(crate) fn point(
        &mut self,
        spec: &PointSpec,
        observer: &mut dyn LoadObserver,
    ) -> PointResult {
        let failed = |phase: Phase, failure| PointResult::empty(ended(phase, failure));
        self.means.deadline.give(self.options.set_up);
        let (part, job) = match only_part(spec) {
            Ok(only) => only,
            Err(failure) => return failed(Phase::Prepare, failure),
        };
        let renewed = self.directory.as_mut().map_or(Ok(()), RunDirectory::renew);
        let prepared = renewed.and_then(|()| self.files(spec, job, observer));
        let files = match prepared {
            Ok(files) => files,
            Err(failure) => return failed(Phase::LayOut, failure),
        };
        observer.event(Event::Phase { phase: Phase::Measure, total_bytes: 0 });
        observer.load_begins();
        let team = self.drive(spec, part, job, files, observer);
        observer.load_ends();
        let team = match team {
            Ok(team) => team,
            Err(failure) => return failed(Phase::Measure, failure),
        };
        observer.event(Event::Phase { phase: Phase::Summarize, total_bytes: 0 });
        let (result, outcome, flags) = summarize::part(&team, &part.job, spec, &self.facts.given);
        let mut result = PointResult { outcome, parts: vec![result], together: None, flags };
        result.flags.extend(self.share.take_flags());
        if job.pattern.writes() {
            if job.verify && result.outcome == Outcome::Complete {
                self.verify(job.size.0, files.write, &team, &mut result, observer);
            }
            // The next point must not write the same bytes again: a server may notice that nothing
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
        spec: &PointSpec,
        part: &Part,
        job: &PatternJob,
        files: Files,
        observer: &mut dyn LoadObserver,
    ) -> Result<TeamResult, Failure> {
        let Length::For { seconds: length, .. } = spec.workload.length else {
            let happened = "a pattern has no end of its own";
            let next = "Give its length in seconds.";
            let tried = "drive the pattern until it is done";
            return Err(Failure::new(Cause::Usage, tried, job.pattern, happened, next));
        };
        let seconds = |s: f64| Duration::from_secs_f64(s.clamp(0.0, 1e7));
        let run = RunSpec {
            job: job.clone(),
            workers: part.workers,
            depth: part.depth(),
            files,
            means: Means {
                operation_timeout: seconds(spec.operation_timeout_seconds),
                ..self.means.clone()
            },
            duration: seconds(length),
            window: seconds(spec.window_seconds),
            seed: spec.seed,
        };
        let share = &*self.share;
        if !self.options.live {
            return plimsoll_load::run(share, &run, None);
        }
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            let running = scope.spawn(move || {
                let mut observer = |at: Duration, window| {
                    // Nobody listens any more only if the receiver's thread died.
                    let _ = sender.send((at, window));
                };
                plimsoll_load::run(share, &run, Some(&mut observer))
            });
            for (at, window) in receiver {
                observer.event(Event::Window { at_seconds: at.as_secs_f64(), window });
            }
            running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Reads back what a point wrote.
    fn verify(
        &self,
        size: u64,
        laid_out: LaidOut,
        team: &TeamResult,
        result: &mut PointResult,
        observer: &mut dyn LoadObserver,
    ) {
        observer.event(Event::Phase { phase: Phase::Verify, total_bytes: size });
        self.means.deadline.give(self.options.set_up);
        let verified = plimsoll_load::verify(
            &*self.share,
            &self.means,
            laid_out,
            size,
            Some(&team.written),
            &mut |bytes| observer.event(Event::Progress { bytes }),
        );
        match verified {
            Ok(verified) if verified.is_good() => {}
            Ok(Verified { stale, misplaced, corrupt, first, .. }) => {
                result.flags.push(Flag::BadContent { stale, misplaced, corrupt });
                let failure = summarize::bad_content(&self.facts.given, first.unwrap_or_default());
                result.outcome = ended(Phase::Verify, failure);
            }
            Err(failure) => result.outcome = ended(Phase::Verify, failure),
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

/// How a point ended that failed in a phase.
fn ended(phase: Phase, failure: Failure) -> Outcome {
    match failure.cause {
        Cause::Interrupted => Outcome::Stopped,
        _ => Outcome::Failed { phase: phase.to_string(), failure },
    }
}

/// The pattern that a part is.
fn pattern(part: &Part) -> Result<&PatternJob, Failure> {
    match &part.job {
        Job::Pattern(job) => Ok(job),
        other => Err(Failure::new(
            Cause::Usage,
            format!("do the job {}", other.kind()),
            "storage",
            "it is done to something else",
            "Name one of the patterns.",
        )),
    }
}

fn only_part(spec: &PointSpec) -> Result<(&Part, &PatternJob), Failure> {
    match &spec.workload.parts[..] {
        [part] => Ok((part, pattern(part)?)),
        parts => Err(Failure::new(
            Cause::Usage,
            "measure a workload",
            "storage",
            format!("it has {} parts", parts.len()),
            "Give it one part.",
        )),
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
