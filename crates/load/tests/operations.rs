//! Every kind of operation by turns, and operations in rounds: exactly, on scripted shares.

mod support;

use plimsoll_load::{
    DirectoryShare, MockShare, Op, OpenOptions, Reply, Stalled, SystemClock, TeamResult,
    VirtualClock,
};
use plimsoll_model::units::{Bytes, KIB, MIB};
use plimsoll_model::{
    Arrival, Cause, DirectoryTarget, ErrorKind, FileJob, FileWay, Flag, Length, OpKind,
    OperationsJob, Part, Pattern, PatternJob, Stability, Technique, Workload,
};
use std::num::{NonZeroU16, NonZeroU32};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use support::jobs::{Run, done, once, part};

const MS: Duration = Duration::from_millis(1);
const JOB: OperationsJob = OperationsJob { entries: 5, block: Bytes(4 * KIB) };

/// A server that takes a millisecond for everything but refuses some kinds.
fn refusing(refused: &'static [OpKind]) -> (Run, Arc<VirtualClock>) {
    let clock = Arc::new(VirtualClock::new());
    let share = MockShare::new(clock.clone(), NonZeroU16::MIN, move |op: &Op, _| {
        match refused.contains(&op.kind()) {
            true => Reply::error(MS, ErrorKind::NotPermitted),
            false => Reply::After(MS),
        }
    });
    (Run::new(Arc::new(share), clock.clone()), clock)
}

/// What one cycle does of each kind, and what was said to be refused.
fn cycle(refused: &'static [OpKind]) -> (Vec<u64>, Vec<String>) {
    let (mut run, _) = refusing(refused);
    let workload = once(part(JOB.into(), 1, 1));
    let flags = run.prepare(&workload).unwrap();
    let call = |flag: &Flag| match flag {
        Flag::OperationRefused { tried, .. } => tried.clone(),
        other => panic!("{other:?}"),
    };
    let calls = flags.iter().map(call).collect();
    let counts = {
        let first = &run.good(&workload)[0];
        let again = &run.good(&workload)[0];
        let counts = |part| OperationsJob::KINDS.map(|kind| done(part, kind)).to_vec();
        assert_eq!(counts(first), counts(again), "every point does the same");
        counts(again)
    };
    if !refused.iter().any(|kind| [OpKind::REMOVE, OpKind::REMOVE_DIRECTORY].contains(kind)) {
        run.close();
    }
    (counts, calls)
}

/// One of each kind but of these, and so many closes.
fn all_but(none: &[OpKind], closes: u64) -> Vec<u64> {
    let count = |kind| match kind {
        kind if none.contains(&kind) => 0,
        OpKind::CLOSE => closes,
        _ => 1,
    };
    OperationsJob::KINDS.map(count).to_vec()
}

#[test]
fn a_cycle_has_each_kind_once_but_closes_twice() {
    assert_eq!(cycle(&[]), (all_but(&[], 2), vec![]));
}

#[test]
fn what_is_refused_is_named_and_the_rest_is_done() {
    let (counts, refused) = cycle(&[OpKind::RENAME, OpKind::SET_ATTRIBUTES]);
    assert_eq!(counts, all_but(&[OpKind::RENAME, OpKind::SET_ATTRIBUTES], 2));
    assert_eq!(refused, ["set the time of a file", "rename a file"]);
    let (counts, refused) = cycle(&[OpKind::OPEN, OpKind::READ_DIRECTORY]);
    assert_eq!(counts, all_but(&[OpKind::OPEN, OpKind::READ_DIRECTORY], 1));
    assert_eq!(refused, ["open a file", "list a directory"]);
}

/// Else every cycle would leave a file behind, or locked.
#[test]
fn what_cannot_be_undone_is_not_done() {
    let (counts, refused) = cycle(&[OpKind::REMOVE]);
    let of_files = [
        OpKind::READ,
        OpKind::WRITE,
        OpKind::FLUSH,
        OpKind::CREATE,
        OpKind::REMOVE,
        OpKind::RENAME,
        OpKind::SET_ATTRIBUTES,
        OpKind::GET_ATTRIBUTES,
        OpKind::LOCK,
        OpKind::UNLOCK,
    ];
    assert_eq!(counts, all_but(&of_files, 1));
    assert_eq!(refused, ["remove a file"]);
    let (counts, _) = cycle(&[OpKind::REMOVE_DIRECTORY]);
    assert_eq!(counts, all_but(&[OpKind::MAKE_DIRECTORY, OpKind::REMOVE_DIRECTORY], 2));
    for refused in [&[OpKind::LOCK], &[OpKind::UNLOCK]] {
        let (counts, refused) = cycle(refused);
        assert_eq!(counts, all_but(&[OpKind::LOCK, OpKind::UNLOCK], 2));
        assert_eq!(refused, ["lock and unlock a file"]);
    }
}

