//! A team of workers on one pattern: lanes, threads, a common start, merged figures.

use crate::cpu;
use crate::driver::{Driver, Ended, Limits, Progress, Stop};
use crate::jobs::{Files, PatternSource, pattern};
use crate::prepare::Means;
use crate::result::{TeamResult, WorkerResult};
use crate::share::{Lane, Share};
use crate::tally::{Counts, Shape, Tally, by_kind, difference};
use plimsoll_model::{Cause, Failure, Nanos, PatternJob, Stability, Window};
use std::num::NonZeroU16;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, OnceLock};
use std::time::Duration;

/// Called about once a window with the time since the start and what completed since the last
/// call. Approximate: it samples counters beside the workers, which never wait for it.
pub type Observer<'a> = &'a mut (dyn FnMut(Duration, Window) + Send);

/// Everything [`run`] needs to know.
#[derive(Clone)]
pub struct RunSpec {
    /// The pattern with all its settings.
    pub job: PatternJob,
    /// Threads, each with a lane of its own.
    pub workers: NonZeroU16,
    /// Operations that each keeps in flight.
    pub depth: NonZeroU16,
    /// The files, laid out whole (see [`lay_out`](crate::lay_out)).
    pub files: Files,
    /// What operations need. The request to stop ends the load; the end of the whole does not.
    pub means: Means,
    /// Warm-up and measured part together.
    pub duration: Duration,
    /// Length of a window.
    pub window: Duration,
    /// Seed of the offsets.
    pub seed: u64,
}

/// Runs one pattern to its end. Writes that are not stable when they complete are flushed at the
/// end, once by every worker.
///
/// One worker runs on the calling thread, so that with a scripted share and clock every figure is
/// exact; several run on a thread each and start together. When one fails, all stop. The
/// `Failure` is of what comes before the load: a file too small for the workers, or a lane that
/// could not be made. What goes wrong under load is in [`TeamResult::ended`].
pub fn run(
    share: &dyn Share,
    spec: &RunSpec,
    observer: Option<Observer<'_>>,
) -> Result<TeamResult, Failure> {
    let workers = (0..spec.workers.get())
        .map(|number| Worker::new(share, spec, number))
        .collect::<Result<Vec<_>, _>>()?;
    let kinds = pattern::kinds(spec.job.pattern);
    let team = Team {
        spec,
        limits: limits(spec),
        user_stop: spec.means.deadline.stop(),
        team_stop: AtomicBool::new(false),
        start: OnceLock::new(),
        gate: Barrier::new(workers.len()),
        progress: workers.iter().map(|_| Progress::of(kinds)).collect(),
        done: AtomicBool::new(false),
    };
    let results = std::thread::scope(|scope| {
        let observing = observer.map(|observer| scope.spawn(|| team.observe(observer)));
        let results = team.work(workers);
        team.done.store(true, Ordering::Relaxed);
        if let Some(observing) = observing {
            observing.thread().unpark();
        }
        results
    });
    Ok(TeamResult::merge(spec.duration, results))
}

fn limits(spec: &RunSpec) -> Limits {
    let unstable = spec.job.stability == Stability::Unstable;
    let flush = spec.job.pattern.writes() && unstable;
    Limits {
        operation_timeout: spec.means.operation_timeout,
        flush: flush.then_some(spec.files.write.file),
        end: Nanos(u64::MAX),
    }
}

struct Worker {
    number: usize,
    lane: Box<dyn Lane>,
    source: PatternSource,
    tally: Tally,
}

impl Worker {
    fn new(share: &dyn Share, spec: &RunSpec, number: u16) -> Result<Worker, Failure> {
        let (job, means) = (&spec.job, &spec.means);
        let source = PatternSource::new(job, spec.workers, number, spec.files, spec.seed).map_err(
            |happened| {
                Failure::new(
                    Cause::Usage,
                    "share out the file to the workers",
                    share.facts().given,
                    happened,
                    "Give a larger --size, a smaller --block or fewer --workers.",
                )
            },
        )?;
        let block = u32::try_from(job.block.0).unwrap_or(u32::MAX);
        let lane = share.lane(means.lane(spec.depth, block, job.verify))?;
        let tally = Tally::new(Shape {
            duration: Some(spec.duration),
            window: spec.window,
            kinds: pattern::kinds(job.pattern),
        });
        Ok(Worker { number: usize::from(number), lane, source, tally })
    }
}

struct Team<'a> {
    spec: &'a RunSpec,
    limits: Limits,
    user_stop: &'a AtomicBool,
    team_stop: AtomicBool,
    /// When the load began: taken once, by whoever is first through the gate.
    start: OnceLock<Nanos>,
    gate: Barrier,
    progress: Vec<Progress>,
    done: AtomicBool,
}

impl Team<'_> {
    fn work(&self, mut workers: Vec<Worker>) -> Vec<WorkerResult> {
        if workers.len() == 1
            && let Some(alone) = workers.pop()
        {
            return vec![self.work_one(alone)];
        }
        std::thread::scope(|scope| {
            let threads: Vec<_> =
                workers.into_iter().map(|worker| scope.spawn(|| self.work_one(worker))).collect();
            threads
                .into_iter()
                .map(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        })
    }

    fn work_one(&self, mut worker: Worker) -> WorkerResult {
        self.gate.wait();
        let clock = &**self.spec.means.deadline.clock();
        let start = *self.start.get_or_init(|| clock.now());
        let helpers_before = worker.lane.helper_cpu();
        let cpu_before = cpu::of_this_thread();
        worker.tally.begin(start);
        let driver = Driver::new(
            &mut *worker.lane,
            self.spec.depth,
            clock,
            &self.limits,
            Stop { user: self.user_stop, team: &self.team_stop },
            &self.progress[worker.number],
        );
        let (ended, flush) = driver.drive(&mut worker.source, &mut worker.tally);
        if matches!(ended, Ended::Failed(_)) {
            self.team_stop.store(true, Ordering::Relaxed);
        }
        let own = cpu::of_this_thread().saturating_sub(cpu_before);
        let helpers = worker.lane.helper_cpu().saturating_sub(helpers_before);
        WorkerResult {
            ended,
            counted: worker.tally.finish(clock.now()),
            flush,
            cpu: own + helpers,
            written: worker.source.into_written(),
        }
    }

    fn observe(&self, observer: Observer<'_>) {
        let mut seen = Counts::default();
        while !self.done.load(Ordering::Relaxed) {
            std::thread::park_timeout(self.spec.window.max(Duration::from_millis(1)));
            let Some(start) = self.start.get() else { continue };
            let mut total = Counts::default();
            for worker in &self.progress {
                worker.add_to(&mut total);
            }
            let kinds = by_kind(&difference(&total, &seen)).collect();
            let at = self.spec.means.deadline.now() - *start;
            observer(at, Window { kinds, in_flight_ns: 0 });
            seen = total;
        }
    }
}
