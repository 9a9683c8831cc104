//! The store: studies are begun, filled trial by trial, ended, and loaded again.

use crate::device::DeviceRow;
use crate::row::{StudyRow, TrialRow};
use crate::summary::{self, StudySummary, get, json};
use crate::{open, trouble};
use plimsoll_model::{Cause, Device, DeviceId, Failure, Study, StudyId, Trial};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// What a reference to something kept means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// A study.
    Study(StudyId),
    /// A record of a device.
    Device(DeviceId),
}

/// A store of studies and devices: one SQLite file. Several programs may use it at once. Everything a method
/// wrote is on stable storage when the method returns.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
}

impl Store {
    /// Opens the store at `path` or makes it, and brings it up to date. A file that is not a
    /// store, is damaged, or was written by a newer version is refused and left as it is.
    pub fn open(path: impl AsRef<Path>) -> Result<Store, Failure> {
        let path = path.as_ref().to_owned();
        Ok(Store { connection: open::open(&path)?, path })
    }

    /// The same for reading what is kept: a store that is not there is not made, but is empty.
    pub fn open_to_read(path: impl AsRef<Path>) -> Result<Store, Failure> {
        let path = path.as_ref().to_owned();
        match path.try_exists() {
            Ok(false) => Ok(Store::of(open::empty(&path)?, &path)),
            _ => Store::open(path),
        }
    }

    /// Fails where results could not be kept: on a full disk, or where the file or its directory is
    /// not to be written to. To be asked before work is done for them.
    pub fn expect_room(&self) -> Result<(), Failure> {
        let tried = "make sure that the store can keep results";
        open::try_to_write(&self.connection).map_err(|e| {
            open::undo(&self.connection);
            trouble::sqlite(tried, &self.path, &e)
        })
    }

