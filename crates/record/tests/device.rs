//! Records of devices: exported and read back, kept in the store beside studies, and found again.

mod support;

use plimsoll_model::{Cause, Device, DeviceId, Ended, Study};
use plimsoll_record::{
    Kept, Store, device_from_json, device_to_json, devices_to_csv, is_device_json, to_json,
};
use std::path::Path;

/// The file that fixes schema plimsoll-device/1: it is only added to by a new version. The others are
/// the same as the first version wrote it, and further devices, which other crates' tests show.
const GOLDEN: &str = include_str!("golden/plimsoll-device-1.json");
const OTHERS: [&str; 4] =
    ["plimsoll-device-1-first.json", "device-nas.json", "device-vm.json", "device-shell.json"];
const SCHEMA_PAGE: &str = include_str!("../../../docs/schema.md");

fn golden(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    if std::env::var_os("PLIMSOLL_BLESS").is_none() {
        return text;
    }
    let fresh = device_to_json(&device_from_json(&text).unwrap()).unwrap();
    std::fs::write(&path, &fresh).unwrap();
    fresh
}

fn device(name: &str, id: &str, started: u64) -> Device {
    let device = device_from_json(&golden(name)).unwrap();
    Device { id: DeviceId(id.to_owned()), started_unix_seconds: started, ..device }
}

fn store() -> (tempfile::TempDir, Store) {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path().join("studies.db")).unwrap();
    (directory, store)
}

#[test]
fn golden_files_read_and_are_written_identically() {
    for name in OTHERS.into_iter().chain(["plimsoll-device-1.json"]) {
        let text = golden(name);
        assert_eq!(device_to_json(&device_from_json(&text).unwrap()).unwrap(), text, "{name}");
        assert!(is_device_json(&text));
    }
    assert!(!is_device_json(&to_json(&support::full()).unwrap()) && !is_device_json("{"));
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
    let mut value: serde_json::Value = serde_json::from_str(GOLDEN).unwrap();
    let original = device_from_json(GOLDEN).unwrap();
    value["schema"] = "plimsoll-device/1.3".into();
    value["inventory"]["weather"] = "fine".into();
    value["inventory"]["cpu"]["model"] = serde_json::json!(["no", "text"]);
    let read = device_from_json(&value.to_string()).unwrap();
    assert_eq!(read.cpu, original.cpu);
    assert_eq!(read.inventory.unwrap().cpu.unwrap().model, None);
    for (text, part) in [
        ("", "line 1"),
        ("{}", "schema"),
        (&GOLDEN[..GOLDEN.len() / 2], "line"),
        (&GOLDEN.replacen("plimsoll-device/1", "plimsoll-device/2", 1), "plimsoll-device/2"),
        (&to_json(&support::full()).unwrap(), "plimsoll/1"),
        (&GOLDEN.replacen("\"ssh://root@box\"", "\"box\"", 1), "line"),
    ] {
        let failure = device_from_json(text).unwrap_err();
        assert_eq!(failure.cause, Cause::Usage);
        assert!(format!("{failure}").contains(part), "{part} in {failure}");
    }
}

#[test]
fn a_device_is_kept_as_it_grows_and_loaded() {
    let (_directory, store) = store();
    let whole = device("plimsoll-device-1.json", "0a000001", 5);
    let begun = Device { parts: Vec::new(), cpu: None, ended: Ended::Open, ..whole.clone() };
    store.begin_device(&begun).unwrap();
    assert_eq!(store.load_device("0a").unwrap(), begun);
    store.update_device(&whole).unwrap();
    assert_eq!(store.load_device("latest").unwrap(), whole);
    assert_eq!(store.begin_device(&whole).unwrap_err().happened, "it is recorded already");
    let unknown = device("device-nas.json", "0a000002", 6);
    assert_eq!(store.update_device(&unknown).unwrap_err().cause, Cause::Usage);
    let [summary] = &store.devices().unwrap()[..] else { panic!("one device") };
    assert_eq!(summary.host, "ssh://root@box");
    assert_eq!(summary.model.as_deref(), Some("TP-Link TL-WDR4300 v1"));
    assert!(summary.complete && summary.parts.len() == 5);
}

