//! Scans, copies and several parts at once through the runner: figures exactly, on scripted shares and a
//! scripted clock; and what a run that died leaves on a disk.

use plimsoll_load::{
    Lane, LaneRequest, LocalFiles, MockShare, Namespace, Op, OpenOptions, Reply, Share,
    SystemClock, VirtualClock,
};
use plimsoll_model::units::{Bytes, KIB, MIB};
use plimsoll_model::{
    Arrival, Cause, Clock, CopyJob, Deadline, DirectoryTarget, ErrorKind, Event, Failure, Flag,
    Job, Layout, Length, LoadObserver, Measure, Method, Metric, NamesCached, Nanos, OpKind,
    Outcome, Part, Pattern, PatternJob, PointResult, PointSpec, ScanJob, Stability, StudyId,
    SubjectRunner, Target, TargetFacts, Transfer, VoidReason, Window, Workload,
};
use plimsoll_runner::{Runner, RunnerOptions, clean};
use std::collections::BTreeSet;
use std::num::{NonZeroU16, NonZeroU32};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

struct Nobody;

impl LoadObserver for Nobody {
    fn load_begins(&mut self) {}
    fn load_ends(&mut self) {}
    fn event(&mut self, _event: Event) {}
}

fn options(deadline: Deadline) -> RunnerOptions {
    RunnerOptions {
        study: StudyId("0123abcd".into()),
        nonce: 7,
        longest_trial: Duration::from_secs(1),
        operation_timeout: Duration::from_secs(30),
        server_memory: None,
        live: false,
        set_up: Duration::from_secs(600),
        deadline,
    }
}

/// A runner on a share of one server.
fn on(
    script: impl Fn(&Op, plimsoll_model::Nanos) -> Reply + Send + Sync + 'static,
) -> (Runner, Arc<MockShare>) {
    let clock = Arc::new(VirtualClock::new());
    let share = Arc::new(MockShare::new(clock.clone(), NonZeroU16::MIN, script));
    let options = options(Deadline::new(clock, Arc::default()));
    let mut runner = Runner::new(options, vec![share.clone()]);
    assert_eq!(runner.attach(0).unwrap(), vec![]);
    (runner, share)
}

fn alone(job: Job) -> Part {
    Part::closed(job, NonZeroU16::MIN, NonZeroU16::MIN)
}

fn once(parts: Vec<Part>) -> Workload {
    Workload { parts, steps: None, length: Length::UntilDone { at_most_seconds: 1e3 } }
}

fn spec(workload: &Workload) -> PointSpec {
    PointSpec {
        number: 0,
        subject: 0,
        workload: workload.clone(),
        rotation: 0,
        window_seconds: 0.01,
        left_seconds: 1e4,
        seed: 1,
    }
}

fn point(runner: &mut Runner, workload: &Workload) -> PointResult {
    while runner.prepare(0, std::slice::from_ref(workload), &mut Nobody).unwrap().more {}
    runner.point(&spec(workload), &mut Nobody)
}

fn is(result: &PointResult, part: u16, metric: Metric, expected: f64) {
    let value = result.value(part, metric).unwrap_or_else(|| panic!("{metric} is missing"));
    assert!((value / expected - 1.0).abs() < 1e-9, "{metric}: {value}, not {expected}");
}

/// Wakes up so much later than it is asked to.
struct LateClock(Arc<VirtualClock>, Duration);

impl Clock for LateClock {
    fn now(&self) -> Nanos {
        self.0.now()
    }
    fn sleep_until(&self, until: Nanos) {
        self.0.sleep_until(until + self.1);
    }
    fn share(&self) {
        self.0.share();
    }
    fn leave(&self) {
        self.0.leave();
    }
}

/// Ten reads are due in a second, and take a millisecond each.
#[test]
fn an_open_loop_whose_generator_is_late_is_void() {
    let outcome = |late: Duration, arrival: Arrival| {
        let clock = Arc::new(VirtualClock::new());
        let script = |_: &Op, _: Nanos| Reply::After(MS);
        let share = Arc::new(MockShare::new(clock.clone(), NonZeroU16::MIN, script));
        let clock = Arc::new(LateClock(clock, late));
        let options = options(Deadline::new(clock, Arc::default()));
        let mut runner = Runner::new(options, vec![share]);
        runner.attach(0).unwrap();
        let job = PatternJob::random_reads(Bytes(4 * KIB), Bytes(MIB)).into();
        let part = Part { arrival, ..alone(job) };
        let length = Length::For { seconds: 2.0, warm_up_seconds: 0.2 };
        let result = point(&mut runner, &Workload::new(part, length));
        assert_eq!(runner.close(), vec![]);
        result.outcome
    };
    let (depth, per_second) = (NonZeroU16::MIN, NonZeroU32::new(10).unwrap());
    let paced = Arrival::Paced { depth, per_second };
    let Outcome::Void { reason } = outcome(50 * MS, paced) else { panic!() };
    let VoidReason::LateGenerator { late_seconds, seconds } = reason;
    assert!(seconds == 2.0 && (0.8..=1.1).contains(&late_seconds), "{late_seconds} of {seconds}");
    assert_eq!(outcome(MS, paced), Outcome::Complete, "timers are late by a little");
    let closed = Arrival::Closed { depth };
    assert_eq!(outcome(50 * MS, closed), Outcome::Complete, "it has no rate");
}

