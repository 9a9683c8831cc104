//! Finding the complete trials of a cell among all trials of a study.

use crate::merge;
use crate::set_apart::SetApart;
use plimsoll_model::{Cell, Flag, Measurand, Metric, Origin, Outcome, PartResult, Study, Trial};
use std::collections::{BTreeMap, HashSet};

/// The trials of a study by cell.
pub(crate) struct Gathered<'a> {
    /// By workload, setting, subject.
    cells: BTreeMap<(u16, u16, u16), Vec<&'a Trial>>,
}

fn key(cell: Cell) -> (u16, u16, u16) {
    (cell.workload, cell.setting, cell.subject)
}

impl<'a> Gathered<'a> {
    pub(crate) fn new(study: &'a Study) -> Self {
        let mut cells: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for trial in &study.trials {
            cells.entry(key(trial.cell)).or_default().push(trial);
        }
        Gathered { cells }
    }

    /// The cells of a workload that have trials, by setting and subject.
    pub(crate) fn cells(&self, workload: u16) -> Vec<Cell> {
        let of_workload = self.cells.range((workload, 0, 0)..=(workload, u16::MAX, u16::MAX));
        let cell = |(_, setting, subject): &(u16, u16, u16)| Cell {
            subject: *subject,
            workload,
            setting: *setting,
        };
        of_workload.map(|(key, _)| cell(key)).collect()
    }

    /// Every trial of a cell, in the order recorded.
    pub(crate) fn trials(&self, cell: Cell) -> &[&'a Trial] {
        self.cells.get(&key(cell)).map_or(&[], Vec::as_slice)
    }

    /// The complete trials of a cell, in the order of their blocks.
    pub(crate) fn complete(&self, cell: Cell) -> Vec<&'a Trial> {
        let trials = self.trials(cell).iter().copied();
        let mut complete: Vec<_> =
            trials.filter(|t| matches!(t.result.outcome, Outcome::Complete)).collect();
        complete.sort_by_key(|trial| (trial.block, trial.number));
        complete
    }

    /// The same by whether others used a host meanwhile.
    pub(crate) fn set_apart(&self, cell: Cell) -> SetApart<&'a Trial> {
        SetApart::new(self.complete(cell), |trial| trial.is_disturbed())
    }

    /// The complete trials that the figures of a cell are of, in the order of their blocks.
    pub(crate) fn counted(&self, cell: Cell) -> Vec<&'a Trial> {
        self.set_apart(cell).counted
    }

    /// The results of one part in the trials that the figures of a cell are of.
    pub(crate) fn results(&self, cell: Cell, part: u16) -> Results<'a> {
        Results { trials: self.counted(cell), part }
    }

    /// The logarithms of one figure of a cell by block; of several trials in one block the last counts.
    pub(crate) fn logs_by_block(&self, of: Measurand) -> BTreeMap<u32, f64> {
        let log = |trial: &Trial| {
            let log = trial.result.value(of.part, of.metric)?.ln();
            Some((trial.block?, log)).filter(|(_, log)| log.is_finite())
        };
        self.complete(of.cell).into_iter().filter_map(log).collect()
    }

    /// How many of these pairs have a trial that the figures of its cell leave out.
    pub(crate) fn left_out_of_figures(
        &self,
        pairs: &Pairs<'_>,
        of: Measurand,
        against: Measurand,
    ) -> usize {
        let apart = |cell| self.set_apart(cell).apart;
        let (of_a, of_b) = (apart(against.cell), apart(of.cell));
        let is_left_out =
            |(a, b): &(&Trial, &Trial)| (of_a && a.is_disturbed()) || (of_b && b.is_disturbed());
        pairs.trials().filter(is_left_out).count()
    }

    /// Pairs of complete trials of the same block, disturbed or not (`set_apart` says why), the first of `against` and the
    /// second of `of`, in the order of the blocks. Trials without a block have no partner here; of several trials in
    /// one block the last counts.
    pub(crate) fn pairs(&self, of: Measurand, against: Measurand) -> Pairs<'a> {
        let by_block = |cell| -> BTreeMap<u32, &'a Trial> {
            let trials = self.complete(cell).into_iter();
            trials.filter_map(|trial| Some((trial.block?, trial))).collect()
        };
        let others = by_block(of.cell);
        let (a, b) = by_block(against.cell)
            .into_iter()
            .filter_map(|(block, trial)| Some((trial, *others.get(&block)?)))
            .unzip();
        Pairs {
            a: Results { trials: a, part: against.part },
            b: Results { trials: b, part: of.part },
        }
    }
}

