//! How long trials last, and what a first look has time for: exactly, on scripted shares.

mod support;

use plimsoll_load::{Op, Reply};
use plimsoll_model::units::{Bytes, KIB, MIB};
use plimsoll_model::{Design, Ended, Flag, Length, OpKind, Pattern, PatternJob, Plan, Rule, Study};
use std::time::Duration;
use support::{MS, plan_of, run};

const RULE: Rule = Rule::Sequential { first: 6, half_width: 0.02, at_least_seconds: 0.0 };

fn plan(targets: usize, patterns: &[Pattern], more: Design) -> Plan {
    let job = |pattern: &Pattern| PatternJob::new(*pattern, Bytes(64 * KIB), Bytes(256 * MIB));
    let length = Length::For { seconds: 0.5, warm_up_seconds: 0.05 };
    plan_of(targets, patterns.iter().map(job).collect(), length, more)
}

fn calibrated(cap_seconds: f64) -> Design {
    Design { rule: RULE, calibrate: true, cap_seconds, ..support::design() }
}

/// The lengths of a study's trials, by its workloads.
fn lengths(study: &Study) -> Vec<f64> {
    let seconds = study.plan.workloads.iter().map(|workload| {
        let Length::For { seconds, warm_up_seconds } = workload.length else {
            panic!("for a time")
        };
        assert!(warm_up_seconds >= 0.1 && warm_up_seconds <= 0.2 * seconds, "{warm_up_seconds}");
        seconds
    });
    seconds.collect()
}

/// Reads that take so long on each of the targets; flushes that take so long.
fn replies<const N: usize>(
    reads: [Duration; N],
    flush: Duration,
) -> impl Fn(usize, &Op) -> Reply + Clone + Send + Sync + 'static {
    move |target, op| match op.kind() {
        OpKind::READ => Reply::After(reads[target]),
        OpKind::FLUSH => Reply::After(flush),
        _ => Reply::After(MS),
    }
}

#[test]
fn the_slowest_has_time_for_a_hundred_operations_or_for_two_seconds() {
    for (slowest, expected) in [(1, 0.5), (4, 0.5), (10, 1.0), (50, 2.0), (900, 2.0)] {
        let reads = [MS, slowest * MS];
        let patterns = [Pattern::RandomRead, Pattern::RandomWrite];
        let study = run(plan(2, &patterns, calibrated(600.0)), replies(reads, MS)).unwrap();
        assert_eq!(lengths(&study), [expected, 0.5], "{slowest} ms");
        assert!(!study.plan.design.calibrate, "what is kept has its lengths");
        // Both subjects' trials were that long.
        for trial in study.trials.iter().filter(|trial| trial.cell.workload == 0) {
            let windows = trial.result.main().unwrap().series.len() as f64;
            assert_eq!(windows / 10.0, expected, "{:?}", trial.cell);
        }
    }
}

#[test]
fn a_trial_is_twice_as_long_as_what_lies_between_two_as_far_as_the_cap_allows() {
    let write = [Pattern::SequentialWrite];
    let of = |flush: u32, cap| {
        let study = run(plan(1, &write, calibrated(cap)), replies([MS], flush * MS)).unwrap();
        lengths(&study)[0]
    };
    assert_eq!(of(100, 600.0), 0.5);
    assert_eq!(of(900, 600.0), 1.8);
    assert_eq!(of(9_000, 600.0), 18.0);
    // Six blocks fit into 65% of the cap: each into 6.5 s, change-over included.
    assert_eq!(of(3_000, 60.0), 3.5);
    assert_eq!(of(6_200, 60.0), 0.5);
}

/// Somebody who names a length means it; and calibrating costs no trial.
#[test]
fn a_length_that_is_given_stays() {
    let named = Design { calibrate: false, ..calibrated(600.0) };
    let study = run(plan(2, &[Pattern::RandomRead], named), replies([MS, 50 * MS], MS)).unwrap();
    let kept = Length::For { seconds: 0.5, warm_up_seconds: 0.05 };
    assert_eq!(study.plan.workloads[0].length, kept);
    assert!(study.trials.iter().all(|trial| trial.block.is_some()));
    assert_eq!(study.trials.len() % 2, 0);
}

