//! The findings, against the formulas of `stats` on numbers chosen by hand.

#[path = "../../record/tests/support/mod.rs"]
mod any_study;
mod decisions;
mod findings_of_cpu;
mod support;

use plimsoll_explain::{across, blocks_needed, findings};
use plimsoll_model::{Cell, Flag, HostResource, OpKind};
use plimsoll_model::{Histogram, LatencySummary, OpStats};
use plimsoll_model::{Measure, Metric, Outcome, Pattern, Rule, Study, Trial};
use plimsoll_stats::interval::t_interval;
use plimsoll_stats::verdict::{Side, Verdict};
use proptest::prelude::*;
use support::{add, add_blocks, empty, fail};

const THROUGHPUT: Metric = Metric::all(Measure::THROUGHPUT);
const READ: Pattern = Pattern::SequentialRead;
const WRITE: Pattern = Pattern::SequentialWrite;
const TWO: [&str; 2] = ["nfs://nas/volume1", "/srv/data"];

/// Log ratios of six blocks around ln 2, with a spread that is easy to compute with.
const LOGS: [f64; 6] = [0.79, 0.59, 0.79, 0.59, 0.79, 0.59];

fn paired(rule: Rule) -> Study {
    let mut study = empty(&TWO, &[READ, WRITE]);
    study.plan.design.rule = rule;
    for (block, log) in (0..).zip(LOGS) {
        add(&mut study, block, 0, READ, 1e8);
        add(&mut study, block, 1, READ, 1e8 * f64::exp(log));
    }
    study
}

#[test]
fn a_pair_is_claimed_at_the_confidence_of_its_family() {
    // Two workloads, one comparison each: a family of two.
    let found = findings(&paired(Rule::Fixed { blocks: 6 }));
    let pair = &found.workloads[0].pairs[0];
    let claim = pair.claim.unwrap();
    let compared = (pair.contrast.against.cell.subject, pair.contrast.of.cell.subject);
    assert_eq!((compared, pair.blocks, claim.ratio.blocks), ((0, 1), 6, 6));
    let expected = t_interval(&LOGS, 0.975).unwrap().exp().unwrap();
    let interval = claim.ratio.interval.unwrap();
    assert!((interval.low - expected.low).abs() < 1e-9, "{interval:?} {expected:?}");
    assert!((interval.high - expected.high).abs() < 1e-9);
    assert!((claim.ratio.estimate - f64::exp(0.69)).abs() < 1e-9);
    assert!(matches!(claim.verdict, Some(Verdict::Faster(lead)) if lead.faster == Side::B));
    assert!((claim.sign_flip_p.unwrap() - 2.0 / 64.0).abs() < 1e-12);
    // Latency by itself: the plain confidence, hence narrower.
    let latency = pair.ratios[&Metric::all(Measure::LATENCY_MEAN)];
    let by_itself = latency.interval.unwrap();
    assert!(by_itself.high / by_itself.low < interval.high / interval.low);
    assert!((latency.estimate - f64::exp(-0.69)).abs() < 1e-9);
    // The other workload has no trials, and nothing is reported about it.
    assert_eq!(found.workloads[1].pairs, []);
    assert_eq!(found.workloads[1].cells, []);
}

#[test]
fn only_complete_trials_and_whole_blocks_count() {
    let mut study = paired(Rule::Fixed { blocks: 6 });
    fail(&mut study.trials[3]); // block 1, target 1
    study.trials[4].result.outcome = Outcome::Stopped; // block 2, target 0
    let found = findings(&study);
    let [a, b] = &found.workloads[0].cells[..] else { panic!("two targets") };
    assert_eq!((a.complete, a.failed, a.stopped), (5, 0, 1));
    assert_eq!((b.complete, b.failed, b.stopped), (5, 1, 0));
    assert_eq!(b.levels[&THROUGHPUT].trials, 5);
    let pair = &found.workloads[0].pairs[0];
    assert_eq!(pair.blocks, 4);
    let left = (LOGS[0] + LOGS[3] + LOGS[4] + LOGS[5]) / 4.0;
    assert!((pair.claim.unwrap().ratio.estimate.ln() - left).abs() < 1e-9);
}

#[test]
fn one_block_has_figures_and_no_interval() {
    let mut study = empty(&TWO, &[READ]);
    add_blocks(&mut study, 1, 0.0, |target, _| 1e8 * (1 + target) as f64);
    let found = findings(&study);
    let claim = found.workloads[0].pairs[0].claim.unwrap();
    assert!((claim.ratio.estimate - 2.0).abs() < 1e-9);
    assert_eq!((claim.ratio.interval, claim.verdict), (None, None));
    assert_eq!(found.workloads[0].cells[0].levels[&THROUGHPUT].interval, None);
}

