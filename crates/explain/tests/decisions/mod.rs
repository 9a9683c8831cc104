//! When a comparison is decided, and how many blocks and seconds that takes.

use super::{LOGS, READ, THROUGHPUT, TWO, WRITE, paired};
use crate::support::{add, add_blocks, add_trial, copies, dataset, empty, fail};
use plimsoll_explain::{Forecast, Scale, blocks_needed, findings, seconds_per_trial, unresolved};
use plimsoll_model::{
    Cell, DataClass, Measure, Metric, OpKind, PartResult, Rule, Series, Study, Window,
};
use plimsoll_stats::sequential::{self, Sequential};
use plimsoll_stats::verdict::Verdict;
use std::collections::BTreeMap;

#[test]
fn a_comparison_is_decided_as_soon_as_its_interval_leaves_the_margin() {
    let rule = |at_least_seconds| Rule::Sequential { first: 6, half_width: 0.02, at_least_seconds };
    let mut study = paired(rule(0.0));
    let decide = Sequential { first: 6, half_width: 0.02, margin: Some(0.05), confidence: 0.975 };
    let claim = |study: &Study| findings(study).workloads[0].pairs[0].claim.unwrap();
    let interval = claim(&study).ratio.interval.unwrap();
    let expected = decide.interval(&LOGS).unwrap().exp().unwrap();
    assert!((interval.low / expected.low - 1.0).abs() < 1e-9, "{interval:?} {expected:?}");
    assert!(matches!(claim(&study).verdict, Some(Verdict::Faster(_))));
    // The other workload has no trials: nobody can tell.
    assert_eq!(blocks_needed(&study), [Some(6), None]);
    // Other metrics by themselves, at the plan's confidence, by the same sequence.
    let latency =
        findings(&study).workloads[0].pairs[0].ratios[&Metric::all(Measure::LATENCY_MEAN)];
    let logs = LOGS.map(|log| -log);
    let by_itself = sequential::interval(&logs, 0.95).unwrap().exp().unwrap();
    assert!((latency.interval.unwrap().low / by_itself.low - 1.0).abs() < 1e-9);

    // Nothing is claimed before the first look.
    let mut early = study.clone();
    early.trials.retain(|trial| trial.block < Some(5));
    assert_eq!((claim(&early).verdict, claim(&early).ratio.interval), (None, None));
    assert_eq!(blocks_needed(&early), [Some(6), None]);

    // Not before its time; trials begin a second apart.
    for (number, trial) in study.trials.iter_mut().enumerate() {
        trial.started_seconds = number as f64;
    }
    study.plan.design.rule = rule(60.0);
    assert_eq!(blocks_needed(&study), [Some(30), None]);

    // With a block far off it is open again, and the forecast is what the report gives.
    study.plan.design.rule = rule(0.0);
    add(&mut study, 6, 0, READ, 1e8);
    add(&mut study, 6, 1, READ, 0.3e8);
    let more = claim(&study).more_blocks.unwrap();
    assert!(matches!(claim(&study).verdict, Some(Verdict::NotResolved(_))) && more > 1);
    assert_eq!(blocks_needed(&study)[0], Some(7 + more));
}

#[test]
fn what_is_not_resolved_says_how_many_blocks_more() {
    let mut study = empty(&TWO, &[READ]);
    add_blocks(&mut study, 6, 0.4, |_, _| 1e8);
    let claim = findings(&study).workloads[0].pairs[0].claim.unwrap();
    assert!(matches!(claim.verdict, Some(Verdict::NotResolved(_))), "{claim:?}");
    assert!(claim.more_blocks.unwrap() > 1);
}

#[test]
fn the_rule_asks_for_the_most_that_any_pair_needs() {
    let targets = ["nfs://nas/a", "nfs://nas/b", "nfs://nas/c"];
    let mut study = empty(&targets, &[READ]);
    let noisy = [1.2, 0.8, 1.2, 0.8, 1.2, 0.8];
    for (block, noise) in (0..).zip(noisy) {
        add(&mut study, block, 0, READ, 1e8);
        add(&mut study, block, 1, READ, 1e8);
        add(&mut study, block, 2, READ, 1e8 * noise);
    }
    study.plan.design.rule = Rule::Sequential { first: 6, half_width: 0.05, at_least_seconds: 0.0 };
    let rule = Sequential { first: 6, half_width: 0.05, margin: Some(0.05), confidence: 0.975 };
    let logs: Vec<f64> = noisy.iter().map(|n| n.ln()).collect();
    let expected = rule.blocks_needed(&logs);
    assert!(expected.unwrap() > 6);
    assert_eq!(blocks_needed(&study)[0], expected);

    // A target that always fails is left out; before a second block nothing is known.
    study.trials.iter_mut().filter(|t| t.cell.subject == 2).for_each(fail);
    assert_eq!(blocks_needed(&study)[0], Some(6));
    study.trials.truncate(3);
    assert_eq!(blocks_needed(&study)[0], None);
    study.plan.design.rule = Rule::Fixed { blocks: 5 };
    assert_eq!(blocks_needed(&study)[0], Some(5));
}

