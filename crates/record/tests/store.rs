//! The store keeps what it was given, tells what is wrong, and never overwrites what is not its own.

mod support;

use plimsoll_model::{Cause, Ended, Flag, KeptPrediction, Study, StudyId, SubjectKind};
use plimsoll_record::{Store, StudyStore};
use proptest::prelude::*;
use rusqlite::Connection;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use support::{full, prediction, trial};
use tempfile::TempDir;

fn fresh() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("plimsoll/studies.db");
    (directory, path)
}

fn named(id: &str, started_unix_seconds: u64) -> Study {
    Study { id: StudyId(id.into()), started_unix_seconds, trials: Vec::new(), ..full() }
}

#[test]
fn a_study_is_built_step_by_step_and_loaded() {
    let (_directory, path) = fresh();
    let store = Store::open(&path).unwrap();
    let mode = fs::metadata(path.parent().unwrap()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);

    let whole = full();
    let begun = Study {
        subjects: Vec::new(),
        hosts: Vec::new(),
        flags: Vec::new(),
        trials: Vec::new(),
        ended: Ended::Open,
        ..whole.clone()
    };
    store.begin(&begun).unwrap();
    assert_eq!(store.load("latest").unwrap(), begun);
    let partly = Study { flags: vec![Flag::LongGap { seconds: 1.5 }], ..begun };
    store.update(&partly).unwrap();
    for trial in &whole.trials {
        store.add_trial(&whole.id, trial).unwrap();
    }
    assert_eq!(store.load("0123").unwrap(), Study { trials: whole.trials.clone(), ..partly });
    store.update(&whole).unwrap();

    let again = Store::open(&path).unwrap();
    assert_eq!(again.load(&whole.id.0).unwrap(), whole);
    let list = again.list().unwrap();
    assert_eq!(list.len(), 1);
    let given: Vec<&str> = list[0].subjects.iter().map(|s| s.given.as_str()).collect();
    assert_eq!(given, ["nfs://nas/volume1", "/srv/Übung"]);
    assert!(list[0].subjects.iter().all(|s| s.kind == Some(SubjectKind::Storage)));
    assert_eq!(list[0].jobs, ["random-mixed", "sequential-write"]);
    assert_eq!((list[0].blocks, list[0].complete, list[0].incomplete), (1, 1, 2));
    assert_eq!(list[0].ended, whole.ended);
}

#[test]
fn references_are_unique_or_refused_with_what_there_is() {
    let (_directory, path) = fresh();
    let store = Store::open(&path).unwrap();
    let empty = store.load("latest").unwrap_err();
    assert!(empty.to_string().contains("the store is empty"), "{empty}");
    for (id, started) in [("aa11", 30), ("aa22", 10), ("aa", 20), ("b_%c", 5)] {
        store.begin(&named(id, started)).unwrap();
    }
    let id = |reference: &str| store.load(reference).map(|study| study.id.0);
    assert_eq!(id("latest").unwrap(), "aa11", "by start, not by order of recording");
    assert_eq!(id("aa").unwrap(), "aa", "a whole id wins over beginnings");
    assert_eq!(id("aa2").unwrap(), "aa22");
    assert_eq!(id("b_%").unwrap(), "b_%c");
    let several = id("a").unwrap_err();
    assert_eq!(several.cause, Cause::Usage);
    assert!(several.happened.contains("aa11") && several.happened.contains("aa22"), "{several}");
    for reference in ["%", "_a", "zz", "", "aa11 ", "\u{1b}[2J"] {
        let none = id(reference).unwrap_err();
        assert!(none.happened.contains("aa11, aa, aa22, b_%c"), "{none}");
        assert!(!none.to_string().contains('\u{1b}'));
    }
}

#[test]
fn ids_and_numbers_are_used_once_and_half_a_study_is_not_kept() {
    let (_directory, path) = fresh();
    let store = Store::open(&path).unwrap();
    store.begin(&named("aa", 1)).unwrap();
    assert!(store.begin(&named("aa", 2)).unwrap_err().happened.contains("already"));
    store.add_trial(&StudyId("aa".into()), &trial(0)).unwrap();
    let twice = store.add_trial(&StudyId("aa".into()), &trial(0)).unwrap_err();
    assert!(twice.happened.contains("already"), "{twice}");
    let unknown = store.add_trial(&StudyId("zz".into()), &trial(0)).unwrap_err();
    assert_eq!(unknown.cause, Cause::Usage);
    assert_eq!(store.update(&named("zz", 1)).unwrap_err().cause, Cause::Usage);
    assert_eq!(store.load("aa").unwrap().trials.len(), 1);

    let doubled = Study { trials: vec![trial(3), trial(3)], ..named("bb", 3) };
    assert!(store.begin(&doubled).is_err());
    assert!(store.load("bb").is_err());
}

