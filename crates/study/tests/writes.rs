//! Whether writes are sustained or a burst's: conditioning, exactly, on scripted shares.

mod support;

use plimsoll_explain::writes;
use plimsoll_load::{Op, Reply};
use plimsoll_model::units::{Bytes, GIB, KIB, MIB};
use plimsoll_model::{
    Burst, Design, Length, Measure, Metric, Nanos, OpKind, Pattern, PatternJob, Plan, Rule, Study,
    WriteState,
};
use plimsoll_stats::verdict::Verdict;
use std::sync::{Arc, Mutex};
use support::{MS, plan_of, run, run_at};

const BLOCK: u64 = 64 * KIB;

/// Six blocks and more, in as long as a cap of ten minutes allows.
fn plan(targets: usize, patterns: &[Pattern], cap_seconds: f64) -> Plan {
    let job = |pattern: &Pattern| PatternJob::new(*pattern, Bytes(BLOCK), Bytes(4 * GIB));
    let length = Length::For { seconds: 0.5, warm_up_seconds: 0.05 };
    let rule = Rule::Sequential { first: 6, half_width: 0.02, at_least_seconds: 0.0 };
    let design = Design { rule, calibrate: true, cap_seconds, ..support::design() };
    plan_of(targets, patterns.iter().map(job).collect(), length, design)
}

const WRITE: [Pattern; 1] = [Pattern::SequentialWrite];

/// What is known of the writes of a subject.
fn state(study: &Study, subject: usize) -> &WriteState {
    &study.subjects[subject].storage().unwrap().writes[0]
}

fn verdicts(study: &Study) -> Vec<Result<(), Burst>> {
    writes(study).into_iter().map(|of| of.sustained).collect()
}

/// Blocks per second that a subject's trials came to.
fn rate(study: &Study, subject: u16) -> f64 {
    let trials = study.trials.iter().filter(|trial| trial.cell.subject == subject);
    let values: Vec<f64> = trials
        .map(|trial| trial.result.value(0, Metric::all(Measure::THROUGHPUT)).unwrap())
        .collect();
    values.iter().sum::<f64>() / values.len() as f64 / BLOCK as f64
}

/// Writes of a millisecond each until so many were taken in, then of four.
fn cache(blocks: u64) -> impl Fn(usize, &Op) -> Reply + Clone + Send + Sync + 'static {
    let written = Arc::new(Mutex::new([0; 2]));
    move |target, op| match op {
        // What is laid out comes in larger pieces, and is not counted.
        Op::Write(span, _) if u64::from(span.length) == BLOCK => {
            let mut written = written.lock().unwrap();
            written[target] += 1;
            Reply::After(if target == 0 || written[target] > blocks { 4 * MS } else { MS })
        }
        _ => Reply::After(MS),
    }
}

#[test]
fn a_plain_disk_is_sustained_after_a_minute() {
    let study = run(plan(2, &WRITE, 600.0), |_, _| Reply::After(MS)).unwrap();
    assert_eq!(verdicts(&study), [Ok(()), Ok(())]);
    for subject in [0, 1] {
        let WriteState { seconds, bytes, steady_bytes_per_second, .. } = *state(&study, subject);
        assert!((60.0..65.0).contains(&seconds), "{seconds}");
        assert!(bytes.0 > 59_000 * BLOCK, "{bytes}");
        assert!((steady_bytes_per_second.unwrap() / BLOCK as f64 / 1000.0 - 1.0).abs() < 0.01);
    }
    let Length::For { seconds, .. } = study.plan.workloads[0].length else { panic!("for a time") };
    assert_eq!(seconds, 0.5, "short trials agree");
}

/// One that is fast for its first 20 s is as fast as the disk behind the cache, and is not called faster
/// than one without a cache.
#[test]
fn a_full_cache_leaves_the_rate_of_the_disk() {
    let study = run(plan(2, &WRITE, 600.0), cache(20_000)).unwrap();
    assert_eq!(verdicts(&study), [Ok(()), Ok(())]);
    assert!((rate(&study, 1) / 250.0 - 1.0).abs() < 0.01, "{}", rate(&study, 1));
    let findings = plimsoll_explain::findings(&study);
    let verdict = findings.workloads[0].pairs[0].claim.unwrap().verdict.unwrap();
    assert!(matches!(verdict, Verdict::NoPracticalDifference(_)), "{verdict:?}");
}

#[test]
fn a_memory_that_is_known_is_written_twice() {
    let measured = |memory: u64| {
        let mut plan = plan(1, &WRITE, 600.0);
        plan.storage.server_memory = Some(Bytes(memory));
        let study = run(plan, |_, _| Reply::After(MS)).unwrap();
        (state(&study, 0).clone(), verdicts(&study))
    };
    let (small, sustained) = measured(64 * MIB);
    assert_eq!((small.bytes.0 >= 128 * MIB, sustained), (true, vec![Ok(())]));
    assert!(small.seconds < 30.0, "ten steady seconds are enough: {small:?}");
    let (large, sustained) = measured(2 * GIB);
    assert_eq!((large.bytes.0 >= 4 * GIB, sustained), (true, vec![Ok(())]));
    // 62.5 MiB a second would take more than a quarter of the cap.
    let (too_large, burst) = measured(6 * GIB);
    assert_eq!((too_large.seconds, burst), (0.0, vec![Err(Burst::NotConditioned)]));
}

