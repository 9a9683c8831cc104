//! A database: exactly on a scripted share and clock, and on a directory.

mod support;

use plimsoll_load::{
    ByteRange, DirectoryShare, FileId, Lane, LaneRequest, MockShare, Namespace, Op, OpenOptions,
    PartDone, Reply, Share, SystemClock, VirtualClock,
};
use plimsoll_model::units::{Bytes, KIB};
use plimsoll_model::{
    Cause, DatabaseJob, Deadline, DirectoryTarget, ErrorKind, Failure, Flag, Length, Measure,
    OpKind, TargetFacts, Workload,
};
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::jobs::{Run, done, once, part};

const MS: Duration = Duration::from_millis(1);
const JOB: DatabaseJob = DatabaseJob { block: Bytes(4 * KIB), size: Bytes(64 * KIB) };

fn workload(seconds: f64, workers: u16) -> Workload {
    let length = Length::For { seconds, warm_up_seconds: 0.0 };
    Workload::new(part(JOB.into(), workers, 1), length)
}

fn figure(part: &PartDone, measure: Measure) -> Option<f64> {
    part.figures.iter().find(|(known, _)| *known == measure).map(|(_, value)| *value)
}

/// A server that takes a millisecond for everything and 5 ms for a flush. Locks are as `of` has them, of bytes that are
/// locked or not.
fn server(
    of: impl Fn(OpKind, bool) -> Option<ErrorKind> + Send + Sync + 'static,
) -> (Run, Arc<VirtualClock>) {
    let (share, clock) = share(of);
    (Run::new(Arc::new(share), clock.clone()), clock)
}

fn share(
    of: impl Fn(OpKind, bool) -> Option<ErrorKind> + Send + Sync + 'static,
) -> (MockShare, Arc<VirtualClock>) {
    let clock = Arc::new(VirtualClock::new());
    let held: Mutex<Vec<(FileId, ByteRange)>> = Mutex::default();
    let share = MockShare::new(clock.clone(), NonZeroU16::MIN, move |op: &Op, _| {
        let mut held = held.lock().unwrap();
        let (file, bytes) = match op {
            Op::Lock(file, bytes, _) | Op::Unlock(file, bytes) => (*file, *bytes),
            Op::Flush(_) => return Reply::After(5 * MS),
            _ => return Reply::After(MS),
        };
        // A second program is the one that has opened it under another number.
        let is_held = held.iter().any(|(by, locked)| *by != file && locked.overlaps(&bytes));
        if let Some(error) = of(op.kind(), is_held) {
            return Reply::error(MS, error);
        }
        match op {
            Op::Lock(..) => held.push((file, bytes)),
            _ => held.retain(|lock| *lock != (file, bytes)),
        }
        Reply::After(MS)
    });
    (share, clock)
}

/// What is mounted on this machine, with what comes of a trial of shared memory, and the files that it was tried on.
struct Mounted {
    share: MockShare,
    shared: Result<(), String>,
    tried: Mutex<Vec<String>>,
}

impl Share for Mounted {
    fn facts(&self) -> TargetFacts {
        self.share.facts()
    }

    fn local_directory(&self) -> Option<PathBuf> {
        Some(PathBuf::from("/mnt"))
    }

    fn share_memory(&self, path: &str, _: &Deadline) -> Result<(), String> {
        assert!(self.share.paths().iter().any(|made| made == path), "{path}");
        self.tried.lock().unwrap().push(path.to_owned());
        self.shared.clone()
    }

    fn namespace(&self) -> Result<Box<dyn Namespace>, Failure> {
        self.share.namespace()
    }

    fn lane(&self, request: LaneRequest) -> Result<Box<dyn Lane>, Failure> {
        self.share.lane(request)
    }
}

fn refuses_held(kind: OpKind, is_held: bool) -> Option<ErrorKind> {
    (kind == OpKind::LOCK && is_held).then_some(ErrorKind::Protocol)
}

#[test]
fn a_commit_takes_the_time_of_its_operations() {
    let (mut run, _) = server(refuses_held);
    let workload = workload(66.0, 1);
    assert_eq!(run.prepare(&workload).unwrap(), [], "locks keep a second program out");
    for _ in 0..2 {
        let part = &run.good(&workload)[0];
        // 16 operations of a millisecond, and three flushes.
        let commit = 0.016 + 0.015;
        let rate = figure(part, DatabaseJob::COMMITS).unwrap();
        assert!((rate * commit - 1.0).abs() < 1e-3, "{rate}");
        for measure in
            [DatabaseJob::COMMIT_P50, DatabaseJob::COMMIT_P99, DatabaseJob::LONGEST_COMMIT]
        {
            let seconds = figure(part, measure).unwrap();
            assert!((seconds / commit - 1.0).abs() < 2e-3, "{measure:?}: {seconds}");
        }
        // The last commit may be cut off.
        assert!(done(part, OpKind::LOCK).abs_diff(5 * done(part, OpKind::CREATE)) <= 5);
    }
    run.close();
}