/// Listings take a quarter of the time however long one is.
#[test]
fn a_large_directory_does_not_take_all_the_time() {
    let clock = Arc::new(VirtualClock::new());
    let share = MockShare::new(clock.clone(), NonZeroU16::MIN, |op: &Op, _| match op.kind() {
        OpKind::READ_DIRECTORY => Reply::After(100 * MS),
        _ => Reply::After(MS),
    });
    let mut run = Run::new(Arc::new(share), clock);
    let length = Length::For { seconds: 10.0, warm_up_seconds: 0.0 };
    let workload = Workload::new(part(JOB.into(), 1, 1), length);
    run.prepare(&workload).unwrap();
    let listings = done(&run.good(&workload)[0], OpKind::READ_DIRECTORY);
    assert!((23..=26).contains(&listings), "{listings}");
}

#[test]
fn a_connection_that_breaks_is_no_refusal() {
    let (mut run, clock) = (None::<Run>, Arc::new(VirtualClock::new()));
    let share = MockShare::new(clock.clone(), NonZeroU16::MIN, |op: &Op, _| match op.kind() {
        OpKind::RENAME => Reply::error(MS, ErrorKind::ConnectionLost),
        _ => Reply::After(MS),
    });
    let run = run.insert(Run::new(Arc::new(share), clock));
    let failure = run.prepare(&once(part(JOB.into(), 1, 1))).unwrap_err();
    assert_eq!(failure.cause, Cause::Unreachable);
}

#[test]
fn several_workers_on_a_directory_leave_nothing_of_their_own() {
    let place = tempfile::tempdir().unwrap();
    let target = DirectoryTarget { path: place.path().to_owned() };
    let share = DirectoryShare::open(&target, "here", &OpenOptions::default()).unwrap();
    let mut run = Run::new(Arc::new(share), Arc::new(SystemClock::new()));
    let length = Length::For { seconds: 0.2, warm_up_seconds: 0.0 };
    let workload = Workload::new(part(JOB.into(), 3, 2), length);
    assert_eq!(run.prepare(&workload).unwrap(), []);
    for _ in 0..2 {
        let part = &run.good(&workload)[0];
        for kind in OperationsJob::KINDS {
            assert!(done(part, kind) > 0, "{kind}");
        }
    }
    run.close();
}

/// A server that is a millisecond away and has room for all: the file of 64 blocks takes a round trip for each
/// block, and with a window of k one for k + 1 blocks. Past the end as many are asked for as the window holds, once.
#[test]
fn what_is_read_ahead_takes_fewer_round_trips() {
    let read = |window: u16| {
        let clock = Arc::new(VirtualClock::new());
        let (asked, seen) = (Arc::new(AtomicU64::new(0)), NonZeroU16::new(64).unwrap());
        let counter = asked.clone();
        let share = MockShare::new(clock.clone(), seen, move |op: &Op, _| {
            if let Op::Read(span) = op {
                counter.fetch_add(1, Ordering::Relaxed);
                if span.offset >= 64 * 4 * KIB {
                    return Reply::error(MS, ErrorKind::Short);
                }
            }
            Reply::After(MS)
        });
        let mut run = Run::new(Arc::new(share), clock);
        let job = FileJob {
            way: FileWay::Read,
            buffer: Bytes(4 * KIB),
            size: Bytes(64 * 4 * KIB),
            stability: Stability::FileSync,
        };
        let window = NonZeroU16::new(window);
        let techniques = window.map(|window| Technique::ReadAhead { window }).into_iter().collect();
        let workload = once(Part { techniques, ..part(job.into(), 1, 1) });
        run.prepare(&workload).unwrap();
        let mut point = || {
            let before = asked.load(Ordering::Relaxed);
            let team = &run.good(&workload)[0].team;
            assert_eq!(team.total.count(OpKind::READ).operations, 64);
            (team.measured.as_millis() as u64, asked.load(Ordering::Relaxed) - before)
        };
        let (first, again) = (point(), point());
        assert_eq!(first, again, "every point does the same");
        run.close();
        again
    };
    // Opening and closing take a round trip each.
    assert_eq!(read(0), (2 + 64, 64));
    for window in [1, 3, 7] {
        let (took, asked) = read(window);
        let round_trips = 64 / (u64::from(window) + 1);
        assert!((round_trips..=round_trips + 1).contains(&(took - 2)), "{window}: {took} ms");
        assert_eq!(asked, 64 + u64::from(window), "{window}");
    }
}

/// Operations of one and of three milliseconds by turns, on a server for each: in a round of two the longer
/// one is waited for; without rounds both servers are always busy.
#[test]
fn the_next_round_begins_when_all_of_the_last_have_ended() {
    let reads = |arrival| {
        let clock = Arc::new(VirtualClock::new());
        let servers = NonZeroU16::new(16).unwrap();
        let share = MockShare::new(clock.clone(), servers, |op: &Op, _| match op {
            Op::Read(span) if span.offset / (4 * KIB) % 2 == 1 => Reply::After(3 * MS),
            Op::Read(_) => Reply::After(MS),
            _ => Reply::After(Duration::ZERO),
        });
        let mut run = Run::new(Arc::new(share), clock);
        let job = PatternJob::new(Pattern::SequentialRead, Bytes(4 * KIB), Bytes(8 * MIB));
        let length = Length::For { seconds: 0.3, warm_up_seconds: 0.0 };
        let workload = Workload::new(Part { arrival, ..part(job.into(), 1, 1) }, length);
        run.prepare(&workload).unwrap();
        let done = done(&run.good(&workload)[0], OpKind::READ);
        run.close();
        done
    };
    let two = NonZeroU16::new(2).unwrap();
    assert_eq!(reads(Arrival::Rounds { depth: two }), 200);
    assert!(reads(Arrival::Closed { depth: two }) >= 298);
}

