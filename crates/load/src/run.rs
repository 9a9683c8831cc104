//! A team of workers on one pattern: lanes, threads, a common start, merged figures.

use crate::content::Content;
use crate::cpu;
use crate::driver::{Driver, Ended, Limits, Progress, Stop};
use crate::result::{TeamResult, WorkerResult};
use crate::share::{Lane, LaneRequest, Share};
use crate::tally::{Shape, Tally, difference};
use crate::workload::{Files, PatternWorkload};
use plimsoll_model::{Cause, Clock, Failure, Nanos, OpKind, Stability, Window};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, OnceLock};
use std::time::Duration;

/// Called about once a window with the time since the start and what completed since the last
/// call. Approximate: it samples counters beside the workers, which never wait for it.
pub type Observer<'a> = &'a mut (dyn FnMut(Duration, Window) + Send);

/// Everything [`run`] needs to know.
#[derive(Clone)]
pub struct RunSpec {
    /// The pattern with all its settings.
    pub workload: plimsoll_model::Workload,
    /// The files, laid out whole (see [`lay_out`](crate::lay_out)).
    pub files: Files,
    /// What is written, and what is expected of reads where the workload verifies.
    pub content: Arc<Content>,
    /// The clock of the trial.
    pub clock: Arc<dyn Clock>,
    /// Warm-up and measured part together.
    pub duration: Duration,
    /// Length of a window.
    pub window: Duration,
    /// No operation may take longer: else the trial fails.
    pub operation_timeout: Duration,
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
    stop: &AtomicBool,
    observer: Option<Observer<'_>>,
) -> Result<TeamResult, Failure> {
    let workers = (0..spec.workload.workers.get())
        .map(|number| Worker::new(share, spec, number))
        .collect::<Result<Vec<_>, _>>()?;
    let team = Team {
        spec,
        limits: limits(spec),
        user_stop: stop,
        team_stop: AtomicBool::new(false),
        start: OnceLock::new(),
        gate: Barrier::new(workers.len()),
        progress: workers.iter().map(|_| Progress::default()).collect(),
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
    let unstable = spec.workload.stability == Stability::Unstable;
    let flush = spec.workload.pattern.writes() && unstable;
    Limits {
        operation_timeout: spec.operation_timeout,
        flush: flush.then_some(spec.files.write.file),
        end: Nanos(u64::MAX),
    }
}

struct Worker {
    number: usize,
    lane: Box<dyn Lane>,
    workload: PatternWorkload,
    tally: Tally,
}

impl Worker {
    fn new(share: &dyn Share, spec: &RunSpec, number: u16) -> Result<Worker, Failure> {
        let workload = PatternWorkload::new(&spec.workload, number, spec.files, spec.seed)
            .map_err(|happened| {
                Failure::new(
                    Cause::Usage,
                    "share out the file to the workers",
                    share.facts().given,
                    happened,
                    "Give a larger --size, a smaller --block or fewer --workers.",
                )
            })?;
        let lane = share.lane(LaneRequest {
            depth: spec.workload.depth,
            block: u32::try_from(spec.workload.block.0).unwrap_or(u32::MAX),
            content: spec.content.clone(),
            verify: spec.workload.verify,
            clock: spec.clock.clone(),
        })?;
        let pattern = spec.workload.pattern;
        let kinds = [(OpKind::Read, pattern.reads()), (OpKind::Write, pattern.writes())];
        let tally = Tally::new(Shape {
            duration: Some(spec.duration),
            window: spec.window,
            kinds: kinds.into_iter().filter(|k| k.1).map(|k| k.0).collect(),
        });
        Ok(Worker { number: usize::from(number), lane, workload, tally })
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
        let clock = &*self.spec.clock;
        let start = *self.start.get_or_init(|| clock.now());
        let helpers_before = worker.lane.helper_cpu();
        let cpu_before = cpu::of_this_thread();
        worker.tally.begin(start);
        let driver = Driver::new(
            &mut *worker.lane,
            self.spec.workload.depth,
            clock,
            &self.limits,
            Stop { user: self.user_stop, team: &self.team_stop },
            &self.progress[worker.number],
        );
        let (ended, flush) = driver.drive(&mut worker.workload, &mut worker.tally);
        if matches!(ended, Ended::Failed(_)) {
            self.team_stop.store(true, Ordering::Relaxed);
        }
        let own = cpu::of_this_thread().saturating_sub(cpu_before);
        let helpers = worker.lane.helper_cpu().saturating_sub(helpers_before);
        WorkerResult {
            ended,
            books: worker.tally.finish(clock.now()),
            flush,
            cpu: own + helpers,
            written: worker.workload.into_written(),
        }
    }

    fn observe(&self, observer: Observer<'_>) {
        let mut seen = Window::default();
        while !self.done.load(Ordering::Relaxed) {
            std::thread::park_timeout(self.spec.window.max(Duration::from_millis(1)));
            let Some(start) = self.start.get() else { continue };
            let mut total = Window::default();
            for worker in &self.progress {
                total.add(&worker.read());
            }
            observer(self.spec.clock.now() - *start, difference(&total, &seen));
            seen = total;
        }
    }
}
