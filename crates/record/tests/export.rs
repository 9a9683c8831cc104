//! What is exported reads back, old files stay readable, and hostile ones are refused.

mod support;

use plimsoll_model::{Cause, Measure, MeasureInfo, Metric, Study, StudyId, Trial};
use plimsoll_record::{Store, StudyStore, from_json, to_csv, to_json};
use proptest::prelude::*;

/// The file that fixes schema plimsoll/1: it is never changed, only added to by a new version.
const GOLDEN: &str = include_str!("golden/plimsoll-1.json");
const SCHEMA_PAGE: &str = include_str!("../../../docs/schema.md");

#[test]
fn the_golden_file_reads_and_is_written_identically() {
    if std::env::var_os("PLIMSOLL_BLESS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/plimsoll-1.json");
        std::fs::write(path, to_json(&support::everything()).unwrap()).unwrap();
    }
    let study = from_json(GOLDEN).unwrap();
    assert_eq!(study, support::everything());
    assert_eq!(to_json(&study).unwrap(), GOLDEN);
}

/// Fields whose words are documented.
const TAGS: [&str; 15] = [
    "flag",
    "kind",
    "cause",
    "pattern",
    "job",
    "subject",
    "arrival",
    "length",
    "steps",
    "level",
    "switch",
    "over",
    "direction",
    "aggregation",
    "combine",
];

#[test]
fn every_field_and_kind_is_documented() {
    fn names(value: &serde_json::Value, out: &mut Vec<String>) {
        match value {
            serde_json::Value::Object(fields) => fields.iter().for_each(|(name, value)| {
                out.push(name.clone());
                if let (true, Some(word)) = (TAGS.contains(&&**name), value.as_str()) {
                    out.push(word.to_owned());
                }
                names(value, out);
            }),
            serde_json::Value::Array(items) => items.iter().for_each(|item| names(item, out)),
            _ => {}
        }
    }
    let mut fields = Vec::new();
    names(&serde_json::from_str(GOLDEN).unwrap(), &mut fields);
    assert!(fields.len() > 500);
    fields.retain(|field| !field.starts_with("some_later_"));
    for field in fields {
        // Metrics of one kind of operation are documented once, for all.
        let metric = field.parse::<Metric>();
        let name = metric.map_or(field.clone(), |metric| metric.measure.to_string());
        assert!(
            SCHEMA_PAGE.contains(&format!("`{field}`"))
                || SCHEMA_PAGE.contains(&format!("`{name}`")),
            "docs/schema.md does not mention {field}"
        );
    }
}

/// Flags that the golden file does not have.
#[test]
fn further_flags_are_documented_and_read_back() {
    let mut study = support::watched();
    study.flags = support::any::flags::since(0.5, 7, "local");
    let text = to_json(&study).unwrap();
    assert_eq!(from_json(&text).unwrap(), study);
    for flag in serde_json::to_value(&study.flags).unwrap().as_array().unwrap() {
        for (name, value) in flag.as_object().unwrap() {
            let word = if name == "flag" { value.as_str().unwrap() } else { name };
            assert!(SCHEMA_PAGE.contains(word), "docs/schema.md does not mention {word}");
        }
    }
}

#[test]
fn a_lab_is_documented_and_read_back() {
    let mut study = support::watched();
    assert!(study.hosts.iter().all(|host| host.lab.is_none()));
    study.hosts[1].lab = Some(plimsoll_model::LabFacts {
        name: "router".into(),
        settings: [("link lan rate".into(), "1Gbit/s".into())].into(),
    });
    let text = to_json(&study).unwrap();
    assert_eq!(from_json(&text).unwrap(), study);
    for field in ["lab", "settings", "link lan rate"] {
        assert!(text.contains(&format!("\"{field}\"")), "{field} in {text}");
        assert!(SCHEMA_PAGE.contains(field), "docs/schema.md does not mention {field}");
    }
}

#[test]
fn times_of_a_mount_of_smb_are_documented_and_read_back() {
    let mut study = support::watched();
    let mut account = support::mount(0.25, 7);
    let command = plimsoll_model::MountCommand { count: 8, seconds: 0.25 };
    account.operations.get_mut("Writes").unwrap().command = Some(command);
    study.trials[0].mount = Some(account);
    let text = to_json(&study).unwrap();
    assert_eq!(from_json(&text).unwrap(), study);
    assert!(text.contains("\"command\"") && SCHEMA_PAGE.contains("`command`"), "{text}");
}

