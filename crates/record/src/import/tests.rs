//! Small samples of every form, written for these tests.

use super::*;
use plimsoll_model::{Measure, Metric, OpKind, Origin, Outcome, Part, Trial};
use proptest::prelude::*;
use std::num::NonZeroU16;

/// A report in fio 3's layout around the figures that jonfk published in 2024 for random reads
/// and mixed accesses over NFS and SMB (references: jonfk2024), as that script prints it.
const TEXT: &str = include_str!("samples/jonfk2024.txt");
const TEXT_2_1: &str = include_str!("samples/fio-2.1.txt");
const JSON_2_2: &str = include_str!("samples/fio-2.2.json");
const JSON_3: &str = include_str!("samples/fio-3.json");

fn file(name: &str, text: &str) -> ImportFile {
    ImportFile { name: name.into(), text: text.into(), modified_unix_seconds: 1_700_000_000 }
}

fn one(text: &str) -> Result<Study, Failure> {
    with(text, &ImportOptions::default())
}

fn with(text: &str, options: &ImportOptions) -> Result<Study, Failure> {
    let mut studies = import(&[file("dir/out.txt", text)], options)?;
    assert_eq!(studies.len(), 1);
    Ok(studies.remove(0))
}

fn part<'a>(study: &'a Study, trial: &Trial) -> &'a Part {
    study.plan.workload(trial.cell).and_then(|workload| workload.main()).expect("a workload")
}

/// What the job of a trial is, and its number of this name.
fn job(study: &Study, trial: &Trial, name: &str) -> (&'static str, u64) {
    let job = &part(study, trial).job;
    let number = serde_json::to_value(job).unwrap()[name].as_u64().expect("a number");
    (job.kind(), number)
}

fn quantity(trial: &Trial, metric: Metric) -> f64 {
    trial.result.value(0, metric).unwrap_or_else(|| panic!("no {metric}"))
}

fn labels(study: &Study) -> Vec<&str> {
    study.subjects.iter().map(|subject| subject.label()).collect()
}

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-9 * expected.abs(), "{found} is not {expected}");
}

#[test]
fn a_script_with_two_targets_becomes_one_study() {
    let study = one(TEXT).unwrap();
    assert_eq!(study.origin, Origin::Imported { tool: "fio-3.36".into() });
    assert_eq!(labels(&study), ["/mnt/nfs/backups", "/mnt/smb/backups"]);
    assert_eq!(study.plan.workloads.len(), 2);
    assert_eq!(study.trials.len(), 3);
    assert!(study.trials.iter().all(|t| t.block.is_none() && t.loads.is_empty()));

    let nfs = &study.trials[0];
    assert_eq!(job(&study, nfs, "block"), ("random-read", 4096));
    let Part { workers, .. } = part(&study, nfs);
    assert_eq!((workers.get(), part(&study, nfs).depth().get()), (4, 1));
    let quantity = |measure| quantity(nfs, Metric::all(measure));
    // Counts are exact where printed rates have four digits: 440105 reads in 60.003 s.
    close(quantity(Measure::IOPS), 440_105.0 / 60.003);
    close(quantity(Measure::THROUGHPUT), 440_105.0 * 4096.0 / 60.003);
    close(quantity(Measure::LATENCY_MEAN), 541.17e-6);
    close(quantity(Measure::LATENCY_P99), 1319e-6);
    // Four jobs at 0.80 + 2.96 percent use 15% of a core.
    close(quantity(Measure::CLIENT_CPU_PER_OP), 0.0376 * 4.0 * 60.003 / 440_105.0);
    let read = &nfs.result.parts[0].ops[&OpKind::READ];
    assert_eq!((read.count, read.bytes), (440_105, 440_105 * 4096));
    close(read.client_latency.standard_deviation_seconds.unwrap(), 272.19e-6);
    close(read.client_latency.max_seconds, 13_564e-6);
    close(read.client_latency.quantile("0.9995").unwrap(), 6063e-6);
    assert_eq!(read.client_latency.quantiles_seconds.len(), 17);
    let run = nfs.imported.as_ref().unwrap();
    assert_eq!((run.name.as_str(), run.engine.as_str()), ("random_read", "psync"));
    assert_eq!((run.jobs, run.line), (Some(4), 8));
    let cpu = run.cpu.unwrap();
    assert_eq!((cpu.user_percent, cpu.system_percent), (0.80, 2.96));
    assert_eq!((cpu.context_switches, cpu.minor_faults), (501_743, 49));
    close(cpu.system_seconds.unwrap(), 0.0296 * 4.0 * 60.003);
    close(run.total_latency[&OpKind::READ].mean_seconds, 541.96e-6);
    close(run.depth_shares["1"], 1.0);

    let cell = |trial: &Trial| (trial.cell.subject, trial.cell.workload);
    assert_eq!(study.trials.iter().map(cell).collect::<Vec<_>>(), [(0, 0), (1, 0), (0, 1)]);
    // Each subject is compared with the first, under each workload.
    let given: Vec<String> = study.plan.subjects.iter().map(|s| s.to_string()).collect();
    assert_eq!(given, ["/mnt/nfs/backups", "/mnt/smb/backups"]);
    assert_eq!(study.plan.contrasts.len(), 2);
    assert!(
        study.plan.contrasts.iter().all(|c| (c.of.cell.subject, c.against.cell.subject) == (1, 0))
    );
    assert_eq!(study.measures, [], "every reader knows what fio measures");
    // The first ended at 00:32:06 after 60.003 s; the second began 246 s later.
    assert_eq!(study.started_unix_seconds, 1_728_433_865);
    assert!((study.trials[1].started_seconds - 246.999).abs() < 1e-3);
}

