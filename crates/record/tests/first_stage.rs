//! Records that version 0.1.0 of the first stage wrote: they open, and every figure is what it was.
//! `first_stage/README.md` says what there is and how it was made.

#[path = "first_stage/flat.rs"]
mod flat;

use plimsoll_model::{Cause, Ended, Outcome, Study, StudyId};
use plimsoll_record::{ImportFile, ImportOptions, Store, from_json, import, to_csv, to_json};
use serde_json::{Number, Value};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn text(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/first_stage").join(file);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A copy of the store, for opening it may bring it up to date.
fn copy() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("studies.db");
    let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/first_stage/studies.db");
    fs::copy(original, &path).unwrap();
    (directory, path)
}

/// Ids and names.
type Records = Vec<(String, String)>;

/// The studies and the devices.
fn records() -> (Records, Records) {
    let list = text("records.txt");
    let pairs = list.lines().map(|line| line.split_once(' ').expect("id and name"));
    let pairs = pairs.map(|(id, name)| (id.to_owned(), name.to_owned()));
    let (devices, studies): (Records, Records) =
        pairs.partition(|(_, name)| name.starts_with("device"));
    assert_eq!((studies.len(), devices.len()), (14, 2));
    (studies, devices)
}

/// A number as one text, however it was kept: 5, 5.0 and 5e0 are the same.
fn number(number: &Number) -> String {
    match (number.as_u64(), number.as_f64()) {
        (Some(whole), _) => whole.to_string(),
        (None, Some(x)) if x.fract() == 0.0 && x.abs() < 2f64.powi(53) => (x as i64).to_string(),
        (None, Some(x)) => format!("{x:?}"),
        (None, None) => number.to_string(),
    }
}

/// Everything in a document by its path. What is null, false or empty may as well not be there.
fn leaves(path: &str, value: &Value, out: &mut BTreeMap<String, String>) {
    match value {
        Value::Null | Value::Bool(false) => {}
        Value::Bool(true) => drop(out.insert(path.to_owned(), "true".to_owned())),
        Value::Number(n) => drop(out.insert(path.to_owned(), number(n))),
        Value::String(s) if s.is_empty() => {}
        Value::String(s) => drop(out.insert(path.to_owned(), format!("'{s}'"))),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, item)| leaves(&format!("{path}.{i}"), item, out))
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(name, field)| leaves(&format!("{path}.{name}"), field, out));
        }
    }
}

/// Both have the same at the same places; `numbers` is how many of them are numbers, at least.
#[track_caller]
fn assert_same(name: &str, kept: &Value, golden: &Value, numbers: usize) {
    let (mut left, mut right) = (BTreeMap::new(), BTreeMap::new());
    leaves("", kept, &mut left);
    leaves("", golden, &mut right);
    for (path, value) in &right {
        assert_eq!(left.get(path), Some(value), "{name}: {path}");
    }
    let added: Vec<_> = left.iter().filter(|(path, _)| !right.contains_key(*path)).collect();
    assert!(added.is_empty(), "{name}: what the record has not: {added:?}");
    let there = right.values().filter(|value| value.parse::<f64>().is_ok()).count();
    assert!(there >= numbers, "{name}: {there} numbers");
}

/// Everything that is kept of a study, beside what the first stage said of it.
#[track_caller]
fn assert_as_it_was(name: &str, study: &Study) {
    let list = text(&format!("{name}.figures.tsv"));
    let mut place = "";
    let mut expected = Vec::new();
    for line in list.lines() {
        match line.strip_prefix('\t') {
            None => place = line,
            Some(figure) => {
                let (metric, value) = figure.split_once('\t').expect("a name and a value");
                expected.push((place, metric, number(&value.parse().expect("a number"))));
            }
        }
    }
    let rows = flat::rows(study);
    for (row, (place, metric, value)) in rows.iter().zip(&expected) {
        let Value::Number(figure) = &row.value else {
            panic!("{name}: {} is no number", row.metric)
        };
        assert_eq!((&*row.place, &*row.metric), (*place, *metric), "{name}");
        assert_eq!(&number(figure), value, "{name}: {place}: {metric}");
    }
    assert_eq!(rows.len(), expected.len(), "{name}: figures");

    let mut golden: Value = serde_json::from_str(&text(&format!("{name}.json"))).unwrap();
    assert_eq!(golden["schema"], "plimsoll/1");
    golden.as_object_mut().unwrap().remove("schema");
    assert_same(name, &flat::study(study), &golden, expected.len() + 10);
}