    pub(crate) fn of(connection: Connection, path: &Path) -> Store {
        Store { connection, path: path.to_owned() }
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The file it is kept in.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Records a new study, with whatever trials it has already (none when it begins), or nothing
    /// of it. Fails when the id is taken.
    pub fn begin(&self, study: &Study) -> Result<(), Failure> {
        let row = StudyRow::new(study)?;
        let trials = study.trials.iter().map(|trial| TrialRow::new(&study.id, trial));
        let trials = trials.collect::<Result<Vec<_>, _>>()?;
        self.write(&format!("record study {}", study.id), |store| {
            row.insert(store)?;
            trials.iter().try_for_each(|trial| trial.insert(store))
        })
    }

    /// Records whole studies that come from elsewhere, all of them or none. Fails when one of them
    /// is there already.
    pub fn import(&self, studies: &[Study]) -> Result<(), Failure> {
        self.import_all(studies, &[])
    }

    /// The same for studies and records of devices.
    pub fn import_all(&self, studies: &[Study], devices: &[Device]) -> Result<(), Failure> {
        let mut seen = HashSet::new();
        let ids = studies.iter().map(|study| (&study.id.0, "study"));
        for (id, kind) in ids.chain(devices.iter().map(|device| (&device.id.0, "device"))) {
            let twice = !seen.insert(id);
            if twice || self.is_taken(id)? {
                return Err(Failure::new(
                    Cause::Usage,
                    format!("import {kind} {id}"),
                    self.path.display(),
                    if twice { "it is given twice" } else { "it is in the store already" },
                    format!("Nothing was imported; plimsoll show {id} shows it."),
                ));
            }
        }
        let mut rows = Vec::new();
        for study in studies {
            let trials = study.trials.iter().map(|trial| TrialRow::new(&study.id, trial));
            rows.push((StudyRow::new(study)?, trials.collect::<Result<Vec<_>, _>>()?));
        }
        let devices = devices.iter().map(DeviceRow::new).collect::<Result<Vec<_>, _>>()?;
        self.write("import studies", |store| {
            rows.iter().try_for_each(|(study, trials)| {
                study.insert(store)?;
                trials.iter().try_for_each(|trial| trial.insert(store))
            })?;
            devices.iter().try_for_each(|device| device.insert(store))
        })
    }

    /// Records a trial; it is durable when this returns. Quantities that are not finite are left
    /// out. Fails when the study is unknown or has a trial of that number.
    pub fn add_trial(&self, study: &StudyId, trial: &Trial) -> Result<(), Failure> {
        let row = TrialRow::new(study, trial)?;
        self.expect(study)?;
        self.write(&format!("record trial {} of study {study}", trial.number), |store| {
            row.insert(store)
        })
    }

    /// Records anew everything of a study but its trials: plan, targets, hosts, flags, end. Fails
    /// when the study is unknown.
    pub fn update(&self, study: &Study) -> Result<(), Failure> {
        let row = StudyRow::new(study)?;
        self.expect(&study.id)?;
        self.write(&format!("record the state of study {}", study.id), |store| row.update(store))
    }

    /// Every study in the order begun, the latest last.
    pub fn list(&self) -> Result<Vec<StudySummary>, Failure> {
        summary::list(&self.connection, &self.path)
    }

    /// The study with this id, whose id begins so and no other record's does, or the `latest` begun
    /// of all records, if that is a study. Its trials come in their order. A row that cannot be read
    /// is a failure that names it.
    pub fn load(&self, reference: &str) -> Result<Study, Failure> {
        let told = |e: rusqlite::Error| trouble::sqlite("load a study", &self.path, &e);
        // One transaction: another program may be adding trials.
        let view = Transaction::new_unchecked(&self.connection, TransactionBehavior::Deferred)
            .map_err(told)?;
        let id = match self.find(reference)? {
            Kept::Study(id) => id.0,
            Kept::Device(id) => {
                return Err(Failure::new(
                    Cause::Usage,
                    format!("find the study '{}'", reference.escape_debug()),
                    self.path.display(),
                    format!("{id} is the record of a device"),
                    "Name a study; plimsoll list shows them all.",
                ));
            }
        };
        let mut query = view
            .prepare_cached(
                "SELECT started_unix_seconds, schema, origin, plan, targets, hosts, flags, ended \
                 FROM studies WHERE id = ?",
            )
            .map_err(told)?;
        let mut rows = query.query([&id]).map_err(told)?;
        let row = rows.next().map_err(told)?.ok_or_else(|| {
            trouble::no_such_study(&self.path, reference, "it went away while it was read")
        })?;
        let mut study = self.study(&id, row)?;
        study.trials = self.trials(&id)?;
        Ok(study)
    }

    fn study(&self, id: &str, row: &Row<'_>) -> Result<Study, Failure> {
        let path = &self.path;
        let named = |part: &str| format!("the {part} of study {id}");
        Ok(Study {
            id: StudyId(id.to_owned()),
            started_unix_seconds: get(row, 0, path, &named("start"))?,
            schema: get(row, 1, path, &named("schema"))?,
            origin: json(row, 2, path, &named("origin"))?,
            plan: json(row, 3, path, &named("plan"))?,
            targets: json(row, 4, path, &named("targets"))?,
            hosts: json(row, 5, path, &named("hosts"))?,
            flags: json(row, 6, path, &named("flags"))?,
            ended: json(row, 7, path, &named("end"))?,
            trials: Vec::new(),
        })
    }

    fn trials(&self, id: &str) -> Result<Vec<Trial>, Failure> {
        let told = |e: rusqlite::Error| trouble::sqlite("load a study", &self.path, &e);
        let mut query = self
            .connection
            .prepare_cached("SELECT document, number FROM trials WHERE study = ? ORDER BY number")
            .map_err(told)?;
        let mut rows = query.query([id]).map_err(told)?;
        let mut trials = Vec::new();
        while let Some(row) = rows.next().map_err(told)? {
            let number: i64 = get(row, 1, &self.path, &format!("a trial of study {id}"))?;
            trials.push(json(row, 0, &self.path, &format!("trial {number} of study {id}"))?);
        }
        Ok(trials)
    }

    /// The study or device whose id this is, whose id begins so and no other's does, or the `latest`
    /// begun.
    pub fn find(&self, reference: &str) -> Result<Kept, Failure> {
        let recent = self.ids(
            "SELECT id, kind FROM records ORDER BY started_unix_seconds DESC, sequence DESC LIMIT 5",
            [],
        )?;
        let wrong = |why: String| trouble::no_such_study(&self.path, reference, why);
        if reference == "latest" {
            return recent.into_iter().next().ok_or_else(|| wrong("the store is empty".into()));
        }
        let same = "SELECT id, kind FROM records WHERE id = ?";
        let begins = "SELECT id, kind FROM records \
                      WHERE ?1 <> '' AND substr(id, 1, length(?1)) = ?1 \
                      ORDER BY started_unix_seconds DESC, sequence DESC LIMIT 6";
        let mut found = self.ids(same, [reference])?;
        if found.is_empty() {
            found = self.ids(begins, [reference])?;
        }
        let listed = |ids: &[Kept]| {
            let ids = ids.iter().map(|kept| match kept {
                Kept::Study(id) => id.0.as_str(),
                Kept::Device(id) => id.0.as_str(),
            });
            ids.collect::<Vec<_>>().join(", ")
        };
        match found.len() {
            1 => Ok(found.remove(0)),
            0 if recent.is_empty() => Err(wrong("the store is empty".into())),
            0 => Err(wrong(format!("there is none; the latest are: {}", listed(&recent)))),
            _ => Err(wrong(format!("several begin so: {}", listed(&found)))),
        }
    }

    fn ids(&self, sql: &str, values: impl rusqlite::Params) -> Result<Vec<Kept>, Failure> {
        let told = |e: rusqlite::Error| trouble::sqlite("find a study", &self.path, &e);
        let mut query = self.connection.prepare_cached(sql).map_err(told)?;
        let ids = query.query_map(values, |row| {
            let (id, kind): (String, String) = (row.get(0)?, row.get(1)?);
            Ok(match kind.as_str() {
                "device" => Kept::Device(DeviceId(id)),
                _ => Kept::Study(StudyId(id)),
            })
        });
        ids.map_err(told)?.collect::<Result<_, _>>().map_err(told)
    }

    /// Fails when there is no study with exactly this id.
    fn expect(&self, study: &StudyId) -> Result<(), Failure> {
        match self.has(study)? {
            true => Ok(()),
            false => Err(trouble::no_such_study(&self.path, &study.0, "there is none")),
        }
    }

    /// Whether a study or a device has exactly this id.
    fn is_taken(&self, id: &str) -> Result<bool, Failure> {
        let same = self.ids("SELECT id, kind FROM records WHERE id = ?", [id])?;
        Ok(!same.is_empty())
    }

    /// Whether there is a study with exactly this id.
    fn has(&self, study: &StudyId) -> Result<bool, Failure> {
        let found = self
            .connection
            .query_row("SELECT 1 FROM studies WHERE id = ?", [&study.0], |_| Ok(()))
            .optional()
            .map_err(|e| trouble::sqlite("find a study", &self.path, &e))?;
        Ok(found.is_some())
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
                true => Failure::new(
                    Cause::Trial,
                    tried,
                    self.path.display(),
                    "it is recorded already",
                    "Nothing was changed; a study's id and a trial's number are used once.",
                ),
                false => trouble::sqlite(tried, &self.path, &e),
            }
        })
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
    fn a_full_disk_is_told_and_leaves_the_store_whole() {
        let (_directory, store) = store();
        // SQLite's own limit stands for the disk's: both come as SQLITE_FULL.
        store.connection.pragma_update(None, "max_page_count", 40).unwrap();
        let id = support::full().id;
        let add = |number| store.add_trial(&id, &support::trial(number)).err();
        let (kept, failure) = (0..).find_map(|n| add(n).map(|f| (n, f))).unwrap();
        assert_eq!(failure.cause, Cause::NoSpace, "{failure}");
        assert!(failure.next.contains("--db"), "{failure}");
        assert!(kept > 0);
        assert_eq!(Store::open(&store.path).unwrap().trials(&id.0).unwrap().len(), kept as usize);
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
    fn a_statement_that_never_ends_is_ended() {
        let (_directory, store) = store();
        let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) \
                       SELECT 'x', 'study' FROM n WHERE i < 0";
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
