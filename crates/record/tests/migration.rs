//! Records of the first stage are read: exports, and stores as that program left them.

mod support;

use plimsoll_model::{
    Cause, Ended, Flag, IdleWindows, OpKind, SCHEMA, Study, StudyId, SubjectFacts, Window,
};
use plimsoll_record::{Store, from_json, to_json};
use rusqlite::{Connection, params};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::trial;

/// Written by the first stage; never changed.
const GOLDEN: &str = include_str!("golden/plimsoll-1.json");
const GOLDEN_WATCHED: &str = include_str!("golden/plimsoll-1-watched.json");
const MIGRATIONS: [&str; 2] = [
    include_str!("../migrations/0001-studies.sql"),
    include_str!("../migrations/0002-devices.sql"),
];

fn document(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// A store as the first stage left it, with this version of its tables and these exports in it.
fn old_store(version: usize, exports: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("old.db");
    let store = Connection::open(&path).unwrap();
    for migration in &MIGRATIONS[..version] {
        store.execute_batch(migration).unwrap();
    }
    store.pragma_update(None, "user_version", version).unwrap();
    for export in exports {
        insert(&store, &document(export));
    }
    (directory, path)
}

fn insert(store: &Connection, study: &Value) {
    let text = |part: &str| study[part].to_string();
    let id = study["id"].as_str().unwrap();
    store
        .execute(
            "INSERT INTO studies (id, started_unix_seconds, schema, origin, plan, targets, hosts, \
             flags, ended) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            params![
                id,
                study["started_unix_seconds"].as_u64(),
                study["schema"].as_str(),
                text("origin"),
                text("plan"),
                text("targets"),
                text("hosts"),
                text("flags"),
                text("ended")
            ],
        )
        .unwrap();
    for trial in study["trials"].as_array().unwrap() {
        store
            .execute(
                "INSERT INTO trials VALUES (?, ?, ?, ?, ?, ?, ?)",
                params![
                    id,
                    trial["number"].as_u64(),
                    trial["block"].as_u64(),
                    trial["cell"]["target"].as_u64(),
                    trial["cell"]["workload"]["pattern"].as_str(),
                    trial["outcome"]["kind"].as_str(),
                    trial.to_string()
                ],
            )
            .unwrap();
    }
}

/// Studies as they are today, without what the first stage did not know of hosts and targets.
fn full() -> Study {
    of_the_first_stage(support::full())
}

fn watched() -> Study {
    of_the_first_stage(support::watched())
}

fn of_the_first_stage(mut study: Study) -> Study {
    for facts in &mut study.subjects {
        if let SubjectFacts::Storage(facts) = facts {
            facts.round_trip_seconds = None;
        }
    }
    let known = |flag: &Flag| {
        let since = matches!(
            flag,
            Flag::OtherLoad { .. } | Flag::BehindSchedule { .. } | Flag::RateHeld { .. }
        );
        !since
    };
    study.flags.retain(known);
    for flag in &mut study.flags {
        match flag {
            Flag::BusyProcess { kernel, .. } => *kernel = false,
            Flag::BusyBaseline { windows, .. } => *windows = IdleWindows::default(),
            _ => {}
        }
    }
    for trial in &mut study.trials {
        trial.result.flags.retain(known);
    }
    for load in study.trials.iter_mut().flat_map(|trial| &mut trial.loads) {
        load.control_group = None;
        load.memory_stall_seconds = None;
        if let Some(nfsd) = &mut load.nfsd {
            nfsd.threads = None;
        }
    }
    study
}

/// The second golden file with an id of its own.
fn watched_export() -> String {
    GOLDEN_WATCHED.replacen("0123abcd", "0456cdef", 1)
}

#[test]
fn exports_become_studies_of_today_with_every_figure() {
    assert_eq!(from_json(GOLDEN).unwrap(), full());
    assert_eq!(from_json(GOLDEN_WATCHED).unwrap(), watched());
    let written = to_json(&from_json(GOLDEN).unwrap()).unwrap();
    assert_eq!(document(&written)["schema"], SCHEMA);
    assert_eq!(from_json(&written).unwrap(), full());
}

#[test]
fn stores_of_both_versions_are_read_listed_and_written_to() {
    for version in [1, 2] {
        let (_directory, path) = old_store(version, &[GOLDEN, &watched_export()]);
        let store = Store::open(&path).unwrap();
        assert_eq!(store.load("0123").unwrap(), full());
        let id = StudyId("0456cdef".into());
        assert_eq!(store.load("0456").unwrap(), Study { id: id.clone(), ..watched() });
        let list = store.list().unwrap();
        assert_eq!(list.len(), 2);
        for summary in &list {
            assert_eq!(summary.jobs, ["random-mixed", "sequential-write"]);
            assert_eq!((summary.blocks, summary.complete, summary.incomplete), (1, 1, 2));
            assert_eq!(summary.subjects[1].given, "/srv/Übung");
        }
        let new = Study { id: StudyId("00000002".into()), ..support::everything() };
        store.begin(&new).unwrap();
        assert!(store.import(&[full()]).unwrap_err().happened.contains("already"));
        drop(store);
        let store = Store::open(&path).unwrap();
        assert_eq!(store.load("00000002").unwrap(), new);
        assert_eq!(store.load("0123").unwrap(), full());
    }
}