#[test]
fn both_halves_of_a_mixed_run_are_kept() {
    let study = one(TEXT).unwrap();
    let mixed = &study.trials[2];
    assert_eq!((part(&study, mixed).job.kind(), mixed.cell.subject), ("random-mixed", 0));
    let of = |kind, measure| quantity(mixed, Metric { kind, measure });
    let (reads, writes) = (211_694.0, 211_918.0);
    close(of(Some(OpKind::READ), Measure::IOPS), reads / 60.002);
    close(of(Some(OpKind::WRITE), Measure::IOPS), writes / 60.002);
    close(of(None, Measure::IOPS), (reads + writes) / 60.002);
    close(of(Some(OpKind::READ), Measure::LATENCY_MEAN), 535.71e-6);
    close(of(Some(OpKind::WRITE), Measure::LATENCY_P99), 1516e-6);
    close(
        of(None, Measure::LATENCY_MEAN),
        (reads * 535.71e-6 + writes * 588.18e-6) / (reads + writes),
    );
    let p99_of_both = Metric::all(Measure::LATENCY_P99);
    assert_eq!(mixed.result.value(0, p99_of_both), None, "it cannot be known");
    assert!(mixed.imported.as_ref().unwrap().notes.is_empty());
}

#[test]
fn fio_2_1_prints_kilobytes_of_1024_and_microseconds() {
    let study = one(TEXT_2_1).unwrap();
    let [read, mixed] = &study.trials[..] else { panic!() };
    assert_eq!(job(&study, read, "block"), ("sequential-read", 128 << 10));
    assert_eq!(part(&study, read).depth().get(), 16);
    close(quantity(read, Metric::all(Measure::THROUGHPUT)), 2048.0 * 1048576.0 / 18.207);
    close(quantity(read, Metric::all(Measure::IOPS)), 16384.0 / 18.207);
    close(quantity(read, Metric::all(Measure::LATENCY_MEAN)), 17.70e-3);
    let run = read.imported.as_ref().unwrap();
    close(run.submission_latency[&OpKind::READ].mean_seconds, 21.34e-6);
    close(read.result.parts[0].ops[&OpKind::READ].client_latency.quantile("0.99").unwrap(), 33e-3);
    assert_eq!(part(&study, mixed).job.kind(), "random-mixed");
    close(quantity(mixed, Metric::of(OpKind::WRITE, Measure::IOPS)), 6051.0 / 10.001);
    let notes = &mixed.imported.as_ref().unwrap().notes;
    assert!(notes.iter().any(|n| n.contains("70% of the operations were reads")), "{notes:?}");
}