#[test]
fn files_that_are_not_a_store_are_left_as_they_are() {
    let (_directory, path) = fresh();
    fs::create_dir_all(path.parent().unwrap()).unwrap();

    let text = "a letter to a friend, long enough to be taken for a header of a hundred bytes \
                if nobody looks at it more closely than that";
    fs::write(&path, text).unwrap();
    let failure = Store::open(&path).unwrap_err();
    assert_eq!(failure.cause, Cause::Usage);
    assert!(failure.on.contains("studies.db") && failure.next.contains("--db"), "{failure}");
    assert_eq!(fs::read_to_string(&path).unwrap(), text);

    fs::remove_file(&path).unwrap();
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE recipes (name TEXT)").unwrap();
    let before = fs::read(&path).unwrap();
    let failure = Store::open(&path).unwrap_err();
    assert!(failure.happened.contains("another program"), "{failure}");
    assert_eq!(fs::read(&path).unwrap(), before);

    fs::remove_file(&path).unwrap();
    Store::open(&path).unwrap();
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let before = fs::read(&path).unwrap();
    let failure = Store::open(&path).unwrap_err();
    for said in ["version 99", "this plimsoll reads version 2", "before the first release"] {
        assert!(failure.happened.contains(said), "{said}: {failure}");
    }
    for said in ["It was not changed", "move the file away", "--db FILE", "newer plimsoll"] {
        assert!(failure.next.contains(said), "{said}: {failure}");
    }
    assert_eq!(fs::read(&path).unwrap(), before);

    let failure = Store::open(path.parent().unwrap()).unwrap_err();
    assert_eq!(failure.cause, Cause::NotPermitted, "{failure}");
    let failure = Store::open(path.join("below/a/file.db")).unwrap_err();
    assert!(failure.tried.contains("directory"), "{failure}");
}

#[test]
fn an_empty_file_becomes_a_store() {
    let file = tempfile::NamedTempFile::new().unwrap();
    assert_eq!(Store::open(file.path()).unwrap().list().unwrap(), []);
}

#[test]
fn a_store_and_its_journal_are_for_their_owner_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("shared.db");
    let store = Store::open(&path).unwrap();
    store.begin(&full()).unwrap();
    let raw = Connection::open(&path).unwrap();
    raw.execute_batch("BEGIN IMMEDIATE; DELETE FROM trials").unwrap();
    let files: Vec<_> = fs::read_dir(directory.path()).unwrap().map(Result::unwrap).collect();
    assert_eq!(files.len(), 2, "the store and its journal: {files:?}");
    for file in files {
        let mode = file.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}: {mode:o}", file.path().display());
    }
}

/// A file from elsewhere is a store only if everything in it is what plimsoll makes.
#[test]
fn a_store_with_views_triggers_or_tables_of_others_is_refused() {
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT";
    for (what, sql) in [
        (
            "view 'records'",
            format!("CREATE VIEW records AS {endless} 'x' || i AS id, i AS sequence FROM n"),
        ),
        (
            "table 'trials'",
            "ALTER TABLE trials RENAME TO kept; CREATE VIEW trials AS SELECT * FROM kept".into(),
        ),
        (
            "trigger 'copy'",
            "CREATE TRIGGER copy AFTER INSERT ON trials BEGIN DELETE FROM studies; END".into(),
        ),
        ("index 'dear'", "CREATE INDEX dear ON trials (length(document))".into()),
        ("table 'other'", "CREATE TABLE other (x)".into()),
        ("table 'trials'", "DROP TABLE trials".into()),
    ] {
        let (_directory, path) = fresh();
        Store::open(&path).unwrap().begin(&full()).unwrap();
        Connection::open(&path).unwrap().execute_batch(&sql).unwrap();
        let before = fs::read(&path).unwrap();
        let failure = Store::open(&path).unwrap_err();
        assert_eq!(failure.cause, Cause::Usage, "{failure}");
        assert!(failure.happened.contains("not that of plimsoll"), "{what}: {failure}");
        assert_eq!(fs::read(&path).unwrap(), before, "{what}");
    }
}

