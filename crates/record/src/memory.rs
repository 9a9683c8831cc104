//! A store in memory, for tests and simulations.

use crate::document::{self, with_finite_quantities};
use crate::predictions::MOST;
use crate::{StudyStore, StudySummary, failures, lookup};
use plimsoll_model::{Cause, Failure, Figure, KeptPrediction, PastStudy, Study, StudyId, Trial};
use std::cell::{Cell, RefCell};
use std::path::Path;

/// Store of studies that ends with the program. It can be filled up and damaged as a file can.
#[derive(Debug, Default)]
pub struct MemoryStore {
    /// In the order begun.
    studies: RefCell<Vec<Study>>,
    /// The oldest first.
    predictions: RefCell<Vec<KeptPrediction>>,
    /// Trials that it takes in all; `None`: any number.
    room: Cell<Option<usize>>,
    is_damaged: Cell<bool>,
}

impl MemoryStore {
    /// Takes this many trials in all and refuses others, as on a full disk.
    pub fn limit(&self, trials: usize) {
        self.room.set(Some(trials));
    }

    /// Refuses to load whole studies, as if trials could not be read, or loads them again.
    pub fn set_damaged(&self, is_damaged: bool) {
        self.is_damaged.set(is_damaged);
    }

    /// Result of `work` for the study with exactly this id.
    fn with<T>(
        &self,
        id: &StudyId,
        work: impl FnOnce(&mut Study) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut studies = self.studies.borrow_mut();
        match studies.iter_mut().find(|study| study.id == *id) {
            Some(study) => work(study),
            None => Err(failures::no_such_study(path(), &id.0, "no study has this id")),
        }
    }

    fn sort(&self) {
        self.studies.borrow_mut().sort_by_key(|study| study.started_unix_seconds);
    }
}

/// Its name in messages.
fn path() -> &'static Path {
    Path::new("memory")
}

impl StudyStore for MemoryStore {
    fn begin(&self, study: &Study) -> Result<(), Failure> {
        let is_known = self.studies.borrow().iter().any(|known| known.id == study.id);
        let mut trials: Vec<Trial> = study.trials.iter().map(with_finite_quantities).collect();
        trials.sort_by_key(|trial| trial.number);
        if is_known || trials.windows(2).any(|pair| pair[0].number == pair[1].number) {
            return Err(failures::duplicate(&format!("record study {}", study.id), path()));
        }
        let measures = document::measures(&study.measures, &study.trials);
        let study = Study { measures, trials, ..study.without_trials() };
        self.studies.borrow_mut().push(study);
        self.sort();
        Ok(())
    }

    fn add_trial(&self, study: &StudyId, trial: &Trial) -> Result<(), Failure> {
        let tried = format!("record trial {} of study {study}", trial.number);
        let trials: usize = self.studies.borrow().iter().map(|study| study.trials.len()).sum();
        let is_full = self.room.get().is_some_and(|room| trials >= room);
        self.with(study, |study| {
            let place = study.trials.binary_search_by_key(&trial.number, |own| own.number);
            let Err(place) = place else {
                return Err(failures::duplicate(&tried, path()));
            };
            if is_full {
                return Err(Failure::new(Cause::NoSpace, tried)
                    .on(path().display())
                    .happened("the store is full")
                    .next("Give it more room."));
            }
            study.measures = document::measures(&study.measures, [trial]);
            study.trials.insert(place, with_finite_quantities(trial));
            Ok(())
        })
    }

    fn update(&self, study: &Study) -> Result<(), Failure> {
        self.with(&study.id, |own| {
            let noted = [&own.measures[..], &study.measures[..]].concat();
            let measures = document::measures(&noted, &study.trials);
            let trials = std::mem::take(&mut own.trials);
            *own = Study { measures, trials, ..study.without_trials() };
            Ok(())
        })?;
        self.sort();
        Ok(())
    }

    fn keep_prediction(&self, prediction: &KeptPrediction) -> Result<(), Failure> {
        self.with(&prediction.study, |_| Ok(()))?;
        let mut all = self.predictions.borrow_mut();
        let is_same = |own: &KeptPrediction| {
            own.study == prediction.study && own.changes == prediction.changes
        };
        let same = all.iter().position(is_same);
        match same {
            Some(place) if prediction.measured.is_some() => {
                all[place].measured.clone_from(&prediction.measured);
            }
            Some(_) => {}
            None => all.push(prediction.clone()),
        }
        let surplus = all.len().saturating_sub(MOST as usize);
        all.drain(..surplus);
        Ok(())
    }

    fn list(&self) -> Result<Vec<StudySummary>, Failure> {
        Ok(self.studies.borrow().iter().map(StudySummary::new).collect())
    }

    fn each_head(&self) -> Result<Vec<Result<Study, Failure>>, Failure> {
        Ok(self.studies.borrow().iter().map(|study| Ok(study.without_trials())).collect())
    }

    fn figures(&self, study: &StudyId) -> Result<Vec<Figure>, Failure> {
        let studies = self.studies.borrow();
        let own = studies.iter().find(|own| own.id == *study);
        Ok(own.map_or_else(Vec::new, |study| PastStudy::new(study).figures))
    }

    fn predictions(&self, studies: &[&StudyId]) -> Result<Vec<KeptPrediction>, Failure> {
        let all = self.predictions.borrow();
        let of_study = |study: &&StudyId| -> Vec<KeptPrediction> {
            all.iter().filter(|own| own.study == **study).cloned().collect()
        };
        Ok(studies.iter().flat_map(of_study).collect())
    }

    fn find(&self, reference: &str) -> Result<StudyId, Failure> {
        let studies = self.studies.borrow();
        let ids: Vec<StudyId> = studies.iter().rev().map(|study| study.id.clone()).collect();
        let mut found: Vec<StudyId> = ids.iter().filter(|id| id.0 == reference).cloned().collect();
        if found.is_empty() && !reference.is_empty() {
            let alike = ids.iter().filter(|id| id.0.starts_with(reference));
            found = alike.take(lookup::ALIKE).cloned().collect();
        }
        let recent = ids.into_iter().take(lookup::RECENT).collect();
        lookup::study(path(), reference, recent, found)
    }

    fn load(&self, reference: &str) -> Result<Study, Failure> {
        let id = self.find(reference)?;
        if self.is_damaged.get() {
            let how = format!("the trials of study {id} cannot be read");
            return Err(failures::damaged("load a study", path(), how));
        }
        self.with(&id, |study| Ok(study.clone()))
    }
}
