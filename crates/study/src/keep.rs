//! Where a study's trials go as they end.

use plimsoll_model::{Failure, Study, StudyId, Trial};

/// Keeps a study. Each call has kept what it was given when it returns.
pub trait Keep {
    /// A study begins; it has no trials yet.
    fn begin(&mut self, study: &Study) -> Result<(), Failure>;
    /// A trial ended.
    fn add_trial(&mut self, study: &Study, trial: &Trial) -> Result<(), Failure>;
    /// Keeps anew what is known of the study beside its trials: facts, flags, how it ended.
    fn update(&mut self, study: &Study) -> Result<(), Failure>;
    /// The trials of a study as they were kept, in their order; `None` where none can be read back.
    fn trials(&self, _study: &StudyId) -> Option<Result<Vec<Trial>, Failure>> {
        None
    }
}

impl Keep for plimsoll_record::Store {
    fn begin(&mut self, study: &Study) -> Result<(), Failure> {
        plimsoll_record::Store::begin(self, study)
    }
    fn add_trial(&mut self, study: &Study, trial: &Trial) -> Result<(), Failure> {
        plimsoll_record::Store::add_trial(self, &study.id, trial)
    }
    fn update(&mut self, study: &Study) -> Result<(), Failure> {
        plimsoll_record::Store::update(self, study)
    }
    fn trials(&self, study: &StudyId) -> Option<Result<Vec<Trial>, Failure>> {
        Some(self.load(&study.0).map(|study| study.trials))
    }
}

/// Keeps nothing beyond the study that is handed back; for simulations.
pub struct InMemory;

impl Keep for InMemory {
    fn begin(&mut self, _: &Study) -> Result<(), Failure> {
        Ok(())
    }
    fn add_trial(&mut self, _: &Study, _: &Trial) -> Result<(), Failure> {
        Ok(())
    }
    fn update(&mut self, _: &Study) -> Result<(), Failure> {
        Ok(())
    }
}
