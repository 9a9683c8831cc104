//! What a run holds in memory of the trials that it has kept: a few hundred bytes of each, so that one that
//! goes on for days does not grow by all it has measured.

use crate::disturbed::REMEMBERED;
use plimsoll_model::{Failure, Series, Study, Trial};
use plimsoll_record::StudyStore;

/// Lets go of what is kept elsewhere, and takes it back.
#[derive(Clone, Copy, Default)]
pub(crate) struct KeptTrials {
    /// Trials can be read back, and nothing needs them whole meanwhile.
    lets_go: bool,
}

impl KeptTrials {
    /// For a study that has begun to be kept. Quantiles of several trials together are made of their
    /// distributions, at every look: those are held where a comparison is of one.
    pub(crate) fn new(study: &Study, store: &dyn StudyStore) -> KeptTrials {
        let quantiles = plimsoll_explain::compares_quantiles(&study.plan);
        KeptTrials { lets_go: !quantiles && store.load(&study.id.0).is_ok() }
    }

    /// The last of these has just been kept: its distributions and stretches are let go, and of the cell's
    /// trial that is no longer looked back at also what its hosts did.
    pub(crate) fn let_go(self, trials: &mut [Trial]) {
        let Some(last) = trials.last_mut().filter(|_| self.lets_go) else { return };
        last.result.parts.iter_mut().for_each(|part| part.ops.clear());
        last.loads.iter_mut().for_each(|load| load.stretches = Vec::new());
        (last.points, last.mount) = Default::default();
        let cell = last.cell;
        let mut of_cell = trials.iter_mut().rev().filter(|trial| trial.cell == cell);
        if let Some(old) = of_cell.nth(2 * REMEMBERED) {
            old.result.parts.iter_mut().for_each(|part| part.series = Series::default());
            old.loads = Vec::new();
        }
    }

    /// All trials as they were kept. One that was not is held whole.
    pub(crate) fn take_back(
        self,
        study: &mut Study,
        store: &dyn StudyStore,
    ) -> Result<(), Failure> {
        if !self.lets_go {
            return Ok(());
        }
        let kept = store.load(&study.id.0)?.trials;
        for (held, kept) in study.trials.iter_mut().zip(kept) {
            if held.number == kept.number {
                *held = kept;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::{Cell, HostLoad, LoadStretch, OpKind, Outcome, PartResult, PointResult};

    #[test]
    fn figures_stay_and_the_rest_goes() {
        let part = PartResult {
            ops: [(OpKind::READ, Default::default())].into(),
            ..PartResult::default()
        };
        let load = HostLoad { stretches: vec![LoadStretch::default()], ..HostLoad::default() };
        let trial = |number| Trial {
            number,
            block: Some(number),
            cell: Cell::default(),
            started_seconds: f64::from(number),
            result: PointResult {
                parts: vec![part.clone()],
                ..PointResult::empty(Outcome::Complete)
            },
            points: Vec::new(),
            loads: vec![load.clone()],
            mount: None,
            imported: None,
        };
        let (mut held, mut trials) = (KeptTrials::default(), vec![trial(0)]);
        held.let_go(&mut trials);
        assert_eq!(trials, [trial(0)], "nowhere to take it back from");
        held.lets_go = true;
        trials.clear();
        for number in 0..3 * REMEMBERED as u32 {
            trials.push(trial(number));
            held.let_go(&mut trials);
        }
        let known = |trial: &Trial| (trial.result.parts[0].ops.len(), trial.loads.len());
        assert_eq!(known(&trials[REMEMBERED - 1]), (0, 0));
        assert_eq!(known(&trials[REMEMBERED]), (0, 1), "it may still be looked back at");
        assert!(trials.iter().flat_map(|trial| &trial.loads).all(|load| load.stretches.is_empty()));
    }
}