/// Latencies in milliseconds of reads that are due every 10 ms for 0.3 s, the longest first, and how many
/// were done in time. The server takes a millisecond each, and from 100 ms on once 50.
fn paced(depth: u16, each: Duration) -> (Vec<u64>, u64) {
    let (latencies, done, _) = paced_for(0.3, depth, each, (10, 50 * MS));
    (latencies, done)
}

/// The same for so many seconds, where the read of this number takes so long; and the team's result.
fn paced_for(
    seconds: f64,
    depth: u16,
    each: Duration,
    slow: (u64, Duration),
) -> (Vec<u64>, u64, TeamResult) {
    let clock = Arc::new(VirtualClock::new());
    let reads = AtomicU64::new(0);
    let share = MockShare::new(clock.clone(), NonZeroU16::MIN, move |op: &Op, _| match op {
        Op::Read(_) if reads.fetch_add(1, Ordering::Relaxed) == slow.0 => Reply::After(slow.1),
        Op::Read(_) => Reply::After(each),
        _ => Reply::After(Duration::ZERO),
    });
    let mut run = Run::new(Arc::new(share), clock);
    let job = PatternJob::new(Pattern::SequentialRead, Bytes(4 * KIB), Bytes(8 * MIB));
    let length = Length::For { seconds, warm_up_seconds: 0.0 };
    let (depth, per_second) = (NonZeroU16::new(depth).unwrap(), NonZeroU32::new(100).unwrap());
    let arrival = Arrival::Paced { depth, per_second };
    let workload = Workload::new(Part { arrival, ..part(job.into(), 1, 1) }, length);
    run.prepare(&workload).unwrap();
    let mut parts = run.good(&workload);
    let measured = parts[0].team.measured(Duration::ZERO);
    let client = &measured.kinds[&OpKind::READ].client;
    let milliseconds = |nanos: u64| (nanos + 500_000) / 1_000_000;
    let values = client.iter_recorded().flat_map(|value| {
        vec![milliseconds(value.value_iterated_to()); value.count_at_value() as usize]
    });
    let mut values: Vec<u64> = values.collect();
    values.reverse();
    let done = done(&parts[0], OpKind::READ);
    run.close();
    (values, done, parts.remove(0).team)
}

/// One that was due while the server stood still waited for that, however many may be in flight: nothing is
/// left out because the client was held up (a closed loop would show one slow read of thirty).
#[test]
fn what_is_due_at_a_fixed_rate_waits_from_then() {
    for depth in [1, 2, 32] {
        let (latencies, done) = paced(depth, MS);
        assert_eq!(done, 30, "depth {depth}");
        assert_eq!(latencies[..7], [50, 41, 32, 23, 14, 5, 1], "depth {depth}");
        assert!(latencies[6..].iter().all(|one| *one == 1), "depth {depth}");
    }
}

/// A server that needs 25 ms for what comes every 10 has the later ones wait the longer.
#[test]
fn a_rate_that_cannot_be_kept_shows_in_what_is_done_and_in_how_long_it_takes() {
    let (latencies, done, team) = paced_for(0.3, 1, 25 * MS, (10, 50 * MS));
    // What was due is done for another 0.3 s. Six were left over then, and had waited no longer.
    assert_eq!((done, latencies.len()), (24, 30));
    assert_eq!(latencies[..3], [395, 385, 380]);
    assert_eq!((team.left_over, team.late.operations), (6, 24 - 11));
}

/// The server stands still for 3 s and the trial is over after 0.3 s of them: what was due until it answered
/// waits as it would have in a trial without end.
#[test]
fn what_is_due_in_a_stall_that_outlasts_the_trial_is_done() {
    for depth in [1, 4, 64] {
        let (latencies, done, team) = paced_for(1.0, depth, MS, (70, 3000 * MS));
        assert_eq!((done, latencies.len()), (370, 370), "depth {depth}");
        assert_eq!(team.late.operations, 300, "depth {depth}");
        for (late, took) in latencies[..300].iter().enumerate() {
            let expected = 3000 - 9 * late as u64;
            assert!(took.abs_diff(expected) <= 3, "depth {depth}: {took}, not {expected}");
        }
        let stalled = Stalled { start: 700 * MS, length: 3000 * MS };
        assert_eq!((team.stalls, team.left_over), (vec![stalled], 0), "depth {depth}");
    }
}
