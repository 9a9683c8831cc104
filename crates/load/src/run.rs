//! The load: workers with their lanes, of one part or of several at once; a common start, and an end
//! for all. Loads of several processes begin together where each gets the instant from a
//! [`StartGate`].

use crate::cpu;
use crate::driver::{Driver, Limits};
use crate::jobs::{Asks, Files, PatternSource, Written, pattern};
use crate::no_crew::NoCrew;
use crate::prepare::OperationContext;
use crate::result::{TeamResult, WorkerResult, last_answer};
use crate::schedule::{Issue, Schedule};
use crate::share::{Lane, LaneRequest, Share};
use crate::source::{Ended, OperationSource};
use crate::stall::SILENCE;
use crate::tally::{Counts, Shape, Tally, Timing, by_kind, difference};
use crate::team::{Progress, Stop, Team};
use plimsoll_model::{Arrival, Clock, ErrorKind, Failure, Nanos, PatternJob, Window};
use std::num::NonZeroU16;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, OnceLock};
use std::time::Duration;

/// Called about once a window with the time since the start and, for each part, what completed since the
/// last call. Approximate: it samples counters beside the workers, which never wait for it.
pub type Observer<'a> = &'a mut (dyn FnMut(Duration, Vec<Window>) + Send);

/// Says when the load begins, on the load's clock: called once, when every worker is ready, it may
/// wait for others that begin at the same instant.
pub type StartGate<'a> = dyn Fn() -> Result<Nanos, Failure> + Sync + 'a;

/// How long the others go on after a worker has lost its connection: longer than [`SILENCE`], after which the server is
/// known to answer them. How often is looked whether they lose theirs, too.
const OTHERS_GO_ON: Duration = Duration::from_millis(1500);
const LOOKS_AT_OTHERS: Duration = Duration::from_millis(50);

/// What one worker does when everybody is ready.
pub(crate) type Task<'a> = Box<dyn FnOnce(&Gate<'_>) -> WorkerResult + Send + 'a>;

/// The workers that a part has, and what it asks of their lanes.
pub(crate) struct Needs {
    /// Threads, each with a lane of its own.
    pub workers: NonZeroU16,
    /// When each issues operations, and how many may be in flight.
    pub arrival: Arrival,
    /// What each lane is asked for.
    pub asks: Asks,
}

/// The workers of one part.
pub(crate) struct Crew<S> {
    needs: Needs,
    context: OperationContext,
    timing: Timing,
    /// Whether the load ends with this part.
    main: bool,
    workers: Vec<Worker<S>>,
}

struct Worker<S> {
    lane: Box<dyn Lane>,
    source: S,
    progress: Arc<Progress>,
    /// When its lane was begun and how long that took, if it took as long as a stall.
    stalled: Option<(Nanos, Duration)>,
}

impl<S: OperationSource + Send> Crew<S> {
    /// Makes a lane and a source for each worker. With an error, its lanes are closed.
    pub fn new(
        context: &OperationContext,
        timing: Timing,
        main: bool,
        needs: Needs,
        mut lane: impl FnMut(LaneRequest) -> Result<Box<dyn Lane>, Failure>,
        mut source: impl FnMut(u16, &dyn Lane) -> Result<S, Failure>,
    ) -> Result<Crew<S>, NoCrew> {
        let asks = &needs.asks;
        let request = || context.lane(needs.arrival.depth(), asks.block, asks.verify);
        let mut not_taken = None;
        let mut worker = |number| {
            let begun = context.deadline.now();
            let lane = lane(request()).inspect_err(|_| not_taken = Some(number))?;
            let took = context.deadline.now().since(begun);
            let stalled = (took >= SILENCE).then_some((begun, took));
            let source = source(number, &*lane)?;
            Ok(Worker { lane, source, progress: Arc::new(Progress::new(asks.kinds)), stalled })
        };
        let workers = (0..needs.workers.get()).map(&mut worker).collect::<Result<_, Failure>>();
        let workers = workers.map_err(|failure| NoCrew { failure, taken: not_taken })?;
        Ok(Crew { needs, context: context.clone(), timing, main, workers })
    }

    /// What its workers do, and where it can be seen how far they are.
    pub fn tasks(&mut self) -> (Vec<Task<'_>>, Vec<Arc<Progress>>) {
        let Crew { needs, context, timing, main, workers } = self;
        let progress = workers.iter().map(|worker| worker.progress.clone()).collect();
        let (needs, context, timing, main) = (&*needs, &*context, *timing, *main);
        let task = |(number, worker)| -> Task<'_> {
            Box::new(move |gate| work(number, worker, needs, context, timing, main, gate))
        };
        ((0..).zip(workers.iter_mut()).map(task).collect(), progress)
    }

    /// The sources, when the work is done; the lanes end.
    pub fn into_sources(self) -> Vec<S> {
        let end = |mut worker: Worker<S>| {
            worker.lane.close_own();
            worker.source
        };
        self.workers.into_iter().map(end).collect()
    }
}

