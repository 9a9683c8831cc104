//! What each setting bought, and what may be claimed of what was restarted.

mod support;

use plimsoll_explain::{blocks_needed, effects, findings};
use plimsoll_model::*;
use plimsoll_stats::interval::t_interval;
use support::{add, empty, fail};

const PATTERN: Pattern = Pattern::SequentialRead;

fn factor(name: &str, levels: usize, switch: Switch) -> Factor {
    let level = |n: usize| FactorLevel::Set { value: n.to_string() };
    let levels = (0..levels).map(level).collect();
    Factor { name: name.into(), host: HostName::Local, levels, switch }
}

/// A study of two factors, three levels by two, whose rate is a product of what each level does, and of
/// what is the matter with a whole plot of the second.
fn study(blocks: u32, plot: impl Fn(u32, usize) -> f64) -> Study {
    let mut study = empty(&["nfs://nas/a"], &[PATTERN]);
    study.plan.factors = vec![factor("a", 3, Switch::Live), factor("b", 2, Switch::Restart)];
    study.plan.contrasts = Contrast::against_first(&study.plan);
    study.plan.design.rule = Rule::Fixed { blocks };
    for block in 0..blocks {
        for setting in 0..6 {
            let levels = factor::levels(&study.plan.factors, setting);
            let rate = 1e8 * [1.0, 2.0, 5.0][levels[0]] * [1.0, 1.5][levels[1]];
            add(&mut study, block, 0, PATTERN, rate * plot(block, levels[1]));
            study.trials.last_mut().unwrap().cell.setting = setting;
        }
    }
    study
}

#[test]
fn effects_are_exact_where_nothing_else_varies() {
    let found = effects(&study(4, |_, _| 1.0));
    let keys: Vec<_> = found.iter().map(|e| (e.factor, e.level, e.workload, e.subject)).collect();
    assert_eq!(keys, [(0, 1, 0, 0), (0, 2, 0, 0), (1, 1, 0, 0)]);
    for (effect, expected) in found.iter().zip([2.0, 5.0, 1.5]) {
        let ratio = effect.ratio;
        assert!((ratio.estimate / expected - 1.0).abs() < 1e-9, "{effect:?}");
        assert_eq!(ratio.blocks, 4);
    }
}

/// What a restart did to a whole plot is in the interval of what was restarted, once a block however many
/// trials the plot has, and not in that of what was changed within plots.
#[test]
fn intervals_are_those_of_whole_plots() {
    let shift =
        |block: u32, level: usize| [0.0, 0.1, -0.2, 0.3, 0.05][block as usize] * level as f64;
    let found = effects(&study(5, |block, level| shift(block, level).exp()));
    let logs: Vec<f64> = (0..5).map(|block| 1.5_f64.ln() + shift(block, 1)).collect();
    let expected = t_interval(&logs, 0.95).unwrap();
    let interval = found[2].ratio.interval.unwrap();
    assert!((interval.low.ln() - expected.low).abs() < 1e-9, "{interval:?}");
    assert!((interval.high.ln() - expected.high).abs() < 1e-9, "{interval:?}");
    for live in &found[..2] {
        let interval = live.ratio.interval.unwrap();
        assert!(interval.high / interval.low < 1.0 + 1e-6, "{interval:?}");
    }
}

/// Two factors of two levels; each plot of a block has the ratio of its own for what the second factor bought.
fn crossed(blocks: u32, ratio: impl Fn(u32, usize) -> f64) -> Study {
    let mut study = empty(&["nfs://nas/a"], &[PATTERN]);
    study.plan.factors = vec![factor("a", 2, Switch::Live), factor("b", 2, Switch::Restart)];
    study.plan.contrasts = Contrast::against_first(&study.plan);
    study.plan.design.rule = Rule::Fixed { blocks };
    for block in 0..blocks {
        for setting in 0..4 {
            let levels = factor::levels(&study.plan.factors, setting);
            let bought = if levels[1] == 1 { ratio(block, levels[0]) } else { 1.0 };
            add(&mut study, block, 0, PATTERN, 1e8 * bought);
            study.trials.last_mut().unwrap().cell.setting = setting;
        }
    }
    study
}

/// Plots that disagree may have means that agree by accident: the effect has the spread of the plots, and of
/// two blocks no interval at all but what they showed.
#[test]
fn means_that_agree_by_accident_are_not_tight() {
    let plots = [[0.79, 1.03], [2.02, 0.40]];
    let ratio = |block: u32, other: usize| plots[usize::from(other == 1)][(block % 2) as usize];
    let two = effects(&crossed(2, ratio))[1].ratio;
    assert_eq!((two.blocks, two.interval), (2, None));
    let seen = two.seen.unwrap();
    assert_eq!((seen.values, seen.above), (4, 2));
    assert!((seen.low - 0.40).abs() < 1e-9 && (seen.high - 2.02).abs() < 1e-9, "{seen:?}");
    // The same with plots whose means agree in each block.
    let accident =
        |block: u32, other: usize| [[0.79, 1.03], [2.02, 0.40]][(block % 2) as usize][other];
    let four = effects(&crossed(4, accident))[1].ratio;
    let interval = four.interval.unwrap();
    assert!(interval.low < 0.7 && interval.high > 1.2, "as wide as the plots: {interval:?}");
    assert!(interval.contains(1.0));
}