#[test]
fn an_smb_target_is_documented() {
    let target = plimsoll_model::Target::Smb(plimsoll_model::SmbTarget {
        dialect: Some(plimsoll_model::SmbDialect::Smb3_0_2),
        ..plimsoll_model::SmbTarget::default()
    });
    let value = serde_json::to_value(target).unwrap();
    assert_eq!((&value["kind"], &value["dialect"]), (&"smb".into(), &"3.0.2".into()));
    for field in value.as_object().unwrap().keys() {
        assert!(SCHEMA_PAGE.contains(&format!("`{field}`")), "{field} is not in docs/schema.md");
    }
}

#[test]
fn an_nfs_target_is_documented() {
    let url = "nfs://nas/x?vers=4.1&proto=tcp&nconnect=4";
    let target: plimsoll_model::Target = url.parse().unwrap();
    let value = serde_json::to_value(target).unwrap();
    let said = ["version", "transport", "nconnect"].map(|field| value[field].to_string());
    assert_eq!(said, ["\"4.1\"", "\"tcp\"", "4"]);
    for field in value.as_object().unwrap().keys() {
        assert!(SCHEMA_PAGE.contains(&format!("`{field}`")), "{field} is not in docs/schema.md");
    }
}

#[test]
fn imported_runs_are_documented() {
    fn names(value: &serde_json::Value, out: &mut Vec<String>) {
        for (name, value) in value.as_object().into_iter().flatten() {
            out.push(name.clone());
            // Below these, names are levels or kinds of operation.
            if !name.ends_with("_latency") && name != "depth_shares" {
                names(value, out);
            }
        }
    }
    let mut fields = vec!["imported".to_owned(), "standard_deviation_seconds".to_owned()];
    names(&serde_json::to_value(support::imported(0.25, 3)).unwrap(), &mut fields);
    assert!(fields.len() > 18);
    for field in fields {
        assert!(SCHEMA_PAGE.contains(&format!("`{field}`")), "{field} is not in docs/schema.md");
    }
}

#[test]
fn unknown_fields_are_ignored_and_a_later_minor_version_is_read() {
    let mut value: serde_json::Value = serde_json::from_str(GOLDEN).unwrap();
    value["schema"] = "plimsoll/1.7".into();
    value["weather"] = "fine".into();
    value["plan"]["weather"] = serde_json::json!({"wind": [1, 2]});
    value["trials"][0]["weather"] = 3.into();
    value["trials"][0]["parts"][0]["weather"] = 1.into();
    value["trials"][0]["loads"][0]["weather"] = serde_json::Value::Null;
    let study = from_json(&value.to_string()).unwrap();
    assert_eq!(study.trials, support::everything().trials);
}

#[test]
fn bad_files_are_refused_with_place_and_reason() {
    let cut = &GOLDEN[..GOLDEN.len() / 2];
    let deep = "[".repeat(100_000);
    let wrong_type =
        GOLDEN.replacen("\"started_seconds\": 5.25", "\"started_seconds\": \"long\"", 1);
    let line = wrong_type.lines().position(|l| l.contains("\"long\"")).unwrap() + 1;
    for (text, part) in [
        ("", "line 1"),
        (cut, "EOF"),
        (&deep, "line 1"),
        (&wrong_type, &format!("line {line}, column")),
        ("{\"schema\": \"plimsoll/3\"}", "'plimsoll/3' was made by a newer version"),
        ("{\"schema\": 1}", "line 1, column"),
        ("{\"schema\": \"plimsoll/1\"}", "missing field"),
        ("{\"schema\": \"plimsoll-device/1\"}", "is not known"),
        ("{\"jobs\": []}", "schema"),
    ] {
        let failure = from_json(text).unwrap_err();
        assert_eq!(failure.cause, Cause::Usage);
        assert!(failure.to_string().contains(part), "{part}: {failure}");
    }
}

#[test]
fn figures_that_are_not_finite_are_left_out_or_refused() {
    let mut study = support::full();
    let iops = Metric::all(Measure::IOPS);
    study.trials[0].result.parts[0].quantities.insert(iops, f64::NAN);
    let read = from_json(&to_json(&study).unwrap()).unwrap();
    assert_eq!(read.trials[0].result.value(0, iops), None);
    assert!(read.trials[0].result.parts[0].quantities.len() > 40);

    study.trials[0].started_seconds = f64::INFINITY;
    assert!(to_json(&study).unwrap_err().to_string().contains("not finite"));
}

