//! Whole trials, exactly, on scripted shares and a scripted clock.

use plimsoll_load::{
    FileId, MockShare, Op, OpError, OpenOptions, Reply, Share, Space, Span, SystemClock,
    VirtualClock,
};
use plimsoll_model::units::{Bytes, KIB, MIB};
use plimsoll_model::{
    Arrival, Cause, Clock, Deadline, DirectoryTarget, ErrorKind, Event, Failure, Flag, InPlace,
    Job, Layout, Length, LoadObserver, Measure, Metric, Nanos, OpKind, Outcome, Part, Pattern,
    PatternJob, Phase, PointResult, PointSpec, Stability, StallPhase, StoredOn, StudyId,
    SubjectRunner, Target, TargetFacts, Workload,
};
use plimsoll_runner::{Runner, RunnerOptions};
use std::collections::HashSet;
use std::num::{NonZeroU16, NonZeroU32};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

fn job(pattern: Pattern) -> PatternJob {
    PatternJob {
        pattern,
        block: Bytes(64 * KIB),
        size: Bytes(64 * MIB),
        layout: Layout::Disjoint,
        stability: Stability::Unstable,
        verify: false,
    }
}

/// A second, by one worker with one operation in flight.
fn workload(job: PatternJob) -> Workload {
    let part = Part::closed(Job::Pattern(job), NonZeroU16::MIN, NonZeroU16::MIN);
    Workload::new(part, Length::For { seconds: 1.0, warm_up_seconds: 0.1 })
}

fn spec_of(number: u32, job: PatternJob) -> PointSpec {
    PointSpec {
        number,
        subject: 0,
        workload: workload(job),
        rotation: 0,
        window_seconds: 0.01,
        left_seconds: 1e4,
        seed: 1,
    }
}

fn spec(number: u32, pattern: Pattern) -> PointSpec {
    spec_of(number, job(pattern))
}

/// What an observer was called with.
#[derive(Default)]
struct Calls {
    phases: Vec<Phase>,
    /// How often the load began, and ended.
    loads: (u32, u32),
}

impl LoadObserver for Calls {
    fn load_begins(&mut self) {
        assert_eq!(self.loads.0, self.loads.1, "one load at a time");
        self.loads.0 += 1;
    }

    fn load_ends(&mut self) {
        self.loads.1 += 1;
        assert_eq!(self.loads.0, self.loads.1, "once for each begin");
    }

    fn event(&mut self, event: Event) {
        if let Event::Phase { phase, .. } = event {
            self.phases.push(phase);
        }
    }
}

struct Stage {
    clock: Arc<VirtualClock>,
    stop: Arc<AtomicBool>,
    options: RunnerOptions,
    runner: Runner,
}

impl Stage {
    fn new() -> Self {
        let (clock, stop) = (Arc::new(VirtualClock::new()), Arc::new(AtomicBool::new(false)));
        let options = RunnerOptions {
            study: StudyId("0123abcd".into()),
            nonce: 7,
            longest_trial: Duration::from_secs(1),
            operation_timeout: Duration::from_secs(30),
            server_memory: Some(2 << 30),
            live: false,
            set_up: Duration::from_secs(600),
            deadline: Deadline::new(clock.clone(), stop.clone()),
        };
        let runner = Runner::new(options.clone(), Vec::new());
        Stage { clock, stop, options, runner }
    }

    fn share(&self, script: impl Fn(&Op, Nanos) -> Reply + Send + Sync + 'static) -> MockShare {
        MockShare::new(self.clock.clone(), NonZeroU16::MIN, script)
    }

    fn open(&mut self, share: MockShare) -> Arc<MockShare> {
        let share = Arc::new(share);
        self.runner = Runner::new(self.options.clone(), vec![share.clone()]);
        assert_eq!(self.runner.attach(0).unwrap(), vec![]);
        share
    }

    fn prepare(&mut self, pattern: Pattern) -> Result<Vec<Flag>, Failure> {
        let (mut flags, mut more) = (Vec::new(), true);
        while more {
            let workloads = [workload(job(pattern))];
            let step = self.runner.prepare(0, &workloads, &mut Calls::default())?;
            flags.extend(step.flags);
            more = step.more;
        }
        Ok(flags)
    }

