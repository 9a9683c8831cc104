//! What each setting bought: a level of one factor against its first, whatever the others are.

use crate::gather::Gathered;
use crate::pair::{Rules, WHOLE_PLOTS};
use crate::{BlockRatios, Ratio};
use plimsoll_model::{Cell, Measurand, Plan, Study, factor};
use plimsoll_stats::interval::{Interval, mean};
use std::collections::BTreeMap;

/// What a level of a factor does to the headline of a workload on one subject.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// Index of the factor in the plan.
    pub factor: usize,
    /// Index of the level; never the first, which it is held against.
    pub level: usize,
    /// Index of the workload.
    pub workload: u16,
    /// Index of the subject.
    pub subject: u16,
    /// The figure under this level over the figure under the first, averaged over the settings of all other
    /// factors. Its interval holds by itself, at the plan's confidence, and has the spread of the blocks or
    /// of the plots in them, whichever is wider: blocks whose means agree by accident do not hide plots
    /// that disagree. `None` below four blocks. `seen` is of the plots.
    pub ratio: Ratio,
}

/// Every effect of which there are figures, by factor, level, workload and subject. A block counts where
/// all of its trials that are compared are complete.
pub fn effects(study: &Study) -> Vec<Effect> {
    let plan = &study.plan;
    let (gathered, rules) = (Gathered::new(study), Rules::new(study));
    // From the cells that have trials: a damaged record may name very many.
    let mut compared: BTreeMap<(usize, usize, u16, u16), Vec<Cell>> = BTreeMap::new();
    for workload in (0..).take(plan.workloads.len()) {
        for cell in gathered.cells(workload) {
            let levels = factor::levels(&plan.factors, cell.setting).into_iter().enumerate();
            for (number, level) in levels.filter(|(_, level)| *level > 0) {
                let key = (number, level, workload, cell.subject);
                compared.entry(key).or_default().push(cell);
            }
        }
    }
    let effect = |((factor, level, workload, subject), cells): (_, Vec<Cell>)| {
        let blocks = log_ratios(&gathered, plan, &cells, factor);
        let means: Vec<f64> = blocks.iter().filter_map(|plots| mean(plots)).collect();
        let plots = blocks.concat();
        let interval = wider(rules.interval(&means), rules.interval(&plots));
        let interval = interval.filter(|_| means.len() >= WHOLE_PLOTS).and_then(Interval::exp);
        let ratio = Ratio { seen: BlockRatios::new(&plots), ..Ratio::new(&means, interval)? };
        Some(Effect { factor, level, workload, subject, ratio })
    };
    compared.into_iter().filter_map(effect).collect()
}

/// Of two intervals about the same estimate the wider one; `None` where one of them has no ends.
fn wider(a: Option<Interval>, b: Option<Interval>) -> Option<Interval> {
    let (a, b) = (a?, b?);
    Some(if b.high - b.low > a.high - a.low { b } else { a })
}

/// For each block in which all of these cells are complete, the log ratios of each to the cell with the
/// first level.
fn log_ratios(
    gathered: &Gathered<'_>,
    plan: &Plan,
    cells: &[Cell],
    number: usize,
) -> Vec<Vec<f64>> {
    let logs = |cell: Cell| {
        let workload = plan.workload(cell)?;
        let (part, metric) = (workload.headline_part(), workload.main()?.headline());
        Some(gathered.logs_by_block(Measurand { cell, part, metric }))
    };
    let mut blocks: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for cell in cells {
        let mut levels = factor::levels(&plan.factors, cell.setting);
        levels[number] = 0;
        let first = Cell { setting: factor::setting(&plan.factors, &levels), ..*cell };
        let (Some(own), Some(first)) = (logs(*cell), logs(first)) else { continue };
        for (block, log) in own {
            let ratio = first.get(&block).map(|first| log - first);
            blocks.entry(block).or_default().extend(ratio);
        }
    }
    blocks.into_values().filter(|ratios| ratios.len() == cells.len()).collect()
}