#[test]
fn csv_has_a_row_for_each_result_and_quotes_what_needs_it() {
    let mut study = support::everything();
    study.subjects[0].set_label("a \"quoted\", name".into());
    let text = to_csv(&study).unwrap();
    assert!(text.contains("\"a \"\"quoted\"\", name\""));
    assert!(text.ends_with("\r\n"));
    let mut table = csv::Reader::from_reader(text.as_bytes());
    let header = table.headers().unwrap().clone();
    let column = |name: &str| header.iter().position(|h| h == name).expect(name);
    let rows: Vec<_> = table.records().map(Result::unwrap).collect();
    let cells = |row: usize, names: &[&str]| {
        names.iter().map(|name| rows[row][column(name)].to_owned()).collect::<Vec<_>>()
    };
    // Three trials of one part or none, one of two, and a search with three points.
    assert_eq!(rows.len(), 3 + 2 + 1 + 3);
    for (metric, value) in &study.trials[0].result.parts[0].quantities {
        assert_eq!(rows[0][column(&metric.to_string())].parse::<f64>().unwrap(), *value);
        assert_eq!(&rows[1][column(&metric.to_string())], "");
    }
    assert_eq!(
        cells(0, &["label", "job", "part", "point"]),
        ["a \"quoted\", name", "random-mixed", "0", ""]
    );
    assert_eq!(cells(0, &["layout", "stability", "block_bytes"]), ["disjoint", "unstable", "4096"]);
    assert_eq!(cells(0, &["read_operations", "write_errors"]), ["5000", "2"]);
    assert_eq!(cells(0, &["settings"]), ["block size 4 KiB, 1 GiB, 4 workers, 1 in flight each"]);
    assert_eq!(cells(1, &["outcome", "started_seconds", "block"]), ["failed", "5.25", "0"]);
    assert!(rows[1][column("failure")].contains("Free 1 GiB there."));
    assert_eq!(cells(2, &["outcome", "block"]), ["stopped", ""]);
    let setting = "sysctl:net.ipv4.tcp_congestion_control = bbr";
    assert_eq!(cells(3, &["part", "job", "setting", "client"]), ["0", "scan", setting, "0"]);
    assert_eq!(cells(4, &["part", "job", "setting", "client"]), ["1", "copy-up", setting, "1"]);
    assert_eq!(cells(3, &["some_later_figure_pixels", "files_per_second"]), ["0.25", ""]);
    assert_eq!(cells(4, &["files_per_second", "read_directory_operations"]), ["0.25", "40"]);
    let points: Vec<_> =
        (5..9).map(|row| cells(row, &["point", "accepted", "loss_ratio"])).collect();
    assert_eq!(
        points,
        [
            ["", "", "0.25"],
            ["1000000", "true", "0.25"],
            ["500000000", "false", "0.25"],
            ["1000000", "", "0.25"]
        ]
    );
}

/// Figures of names of their own, one in each of many trials: columns times rows is not what a small
/// document may cost.
#[test]
fn a_table_has_an_end() {
    let mut study = support::everything();
    let kinds = ["read", "write", "flush", "create", "open", "close", "remove", "lookup"];
    let metrics: Vec<Metric> = kinds
        .iter()
        .flat_map(|kind| Measure::known().map(move |m| Metric::for_kind(kind.parse().unwrap(), m)))
        .collect();
    let mut small = support::trial(0);
    small.result.parts[0] = plimsoll_model::PartResult::default();
    small.loads.clear();
    let rows = (1 << 26) / (metrics.len() / 2);
    study.trials = vec![small; rows];
    for (trial, metric) in study.trials.iter_mut().zip(metrics) {
        trial.result.parts[0].quantities.insert(metric, 1.0);
    }
    let failure = to_csv(&study).unwrap_err();
    assert!(
        failure.happened.contains("the table would have") && failure.next.contains("JSON"),
        "{failure}"
    );
}

/// The measures that every reader of plimsoll/1 knows. There are no more to come: a reader of today
/// shows one that is added later only where it is noted with the study.
const OF_THE_SCHEMA: &str = "iops throughput_bytes_per_second burst_throughput_bytes_per_second \
    sustained_throughput_bytes_per_second latency_mean_seconds latency_p50_seconds \
    latency_p99_seconds latency_max_seconds rpc_latency_p50_seconds longest_gap_seconds \
    flush_seconds client_cpu_seconds_per_operation client_cpu_seconds_per_byte \
    machine_cpu_seconds_per_operation machine_cpu_seconds_per_byte operations_in_flight \
    server_cpu_seconds_per_operation server_cpu_seconds_per_byte elapsed_seconds files_per_second \
    entries_per_second start_spread_seconds start_spread_error_seconds step_value";

