//! The jobs of a study on one share, whatever they are.

use super::copy::{CopyRun, Trees};
use super::database::DatabaseRun;
use super::file::FileRun;
use super::laid_out::LaidOut;
use super::operations::OperationsRun;
use super::pattern::PatternRun;
use super::playback::PlaybackRun;
use super::scan::ScanRun;
use super::slides::SlidesRun;
use super::test_files::{LayOutBytes, TestFiles, write_file_name};
use super::{Counted, NotGood, Point, RunContext, StorageJob, Workspace};
use crate::no_crew::NoCrew;
use crate::op::FileId;
use crate::prepare::OperationContext;
use crate::result::{TeamResult, WorkerResult, last_answer};
use crate::run::{Crew, Needs, Observer, Ran, StartGate, Task, run_all};
use crate::share::Share;
use crate::source::Ended;
use crate::tally::Timing;
use crate::team::Progress;
use crate::techniques;
use plimsoll_model::{
    BufferSeries, Cause, Failure, Flag, Footprint, Job, Length, Measure, Part, PatternJob,
    PointSpec, Prepared, Workload,
};
use std::sync::Arc;
use std::time::Duration;

/// What a job can do, whatever its sources are.
trait AnyJob: Send {
    fn claim(&self, files: &mut TestFiles);
    fn prepare(&mut self, at: &mut Workspace<'_>) -> Result<Vec<Flag>, Failure>;
    fn ready(
        &mut self,
        at: &mut Workspace<'_>,
        part: &Part,
        point: &Point,
        timing: Timing,
        main: bool,
    ) -> Result<(), NoCrew>;
    fn dismiss(&mut self);
    fn tasks(&mut self) -> (Vec<Task<'_>>, Vec<Arc<Progress>>);
    fn finish(&mut self, at: &mut Workspace<'_>, complete: bool)
    -> Result<Vec<Flag>, Box<NotGood>>;
    fn remove(&mut self, at: &mut Workspace<'_>) -> Result<(), Failure>;
    fn counted(&self) -> Counted;
    fn figures(&self) -> Vec<(Measure, f64)>;
    fn buffer(&self) -> Option<BufferSeries>;
}

/// A job and, while a point is measured, its workers.
struct Manned<J: StorageJob> {
    job: J,
    crew: Option<Crew<J::Source>>,
}

impl<J: StorageJob> AnyJob for Manned<J> {
    fn claim(&self, files: &mut TestFiles) {
        self.job.claim(files);
    }

    fn prepare(&mut self, at: &mut Workspace<'_>) -> Result<Vec<Flag>, Failure> {
        self.job.prepare(at)
    }

    fn ready(
        &mut self,
        at: &mut Workspace<'_>,
        part: &Part,
        point: &Point,
        timing: Timing,
        main: bool,
    ) -> Result<(), NoCrew> {
        self.crew = None;
        self.job.begin(at, point)?;
        let asks = self.job.asks();
        let needs = Needs { workers: part.workers, arrival: part.arrival, asks };
        let context = self.job.context(at.context);
        let source = |worker, lane: &dyn crate::share::Lane| self.job.source(point, worker, lane);
        let mut own = |request| self.job.lane(at.share, request);
        let largest_write = at.share.facts().write_size_bytes;
        let lane = |request| techniques::lane(&part.techniques, request, largest_write, &mut own);
        self.crew = Some(Crew::new(&context, timing, main, needs, lane, source)?);
        Ok(())
    }

    fn dismiss(&mut self) {
        self.crew = None;
    }

    fn tasks(&mut self) -> (Vec<Task<'_>>, Vec<Arc<Progress>>) {
        self.crew.as_mut().map(Crew::tasks).unwrap_or_default()
    }

    fn finish(
        &mut self,
        at: &mut Workspace<'_>,
        complete: bool,
    ) -> Result<Vec<Flag>, Box<NotGood>> {
        let sources = self.crew.take().map(Crew::into_sources).unwrap_or_default();
        self.job.finish(sources, at, complete)
    }

    fn remove(&mut self, at: &mut Workspace<'_>) -> Result<(), Failure> {
        self.job.remove(at)
    }

    fn counted(&self) -> Counted {
        J::COUNTED
    }

    fn figures(&self) -> Vec<(Measure, f64)> {
        self.job.figures()
    }

    fn buffer(&self) -> Option<BufferSeries> {
        self.job.buffer()
    }
}

/// The jobs of a study on one share: prepared once, then done point by point.
pub struct Jobs {
    share: Arc<dyn Share>,
    context: OperationContext,
    files: TestFiles,
    trees: Trees,
    jobs: Vec<(Job, Box<dyn AnyJob>)>,
    /// Those that are over, whose files are still there.
    over: Vec<Box<dyn AnyJob>>,
    /// The number of the next job: no two have had the same.
    next: usize,
    /// Which of them are the parts of the point that is measured.
    parts: Vec<usize>,
    timing: Timing,
    operation_timeout: Duration,
    results: Vec<Vec<WorkerResult>>,
}

/// What one part of a point did.
pub struct PartDone {
    /// What its workers did.
    pub team: TeamResult,
    /// What is counted beside operations and bytes.
    pub counted: Counted,
    /// Figures of the job beside those of its workers.
    pub figures: Vec<(Measure, f64)>,
    /// What the buffers of its films had over time.
    pub buffer: Option<BufferSeries>,
    /// What the job found when it looked at what was done.
    pub found: Result<Vec<Flag>, Box<NotGood>>,
}

impl Jobs {
    /// Jobs on an opened share. `in_place`: a file of the user's that patterns read.
    pub fn new(
        share: Arc<dyn Share>,
        context: OperationContext,
        in_place: Option<LaidOut>,
    ) -> Self {
        let none = Timing { length: Duration::ZERO, until_done: false, window: Duration::ZERO };
        Jobs {
            share,
            operation_timeout: context.operation_timeout,
            context,
            files: TestFiles::new(in_place),
            trees: Trees::default(),
            jobs: Vec::new(),
            over: Vec::new(),
            next: 0,
            parts: Vec::new(),
            timing: none,
            results: Vec::new(),
        }
    }

    /// Takes the jobs of these workloads; what they need on the storage, all together. Without any
    /// workload all jobs before are over: [`prepare`](Jobs::prepare) removes what they made.
    ///
    /// # Errors
    /// One of them is nothing that can be done to storage.
    pub fn claim(&mut self, workloads: &[Workload]) -> Result<Footprint, Failure> {
        if workloads.is_empty() {
            self.over.extend(self.jobs.drain(..).map(|(_, job)| job));
        }
        for workload in workloads {
            self.find(workload)?;
        }
        let of_all = |each: u64| each.saturating_mul(PatternJob::FILES.into());
        let (read, written) = (of_all(self.files.read_size), of_all(self.files.write_size));
        let mut all = Footprint { read, written, ..Footprint::default() };
        let own = Footprint::own(self.jobs.iter().map(|(job, _)| job));
        all.read = all.read.saturating_add(own.read);
        all.written = all.written.saturating_add(own.written);
        all.names = all.names.saturating_add(own.names);
        Ok(all)
    }

    /// The jobs that are the parts of a workload: equal parts are different jobs.
    fn find(&mut self, workload: &Workload) -> Result<Vec<usize>, Failure> {
        let mut parts = Vec::new();
        for part in &workload.parts {
            let known =
                |number: &usize| self.jobs[*number].0 == part.job && !parts.contains(number);
            let number = match (0..self.jobs.len()).find(known) {
                Some(number) => number,
                None => {
                    let job = open(&part.job, self.next, &self.share.facts().given)?;
                    self.next += 1;
                    job.claim(&mut self.files);
                    self.jobs.push((part.job.clone(), job));
                    self.jobs.len() - 1
                }
            };
            parts.push(number);
        }
        Ok(parts)
    }

    /// Makes what the jobs work on: a step, that lays out one of the files that patterns share at most.
    pub fn prepare(&mut self, run: &mut dyn RunContext) -> Result<Prepared, Failure> {
        let Jobs { share, context, files, trees, jobs, over, .. } = self;
        let mut at = Workspace { share: &**share, context, run, files, trees };
        for mut job in over.drain(..) {
            job.remove(&mut at)?;
        }
        let mut flags = Vec::new();
        for (_, job) in jobs {
            flags.extend(job.prepare(&mut at)?);
        }
        Ok(Prepared { flags, more: TestFiles::lay_out_next(&mut at)? })
    }

    /// The files that patterns read, and how much of all of them together, in bytes.
    pub fn read_files(&self) -> (&[LaidOut], u64) {
        self.files.read()
    }

    /// Lays out so many bytes and removes them again; what that took.
    pub fn lay_out(&mut self, bytes: u64, run: &mut dyn RunContext) -> Result<Duration, Failure> {
        let (begun, name) = (self.context.deadline.now(), write_file_name(0));
        let all = LayOutBytes { before: 0, total: bytes };
        let laid_out = TestFiles::lay_out(&*self.share, &self.context, run, &name, bytes, all)?;
        let took = self.context.deadline.now().since(begun);
        let (names, directory) = run.names()?;
        let path = format!("{directory}/{name}");
        names.close(laid_out.file);
        names.remove_file(&path)?;
        Ok(took)
    }

    /// Makes everything ready for a point: files, lanes, workers.
    pub fn ready(&mut self, spec: &PointSpec, run: &mut dyn RunContext) -> Result<(), Failure> {
        let workload = &spec.workload;
        self.parts = self.find(workload)?;
        self.context.operation_timeout = self.operation_timeout.min(seconds(spec.left_seconds));
        let (length, warm_up, until_done) = match workload.length {
            Length::For { seconds, warm_up_seconds } => (seconds, warm_up_seconds, false),
            Length::UntilDone { at_most_seconds } => (at_most_seconds, 0.0, true),
        };
        let warm_up = seconds(warm_up);
        let window = seconds(spec.window_seconds);
        self.timing = Timing { length: seconds(length), until_done, window };
        let Jobs { share, context, files, trees, jobs, parts, timing, .. } = self;
        let mut at = Workspace { share: &**share, context, run, files, trees };
        let lanes = |part: &Part| u32::from(part.workers.get());
        let mut made = 0;
        for (index, (part, number)) in workload.parts.iter().zip(&*parts).enumerate() {
            let main = index == 0;
            let PointSpec { rotation, seed, .. } = *spec;
            let (seed, workers) = (seed.wrapping_add(index as u64), part.workers);
            let once = main && until_done;
            let length = timing.length;
            let point = Point { rotation, seed, workers, once, length, warm_up };
            if let Err(none) = jobs[*number].1.ready(&mut at, part, &point, *timing, main) {
                // Connections that stayed would count for the limit of the server at the next point.
                parts.iter().for_each(|number| jobs[*number].1.dismiss());
                let all = workload.parts.iter().map(lanes).sum();
                return Err(none.failure(&**share, context, made, all));
            }
            made += lanes(part);
        }
        Ok(())
    }

    /// The load: from the first operation to the end of the last flush. With a gate it begins at the
    /// instant that this gives; how long after that it did.
    ///
    /// # Errors
    /// Those of the gate: nothing was issued.
    pub fn run(
        &mut self,
        observer: Option<Observer<'_>>,
        gate: Option<&StartGate<'_>>,
    ) -> Result<Option<Duration>, Failure> {
        let mut order: Vec<Option<_>> = self.parts.iter().map(|_| None).collect();
        for (number, (_, job)) in self.jobs.iter_mut().enumerate() {
            if let Some(part) = self.parts.iter().position(|part| *part == number) {
                order[part] = Some(job.tasks());
            }
        }
        let parts = order.into_iter().flatten().collect();
        let Ran { results, late } =
            run_all(parts, &self.context, self.timing.window, observer, gate);
        self.results = results;
        late
    }

    /// What came of it, part by part.
    pub fn finish(&mut self, run: &mut dyn RunContext) -> Vec<PartDone> {
        self.context.operation_timeout = self.operation_timeout;
        let results = std::mem::take(&mut self.results);
        let Jobs { share, context, files, trees, jobs, parts, timing, .. } = self;
        let mut at = Workspace { share: &**share, context, run, files, trees };
        let answered = last_answer(results.iter().flatten());
        let team = |workers| TeamResult::merge(*timing, workers, answered);
        let teams: Vec<TeamResult> = results.into_iter().map(team).collect();
        let good = |team: &TeamResult| team.ended == Ended::Complete && team.first_error.is_none();
        let complete = teams.iter().all(good);
        let done = teams.into_iter().zip(parts).map(|(team, number)| {
            let job = &mut jobs[*number].1;
            let found = job.finish(&mut at, complete);
            let (counted, figures, buffer) = (job.counted(), job.figures(), job.buffer());
            PartDone { team, counted, figures, buffer, found }
        });
        done.collect()
    }

    /// The files that are open between points.
    pub fn open_files(&self) -> Vec<FileId> {
        self.files.open().collect()
    }
}

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds.clamp(0.0, 1e7))
}

fn manned<J: StorageJob + 'static>(job: J) -> Box<dyn AnyJob> {
    Box::new(Manned { job, crew: None })
}

/// How a job is done to storage: the one place that asks which it is. `number` tells its names from
/// those of other jobs.
fn open(job: &Job, number: usize, given: &str) -> Result<Box<dyn AnyJob>, Failure> {
    Ok(match job {
        Job::Pattern(job) => manned(PatternRun::new(job)),
        Job::Copy(job) => manned(CopyRun::new(job, number)?),
        Job::Log(job) => manned(super::log::LogRun::new(job)),
        Job::Database(job) => manned(DatabaseRun::new(job, number)),
        Job::Playback(job) => manned(PlaybackRun::new(job)),
        Job::Slides(job) => manned(SlidesRun::new(job)),
        Job::Scan(job) => manned(ScanRun::new(job, number)),
        Job::File(job) => manned(FileRun::new(job, number)),
        Job::Operations(job) => manned(OperationsRun::new(job, number)),
        other => {
            let tried = format!("do the job '{}'", other.kind());
            let happened = format!("it measures {}, not storage", other.subject());
            let next = "Name a pattern, a scan or a copy.";
            return Err(Failure::new(Cause::Usage, tried).on(given).happened(happened).next(next));
        }
    })
}
