//! Servers that stand still at known times: what whole studies say of them, on scripted shares and a scripted
//! clock. The truth is what the server would have done without end.

mod support;

use plimsoll_explain::{findings, stalls};
use plimsoll_load::{MockShare, Pauses, Reply};
use plimsoll_model::units::{Bytes, KIB, MIB};
use plimsoll_model::{
    Arrival, CopyJob, DataClass, Design, GeneratedData, Job, LatencySummary, Length, Measure,
    Method, Metric, Nanos, OpKind, OperationsJob, Outcome, Part, Pattern, PatternJob, Plan, Rule,
    ScanJob, Stall, StallPhase, Study, Transfer, Workload,
};
use std::num::{NonZeroU16, NonZeroU32};
use std::time::Duration;
use support::{conducted, design, plan_of};

/// Time of each operation while the server does not stand still.
const SERVICE: Duration = Duration::from_millis(5);

/// Pauses that begin anywhere in a trial: at even intervals they would all meet the same part of one.
const fn pauses(first: u64, every: u64, length: u64) -> Pauses {
    let ms = Duration::from_millis;
    Pauses {
        first: Nanos(first * 1_000_000),
        every: ms(every),
        jitter: ms(900),
        length: ms(length),
    }
}

const FIVE_IN_TWENTY: Pauses = pauses(7_000, 20_000, 5_000);
const ONE_IN_THREE_AND_A_HALF: Pauses = pauses(1_300, 3_500, 1_000);
const FIFTH_IN_FIVE: Pauses = pauses(2_100, 5_000, 200);
const FREEZE: Pauses = pauses(30_250, 1_000_000_000, 60_000);

/// Share of the time that the server stands still, in a study in which it works for so many seconds.
fn share_of_time(pauses: Pauses, working_seconds: f64) -> f64 {
    let pause = pauses.length.as_secs_f64();
    match pauses == FREEZE {
        true => pause / (working_seconds + pause),
        false => pause / pauses.every.as_secs_f64(),
    }
}

/// A study of one job in trials of this length, on a server with these pauses.
fn study(job: Job, arrival: Arrival, length: Length, blocks: u32, pauses: Pauses) -> Study {
    served(SERVICE, job, arrival, length, blocks, pauses)
}

/// The same on a server that takes so long for an operation.
fn served(
    service: Duration,
    job: Job,
    arrival: Arrival,
    length: Length,
    blocks: u32,
    pauses: Pauses,
) -> Study {
    let rule = Rule::Fixed { blocks };
    let more = Design { rule, cap_seconds: 1e6, ..design() };
    let any = PatternJob::new(Pattern::RandomRead, Bytes(4 * KIB), Bytes(MIB));
    let mut plan: Plan = plan_of(1, vec![any], length, more);
    let part = Part { arrival, ..Part::closed(job, NonZeroU16::MIN, NonZeroU16::MIN) };
    plan.workloads = vec![Workload::new(part, length)];
    plan.contrasts = Vec::new();
    plan.storage.operation_timeout_seconds = 300.0;
    let share = move |clock: &_, _| {
        MockShare::new(std::sync::Arc::clone(clock), NonZeroU16::MIN, move |_, _| {
            Reply::After(service)
        })
        .with_pauses(pauses)
    };
    let study = conducted(plan, share, &mut |_, _| {}).unwrap();
    for trial in &study.trials {
        assert_eq!(trial.result.outcome, Outcome::Complete, "trial {}", trial.number);
    }
    study
}

fn reads() -> Job {
    PatternJob::new(Pattern::RandomRead, Bytes(4 * KIB), Bytes(MIB)).into()
}

fn closed(depth: u16) -> Arrival {
    Arrival::Closed { depth: NonZeroU16::new(depth).unwrap() }
}

fn for_time(seconds: f64) -> Length {
    Length::For { seconds, warm_up_seconds: 0.1 * seconds }
}

/// The level between stalls, and the rate over all time, which is the same where nothing stalled.
fn rates(study: &Study, metric: Metric) -> (f64, f64) {
    let findings = findings(study);
    let cell = &findings.workloads[0].cells[0];
    let level = cell.levels[&metric].estimate;
    (level, cell.over_all_time.get(&metric).copied().unwrap_or(level))
}

