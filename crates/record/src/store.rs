//! The store in one SQLite file.

use crate::export::{Each, write_json};
use crate::predictions::{self, PredictionRow};
use crate::row::{StudyRow, TrialRow};
use crate::stored::{self, COLUMNS};
use crate::study_store::StudyStore;
use crate::summary::{self, StudySummary};
use crate::{document, failures, lookup, open};
use plimsoll_model::{
    Cause, Failure, Figure, KeptPrediction, MeasureInfo, Plan, Study, StudyId, Trial,
};
use rusqlite::{Connection, Row, Transaction, TransactionBehavior};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// A store of studies: one SQLite file. Several programs may use it at once. Everything a method
/// wrote is on stable storage when the method returns.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
}

impl Store {
    /// Opens or creates the store at `path`; a store that cannot be written is opened for reading
    /// only. A file that is not a store, is damaged, or was written by a newer version is refused
    /// and stays unchanged.
    pub fn open(path: impl AsRef<Path>) -> Result<Store, Failure> {
        let path = path.as_ref().to_owned();
        Ok(Store { connection: open::open(&path)?, path })
    }

    /// The same for reading what is kept: a store that is not there is not made, but is empty.
    pub fn open_to_read(path: impl AsRef<Path>) -> Result<Store, Failure> {
        let path = path.as_ref().to_owned();
        match path.try_exists() {
            Ok(false) => Ok(Store::new(open::empty(&path)?, &path)),
            _ => Store::open(path),
        }
    }

    /// Fails where results could not be kept: on a full disk, or where the file or its directory is
    /// not to be written to. To be asked before work is done for them.
    pub fn expect_room(&self) -> Result<(), Failure> {
        let tried = "make sure that the store can keep results";
        open::try_to_write(&self.connection).map_err(|e| {
            open::undo(&self.connection);
            failures::sqlite(tried, &self.path, &e)
        })
    }

    pub(crate) fn new(connection: Connection, path: &Path) -> Store {
        Store { connection, path: path.to_owned() }
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Records whole studies that come from elsewhere, all of them or none. Fails when one of them
    /// is there already.
    pub fn import(&self, studies: &[Study]) -> Result<(), Failure> {
        let mut seen = HashSet::new();
        for Study { id, .. } in studies {
            let twice = !seen.insert(id);
            if twice || self.has(id)? {
                return Err(Failure::new(Cause::Usage, format!("import study {id}"))
                    .on(self.path.display())
                    .happened(if twice {
                        "it is given twice"
                    } else {
                        "it is already in the store"
                    })
                    .next(format!("Nothing was imported; plimsoll show {id} shows it.")));
            }
        }
        let mut rows = Vec::new();
        for study in studies {
            rows.push((StudyRow::new(study)?, TrialRow::all(study)?));
        }
        self.write("import studies", |store| {
            rows.iter().try_for_each(|(study, trials)| {
                study.insert(store)?;
                trials.iter().try_for_each(|trial| trial.insert(store))
            })
        })
    }

    /// The study as JSON in parts, as [`crate::to_json`] has it, with one of its trials in memory at a time.
    pub fn export_json(
        &self,
        reference: &str,
        out: &mut dyn FnMut(&str) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        // One transaction: another program may be adding trials.
        let view = Transaction::new_unchecked(&self.connection, TransactionBehavior::Deferred)
            .map_err(|e| failures::sqlite("export a study", &self.path, &e))?;
        let id = self.find(reference)?;
        let head = self.row(&view, &id, |row| stored::study(row, &self.path, None))?;
        let head = head.ok_or_else(|| self.removed(reference))?;
        let trials = |each: &mut Each<'_>| {
            stored::each_trial(&view, &id.0, &self.path, &mut |trial| each(&trial))
        };
        write_json(&head, &trials, out)
    }

    fn removed(&self, reference: &str) -> Failure {
        failures::no_such_study(&self.path, reference, "it was removed while it was read")
    }

    /// Result of `read` for the row of the study with exactly this id, if it exists.
    fn row<T>(
        &self,
        store: &Connection,
        id: &StudyId,
        read: impl FnOnce(&Row<'_>) -> Result<T, Failure>,
    ) -> Result<Option<T>, Failure> {
        let tried = |e: rusqlite::Error| failures::sqlite("find a study", &self.path, &e);
        let sql = format!("SELECT {COLUMNS} FROM studies WHERE id = ?");
        let mut query = store.prepare_cached(&sql).map_err(tried)?;
        let mut rows = query.query([&id.0]).map_err(tried)?;
        rows.next().map_err(tried)?.map(read).transpose()
    }

    /// The plan of a study that is about to be added to, and what is noted of its measures.
    fn to_be_written(&self, id: &StudyId) -> Result<(Plan, Vec<MeasureInfo>), Failure> {
        let none = || failures::no_such_study(&self.path, &id.0, "no study has this id");
        let read = |row: &Row<'_>| {
            let study = stored::study(row, &self.path, None)?;
            Ok((study.plan, study.measures))
        };
        self.row(&self.connection, id, read)?.ok_or_else(none)
    }