const READ_ONLY: &str = "PLIMSOLL_READ_ONLY_STORE";

/// The child: reads a store that it may not write. Without the variable it is a test of nothing.
#[test]
fn read_without_writing() {
    let Some(path) = std::env::var_os(READ_ONLY) else { return };
    let store = Store::open_to_read(path).unwrap();
    assert_eq!(store.load("0123").unwrap(), full());
    assert_eq!(store.list().unwrap().len(), 1);
    let new = Study { id: StudyId("00000002".into()), ..full() };
    for refused in [store.begin(&new).unwrap_err(), store.expect_room().unwrap_err()] {
        assert_eq!(refused.cause, Cause::NotPermitted, "{refused}");
    }
    println!("read and not written");
}

#[test]
fn an_old_store_is_read_where_it_cannot_be_written() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let (directory, path) = old_store(2, &[GOLDEN]);
    // Where nobody else can get at it either: root may write everywhere.
    let program = directory.path().join("program");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let mode =
        |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    mode(&path, 0o444);
    mode(directory.path(), 0o555);
    let before = fs::read(&path).unwrap();
    let mut child = Command::new(program);
    child.args(["--exact", "read_without_writing", "--nocapture"]).env(READ_ONLY, &path);
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        child.uid(65_534).gid(65_534);
    }
    let ran = child.output().unwrap();
    mode(directory.path(), 0o755);
    let out = String::from_utf8_lossy(&ran.stdout);
    assert!(out.contains("read and not written"), "{out}{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(fs::read(&path).unwrap(), before);
}