#[track_caller]
fn assert_within(share: f64, what: &str, value: f64, truth: f64) {
    assert!((value / truth - 1.0).abs() <= share, "{what}: {value}, not {truth}");
}

/// Operations a second of a server that does not stand still.
fn full() -> f64 {
    1.0 / SERVICE.as_secs_f64()
}

#[test]
fn the_rate_over_all_time_is_that_of_the_long_run_however_short_the_trials() {
    for (seconds, depth, trials) in [(0.5, 1, 320), (0.5, 4, 320), (2.0, 4, 80), (10.0, 4, 16)] {
        for (pauses, share) in [(FIVE_IN_TWENTY, 0.25), (ONE_IN_THREE_AND_A_HALF, 1.0 / 3.5)] {
            let length = for_time(seconds);
            let study = study(reads(), closed(depth), length, trials, pauses);
            let what = format!("{pauses:?}, trials of {seconds} s, {depth} in flight");
            let (between, over_all) = rates(&study, Metric::all(Measure::IOPS));
            assert_within(0.05, &what, over_all, (1.0 - share) * full());
            assert_within(0.02, &what, between, full());
            let [stalls] = stalls(&study)[..] else { panic!("{what}: one subject stalled") };
            assert_within(0.1, &what, stalls.share, share);
            assert_within(0.02, &what, stalls.longest_seconds, pauses.length.as_secs_f64());
        }
    }
}

/// They are too short to be named; the rate has their time all the same.
#[test]
fn pauses_below_a_second_are_no_stalls() {
    let study = study(reads(), closed(4), for_time(0.5), 240, FIFTH_IN_FIVE);
    assert_eq!(stalls(&study), []);
    let (between, over_all) = rates(&study, Metric::all(Measure::IOPS));
    assert_eq!(between, over_all);
    assert_within(0.05, "0.2 s in 5 s", over_all, 0.96 * full());
}

#[test]
fn one_freeze_of_a_minute_is_one_stall() {
    let study = study(reads(), closed(4), for_time(0.5), 240, FREEZE);
    let [stalls] = stalls(&study)[..] else { panic!("one subject stalled") };
    assert_eq!(stalls.count, 1);
    assert_within(0.01, "its length", stalls.longest_seconds, 60.0);
    assert_within(0.05, "its share", stalls.share, 60.0 / 180.0);
    let (between, over_all) = rates(&study, Metric::all(Measure::IOPS));
    assert_within(0.01, "between", between, full());
    assert_within(0.05, "over all time", over_all, full() * 120.0 / 180.0);
}

/// The freeze falls into the time in which the files are created: it is in no rate, and in the share of the time.
#[test]
fn a_freeze_while_files_are_created_is_a_stall() {
    let large = PatternJob::new(Pattern::RandomRead, Bytes(4 * KIB), Bytes(64 * MIB));
    let frozen = pauses(150, 1_000_000_000, 60_000);
    let frozen = Pauses { jitter: Duration::ZERO, ..frozen };
    let study = study(large.into(), closed(4), for_time(0.5), 240, frozen);
    let stall = |stall: &Stall| (stall.phase, stall.seconds.round());
    let kept = study.trials.iter().flat_map(|trial| &trial.result.parts[0].stalls).map(stall);
    assert_eq!(kept.collect::<Vec<_>>(), [(StallPhase::SetUp, 60.0)]);
    assert!(study.trials[0].started_seconds > 60.0);
    let [stalls] = stalls(&study)[..] else { panic!("one subject stalled") };
    assert_eq!(stalls.count, 1);
    assert_within(0.05, "its share", stalls.share, 60.0 / 180.0);
    let (between, over_all) = rates(&study, Metric::all(Measure::IOPS));
    assert_eq!(between, over_all);
    assert_within(0.01, "between", between, full());
}

/// Quantiles of all operations of a study.
fn latencies(study: &Study) -> LatencySummary {
    let mut all = LatencySummary::default();
    for trial in &study.trials {
        all.add(&trial.result.parts[0].ops[&OpKind::READ].client_latency);
    }
    all
}