fn quick() -> Design {
    Design {
        rule: Rule::Sequential { first: 8, half_width: 0.02, at_least_seconds: 0.0 },
        quick: true,
        ..calibrated(60.0)
    }
}

#[test]
fn a_first_look_has_eight_blocks_of_all_where_there_is_time() {
    let study = run(plan(2, &Pattern::USUAL, quick()), replies([MS, MS], MS)).unwrap();
    assert_eq!((study.plan.workloads.len(), &study.ended), (5, &Ended::Done));
    assert_eq!(study.trials.last().unwrap().block, Some(7));
    assert!(!study.flags.iter().any(|flag| matches!(flag, Flag::LeftOut { .. })));
    // A minute, and what was laid out before: 512 operations in each of two targets.
    assert!((60.9..63.0).contains(&study.plan.design.cap_seconds), "{:?}", study.plan.design);
}

#[test]
fn a_first_look_has_shorter_trials_rather_than_fewer_patterns() {
    // 100 of its reads take 2 s, which a minute has no time for eight times.
    let study = run(plan(2, &Pattern::USUAL, quick()), replies([MS, 50 * MS], MS)).unwrap();
    let lengths = lengths(&study);
    assert_eq!(lengths.len(), 5);
    let [sequential, write, random, _, mixed] = lengths[..] else { panic!("{lengths:?}") };
    assert_eq!((write, sequential), (0.5, random), "what is short stays so");
    assert!((0.6..1.5).contains(&random) && mixed >= 0.5, "{lengths:?}");
    assert_eq!(study.trials.last().unwrap().block, Some(7), "eight blocks of all");
    assert!(!study.flags.iter().any(|flag| matches!(flag, Flag::LeftOut { .. })));
}

#[test]
fn a_first_look_leaves_lengths_that_the_user_gave() {
    let mut plan = plan(2, &Pattern::USUAL, quick());
    plan.design.calibrate = false;
    for workload in &mut plan.workloads {
        workload.length = Length::For { seconds: 1.0, warm_up_seconds: 0.2 };
    }
    let study = run(plan, replies([MS, 50 * MS], MS)).unwrap();
    let kept = lengths(&study);
    assert_eq!(kept, [1.0; 3], "fewer patterns instead");
}

#[test]
fn a_first_look_names_what_it_has_no_time_for() {
    // Ten seconds a block with the shortest trials.
    let study = run(plan(4, &Pattern::USUAL, quick()), replies([50 * MS; 4], MS)).unwrap();
    let kept: Vec<&str> = study.plan.workloads.iter().map(|w| w.parts[0].job.kind()).collect();
    assert_eq!(kept, ["sequential-read", "sequential-write", "random-read"]);
    let left_out = |flag: &Flag| match flag {
        Flag::LeftOut { workloads } => Some(workloads.clone()),
        _ => None,
    };
    let left_out: Vec<String> = study.flags.iter().find_map(left_out).expect("it says so");
    assert_eq!(left_out, ["random write", "random mixed"]);
    assert!(study.plan.contrasts.iter().all(|contrast| contrast.of.cell.workload < 3));
    assert_eq!(study.trials.last().unwrap().block, Some(7), "eight blocks of the others");
    let findings = plimsoll_explain::findings(&study);
    assert!(findings.workloads.iter().all(|workload| workload.pairs[0].claim.is_some()));
}

/// Where even one takes longer than a minute, the first look is a shorter one.
#[test]
fn a_first_look_at_what_is_slow_has_fewer_blocks() {
    let reads = [Pattern::SequentialRead, Pattern::RandomRead];
    let study = run(plan(16, &reads, quick()), replies([50 * MS; 16], MS)).unwrap();
    assert_eq!(study.plan.workloads.len(), 1);
    assert_eq!(study.plan.first_blocks(), 6);
    assert!(study.trials.last().unwrap().block >= Some(5));
}