    /// A point whose load, if it began, has ended.
    fn point(&mut self, spec: &PointSpec) -> PointResult {
        let mut seen = Calls::default();
        let result = self.runner.point(spec, &mut seen);
        assert_eq!(seen.loads.0, seen.loads.1);
        result
    }
}

fn quantity(result: &PointResult, measure: Measure) -> f64 {
    result.parts[0].quantities[&Metric::all(measure)]
}

#[test]
fn reads_of_a_millisecond() {
    let mut stage = Stage::new();
    let share = stage.open(stage.share(|_, _| Reply::After(MS)));
    stage.prepare(Pattern::RandomRead).unwrap();
    assert_eq!(share.paths().len(), 2 + 8, "directory, lease, files: {:?}", share.paths());
    let mut seen = Calls::default();
    let result = stage.runner.point(&spec(0, Pattern::RandomRead), &mut seen);
    assert_eq!(result.outcome, Outcome::Complete);
    assert_eq!(seen.phases, [Phase::Measure, Phase::Summarize]);
    assert_eq!(seen.loads, (1, 1));
    assert!((quantity(&result, Measure::IOPS) / 1000.0 - 1.0).abs() < 0.002);
    assert!((quantity(&result, Measure::LATENCY_MEAN) / 1e-3 - 1.0).abs() < 0.001);
    assert!((quantity(&result, Measure::IN_FLIGHT) - 1.0).abs() < 0.002);
    assert_eq!(result.flags, vec![]);
    assert_eq!(stage.runner.close(), vec![]);
    assert_eq!(share.paths(), Vec::<String>::new());
}

#[test]
fn the_final_flush_counts() {
    let mut stage = Stage::new();
    stage.open(stage.share(|op, _| match op {
        Op::Flush(_) => Reply::After(500 * MS),
        _ => Reply::After(MS),
    }));
    // So large that a second does not get over the first of its files.
    let large = PatternJob { size: Bytes(1024 * MIB), ..job(Pattern::SequentialWrite) };
    let workloads = [workload(large.clone())];
    while stage.runner.prepare(0, &workloads, &mut Calls::default()).unwrap().more {}
    let over_all = stage.point(&spec(0, Pattern::SequentialWrite));
    assert_eq!(quantity(&over_all, Measure::FLUSH_TIME), 4.0, "each of eight");
    let result = stage.point(&spec_of(1, large));
    assert_eq!(quantity(&result, Measure::FLUSH_TIME), 0.5);
    // 0.9 s measured and nine tenths of the flush.
    let expected = 900.0 / (0.9 + 0.45);
    let iops = quantity(&result, Measure::IOPS);
    assert!((iops / expected - 1.0).abs() < 0.005, "{iops} against {expected}");
    let stable = PatternJob { stability: Stability::FileSync, ..job(Pattern::SequentialWrite) };
    let safe = spec_of(1, stable);
    let iops = quantity(&stage.point(&safe), Measure::IOPS);
    assert!((iops / 1000.0 - 1.0).abs() < 0.005, "nothing to flush: {iops}");
}

/// "no operation completed within 0.1 s": on a busy machine, and over links that a trial is too short for.
#[test]
fn a_trial_that_is_too_short_for_an_operation_goes_on_until_it_has_ended() {
    for workers in [1, 4] {
        let mut stage = Stage::new();
        stage.open(stage.share(|op, _| match op {
            Op::Read(_) => Reply::After(450 * MS),
            _ => Reply::After(MS),
        }));
        stage.prepare(Pattern::RandomRead).unwrap();
        let mut spec = spec(0, Pattern::RandomRead);
        spec.workload.length = Length::For { seconds: 0.3, warm_up_seconds: 0.03 };
        spec.workload.parts[0].workers = NonZeroU16::new(workers).unwrap();
        let result = stage.point(&spec);
        assert_eq!(result.outcome, Outcome::Complete);
        // One server: the second worker's read waits for the first.
        assert!((quantity(&result, Measure::IOPS) * 0.45 - 1.0).abs() < 1e-6);
        let mean = 0.45 * f64::from(workers + 1) / 2.0;
        assert!((quantity(&result, Measure::LATENCY_MEAN) / mean - 1.0).abs() < 0.001);
        assert!(result.flags.contains(&Flag::FewOperations { count: workers.into() }));
    }
}

