//! How many blocks the stop rule asks for.

use crate::gather::{self, Gathered};
use crate::pair::{Reckoning, THROUGHPUT};
use plimsoll_model::{Rule, Study, Workload};

/// Blocks that the stop rule asks for under one workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needed {
    /// Which.
    pub workload: Workload,
    /// Blocks in all; `None` where it cannot be told, because no comparison has its pilot complete.
    pub blocks: Option<u64>,
}

/// For every workload of the plan, in its order, the blocks that the stop rule asks for in all: the
/// most that any comparison asks for, or with a single target what its level asks for. Under
/// Stein's rule only the pilot decides, so the answer does not change once the pilot is complete.
/// Comparisons that lack a complete pilot (a target that fails) do not count.
pub fn blocks_needed(study: &Study) -> Vec<Needed> {
    let gathered = Gathered::new(study);
    let targets = gather::targets(study);
    let reckoning = Reckoning::new(study, targets);
    let blocks = |workload: &Workload| match (study.plan.rule, reckoning.stein()) {
        (Rule::Fixed { blocks }, _) => Some(u64::from(blocks)),
        (_, None) => None,
        (_, Some(stein)) if targets == 1 => {
            let values = gather::values(&gathered.complete(0, workload), THROUGHPUT);
            let logs: Vec<f64> = values.iter().map(|v| v.ln()).collect();
            stein.blocks_needed(&logs)
        }
        (_, Some(stein)) => (1..targets)
            .filter_map(|target| {
                let pairs = gathered.pairs(0, target, workload);
                stein.blocks_needed(&gather::log_ratios(&pairs, THROUGHPUT))
            })
            .max(),
    };
    let workloads = study.plan.workloads.iter();
    workloads.map(|w| Needed { workload: w.clone(), blocks: blocks(w) }).collect()
}