#[test]
fn a_single_target_is_judged_by_its_level() {
    let mut study = empty(&TWO[..1], &[READ, WRITE]);
    for (block, log) in (0..).zip(LOGS) {
        add(&mut study, block, 0, READ, 1e8 * f64::exp(log));
    }
    study.plan.design.rule = Rule::Sequential { first: 6, half_width: 0.05, at_least_seconds: 0.0 };
    let rule = Sequential { first: 6, half_width: 0.05, margin: None, confidence: 0.95 };
    let needed = blocks_needed(&study);
    assert_eq!(needed[0], rule.blocks_needed(&LOGS));
    assert_eq!(needed[1], None);
    let found = findings(&study);
    assert!(found.workloads[0].pairs.is_empty());
    let level = found.workloads[0].cells[0].levels[&THROUGHPUT];
    let expected = rule.interval(&LOGS).unwrap().exp().unwrap();
    assert!((level.interval.unwrap().high / 1e8 - expected.high).abs() < 1e-9);
    assert_eq!(level.scale, Scale::Log);
}

/// The one estimate: what the stop rule asks for, what a claim says it lacks, and what a study that is
/// continued would take, are the same number of blocks.
#[test]
fn every_estimate_is_the_same_number() {
    let rule = |at_least_seconds| Rule::Sequential { first: 6, half_width: 0.02, at_least_seconds };
    let mut study = paired(rule(0.0));
    for (block, log) in (0..).zip(LOGS) {
        add(&mut study, block, 0, WRITE, 1e8);
        add(&mut study, block, 1, WRITE, 1e8 * f64::exp(log - 0.69));
    }
    study.trials.sort_by_key(|trial| trial.block);
    // Reads take a second, writes three.
    let mut at = 0.0;
    for (number, trial) in study.trials.iter_mut().enumerate() {
        (trial.number, trial.started_seconds) = (number as u32, at);
        at += if trial.cell.workload == 0 { 1.0 } else { 3.0 };
    }
    let claim = |study: &Study, workload: usize| {
        findings(study).workloads[workload].pairs[0].claim.unwrap()
    };
    assert!(matches!(claim(&study, 0).verdict, Some(Verdict::Faster(_))));
    assert!(matches!(claim(&study, 1).verdict, Some(Verdict::NotResolved(_))));
    let more = claim(&study, 1).more_blocks.unwrap();
    assert_eq!(blocks_needed(&study), [Some(6), Some(6 + more)]);
    let forecast = Forecast::new(&study);
    assert_eq!(forecast.blocks(), more);
    assert!((forecast.seconds() - more as f64 * 6.0).abs() < 1e-9, "{forecast:?}");
    assert!((forecast.next_block_seconds() - 6.0).abs() < 1e-9, "what is decided takes none");
    assert_eq!(forecast.blocks_within(13.0), 2.min(more));
    assert_eq!(forecast.blocks_within(1e9), more);
    let open = unresolved(&study).unwrap();
    assert_eq!((open.blocks, open.workloads, open.contrasts.len()), (more, vec![1], 1));
    assert_eq!(open.contrasts[0].of.cell.workload, 1);
    assert!((open.seconds.unwrap() - forecast.seconds()).abs() < 1e-9);

    // Where the rule wants more time, all of them say so: 48 s were measured, a block takes eight.
    study.plan.design.rule = rule(48.0 + 8.0 * 500.0);
    assert!((480..530).contains(&claim(&study, 1).more_blocks.unwrap()));
    let needed = blocks_needed(&study);
    assert_eq!(needed[0], needed[1]);
    assert_eq!(claim(&study, 1).more_blocks, Some(needed[1].unwrap() - 6));
    assert_eq!(Forecast::new(&study).blocks(), needed[1].unwrap() - 6);

    // Longer than a day is no time to name.
    study.plan.design.rule = rule(48.0);
    study.trials.iter_mut().for_each(|trial| trial.started_seconds *= 10_000.0);
    assert_eq!(unresolved(&study).map(|open| open.seconds), Some(None));

    // Nothing has been measured: the first look, or the time that it waits for.
    study.trials.clear();
    study.plan.design.rule = rule(0.0);
    assert_eq!(Forecast::new(&study).blocks(), 6);
    study.plan.design.rule = rule(400.0);
    assert_eq!(Forecast::new(&study).blocks(), 20, "four trials of five seconds each");
    assert_eq!(unresolved(&study), None, "there is no claim to resolve");

    // A fixed number of blocks is not gone on with, and neither is what is decided.
    let fixed = paired(Rule::Fixed { blocks: 6 });
    assert_eq!((unresolved(&fixed), Forecast::new(&fixed).blocks()), (None, 0));
    assert_eq!(unresolved(&paired(rule(0.0))), None);
}

