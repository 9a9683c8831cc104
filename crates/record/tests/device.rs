//! Records of devices of the first stage are studies of a host: read from exports, and from the table
//! that they had in the store.

mod support;

use plimsoll_model::device::Part;
use plimsoll_model::{
    Cause, Device, Direction, Job, Measure, Metric, Origin, Outcome, SCHEMA, Study, Subject,
    SubjectKind,
};
use plimsoll_record::{Store, from_json, to_csv, to_json};
use rusqlite::{Connection, params};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Written by the first stage; never changed. The others are the same as its first version wrote it,
/// and further devices, which other crates' tests show.
const GOLDEN: &str = include_str!("golden/plimsoll-device-1.json");
const OTHERS: [&str; 4] =
    ["plimsoll-device-1-first.json", "device-nas.json", "device-vm.json", "device-shell.json"];
const SCHEMA_PAGE: &str = include_str!("../../../docs/schema.md");

fn golden(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    std::fs::read_to_string(path).unwrap()
}

fn record(study: &Study) -> &Device {
    &study.subjects[0].host().expect("a host").device
}

/// The record of a golden file under another name, begun at another time.
fn device(name: &str, id: &str, started: u64) -> Value {
    let mut device: Value = serde_json::from_str(&golden(name)).unwrap();
    (device["id"], device["started_unix_seconds"]) = (id.into(), started.into());
    device
}

fn study_of(device: &Value) -> Study {
    from_json(&device.to_string()).unwrap()
}

/// A store as the first stage left it, with these devices in it.
fn old_store(devices: &[Value]) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("old.db");
    let store = Connection::open(&path).unwrap();
    for migration in [
        include_str!("../migrations/0001-studies.sql"),
        include_str!("../migrations/0002-devices.sql"),
    ] {
        store.execute_batch(migration).unwrap();
    }
    store.pragma_update(None, "user_version", 2).unwrap();
    for device in devices {
        let sql = "INSERT INTO devices (id, started_unix_seconds, schema, host, document) \
                   VALUES (?, ?, ?, ?, ?)";
        let text = |field: &str| device[field].as_str().unwrap();
        let started = device["started_unix_seconds"].as_u64().unwrap();
        let document = device.to_string();
        let values = params![text("id"), started, text("schema"), text("host"), document];
        store.execute(sql, values).unwrap();
    }
    (directory, path)
}

#[test]
fn golden_files_are_studies_that_hold_the_record_as_it_was() {
    for name in OTHERS.into_iter().chain(["plimsoll-device-1.json"]) {
        let text = golden(name);
        let study = from_json(&text).unwrap();
        let mut kept = serde_json::to_value(record(&study)).unwrap();
        // What a record had of its own is the study's.
        let Job::Device(job) = study.plan.workloads[0].parts[0].job else { panic!("{name}") };
        let Origin::Measured { version } = &study.origin else { panic!("{name}") };
        for (field, value) in [
            ("schema", json!("plimsoll-device/1")),
            ("id", json!(study.id)),
            ("started_unix_seconds", json!(study.started_unix_seconds)),
            ("version", json!(version)),
            ("command", json!(study.plan.command)),
            ("host", json!(study.plan.subjects[0].to_string())),
            ("quick", json!(job.quick)),
            ("ended", json!(study.ended)),
        ] {
            assert_eq!(kept.as_object_mut().unwrap().insert(field.to_owned(), value), None);
        }
        let was: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(kept, was, "{name}");
        assert_eq!(study.schema, SCHEMA);
        assert_eq!(from_json(&to_json(&study).unwrap()).unwrap(), study, "{name}");
    }
}

#[test]
fn every_figure_is_a_metric_of_its_part() {
    for name in OTHERS.into_iter().chain(["plimsoll-device-1.json"]) {
        let study = from_json(&golden(name)).unwrap();
        let device = record(&study);
        let figures = device.measured();
        let mut found = 0;
        for (number, trial) in study.trials.iter().enumerate() {
            let part = &study.plan.workloads[usize::from(trial.cell.workload)].parts[0];
            let Job::Device(job) = part.job else { panic!("a device's job") };
            assert_eq!(part.job.kind(), job.part.name());
            assert_eq!((trial.number as usize, trial.block), (number, Some(0)));
            let was = device.parts.iter().find(|record| record.part == job.part).unwrap();
            assert_eq!(trial.result.outcome == Outcome::Complete, was.complete);
            for figure in figures.iter().filter(|figure| figure.part == job.part) {
                let info = figure.info().unwrap();
                let value = trial.result.value(0, Metric::all(info.measure));
                assert_eq!(value, Some(figure.value), "{name}: {}", figure.figure);
                assert_eq!(study.info(info.measure), Some(info));
                found += 1;
            }
        }
        assert_eq!(found, figures.len(), "{name}");
    }
}