#[test]
fn every_figure_of_every_study_in_the_store_is_what_it_was() {
    let (_directory, path) = copy();
    let store = Store::open(&path).unwrap();
    let (studies, _) = records();
    for (id, name) in &studies {
        assert_as_it_was(name, &store.load(id).unwrap());
    }
    // Once brought up to date, it reads the same again, and takes further studies.
    drop(store);
    let store = Store::open(&path).unwrap();
    let first = store.load(&studies[0].0).unwrap();
    let copied = Study { id: StudyId("0a0b0c0d".into()), ..first };
    store.import(std::slice::from_ref(&copied)).unwrap();
    assert_eq!(store.load("0a0b0c0d").unwrap(), copied);
    for (id, name) in &studies {
        assert_as_it_was(name, &store.load(id).unwrap());
    }
}

#[test]
fn an_export_reads_as_the_same_study_and_is_imported_as_such() {
    let (_directory, path) = copy();
    let old = Store::open(&path).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let fresh = Store::open(elsewhere.path().join("studies.db")).unwrap();
    for (id, name) in records().0 {
        let file = format!("{name}.json");
        let study = from_json(&text(&file)).unwrap();
        assert_as_it_was(&name, &study);
        assert_eq!(study, old.load(&id).unwrap(), "{name}: export and store agree");
        assert_eq!(from_json(&to_json(&study).unwrap()).unwrap(), study, "{name}");
        let given = ImportFile { name: file.clone(), text: text(&file), modified_unix_seconds: 0 };
        let imported = import(&[given], &ImportOptions::default()).unwrap();
        fresh.import(&imported.studies).unwrap();
        assert_as_it_was(&name, &fresh.load(&id).unwrap());
    }
    assert_eq!(fresh.list().unwrap().len(), 14);
}

/// Trials, flags, hosts and ends as they are in the exports, which are counted as plain JSON.
#[test]
fn the_list_counts_what_there_is() {
    let (_directory, path) = copy();
    let store = Store::open(&path).unwrap();
    let (studies, devices) = records();
    assert_eq!(store.list().unwrap().len(), 14 + 2);
    let mut all = (0, 0, 0, 0);
    for (id, name) in &studies {
        let golden: Value = serde_json::from_str(&text(&format!("{name}.json"))).unwrap();
        let count = |part: &str| golden[part].as_array().unwrap().len();
        let trials = golden["trials"].as_array().unwrap();
        let complete = trials.iter().filter(|t| t["outcome"]["kind"] == "complete").count();
        let mut blocks: Vec<_> = trials.iter().filter_map(|t| t["block"].as_u64()).collect();
        blocks.sort();
        blocks.dedup();
        let list = store.list().unwrap();
        let summary = list.iter().find(|summary| summary.id.0 == *id).expect("it is listed");
        assert_eq!(summary.blocks as usize, blocks.len(), "{name}");
        assert_eq!(summary.complete as usize, complete, "{name}");
        assert_eq!(summary.incomplete as usize, trials.len() - complete, "{name}");
        let targets = golden["targets"].as_array().unwrap();
        let given: Vec<_> = targets.iter().map(|t| t["given"].as_str().unwrap()).collect();
        let listed: Vec<_> = summary.subjects.iter().map(|s| s.given.as_str()).collect();
        assert_eq!(listed, given, "{name}");
        let study = store.load(id).unwrap();
        let counted =
            (study.trials.len(), study.flags.len(), study.hosts.len(), study.subjects.len());
        assert_eq!(counted, (trials.len(), count("flags"), count("hosts"), given.len()), "{name}");
        let loads = |t: &Value| t["loads"].as_array().unwrap().len();
        let watched: usize = study.trials.iter().map(|trial| trial.loads.len()).sum();
        assert_eq!(watched, trials.iter().map(loads).sum::<usize>(), "{name}");
        all = (
            all.0 + trials.len(),
            all.1 + study.flags.len(),
            all.2 + study.hosts.len(),
            all.3 + watched,
        );
    }
    assert_eq!(all, (57, 21, 10, 54), "trials, flags, hosts, loads of all");
    for (id, _) in studies.into_iter().chain(devices) {
        assert_eq!(store.find(&id).unwrap(), StudyId(id));
    }
    let ended = |name: &str| from_json(&text(&format!("{name}.json"))).unwrap().ended;
    assert_eq!(ended("interrupted"), Ended::Interrupted);
    assert_eq!((ended("killed"), ended("compare")), (Ended::Open, Ended::CapReached));
    assert!(
        matches!(ended("failed"), Ended::Failed { failure } if failure.cause == Cause::Unreachable)
    );
    let failed = from_json(&text("failed.json")).unwrap();
    let outcomes = failed.trials.iter().map(|trial| &trial.result.outcome);
    assert_eq!(outcomes.filter(|o| matches!(o, Outcome::Failed { .. })).count(), 1);
}