#[test]
fn json_of_fio_2_has_microseconds_and_kibibytes() {
    let study = one(JSON_2_2).unwrap();
    let trial = &study.trials[0];
    assert_eq!(study.origin, Origin::Imported { tool: "fio-2.2.10".into() });
    assert_eq!(study.started_unix_seconds, 1_460_000_000 - 11);
    // Options are not in the file: the name says the order, volume and count the block.
    assert_eq!(job(&study, trial, "block"), ("random-write", 8192));
    let quantity = |measure| quantity(trial, Metric::all(measure));
    close(quantity(Measure::THROUGHPUT), 20_000.0 * 8192.0 / 10.240);
    close(quantity(Measure::LATENCY_MEAN), 500.25e-6);
    close(quantity(Measure::LATENCY_P50), 490e-6);
    let stats = &trial.result.parts[0].ops[&OpKind::WRITE];
    assert_eq!(stats.client_latency.quantiles_seconds.len(), 3, "the filler '0.00' is none");
}

#[test]
fn jobs_of_one_run_are_put_together() {
    let study = one(JSON_3).unwrap();
    assert_eq!(study.trials.len(), 1);
    let trial = &study.trials[0];
    assert_eq!(part(&study, trial).workers.get(), 2);
    assert_eq!(job(&study, trial, "size").1, 2 << 24);
    let quantity = |measure| quantity(trial, Metric::all(measure));
    close(quantity(Measure::IOPS), 6000.0 / 1.0);
    close(quantity(Measure::LATENCY_MEAN), (2000.0 * 480e-6 + 4000.0 * 240e-6) / 6000.0);
    let cpu = trial.imported.as_ref().unwrap().cpu.unwrap();
    close(cpu.user_seconds.unwrap(), 0.01 + 0.03);
    assert_eq!(cpu.context_switches, 6100);
    // Bins are there, so the percentiles of both together are known.
    close(quantity(Measure::LATENCY_P99), 900e-6);
    close(quantity(Measure::LATENCY_P50), 240e-6);
}

#[test]
fn lines_before_the_document_several_documents_and_windows_line_ends() {
    let labelled =
        |label: &str| ImportOptions { labels: vec![label.to_owned()], ..ImportOptions::default() };
    let noisy =
        format!("\u{feff}fio: this platform does not support x\nnote: hey\n{JSON_3}\ntail\n");
    for text in [noisy.clone(), noisy.replace('\n', "\r\n")] {
        let study = with(&text, &labelled("nas")).unwrap();
        assert_eq!(labels(&study), ["nas"]);
        assert_eq!(study.trials.len(), 1);
    }
    let twice = format!("Testing a\n{JSON_3}\nTesting b\n{JSON_3}");
    let study = with(&twice, &labelled("nas")).unwrap();
    assert_eq!((study.subjects.len(), study.trials.len()), (2, 2));
    let line = study.trials[1].imported.as_ref().unwrap().line as usize;
    assert!(twice.lines().nth(line - 1).unwrap().contains("jobname"));
    let text = one(TEXT).unwrap();
    let windows = one(&TEXT.replace('\n', "\r\n")).unwrap();
    assert_eq!((text.trials, text.subjects), (windows.trials, windows.subjects));
}

