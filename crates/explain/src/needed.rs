//! How many blocks the stop rule asks for.

use crate::findings::seconds_per_trial;
use crate::gather::Gathered;
use crate::pair::{Rules, Stop};
use plimsoll_model::{Cell, Contrast, Rule, Study};

/// For every workload of the plan, in its order, the blocks that the stop rule asks for in all, as
/// things stand: the most that any of its claims asks for, or where nothing is compared what its level
/// asks for. Those it has where they are decided. Under Stein's rule only the pilot decides, so the
/// answer does not change once the pilot is complete. `None` where it cannot be told, because no
/// comparison has figures enough: comparisons that lack them (a subject that fails) do not count.
pub fn blocks_needed(study: &Study) -> Vec<Option<u64>> {
    let gathered = Gathered::new(study);
    let rules = Rules::new(study);
    let contrasts = &study.plan.contrasts;
    let done = study
        .trials
        .iter()
        .filter_map(|trial| trial.block)
        .max()
        .map_or(0, |last| last.saturating_add(1));
    let needed = |stop: Stop, values: &[f64]| match stop {
        Stop::Fixed { .. } => None,
        Stop::Stein(rule) => rule.blocks_needed(values),
        // A block in which a trial failed is none of its own.
        Stop::Sequential(rule) => rule.blocks_needed(values).map(|blocks| {
            u64::from(done).saturating_add(blocks.saturating_sub(values.len() as u64))
        }),
    };
    let of_workload = |workload: u16| {
        if contrasts.is_empty() {
            let what = study.plan.workloads.get(usize::from(workload))?;
            let metric = what.main()?.job.headline();
            let cell = Cell { workload, ..Cell::default() };
            let values = gathered.results(cell, what.headline_part()).values(metric);
            let logs: Vec<f64> = values.iter().map(|v| v.ln()).collect();
            return needed(rules.stop(false), &logs);
        }
        let claims = contrasts.iter().filter(|c| c.claim && c.of.cell.workload == workload);
        let of_claim = |Contrast { of, against, .. }: &Contrast| {
            needed(rules.stop(true), &gathered.pairs(*of, *against).log_ratios(of.metric))
        };
        claims.filter_map(of_claim).max()
    };
    let workloads = 0..study.plan.workloads.len() as u16;
    match study.plan.design.rule {
        Rule::Fixed { blocks } => workloads.map(|_| Some(u64::from(blocks))).collect(),
        Rule::Stein { .. } => workloads.map(of_workload).collect(),
        Rule::Sequential { at_least_seconds, .. } => {
            let trials = study.trials.len() as f64;
            let measured = trials * seconds_per_trial(study);
            let per_block = measured / f64::from(done.max(1));
            let missing = ((at_least_seconds - measured) / per_block).ceil();
            let least = u64::from(done).saturating_add(missing.max(0.0) as u64);
            workloads.map(|workload| Some(of_workload(workload)?.max(least))).collect()
        }
    }
}