#[test]
fn every_number_of_a_device_is_what_it_was() {
    let (_directory, path) = copy();
    let store = Store::open(&path).unwrap();
    for (id, name) in records().1 {
        let exported = text(&format!("{name}.json"));
        let golden: Value = serde_json::from_str(&exported).unwrap();
        assert_eq!(golden["schema"], "plimsoll-device/1");
        let study = store.load(&id).unwrap();
        assert_same(&name, &flat::device(&study), &golden, 60);
        assert_eq!(from_json(&exported).unwrap(), study, "{name}");
        assert_eq!(from_json(&to_json(&study).unwrap()).unwrap(), study, "{name}");
        assert_cells(&name, &flat::figures(&study));
    }
}

/// Every cell of the first stage's CSV is there under its name, in its row; columns may be added.
#[track_caller]
fn assert_cells(name: &str, now: &str) {
    let table = |text: &str| {
        let mut table = csv::Reader::from_reader(text.as_bytes());
        let header = table.headers().unwrap().clone();
        let rows: Vec<_> = table.records().map(Result::unwrap).collect();
        (header, rows)
    };
    let (names, golden) = table(&text(&format!("{name}.csv")));
    let (columns, rows) = table(now);
    assert_eq!(rows.len(), golden.len(), "{name}: rows");
    for (column, wanted) in names.iter().enumerate() {
        let at = columns.iter().position(|c| c == wanted);
        let at = at.unwrap_or_else(|| panic!("{name}: no column {wanted}"));
        for (row, before) in rows.iter().zip(&golden) {
            assert_eq!(row[at], before[column], "{name}: {wanted}");
        }
    }
}

#[test]
fn every_cell_of_the_tables_is_what_it_was() {
    let (_directory, path) = copy();
    let store = Store::open(&path).unwrap();
    for (id, name) in records().0 {
        assert_cells(&name, &to_csv(&store.load(&id).unwrap()).unwrap());
    }
}

#[test]
fn an_export_of_a_newer_version_is_refused_in_words() {
    let newer = |name: &str, schema: &str| {
        let old = format!("\"schema\": \"{schema}/1\"");
        let text = text(&format!("{name}.json"));
        assert!(text.contains(&old));
        text.replacen(&old, &format!("\"schema\": \"{schema}/99\""), 1)
    };
    let study = newer("compare", "plimsoll");
    let given =
        ImportFile { name: "new.json".into(), text: study.clone(), modified_unix_seconds: 0 };
    let device = newer("device-local", "plimsoll-device");
    for (failure, schema) in [
        (from_json(&study).unwrap_err(), "plimsoll/99"),
        (import(&[given], &ImportOptions::default()).unwrap_err(), "plimsoll/99"),
        (from_json(&device).unwrap_err(), "plimsoll-device/99"),
    ] {
        assert_eq!(failure.cause, Cause::Usage, "{failure}");
        let words = failure.to_string();
        assert!(words.contains(schema), "{words}");
        assert!(failure.next.contains("newer"), "{words}");
    }
}