#[test]
fn the_order_of_recording_does_not_matter() {
    let mut study = empty(&TWO, &[READ, WRITE, Pattern::RandomMixed]);
    add_blocks(&mut study, 7, 0.1, |target, _| 1e8 * (1 + target) as f64);
    let before = findings(&study);
    study.trials.reverse();
    assert_eq!(findings(&study), before);
}

#[test]
fn two_studies_are_matched_by_what_was_measured() {
    let mut a = empty(&["nfs://nas/x", "/srv/data"], &[READ, WRITE]);
    add_blocks(&mut a, 6, 0.01, |_, _| 1e8);
    let mut b = empty(&["/srv/data", "nfs://other/x"], &[Pattern::RandomRead, READ]);
    b.plan.workloads[1].parts[0].workers = 8.try_into().unwrap();
    add_blocks(&mut b, 8, 0.01, |_, _| 2e8);
    // With more workers it is other work: named, and not compared.
    let both = across(&a, &b);
    assert_eq!((both.counterparts.len(), both.unequal.len()), (0, 1));
    assert_eq!((both.unequal[0].a.workload, both.unequal[0].b.workload), (0, 1));
    b.plan.workloads[1].parts[0].workers = support::WORKERS.try_into().unwrap();
    let both = across(&a, &b);
    assert_eq!((both.counterparts.len(), both.unequal.len()), (1, 0));
    let found = &both.counterparts[0];
    assert_eq!((found.a.subject, found.b.subject), (1, 0));
    assert_eq!((found.a.workload, found.b.workload), (0, 1));
    assert_eq!(found.trials, (6, 8));
    let claim = found.claim.unwrap();
    assert!((claim.ratio.estimate / 2.0 - 1.0).abs() < 0.02);
    assert!(matches!(claim.verdict, Some(Verdict::Faster(lead)) if lead.faster == Side::B));
    assert!(both.only_a.contains(&Cell { subject: 0, workload: 0, setting: 0 }));

    // No target in common: by position.
    let mut c = empty(&["nfs://new/x"], &[WRITE]);
    add_blocks(&mut c, 6, 0.01, |_, _| 1e8);
    let both = across(&a, &c);
    assert_eq!(both.counterparts.len(), 1);
    assert_eq!((both.counterparts[0].a.subject, both.counterparts[0].b.subject), (0, 0));
    assert_eq!(both.only_b, []);
}

/// Two runs of one target and one of the other, as another tool's output has them.
fn imported() -> Study {
    let mut study = empty(&TWO, &[READ]);
    study.origin = plimsoll_model::Origin::Imported { tool: "fio-3.36".into() };
    for (target, rate) in [(0, 1e8), (0, 4e8), (1, 3e8)] {
        add(&mut study, 0, target, READ, rate);
    }
    study.trials.iter_mut().for_each(|trial| trial.block = None);
    study
}

#[test]
fn imports_have_ratios_and_no_intervals() {
    let found = findings(&imported());
    assert!(found.imported && !found.fixed_repeats);
    let levels = found.workloads[0].cells.iter().flat_map(|t| t.levels.values());
    assert!(levels.clone().count() > 0 && levels.into_iter().all(|l| l.interval.is_none()));
    let claim = found.workloads[0].pairs[0].claim.unwrap();
    // Geometric mean of the two: 2e8.
    assert!((claim.ratio.estimate - 1.5).abs() < 1e-9);
    assert_eq!((claim.ratio.blocks, claim.ratio.interval, claim.verdict), (3, None, None));
    assert_eq!((claim.sign_flip_p, claim.more_blocks), (None, None));

    let mut measured = empty(&TWO, &[READ]);
    add_blocks(&mut measured, 6, 0.01, |_, _| 4e8);
    for both in [across(&imported(), &measured), across(&imported(), &imported())] {
        assert_eq!(both.counterparts.len(), 2);
        for found in &both.counterparts {
            assert!(found.ratios.values().all(|ratio| ratio.interval.is_none()));
            assert_eq!(found.claim.unwrap().verdict, None);
        }
    }
    let ratio = across(&imported(), &measured).counterparts[0].claim.unwrap().ratio.estimate;
    assert!((ratio / 2.0 - 1.0).abs() < 0.02, "{ratio}");
}