#[test]
fn names_of_figures_are_fixed() {
    let study = from_json(GOLDEN).unwrap();
    assert_eq!(study.plan.subjects[0], Subject::Host { host: "ssh://root@box".parse().unwrap() });
    let names = study.trials.iter().flat_map(|trial| trial.result.parts[0].quantities.keys());
    let names: Vec<String> = names.map(ToString::to_string).collect();
    for name in [
        "coremark_one_core_iterations_per_second",
        "integer_rounds_one_core_rounds_per_second",
        "copy_memory_bytes_per_second",
        "latency_memory_seconds",
        "aes_256_xts_bytes_per_second",
        "fsync_median_latency_seconds",
    ] {
        assert!(names.iter().any(|n| n == name), "{name} is not in {names:?}");
    }
    let latency: Measure = "latency_memory_seconds".parse().unwrap();
    let info = study.info(latency).unwrap();
    assert_eq!((info.unit.as_str(), info.direction), ("s", Direction::Less));
    let csv = to_csv(&study).unwrap();
    assert!(csv.lines().next().unwrap().contains("coremark_one_core_iterations_per_second"));
}

#[test]
fn every_field_is_documented() {
    fn names(value: &serde_json::Value, out: &mut Vec<String>) {
        match value {
            serde_json::Value::Object(fields) => fields.iter().for_each(|(name, value)| {
                // Below `configurations`, names are files.
                out.push(name.clone());
                if name != "configurations" {
                    names(value, out);
                }
            }),
            serde_json::Value::Array(items) => items.iter().for_each(|item| names(item, out)),
            _ => {}
        }
    }
    let mut fields = Vec::new();
    for name in OTHERS.into_iter().chain(["plimsoll-device-1.json"]) {
        names(&serde_json::from_str(&golden(name)).unwrap(), &mut fields);
    }
    fields.sort();
    fields.dedup();
    assert!(fields.len() > 150, "{}", fields.len());
    let (_, page) =
        SCHEMA_PAGE.split_once("\n# Schema `plimsoll-device/1`").expect("a part of its own");
    let missing: Vec<&String> =
        fields.iter().filter(|field| !page.contains(&format!("`{field}`"))).collect();
    assert!(missing.is_empty(), "not in docs/schema.md: {missing:?}");
}

#[test]
fn unknown_fields_are_ignored_and_wrong_ones_refused() {
    let mut value: Value = serde_json::from_str(GOLDEN).unwrap();
    let original = from_json(GOLDEN).unwrap();
    value["schema"] = "plimsoll-device/1.3".into();
    value["inventory"]["weather"] = "fine".into();
    value["inventory"]["cpu"]["model"] = json!(["no", "text"]);
    let read = from_json(&value.to_string()).unwrap();
    assert_eq!(record(&read).cpu, record(&original).cpu);
    assert_eq!(record(&read).inventory.as_ref().unwrap().cpu.as_ref().unwrap().model, None);
    for (text, part) in [
        (&GOLDEN[..GOLDEN.len() / 2], "line"),
        (&GOLDEN.replacen("plimsoll-device/1", "plimsoll-device/2", 1), "plimsoll-device/2"),
        (&GOLDEN.replacen("\"ssh://root@box\"", "\"box\"", 1), "line"),
    ] {
        let failure = from_json(text).unwrap_err();
        assert_eq!(failure.cause, Cause::Usage);
        assert!(format!("{failure}").contains(part), "{part} in {failure}");
    }
}