#[test]
fn measures_are_noted_for_readers_that_do_not_know_them() {
    let common: Vec<String> = Measure::common().map(|measure| measure.to_string()).collect();
    assert_eq!(common, OF_THE_SCHEMA.split_ascii_whitespace().collect::<Vec<_>>());
    assert!(common.iter().all(|name| SCHEMA_PAGE.contains(&format!("| `{name}` |"))));
    let mut study = support::everything();
    let noted = std::mem::take(&mut study.measures);
    let own = from_json(&to_json(&study).unwrap()).unwrap().measures;
    let of_jobs: Vec<MeasureInfo> =
        noted.iter().filter(|info| !common.contains(&info.measure.to_string())).cloned().collect();
    let (later, of_jobs) = of_jobs.split_last().unwrap();
    assert_eq!(own, of_jobs, "those that are known here and not to every reader");
    assert!(!own.is_empty());
    // What another version noted is passed on as it is; what is known here is noted anew.
    let pixels = |info: &MeasureInfo| MeasureInfo { unit: "px".into(), ..info.clone() };
    study.measures = vec![later.clone(), pixels(&noted[0]), pixels(&own[0])];
    let read = from_json(&to_json(&study).unwrap()).unwrap();
    assert_eq!(read.measures, [&noted[..1], &own[..], std::slice::from_ref(later)].concat());
    assert_eq!((later.measure.info(), read.info(later.measure)), (None, Some(later.clone())));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_study_round_trips(study in support::any::study()) {
        let text = to_json(&study).unwrap();
        let read: Study = from_json(&text).unwrap();
        prop_assert_eq!(&read, &study);
        prop_assert_eq!(to_json(&read).unwrap(), text);
    }

    #[test]
    fn any_study_makes_a_rectangular_table(study in support::any::study()) {
        let text = to_csv(&study).unwrap();
        let mut table = csv::Reader::from_reader(text.as_bytes());
        let parts = |trial: &plimsoll_model::Trial| {
            let points = trial.points.iter().map(|point| point.parts.len()).sum::<usize>();
            (trial.result.parts.len() + points).max(1)
        };
        let rows = study.trials.iter().map(parts).sum::<usize>();
        prop_assert_eq!(table.records().map(Result::unwrap).count(), rows);
    }

    #[test]
    fn a_damaged_file_is_read_or_refused(at in 0..GOLDEN.len(), byte in any::<u8>()) {
        let mut bytes = GOLDEN.as_bytes().to_vec();
        bytes[at] = byte;
        let _ = from_json(&String::from_utf8_lossy(&bytes));
    }
}

/// A long study is not in memory whole: it leaves in parts, of which none has more than a trial.
#[test]
fn a_study_leaves_the_store_a_trial_at_a_time_and_is_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path().join("studies.db")).unwrap();
    let mut study = support::everything();
    let some = study.trials.clone();
    let more =
        (0..200u32).map(|n| Trial { number: 1000 + n, ..some[n as usize % some.len()].clone() });
    study.trials.extend(more);
    for trials in [study.trials.clone(), study.trials[..1].to_vec(), Vec::new()] {
        let study =
            Study { id: StudyId(format!("0000{:04}", trials.len())), trials, ..study.clone() };
        store.begin(&study).unwrap();
        let whole = to_json(&store.load(&study.id.0).unwrap()).unwrap();
        let (mut text, mut longest) = (String::new(), 0);
        store
            .export_json(&study.id.0, &mut |part| {
                longest = longest.max(part.len());
                text.push_str(part);
                Ok(())
            })
            .unwrap();
        assert!(text == whole, "{} trials", study.trials.len());
        let read = from_json(&text).unwrap();
        assert_eq!(read.trials.len(), study.trials.len());
        assert!(study.trials.len() < 200 || longest < whole.len() / 10, "{longest}");
    }
    // Where one trial cannot be written, nothing is.
    let mut bad = support::full();
    bad.trials[0].started_seconds = f64::NAN;
    assert!(to_json(&bad).is_err());
    let failure = store.export_json("ffffffff", &mut |_| panic!("there is none")).unwrap_err();
    assert_eq!(failure.cause, Cause::Usage);
}
