//! How long trials last, and what a first look has time for: exactly, on scripted shares.

mod support;

use plimsoll_load::{MockShare, Op, Reply};
use plimsoll_model::units::{Bytes, KIB, MIB};
use plimsoll_model::{
    CopyJob, DataClass, Design, Ended, Flag, GeneratedData, Length, Method, Nanos, OpKind, Outcome,
    Parameter, Part, Pattern, PatternJob, Plan, Rule, ScanJob, Steps, Study, Transfer, Workload,
};
use plimsoll_study::Progress;
use std::num::NonZeroU16;
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
fn the_slowest_has_time_for_a_hundred_operations_or_for_two_seconds_or_for_some_rounds() {
    for (slowest, expected) in [(1, 0.5), (4, 0.5), (10, 1.0), (50, 2.0), (960, 2.4)] {
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
    let length = |flush: u32, cap| {
        let study = run(plan(1, &write, calibrated(cap)), replies([MS], flush * MS)).unwrap();
        lengths(&study)[0]
    };
    assert_eq!(length(100, 600.0), 0.5);
    assert_eq!(length(900, 600.0), 1.8);
    assert_eq!(length(9_000, 600.0), 18.0);
    // Six blocks fit into 65% of the cap: each into 6.5 s, change-over included.
    assert_eq!(length(3_000, 60.0), 3.5);
    assert_eq!(length(6_200, 60.0), 0.5);
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

/// A quick scan took 121 s: creating its tree was a minute of them.
#[test]
fn a_first_look_at_a_scan_ends_with_its_minute() {
    let mut plan = plan(1, &[Pattern::RandomRead], quick());
    let scan = ScanJob { directories: 10, files: 20, ..ScanJob::default() };
    plan.workloads[0].parts[0].job = scan.into();
    let mut end = 0.0;
    // 211 names of the tree take 6.3 s, and so does a walk over them.
    let script = |_: usize, _: &Op, _: Nanos| Reply::After(30 * MS);
    let study = support::watched(plan, script, &mut |now, progress| {
        if let Progress::Ended(_) = progress {
            end = now.since(Nanos(0)).as_secs_f64();
        }
    });
    let study = study.unwrap();
    assert!(study.trials.len() >= 8, "{} trials", study.trials.len());
    assert!(end <= 60.0 + 6.5, "{end} s");
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

/// A ladder of 1 MiB reads on a link of 12 MB/s: 16 of them end after 1.4 s, and trials of 0.5 s had no operation.
#[test]
fn a_ladder_on_a_slow_link_lasts_as_long_as_its_slowest_step_needs() {
    for (design, own_length) in
        [(quick(), None), (calibrated(600.0), None), (fixed(2, 600.0), Some(5.0))]
    {
        let mut plan = plan(1, &[Pattern::SequentialRead], design);
        let own = plan.workloads[0].clone();
        let steps = Steps::Sweep { over: Parameter::Workers, values: vec![1.0, 4.0, 16.0] };
        plan.workloads.push(Workload { steps: Some(steps), ..own });
        if let Some(seconds) = own_length {
            plan.workloads[0].length = Length::For { seconds, warm_up_seconds: 0.5 };
        }
        let share = |clock: &_, _| {
            let sixteen = NonZeroU16::new(16).unwrap();
            let replies = replies([1400 * MS], MS);
            MockShare::new(std::sync::Arc::clone(clock), sixteen, move |op, _| replies(0, op))
        };
        let study = support::conducted(plan, share, &mut |_, _| {}).unwrap();
        assert_eq!(lengths(&study), [own_length.unwrap_or(3.5), 3.5], "{:?}", study.plan.design);
        assert!(study.trials.iter().any(|trial| trial.points.len() == 3), "it is not left out");
        for trial in &study.trials {
            assert_eq!(trial.result.outcome, Outcome::Complete, "{:?}", trial.cell);
        }
    }
}

#[test]
fn a_first_look_leaves_out_a_pattern_with_its_ladder() {
    let mut plan = plan(1, &Pattern::ALL, quick());
    let steps = Steps::Sweep { over: Parameter::Workers, values: vec![1.0, 4.0, 16.0] };
    let ladder = |own: &Workload| Workload { steps: Some(steps.clone()), ..own.clone() };
    let ladders: Vec<Workload> = plan.workloads.iter().map(ladder).collect();
    let all = ladders.len();
    plan.workloads.extend(ladders);
    let study = run(plan, replies([MS], MS)).unwrap();
    let workloads = &study.plan.workloads;
    let (own, ladders) = workloads.split_at(workloads.len() / 2);
    assert!((1..all).contains(&own.len()), "a minute has no time for all: {}", own.len());
    for (own, ladder) in own.iter().zip(ladders) {
        assert!(own.steps.is_none() && ladder.steps.is_some());
        assert_eq!(own.parts[0].job, ladder.parts[0].job);
    }
    let left_out = |flag: &Flag| match flag {
        Flag::LeftOut { workloads } => Some(workloads.len()),
        _ => None,
    };
    let left_out = study.flags.iter().find_map(left_out);
    assert_eq!(left_out, Some(all - own.len()), "each pattern is named once");
}

fn fixed(blocks: u32, cap_seconds: f64) -> Design {
    let rule = Rule::Fixed { blocks };
    Design { calibrate: false, rule, ..calibrated(cap_seconds) }
}

/// From the second block on the time left is right within a quarter: where blocks are fixed, where the cap ends the
/// study, and where it measures for a least time; with change-overs that are longer than trials.
#[test]
fn the_time_left_is_right_from_the_second_block_on() {
    let at_least = Rule::Sequential { first: 6, half_width: 0.02, at_least_seconds: 120.0 };
    let designs = [
        fixed(8, 3600.0),
        fixed(1000, 60.0),
        Design { rule: at_least, ..calibrated(600.0) },
        Design { baseline_seconds: 5.0, ..fixed(8, 3600.0) },
    ];
    for design in designs {
        let patterns = [Pattern::RandomRead, Pattern::SequentialWrite];
        let plan = plan(2, &patterns, design.clone());
        let script = |target: usize, op: &Op, _| match op.kind() {
            OpKind::READ => Reply::After((3 + 5 * target as u32) * MS),
            OpKind::FLUSH => Reply::After(900 * MS),
            _ => Reply::After(MS),
        };
        let (mut said, mut end) = (Vec::new(), 0.0);
        let study = support::watched(plan, script, &mut |now, progress| {
            end = now.since(Nanos(0)).as_secs_f64();
            if let Progress::Trial { block: 1.., seconds_left, .. } = progress {
                said.push((end, seconds_left));
            }
        });
        study.unwrap();
        assert!(said.len() > 4, "{design:?}");
        for (at, left) in said {
            let truth = end - at;
            assert!(
                (left - truth).abs() <= 0.25 * truth + 0.1,
                "said {left}, took {truth}: {design:?}"
            );
        }
    }
}

/// Copies went on for as long as all of `--max-time`, each.
#[test]
fn copies_end_with_the_time_of_the_study() {
    let (count, mean_bytes, class) = (10, 100_000.0, DataClass::Pictures);
    let copy = CopyJob {
        dataset: GeneratedData { class, count, mean_bytes, scale: 1.0, seed: 1 }.dataset(),
        transfer: Transfer::Up,
        method: Method::default(),
        block: Bytes(16 * KIB),
        verify: false,
    };
    for (service, ended) in [(10, true), (1000, false)] {
        let mut plan = plan(1, &[Pattern::RandomRead], fixed(100, 20.0));
        let length = Length::UntilDone { at_most_seconds: 20.0 };
        let one = NonZeroU16::MIN;
        plan.workloads = vec![Workload::new(Part::closed(copy.clone().into(), one, one), length)];
        let mut end = 0.0;
        let script = move |_: usize, _: &Op, _: Nanos| Reply::After(service * MS);
        let study = support::watched(plan, script, &mut |now, progress| {
            if let Progress::Ended(_) = progress {
                end = now.since(Nanos(0)).as_secs_f64();
            }
        });
        let study = study.unwrap();
        assert_eq!(study.ended, Ended::CapReached);
        assert!(end > 10.0 && end < 1.25 * 20.0 + 2.0, "{service} ms: {end} s");
        for trial in &study.trials {
            match &trial.result.outcome {
                Outcome::Complete => assert!(ended),
                Outcome::Failed { failure, .. } => {
                    assert!(!ended && failure.happened.contains("did not end within"), "{failure}");
                }
                other => panic!("{other:?}"),
            }
        }
    }
}