/// By simulation: where what a factor buys differs between the levels of another one and between blocks,
/// 95% intervals hold the mean in at least 95% of studies, with blocks that have something in common and
/// without.
#[test]
fn intervals_of_effects_hold_the_truth() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut normal = || {
        // Twelve uniform numbers less six: near enough to a normal one.
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        (0..12).map(|_| uniform()).sum::<f64>() - 6.0
    };
    for (shared, own) in [(0.0, 0.3), (0.2, 0.2), (0.3, 0.05)] {
        for blocks in [4, 8] {
            let mut held = 0;
            const STUDIES: usize = 300;
            for _ in 0..STUDIES {
                let of_block: Vec<f64> = (0..blocks).map(|_| shared * normal()).collect();
                let noise: Vec<f64> = (0..2 * blocks).map(|_| own * normal()).collect();
                let log = |block: u32, other: usize| {
                    0.4 + of_block[block as usize] + noise[2 * block as usize + other]
                };
                let study = crossed(blocks, |block, other| log(block, other).exp());
                let interval = effects(&study)[1].ratio.interval.unwrap();
                held += usize::from(interval.contains(0.4_f64.exp()));
            }
            println!("shared {shared}, own {own}, {blocks} blocks: {held} of {STUDIES}");
            // 95% less three standard errors.
            assert!(held * 1000 >= STUDIES * 912, "{shared} {own} {blocks}: {held} of {STUDIES}");
        }
    }
}

#[test]
fn a_block_counts_where_all_that_is_compared_is_complete() {
    let mut study = study(4, |_, _| 1.0);
    // Of block 2 a trial under the first level of a, and the first of b.
    let lost = study.trials.iter_mut().find(|t| t.block == Some(2) && t.cell.setting == 0).unwrap();
    fail(lost);
    let blocks: Vec<usize> = effects(&study).iter().map(|effect| effect.ratio.blocks).collect();
    assert_eq!(blocks, [3, 3, 3]);
    study.trials.retain(|trial| trial.cell.setting != 1);
    let found = effects(&study);
    let keys: Vec<_> = found.iter().map(|e| (e.factor, e.level)).collect();
    // One level of b lacks a setting that the other has: no block has both whole.
    assert_eq!(keys, [(0, 1), (0, 2)]);
    assert!((found[0].ratio.estimate - 2.0).abs() < 1e-9, "{:?}", found[0]);
    study.plan.factors.clear();
    assert!(effects(&study).is_empty());
}

#[test]
fn fewer_than_four_whole_plots_a_side_have_no_verdict() {
    for (blocks, verdicts) in [(3, [true, false]), (4, [true, true])] {
        let study = study(blocks, |block, _| 1.0 + 1e-4 * f64::from(block));
        let found = findings(&study);
        let pair = |setting: u16| {
            let mut pairs = found.workloads[0].pairs.iter();
            pairs.find(|pair| pair.contrast.of.cell.setting == setting).unwrap()
        };
        // One level of what is live, then one of what is restarted.
        for (setting, expected) in [1, 3].into_iter().zip(verdicts) {
            let claim = pair(setting).claim.unwrap();
            assert_eq!(claim.verdict.is_some(), expected, "{blocks} blocks, {setting}: {claim:?}");
            assert!(claim.ratio.interval.is_some());
        }
    }
}

/// A job that others are compared with goes on with them.
#[test]
fn both_sides_of_a_claim_have_as_many_blocks() {
    let write = Pattern::SequentialWrite;
    let mut study = empty(&["nfs://nas/a"], &[PATTERN, write]);
    study.plan.design.rule = Rule::Sequential { first: 6, half_width: 0.02, at_least_seconds: 0.0 };
    let measurand = |workload| Measurand {
        cell: Cell { workload, ..Cell::default() },
        part: 0,
        metric: Metric::all(Measure::THROUGHPUT),
    };
    study.plan.contrasts = vec![Contrast { of: measurand(1), against: measurand(0), claim: true }];
    for block in 0..6 {
        add(&mut study, block, 0, PATTERN, 1e8);
        add(&mut study, block, 0, write, [0.8e8, 1.2e8][(block % 2) as usize]);
    }
    let needed = blocks_needed(&study);
    assert!(needed[0] == needed[1] && needed[0] > Some(6), "{needed:?}");
    study.plan.contrasts[0].claim = false;
    assert_eq!(blocks_needed(&study), [None, None]);
}