#[test]
fn few_commits_have_no_99th_percentile() {
    let (mut run, _) = server(refuses_held);
    let workload = workload(3.0, 1);
    run.prepare(&workload).unwrap();
    let part = &run.good(&workload)[0];
    assert!(figure(part, DatabaseJob::COMMIT_P50).is_some());
    assert_eq!(figure(part, DatabaseJob::COMMIT_P99), None, "of a hundred commits");
    run.close();
}

/// Each point begins with what the one before has cut off.
#[test]
fn a_commit_that_is_cut_off_locks_nobody_out() {
    let (mut run, _) = server(refuses_held);
    for milliseconds in [7, 13, 22, 28] {
        let workload = workload(f64::from(milliseconds) / 1e3, 1);
        run.prepare(&workload).unwrap();
        for _ in 0..2 {
            run.good(&workload);
        }
    }
    run.close();
}

#[test]
fn locks_that_are_refused_are_left_out() {
    let (mut run, _) = server(|kind, _| (kind == OpKind::LOCK).then_some(ErrorKind::NotPermitted));
    let workload = workload(1.0, 2);
    let flags = run.prepare(&workload).unwrap();
    let [Flag::OperationRefused { target, operation: OpKind::LOCK, .. }] = &flags[..] else {
        panic!("{flags:?}")
    };
    assert_eq!(target, "mock");
    let part = &run.good(&workload)[0];
    assert_eq!((done(part, OpKind::LOCK), done(part, OpKind::UNLOCK)), (0, 0));
    assert!(figure(part, DatabaseJob::COMMITS).is_some());
    run.close();
}

#[test]
fn a_second_program_that_gets_a_held_lock_is_seen() {
    let (mut run, _) = server(|_, _| None);
    let flags = run.prepare(&workload(1.0, 1)).unwrap();
    assert_eq!(flags, [Flag::SecondWriter { target: "mock".into() }]);
    run.close();
}

#[test]
fn memory_that_processes_do_not_share_is_told_of_a_mount() {
    let reason = "mmap: No such device";
    let flag = Flag::MemoryNotShared { target: "mock".into(), reason: reason.into() };
    for (shared, expected) in [(Ok(()), vec![]), (Err(reason.to_owned()), vec![flag])] {
        let (share, clock) = share(refuses_held);
        let mounted = Arc::new(Mounted { share, shared, tried: Mutex::default() });
        let mut run = Run::new(mounted.clone(), clock);
        for flags in [expected, Vec::new()] {
            assert_eq!(run.prepare(&workload(1.0, 1)).unwrap(), flags);
        }
        let tried = mounted.tried.lock().unwrap().clone();
        assert_eq!(tried.len(), 1, "once: {tried:?}");
        assert!(!mounted.share.paths().contains(&tried[0]), "it is removed");
        run.good(&workload(1.0, 1));
        run.close();
    }
}

#[test]
fn a_connection_that_breaks_is_no_refusal() {
    let (mut run, _) = server(|_, _| Some(ErrorKind::ConnectionLost));
    let failure = run.prepare(&workload(1.0, 1)).unwrap_err();
    assert_eq!(failure.cause, Cause::Unreachable);
}

#[test]
fn commits_have_no_end_of_their_own() {
    let (mut run, _) = server(refuses_held);
    let workload = once(part(JOB.into(), 1, 1));
    run.prepare(&workload).unwrap();
    let refused: Failure = run.point(&workload).map(drop).unwrap_err();
    assert_eq!(refused.cause, Cause::Usage);
    run.close();
}

/// Locks of this process are those of two programs, and several workers leave nothing of their own.
#[test]
fn on_a_directory() {
    let place = tempfile::tempdir().unwrap();
    let target = DirectoryTarget { path: place.path().to_owned() };
    let share = DirectoryShare::open(&target, "here", &OpenOptions::default()).unwrap();
    let mut run = Run::new(Arc::new(share), Arc::new(SystemClock::new()));
    assert_eq!(run.prepare(&workload(0.2, 3)).unwrap(), []);
    for workers in [3, 1, 2] {
        let part = &run.good(&workload(0.2, workers))[0];
        assert!(figure(part, DatabaseJob::COMMITS).unwrap() > 0.0);
        for kind in [OpKind::LOCK, OpKind::FLUSH, OpKind::CREATE, OpKind::REMOVE] {
            assert!(done(part, kind) > 0, "{kind}");
        }
    }
    run.close();
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
}