#[test]
fn a_rate_that_goes_on_changing_is_a_burst() {
    let slower = |_: usize, op: &Op, at: Nanos| match op.kind() {
        OpKind::WRITE => Reply::After(MS.mul_f64(1.5_f64.powi((at.0 / 6_000_000_000) as i32 % 10))),
        _ => Reply::After(MS),
    };
    let study = run_at(plan(1, &WRITE, 300.0), slower).unwrap();
    assert_eq!(verdicts(&study), [Err(Burst::NotSteady)]);
    let seconds = state(&study, 0).seconds;
    assert!((60.0..=75.0).contains(&seconds), "all of its share of the cap: {seconds}");
}

/// Where a cache gets free while others are measured, trials are faster than what is sustained.
#[test]
fn a_cache_that_recovers_between_trials_is_a_burst() {
    let full = Arc::new(Mutex::new(0_i64));
    let script = move |_: usize, op: &Op| {
        let mut full = full.lock().unwrap();
        match op.kind() {
            OpKind::READ => *full = (*full - 2).max(0),
            OpKind::WRITE => *full = (*full + 1).min(20_000),
            _ => {}
        }
        let slow = op.kind() == OpKind::WRITE && *full >= 20_000;
        Reply::After(if slow { 4 * MS } else { MS })
    };
    let patterns = [Pattern::SequentialRead, Pattern::SequentialWrite];
    let mut plan = plan(1, &patterns, 600.0);
    // Reads take part in every block, though they are soon decided.
    plan.design.rule = Rule::Fixed { blocks: 8 };
    let study = run(plan, script).unwrap();
    assert_eq!(verdicts(&study), [Err(Burst::NotAgreed)]);
    assert!(state(&study, 0).steady_bytes_per_second.unwrap() < 300.0 * BLOCK as f64);
}

/// What is written fast after a rest raises short loads as it does short trials, and both would agree.
#[test]
fn what_a_rest_gives_back_is_not_sustained() {
    let back = Arc::new(Mutex::new(0_u64));
    let script = move |_: usize, op: &Op| {
        let mut back = back.lock().unwrap();
        let slow = op.kind() == OpKind::WRITE && *back == 0;
        match op.kind() {
            // Somebody else's turn: a third of a second's worth is free again.
            OpKind::FLUSH => *back = 113,
            OpKind::WRITE => *back = back.saturating_sub(1),
            _ => {}
        }
        Reply::After(if slow { 4 * MS } else { MS })
    };
    let study = run(plan(1, &WRITE, 600.0), script).unwrap();
    assert_eq!(verdicts(&study), [Ok(())]);
    let steady = state(&study, 0).steady_bytes_per_second.unwrap() / BLOCK as f64;
    assert!((steady / 250.0 - 1.0).abs() < 0.01, "{steady}");
    assert!((rate(&study, 0) / 250.0 - 1.0).abs() < 0.05, "{}", rate(&study, 0));
}

/// A flush of 0.2 s is 4% of a load of 5 s, and 29% of a trial of half a second.
#[test]
fn trials_get_longer_until_they_agree() {
    let flush =
        |_: usize, op: &Op| Reply::After(if op.kind() == OpKind::FLUSH { 200 * MS } else { MS });
    let study = run(plan(1, &WRITE, 600.0), flush).unwrap();
    let Length::For { seconds, .. } = study.plan.workloads[0].length else { panic!("for a time") };
    assert_eq!((seconds, verdicts(&study)), (4.0, vec![Ok(())]));
}

#[test]
fn nothing_is_conditioned_without_time_and_where_lengths_are_the_users() {
    let plain = |_: usize, _: &Op| Reply::After(MS);
    let mut named = plan(1, &WRITE, 600.0);
    named.design.calibrate = false;
    let mut quick = plan(1, &WRITE, 600.0);
    quick.design.quick = true;
    for plan in [plan(1, &WRITE, 200.0), named, quick] {
        let study = run(plan, plain).unwrap();
        assert_eq!(verdicts(&study), [Err(Burst::NotConditioned)]);
        assert_eq!((state(&study, 0).seconds, state(&study, 0).bytes), (0.0, Bytes(0)));
        let first = &study.trials[0];
        assert!(first.started_seconds < 10.0, "{}", first.started_seconds);
    }
    let reads = run(plan(1, &[Pattern::RandomRead], 600.0), plain).unwrap();
    assert_eq!(verdicts(&reads), []);
}

/// Where there is time for some, it is for the first of the plan, on all subjects.
#[test]
fn a_workload_is_conditioned_on_all_subjects_or_on_none() {
    let patterns = [Pattern::SequentialWrite, Pattern::RandomWrite, Pattern::RandomMixed];
    let study = run(plan(2, &patterns, 900.0), |_, _| Reply::After(MS)).unwrap();
    let sustained = |workload| {
        let found = writes(&study).into_iter().filter(|w| w.cell.workload == workload);
        found.map(|writes| writes.sustained).collect::<Vec<_>>()
    };
    assert_eq!(sustained(0), [Ok(()), Ok(())]);
    for workload in [1, 2] {
        assert_eq!(sustained(workload), [Err(Burst::NotConditioned); 2]);
    }
    let spent: f64 = (0..2).map(|subject| state(&study, subject).seconds).sum();
    assert!(spent <= 225.0, "a quarter of the cap: {spent}");
}