#[test]
fn figures_of_a_scan() {
    let (mut runner, share) = on(|op, _| match op {
        Op::ReadDirectory(_) => Reply::After(5 * MS),
        _ => Reply::After(MS),
    });
    let job = ScanJob { directories: 10, files: 20, ..ScanJob::default() };
    let result = point(&mut runner, &once(vec![alone(Job::Scan(job))]));
    assert_eq!((result.outcome.clone(), result.flags.clone()), (Outcome::Complete, vec![]));
    // 11 listings of 5 ms, 210 names of 1 ms.
    let elapsed = 0.055 + 0.210;
    is(&result, 0, Metric::all(Measure::ELAPSED), elapsed);
    is(&result, 0, Metric::all(Measure::ENTRIES), 210.0 / elapsed);
    is(&result, 0, Metric::all(Measure::IOPS), 221.0 / elapsed);
    is(&result, 0, Metric::for_kind(OpKind::LOOKUP, Measure::IOPS), 210.0 / elapsed);
    let latency = |kind| result.value(0, Metric::for_kind(kind, Measure::LATENCY_MEAN)).unwrap();
    assert!((latency(OpKind::LOOKUP) / 1e-3 - 1.0).abs() < 1e-3);
    assert!((latency(OpKind::READ_DIRECTORY) / 5e-3 - 1.0).abs() < 1e-3);
    assert!(result.value(0, Metric::all(Measure::CLIENT_CPU_PER_OP)).is_some());
    for nothing in [Measure::THROUGHPUT, Measure::CLIENT_CPU_PER_BYTE, Measure::FLUSH_TIME] {
        assert_eq!(result.value(0, Metric::all(nothing)), None, "no byte is moved: {nothing}");
    }
    assert_eq!(result.parts[0].series.total().operations, 221);
    assert_eq!(runner.close(), vec![]);
    assert_eq!(share.paths(), Vec::<String>::new());
}

/// Two files of 2.5 blocks and one of ten bytes.
fn user_files() -> tempfile::TempDir {
    let there = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        std::fs::write(there.path().join(name), vec![7; 2560]).unwrap();
    }
    std::fs::write(there.path().join("c"), b"0123456789").unwrap();
    there
}

fn copied(data: &Path, transfer: Transfer) -> Job {
    let dataset = LocalFiles::list(data.to_str().unwrap()).unwrap().dataset();
    Job::Copy(CopyJob {
        dataset,
        transfer,
        method: Method::default(),
        block: Bytes(KIB),
        verify: false,
    })
}

#[test]
fn figures_of_a_copy() {
    let data = user_files();
    let (mut runner, share) = on(|op, _| match op {
        Op::Close(_) => Reply::After(50 * MS),
        _ => Reply::After(MS),
    });
    let up = once(vec![alone(copied(data.path(), Transfer::Up))]);
    let result = point(&mut runner, &up);
    assert_eq!(result.outcome, Outcome::Complete);
    // Tree and directory; twice create, three writes, close; and the small file whole.
    let elapsed = 0.002 + 2.0 * (0.001 + 0.003 + 0.050) + 0.001;
    is(&result, 0, Metric::all(Measure::ELAPSED), elapsed);
    is(&result, 0, Metric::all(Measure::FILES), 3.0 / elapsed);
    is(&result, 0, Metric::all(Measure::THROUGHPUT), 5130.0 / elapsed);
    is(&result, 0, Metric::for_kind(OpKind::WRITE, Measure::THROUGHPUT), 5120.0 / elapsed);
    let close = result.value(0, Metric::for_kind(OpKind::CLOSE, Measure::LATENCY_MEAN)).unwrap();
    assert!((close / 0.05 - 1.0).abs() < 1e-3);
    let down = once(vec![alone(copied(data.path(), Transfer::Down))]);
    let result = point(&mut runner, &down);
    let elapsed = 2.0 * (0.001 + 0.003 + 0.050) + 0.001;
    is(&result, 0, Metric::all(Measure::ELAPSED), elapsed);
    is(&result, 0, Metric::all(Measure::FILES), 3.0 / elapsed);
    is(&result, 0, Metric::all(Measure::THROUGHPUT), 5130.0 / elapsed);
    assert_eq!(runner.close(), vec![]);
    assert_eq!(share.paths(), Vec::<String>::new());
}