#[test]
fn devices_of_an_old_store_stand_among_the_studies() {
    let devices = [
        device("plimsoll-device-1.json", "de000001", 20),
        device("device-nas.json", "de000002", 5),
    ];
    let (_directory, path) = old_store(&devices);
    let store = Store::open(&path).unwrap();
    let study = Study { started_unix_seconds: 10, ..support::full() };
    store.begin(&study).unwrap();
    let list = store.list().unwrap();
    let ids: Vec<&str> = list.iter().map(|summary| summary.id.0.as_str()).collect();
    assert_eq!(ids, ["de000002", &study.id.0, "de000001"], "in the order begun");
    let router = &list[2];
    assert_eq!(router.subjects[0].given, "ssh://root@box");
    assert_eq!(router.subjects[0].model.as_deref(), Some("TP-Link TL-WDR4300 v1"));
    assert_eq!(router.subjects[0].kind, Some(SubjectKind::Host));
    assert_eq!(router.jobs, Part::ALL[1..].iter().map(|part| part.name()).collect::<Vec<_>>());
    assert_eq!((router.blocks, router.complete, router.incomplete), (1, 4, 0));
    assert_eq!(store.load("latest").unwrap(), study_of(&devices[0]));
    assert_eq!(store.load("de000002").unwrap(), study_of(&devices[1]));
    let failure = store.find("de").unwrap_err();
    assert_eq!(failure.happened, "several studies start with it: de000001, de000002");
    let again = study_of(&devices[1]);
    assert_eq!(store.import(&[again]).unwrap_err().happened, "it is already in the store");
}

/// A device that is measured further is a study like any other from then on.
#[test]
fn what_is_added_to_an_old_device_is_added_to_its_study() {
    let (_directory, path) = old_store(&[device("device-nas.json", "de000001", 1)]);
    let store = Store::open(&path).unwrap();
    let mut study = store.load("latest").unwrap();
    let mut again = study.trials[0].clone();
    (again.number, again.block) = (99, Some(1));
    store.add_trial(&study.id, &again).unwrap();
    study.trials.push(again);
    assert_eq!(store.load("latest").unwrap(), study);
    let [summary] = &store.list().unwrap()[..] else { panic!("one study") };
    assert_eq!((summary.blocks, summary.complete as usize), (2, study.trials.len()));
    let raw = Connection::open(&path).unwrap();
    let left: u32 = raw.query_row("SELECT count(*) FROM devices", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 0);
}

#[test]
fn a_device_is_kept_as_a_study() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path().join("studies.db")).unwrap();
    let study = study_of(&device("device-vm.json", "de000003", 7));
    store.import(std::slice::from_ref(&study)).unwrap();
    assert_eq!(store.load("de").unwrap(), study);
    assert_eq!(store.list().unwrap()[0].blocks, 1);
}

#[test]
fn a_row_that_cannot_be_read_is_named() {
    let (_directory, path) = old_store(&[device("device-nas.json", "de000001", 1)]);
    let store = Store::open(&path).unwrap();
    let raw = Connection::open(&path).unwrap();
    raw.execute("UPDATE devices SET document = '{\"schema\": 7}'", []).unwrap();
    for failure in [store.list().unwrap_err(), store.load("latest").unwrap_err()] {
        assert!(failure.tried.contains("de000001"), "{failure}");
    }
}

/// A row for each part, and a column for each figure.
#[test]
fn figures_as_cells() {
    let study = study_of(&device("plimsoll-device-1.json", "de000001", 1_760_000_000));
    let csv = to_csv(&study).unwrap();
    let mut table = csv::Reader::from_reader(csv.as_bytes());
    let header = table.headers().unwrap().clone();
    let rows: Vec<_> = table.records().map(Result::unwrap).collect();
    let cell = |row: usize, column: &str| {
        let at = header.iter().position(|name| name == column);
        rows[row][at.unwrap_or_else(|| panic!("no column {column}"))].to_owned()
    };
    let jobs: Vec<String> = (0..rows.len()).map(|row| cell(row, "job")).collect();
    assert_eq!(jobs, ["cpu", "memory", "crypto", "disk"]);
    for (row, column, value) in [
        (0, "study", "de000001"),
        (0, "given", "ssh://root@box"),
        (0, "block", "0"),
        (0, "coremark_one_core_iterations_per_second", "1345.714843"),
        (0, "integer_rounds_one_core_rounds_per_second", "402"),
        (0, "integer_rounds_all_cores_rounds_per_second", "401"),
        (3, "fsync_median_latency_seconds", "0.0503"),
    ] {
        assert_eq!(cell(row, column), value, "{column}");
    }
    let figures = record(&study).measured();
    let filled = |figure: &plimsoll_model::device::Measured| {
        let row = jobs.iter().position(|job| job == figure.part.name()).unwrap();
        cell(row, figure.info().unwrap().measure.name()) == figure.value.to_string()
    };
    assert_eq!((figures.len(), figures.iter().all(filled)), (3 + 5 + 6 + 7, true), "{csv}");
}
