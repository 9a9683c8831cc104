//! The worker loop and what it counts, exactly, on a scripted share and clock.

mod common;

use common::{context, job, spec, workers};
use plimsoll_load::{
    Done, Ended, LaidOut, LaneDead, MockShare, NullShare, Op, OpError, OperationContext,
    OperationSource, PatternSource, Reply, RunSpec, Stalled, Step, SystemClock, Tag, TeamResult,
    VirtualClock, lay_out, run, run_from, verify,
};
use plimsoll_model::units::{Bytes, KIB, MIB};
use plimsoll_model::{
    Cause, Clock, Deadline, ErrorKind, Failure, Nanos, OpKind, Pattern, PatternJob, Stability,
    StallPhase, Window,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// A trial of 1 s on `servers` servers.
fn trial(
    job: PatternJob,
    servers: u16,
    script: impl Fn(&Op, Nanos) -> Reply + Send + Sync + 'static,
) -> TeamResult {
    trial_at(1, job, servers, script)
}

/// The same with so many in flight.
fn trial_at(
    depth: u16,
    job: PatternJob,
    servers: u16,
    script: impl Fn(&Op, Nanos) -> Reply + Send + Sync + 'static,
) -> TeamResult {
    let clock = Arc::new(VirtualClock::new());
    let share = MockShare::new(clock.clone(), workers(servers), script);
    run(&share, &at_depth(depth, spec(job, clock, 1000 * MS)), None).unwrap().0
}

fn at_depth(depth: u16, spec: RunSpec) -> RunSpec {
    RunSpec { depth: workers(depth), ..spec }
}

/// The same with a request to stop of one's own.
fn stopped_by(stop: &Arc<AtomicBool>, spec: RunSpec) -> RunSpec {
    let deadline = Deadline::new(spec.context.deadline.clock().clone(), stop.clone());
    RunSpec { context: OperationContext { deadline, ..spec.context }, ..spec }
}

#[test]
fn depth_four_on_two_servers_of_a_millisecond() {
    let result = trial_at(4, job(Pattern::RandomRead), 2, |_, _| Reply::After(MS));
    assert_eq!(result.ended, Ended::Complete);
    assert_eq!(result.measured, 1000 * MS);
    // Two complete each millisecond; at exactly 1 s two more, which still count.
    let whole = result.measured(Duration::ZERO);
    let reads = &whole.kinds[&OpKind::READ];
    assert_eq!((reads.operations, reads.bytes), (2000, 2000 * 4096));
    // Latencies are of all that began, those too that were still in flight at the end.
    assert_eq!(reads.client.len(), 2002);
    assert_eq!(whole.in_flight, 4.0);
    // The first two take 1 ms; all later ones wait 1 ms for their turn as well.
    assert_eq!(reads.client.count_at(1_000_000), 2);
    assert_eq!(reads.client.count_at(2_000_000), 2000);
    assert!((reads.client.mean() / 2e6 - 1.0).abs() < 0.002, "{}", reads.client.mean());
    assert_eq!(whole.longest_gap, MS);
    assert!(reads.rpc.is_none());
    // Those still in flight at the end complete late.
    assert_eq!((result.late.operations, result.total.operations()), (2, 2002));
    // 100 ms a window; what completes at its end belongs to the next, and the last holds the end.
    let counts: Vec<u64> = result.windows.iter().map(|w| w.operations()).collect();
    assert_eq!(counts, [198, 200, 200, 200, 200, 200, 200, 200, 200, 202]);
}

#[test]
fn a_cut_is_rounded_up_to_a_twentieth_and_leaves_at_least_half() {
    // 10 ms an operation in the first 200 ms, 1 ms after.
    let result = trial(job(Pattern::RandomRead), 1, |_, now| {
        Reply::After(if now.0 < 200_000_000 { 10 * MS } else { MS })
    });
    let whole = result.measured(Duration::ZERO);
    assert_eq!(whole.kinds[&OpKind::READ].operations, 20 + 800);
    assert_eq!(whole.longest_gap, 10 * MS);
    let rest = result.measured(180 * MS);
    assert_eq!((rest.from, rest.length), (200 * MS, 800 * MS));
    // The operation that completes at 200 ms belongs to what follows.
    assert_eq!(rest.kinds[&OpKind::READ].operations, 801);
    assert_eq!(rest.in_flight, 1.0);
    let most = result.measured(900 * MS);
    assert_eq!((most.from, most.length), (500 * MS, 500 * MS));
}

#[test]
fn in_flight_agrees_with_littles_law_where_service_times_vary() {
    let state = AtomicU64::new(1);
    let result = trial_at(8, job(Pattern::RandomMixed), 3, move |_, _| {
        let x = state.load(Ordering::Relaxed).wrapping_mul(6364136223846793005).wrapping_add(1);
        state.store(x, Ordering::Relaxed);
        Reply::After(Duration::from_nanos(x >> 44))
    });
    let whole = result.measured(Duration::ZERO);
    // Little's law: rate x response time, summed over the kinds.
    let busy: f64 = whole.kinds.values().map(|k| k.operations as f64 * k.client.mean()).sum();
    let (integrated, by_law) = (whole.in_flight, busy / whole.length.as_nanos() as f64);
    assert!((integrated / by_law - 1.0).abs() < 0.01, "{integrated} {by_law}");
    let counted: u64 = whole.kinds.values().map(|k| k.client.len()).sum();
    let windows: u64 = result.windows.iter().map(|w| w.operations()).sum();
    assert_eq!(counted, windows + result.late.operations);
    assert_eq!(counted, result.total.operations());
}

/// A second of slow operations is a handful: in whole ones, 3.3 a second and 4 would be the same.
#[test]
fn rates_are_of_parts_of_operations_where_they_cross_the_ends() {
    for (takes, depth) in [(300, 1), (250, 1), (270, 1), (70, 1), (300, 4), (270, 4)] {
        let job = job(Pattern::SequentialRead);
        let result = trial_at(depth, job, depth, move |_, _| Reply::After(takes * MS));
        for cut in [Duration::ZERO, 100 * MS, 350 * MS] {
            let measured = result.measured(cut);
            let kind = &measured.kinds[&OpKind::READ];
            let seconds = measured.length.as_secs_f64();
            let (operations, bytes) = kind.shares;
            let expected = f64::from(depth) * seconds * 1000.0 / f64::from(takes);
            assert!(
                (operations - expected).abs() < 1e-6,
                "{takes} x {depth}, {cut:?}: {operations}"
            );
            assert!((bytes - operations * 4096.0).abs() < 1e-3, "{bytes}");
            let crossing = kind.operations.abs_diff(kind.client.len());
            assert!(crossing <= depth.into(), "{crossing} of the whole ones crossed the ends");
        }
    }
}

#[test]
fn the_final_flush_is_timed_apart_and_only_where_needed() {
    let script = |op: &Op, _| Reply::After(if op.kind() == OpKind::FLUSH { 70 * MS } else { MS });
    let result = trial(job(Pattern::SequentialWrite), 1, script);
    assert_eq!(result.flush, Some(70 * MS));
    assert!(!result.measured(Duration::ZERO).kinds.contains_key(&OpKind::FLUSH));
    let clock = Arc::new(VirtualClock::new());
    let share = MockShare::new(clock.clone(), workers(1), script);
    let spec = spec(job(Pattern::SequentialWrite), clock, 1000 * MS);
    assert_eq!(run(&share, &spec, None).unwrap().1[0].blocks(), 256);
    let stable = PatternJob { stability: Stability::FileSync, ..job(Pattern::SequentialWrite) };
    assert_eq!(trial(stable, 1, script).flush, None);
    assert_eq!(trial(job(Pattern::RandomRead), 1, script).flush, None);
}

/// Its gap and its latency go on to its completion, and what it left of the trial is what rates are over.
#[test]
fn a_stall_that_outlasts_its_trial_is_measured_whole() {
    let result = trial(job(Pattern::RandomRead), 1, |_, now| {
        Reply::After(if now.0 >= 600_000_000 { 3000 * MS } else { MS })
    });
    assert_eq!(result.ended, Ended::Complete, "drained within the operation's time limit");
    let whole = result.measured(Duration::ZERO);
    assert_eq!(whole.longest_gap, 3000 * MS);
    let reads = &whole.kinds[&OpKind::READ];
    assert_eq!((reads.operations, result.late.operations), (600, 1));
    assert_eq!((reads.client.len(), reads.client.count_at(3_000_000_000)), (601, 1));
    assert_eq!(result.stalls, [Stalled { start: 600 * MS, length: 3000 * MS }]);
    assert_eq!((whole.length, whole.answered), (1000 * MS, 600 * MS));
    let stall = result.stalls[0].stall(whole.from, whole.from + whole.length);
    assert_eq!(stall.phase, StallPhase::Measured);
}

/// Of a stall that begins in the warm-up its time in the measured part is taken off, and no more.
#[test]
fn a_stall_in_the_warm_up_is_not_of_the_measured_part() {
    let result = trial_of(4, |now| if now.0 == 30_000_000 { 1500 * MS } else { 10 * MS });
    let rest = result.measured(200 * MS);
    assert_eq!((rest.length, rest.answered), (3800 * MS, (3800 - 1330) * MS));
    let reads = &rest.kinds[&OpKind::READ];
    assert_eq!((reads.client.max(), reads.operations), (10_002_431, 248), "it began before");
    let whole = result.measured(Duration::ZERO);
    assert_eq!(whole.answered, 2500 * MS);
    let [stalled] = result.stalls[..] else { panic!("{:?}", result.stalls) };
    assert_eq!(stalled.stall(rest.from, rest.from + rest.length).phase, StallPhase::WarmUp);
    assert_eq!(stalled.stall(whole.from, whole.length).phase, StallPhase::Measured);
}

/// An operation of 1.4 s is slow, and so are all others.
#[test]
fn slow_operations_are_no_stalls() {
    for takes in [1400, 1000, 300] {
        let result = trial_of(10, move |_| takes * MS);
        assert_eq!(result.stalls, [], "{takes} ms each");
    }
    // Where one in a hundred takes 100 ms, 1.9 s are not a stall, and 2.1 s are.
    for (silent, stalls) in [(1900, 0), (2100, 1)] {
        let count = AtomicU64::new(0);
        let result = trial_of(10, move |_| match count.fetch_add(1, Ordering::Relaxed) {
            150 => silent * MS,
            number if number % 50 == 0 => 100 * MS,
            _ => 10 * MS,
        });
        assert_eq!(result.stalls.len(), stalls, "{silent} ms");
    }
}

/// 16 operations in flight share a link evenly: they end together, 1.6 s after the begin of a trial of 1 s.
#[test]
fn what_ends_together_is_no_stall_while_its_bytes_come() {
    let trial = |takes: u32, moved_bytes: Option<fn(u64) -> u64>| {
        let clock = Arc::new(VirtualClock::new());
        let script = move |_: &Op, _| Reply::After(takes * MS);
        let mut share = MockShare::new(clock.clone(), workers(16), script);
        if let Some(moved_bytes) = moved_bytes {
            share = share.with_moved_bytes(move |at| moved_bytes(at.0 / 1_000_000));
        }
        let spec = at_depth(16, spec(job(Pattern::SequentialRead), clock, 1000 * MS));
        run(&share, &spec, None).unwrap().0
    };
    let stalled =
        |start: u32, length: u32| vec![Stalled { start: start * MS, length: length * MS }];
    // 10 kB in each millisecond.
    let result = trial(1600, Some(|ms: u64| 10_000 * ms));
    assert_eq!(result.stalls, []);
    let whole = result.to_the_last().unwrap();
    assert_eq!((whole.length, whole.answered), (1600 * MS, 1600 * MS));
    assert_eq!(whole.kinds[&OpKind::READ].operations, 16);
    // Without knowledge of bytes, and without any bytes but those that keep a connection alive.
    assert_eq!(trial(1600, None).stalls, stalled(0, 1600));
    assert_eq!(trial(1600, Some(|ms: u64| ms)).stalls, stalled(0, 1600));
    // No byte after 0.2 s; none before 3.05 s, which is seen at the next look.
    assert_eq!(trial(4000, Some(|ms: u64| 10_000 * ms.min(200))).stalls, stalled(200, 3800));
    let late = trial(3600, Some(|ms: u64| 10_000 * ms.saturating_sub(3050)));
    assert_eq!(late.stalls, stalled(0, 3100));
}

/// Operations of 1 ms, and a server that stands still for 3 s: what was moved before is not progress.
#[test]
fn bytes_that_completed_operations_moved_do_not_shorten_a_stall() {
    let clock = Arc::new(VirtualClock::new());
    let share = MockShare::new(clock.clone(), workers(1), |_, now| {
        Reply::After(if now.0 >= 640_000_000 { 3000 * MS } else { MS })
    });
    let share = share.with_moved_bytes(|at| at.0.min(640_000_000));
    let spec = spec(job(Pattern::RandomRead), clock, 1000 * MS);
    let (result, _) = run(&share, &spec, None).unwrap();
    assert_eq!(result.stalls, [Stalled { start: 640 * MS, length: 3000 * MS }]);
}

/// A trial of so many seconds with one in flight.
fn trial_of(seconds: u32, takes: impl Fn(Nanos) -> Duration + Send + Sync + 'static) -> TeamResult {
    let clock = Arc::new(VirtualClock::new());
    let share = MockShare::new(clock.clone(), workers(1), move |_, now| Reply::After(takes(now)));
    run(&share, &spec(job(Pattern::RandomRead), clock, seconds * 1000 * MS), None).unwrap().0
}

#[test]
fn an_operation_without_an_answer_fails_the_trial_though_others_complete() {
    let count = AtomicU64::new(0);
    let clock = Arc::new(VirtualClock::new());
    let share = MockShare::new(clock.clone(), workers(4), move |_, _| {
        if count.fetch_add(1, Ordering::Relaxed) == 5 { Reply::Never } else { Reply::After(MS) }
    });
    let mut spec = at_depth(4, spec(job(Pattern::RandomRead), clock, 60_000 * MS));
    spec.context.operation_timeout = 2000 * MS;
    let (result, _) = run(&share, &spec, None).unwrap();
    let Ended::Failed(error) = &result.ended else { panic!("{:?}", result.ended) };
    assert_eq!(error.kind, ErrorKind::TimedOut);
    assert!(error.detail.contains("read of 4096 bytes"), "{}", error.detail);
    assert_eq!(result.errors[&OpKind::READ][&ErrorKind::TimedOut], 1);
    assert!(result.measured >= 2000 * MS && result.measured <= 2200 * MS);
}

#[test]
fn fatal_errors_end_the_worker_and_others_are_counted() {
    let at = |kind: ErrorKind| {
        trial(job(Pattern::RandomWrite), 1, move |op, now| match op {
            Op::Write(..) if now.0 == 300_000_000 => Reply::error(MS, kind.clone()),
            _ => Reply::After(MS),
        })
    };
    for fatal in [ErrorKind::NoSpace, ErrorKind::NotPermitted, ErrorKind::ConnectionLost] {
        let result = at(fatal.clone());
        assert!(matches!(&result.ended, Ended::Failed(e) if e.kind == fatal), "{fatal}");
        assert_eq!(result.measured, 301 * MS);
        assert_eq!(result.errors[&OpKind::WRITE][&fatal], 1);
        assert_eq!(result.flush, None, "nothing is flushed after a failure");
    }
    let result = at(ErrorKind::CorruptContent);
    assert_eq!(result.ended, Ended::Complete);
    assert_eq!(result.first_error.unwrap().kind, ErrorKind::CorruptContent);
}

#[test]
fn a_dead_lane_fails_the_trial() {
    let result = trial_at(2, job(Pattern::RandomRead), 1, |_, now| {
        if now.0 < 50_000_000 {
            return Reply::After(MS);
        }
        Reply::Dies(LaneDead { kind: ErrorKind::ConnectionLost, detail: "reset by peer".into() })
    });
    assert!(matches!(&result.ended, Ended::Failed(e) if &*e.detail == "reset by peer"));
}

/// The first close ended the study, as by a server that is down: SMB lanes do not connect again.
#[test]
fn a_server_that_closes_one_connection_and_answers_the_others_is_not_gone() {
    let trial = |is_lost: fn(u64) -> bool| {
        let (count, clock) = (AtomicU64::new(0), Arc::new(VirtualClock::new()));
        let share = MockShare::new(clock.clone(), workers(3), move |_, _| {
            if is_lost(count.fetch_add(1, Ordering::Relaxed)) {
                let detail = "reset by peer".to_owned();
                return Reply::Dies(LaneDead { kind: ErrorKind::ConnectionLost, detail });
            }
            Reply::After(10 * MS)
        });
        let spec = spec(job(Pattern::RandomRead), clock, 60_000 * MS);
        let (result, _) = run(&share, &RunSpec { workers: workers(3), ..spec }, None).unwrap();
        let Ended::Failed(error) = &result.ended else { panic!("{:?}", result.ended) };
        (result.failure("finish the trial", "nas", error).cause, result.measured)
    };
    let (cause, took) = trial(|operation| operation == 9);
    assert_eq!(cause, Cause::Trial);
    assert!(took < 3000 * MS, "{took:?}");
    let (cause, took) = trial(|operation| operation >= 9);
    assert_eq!(cause, Cause::Unreachable);
    assert!(took < 200 * MS, "one that is gone is known at once: {took:?}");
}

#[test]
fn one_worker_that_fails_stops_the_others() {
    let clock = Arc::new(SystemClock::new());
    let fails = AtomicU64::new(0);
    let share = MockShare::new(Arc::new(VirtualClock::new()), workers(4), move |_, _| {
        if fails.fetch_add(1, Ordering::Relaxed) == 1000 {
            return Reply::error(Duration::ZERO, ErrorKind::NoSpace);
        }
        Reply::After(Duration::ZERO)
    });
    // An hour: only the failure can end it in time.
    let spec = spec(job(Pattern::RandomWrite), clock, 3_600_000 * MS);
    let spec = RunSpec { workers: workers(3), ..spec };
    let (result, _) = run(&share, &spec, None).unwrap();
    assert!(matches!(&result.ended, Ended::Failed(e) if e.kind == ErrorKind::NoSpace));
}

#[test]
fn a_stop_ends_every_worker_long_before_its_time() {
    let stop = Arc::new(AtomicBool::new(false));
    let spec = spec(job(Pattern::RandomRead), Arc::new(SystemClock::new()), 3_600_000 * MS);
    let spec = stopped_by(&stop, RunSpec { workers: workers(2), ..spec });
    let mut seen = Window::default();
    // The observer stops it as soon as it has seen anything complete.
    let mut observer = |_: Duration, parts: Vec<Window>| {
        seen.add(&parts[0]);
        if seen.operations() > 0 {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let (result, _) = run(&NullShare::new(), &spec, Some(&mut observer)).unwrap();
    assert_eq!(result.ended, Ended::Stopped);
    assert!(seen.operations() > 0 && seen.operations() <= result.total.operations());
    assert!(result.cpu > Duration::ZERO);
}

#[test]
fn a_stop_is_noticed_while_nothing_answers() {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = stop.clone();
    let clock = Arc::new(VirtualClock::new());
    let share = MockShare::new(clock.clone(), workers(1), move |_, _| {
        flag.store(true, Ordering::Relaxed);
        Reply::Never
    });
    let spec = at_depth(1, spec(job(Pattern::RandomRead), clock.clone(), 1_000_000 * MS));
    let (result, _) = run(&share, &stopped_by(&stop, spec), None).unwrap();
    assert_eq!(result.ended, Ended::Stopped);
    assert!(result.measured <= 1300 * MS, "a tick and the grace: {:?}", result.measured);
}

/// A clock that is 150 ms later as soon as the start of a load was read: the thread did not run meanwhile.
struct Starved {
    clock: Arc<VirtualClock>,
    /// How often it was read since the start of the load, if that has begun.
    read: AtomicU64,
}

const NOT_BEGUN: u64 = u64::MAX / 2;

impl Clock for Starved {
    fn now(&self) -> Nanos {
        let later = match self.read.fetch_add(1, Ordering::Relaxed) {
            1..NOT_BEGUN => 150 * MS,
            _ => Duration::ZERO,
        };
        self.clock.now() + later
    }

    fn sleep_until(&self, until: Nanos) {
        self.clock.sleep_until(until);
        self.read.store(0, Ordering::Relaxed);
    }
}

#[test]
fn a_worker_that_runs_after_the_end_alone_does_one_operation() {
    let clock = Arc::new(VirtualClock::new());
    let share = MockShare::new(clock.clone(), workers(1), |_, _| Reply::After(MS));
    let starved = Arc::new(Starved { clock, read: NOT_BEGUN.into() });
    let spec = spec(job(Pattern::RandomRead), starved, 100 * MS);
    let (result, _, _) = run_from(&share, &spec, None, Some(&|| Ok(Nanos(5)))).unwrap();
    assert_eq!((&result.ended, result.total.operations()), (&Ended::Complete, 1));
    assert!(result.measured(Duration::ZERO).kinds.values().all(|kind| kind.operations == 0));
    let whole = result.to_the_last().unwrap();
    assert_eq!(whole.kinds[&OpKind::READ].operations, 1);
    assert_eq!(whole.length, 151 * MS);
}

#[test]
fn the_load_begins_when_the_gate_says_so_or_not_at_all() {
    for number in [1, 3] {
        let clock = Arc::new(VirtualClock::new());
        let first = Arc::new(AtomicU64::new(u64::MAX));
        let issued = first.clone();
        let share = MockShare::new(clock.clone(), workers(number), move |_, now| {
            issued.fetch_min(now.0, Ordering::Relaxed);
            Reply::After(MS)
        });
        let spec = spec(job(Pattern::RandomRead), clock.clone(), 100 * MS);
        let spec = RunSpec { workers: workers(number), ..spec };
        let asked = AtomicU64::new(0);
        let at = Nanos(7_000_000);
        let gate = || {
            assert_eq!(first.load(Ordering::Relaxed), u64::MAX, "nothing was issued before");
            asked.fetch_add(1, Ordering::Relaxed);
            Ok(at)
        };
        let (result, _, late) = run_from(&share, &spec, None, Some(&gate)).unwrap();
        assert_eq!(asked.load(Ordering::Relaxed), 1, "asked once, whatever the workers");
        assert_eq!(result.ended, Ended::Complete);
        assert_eq!(Nanos(first.load(Ordering::Relaxed)), at);
        assert_eq!(late, Some(Duration::ZERO));
        assert_eq!(run_from(&share, &spec, None, None).unwrap().2, None);

        first.store(u64::MAX, Ordering::Relaxed);
        let no =
            || Err(Failure::new(Cause::Interrupted, "begin").on("it").happened("nobody else does"));
        let failure = run_from(&share, &spec, None, Some(&no)).err().unwrap();
        assert_eq!(failure.happened, "nobody else does");
        assert_eq!(first.load(Ordering::Relaxed), u64::MAX, "nothing was issued");
    }
}

#[test]
fn laying_out_writes_every_byte_once_and_flushes() {
    let written = Arc::new(AtomicU64::new(0));
    let flushes = Arc::new(AtomicU64::new(0));
    let (w, f) = (written.clone(), flushes.clone());
    let clock = Arc::new(VirtualClock::new());
    let share = MockShare::new(clock.clone(), workers(8), move |op, _| {
        match op {
            Op::Write(span, _) => w.fetch_add(u64::from(span.length), Ordering::Relaxed),
            Op::Flush(_) => f.fetch_add(1, Ordering::Relaxed),
            other => panic!("laying out only writes: {other:?}"),
        };
        Reply::After(MS)
    });
    let mut namespace = plimsoll_load::Share::namespace(&share).unwrap();
    let laid_out = LaidOut { file: namespace.create("data").unwrap(), generation: 1 };
    let size = 10 * MIB + 5 * KIB;
    let mut progress = 0;
    let context = context(clock.clone());
    lay_out(&share, &context, laid_out, size, &mut |n| progress += n).unwrap();
    assert_eq!((written.load(Ordering::Relaxed), progress), (size, size));
    assert_eq!(flushes.load(Ordering::Relaxed), 1);
    // 11 writes on 8 servers are two rounds; then the flush.
    assert_eq!(clock.now(), Nanos(3_000_000));
    context.deadline.stop().store(true, Ordering::Relaxed);
    let failure = lay_out(&share, &context, laid_out, size, &mut |_| {}).unwrap_err();
    assert_eq!(failure.cause, Cause::Interrupted);
}

#[test]
fn laying_out_ends_with_the_time_for_all() {
    let clock = Arc::new(VirtualClock::new());
    let share = MockShare::new(clock.clone(), workers(1), |_, _| Reply::After(400 * MS));
    let context = context(clock.clone());
    context.deadline.give(1000 * MS);
    let laid_out = common::files().write[0];
    let failure = lay_out(&share, &context, laid_out, 1000 * MIB, &mut |_| {}).unwrap_err();
    assert_eq!(failure.cause, Cause::Trial);
    assert!(
        failure.happened.contains("the time limit was reached")
            && failure.next.contains("--max-time")
    );
    assert!(clock.now() < Nanos(0) + 5000 * MS, "not the 400 s of it all");
}

#[test]
fn no_space_while_laying_out_is_told_as_such() {
    let clock = Arc::new(VirtualClock::new());
    let share = MockShare::new(clock.clone(), workers(1), |op, _| match op {
        Op::Write(span, _) if span.offset >= 4 * MIB => Reply::error(MS, ErrorKind::NoSpace),
        _ => Reply::After(MS),
    });
    let laid_out = common::files().write[0];
    let failure = lay_out(&share, &context(clock), laid_out, 10 * MIB, &mut |_| {}).unwrap_err();
    assert_eq!(failure.cause, Cause::NoSpace);
    assert!(!failure.next.is_empty());
}

/// What a worker wrote that issued each of the first 64 blocks, but had every fourth alone
/// acknowledged.
fn every_fourth_acknowledged(size: u64) -> plimsoll_load::Written {
    let job = PatternJob { size: Bytes(size), ..job(Pattern::SequentialWrite) };
    let mut work = PatternSource::new(&job, workers(1), 0, common::files(), 0).unwrap();
    for block in 0..64 {
        let Step::Issue(op) = work.next(Nanos(0)) else { panic!("patterns are endless") };
        let failed = OpError { kind: ErrorKind::Io, detail: "".into() };
        let result = if block % 4 == 0 { Ok(None) } else { Err(failed) };
        let at = Nanos(0);
        let done = Done { tag: Tag(0), issued: at, sent: at, done: at, bytes: 4096, result };
        work.completed(&op, &done);
    }
    work.into_written().remove(0)
}

#[test]
fn verifying_expects_of_each_block_what_was_written_last() {
    let clock = Arc::new(VirtualClock::new());
    let share = MockShare::new(clock.clone(), workers(4), |op, _| {
        let Op::Read(span) = op else { panic!("verifying only reads") };
        let rewritten = span.offset < 256 * KIB;
        assert_eq!(span.generation, if rewritten { 5 } else { 4 });
        assert!(!rewritten || span.offset % (16 * KIB) == 0, "skipped: it may be old or new");
        Reply::After(MS)
    });
    let written = every_fourth_acknowledged(MIB);
    assert_eq!(written.blocks(), 16);
    let (laid_out, context) = (common::files().write[0], context(clock));
    let found = verify(&share, &context, laid_out, MIB, Some(&written), &mut |_| {}).unwrap();
    assert!(found.is_good());
    assert_eq!((found.bytes, found.skipped_bytes), (MIB - 48 * 4096, 48 * 4096));
}

#[test]
fn wrong_pages_are_counted_one_by_one() {
    let clock = Arc::new(VirtualClock::new());
    let share = MockShare::new(clock.clone(), workers(4), |op, _| {
        let Op::Read(span) = op else { panic!("verifying only reads") };
        let wrong = [(7, ErrorKind::StaleContent), (9, ErrorKind::CorruptContent)];
        let pages = span.offset / 4096..(span.offset + u64::from(span.length)) / 4096;
        match wrong.into_iter().find(|w| pages.contains(&w.0)) {
            Some((_, kind)) => Reply::error(MS, kind),
            None => Reply::After(MS),
        }
    });
    let (laid_out, context, mut progress) = (common::files().write[0], context(clock), 0);
    let found = verify(&share, &context, laid_out, MIB, None, &mut |n| progress += n).unwrap();
    assert_eq!((found.stale, found.misplaced, found.corrupt), (1, 0, 1));
    assert_eq!((found.bytes, progress), (MIB, MIB));
    assert!(!found.is_good() && found.first.is_some());
}