/// Rows stay as they were written, whatever is done to the tables around them.
#[test]
fn opening_changes_no_row() {
    let rows = |path: &Path, columns: &str| -> Vec<String> {
        let store = Connection::open(path).unwrap();
        let sql = format!("SELECT {columns} || document FROM trials ORDER BY number");
        let mut query = store.prepare(&sql).unwrap();
        query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let (_directory, path) = old_store(2, &[GOLDEN]);
    let before = rows(&path, "study || number || ifnull(block, 0) || target || pattern || outcome");
    Store::open(&path).unwrap().load("latest").unwrap();
    assert_eq!(
        rows(&path, "study || number || ifnull(block, 0) || subject || kind || outcome"),
        before
    );
}

/// A study of the first stage that is continued is one of today from then on, whole.
#[test]
fn what_is_added_to_an_old_study_is_added_to_all_of_it() {
    let (_directory, path) = old_store(2, &[GOLDEN, &watched_export()]);
    let store = Store::open(&path).unwrap();
    store.add_trial(&full().id, &trial(3)).unwrap();
    let mut longer = full();
    longer.trials.push(trial(3));
    assert_eq!(store.load("0123").unwrap(), longer);
    let id = StudyId("0456cdef".into());
    let ended = Study { id: id.clone(), ended: Ended::Interrupted, ..watched() };
    store.update(&ended).unwrap();
    assert_eq!(store.load("0456").unwrap(), ended);
    let raw = Connection::open(&path).unwrap();
    let count = |sql: &str| raw.query_row(sql, [], |row| row.get::<_, u32>(0)).unwrap();
    assert_eq!(count("SELECT count(*) FROM studies WHERE schema = 'plimsoll/2'"), 2);
    assert_eq!(count("SELECT count(*) FROM trials WHERE document LIKE '%\"windows\"%'"), 0);
    assert_eq!(count("SELECT count(*) FROM trials"), 7);
}

#[test]
fn a_row_that_cannot_be_read_is_named_and_the_others_are_read() {
    let (_directory, path) = old_store(2, &[GOLDEN, &watched_export()]);
    let raw = Connection::open(&path).unwrap();
    raw.execute("UPDATE trials SET document = '{}' WHERE study = '0123abcd' AND number = 1", [])
        .unwrap();
    let store = Store::open(&path).unwrap();
    let failure = store.load("0123").unwrap_err();
    assert!(failure.tried.contains("trial 1 of study 0123abcd"), "{failure}");
    assert!(store.load("0456").is_ok());
    raw.execute("UPDATE studies SET schema = 'plimsoll/3' WHERE id = '0456cdef'", []).unwrap();
    let failure = store.load("0456").unwrap_err();
    assert!(failure.happened.contains("'plimsoll/3'"), "{failure}");
}

#[test]
fn every_window_is_kept() {
    let window = |reads: u64, writes: u64| json!({"read_ops": reads, "read_bytes": 10 * reads, "write_ops": writes, "write_bytes": 0});
    for windows in [
        vec![(0, 0), (3, 0), (0, 0)],
        vec![(0, 2), (0, 0), (0, 0)],
        vec![(1, 0), (0, 7), (5, 0), (0, 0)],
        vec![(0, 0), (0, 0)],
        vec![],
    ] {
        let mut old = document(GOLDEN);
        let list: Vec<Value> = windows.iter().map(|(r, w)| window(*r, *w)).collect();
        old["trials"][0]["series"]["windows"] = list.into();
        let study = from_json(&old.to_string()).unwrap();
        let series = &study.trials[0].result.parts[0].series;
        let counts = |window: Window| {
            let of = |kind| window.count(kind).operations;
            assert_eq!(window.bytes(), 10 * of(OpKind::READ));
            (of(OpKind::READ), of(OpKind::WRITE))
        };
        assert_eq!(series.windows().map(counts).collect::<Vec<_>>(), windows);
        assert!(series.in_flight_ns.is_empty());
        assert_eq!(from_json(&to_json(&study).unwrap()).unwrap(), study);
    }
}

/// A workload of a trial need not be in the plan: sizes were lowered after it was written.
#[test]
fn each_distinct_workload_is_planned_once() {
    let mut old = document(GOLDEN);
    let first = old["plan"]["workloads"][0].clone();
    old["plan"]["workloads"].as_array_mut().unwrap().push(first);
    old["trials"][2]["cell"]["workload"]["size"] = 4096.into();
    let study = from_json(&old.to_string()).unwrap();
    assert_eq!(study.plan.workloads.len(), 3);
    let cells: Vec<u16> = study.trials.iter().map(|trial| trial.cell.workload).collect();
    assert_eq!(cells, [0, 1, 2]);
    let size = |number: usize| {
        serde_json::to_value(&study.plan.workloads[number].parts[0].job).unwrap()["size"].as_u64()
    };
    assert_eq!((size(0), size(2)), (Some(1 << 30), Some(4096)));
}

#[test]
fn imported_runs_have_subjects_that_are_compared() {
    let mut old = document(GOLDEN);
    old["plan"]["targets"] = json!([]);
    let study = from_json(&old.to_string()).unwrap();
    let given: Vec<String> = study.plan.subjects.iter().map(ToString::to_string).collect();
    assert_eq!(given, ["nfs://nas/volume1", "/srv/Übung"]);
    assert_eq!(study.plan.contrasts, full().plan.contrasts);
}

/// A small document must not become a large study.
#[test]
fn many_targets_and_workloads_are_not_all_compared() {
    let mut old = document(GOLDEN);
    let many = |item: &Value, change: &dyn Fn(&mut Value, u64)| -> Value {
        let items = (0..1000).map(|number| {
            let mut item = item.clone();
            change(&mut item, number);
            item
        });
        items.collect::<Vec<_>>().into()
    };
    old["plan"]["targets"] = many(&old["plan"]["targets"][1], &|_, _| {});
    old["plan"]["workloads"] =
        many(&old["plan"]["workloads"][0], &|workload, number| workload["size"] = number.into());
    let study = from_json(&old.to_string()).unwrap();
    assert_eq!((study.plan.subjects.len(), study.plan.contrasts.len()), (1000, 0));
}

#[test]
fn numbers_that_a_cell_cannot_hold_are_refused() {
    let mut old = document(GOLDEN);
    old["trials"][1]["cell"]["target"] = 65_536.into();
    let failure = from_json(&old.to_string()).unwrap_err();
    assert!(failure.happened.contains("trial 1 is of target 65536"), "{failure}");
    let mut old = document(GOLDEN);
    let workload = old["plan"]["workloads"][0].clone();
    let many = (0..70_000).map(|size| {
        let mut workload = workload.clone();
        workload["size"] = size.into();
        workload
    });
    old["plan"]["workloads"] = many.collect::<Vec<_>>().into();
    let failure = from_json(&old.to_string()).unwrap_err();
    assert!(failure.happened.contains("more than 65536 different workloads"), "{failure}");
}

/// All of them find the old tables, and one of them changes these.
#[test]
fn programs_that_find_an_old_store_at_once_can_all_write_to_it() {
    for _ in 0..3 {
        let (_directory, path) = old_store(2, &[GOLDEN]);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                let path = &path;
                scope.spawn(move || {
                    let store = Store::open(path).unwrap();
                    store.expect_room().unwrap();
                    assert_eq!(store.load("0123").unwrap(), full());
                });
            }
        });
    }
}