    fn ids(&self, sql: &str, values: impl rusqlite::Params) -> Result<Vec<StudyId>, Failure> {
        let tried = |e: rusqlite::Error| failures::sqlite("find a study", &self.path, &e);
        let mut query = self.connection.prepare_cached(sql).map_err(tried)?;
        let ids = query.query_map(values, |row| Ok(StudyId(row.get(0)?)));
        ids.map_err(tried)?.collect::<Result<_, _>>().map_err(tried)
    }

    /// Whether there is a study with exactly this id.
    fn has(&self, study: &StudyId) -> Result<bool, Failure> {
        Ok(!self.ids("SELECT id FROM studies WHERE id = ?", [&study.0])?.is_empty())
    }

    /// One transaction that takes the write lock at once, so that two programs queue for it
    /// instead of getting in each other's way half-way.
    pub(crate) fn write(
        &self,
        tried: &str,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<()>,
    ) -> Result<(), Failure> {
        let done = Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)
            .and_then(|transaction| {
                work(&transaction)?;
                transaction.commit()
            });
        done.map_err(|e| {
            open::undo(&self.connection);
            match open::is_duplicate(&e) {
                true => failures::duplicate(tried, &self.path),
                false => failures::sqlite(tried, &self.path, &e),
            }
        })
    }
}

impl StudyStore for Store {
    fn begin(&self, study: &Study) -> Result<(), Failure> {
        let row = StudyRow::new(study)?;
        let trials = TrialRow::all(study)?;
        self.write(&format!("record study {}", study.id), |store| {
            row.insert(store)?;
            trials.iter().try_for_each(|trial| trial.insert(store))
        })
    }

    fn add_trial(&self, study: &StudyId, trial: &Trial) -> Result<(), Failure> {
        let (plan, noted) = self.to_be_written(study)?;
        let row = TrialRow::new(study, &plan, trial)?;
        let measures = document::measures(&noted, [trial]);
        let changed = match measures == noted {
            true => None,
            false => Some(document::write(&measures, &format!("the measures of study {study}"))?),
        };
        self.write(&format!("record trial {} of study {study}", trial.number), |store| {
            row.insert(store)?;
            if let Some(measures) = &changed {
                let sql = "UPDATE studies SET measures = ? WHERE id = ?";
                store.execute(sql, [measures, &study.0])?;
            }
            Ok(())
        })
    }

    fn update(&self, study: &Study) -> Result<(), Failure> {
        let (_, noted) = self.to_be_written(&study.id)?;
        let measures = document::measures(&[&noted[..], &study.measures].concat(), &study.trials);
        let study = Study { measures, trials: Vec::new(), ..study.clone() };
        let row = StudyRow::new(&study)?;
        self.write(&format!("record the state of study {}", study.id), |store| row.update(store))
    }

    fn list(&self) -> Result<Vec<StudySummary>, Failure> {
        summary::list(&self.connection, &self.path)
    }

    fn each_head(&self) -> Result<Vec<Result<Study, Failure>>, Failure> {
        stored::each_head(&self.connection, &self.path)
    }

    fn figures(&self, study: &StudyId) -> Result<Vec<Figure>, Failure> {
        stored::figures(&self.connection, &study.0, &self.path)
    }

    fn keep_prediction(&self, prediction: &KeptPrediction) -> Result<(), Failure> {
        let row = PredictionRow::new(prediction)?;
        self.write(&format!("keep the prediction for study {}", prediction.study), |store| {
            row.insert(store)
        })
    }

    /// None in a store of an older version that cannot be written.
    fn predictions(&self, studies: &[&StudyId]) -> Result<Vec<KeptPrediction>, Failure> {
        let tried = |e: rusqlite::Error| failures::sqlite("read the predictions", &self.path, &e);
        if !predictions::has_table(&self.connection).map_err(tried)? {
            return Ok(Vec::new());
        }
        let mut all = Vec::new();
        for study in studies {
            all.extend(predictions::of_study(&self.connection, study, &self.path)?);
        }
        Ok(all)
    }

