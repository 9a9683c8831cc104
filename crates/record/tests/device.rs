//! Studies of hosts: exported, listed and kept with every figure of the device.

mod support;

use plimsoll_model::device::Part;
use plimsoll_model::{
    Cause, Device, Direction, HostSubject, Job, Measure, Metric, Outcome, Study, StudyId,
    SubjectKind,
};
use plimsoll_record::{Store, StudyStore, from_json, to_csv, to_json};
use serde_json::{Value, json};
use std::path::Path;

const ROUTER: &str = include_str!("golden/device-router.json");
/// Further hosts, which other crates' tests show.
const ALL: [&str; 4] =
    ["device-router.json", "device-nas.json", "device-vm.json", "device-shell.json"];
const SCHEMA_PAGE: &str = include_str!("../../../docs/schema.md");

fn golden(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    std::fs::read_to_string(path).unwrap()
}

fn record(study: &Study) -> &Device {
    &study.subjects[0].host().expect("a host").device
}

/// The study of a golden file under another id, begun at another time.
fn study(name: &str, id: &str, started_unix_seconds: u64) -> Study {
    let study = from_json(&golden(name)).unwrap();
    Study { id: StudyId(id.into()), started_unix_seconds, ..study }
}

#[test]
fn golden_files_are_written_identically() {
    for name in ALL {
        let text = golden(name);
        assert_eq!(to_json(&from_json(&text).unwrap()).unwrap(), text, "{name}");
    }
}

#[test]
fn every_figure_is_a_metric_of_its_part() {
    for name in ALL {
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
    let study = from_json(ROUTER).unwrap();
    let host = HostSubject { host: "ssh://root@box".parse().unwrap() };
    assert_eq!(study.plan.subjects[0], host.into());
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
    for name in ALL {
        let study: Value = serde_json::from_str(&golden(name)).unwrap();
        names(&study["subjects"][0]["device"], &mut fields);
    }
    fields.sort();
    fields.dedup();
    assert!(fields.len() > 150, "{}", fields.len());
    let (_, page) = SCHEMA_PAGE.split_once("\n# The device of a host").expect("its own part");
    let missing: Vec<&String> =
        fields.iter().filter(|field| !page.contains(&format!("`{field}`"))).collect();
    assert!(missing.is_empty(), "not in docs/schema.md: {missing:?}");
}

#[test]
fn unknown_fields_are_ignored_and_wrong_ones_left_out() {
    let mut value: Value = serde_json::from_str(ROUTER).unwrap();
    let original = from_json(ROUTER).unwrap();
    let inventory = &mut value["subjects"][0]["device"]["inventory"];
    inventory["weather"] = "fine".into();
    inventory["cpu"]["model"] = json!(["no", "text"]);
    let read = from_json(&value.to_string()).unwrap();
    assert_eq!(record(&read).cpu, record(&original).cpu);
    assert_eq!(record(&read).inventory.as_ref().unwrap().cpu.as_ref().unwrap().model, None);
    let failure = from_json(&ROUTER.replacen("\"ssh://root@box\"", "\"box\"", 1)).unwrap_err();
    assert_eq!(failure.cause, Cause::Usage);
    assert!(failure.on.starts_with("line"), "{failure}");
}

#[test]
fn hosts_stand_among_the_studies_of_storage() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path().join("studies.db")).unwrap();
    let router = study("device-router.json", "de000001", 20);
    let nas = study("device-nas.json", "de000002", 5);
    store.import(&[router.clone(), nas.clone()]).unwrap();
    let storage = Study { started_unix_seconds: 10, ..support::full() };
    store.begin(&storage).unwrap();
    let list = store.list().unwrap();
    let ids: Vec<&str> = list.iter().map(|summary| summary.id.0.as_str()).collect();
    assert_eq!(ids, ["de000002", &storage.id.0, "de000001"], "in the order begun");
    let listed = &list[2];
    assert_eq!(listed.subjects[0].given, "ssh://root@box");
    assert_eq!(listed.subjects[0].model.as_deref(), Some("TP-Link TL-WDR4300 v1"));
    assert_eq!(listed.subjects[0].kind, Some(SubjectKind::Host));
    assert_eq!(listed.jobs, Part::ALL[1..].iter().map(|part| part.name()).collect::<Vec<_>>());
    assert_eq!((listed.blocks, listed.complete, listed.incomplete), (1, 4, 0));
    assert_eq!(store.load("latest").unwrap(), router);
    assert_eq!(store.load("de000002").unwrap(), nas);
    let failure = store.find("de").unwrap_err();
    assert_eq!(failure.happened, "several studies start with it: de000001, de000002");
    assert_eq!(store.import(&[nas]).unwrap_err().happened, "it is already in the store");
}

/// A row for each part, and a column for each figure.
#[test]
fn figures_as_cells() {
    let study = study("device-router.json", "de000001", 1_760_000_000);
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