fn mixed() -> Job {
    Job::Pattern(PatternJob {
        pattern: Pattern::RandomMixed,
        block: Bytes(64 * KIB),
        size: Bytes(4 * MIB),
        layout: Layout::Disjoint,
        stability: Stability::Unstable,
        verify: true,
    })
}

#[test]
fn parts_have_results_of_their_own_and_the_worst_is_the_points() {
    let scan = || alone(Job::Scan(ScanJob { directories: 3, files: 5, ..ScanJob::default() }));
    let (mut runner, share) = on(|_, _| Reply::After(MS));
    let workload = once(vec![scan(), alone(mixed())]);
    let result = point(&mut runner, &workload);
    assert_eq!(result.outcome, Outcome::Complete);
    let kinds = |part: usize| result.parts[part].ops.keys().copied().collect::<Vec<_>>();
    assert_eq!(kinds(0), [OpKind::LOOKUP, OpKind::READ_DIRECTORY]);
    assert!(kinds(1).iter().all(|kind| [OpKind::READ, OpKind::WRITE].contains(kind)));
    assert_eq!(result.value(1, Metric::all(Measure::ENTRIES)), None);
    assert_eq!(runner.close(), vec![]);
    assert_eq!(share.paths(), Vec::<String>::new());

    let (mut runner, _) = on(|op, _| match op {
        Op::Read(_) => Reply::error(MS, ErrorKind::NoSpace),
        _ => Reply::After(MS),
    });
    let result = point(&mut runner, &workload);
    let Outcome::Failed { failure, .. } = &result.outcome else { panic!("{:?}", result.outcome) };
    assert!(failure.happened.contains("no space"), "{failure}");
    assert!(result.parts[1].quantities.is_empty(), "a failed part has no figures");
    assert_eq!(runner.close(), vec![]);
}

/// Windows of a trial under way, each of all parts.
struct Windows(Vec<Vec<Window>>);

impl LoadObserver for Windows {
    fn load_begins(&mut self) {}
    fn load_ends(&mut self) {}
    fn event(&mut self, event: Event) {
        if let Event::Window { parts, .. } = event {
            self.0.push(parts);
        }
    }
}

#[test]
fn each_part_has_windows_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let target = Target::Directory(DirectoryTarget { path: directory.path().into() });
    let share = plimsoll_load::open(&target, &OpenOptions::default()).unwrap();
    let deadline = Deadline::new(Arc::new(SystemClock::new()), Arc::default());
    let options = RunnerOptions { live: true, ..options(deadline) };
    let mut runner = Runner::new(options, vec![share]);
    runner.attach(0).unwrap();
    let pattern = |pattern| alone(PatternJob::new(pattern, Bytes(4 * KIB), Bytes(MIB)).into());
    let parts = vec![pattern(Pattern::RandomRead), pattern(Pattern::SequentialWrite)];
    let length = Length::For { seconds: 0.5, warm_up_seconds: 0.05 };
    let workload = Workload { parts, steps: None, length };
    while runner.prepare(0, std::slice::from_ref(&workload), &mut Nobody).unwrap().more {}
    let mut windows = Windows(Vec::new());
    let result = runner.point(&spec(&workload), &mut windows);
    assert_eq!(result.outcome, Outcome::Complete);
    let kinds = |part: usize| -> BTreeSet<OpKind> {
        windows.0.iter().flat_map(|parts| parts[part].kinds.keys().copied()).collect()
    };
    let expected = [OpKind::READ, OpKind::WRITE].map(|kind| BTreeSet::from([kind]));
    assert_eq!([kinds(0), kinds(1)], expected);
    assert_eq!(runner.close(), vec![]);
}