    fn find(&self, reference: &str) -> Result<StudyId, Failure> {
        let recent = format!(
            "SELECT id FROM studies ORDER BY started_unix_seconds DESC, sequence DESC LIMIT {}",
            lookup::RECENT
        );
        let same = "SELECT id FROM studies WHERE id = ?";
        let begins = format!(
            "SELECT id FROM studies \
             WHERE ?1 <> '' AND substr(id, 1, length(?1)) = ?1 \
             ORDER BY started_unix_seconds DESC, sequence DESC LIMIT {}",
            lookup::ALIKE
        );
        let mut found = self.ids(same, [reference])?;
        if found.is_empty() {
            found = self.ids(&begins, [reference])?;
        }
        lookup::study(&self.path, reference, self.ids(&recent, [])?, found)
    }

    /// A row that cannot be read is a failure that names it.
    fn load(&self, reference: &str) -> Result<Study, Failure> {
        // One transaction: another program may be adding trials.
        let view = Transaction::new_unchecked(&self.connection, TransactionBehavior::Deferred)
            .map_err(|e| failures::sqlite("load a study", &self.path, &e))?;
        let id = self.find(reference)?;
        let loaded = self.row(&view, &id, |row| stored::study(row, &self.path, Some(&view)))?;
        loaded.ok_or_else(|| self.removed(reference))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support;

    fn store() -> (tempfile::TempDir, Store) {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path().join("studies.db")).unwrap();
        store.begin(&Study { trials: Vec::new(), ..support::full() }).unwrap();
        (directory, store)
    }

    #[test]
    fn a_full_disk_is_reported_and_leaves_the_store_whole() {
        let (_directory, store) = store();
        // SQLite's own limit stands for the disk's: both come as SQLITE_FULL.
        store.connection.pragma_update(None, "max_page_count", 40).unwrap();
        let id = support::full().id;
        let add = |number| store.add_trial(&id, &support::trial(number)).err();
        let (kept, failure) = (0..).find_map(|n| add(n).map(|f| (n, f))).unwrap();
        assert_eq!(failure.cause, Cause::NoSpace, "{failure}");
        assert!(failure.next.contains("--db"), "{failure}");
        assert!(kept > 0);
        assert_eq!(
            Store::open(&store.path).unwrap().load(&id.0).unwrap().trials.len(),
            kept as usize
        );
    }

    #[test]
    fn room_for_results_is_asked_for_before_they_are_measured() {
        let (_directory, store) = store();
        let before = std::fs::read(&store.path).unwrap();
        store.expect_room().unwrap();
        assert_eq!(std::fs::read(&store.path).unwrap(), before, "it was given back");
        store.connection.pragma_update(None, "max_page_count", 40).unwrap();
        assert_eq!(store.expect_room().unwrap_err().cause, Cause::NoSpace);
        store.connection.pragma_update(None, "query_only", true).unwrap();
        assert_eq!(store.expect_room().unwrap_err().cause, Cause::NotPermitted);
    }

    #[test]
    fn the_oldest_predictions_make_room_and_a_full_store_keeps_none() {
        let (_directory, store) = store();
        let id = support::full().id;
        let keep = |number: u32| store.keep_prediction(&support::prediction(&id, number));
        for number in 0..predictions::MOST + 3 {
            keep(number).unwrap();
        }
        let kept = store.predictions(&[&id]).unwrap();
        assert_eq!(kept.len(), predictions::MOST as usize);
        assert_eq!(kept[0], support::prediction(&id, 3), "the oldest are gone");
        store.connection.pragma_update(None, "query_only", true).unwrap();
        assert_eq!(keep(9999).unwrap_err().cause, Cause::NotPermitted);
        assert_eq!(store.predictions(&[&id]).unwrap(), kept);
    }

    #[test]
    fn a_statement_that_never_ends_is_ended() {
        let (_directory, store) = store();
        let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) \
                       SELECT 'x' FROM n WHERE i < 0";
        let failure = store.ids(endless, []).unwrap_err();
        assert!(failure.happened.contains("more steps"), "{failure}");
    }

    #[test]
    fn a_read_only_store_is_read_and_its_writing_refused() {
        let (_directory, store) = store();
        store.connection.pragma_update(None, "query_only", true).unwrap();
        assert!(store.load("latest").is_ok());
        let failure = store.add_trial(&support::full().id, &support::trial(0)).unwrap_err();
        assert_eq!(failure.cause, Cause::NotPermitted, "{failure}");
    }
}