/// "Only 3848 operations completed. Lengthen --time": all in the warm-up, as the machine paused after that.
#[test]
fn a_pause_after_the_warm_up_is_no_trial_that_is_too_short() {
    let mut stage = Stage::new();
    let reads = AtomicU64::new(0);
    stage.open(stage.share(move |op, _| match op {
        Op::Read(_) if reads.fetch_add(1, Ordering::Relaxed) == 40 => Reply::After(450 * MS),
        _ => Reply::After(MS),
    }));
    stage.prepare(Pattern::RandomRead).unwrap();
    let mut spec = spec(0, Pattern::RandomRead);
    spec.workload.length = Length::For { seconds: 0.3, warm_up_seconds: 0.1 };
    let result = stage.point(&spec);
    assert_eq!(result.outcome, Outcome::Complete);
    let is_few = |flag: &Flag| matches!(flag, Flag::FewOperations { .. });
    assert!(!result.flags.iter().any(is_few), "{:?}", result.flags);
    let is_the_pause =
        |flag: &Flag| matches!(flag, Flag::LongGap { seconds } if (0.4..0.5).contains(seconds));
    assert!(result.flags.iter().any(is_the_pause), "{:?}", result.flags);
}

/// Requests that share a link evenly end together. While their bytes come, that is a trial which is too short, and no
/// stall, however many there are.
#[test]
fn a_trial_over_a_slow_link_that_is_too_short_does_not_stall() {
    let mut stage = Stage::new();
    let share =
        MockShare::new(stage.clock.clone(), NonZeroU16::new(16).unwrap(), |op, _| match op {
            Op::Read(_) => Reply::After(1600 * MS),
            _ => Reply::After(MS),
        });
    stage.open(share.with_moved_bytes(|at| at.0 / 100));
    stage.prepare(Pattern::RandomRead).unwrap();
    let mut spec = spec(0, Pattern::RandomRead);
    spec.workload.length = Length::For { seconds: 0.4, warm_up_seconds: 0.04 };
    spec.workload.parts[0].arrival = Arrival::Closed { depth: NonZeroU16::new(16).unwrap() };
    let result = stage.point(&spec);
    assert_eq!(result.outcome, Outcome::Complete);
    assert_eq!(result.parts[0].stalls, []);
    assert!((quantity(&result, Measure::IOPS) * 1.6 / 16.0 - 1.0).abs() < 1e-6);
    assert!(result.flags.contains(&Flag::FewOperations { count: 16 }), "{:?}", result.flags);
    let is_gap = |flag: &Flag| matches!(flag, Flag::LongGap { .. });
    assert!(!result.flags.iter().any(is_gap), "{:?}", result.flags);
}

#[test]
fn the_halves_of_a_mix_are_kept_apart_and_together() {
    let mut stage = Stage::new();
    stage.open(stage.share(|op, _| match op {
        Op::Read(_) => Reply::After(MS),
        Op::Write(..) => Reply::After(3 * MS),
        _ => Reply::After(Duration::ZERO),
    }));
    stage.prepare(Pattern::RandomMixed).unwrap();
    let result = stage.point(&spec(0, Pattern::RandomMixed));
    let figure = |kind, measure| result.parts[0].quantities[&Metric::for_kind(kind, measure)];
    assert!((figure(OpKind::READ, Measure::LATENCY_MEAN) / 1e-3 - 1.0).abs() < 0.001);
    assert!((figure(OpKind::WRITE, Measure::LATENCY_MEAN) / 3e-3 - 1.0).abs() < 0.001);
    let halves = figure(OpKind::READ, Measure::IOPS) + figure(OpKind::WRITE, Measure::IOPS);
    assert!((halves / quantity(&result, Measure::IOPS) - 1.0).abs() < 1e-9);
    assert!(
        result.parts[0].ops[&OpKind::READ].count > 150
            && result.parts[0].ops[&OpKind::WRITE].count > 150
    );
}

