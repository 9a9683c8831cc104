//! The findings, against the formulas of `stats` on numbers chosen by hand.

#[path = "../../record/tests/support/mod.rs"]
mod any_study;
mod support;

use plimsoll_explain::{Forecast, Scale, across, blocks_needed, findings, unresolved};
use plimsoll_model::{Cell, CpuTimes, Flag, HostLoad, HostResource, OpKind, Series, Window};
use plimsoll_model::{Histogram, LatencySummary, OpStats};
use plimsoll_model::{Measure, Metric, Outcome, Pattern, Rule, Study};
use plimsoll_stats::fieller::{self, Quotient};
use plimsoll_stats::interval::t_interval;
use plimsoll_stats::sequential::{self, Sequential};
use plimsoll_stats::verdict::{Side, Verdict};
use proptest::prelude::*;
use support::{add, add_blocks, empty, fail};

const THROUGHPUT: Metric = Metric::all(Measure::THROUGHPUT);
const SERVER_CPU: Metric = Metric::all(Measure::SERVER_CPU_PER_BYTE);
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

/// Sets the CPU time of a watched server in each block, for both targets.
fn with_costs(costs: [&[f64]; 2]) -> Study {
    let mut study = paired(Rule::Fixed { blocks: 6 });
    for trial in &mut study.trials {
        let of_block = costs[usize::from(trial.cell.subject)][trial.block.unwrap() as usize];
        trial.result.parts[0].quantities.insert(SERVER_CPU, of_block);
    }
    study
}

/// Blocks whose cost is at or below zero stay in: without them the ratio here would be 4.5 and
/// more, by the two blocks that have logarithms.
#[test]
fn cpu_costs_at_and_below_zero_count_as_any_others() {
    let a = [1.0, 1.2, 0.8, 1.1, 0.9, 1.0];
    let b = [5.0, -1.0, 4.0, 0.0, -0.5, -1.5];
    let found = findings(&with_costs([&a, &b]));
    let ratio = found.workloads[0].pairs[0].ratios[&SERVER_CPU];
    assert!((ratio.estimate - 1.0).abs() < 1e-12 && ratio.blocks == 6, "{ratio:?}");
    let Some(Quotient::Bounded(expected)) = fieller::paired(&a, &b, 0.95) else { panic!() };
    assert_eq!(ratio.interval, Some(expected));
    assert_eq!(ratio.zero, (false, true), "the mean of B is 1 ± 2.9");

    // The other way round there is no interval with ends.
    let found = findings(&with_costs([&b, &a]));
    let ratio = found.workloads[0].pairs[0].ratios[&SERVER_CPU];
    assert_eq!((ratio.interval, ratio.zero, ratio.blocks), (None, (true, false), 6));

    // Where costs are clear of zero, so is their ratio.
    let clear = a.map(|cost| 2.0 * cost + 0.1);
    let found = findings(&with_costs([&a, &clear]));
    let ratio = found.workloads[0].pairs[0].ratios[&SERVER_CPU];
    assert!((ratio.estimate - 2.1).abs() < 1e-12 && ratio.zero == (false, false), "{ratio:?}");
    assert!(ratio.interval.is_some_and(|i| i.low > 2.0 && i.contains(2.1)), "{ratio:?}");
    // What is missing altogether is left out, and nothing else is.
    let mut study = with_costs([&a, &clear]);
    study.trials[0].result.parts[0].quantities.remove(&SERVER_CPU);
    assert_eq!(findings(&study).workloads[0].pairs[0].ratios[&SERVER_CPU].blocks, 5);
}

#[test]
fn cpu_costs_of_two_studies_count_as_well_where_they_are_below_zero() {
    let a = [1.0, 1.2, 0.8, 1.1, 0.9, 1.0];
    let b = [5.0, -1.0, 4.0, 0.0, -0.5, -1.5];
    let counterparts = across(&with_costs([&a, &a]), &with_costs([&b, &a])).counterparts;
    let ratio = counterparts[0].ratios[&SERVER_CPU];
    let Some(Quotient::Bounded(expected)) = fieller::independent(&a, &b, 0.95) else { panic!() };
    assert_eq!((ratio.interval, ratio.zero), (Some(expected), (false, true)));
    assert_eq!(ratio.blocks, 12);
    assert!((counterparts[1].ratios[&SERVER_CPU].estimate - 1.0).abs() < 1e-12);
}

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