#[test]
fn work_that_is_not_done_in_time_is_told_as_such() {
    let (mut runner, _) = on(|_, _| Reply::After(MS));
    let mut workload = once(vec![alone(Job::Scan(ScanJob {
        directories: 100,
        files: 100,
        ..ScanJob::default()
    }))]);
    workload.length = Length::UntilDone { at_most_seconds: 1.0 };
    let result = point(&mut runner, &workload);
    let Outcome::Failed { failure, .. } = &result.outcome else { panic!("{:?}", result.outcome) };
    assert!(failure.happened.contains("did not end within 1.0 s"), "{failure}");
}

/// Trials of a scan with a warm cache begin with a walk that no figure has, and the study says so. It goes over the
/// tree's own names: where they are gone, the walk fails before the first operation.
#[test]
fn a_warm_scan_walks_before_it_measures() {
    let target = |path: &std::path::Path| format!("{}", path.display()).parse().unwrap();
    for cached in [NamesCached::AsFound, NamesCached::Warm, NamesCached::Cold] {
        let there = tempfile::tempdir().unwrap();
        let share = plimsoll_load::open(&target(there.path()), &OpenOptions::default()).unwrap();
        let options = options(plimsoll_load::SystemClock::no_deadline());
        let mut runner = Runner::new(options, vec![share]);
        runner.attach(0).unwrap();
        let scan = ScanJob { directories: 2, files: 3, cached };
        let workload = once(vec![alone(Job::Scan(scan))]);
        let prepared = runner.prepare(0, std::slice::from_ref(&workload), &mut Nobody).unwrap();
        let says = prepared.flags.iter().any(|flag| matches!(flag, Flag::WarmScan { .. }));
        assert_eq!(says, cached == NamesCached::Warm);
        let measured = point(&mut runner, &workload);
        assert_eq!(measured.outcome, Outcome::Complete);
        let lookups = measured.parts[0].ops[&OpKind::LOOKUP].count;
        assert_eq!(lookups, 2 + 2 * 3, "the walk is not counted");
        let run = there.path().join(".plimsoll-0123abcd-00000007");
        std::fs::remove_dir_all(run.join("scan-0")).unwrap();
        let Outcome::Failed { failure, .. } = point(&mut runner, &workload).outcome else {
            panic!("{cached:?}: its tree is gone")
        };
        let walked = failure.tried == "scan the tree" && failure.happened.contains("No such file");
        assert_eq!(walked, cached == NamesCached::Warm, "{failure}");
    }
}