/// The store of the first stage, but for the number of its version.
#[test]
fn a_store_of_a_newer_version_is_refused_in_words_and_left_as_it_is() {
    let (_directory, path) = copy();
    let raw = rusqlite::Connection::open(&path).unwrap();
    let version: i64 = raw.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version, 2, "the first stage made two migrations");
    raw.pragma_update(None, "user_version", 99).unwrap();
    drop(raw);
    let before = fs::read(&path).unwrap();
    for opened in [Store::open(&path), Store::open_to_read(&path)] {
        let failure = opened.map(drop).unwrap_err();
        assert_eq!(failure.cause, Cause::Usage, "{failure}");
        assert!(failure.happened.contains("version 99"), "{failure}");
        assert!(failure.next.contains("newer plimsoll"), "{failure}");
    }
    assert_eq!(fs::read(&path).unwrap(), before);
}

/// A single record of a newer version in a store that is not: it is named, the others are read.
#[test]
fn a_record_of_a_newer_version_in_the_store_is_refused_in_words() {
    let (_directory, path) = copy();
    let (studies, devices) = records();
    let raw = rusqlite::Connection::open(&path).unwrap();
    let study = "UPDATE studies SET schema = 'plimsoll/99' WHERE id = ?";
    let device = "UPDATE devices SET schema = 'plimsoll-device/99', \
                  document = json_set(document, '$.schema', 'plimsoll-device/99') WHERE id = ?";
    for (sql, id) in [(study, &studies[0].0), (device, &devices[0].0)] {
        assert_eq!(raw.execute(sql, [id]).unwrap(), 1);
    }
    let store = Store::open(&path).unwrap();
    for (id, schema) in [(&studies[0].0, "plimsoll/99"), (&devices[0].0, "plimsoll-device/99")] {
        let failure = store.load(id).unwrap_err();
        assert!(failure.tried.contains(id) && failure.happened.contains(schema), "{failure}");
        assert!(failure.next.contains("newer plimsoll"), "{failure}");
    }
    assert_as_it_was(&studies[1].1, &store.load(&studies[1].0).unwrap());
    assert!(store.load(&devices[1].0).is_ok());
}

/// What a study takes, as an export and in the store, beside what it took.
#[test]
fn a_study_takes_no_more_room_than_it_did() {
    let (_directory, path) = copy();
    let old = Store::open(&path).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let now = Store::open(elsewhere.path().join("studies.db")).unwrap();
    let (mut exports, mut was) = (0, 0);
    for (id, name) in records().0 {
        let study = old.load(&id).unwrap();
        now.import(std::slice::from_ref(&study)).unwrap();
        let (export, before) =
            (to_json(&study).unwrap().len(), text(&format!("{name}.json")).len());
        println!("{name}: {export} bytes, {before} before");
        assert!(export * 10 <= before * 11, "{name}: {export} bytes, {before} before");
        (exports, was) = (exports + export, was + before);
    }
    let documents = |path: &Path, subjects: &str, measures: &str| -> usize {
        let sql = format!(
            "SELECT (SELECT sum(length(origin) + length(plan) + length({subjects}) + \
             {measures} + length(hosts) + length(flags) + length(ended)) FROM studies) \
             + (SELECT sum(length(document)) FROM trials)"
        );
        let store = rusqlite::Connection::open(path).unwrap();
        store.query_row(&sql, [], |row| row.get(0)).unwrap()
    };
    let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/first_stage/studies.db");
    let before = documents(&original, "targets", "0");
    let rows = documents(now.path(), "subjects", "length(measures)");
    println!("all exports: {exports} bytes, {was} before; all rows: {rows}, {before} before");
    assert!(exports * 10 <= was * 11, "{exports} bytes of exports, {was} before");
    assert!(rows * 10 <= before * 11, "{rows} bytes of rows, {before} before");
}