#[test]
fn burst_and_sustained_phases_are_told() {
    let mut stage = Stage::new();
    let begun = Arc::new(AtomicU64::new(u64::MAX));
    stage.open(stage.share(move |op, at| match op {
        Op::Flush(_) => Reply::After(Duration::ZERO),
        _ if at.0 < begun.load(Ordering::Relaxed).saturating_add(400_000_000) => {
            begun.fetch_min(at.0, Ordering::Relaxed);
            Reply::After(Duration::from_micros(250))
        }
        _ => Reply::After(MS),
    }));
    let small = PatternJob { size: Bytes(64 * KIB), ..job(Pattern::SequentialWrite) };
    let result = stage.point(&spec_of(0, small));
    assert_eq!(result.outcome, Outcome::Complete);
    let burst = quantity(&result, Measure::BURST_THROUGHPUT);
    let sustained = quantity(&result, Measure::SUSTAINED_THROUGHPUT);
    assert!((burst / sustained - 4.0).abs() < 0.3, "{burst} then {sustained}");
    assert!(result.flags.iter().any(|f| matches!(f, Flag::TwoPhases { at_seconds, .. }
        if (at_seconds - 0.4).abs() < 0.03)));
}

/// A server that keeps the blocks it has read in memory, where a read takes a millisecond, and has those
/// of a rest on a disk. What is written is in memory unless it belongs to the rest.
fn remembering(
    disk: Duration,
    jitter_percent: u64,
    rest: impl Fn(&Span) -> bool + Send + Sync + 'static,
) -> impl Fn(&Op, Nanos) -> Reply + Send + Sync + 'static {
    let (count, read) = (AtomicU64::new(0), Mutex::new(HashSet::new()));
    move |op, _| {
        // Whole spells are slower or faster by some percent, as on real machines.
        let n = count.fetch_add(1, Ordering::Relaxed);
        let path = MS + MS * (n / 200 % 3 * jitter_percent) as u32 / 100;
        let Op::Read(span) = op else { return Reply::After(path) };
        let first = read.lock().unwrap().insert((span.file, span.offset));
        Reply::After(if first && rest(span) { path + disk } else { path })
    }
}

/// The cache test's answer for such a server.
fn tested(
    disk: Duration,
    jitter_percent: u64,
    rest: impl Fn(&Span) -> bool + Send + Sync + 'static,
) -> (Option<StoredOn>, Vec<Flag>) {
    let mut stage = Stage::new();
    let share = stage.share(remembering(disk, jitter_percent, rest));
    stage.open(share.with_facts(TargetFacts { memory_below: true, ..TargetFacts::default() }));
    let flags = stage.prepare(Pattern::RandomRead).unwrap();
    (stage.runner.facts()[0].storage().unwrap().reads_from, flags)
}

#[test]
fn the_cache_test_tells_memory_from_disk_and_says_when_it_cannot() {
    let (memory, flags) = tested(8 * MS, 1, |_| false);
    assert_eq!(memory, Some(StoredOn::ServerMemory));
    assert!(
        matches!(flags[..], [Flag::WorkingSet { settles: Some(Bytes(n)), .. }] if n == 4 << 30)
    );
    assert_eq!(tested(8 * MS, 1, |_| true), (Some(StoredOn::Disk), vec![]));
    let unclear = [
        // A disk that the path hides, and one that is seen and would be a bad one.
        tested(MS / 10, 1, |_| true),
        tested(MS * 4 / 10, 1, |_| true),
        // A part of what is read is in memory.
        tested(8 * MS, 1, |span| span.offset >= 6 * MIB),
    ];
    for (answer, flags) in unclear {
        assert_eq!(answer, Some(StoredOn::Unknown));
        assert_eq!(flags.len(), 1);
    }
}

/// Files whose beginnings are on the disk just as the rest is: they were written first, and are gone
/// from memory. An earlier test took the beginnings for what is surely in memory, and for equally fast.
#[test]
fn the_cache_test_does_not_rely_on_what_was_written_first() {
    assert_eq!(tested(20 * MS, 3, |_| true).0, Some(StoredOn::Disk));
}

/// A file that is read in place is one, and all of it counts.
#[test]
fn the_cache_test_goes_over_the_whole_of_a_file_in_place() {
    let mut stage = Stage::new();
    let share = stage.share(remembering(8 * MS, 1, |span| span.offset >= 16 * MIB));
    share.namespace().unwrap().create("film").unwrap();
    let in_place = InPlace { file: "film".into(), size: Bytes(64 * MIB) };
    let facts = TargetFacts { in_place: Some(in_place), memory_below: true, ..Default::default() };
    stage.runner = Runner::new(stage.options.clone(), vec![Arc::new(share.with_facts(facts))]);
    stage.runner.attach(0).unwrap();
    assert_eq!(stage.prepare(Pattern::RandomRead).unwrap(), vec![]);
    let facts = stage.runner.facts();
    assert_eq!(facts[0].storage().unwrap().reads_from, Some(StoredOn::Disk));
}