/// Not after ten minutes, when the first trial is to be kept.
#[test]
fn a_damaged_store_is_found_when_it_is_opened() {
    let (_directory, path) = fresh();
    let store = Store::open(&path).unwrap();
    store.begin(&Study { trials: (0..40).map(trial).collect(), ..full() }).unwrap();
    drop(store);
    let whole = fs::read(&path).unwrap();
    let page = 4096;
    assert!(whole.len() > 8 * page, "{}", whole.len());
    // A page in the middle is lost; the file is cut; two pages have changed places.
    let mut lost = whole.clone();
    lost[whole.len() / page / 2 * page..][..page].fill(0);
    let cut = whole[..whole.len() - 2 * page].to_vec();
    let mut swapped = whole.clone();
    swapped.copy_within(page..2 * page, 2 * page);
    swapped[page..2 * page].copy_from_slice(&whole[2 * page..3 * page]);
    // Random bytes in the middle of each page but the first, and of the schema's own page.
    let mut chance = 42u64;
    let mut random = whole.clone();
    for byte in random[page..].chunks_mut(page).flat_map(|page| &mut page[..64]) {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        *byte = (chance >> 56) as u8;
    }
    let mut schema = whole.clone();
    schema[100..110].fill(0xff);
    let damaged = [("lost", lost), ("cut", cut), ("swapped", swapped), ("random", random)];
    for (what, bytes) in damaged.into_iter().chain([("schema", schema)]) {
        fs::write(&path, &bytes).unwrap();
        let failure = Store::open(&path).unwrap_err();
        assert_eq!(failure.cause, Cause::Trial, "{what}: {failure}");
        assert!(failure.happened.starts_with("the store is damaged: "), "{what}: {failure}");
        assert!(failure.next.contains(".recover"), "{what}: {failure}");
        assert_eq!(fs::read(&path).unwrap(), bytes, "{what}: it was left as it is");
    }
    fs::write(&path, &whole).unwrap();
    assert_eq!(Store::open(&path).unwrap().load("latest").unwrap().trials.len(), 40);
}

#[test]
fn a_store_that_is_not_there_is_not_made_for_reading() {
    let (_directory, path) = fresh();
    let store = Store::open_to_read(&path).unwrap();
    assert!(store.list().unwrap().is_empty());
    assert!(store.load("latest").unwrap_err().happened.contains("the store is empty"));
    assert!(!path.parent().unwrap().exists());
}

#[test]
fn the_first_prediction_of_a_change_stays_and_gets_the_study_that_measured_it() {
    let (_directory, path) = fresh();
    let store = Store::open(&path).unwrap();
    let [first, second] = ["aa", "bb"].map(|id| StudyId(id.into()));
    let early = prediction(&first, 1);
    let unknown = store.keep_prediction(&early).unwrap_err();
    assert!(unknown.tried.contains("the prediction for study aa"), "{unknown}");
    store.begin(&named("aa", 1)).unwrap();
    store.begin(&named("bb", 2)).unwrap();
    store.keep_prediction(&early).unwrap();
    store.keep_prediction(&prediction(&second, 2)).unwrap();
    let again = KeptPrediction {
        made_unix_seconds: 99,
        rows: Vec::new(),
        measured: Some(second.clone()),
        ..early.clone()
    };
    store.keep_prediction(&again).unwrap();
    let scored = KeptPrediction { measured: Some(second.clone()), ..early.clone() };
    store.keep_prediction(&early).unwrap();
    let all = store.predictions(&[&first, &second]).unwrap();
    assert_eq!(all, [scored, prediction(&second, 2)]);
    assert_eq!(store.predictions(&[&second]).unwrap(), all[1..]);
    // A change that a newer version knows is left out; the other predictions stay.
    let raw = Connection::open(&path).unwrap();
    raw.execute("UPDATE predictions SET changes = '[{\"fan\": 2}]' WHERE study = 'aa'", [])
        .unwrap();
    assert_eq!(store.predictions(&[&first, &second]).unwrap(), [prediction(&second, 2)]);
}

/// Stores of the version before predictions were kept.
#[test]
fn a_store_without_the_table_of_predictions_gets_it() {
    let (_directory, path) = fresh();
    Store::open(&path).unwrap().begin(&full()).unwrap();
    let older = "DROP TABLE predictions; PRAGMA user_version = 1";
    Connection::open(&path).unwrap().execute_batch(older).unwrap();
    let store = Store::open(&path).unwrap();
    assert_eq!(store.load("latest").unwrap(), full());
    let kept = prediction(&full().id, 7);
    store.keep_prediction(&kept).unwrap();
    assert_eq!(store.predictions(&[&full().id]).unwrap(), [kept]);
}