/// One part's results in some trials.
pub(crate) struct Results<'a> {
    trials: Vec<&'a Trial>,
    part: u16,
}

/// Two parts' results, trial by trial of the same blocks.
pub(crate) struct Pairs<'a> {
    pub(crate) a: Results<'a>,
    pub(crate) b: Results<'a>,
}

impl<'a> Results<'a> {
    /// Of these trials.
    pub(crate) fn new(trials: Vec<&'a Trial>, part: u16) -> Results<'a> {
        Results { trials, part }
    }
}

impl Results<'_> {
    /// Whether any of the trials has such a flag.
    pub(crate) fn has_flag(&self, is_meant: impl Fn(&Flag) -> bool) -> bool {
        self.trials.iter().any(|trial| trial.result.flags.iter().any(&is_meant))
    }

    /// How many.
    pub(crate) fn len(&self) -> usize {
        self.trials.len()
    }

    fn value(&self, trial: &Trial, metric: Metric) -> Option<f64> {
        trial.result.value(self.part, metric).filter(|v| v.is_finite())
    }

    /// The part's results, in the order of the trials.
    pub(crate) fn parts(&self) -> Vec<&PartResult> {
        self.trials.iter().filter_map(|trial| trial.result.part(self.part)).collect()
    }

    /// The values of one metric, in the order of the trials, leaving out what is not finite. Quantiles
    /// that not every trial has are those of several together.
    pub(crate) fn values(&self, metric: Metric) -> Vec<f64> {
        let sides: Vec<_> = self.parts().into_iter().map(|part| [part]).collect();
        if let Some(merged) = merge::merged(metric, &sides) {
            return merged.into_iter().map(|[value]| value).collect();
        }
        self.trials.iter().filter_map(|trial| self.value(trial, metric)).collect()
    }

    /// Their logarithms, where there are any.
    pub(crate) fn logs(&self, metric: Metric) -> Vec<f64> {
        let logs = self.values(metric).into_iter().map(f64::ln);
        logs.filter(|log| log.is_finite()).collect()
    }

    /// Every metric that any of them has, in the order of tables.
    pub(crate) fn metrics(&self) -> Vec<Metric> {
        let parts = self.parts();
        let own = parts.iter().flat_map(|part| part.quantities.keys().copied());
        let mut all: Vec<_> = own.collect::<HashSet<Metric>>().into_iter().collect();
        let more = merge::quantiles_of(&all, &parts);
        all.extend(more);
        all.sort();
        all.dedup();
        all
    }
}

impl<'a> Pairs<'a> {
    fn trials(&self) -> impl Iterator<Item = (&Trial, &Trial)> {
        self.a.trials.iter().copied().zip(self.b.trials.iter().copied())
    }

    /// The values of one metric on both sides, of every pair that has it on both.
    pub(crate) fn both(&self, metric: Metric) -> (Vec<f64>, Vec<f64>) {
        let value = |(a, b)| Some((self.a.value(a, metric)?, self.b.value(b, metric)?));
        self.trials().filter_map(value).unzip()
    }

    /// ln(B/A) of one metric for every pair that has it on both sides as a positive number. Not for
    /// CPU time, where a value that is not positive is as good as any other.
    pub(crate) fn log_ratios(&self, metric: Metric) -> Vec<f64> {
        let part = |of: &Results<'a>, trial: &'a Trial| trial.result.part(of.part);
        let both = self.a.trials.iter().zip(&self.b.trials);
        let sides: Option<Vec<_>> =
            both.map(|(a, b)| Some([part(&self.a, a)?, part(&self.b, b)?])).collect();
        if let Some(merged) = sides.and_then(|sides| merge::merged(metric, &sides)) {
            let ratio = |[a, b]: [f64; 2]| b.ln() - a.ln();
            return merged.into_iter().map(ratio).filter(|ratio| ratio.is_finite()).collect();
        }
        let ratio = |(a, b)| {
            let ratio = self.b.value(b, metric)?.ln() - self.a.value(a, metric)?.ln();
            ratio.is_finite().then_some(ratio)
        };
        self.trials().filter_map(ratio).collect()
    }
}

/// Whether the figures are another tool's: single runs in an unknown order, without blocks, about
/// which no interval can be given.
pub(crate) fn is_imported(study: &Study) -> bool {
    matches!(study.origin, Origin::Imported { .. })
}

/// Number of subjects: what the plan names, or, where an import names none, what facts there are.
pub(crate) fn subjects(study: &Study) -> usize {
    study.plan.subjects.len().max(study.subjects.len())
}