#[test]
fn no_space_before_leaves_nothing_behind() {
    let mut stage = Stage::new();
    let share = stage.share(|_, _| Reply::After(MS));
    share.set_space(Space { total: 1 << 30, available: 100 * MIB });
    let share = stage.open(share);
    let failure = stage.prepare(Pattern::RandomMixed).unwrap_err();
    assert_eq!(failure.cause, Cause::NoSpace);
    assert!(failure.next.contains("--size 32MiB"), "{failure}");
    assert_eq!(stage.runner.close(), vec![]);
    assert_eq!(share.paths(), Vec::<String>::new());
}

#[test]
fn an_error_under_load_fails_the_trial_with_its_reason() {
    for (kind, cause) in [
        (ErrorKind::NoSpace, Cause::NoSpace),
        (ErrorKind::TimedOut, Cause::Unreachable),
        (ErrorKind::CorruptContent, Cause::Trial),
        (ErrorKind::Io, Cause::Trial),
    ] {
        let mut stage = Stage::new();
        let failing = kind.clone();
        let share = stage.open(stage.share(move |op, at| match op {
            Op::Read(_) if at.0 > 2_000_000_000 => {
                let error = OpError { kind: failing.clone(), detail: "scripted".into() };
                Reply::Fails(MS, error)
            }
            _ => Reply::After(MS),
        }));
        stage.prepare(Pattern::RandomRead).unwrap();
        assert_eq!(stage.point(&spec(0, Pattern::RandomRead)).outcome, Outcome::Complete);
        let result = stage.point(&spec(1, Pattern::RandomRead));
        let Outcome::Failed { phase, failure } = result.outcome else {
            panic!("{kind}: {:?}", result.outcome)
        };
        assert_eq!((phase.as_str(), failure.cause), ("measure", cause), "{kind}");
        assert!(failure.happened.contains("scripted"), "{failure}");
        assert!(result.parts[0].quantities.is_empty(), "a failed trial has no figures");
        assert!(result.parts[0].ops[&OpKind::READ].errors[&kind] > 0);
        assert_eq!(stage.runner.close(), vec![]);
        assert_eq!(share.paths(), Vec::<String>::new());
    }
}

#[test]
fn files_are_laid_out_once_and_no_point_writes_the_same_bytes_again() {
    let mut stage = Stage::new();
    let created: Arc<Mutex<Vec<String>>> = Arc::default();
    let written: Arc<Mutex<Vec<Span>>> = Arc::default();
    let (seen, spans) = (created.clone(), written.clone());
    let writes = move |op: &Op, _| {
        if let Op::Write(span, _) = op {
            spans.lock().unwrap().push(*span);
        }
        Reply::After(MS)
    };
    let share = stage.share(writes).with_namespace_script(move |call, path| {
        if call == "create" {
            let name = path.rsplit('/').next().unwrap_or_default().to_owned();
            seen.lock().unwrap().push(name);
        }
        None
    });
    stage.open(share);
    stage.prepare(Pattern::RandomMixed).unwrap();
    let bytes_of = |span: Span| (span.file, span.offset, span.generation);
    let mut begun_with = Vec::new();
    let mut layouts = written.lock().unwrap().len();
    for block in 0..9 {
        for pattern in [Pattern::RandomMixed, Pattern::SequentialWrite, Pattern::RandomRead] {
            let spec = PointSpec { rotation: block, ..spec(block, pattern) };
            assert_eq!(stage.point(&spec).outcome, Outcome::Complete);
            let mut written = written.lock().unwrap();
            assert_eq!(written.len() > layouts, pattern.writes(), "{pattern}");
            begun_with.extend(written.get(layouts).map(|span| span.file));
            // Within a point a block may be written twice, and then with the same bytes.
            let of_point = written.split_off(layouts);
            let of_point: HashSet<_> = of_point.into_iter().map(bytes_of).collect();
            let known: HashSet<_> = written.iter().copied().map(bytes_of).collect();
            assert!(of_point.is_disjoint(&known), "{pattern}");
            written.extend(of_point.into_iter().map(|(file, offset, generation)| Span {
                file,
                offset,
                length: 64 << 10,
                generation,
            }));
            layouts = written.len();
        }
    }
    let names = |kind| (0..8).map(move |number| format!("{kind}-{number}.data"));
    assert!(created.lock().unwrap().iter().cloned().eq(names("read").chain(names("write"))));
    let by_block: Vec<&[FileId]> = begun_with.chunks(2).collect();
    assert!(by_block.iter().all(|files| files[0] == files[1]), "both with the same");
    assert_eq!(by_block[..8].iter().map(|files| files[0]).collect::<HashSet<_>>().len(), 8);
    assert_eq!(by_block[8], by_block[0]);
}