#[test]
fn own_studies_come_back_as_they_were_and_go_in_once() {
    let own = crate::support::full();
    let json = crate::to_json(&own).unwrap();
    let both = format!("{json}{JSON_3}");
    let files = [file("a.json", &both), file("b.txt", TEXT)];
    let studies = import(&files, &ImportOptions::default()).unwrap();
    assert_eq!(studies.len(), 2, "fio's runs of all files are one study");
    assert_eq!(studies[0], own);
    assert_eq!(crate::to_json(&studies[0]).unwrap(), json);
    assert_eq!(studies[1].subjects.len(), 3);
    assert_eq!(studies, import(&files, &ImportOptions::default()).unwrap());

    let directory = tempfile::tempdir().unwrap();
    let store = crate::Store::open(directory.path().join("studies.db")).unwrap();
    store.import(&studies).unwrap();
    assert_eq!(store.load(&studies[1].id.0).unwrap(), studies[1]);
    let mut other = own.clone();
    other.id = StudyId("00000001".into());
    let failure = store.import(&[other.clone(), own]).unwrap_err();
    assert!(failure.happened.contains("already"), "{failure}");
    assert_eq!(store.list().unwrap().len(), 2, "nothing half-imported");
    assert!(store.import(&[other.clone(), other]).unwrap_err().happened.contains("twice"));
}

#[test]
fn what_cannot_be_imported_is_reported_with_its_place() {
    let report = |from: &str, to: &str| TEXT.replacen(from, to, 1);
    let cut = &TEXT[..TEXT.find("     issued").unwrap()];
    let terse = format!("3;fio-3.33;rr;0;0;{}", "1;".repeat(80));
    let schema = "\n{\"schema\": \"plimsoll/3\"}";
    for (text, parts) in [
        ("", &["nothing in it"][..]),
        ("hello\n", &["nothing in it", "groupid="]),
        (cut, &["line 8", "'issued' line"]),
        (&report("usr=0.80%", "usr=x"), &["line 19", "usr=..%"]),
        (&report("avg=541.17", "avg=fast"), &["line 10", "min=.."]),
        (&report("99.00th=[ 1319]", "99.00th=1319"), &["line 16", "percentiles"]),
        (&report("IOPS=7334", "IOPS=many"), &["line 9", "IOPS=.."]),
        (&report("rw=randread", "rw=randtrim"), &["line 8", "'randtrim'", "no pattern"]),
        (&report("rw=randrw", "rw=rw"), &["line 61", "sequential order"]),
        (&report("fio-3.36", "fio-4.0"), &["line 5", "fio-4.0", "fio 2 or 3"]),
        (&report("jobs=4", "jobs=99999"), &["line 8", "99999 jobs"]),
        (&JSON_3.replacen("fio-3.33", "fio-1.5", 1), &["line 1", "fio-1.5"]),
        (&JSON_3[..JSON_3.len() / 2], &["line", "column", "EOF"]),
        (&JSON_3.replacen("\"ctx\" : 100", "\"ctx\" : \"x\"", 1), &["line 61, column 14", "u64"]),
        ("\n\n{\"jobs\": []}", &["line 3", "'fio version'"]),
        (schema, &["line 2", "plimsoll/3", "plimsoll/2, plimsoll/1"]),
        ("{\"fio version\": \"fio-3.33\"}", &["line 1", "jobs"]),
        (&terse, &["line 1", "field"]),
        (&terse.replacen('3', "7", 1), &["line 1", "version '7'", "2 to 5"]),
    ] {
        let failure = one(text).expect_err(&format!("{parts:?}"));
        assert_eq!(failure.cause, Cause::Usage);
        let text = failure.to_string();
        assert!(text.contains("dir/out.txt"), "{text}");
        for part in parts {
            assert!(text.contains(part), "{part:?} is not in:\n{text}");
        }
        assert!(!failure.next.is_empty());
    }
}

#[test]
fn own_studies_that_the_store_could_not_tell_apart_are_refused() {
    let json = crate::to_json(&crate::support::full()).unwrap();
    for (from, to, part) in [
        ("\"0123abcd\"", "\"latest\"", "'latest'"),
        ("\"number\": 1,", "\"number\": 0,", "two trials number 0"),
    ] {
        let failure = one(&json.replacen(from, to, 1)).unwrap_err();
        assert!(failure.to_string().contains(part), "{failure}");
    }
}

