//! Finding the complete trials of a cell among all trials of a study.

use plimsoll_model::{Cell, Metric, Origin, Outcome, Study, Trial, Workload};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The trials of a study by cell.
pub(crate) struct Gathered<'a> {
    cells: HashMap<&'a Cell, Vec<&'a Trial>>,
    targets: HashMap<&'a Workload, Vec<usize>>,
}

impl<'a> Gathered<'a> {
    pub(crate) fn new(study: &'a Study) -> Self {
        let mut cells: HashMap<_, Vec<_>> = HashMap::new();
        for trial in &study.trials {
            cells.entry(&trial.cell).or_default().push(trial);
        }
        let mut targets: HashMap<_, Vec<_>> = HashMap::new();
        for cell in cells.keys() {
            targets.entry(&cell.workload).or_default().push(cell.target);
        }
        targets.values_mut().for_each(|of_workload| of_workload.sort_unstable());
        Gathered { cells, targets }
    }

    /// The targets that have trials under a workload, in their order.
    pub(crate) fn targets(&self, workload: &Workload) -> &[usize] {
        self.targets.get(workload).map_or(&[], Vec::as_slice)
    }

    /// Every trial of a cell, in the order recorded.
    pub(crate) fn trials(&self, target: usize, workload: &Workload) -> &[&'a Trial] {
        let cell = Cell { target, workload: workload.clone() };
        self.cells.get(&cell).map_or(&[], Vec::as_slice)
    }

    /// The complete trials of a cell, in the order of their blocks.
    pub(crate) fn complete(&self, target: usize, workload: &Workload) -> Vec<&'a Trial> {
        let trials = self.trials(target, workload).iter().copied();
        let mut complete: Vec<_> =
            trials.filter(|t| matches!(t.result.outcome, Outcome::Complete)).collect();
        complete.sort_by_key(|trial| (trial.block, trial.number));
        complete
    }

    /// Pairs of complete trials of the same block, in the order of the blocks. Trials without a
    /// block have no partner here; of several trials in one block the last counts.
    pub(crate) fn pairs(
        &self,
        a: usize,
        b: usize,
        workload: &Workload,
    ) -> Vec<(&'a Trial, &'a Trial)> {
        let by_block = |target| -> BTreeMap<u32, &'a Trial> {
            let trials = self.complete(target, workload).into_iter();
            trials.filter_map(|trial| Some((trial.block?, trial))).collect()
        };
        let others = by_block(b);
        by_block(a)
            .into_iter()
            .filter_map(|(block, trial)| Some((trial, *others.get(&block)?)))
            .collect()
    }
}

/// The values of one metric, in the order of the trials, leaving out what is not finite.
pub(crate) fn values(trials: &[&Trial], metric: Metric) -> Vec<f64> {
    trials.iter().filter_map(|trial| value(trial, metric)).collect()
}

fn value(trial: &Trial, metric: Metric) -> Option<f64> {
    trial.result.quantities.get(&metric).copied().filter(|v| v.is_finite())
}

/// The values of one metric on both sides, of every pair that has it on both.
pub(crate) fn both(pairs: &[(&Trial, &Trial)], metric: Metric) -> (Vec<f64>, Vec<f64>) {
    pairs.iter().filter_map(|(a, b)| Some((value(a, metric)?, value(b, metric)?))).unzip()
}

/// ln(B/A) of one metric for every pair that has it on both sides as a positive number. Not for CPU
/// time, where a value that is not positive is as good as any other.
pub(crate) fn log_ratios(pairs: &[(&Trial, &Trial)], metric: Metric) -> Vec<f64> {
    let ratio = |(a, b): &(&Trial, &Trial)| {
        let ratio = value(b, metric)?.ln() - value(a, metric)?.ln();
        ratio.is_finite().then_some(ratio)
    };
    pairs.iter().filter_map(ratio).collect()
}

/// Every metric that any of these trials has.
pub(crate) fn metrics<'a>(trials: impl IntoIterator<Item = &'a Trial>) -> Vec<Metric> {
    let all: HashSet<Metric> =
        trials.into_iter().flat_map(|trial| trial.result.quantities.keys().copied()).collect();
    let mut all: Vec<_> = all.into_iter().collect();
    all.sort();
    all
}

/// The workloads of the plan in its order, then any others that have trials.
pub(crate) fn workloads(study: &Study) -> Vec<Workload> {
    let mut seen = HashSet::new();
    let planned = study.plan.workloads.iter();
    let done = study.trials.iter().map(|trial| &trial.cell.workload);
    planned.chain(done).filter(|w| seen.insert(*w)).cloned().collect()
}

/// Whether the figures are another tool's: single runs in an unknown order, without blocks, about
/// which no interval can be reckoned.
pub(crate) fn is_imported(study: &Study) -> bool {
    matches!(study.origin, Origin::Imported { .. })
}

/// Number of targets: what the plan names, or, where an import names none, what facts there are.
pub(crate) fn targets(study: &Study) -> usize {
    study.plan.targets.len().max(study.targets.len())
}