/// A server that does 40 reads a second, of 30 that are due and of 100; of the measured 0.9 s 37 are whole.
#[test]
fn what_is_behind_its_schedule_says_so() {
    for (per_second, wanted) in [(30, None), (100, Some((100.0, 41.0)))] {
        let mut stage = Stage::new();
        let share = stage.share(|op, _| match op {
            Op::Read(_) => Reply::After(25 * MS),
            _ => Reply::After(Duration::ZERO),
        });
        stage.open(share);
        let mut spec = spec(0, Pattern::SequentialRead);
        let per_second = NonZeroU32::new(per_second).unwrap();
        spec.workload.parts[0].arrival = Arrival::Paced { depth: NonZeroU16::MIN, per_second };
        while stage.runner.prepare(0, &[spec.workload.clone()], &mut Calls::default()).unwrap().more
        {
        }
        let result = stage.runner.point(&spec, &mut Calls::default());
        assert_eq!(result.outcome, Outcome::Complete);
        let behind = result.flags.iter().find_map(|flag| match flag {
            Flag::BehindSchedule { due_per_second, per_second } => {
                Some((*due_per_second, per_second.round()))
            }
            _ => None,
        });
        assert_eq!(behind, wanted, "{:?}", result.flags);
        let other = |flag: &Flag| !matches!(flag, Flag::BehindSchedule { .. });
        assert!(!result.flags.iter().any(other), "{:?}", result.flags);
    }
}

/// Whatever was written before, and to whichever of the files: each verified point finds what it
/// wrote, and what was there before in all other places.
#[test]
fn what_is_written_in_place_is_read_back_whole() {
    let directory = tempfile::tempdir().unwrap();
    let target = Target::Directory(DirectoryTarget { path: directory.path().into() });
    let share = plimsoll_load::open(&target, &OpenOptions::default()).unwrap();
    let clock = Arc::new(SystemClock::new());
    let deadline = Deadline::new(clock, Arc::default());
    let options = RunnerOptions { deadline, ..Stage::new().options };
    let mut runner = Runner::new(options, vec![share]);
    runner.attach(0).unwrap();
    let job = |pattern, verify| PatternJob {
        block: Bytes(4 * KIB),
        size: Bytes(MIB),
        verify,
        ..job(pattern)
    };
    let workloads = [workload(job(Pattern::RandomMixed, false))];
    while runner.prepare(0, &workloads, &mut Calls::default()).unwrap().more {}
    for number in 0..12 {
        let pattern = [Pattern::RandomMixed, Pattern::SequentialWrite][number as usize / 2 % 2];
        let mut spec = spec_of(number, job(pattern, number % 3 != 0));
        spec.rotation = number;
        spec.workload.parts[0].workers = NonZeroU16::new(2).unwrap();
        spec.workload.length = Length::For { seconds: 0.1, warm_up_seconds: 0.01 };
        let result = runner.point(&spec, &mut Calls::default());
        assert_eq!(result.outcome, Outcome::Complete, "{number}");
        // What a busy machine does to so short a trial is beside the point, and nothing else is.
        let wrong =
            |flag: &&Flag| !matches!(flag, Flag::InFlightMismatch { .. } | Flag::LongGap { .. });
        assert_eq!(result.flags.iter().find(wrong), None, "{number}");
    }
    assert_eq!(runner.close(), vec![]);
}

#[test]
fn what_cannot_be_removed_is_named() {
    let mut stage = Stage::new();
    let share = stage.share(|_, _| Reply::After(MS)).with_namespace_script(|call, path| {
        let gone = call == "list" && !path.is_empty();
        gone.then(|| Failure::new(Cause::Unreachable, call).on(path).happened("the server is gone"))
    });
    stage.open(share);
    stage.prepare(Pattern::RandomRead).unwrap();
    let flags = stage.runner.close();
    let [Flag::NotCleaned { directory, .. }] = &flags[..] else { panic!("{flags:?}") };
    assert_eq!(directory, ".plimsoll-0123abcd-00000007");
    assert!(flags[0].advice().contains("plimsoll clean"));
}