/// A trial of 1000 operations of 4 KiB a second, and a host that is 0.5 of a core busy anyway, its
/// classes as far from that as given.
fn beside_other_work(study: &mut Study, block: u32, user: f64, system: f64) {
    add(study, block, 0, READ, 1e8);
    let trial = study.trials.last_mut().unwrap();
    let window = Window::only(OpKind::READ, 10_000, 40_960_000);
    trial.result.parts[0].series = Series::new(10.0, &[window]);
    let idle = CpuTimes { user: 0.3, system: 0.2, ..CpuTimes::default() };
    let more = CpuTimes { user, system, steal: 7.0, idle: 8.0, ..CpuTimes::default() };
    trial.loads = vec![HostLoad {
        host: "local".to_owned(),
        seconds: 10.0,
        cpu: idle * 10.0 + more,
        idle_baseline: 0.5,
        idle: Some(idle),
        ..HostLoad::default()
    }];
}

#[test]
fn a_cost_within_what_a_host_does_anyway_is_distinguished_from_one_above_it() {
    let work = |costs: &[(f64, f64)]| {
        let mut study = empty(&["/srv/data"], &[READ]);
        for (block, (user, system)) in (0..).zip(costs) {
            beside_other_work(&mut study, block, *user, *system);
        }
        findings(&study).hosts[0].work[0].clone()
    };
    // Six trials around nothing; one class below its baseline on average.
    let noise = [(0.5, -0.6), (-0.4, 0.3), (0.3, -0.5), (-0.2, 0.1), (0.4, -0.2), (-0.1, 0.2)];
    let found = work(&noise);
    assert!(!found.above_idle, "{found:?}");
    let interval = found.operation_interval.unwrap();
    assert!(interval.low < 0.0 && interval.high > 0.0 && interval.high < 1e-4, "{interval:?}");
    assert!((found.byte_interval.unwrap().high - interval.high / 4096.0).abs() < 1e-15);
    // As much as the baseline is off, added to each: it is reported, to the digit.
    let above = noise.map(|(user, system)| (user + 2.0, system));
    let found = work(&above);
    assert!(found.above_idle);
    let (mean, per) = (12.0 - 0.2, found.per_operation.unwrap());
    assert!((per.busy().0 - mean / 60_000.0).abs() < 1e-12, "{per:?}");
    assert_eq!(per.steal, 0.0, "what others had is no cost of the host");

    // One trial has no interval: half of the baseline more is needed.
    assert!(!work(&[(2.4, 0.0)]).above_idle && work(&[(2.4, 0.2)]).above_idle);
    assert_eq!(work(&[(2.4, 0.0)]).operation_interval, None);
    assert!(!work(&[(-1.0, 0.5)]).above_idle);
}

/// "server CPU < 0.0175 s/GB" was printed of a machine without an idle moment.
#[test]
fn a_host_that_other_work_keeps_busy_has_no_costs() {
    let work = |cores: usize| {
        let mut study = empty(&["/srv/data"], &[READ]);
        (0..3).for_each(|block| beside_other_work(&mut study, block, 2.0, 0.5));
        let loads = study.trials.iter_mut().flat_map(|trial| &mut trial.loads);
        // Half of a core is taken anyway.
        loads.for_each(|load| load.cores_busy = vec![0.5; cores]);
        findings(&study).hosts[0].work[0].clone()
    };
    let quiet = work(2);
    assert!(!quiet.busy_anyway && quiet.per_operation.is_some() && quiet.per_byte.is_some());
    let mut study = empty(&["/srv/data"], &[READ]);
    (0..3).for_each(|block| beside_other_work(&mut study, block, 2.0, 0.5));
    for load in study.trials.iter_mut().flat_map(|trial| &mut trial.loads) {
        (load.cores_busy, load.idle_baseline) = (vec![0.9; 2], 1.1);
    }
    let busy = findings(&study).hosts[0].work[0].clone();
    assert!(busy.busy_anyway, "{busy:?}");
    assert_eq!((busy.per_operation, busy.per_byte), (None, None));
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
    println!("{own} {other} {open:?}");
}

/// Levels are of the trials during which nobody else used a host; the others stand apart, and where they are
/// half or more all count.
#[test]
fn disturbed_trials_are_counted_apart() {
    let disturb = |study: &mut Study, every: u32| {
        let mut disturbed = 0;
        for trial in study.trials.iter_mut().filter(|t| t.block.unwrap() % every == 0) {
            let flag = Flag::OtherLoad {
                host: "ssh://root@nas".into(),
                resource: HostResource::Network,
                per_second: 5e7,
            };
            trial.result.flags.push(flag);
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