/// A row that needs little is not said to take what another one needs, whose difference is known and may be
/// too little to matter.
#[test]
fn what_is_open_takes_its_own_time() {
    let rule = Rule::Sequential { first: 6, half_width: 0.02, at_least_seconds: 0.0 };
    let mut study = paired(rule);
    study.plan.design.margin = 0.05;
    // Writes are 5% apart: whether that matters is not to be had soon. Reads are nearly decided.
    study.trials.clear();
    for block in 0..12 {
        let wobble = [1.0, -1.0][(block % 2) as usize];
        add(&mut study, block, 0, READ, 1e8);
        add(&mut study, block, 1, READ, 1e8 * f64::exp(0.12 * wobble + 0.04));
        add(&mut study, block, 0, WRITE, 1e8);
        add(&mut study, block, 1, WRITE, 1e8 * f64::exp(0.049 + 0.018 * wobble));
    }
    let found = findings(&study);
    let verdict = |workload: usize| found.workloads[workload].pairs[0].claim.unwrap().verdict;
    assert!(matches!(verdict(0), Some(Verdict::NotResolved(_))), "{:?}", verdict(0));
    assert!(matches!(verdict(1), Some(Verdict::PerhapsTooLittle(_))), "{:?}", verdict(1));
    let (open, forecast) = (unresolved(&study).unwrap(), Forecast::new(&study));
    assert_eq!(open.contrasts.len(), 1);
    let (own, other) = (forecast.blocks_of(0), forecast.blocks_of(1));
    let expected = own as f64 * forecast.seconds_per_block(0)
        + own.min(other) as f64 * forecast.seconds_per_block(1);
    assert!((open.seconds.unwrap() - expected).abs() < 1e-6, "{open:?} {own} {other}");
    assert!((open.all_seconds.unwrap() - forecast.seconds()).abs() < 1e-6);
}

/// A copy may last for ten minutes: that is no measure of one that was stopped after seven seconds.
#[test]
fn one_trial_of_work_that_ends_when_it_is_done_takes_what_was_measured() {
    let mut study = empty(&TWO[..1], &[READ]);
    study.plan.workloads.extend(copies(&[dataset(DataClass::Movies, 1.0)]));
    let (read, copy) = (Cell::default(), Cell { workload: 1, ..Cell::default() });
    assert_eq!(seconds_per_trial(&study), 5.0, "no trial: the longest one of a planned length");
    let after = |cell: Cell, part: PartResult| {
        let mut study = study.clone();
        add_trial(&mut study, 0, cell, part);
        seconds_per_trial(&study)
    };
    assert_eq!(after(read, PartResult::default()), 5.0);
    assert_eq!(after(copy, PartResult::default()), 0.0, "nothing of it was measured");
    let series = Series::new(0.5, &vec![Window::only(OpKind::PUT, 1, 1 << 20); 14]);
    let stopped = PartResult { series: series.clone(), ..PartResult::default() };
    assert_eq!(after(copy, stopped), 7.0);
    let quantities = BTreeMap::from([(Metric::all(Measure::ELAPSED), 6.8)]);
    let complete = PartResult { quantities, series, ..PartResult::default() };
    assert_eq!(after(copy, complete), 6.8);
}

/// A block that was broken off is shorter than those that follow.
#[test]
fn the_first_block_counts_whole_before_its_end() {
    let mut study =
        paired(Rule::Sequential { first: 6, half_width: 0.02, at_least_seconds: 200.0 });
    study.trials.truncate(1);
    assert_eq!(Forecast::new(&study).blocks(), 10, "195 s more, in blocks of four trials of 5 s");
}
