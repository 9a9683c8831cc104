use super::*;
use crate::link::Nobody;
use plimsoll_load::{MockShare, Op, Reply, Script, VirtualClock};
use plimsoll_model::units::{Bytes, KIB, MIB};
use plimsoll_model::{
    Arrival, CopyJob, Deadline, Histogram, LatencySummary, LogJob, Outcome, Part, PartialCount,
    Pattern, PatternJob, ScanJob, StudyId, SubjectRunner, Workload,
};
use plimsoll_runner::{Runner, RunnerOptions};
use std::num::{NonZeroU16, NonZeroU32};
use std::slice::from_ref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const MS: Duration = Duration::from_millis(1);

fn spec(job: Job, length: Length) -> PointSpec {
    let part = Part::closed(job, NonZeroU16::MIN, NonZeroU16::MIN);
    let parts = [0, 1].map(|client| Part { client, ..part.clone() }).into();
    PointSpec {
        number: 0,
        subject: 0,
        workload: Workload { parts, steps: None, length },
        rotation: 0,
        window_seconds: 0.5,
        left_seconds: 1e4,
        seed: 1,
    }
}

/// The point of one client, on a scripted share and a scripted clock.
fn of_one(spec: &PointSpec) -> PointSpec {
    let mut one = PointSpec { window_seconds: 0.01, ..spec.clone() };
    one.workload.parts.truncate(1);
    one
}

fn measured(spec: &PointSpec, script: Box<Script>) -> PartResult {
    let clock = Arc::new(VirtualClock::new());
    let share = Arc::new(MockShare::new(clock.clone(), NonZeroU16::MIN, script));
    let options = RunnerOptions {
        study: StudyId("0123abcd".into()),
        nonce: 7,
        longest_trial: Duration::from_secs(60),
        operation_timeout: Duration::from_secs(30),
        server_memory: None,
        live: false,
        set_up: Duration::from_secs(600),
        deadline: Deadline::new(clock, Arc::default()),
    };
    let mut runner = Runner::new(options, vec![share]);
    runner.attach(0).unwrap();
    while runner.prepare(0, from_ref(&spec.workload), &mut Nobody).unwrap().more {}
    let mut result = runner.point(spec, &mut Nobody);
    assert_eq!(result.outcome, Outcome::Complete);
    result.parts.remove(0)
}

/// Each operation takes a millisecond, a write three and a flush 50; the read with this number takes 1.5 s.
fn with_stall(stalled: u64) -> Box<Script> {
    let reads = AtomicU64::new(0);
    Box::new(move |op, _| {
        Reply::After(match op {
            Op::Read(_) if reads.fetch_add(1, Ordering::Relaxed) == stalled => 1500 * MS,
            Op::Write(..) => 3 * MS,
            Op::Flush(_) => 50 * MS,
            _ => MS,
        })
    })
}

/// The first 1600 writes are four times as fast, for 0.4 s: few of them lay the file out.
fn with_burst() -> Box<Script> {
    let writes = AtomicU64::new(0);
    Box::new(move |op, _| {
        Reply::After(match op {
            Op::Flush(_) => 50 * MS,
            Op::Write(..) if writes.fetch_add(1, Ordering::Relaxed) < 1600 => MS / 4,
            _ => MS,
        })
    })
}