#[test]
fn studies_and_devices_are_told_apart() {
    let (_directory, store) = store();
    let study = Study { trials: Vec::new(), started_unix_seconds: 10, ..support::full() };
    store.begin(&study).unwrap();
    store.begin_device(&device("device-nas.json", "de000001", 20)).unwrap();
    store.begin_device(&device("device-vm.json", "de000002", 5)).unwrap();
    let device = |id: &str| Kept::Device(DeviceId(id.to_owned()));
    assert_eq!(store.find("latest").unwrap(), device("de000001"));
    assert_eq!(store.find(&study.id.0).unwrap(), Kept::Study(study.id.clone()));
    assert_eq!(store.find("de000002").unwrap(), device("de000002"));
    let failure = store.find("de").unwrap_err();
    assert_eq!(failure.happened, "several begin so: de000001, de000002");
    let failure = store.find("ff").unwrap_err();
    assert!(failure.happened.contains(&format!("de000001, {}, de000002", study.id)), "{failure}");
    let failure = store.load("latest").unwrap_err();
    assert_eq!(failure.happened, "de000001 is the record of a device");
    let failure = store.load_device(&study.id.0).unwrap_err();
    assert_eq!(failure.happened, format!("{} is a study", study.id));
    assert_eq!(store.list().unwrap().len(), 1);
    let ids: Vec<String> = store.devices().unwrap().into_iter().map(|d| d.id.0).collect();
    assert_eq!(ids, ["de000002", "de000001"], "in the order begun");
}

#[test]
fn studies_and_devices_from_elsewhere_go_in_together_or_not_at_all() {
    let (_directory, store) = store();
    let study = support::full();
    let devices =
        [device("device-nas.json", "de000001", 1), device("device-vm.json", "de000002", 2)];
    let twice = [devices[0].clone(), devices[0].clone()];
    let failure = store.import_all(std::slice::from_ref(&study), &twice).unwrap_err();
    assert_eq!(failure.happened, "it is given twice");
    assert!(store.list().unwrap().is_empty() && store.devices().unwrap().is_empty());
    store.import_all(std::slice::from_ref(&study), &devices).unwrap();
    assert_eq!(store.load_device("de000002").unwrap(), devices[1]);
    let failure = store.import_all(&[], &devices[1..]).unwrap_err();
    assert_eq!(failure.happened, "it is in the store already");
    let same = Device { id: DeviceId(study.id.0.clone()), ..devices[1].clone() };
    assert_eq!(store.import_all(&[], &[same]).unwrap_err().cause, Cause::Usage);
}

/// A store that the first version of the tables made.
#[test]
fn an_older_store_is_brought_up_to_date_with_all_that_is_in_it() {
    let (directory, store) = store();
    let path = directory.path().join("old.db");
    let old = rusqlite::Connection::open(&path).unwrap();
    old.execute_batch(include_str!("../migrations/0001-studies.sql")).unwrap();
    old.pragma_update(None, "user_version", 1).unwrap();
    drop(old);
    let study = support::full();
    store.begin(&study).unwrap();
    // Its rows, as that version would have written them.
    let from = directory.path().join("studies.db");
    let old = rusqlite::Connection::open(&path).unwrap();
    old.execute("ATTACH ? AS newer", [from.to_str().unwrap()]).unwrap();
    for table in ["studies", "trials"] {
        old.execute(&format!("INSERT INTO main.{table} SELECT * FROM newer.{table}"), []).unwrap();
    }
    drop(old);
    let old = Store::open(&path).unwrap();
    assert_eq!(old.load("latest").unwrap(), study);
    old.begin_device(&device("device-nas.json", "de000001", u64::from(u32::MAX))).unwrap();
    assert_eq!(old.find("latest").unwrap(), Kept::Device(DeviceId("de000001".to_owned())));
}

#[test]
fn a_row_that_cannot_be_read_is_named() {
    let (directory, store) = store();
    store.begin_device(&device("device-nas.json", "de000001", 1)).unwrap();
    let raw = rusqlite::Connection::open(directory.path().join("studies.db")).unwrap();
    raw.execute("UPDATE devices SET document = '{\"schema\": 7}'", []).unwrap();
    for failure in [store.devices().unwrap_err(), store.load_device("latest").unwrap_err()] {
        assert!(failure.tried.contains("de000001"), "{failure}");
    }
}

#[test]
fn figures_as_rows() {
    let router = device("plimsoll-device-1.json", "de000001", 1_760_000_000);
    let csv = devices_to_csv(std::slice::from_ref(&router)).unwrap();
    let rows: Vec<&str> = csv.split("\r\n").collect();
    assert_eq!(
        rows[..4],
        [
            "device,started_unix_seconds,host,part,figure,value,unit,measured_by,cpu_share",
            "de000001,1760000000,ssh://root@box,cpu,\"CoreMark, one core\",1345.714843,\
             iterations_per_second,coremark,",
            "de000001,1760000000,ssh://root@box,cpu,\"integer rounds, one core\",402,\
             rounds_per_second,probe,0.998",
            "de000001,1760000000,ssh://root@box,cpu,\"integer rounds, all cores\",401,\
             rounds_per_second,probe,0.996",
        ]
    );
    assert_eq!(
        rows[rows.len() - 2],
        "de000001,1760000000,ssh://root@box,disk,\"fsync, median latency\",0.0503,seconds,probe,"
    );
    assert_eq!(rows.len(), 2 + 3 + 5 + 6 + 7, "{csv}");
}