#[test]
fn a_row_that_cannot_be_read_is_named() {
    let (_directory, path) = fresh();
    let store = Store::open(&path).unwrap();
    store.begin(&full()).unwrap();
    let raw = Connection::open(&path).unwrap();
    let damage = |sql: &str| assert_eq!(raw.execute(sql, []).unwrap(), 1);

    damage("UPDATE trials SET document = 'nonsense' WHERE number = 1");
    let failure = store.load("latest").unwrap_err();
    assert!(failure.tried.contains("trial 1 of study 0123abcd"), "{failure}");
    assert!(store.list().is_ok());

    damage("UPDATE studies SET schema = 'plimsoll/3'");
    let failure = store.load("latest").unwrap_err();
    assert!(failure.happened.contains("'plimsoll/3' was made by a newer version"), "{failure}");
    assert!(failure.next.contains("newer plimsoll"), "{failure}");
    assert_eq!(store.add_trial(&full().id, &trial(9)).unwrap_err(), failure);
    damage("UPDATE studies SET schema = 'plimsoll/1'");

    damage("UPDATE studies SET plan = CAST(x'ff' AS TEXT)");
    let failure = store.load("latest").unwrap_err();
    assert!(failure.tried.contains("plan of study 0123abcd"), "{failure}");
    let failure = store.list().unwrap_err();
    assert!(failure.tried.contains("0123abcd"), "{failure}");

    // The others can be read.
    store.begin(&named("cc", 2_000_000_000)).unwrap();
    let heads = store.each_head().unwrap();
    let [Err(failure), Ok(other)] = &heads[..] else { panic!("{heads:?}") };
    assert!(failure.tried.contains("plan of study 0123abcd"), "{failure}");
    assert_eq!(other.id.0, "cc");
    assert_eq!(store.heads().unwrap_err(), *failure);
}

#[test]
fn fields_of_a_later_version_are_ignored() {
    let (_directory, path) = fresh();
    let store = Store::open(&path).unwrap();
    store.begin(&full()).unwrap();
    let raw = Connection::open(&path).unwrap();
    raw.execute("UPDATE trials SET document = json_set(document, '$.weather', 'fine')", [])
        .unwrap();
    raw.execute("UPDATE studies SET plan = json_set(plan, '$.weather', json('[1]'))", []).unwrap();
    assert_eq!(store.load("latest").unwrap(), full());
}

#[test]
fn two_programs_use_the_store_at_once() {
    let (_directory, path) = fresh();
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let path = &path;
            scope.spawn(move || {
                // All four also race to make the file and its tables.
                let store = Store::open(path).unwrap();
                let study = named(&format!("{worker}{worker}"), worker);
                store.begin(&study).unwrap();
                for number in 0..10 {
                    store.add_trial(&study.id, &trial(number)).unwrap();
                    assert_eq!(store.load(&study.id.0).unwrap().trials.len(), number as usize + 1);
                }
            });
        }
    });
    let store = Store::open(&path).unwrap();
    assert_eq!(store.list().unwrap().iter().map(|s| s.complete).collect::<Vec<_>>(), [10; 4]);
}

/// Who looked while another made the store could see its version and not yet whose it is.
#[test]
fn a_store_that_is_just_being_made_is_not_taken_for_another_programs() {
    for _ in 0..30 {
        let (_directory, path) = fresh();
        std::thread::scope(|scope| {
            for delay in 0..24 {
                let path = &path;
                scope.spawn(move || {
                    std::thread::sleep(std::time::Duration::from_micros(delay * 150));
                    Store::open(path).map(drop).unwrap();
                });
            }
        });
    }
}

#[test]
fn figures_that_are_not_finite_are_left_out_or_refused() {
    let (_directory, path) = fresh();
    let store = Store::open(&path).unwrap();
    store.begin(&named("aa", 1)).unwrap();
    let id = StudyId("aa".into());
    let mut odd = trial(0);
    let quantities = &mut odd.result.parts[0].quantities;
    quantities.values_mut().for_each(|v| *v = f64::NAN);
    store.add_trial(&id, &odd).unwrap();
    assert!(store.load("aa").unwrap().trials[0].result.parts[0].quantities.is_empty());
    odd.number = 1;
    odd.loads[0].seconds = f64::INFINITY;
    let failure = store.add_trial(&id, &odd).unwrap_err();
    assert!(failure.on.contains("trial 1 of study aa"), "{failure}");
    assert_eq!(store.load("aa").unwrap().trials.len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_study_is_kept(study in support::any::study()) {
        let (_directory, path) = fresh();
        let store = Store::open(&path).unwrap();
        store.begin(&study).unwrap();
        prop_assert_eq!(store.load("latest").unwrap(), study);
        prop_assert_eq!(store.list().unwrap().len(), 1);
    }
    #[test]
    fn a_damaged_file_is_read_or_refused(at in 0.0..1.0f64, noise in prop::collection::vec(any::<u8>(), 1..64)) {
        let (_directory, path) = fresh();
        Store::open(&path).unwrap().begin(&full()).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        let from = (at * (bytes.len() - noise.len()) as f64) as usize;
        bytes[from..from + noise.len()].copy_from_slice(&noise);
        fs::write(&path, bytes).unwrap();
        if let Ok(store) = Store::open(&path) {
            let _ = store.list();
            let _ = store.load("latest");
            let _ = store.add_trial(&full().id, &trial(9));
        }
    }
}
