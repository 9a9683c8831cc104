//! Frozen exports: every figure is exported as before. `frozen/README.md` lists them.

#[path = "frozen/converter.rs"]
mod converter;

use converter::{converted, converted_table};
use plimsoll_model::Study;
use plimsoll_record::{Store, StudyStore, from_json, to_csv, to_json};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/frozen")
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Name, frozen JSON and frozen CSV of every study, in today's format.
fn frozen() -> Vec<(String, Value, String)> {
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let exports = files.filter(|path| path.extension().is_some_and(|e| e == "json"));
    let studies: Vec<_> = exports
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let json = converted(serde_json::from_str(&text(&path)).unwrap());
            (name, json, converted_table(&text(&path.with_extension("csv"))))
        })
        .collect();
    assert_eq!(studies.len(), 24);
    studies
}

/// Places at which two documents differ.
fn differences(place: &str, now: &Value, before: &Value) -> Vec<String> {
    match (now, before) {
        (Value::Object(now), Value::Object(before)) if now.keys().eq(before.keys()) => {
            let fields = now.iter().zip(before.values());
            fields
                .flat_map(|((k, now), before)| differences(&format!("{place}.{k}"), now, before))
                .collect()
        }
        (Value::Array(now), Value::Array(before)) if now.len() == before.len() => {
            let items = now.iter().zip(before).enumerate();
            items
                .flat_map(|(i, (now, before))| differences(&format!("{place}.{i}"), now, before))
                .collect()
        }
        _ if now == before => Vec::new(),
        _ => vec![format!("{place}: {now}, {before} before")],
    }
}

fn numbers(value: &Value) -> usize {
    match value {
        Value::Object(fields) => fields.values().map(numbers).sum(),
        Value::Array(items) => items.iter().map(numbers).sum(),
        Value::Number(_) => 1,
        _ => 0,
    }
}

#[track_caller]
fn assert_exported(name: &str, study: &Study, json: &Value, csv: &str) {
    let now: Value = serde_json::from_str(&to_json(study).unwrap()).unwrap();
    let differ = differences("", &now, json);
    assert!(differ.is_empty(), "{name}: {differ:#?}");
    assert!(to_csv(study).unwrap() == csv, "{name}: the table differs");
}

#[test]
fn every_figure_is_exported_as_before() {
    let mut figures = 0;
    for (name, json, csv) in frozen() {
        let study = from_json(&json.to_string()).unwrap();
        assert_exported(&name, &study, &json, &csv);
        figures += numbers(&json);
    }
    assert!(figures > 20_000, "{figures} numbers");
}

#[test]
fn the_store_keeps_every_figure() {
    let directory = tempfile::tempdir().unwrap();
    for (name, json, csv) in frozen() {
        let study = from_json(&json.to_string()).unwrap();
        let store = Store::open(directory.path().join(&name)).unwrap();
        store.import(std::slice::from_ref(&study)).unwrap();
        let kept = store.load("latest").unwrap();
        assert_eq!(kept, study, "{name}");
        assert_exported(&name, &kept, &json, &csv);
        let mut exported = String::new();
        let mut append = |part: &str| {
            exported.push_str(part);
            Ok(())
        };
        store.export_json("latest", &mut append).unwrap();
        assert!(exported == to_json(&study).unwrap(), "{name}");
    }
}

#[test]
fn examples_of_the_documentation_are_exported_as_before() {
    for name in ["before", "after"] {
        let example = folder().join(format!("../../../../docs/examples/{name}.json"));
        let csv = converted_table(&text(&folder().join(format!("example-{name}.csv"))));
        assert!(to_csv(&from_json(&text(&example)).unwrap()).unwrap() == csv, "{name}");
    }
}

#[test]
fn a_changed_figure_is_noticed() {
    let (_, before, _) = frozen().swap_remove(0);
    assert!(differences("", &before, &before).is_empty());
    let mut now = before.clone();
    now["trials"][0]["started_seconds"] = 123.25.into();
    assert_eq!(differences("", &now, &before).len(), 1);
    now["trials"].as_array_mut().unwrap().pop();
    assert_eq!(differences("", &now, &before).len(), 1);
}