/// Points whose figures follow from their results in different ways.
fn points() -> Vec<(PointSpec, PartResult)> {
    let pattern = |pattern, size| Job::from(PatternJob::new(pattern, Bytes(64 * KIB), Bytes(size)));
    let seconds = |seconds| Length::For { seconds, warm_up_seconds: 0.1 };
    let until_done = Length::UntilDone { at_most_seconds: 1e3 };
    let reads = pattern(Pattern::RandomRead, 16 * MIB);
    let log = LogJob { block: Bytes(4 * KIB), size: Bytes(MIB) };
    let scan = ScanJob { directories: 10, files: 20, ..ScanJob::default() };
    let never = u64::MAX;
    let slow: Box<Script> = Box::new(|op, _| match op {
        Op::Read(_) => Reply::After(450 * MS),
        _ => Reply::After(MS),
    });
    let mut paced = spec(reads.clone(), seconds(4.0));
    let per_second = NonZeroU32::new(100).unwrap();
    for part in &mut paced.workload.parts {
        part.arrival = Arrival::Paced { depth: NonZeroU16::MIN, per_second };
    }
    let mixed = pattern(Pattern::RandomMixed, 16 * MIB);
    let cases = [
        (spec(mixed, seconds(1.0)), with_stall(never)),
        (spec(pattern(Pattern::SequentialWrite, 64 * KIB), seconds(1.0)), with_burst()),
        (spec(reads.clone(), seconds(4.0)), with_stall(1500)),
        (spec(reads, seconds(0.3)), slow),
        (paced, with_stall(150)),
        (spec(log.into(), seconds(1.0)), with_stall(never)),
        (spec(scan.into(), until_done), with_stall(never)),
    ];
    let point = |(spec, script): (PointSpec, Box<Script>)| {
        let part = measured(&of_one(&spec), script);
        (spec, part)
    };
    cases.into_iter().map(point).collect()
}

#[test]
fn one_client_has_the_figures_of_its_own() {
    let mut known = BTreeSet::new();
    for (spec, part) in points() {
        let all = together(&of_one(&spec), from_ref(&part));
        let job = &spec.workload.parts[0].job;
        assert_eq!(all.quantities, part.quantities, "{job:?}");
        assert_eq!(all.rate_basis, part.rate_basis, "{job:?}");
        assert_eq!((&all.ops, &all.series), (&part.ops, &part.series), "{job:?}");
        let same = all.answered_seconds.zip(part.answered_seconds);
        assert!(same.is_some_and(|(all, own)| (all - own).abs() < 1e-9), "{job:?}: {same:?}");
        known.extend(part.quantities.keys().map(|metric| metric.measure));
    }
    // Without these the comparison would say little.
    for measure in [Measure::BURST_THROUGHPUT, Measure::FLUSH_TIME, LogJob::COMMITS] {
        assert!(known.contains(&measure), "{measure}");
    }
}

#[test]
fn two_equal_clients_have_twice_the_rate_and_the_same_latencies() {
    for (spec, part) in points() {
        let two = PointSpec { window_seconds: 0.01, ..spec };
        let all = together(&two, &[part.clone(), part.clone()]);
        for (metric, own) in &part.quantities {
            let value = all.quantities[metric];
            match metric.measure {
                Measure::IOPS | Measure::THROUGHPUT => assert_eq!(value, 2.0 * own, "{metric}"),
                Measure::LATENCY_MEAN
                | Measure::LATENCY_P50
                | Measure::LATENCY_P99
                | Measure::LATENCY_MAX => {
                    assert!((value / own - 1.0).abs() < 0.01, "{metric}: {value}, not {own}");
                }
                Measure::CLIENT_CPU_PER_OP | Measure::CLIENT_CPU_PER_BYTE | Measure::ELAPSED => {
                    assert!((value / own - 1.0).abs() < 1e-9, "{metric}: {value}, not {own}");
                }
                _ => {}
            }
        }
    }
}

/// `count` operations of `bytes` in each of the windows, which took so long each; all of them are measured.
fn part(kind: OpKind, counts: &[u64], bytes: u64, ns: u64, more: &[(Measure, f64)]) -> PartResult {
    let windows: Vec<Window> = counts.iter().map(|n| Window::only(kind, *n, n * bytes)).collect();
    let count = counts.iter().sum();
    let seconds = ns as f64 / 1e9;
    let client_latency = LatencySummary {
        mean_seconds: seconds,
        min_seconds: seconds,
        max_seconds: seconds,
        histogram: Some(Histogram { buckets_ns: vec![(ns, count)] }),
        ..LatencySummary::default()
    };
    let stats = OpStats { count, bytes: count * bytes, client_latency, ..OpStats::default() };
    let part = PartResult {
        quantities: more.iter().map(|(m, value)| (Metric::all(*m), *value)).collect(),
        ops: BTreeMap::from([(kind, stats)]),
        series: Series::new(0.5, &windows),
        ..PartResult::default()
    };
    measured_from(0, 0.0, part)
}