/// 100 operations a second are due, of the 1000 that the server can do: those due in a pause of D seconds, a
/// share p of all, wait evenly from D down to nothing, and hardly longer.
#[test]
fn an_open_loop_waits_as_long_as_in_the_long_run() {
    for (pauses, depth) in [
        (FIVE_IN_TWENTY, 1),
        (FIVE_IN_TWENTY, 16),
        (ONE_IN_THREE_AND_A_HALF, 4),
        (FIFTH_IN_FIVE, 4),
        (FREEZE, 4),
    ] {
        let per_second = NonZeroU32::new(100).unwrap();
        let arrival = Arrival::Paced { depth: NonZeroU16::new(depth).unwrap(), per_second };
        let length = Length::For { seconds: 0.5, warm_up_seconds: 0.0 };
        let service = Duration::from_millis(1);
        let study = served(service, reads(), arrival, length, 400, pauses);
        let what = format!("{pauses:?}, {depth} in flight");
        let all = latencies(&study);
        let pause = pauses.length.as_secs_f64();
        let share = share_of_time(pauses, 400.0 * 0.5);
        for (name, above) in [("0.99", 0.01), ("0.999", 0.001)] {
            let truth = pause * (1.0 - above / share);
            assert_within(0.1, &format!("{what}: {name}"), all.quantile(name).unwrap(), truth);
        }
        let (rate, over_all) = rates(&study, Metric::all(Measure::IOPS));
        assert_eq!(rate, over_all, "what is due in a stall is done after it");
        assert_within(0.05, &what, rate, 100.0);
        // One that is shorter than a second has no name.
        assert_eq!(stalls(&study).is_empty(), pauses == FIFTH_IN_FIVE, "{what}");
    }
}

#[test]
fn work_that_ends_when_it_is_done_has_the_rate_of_the_long_run() {
    let once = Length::UntilDone { at_most_seconds: 1000.0 };
    let scan = Job::Scan(ScanJob { directories: 5, files: 20, ..ScanJob::default() });
    let (count, mean_bytes, class) = (10, 100_000.0, DataClass::Pictures);
    let dataset = GeneratedData { class, count, mean_bytes, scale: 1.0, seed: 1 }.dataset();
    let bytes = dataset.bytes.0 as f64;
    let copy = Job::Copy(CopyJob {
        dataset,
        transfer: Transfer::Up,
        method: Method::default(),
        block: Bytes(16 * KIB),
        verify: false,
    });
    // Names of the directories and of the files in them.
    let names = f64::from(5 + 5 * 20);
    for (job, measure, amount) in
        [(scan, Measure::ENTRIES, names), (copy, Measure::THROUGHPUT, bytes)]
    {
        let (metric, blocks) = (Metric::all(measure), 300);
        let measured_rates =
            |pauses, blocks| rates(&study(job.clone(), closed(1), once, blocks, pauses), metric);
        let (undisturbed, _) = measured_rates(pauses(u64::MAX / 2_000_000, 1_000, 1), 2);
        let working = f64::from(blocks) * amount / undisturbed;
        for pauses in [FIVE_IN_TWENTY, ONE_IN_THREE_AND_A_HALF, FIFTH_IN_FIVE, FREEZE] {
            let (between, over_all) = measured_rates(pauses, blocks);
            let what = format!("{measure:?}, {pauses:?}");
            let truth = (1.0 - share_of_time(pauses, working)) * undisturbed;
            assert_within(0.05, &format!("{what}, over all time"), over_all, truth);
            // What is too short for a stall slows the trial that has it.
            match pauses == FIFTH_IN_FIVE {
                true => assert_eq!(between, over_all, "{what}"),
                false => assert_within(0.02, &format!("{what}, between"), between, undisturbed),
            }
        }
    }
}

/// Each kind of operation, one after the other.
#[test]
fn single_operations_have_their_rates_over_all_time() {
    let ops = Job::Operations(OperationsJob { entries: 10, block: Bytes(4 * KIB) });
    for (pauses, trials) in [(ONE_IN_THREE_AND_A_HALF, 100), (FIFTH_IN_FIVE, 50), (FREEZE, 100)] {
        let study = study(ops.clone(), closed(1), for_time(2.0), trials, pauses);
        let (between, over_all) = rates(&study, Metric::all(Measure::IOPS));
        let truth = (1.0 - share_of_time(pauses, f64::from(trials) * 2.0)) * full();
        assert_within(0.05, &format!("{pauses:?}, between stalls"), between, full());
        assert_within(0.05, &format!("{pauses:?}, over all time"), over_all, truth);
    }
}