fn work<S: OperationSource>(
    number: u16,
    worker: &mut Worker<S>,
    needs: &Needs,
    context: &OperationContext,
    timing: Timing,
    main: bool,
    gate: &Gate<'_>,
) -> WorkerResult {
    let mut tally = Tally::new(Shape { timing: Some(timing), kinds: needs.asks.kinds });
    let clock = &**context.deadline.clock();
    let _shares = gate.wait(clock);
    let start = *gate.start.get_or_init(|| clock.now());
    let issue = match needs.arrival {
        Arrival::Closed { .. } => Issue::Closed,
        Arrival::Rounds { .. } => Issue::Rounds,
        Arrival::Paced { per_second, .. } => {
            // What is issued late for want of a finer timer would count as the server's time; where the
            // kernel has none, it does.
            let _ = nix::sys::prctl::set_timerslack(1);
            Issue::Paced(Schedule { start, per_second, workers: needs.workers, worker: number })
        }
    };
    let limits = Limits {
        operation_timeout: context.operation_timeout,
        end: Nanos(u64::MAX),
        must_be_done: main && timing.until_done,
        issue,
    };
    let helpers_before = worker.lane.helper_cpu();
    let cpu_before = cpu::of_this_thread();
    tally.begin(start);
    let stop = Stop { user: gate.stop, team: &gate.team };
    let driver = Driver::new(
        &mut *worker.lane,
        needs.arrival.depth(),
        clock,
        &limits,
        stop,
        &worker.progress,
    );
    let (ended, flush) = driver.drive(&mut worker.source, &mut tally);
    let counted = tally.finish(clock.now());
    gate.working.fetch_sub(1, Ordering::Relaxed);
    if matches!(&ended, Ended::Failed(error) if error.kind == ErrorKind::ConnectionLost) {
        gate.let_others_go_on(clock);
    }
    if !matches!(ended, Ended::Complete | Ended::Stopped) {
        gate.team.fail();
    } else if main && gate.main_left.fetch_sub(1, Ordering::Relaxed) == 1 {
        gate.team.end();
    }
    let own = cpu::of_this_thread().saturating_sub(cpu_before);
    let helpers = worker.lane.helper_cpu().saturating_sub(helpers_before);
    WorkerResult { ended, counted, flush, cpu: own + helpers, set_up: worker.stalled }
}

/// Where all workers of all parts wait for each other, and what they have in common.
pub(crate) struct Gate<'a> {
    barrier: Barrier,
    agreed: Option<&'a StartGate<'a>>,
    /// What that said.
    instant: OnceLock<Result<Nanos, Failure>>,
    /// When the load began: taken once, by whoever is first through the gate.
    start: OnceLock<Nanos>,
    stop: &'a AtomicBool,
    team: Team,
    /// Workers of the main part that are not done.
    main_left: AtomicUsize,
    /// Workers of all parts that have not ended.
    working: AtomicUsize,
    /// When the last connection was lost.
    lost_at: AtomicU64,
}

impl Gate<'_> {
    /// Until every worker is ready and, where one was agreed on, until the instant of the start.
    fn wait<'c>(&self, clock: &'c dyn Clock) -> SharedClock<'c> {
        let one = self.barrier.wait().is_leader();
        if one && let Some(agreed) = self.agreed {
            let _ = self.instant.set(agreed());
        }
        let shares = SharedClock::new(clock);
        // Before anybody waits for the clock, all share it.
        self.barrier.wait();
        match self.instant.get() {
            Some(Ok(at)) => clock.sleep_until(*at),
            // Nothing is issued.
            Some(Err(_)) => self.team.fail(),
            None => {}
        }
        shares
    }

    /// A worker has lost its connection, and waits for long enough to see whether the server goes on answering the others:
    /// then it has a limit of connections. One that is gone is known at once, as they all lose theirs.
    fn let_others_go_on(&self, clock: &dyn Clock) {
        self.lost_at.fetch_max(clock.now().0, Ordering::Relaxed);
        let stop = Stop { user: self.stop, team: &self.team };
        while self.working.load(Ordering::Relaxed) > 0 && !stop.any() {
            let end = Nanos(self.lost_at.load(Ordering::Relaxed)) + OTHERS_GO_ON;
            let now = clock.now();
            if now >= end {
                return;
            }
            clock.sleep_until(end.min(now + LOOKS_AT_OTHERS));
        }
    }
}

/// The clock that a worker shares with the others until it ends.
struct SharedClock<'c>(&'c dyn Clock);