/// The same after a warm-up of so many windows, with so many seconds of the flush.
fn measured_from(first: usize, flush_seconds: f64, part: PartResult) -> PartResult {
    let mut done: BTreeMap<OpKind, PartialCount> = BTreeMap::new();
    for window in part.series.windows().skip(first) {
        for (kind, count) in window.kinds {
            let (operations, bytes) = (count.operations as f64, count.bytes as f64);
            done.entry(kind).or_default().add(PartialCount { operations, bytes }, 1.0);
        }
    }
    let length_seconds = (part.series.len() - first) as f64 * 0.5;
    let basis = RateBasis {
        from_seconds: first as f64 * 0.5,
        length_seconds,
        answered_seconds: length_seconds,
        flush_seconds,
        done,
    };
    PartResult { rate_basis: Some(basis), ..part }
}

#[track_caller]
fn assert_near(part: &PartResult, measure: Measure, expected: f64) {
    let value = part.quantities.get(&Metric::all(measure)).copied();
    let near = value.is_some_and(|value| (value - expected).abs() < 1e-9 * expected.max(1.0));
    assert!(near, "{measure}: {value:?}, not {expected}");
}

#[test]
fn what_two_wrote_adds_up_and_the_slower_flush_counts() {
    let job = PatternJob::named("random-write", Bytes(1 << 20)).unwrap();
    let spec = spec(job.into(), Length::For { seconds: 2.0, warm_up_seconds: 0.5 });
    let figures = |flush, in_flight, cpu: f64| {
        [
            (Measure::FLUSH_TIME, flush),
            (Measure::IN_FLIGHT, in_flight),
            (Measure::CLIENT_CPU_PER_OP, cpu),
            (Measure::CLIENT_CPU_PER_BYTE, cpu / 4096.0),
        ]
    };
    let one = part(OpKind::WRITE, &[10, 20, 20, 20], 4096, 1000, &figures(0.4, 1.5, 1e-3));
    let two = part(OpKind::WRITE, &[0, 10, 10, 10], 4096, 4000, &figures(0.8, 2.0, 4e-3));
    let all = together(&spec, &[measured_from(1, 0.3, one), measured_from(2, 0.6, two)]);
    let ops = &all.ops[&OpKind::WRITE];
    assert_eq!((ops.count, ops.bytes), (100, 100 * 4096));
    let columns: Vec<u64> = all.series.windows().map(|window| window.operations()).collect();
    assert_eq!(columns, [10, 30, 30, 30]);
    // 40 a second and 20 a second, in the second that both have in common, and the slower flush.
    assert_near(&all, Measure::IOPS, 60.0 / 1.6);
    assert_near(&all, Measure::THROUGHPUT, 60.0 * 4096.0 / 1.6);
    assert_near(&all, Measure::LATENCY_MEAN, (70.0 * 1e-6 + 30.0 * 4e-6) / 100.0);
    assert_near(&all, Measure::LATENCY_MAX, 4e-6);
    assert_near(&all, Measure::IN_FLIGHT, 3.5);
    assert_near(&all, Measure::FLUSH_TIME, 0.8);
    let spent = 70.0 * 1e-3 + 30.0 * 4e-3;
    assert_near(&all, Measure::CLIENT_CPU_PER_OP, spent / 100.0);
    assert_near(&all, Measure::CLIENT_CPU_PER_BYTE, spent / 409_600.0);
}

#[test]
fn work_that_ends_by_itself_took_as_long_as_the_slowest() {
    let job = Job::Scan(ScanJob::default());
    let spec = spec(job, Length::UntilDone { at_most_seconds: 60.0 });
    let parts = [
        part(OpKind::LOOKUP, &[100], 0, 1000, &[(Measure::ENTRIES, 200.0)]),
        part(OpKind::LOOKUP, &[25, 25, 25, 25], 0, 1000, &[(Measure::ENTRIES, 50.0)]),
    ];
    let all = together(&spec, &parts);
    assert_near(&all, Measure::ELAPSED, 2.0);
    assert_near(&all, Measure::ENTRIES, 100.0);
    assert_near(&all, Measure::IOPS, 100.0);
}

