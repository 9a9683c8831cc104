//! How many blocks the stop rule asks for.

use crate::gather::Gathered;
use crate::pair::Rules;
use plimsoll_model::{Cell, Contrast, Rule, Study};

/// For every workload of the plan, in its order, the blocks that the stop rule asks for in all: the
/// most that any of its claims asks for, or where nothing is compared what its level asks for. Under
/// Stein's rule only the pilot decides, so the answer does not change once the pilot is complete.
/// `None` where it cannot be told, because no comparison has its pilot complete: comparisons that lack
/// it (a subject that fails) do not count.
pub fn blocks_needed(study: &Study) -> Vec<Option<u64>> {
    let gathered = Gathered::new(study);
    let rules = Rules::new(study);
    let contrasts = &study.plan.contrasts;
    (0..)
        .zip(&study.plan.workloads)
        .map(|(workload, what)| match (study.plan.design.rule, rules.stein()) {
            (Rule::Fixed { blocks }, _) => Some(u64::from(blocks)),
            (_, None) => None,
            (_, Some(stein)) if contrasts.is_empty() => {
                let metric = what.main()?.job.headline();
                let cell = Cell { workload, ..Cell::default() };
                let values = gathered.results(cell, what.headline_part()).values(metric);
                let logs: Vec<f64> = values.iter().map(|v| v.ln()).collect();
                stein.blocks_needed(&logs)
            }
            (_, Some(stein)) => {
                let claims = contrasts.iter().filter(|c| c.claim && c.of.cell.workload == workload);
                let needed = |Contrast { of, against, .. }: &Contrast| {
                    stein.blocks_needed(&gathered.pairs(*of, *against).log_ratios(of.metric))
                };
                claims.filter_map(needed).max()
            }
        })
        .collect()
}