#[test]
fn a_record_that_names_very_much_costs_what_it_holds() {
    let mut study = imported();
    let workload = study.plan.workloads[0].clone();
    study.subjects = vec![study.subjects[0].clone(); 20_000];
    let of_size = |size: u64| {
        let mut workload = workload.clone();
        assert!(workload.parts[0].job.fit(1, size << 20));
        workload
    };
    study.plan.workloads = [workload.clone()].into_iter().chain((4..1000).map(of_size)).collect();
    let more = study.plan.workloads.clone().into_iter().cycle().take(40_000);
    study.plan.workloads.extend(more);
    let found = findings(&study);
    assert_eq!(found.workloads.len(), 40_997);
    assert_eq!(found.workloads.iter().map(|w| w.cells.len()).sum::<usize>(), 2);
    assert_eq!(across(&study, &study).counterparts.len(), 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_study_has_findings(
        a in any_study::any::study(), b in any_study::any::study(), bad in any::<u64>(),
    ) {
        let mut a = a;
        for (i, trial) in a.trials.iter_mut().enumerate() {
            trial.cell.workload = (i % 2) as u16;
            if bad >> i & 1 == 1 {
                trial.started_seconds = f64::NAN;
                let odd = [f64::NAN, f64::INFINITY, -1.0, 0.0];
                if let Some(part) = trial.result.parts.first_mut() {
                    part.quantities.insert(THROUGHPUT, odd[i % 4]);
                }
            }
        }
        let found = findings(&a);
        prop_assert!(found.workloads.len() >= usize::from(!a.plan.workloads.is_empty()));
        for level in found.workloads.iter().flat_map(|w| &w.cells).flat_map(|t| t.levels.values()) {
            prop_assert!(level.estimate.is_finite() && level.trials > 0);
        }
        let _ = blocks_needed(&a);
        let _ = across(&a, &b);
    }
}

/// Others used a host during a trial.
fn mark(trial: &mut Trial) {
    trial.result.flags.push(Flag::OtherLoad {
        host: "ssh://root@nas".parse().unwrap(),
        resource: HostResource::Network,
        per_second: 5e7,
    });
}

/// Levels are of the trials during which nobody else used a host; the others stand apart, and where they are
/// half or more all count.
#[test]
fn disturbed_trials_are_counted_apart() {
    let disturb = |study: &mut Study, every: u32| {
        let mut disturbed = 0;
        for trial in study.trials.iter_mut().filter(|t| t.block.unwrap() % every == 0) {
            mark(trial);
            trial.result.parts[0].quantities.values_mut().for_each(|value| *value *= 0.6);
            disturbed += 1;
        }
        disturbed
    };
    let mut study = empty(&["nfs://nas/a"], &[READ]);
    for block in 0..75 {
        add(&mut study, block, 0, READ, 1e8);
    }
    let undisturbed = findings(&study).workloads[0].cells[0].clone();
    assert_eq!(undisturbed.disturbed, None);
    let count = disturb(&mut study, 4);
    let throughput = Metric::all(Measure::THROUGHPUT);
    let cell = &findings(&study).workloads[0].cells[0];
    let level = cell.levels[&throughput];
    assert_eq!((cell.complete, level.trials), (75, 75 - count));
    assert!((level.estimate / 1e8 - 1.0).abs() < 1e-9, "not mixed: {level:?}");
    let apart = cell.disturbed.as_ref().unwrap();
    assert_eq!((apart.trials, apart.apart), (count, true));
    assert!((apart.levels[&throughput].estimate / 6e7 - 1.0).abs() < 1e-9);

    let mut most = empty(&["nfs://nas/a"], &[READ]);
    for block in 0..10 {
        add(&mut most, block, 0, READ, 1e8);
    }
    disturb(&mut most, 2);
    let cell = &findings(&most).workloads[0].cells[0];
    assert_eq!(cell.levels[&throughput].trials, 10);
    assert!(!cell.disturbed.as_ref().unwrap().apart);
    // A trial that is slow without a cause stays where it is.
    let mut slow = empty(&["nfs://nas/a"], &[READ]);
    add(&mut slow, 0, 0, READ, 1e8);
    slow.trials[0].result.flags.push(Flag::FarSlower { times: 3.0 });
    assert_eq!(findings(&slow).workloads[0].cells[0].disturbed, None);
}

/// The second target does more work for each operation in every fourth block, which looks like other load, and is faster in
/// the others: on average both are equally fast. A verdict on the blocks without a mark would be wrong.
#[test]
fn a_target_that_slows_itself_down_is_not_called_faster() {
    let mut study = empty(&TWO, &[READ]);
    study.plan.design.rule = Rule::Fixed { blocks: 12 };
    for block in 0..12 {
        let is_slow = block % 4 == 0;
        let noise = if block % 2 == 0 { 0.01 } else { -0.01 };
        let log: f64 = if is_slow { -0.3 } else { 0.1 };
        add(&mut study, block, 0, READ, 1e8);
        add(&mut study, block, 1, READ, 1e8 * (log + noise).exp());
        if is_slow {
            mark(study.trials.last_mut().unwrap());
        }
    }
    let found = findings(&study);
    let [a, b] = &found.workloads[0].cells[..] else { panic!("two targets") };
    let ratio = b.levels[&THROUGHPUT].estimate / a.levels[&THROUGHPUT].estimate;
    assert!(ratio > 1.09, "the figures leave the slow trials out: {ratio}");
    let pair = &found.workloads[0].pairs[0];
    let claim = pair.claim.unwrap();
    assert_eq!((pair.blocks, claim.ratio.blocks, pair.left_out_of_figures), (12, 12, 3));
    assert!(claim.ratio.estimate.ln().abs() < 1e-9, "{claim:?}");
    assert!(claim.verdict.unwrap().faster().is_none(), "{claim:?}");
    // Half of the trials are in the figures as well.
    for trial in study.trials.iter_mut().filter(|trial| trial.block.unwrap() % 4 == 1) {
        if trial.cell.subject == 1 {
            mark(trial);
        }
    }
    assert_eq!(findings(&study).workloads[0].pairs[0].left_out_of_figures, 0);
}

/// Short trials, each with so many latencies, that have no 99th percentile by themselves.
fn short_trials(blocks: u32, each: u64) -> Study {
    let mut study = empty(&TWO, &[READ]);
    study.plan.design.rule = Rule::Fixed { blocks };
    for block in 0..blocks {
        for target in [0, 1] {
            add(&mut study, block, target, READ, 1e8);
            let part = &mut study.trials.last_mut().unwrap().result.parts[0];
            part.quantities.retain(|metric, _| metric.measure != Measure::LATENCY_P99);
            // One in fifty is slow: a millisecond, and twice that on the other target.
            let slow = (1 << 20) * (1 + target as u64);
            let buckets_ns = vec![(1 << 10, each - each / 50), (slow, each / 50)];
            let client_latency = LatencySummary {
                mean_seconds: 1e-6,
                min_seconds: 1e-6,
                max_seconds: 1.0,
                histogram: Some(Histogram { buckets_ns }),
                ..LatencySummary::default()
            };
            let stats = OpStats { count: each, client_latency, ..OpStats::default() };
            part.ops.insert(OpKind::READ, stats);
        }
    }
    study
}

#[test]
fn quantiles_of_short_trials_are_those_of_several_together() {
    let p99 = Metric::all(Measure::LATENCY_P99);
    // 2,000 latencies support a 99th percentile: four trials of 500, and two are left over.
    let found = findings(&short_trials(10, 500));
    let level = |subject: usize| found.workloads[0].cells[subject].levels[&p99];
    assert_eq!((level(0).trials, level(1).trials), (2, 2));
    assert!((level(0).estimate / 1.048e-3 - 1.0).abs() < 0.01, "{:?}", level(0));
    let ratio = found.workloads[0].pairs[0].ratios[&p99];
    assert_eq!(ratio.blocks, 2);
    assert!((ratio.estimate - 2.0).abs() < 0.01, "{ratio:?}");
    // Throughput is as it was, block by block.
    assert_eq!(found.workloads[0].cells[0].levels[&THROUGHPUT].trials, 10);
    // What never comes to enough is not said.
    let few = findings(&short_trials(7, 500));
    assert!(!few.workloads[0].cells[0].levels.contains_key(&p99));
    assert!(!few.workloads[0].pairs[0].ratios.contains_key(&p99));
    // Trials that have it by themselves are not merged; distributions that are not kept cannot be.
    let mut whole = short_trials(10, 500);
    for trial in &mut whole.trials {
        trial.result.parts[0].quantities.insert(p99, 2e-3);
    }
    assert_eq!(findings(&whole).workloads[0].cells[0].levels[&p99].trials, 10);
    let mut lost = short_trials(10, 500);
    lost.trials.iter_mut().for_each(|trial| trial.result.parts[0].ops.clear());
    assert!(!findings(&lost).workloads[0].cells[0].levels.contains_key(&p99));
}

/// The side with fewer operations says when a group is whole, for both.
#[test]
fn groups_are_of_the_same_blocks_on_both_sides() {
    let p99 = Metric::all(Measure::LATENCY_P99);
    let mut study = short_trials(12, 500);
    for trial in study.trials.iter_mut().filter(|trial| trial.cell.subject == 1) {
        let latency = &mut trial.result.parts[0].ops.get_mut(&OpKind::READ).unwrap().client_latency;
        latency.histogram.as_mut().unwrap().buckets_ns[0].1 *= 4;
    }
    let found = findings(&study);
    assert_eq!(found.workloads[0].cells[1].levels[&p99].trials, 6);
    assert_eq!(found.workloads[0].pairs[0].ratios[&p99].blocks, 3);
}