#[test]
fn the_clients_stalls_are_stalls_of_all_while_none_of_them_goes_on() {
    let job = PatternJob::named("random-read", Bytes(1 << 20)).unwrap();
    let spec = spec(job.into(), Length::For { seconds: 4.0, warm_up_seconds: 0.5 });
    let stall = |phase, start_seconds, seconds| Stall { phase, start_seconds, seconds };
    let with = |counts: &[u64], answered, stalls: &[Stall]| PartResult {
        answered_seconds: Some(answered),
        stalls: stalls.to_vec(),
        ..measured_from(1, 0.0, part(OpKind::READ, counts, 4096, 1000, &[]))
    };
    use StallPhase::{Drain, Measured, SetUp};
    // The second goes on for half a second longer, and stalls alone later on; both wait at the end.
    let one = [stall(SetUp, -2.0, 1.5), stall(Measured, 1.0, 1.5), stall(Measured, 3.9, 2.0)];
    let two = [stall(Measured, 1.5, 1.0), stall(Drain, 4.0, 1.7)];
    let parts = [
        with(&[10, 10, 0, 0, 0, 10, 10, 10], 2.4, &one),
        with(&[10, 10, 10, 0, 0, 10, 10, 10], 3.0, &two),
    ];
    let all = together(&spec, &parts);
    let near = |a: f64, b: f64| (a - b).abs() < 1e-6;
    let found = all.stalls.iter().map(|s| (s.phase, s.start_seconds, s.seconds));
    let found: Vec<_> = found.collect();
    let expected = [(SetUp, -2.0, 1.5), (Measured, 1.5, 1.0), (Drain, 4.0, 1.7)];
    let same =
        found.iter().zip(&expected).all(|(a, b)| a.0 == b.0 && near(a.1, b.1) && near(a.2, b.2));
    assert!(found.len() == expected.len() && same, "{found:?}");
    // 90 operations without the first window, in 3.5 s of which the server did not answer for one.
    assert_near(&all, Measure::IOPS, 90.0 / 2.5);
    assert!(all.answered_seconds.is_some_and(|answered| near(answered, 3.0)), "{all:?}");
}

#[test]
fn the_rule_of_a_measure_says_how_clients_are_put_together() {
    let spec = spec(Job::Scan(ScanJob::default()), Length::UntilDone { at_most_seconds: 60.0 });
    let with = |counts: &[u64], ceiling, commits| {
        let figures = [
            (CopyJob::CLIENT_CEILING, ceiling),
            (LogJob::COMMITS, commits),
            (Measure::LATENCY_P50, 0.25),
        ];
        part(OpKind::LOOKUP, counts, 0, 1000, &figures)
    };
    let all = together(&spec, &[with(&[5, 5], 1e6, 300.0), with(&[2, 2, 2, 2, 1, 1], 2e6, 100.0)]);
    assert_near(&all, CopyJob::CLIENT_CEILING, 3e6);
    // The first one was done after a third of the time.
    assert_near(&all, LogJob::COMMITS, 200.0);
    // Without a rule nothing follows from the figures: quantiles come from the histograms.
    assert_eq!(all.quantities.get(&Metric::all(Measure::LATENCY_P50)), None);
}

#[test]
fn there_is_no_sum_of_what_is_not_complete() {
    let job = PatternJob::named("random-read", Bytes(1 << 20)).unwrap();
    let spec = spec(job.into(), Length::For { seconds: 2.0, warm_up_seconds: 0.5 });
    let complete = part(OpKind::READ, &[1, 2, 2, 2], 4096, 1000, &[(Measure::IN_FLIGHT, 1.0)]);
    let failed = PartResult { rate_basis: None, ..part(OpKind::READ, &[1, 1], 4096, 1000, &[]) };
    let all = together(&spec, &[complete, failed]);
    assert!(all.quantities.is_empty() && all.rate_basis.is_none());
    assert_eq!(all.series.total(), Count { operations: 9, bytes: 9 * 4096 });
    assert!(together(&spec, &[PartResult::default(), PartResult::default()]).ops.is_empty());
}