#[test]
fn a_failed_job_is_a_failed_trial() {
    let text = TEXT.replacen("err= 0:", "err= 5 (file:io_u.c:1, error=Input/output error):", 1);
    let study = one(&text).unwrap();
    let Outcome::Failed { failure, .. } = &study.trials[0].result.outcome else { panic!() };
    assert!(failure.happened.contains("Input/output error"), "{failure}");
    assert!(study.trials[0].result.parts.is_empty());
}

#[test]
fn labels_and_options_serve_what_the_files_lack() {
    let files = [file("a/nfs.json", JSON_3), file("smb.json", JSON_3)];
    let labels = |labels: &[&str]| {
        let labels = labels.iter().map(|l| (*l).to_owned()).collect();
        let options = ImportOptions { labels, ..ImportOptions::default() };
        let study = import(&files, &options)?.remove(0);
        Ok::<Vec<String>, Failure>(
            super::tests::labels(&study).into_iter().map(str::to_owned).collect(),
        )
    };
    assert_eq!(labels(&[]).unwrap(), ["nfs", "smb"]);
    assert_eq!(labels(&["one"]).unwrap(), ["one"]);
    assert_eq!(labels(&["x", "y"]).unwrap(), ["x", "y"]);
    assert!(labels(&["x", "y", "z"]).unwrap_err().to_string().contains("2 files"));

    let unnamed = JSON_2_2.replace("rand-write", "job1");
    let failure = one(&unnamed).unwrap_err();
    assert!(failure.next.contains("--pattern"), "{failure}");
    let options = |pattern: &str| ImportOptions {
        pattern: Some(pattern.parse().unwrap()),
        ..ImportOptions::default()
    };
    let study = with(&unnamed, &options("sequential-write")).unwrap();
    assert_eq!(part(&study, &study.trials[0]).job.kind(), "sequential-write");
    let failure = with(&unnamed, &options("random-read")).unwrap_err();
    assert!(failure.to_string().contains("no figures of random-read"), "{failure}");
}

#[test]
fn files_are_read_up_to_a_limit_and_as_text() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out");
    let read = |bytes: &[u8], limit| {
        std::fs::write(&path, bytes).unwrap();
        ImportFile::read_limited(&path, limit)
    };
    assert_eq!(read(b"\xef\xbb\xbfab\n", 6).unwrap().text, "ab\n");
    assert!(read(b"1234567", 6).unwrap_err().happened.contains("larger than 6 B"));
    assert!(read(b"a\nb\n\xff", 9).unwrap_err().on.ends_with("line 3"));
    assert!(read(b"\xff\xfea\0", 9).unwrap_err().to_string().contains("UTF-16"));
    let missing = ImportFile::read(&directory.path().join("none")).unwrap_err();
    assert_eq!(missing.cause, Cause::Usage);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn damaged_files_are_read_or_refused(
        which in 0usize..4, at in any::<prop::sample::Index>(), bytes in "\\PC{0,3}", cut: bool,
    ) {
        let text = [TEXT, TEXT_2_1, JSON_2_2, JSON_3][which];
        let mut at = at.index(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let rest = if cut { "" } else { text.get(at + 1..).unwrap_or_default() };
        if let Ok(study) = one(&format!("{}{bytes}{rest}", &text[..at])) {
            prop_assert!(crate::to_json(&study).is_ok());
        }
    }
}

/// Fuzzing begins with a whole document of each form, as fio 3.33 and this program wrote them.
#[test]
fn the_corpora_of_fuzz_targets_are_imported() {
    let corpora = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus");
    let mut imported = 0;
    for form in ["import_fio_json", "import_fio_text", "import_fio_terse", "import_own"] {
        for entry in std::fs::read_dir(format!("{corpora}/{form}")).unwrap() {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            let options = ImportOptions { jobs: NonZeroU16::new(1), ..Default::default() };
            let studies = import(&[file("f", &text)], &options);
            assert!(!studies.unwrap()[0].trials.is_empty(), "{}", path.display());
            imported += 1;
        }
    }
    assert!(imported > 10, "{imported}");
}