impl<'c> SharedClock<'c> {
    fn new(clock: &'c dyn Clock) -> SharedClock<'c> {
        clock.share();
        SharedClock(clock)
    }
}

impl Drop for SharedClock<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

/// What the workers of all parts did.
pub(crate) struct Ran {
    /// By part and worker.
    pub results: Vec<Vec<WorkerResult>>,
    /// How long after the instant of a start gate the first worker began, where there was one; or
    /// why nothing began.
    pub late: Result<Option<Duration>, Failure>,
}

/// Runs the tasks of all parts at once; the first part is the main one. One task alone runs on the
/// calling thread, so that with a scripted share and clock every figure is exact; several run on a
/// thread each and start together. When one fails, all stop.
pub(crate) fn run_all(
    parts: Vec<(Vec<Task<'_>>, Vec<Arc<Progress>>)>,
    context: &OperationContext,
    window: Duration,
    observer: Option<Observer<'_>>,
    agreed: Option<&StartGate<'_>>,
) -> Ran {
    let workers: usize = parts.iter().map(|(tasks, _)| tasks.len()).sum();
    let gate = Gate {
        barrier: Barrier::new(workers),
        agreed,
        instant: OnceLock::new(),
        start: OnceLock::new(),
        stop: context.deadline.stop(),
        team: Team::default(),
        main_left: AtomicUsize::new(parts.first().map_or(0, |(tasks, _)| tasks.len())),
        working: AtomicUsize::new(workers),
        lost_at: AtomicU64::new(0),
    };
    let (tasks, progress): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
    let done = AtomicBool::new(false);
    let results = std::thread::scope(|scope| {
        let observing = observer.map(|observer| {
            scope.spawn(|| observe(&gate, &progress, context, window, &done, observer))
        });
        let results = perform(tasks, &gate);
        done.store(true, Ordering::Relaxed);
        if let Some(observing) = observing {
            observing.thread().unpark();
        }
        results
    });
    let start = gate.start.into_inner();
    let late = gate.instant.into_inner().transpose();
    Ran { results, late: late.map(|at| at.zip(start).map(|(at, start)| start.since(at))) }
}

fn perform<'t>(mut parts: Vec<Vec<Task<'t>>>, gate: &Gate<'_>) -> Vec<Vec<WorkerResult>> {
    if let [part] = &mut parts[..]
        && part.len() == 1
        && let Some(alone) = part.pop()
    {
        return vec![vec![alone(gate)]];
    }
    std::thread::scope(|scope| {
        let begin = |tasks: Vec<Task<'t>>| {
            tasks.into_iter().map(|task| scope.spawn(move || task(gate))).collect()
        };
        let threads: Vec<Vec<_>> = parts.into_iter().map(begin).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, WorkerResult>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(|part| part.into_iter().map(join).collect()).collect()
    })
}

fn observe(
    gate: &Gate<'_>,
    parts: &[Vec<Arc<Progress>>],
    context: &OperationContext,
    window: Duration,
    done: &AtomicBool,
    observer: Observer<'_>,
) {
    let mut seen = vec![Counts::default(); parts.len()];
    while !done.load(Ordering::Relaxed) {
        std::thread::park_timeout(window.max(Duration::from_millis(1)));
        let Some(start) = gate.start.get() else { continue };
        let windows = parts.iter().zip(&mut seen).map(|(workers, seen)| {
            let mut total = Counts::default();
            workers.iter().for_each(|worker| worker.add_to(&mut total));
            let kinds = by_kind(&difference(&total, seen)).collect();
            *seen = total;
            Window { kinds, in_flight_ns: 0 }
        });
        let windows = windows.collect();
        observer(context.deadline.now() - *start, windows);
    }
}

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
    pub context: OperationContext,
    /// Warm-up and measured part together.
    pub duration: Duration,
    /// Length of a window.
    pub window: Duration,
    /// Seed of the offsets.
    pub seed: u64,
}

/// Runs one pattern to its end on files that are there; also returns which blocks of each of the files
/// that are written were rewritten. Writes that are not stable when they complete are flushed at the end, once
/// by every worker.
///
/// The `Failure` is of what comes before the load: a file too small for the workers, or a lane that
/// could not be made. What goes wrong under load is in [`TeamResult::ended`].
pub fn run(
    share: &dyn Share,
    spec: &RunSpec,
    observer: Option<Observer<'_>>,
) -> Result<(TeamResult, Vec<Written>), Failure> {
    run_from(share, spec, observer, None).map(|(team, written, _)| (team, written))
}

/// [`run`], from the instant that a gate gives; also returns how long after that it began. A failure
/// of the gate is one of what comes before the load.
pub fn run_from(
    share: &dyn Share,
    spec: &RunSpec,
    observer: Option<Observer<'_>>,
    gate: Option<&StartGate<'_>>,
) -> Result<(TeamResult, Vec<Written>, Option<Duration>), Failure> {
    let RunSpec { job, workers, context, duration: length, window, .. } = spec;
    let timing = Timing { length: *length, until_done: false, window: *window };
    let arrival = Arrival::Closed { depth: spec.depth };
    let needs = Needs { workers: *workers, arrival, asks: pattern::asks(job) };
    let mut crew = Crew::new(
        context,
        timing,
        true,
        needs,
        |request| share.lane(request),
        |worker, _| {
            PatternSource::new(job, *workers, worker, spec.files.clone(), spec.seed)
                .map_err(|happened| pattern::not_shared_out(&share.facts().given, happened))
        },
    )
    .map_err(|none| none.failure(share, context, 0, workers.get().into()))?;
    let Ran { results, late } = run_all(vec![crew.tasks()], context, *window, observer, gate);
    let late = late?;
    let written = pattern::written(&spec.files, crew.into_sources());
    let workers: Vec<_> = results.into_iter().flatten().collect();
    let answered = last_answer(&workers);
    Ok((TeamResult::merge(timing, workers, answered), written, late))
}