/// A run that died in the middle of everything, on a real directory.
#[test]
fn clean_removes_trees_of_ours_and_nothing_else() {
    let (there, data) = (tempfile::tempdir().unwrap(), user_files());
    let target = format!("{}", there.path().display()).parse().unwrap();
    let share = plimsoll_load::open(&target, &OpenOptions::default()).unwrap();
    let options = options(plimsoll_load::SystemClock::no_deadline());
    let mut runner = Runner::new(options, vec![share.clone()]);
    runner.attach(0).unwrap();
    let parts = vec![
        alone(copied(data.path(), Transfer::Up)),
        alone(Job::Scan(ScanJob { directories: 2, files: 3, ..ScanJob::default() })),
        alone(copied(data.path(), Transfer::Down)),
    ];
    // One after the other: a first part that is done at once leaves the others no time.
    for part in parts {
        assert_eq!(point(&mut runner, &once(vec![part])).outcome, Outcome::Complete);
    }
    drop(runner);
    let run = there.path().join(".plimsoll-0123abcd-00000007");
    let names = || {
        let mut names: Vec<_> = std::fs::read_dir(&run)
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    // What was copied up went before the files to be read were copied.
    assert_eq!(names(), ["copy-2-0", "lease.json", "scan-1"]);
    // Its process is gone, and somebody put a file of their own into a tree.
    let lease = std::fs::read_to_string(run.join("lease.json")).unwrap();
    let dead = lease.replace(&format!("\"process\":{}", std::process::id()), "\"process\":4194304");
    assert_ne!(lease, dead);
    std::fs::write(run.join("lease.json"), dead).unwrap();
    let precious = run.join("scan-1/d000001/precious");
    std::fs::write(&precious, b"mine").unwrap();
    let open = || plimsoll_load::open(&target, &OpenOptions::default()).unwrap();
    let cleaned = clean(&mut *open().namespace().unwrap(), None, &|_| {}).unwrap();
    assert!(cleaned.removed.is_empty() && cleaned.left.len() == 1, "{cleaned:?}");
    assert!(cleaned.left[0].1.contains("scan-1/d000001/precious"), "{cleaned:?}");
    assert_eq!(names(), ["lease.json", "scan-1"]);
    // What another removes at the same time, as clients of one study do that end together, is not left.
    let elsewhere = there.path().join("elsewhere");
    let removed = |_| std::fs::rename(&run, &elsewhere).unwrap();
    let study = StudyId("0123abcd".into());
    let cleaned = clean(&mut *open().namespace().unwrap(), Some(&study), &removed).unwrap();
    assert!(cleaned.removed.is_empty() && cleaned.left.is_empty(), "{cleaned:?}");
    std::fs::rename(&elsewhere, &run).unwrap();
    std::fs::remove_file(&precious).unwrap();
    let cleaned = clean(&mut *open().namespace().unwrap(), None, &|_| {}).unwrap();
    assert_eq!(cleaned.removed.len(), 1, "{cleaned:?}");
    assert_eq!(std::fs::read_dir(there.path()).unwrap().count(), 0);
}

/// What a user's directory holds that is not copied is a flag, once.
#[test]
fn what_is_not_copied_is_reported() {
    let data = user_files();
    std::os::unix::fs::symlink("/etc/passwd", data.path().join("link")).unwrap();
    let (mut runner, _) = on(|_, _| Reply::After(MS));
    let workload = once(vec![alone(copied(data.path(), Transfer::Up))]);
    let flags = runner.prepare(0, std::slice::from_ref(&workload), &mut Nobody).unwrap().flags;
    assert!(matches!(&flags[..], [Flag::EntriesSkipped { count: 1, .. }]), "{flags:?}");
    assert_eq!(runner.point(&spec(&workload), &mut Nobody).flags, vec![]);
}

#[test]
fn names_are_worked_on_over_a_new_connection_after_reopening() {
    let (mut runner, share) = on(|_, _| Reply::After(MS));
    let workload =
        once(vec![alone(Job::Scan(ScanJob { directories: 1, files: 1, ..ScanJob::default() }))]);
    assert_eq!(point(&mut runner, &workload).outcome, Outcome::Complete);
    runner.reopen().unwrap();
    assert_eq!(runner.point(&spec(&workload), &mut Nobody).outcome, Outcome::Complete);
    assert_eq!(runner.close(), vec![]);
    assert_eq!(share.paths(), Vec::<String>::new());
}

/// A share of a server that nobody can connect to until a time of its clock.
struct Restarting {
    share: MockShare,
    back: Arc<AtomicU64>,
    cause: Cause,
}

impl Share for Restarting {
    fn facts(&self) -> TargetFacts {
        self.share.facts()
    }

    fn namespace(&self) -> Result<Box<dyn Namespace>, Failure> {
        match self.share.clock().now().0 < self.back.load(Ordering::Relaxed) {
            true => Err(Failure::new(self.cause, "connect")
                .on("the server")
                .happened("refused")
                .next("wait")),
            false => self.share.namespace(),
        }
    }

    fn lane(&self, request: LaneRequest) -> Result<Box<dyn Lane>, Failure> {
        self.share.lane(request)
    }
}

/// What reopening ends with, on a server that is gone for so long, and the seconds it takes.
fn reopened(gone: Duration, cause: Cause) -> (Result<(), Cause>, f64) {
    let clock = Arc::new(VirtualClock::new());
    let back = Arc::<AtomicU64>::default();
    let share = MockShare::new(clock.clone(), NonZeroU16::MIN, |_, _| Reply::After(MS));
    let share = Arc::new(Restarting { share, back: back.clone(), cause });
    let mut runner =
        Runner::new(options(Deadline::new(clock.clone(), Arc::default())), vec![share]);
    assert_eq!(runner.attach(0).unwrap(), vec![]);
    let begun = clock.now();
    back.store((begun + gone).0, Ordering::Relaxed);
    let ended = runner.reopen().map_err(|failure| failure.cause);
    (ended, clock.now().since(begun).as_secs_f64())
}

/// A check ended when its server happened to restart between two blocks, while one that restarts within
/// a trial is waited for: half of the 30 s that an operation may take.
#[test]
fn a_server_that_restarts_between_blocks_is_waited_for() {
    let (ended, seconds) = reopened(Duration::from_secs(14), Cause::Unreachable);
    assert!(ended == Ok(()) && (14.0..14.3).contains(&seconds), "{ended:?} after {seconds} s");
    let (ended, seconds) = reopened(Duration::from_secs(60), Cause::Unreachable);
    assert_eq!(ended, Err(Cause::Unreachable));
    assert!((15.0..15.3).contains(&seconds), "{seconds} s");
    // What waiting does not mend is not waited for.
    assert_eq!(reopened(Duration::from_secs(14), Cause::NotPermitted).1, 0.0);
}