#[test]
fn a_stop_before_and_during_a_trial() {
    let mut stage = Stage::new();
    let stop = stage.stop.clone();
    stage.open(stage.share(move |op, at| {
        if matches!(op, Op::Read(_)) && at.0 > 500_000_000 {
            stop.store(true, Ordering::Relaxed);
        }
        Reply::After(MS)
    }));
    stage.prepare(Pattern::RandomRead).unwrap();
    let result = stage.point(&spec(0, Pattern::RandomRead));
    assert_eq!(result.outcome, Outcome::Stopped);
    assert_eq!(stage.point(&spec(1, Pattern::RandomRead)).outcome, Outcome::Stopped);
    assert_eq!(stage.runner.close(), vec![]);
}

/// A server that stands still for all of a trial: there is no rate, and the stall is kept whole.
#[test]
fn a_trial_in_which_nothing_completes_is_a_stall() {
    let mut stage = Stage::new();
    stage.open(stage.share(|op, _| match op {
        Op::Read(_) => Reply::After(5000 * MS),
        _ => Reply::After(MS),
    }));
    stage.prepare(Pattern::RandomRead).unwrap();
    let result = stage.point(&spec(0, Pattern::RandomRead));
    assert_eq!(result.outcome, Outcome::Complete);
    let part = &result.parts[0];
    assert_eq!(part.stalls.iter().map(|stall| stall.seconds).collect::<Vec<_>>(), [5.0]);
    assert_eq!(part.quantities.get(&Metric::all(Measure::IOPS)), None);
    assert_eq!(part.answered_seconds, Some(0.0));
}

/// A server that stands still while names are worked on, before the load.
#[test]
fn a_call_between_two_trials_that_takes_seconds_is_a_stall() {
    let mut stage = Stage::new();
    let calls = Arc::new(AtomicU64::new(0));
    let (clock, seen) = (stage.clock.clone(), calls.clone());
    let share = stage.share(|_, _| Reply::After(MS)).with_namespace_script(move |_, _| {
        if seen.load(Ordering::Relaxed) == 1 {
            seen.store(2, Ordering::Relaxed);
            clock.sleep_until(clock.now() + 3000 * MS);
        }
        None
    });
    stage.open(share);
    stage.prepare(Pattern::RandomRead).unwrap();
    assert_eq!(stage.point(&spec(0, Pattern::RandomRead)).parts[0].stalls, []);
    calls.store(1, Ordering::Relaxed);
    let stalls = stage.point(&spec(1, Pattern::RandomRead)).parts[0].stalls.clone();
    let [stall] = stalls[..] else { panic!("{stalls:?}") };
    assert_eq!((stall.phase, stall.seconds), (StallPhase::SetUp, 3.0));
    assert!(stall.start_seconds <= -3.0);
}

/// A time-out while reading a lease once made a live run look dead.
#[test]
fn a_run_whose_lease_cannot_be_read_is_left_alone() {
    let mut stage = Stage::new();
    let broken = Arc::new(AtomicBool::new(false));
    let seen = broken.clone();
    let share = stage.share(|_, _| Reply::After(MS)).with_namespace_script(move |call, path| {
        let fails = seen.load(Ordering::Relaxed) && call == "read_part";
        fails.then(|| Failure::new(Cause::Unreachable, call).on(path).happened("no answer in time"))
    });
    let share = stage.open(share);
    let paths = share.paths();
    broken.store(true, Ordering::Relaxed);
    let mut namespace = plimsoll_runner::Share::namespace(&*share).unwrap();
    let cleaned = plimsoll_runner::clean(&mut *namespace, None, &|_| {}).unwrap();
    assert_eq!(share.paths(), paths);
    assert!(
        cleaned.removed.is_empty() && cleaned.left[0].1.contains("may still be alive"),
        "{cleaned:?}"
    );
    broken.store(false, Ordering::Relaxed);
    let cleaned = plimsoll_runner::clean(&mut *namespace, None, &|_| {}).unwrap();
    assert_eq!((cleaned.live.len(), share.paths()), (1, paths));
}
