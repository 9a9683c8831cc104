//! Small samples of every form, written for these tests.

use super::*;
use crate::StudyStore;
use plimsoll_model::{Measure, Metric, OpKind, Origin, Outcome, Part, Trial};
use proptest::prelude::*;
use std::num::NonZeroU16;

/// A report in fio 3's layout around the figures that jonfk published in 2024 for random reads
/// and mixed accesses over NFS and SMB (references: jonfk2024), as that script prints it.
const TEXT: &str = include_str!("samples/jonfk2024.txt");
const TEXT_2_1: &str = include_str!("samples/fio-2.1.txt");
const JSON_2_2: &str = include_str!("samples/fio-2.2.json");
const JSON_3: &str = include_str!("samples/fio-3.json");
// Of fio 3.42.
const SEQUENTIAL_MIXED: &str = include_str!("samples/sequential-mixed-rw.json");
const TWO_CLIENTS: &str = include_str!("samples/two-clients.json");
const TWO_CLIENTS_TEXT: &str = include_str!("samples/two-clients.txt");
const ONE_RUN_TWICE: &str = include_str!("samples/one-run-twice-no-reads.json");
const RATE_LIMITED: &str = include_str!("samples/rate-limited.txt");

pub(super) fn file(name: &str, text: &str) -> ImportFile {
    ImportFile { name: name.into(), text: text.into(), modified_unix_seconds: 1_700_000_000 }
}

pub(super) fn one(text: &str) -> Result<Study, Failure> {
    with(text, &ImportOptions::default())
}

fn with(text: &str, options: &ImportOptions) -> Result<Study, Failure> {
    let mut imports = import(&[file("dir/out.txt", text)], options)?;
    assert_eq!(imports.studies.len(), 1);
    Ok(imports.studies.remove(0))
}

/// Why something, or all, of a text was left out.
pub(super) fn left_out(text: &str) -> Vec<String> {
    match import(&[file("dir/out.txt", text)], &ImportOptions::default()) {
        Ok(imports) => imports.left_out.iter().map(Failure::to_string).collect(),
        Err(failure) => vec![failure.to_string()],
    }
}

/// Each run: the target, the kind of work, the jobs, and the operations of each kind.
fn runs(study: &Study) -> Vec<(String, &'static str, u16, Vec<u64>)> {
    let run = |trial: &Trial| {
        let target = study.subjects[usize::from(trial.cell.subject)].label().to_owned();
        let Part { job, workers, .. } = part(study, trial);
        let counts = trial.result.parts[0].ops.values().map(|stats| stats.count).collect();
        (target, job.kind(), workers.get(), counts)
    };
    study.trials.iter().map(run).collect()
}

fn part<'a>(study: &'a Study, trial: &Trial) -> &'a Part {
    study.plan.workload(trial.cell).and_then(|workload| workload.main()).expect("a workload")
}

/// Job of a trial, and its number of this name.
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
pub(super) fn close(found: f64, expected: f64) {
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
    let figure = |kind, measure| quantity(mixed, Metric { kind, measure });
    let (reads, writes) = (211_694.0, 211_918.0);
    close(figure(Some(OpKind::READ), Measure::IOPS), reads / 60.002);
    close(figure(Some(OpKind::WRITE), Measure::IOPS), writes / 60.002);
    close(figure(None, Measure::IOPS), (reads + writes) / 60.002);
    close(figure(Some(OpKind::READ), Measure::LATENCY_MEAN), 535.71e-6);
    close(figure(Some(OpKind::WRITE), Measure::LATENCY_P99), 1516e-6);
    close(
        figure(None, Measure::LATENCY_MEAN),
        (reads * 535.71e-6 + writes * 588.18e-6) / (reads + writes),
    );
    let p99_of_both = Metric::all(Measure::LATENCY_P99);
    assert_eq!(mixed.result.value(0, p99_of_both), None, "it cannot be known");
    assert!(mixed.imported.as_ref().unwrap().notes.is_empty());
}

#[test]
fn reads_and_writes_in_sequential_order_are_a_kind_of_their_own() {
    let study = one(SEQUENTIAL_MIXED).unwrap();
    let expected = ("out".to_owned(), "sequential-mixed", 1, vec![216_337, 216_231]);
    assert_eq!(runs(&study), [expected]);
    let trial = &study.trials[0];
    assert_eq!(job(&study, trial, "block").1, 4096);
    let figure = |kind, measure| quantity(trial, Metric { kind, measure });
    close(figure(Some(OpKind::READ), Measure::LATENCY_MEAN), 969.441039e-9);
    close(figure(Some(OpKind::WRITE), Measure::LATENCY_P99), 9408e-9);
    close(figure(None, Measure::IOPS), (216_337.0 + 216_231.0) / 1.004);
    // The text says it too, and a name where nothing does.
    let text = one(&TEXT.replacen("rw=randrw", "rw=readwrite", 1)).unwrap();
    assert_eq!(part(&text, &text.trials[2]).job.kind(), "sequential-mixed");
}

#[test]
fn clients_of_one_run_count_each_and_once_all_together() {
    let expected = |each: [(&str, u64); 4], all: u64| {
        let target = |client: &str| format!("out on {client}");
        let mut runs: Vec<_> =
            each.map(|(client, reads)| (target(client), "random-read", 1, vec![reads])).into();
        runs.push((target("all clients"), "random-read", 4, vec![all]));
        runs
    };
    let study = one(TWO_CLIENTS).unwrap();
    let (a, b) = ("127.0.0.1:8812", "127.0.0.1:8811");
    let each = [(a, 11_253), (a, 11_292), (b, 11_120), (b, 11_163)];
    assert_eq!(runs(&study), expected(each, 44_828));
    assert!(study.trials.iter().all(|trial| job(&study, trial, "block").1 == 4096));
    assert_eq!(left_out(TWO_CLIENTS), [""; 0]);

    let study = one(TWO_CLIENTS_TEXT).unwrap();
    let (a, b) = ("client 1", "client 2");
    let each = [(a, 11_151), (a, 11_163), (b, 11_501), (b, 11_490)];
    assert_eq!(runs(&study), expected(each, 45_305));
    assert_eq!(left_out(TWO_CLIENTS_TEXT), [""; 0]);
    let all = &study.trials[4].result.parts[0].ops[&OpKind::READ].client_latency;
    close(all.quantile("0.99").unwrap(), 382_976e-9);
    assert_eq!(all.quantile("1"), None, "fio prints 99.5 as 100 here");
    // Both forms at once are one run each.
    let study = one(&format!("{TWO_CLIENTS}{TWO_CLIENTS}")).unwrap();
    assert_eq!(study.trials.len(), 5);
}

#[test]
fn clients_that_do_different_work_have_no_kind_of_work_together() {
    let other = TWO_CLIENTS.replacen("\"rw\" : \"randread\"", "\"rw\" : \"read\"", 1);
    assert_eq!(one(&other).unwrap().trials.len(), 4);
    let [reason] = &left_out(&other)[..] else { panic!() };
    assert!(reason.contains("All clients") && reason.contains("different work"), "{reason}");
    // Two clients with jobs of one name that differ: the text does not say whose is which.
    let text = TWO_CLIENTS_TEXT.replacen(
        "<vm> first: (g=0): rw=randread",
        "<vm> first: (g=0): rw=read",
        1,
    );
    let reasons = left_out(&text);
    assert_eq!(reasons.len(), 3, "{reasons:?}");
    assert_eq!(one(&text).unwrap().trials.len(), 2, "the job 'second' is the same on both");
}

#[test]
fn a_run_that_is_given_twice_counts_once_and_writes_alone_are_writes() {
    let study = one(ONE_RUN_TWICE).unwrap();
    let expected = ("out".to_owned(), "random-write", 1, vec![306_578]);
    assert_eq!(runs(&study), [expected]);
    let notes = &study.trials[0].imported.as_ref().unwrap().notes;
    let said = |words: &str| notes.iter().any(|note| note.contains(words));
    assert!(said("85% random") && said("only writes ran"), "{notes:?}");
    let [reason] = &left_out(ONE_RUN_TWICE)[..] else { panic!() };
    assert!(reason.contains("same time, same figures"), "{reason}");
    // In two files of one target it is one run as well; a moment later it is another.
    let second = ONE_RUN_TWICE.rfind("{\n  \"fio version\"").unwrap();
    let (first, second) = ONE_RUN_TWICE.split_at(second);
    let later = second.replacen("1795616455417", "1795616458417", 1);
    for (second, expected) in [(second, 1), (&later, 2)] {
        let files = [file("a.json", first), file("b.json", second)];
        let options = ImportOptions { labels: vec!["nas".into()], ..Default::default() };
        assert_eq!(import(&files, &options).unwrap().studies[0].trials.len(), expected);
    }
    // Without randomness the order is sequential.
    let order = |percent: &str, mix: &str| {
        let text = first.replacen(
            "\"percentage_random\" : \"85\"",
            &format!("\"percentage_random\" : \"{percent}\""),
            1,
        );
        let study = one(&text.replacen("\"rw\" : \"randrw\"", mix, 1)).unwrap();
        part(&study, &study.trials[0]).job.kind()
    };
    assert_eq!(order("0", "\"rw\" : \"randrw\""), "sequential-write");
    assert_eq!(order("0", "\"rw\" : \"randwrite\""), "sequential-write");
    assert_eq!(order("100", "\"rw\" : \"randwrite\""), "random-write");
}

#[test]
fn a_rate_that_fio_held_is_reported() {
    let flags = |text: &str| {
        let study = one(text).unwrap();
        study.flags.iter().map(|flag| flag.message()).collect::<Vec<_>>()
    };
    // Nothing in the text says so, except that 350 reads of 0.26 ms do not fill a second.
    let [flag] = &flags(RATE_LIMITED)[..] else { panic!() };
    assert!(flag.contains("rate-limited") && flag.contains("91% of the time"), "{flag}");
    // Options say it.
    let with = |option: &str| {
        SEQUENTIAL_MIXED.replacen("\"bs\" : \"4k\"", &format!("\"bs\" : \"4k\", {option}"), 1)
    };
    for option in ["\"rate_iops\" : \"350,150\"", "\"rate\" : \"1m\"", "\"thinktime\" : \"100\""] {
        let name = option.split('"').nth(1).unwrap();
        let [flag] = &flags(&with(option))[..] else { panic!("{option}") };
        assert!(flag.contains(&format!("{name}=")), "{flag}");
    }
    assert_eq!(flags(&with("\"rate\" : \"0\"")), [""; 0]);
    // Time in fsync, or in fio itself, is no limit of the rate.
    assert_eq!(
        flags(&RATE_LIMITED.replacen("total=701,300,0,0", "total=701,300,0,300", 1)),
        [""; 0]
    );
    for text in [
        TEXT,
        TEXT_2_1,
        JSON_2_2,
        JSON_3,
        SEQUENTIAL_MIXED,
        TWO_CLIENTS,
        TWO_CLIENTS_TEXT,
        ONE_RUN_TWICE,
    ] {
        assert_eq!(flags(text), [""; 0]);
    }
}

#[test]
fn the_error_that_fio_reports_is_not_hidden_by_figures_that_it_left_out() {
    let begin = SEQUENTIAL_MIXED.find("\"clat_ns\" : {").unwrap();
    let end = begin + SEQUENTIAL_MIXED[begin..].find("\"lat_ns\"").unwrap();
    let failed =
        format!("{}\"clat_ns\" : {{}},\n{}", &SEQUENTIAL_MIXED[..begin], &SEQUENTIAL_MIXED[end..]);
    let failed = failed.replacen("\"error\" : 0", "\"error\" : 28", 1);
    let study = one(&failed).unwrap();
    let Outcome::Failed { failure, .. } = &study.trials[0].result.outcome else { panic!() };
    assert!(failure.happened.contains("error 28: No space left on device"), "{failure}");
}

#[test]
fn blocks_are_not_made_of_rounded_volumes() {
    // Without the line that has `bs=`, the size follows from 132 MiB in 33748 operations.
    let text = "fio-3.36\nx: (groupid=0, jobs=1): err= 0: pid=1: Wed Oct  9 00:32:06 2024\n  \
        read: IOPS=33.7k, BW=132MiB/s (138MB/s)(132MiB/1000msec)\n    \
        clat (usec): min=10, max=90, avg=29.00, stdev=1.00\n  \
        cpu          : usr=0.80%, sys=2.96%, ctx=501743, majf=0, minf=49\n  \
        IO depths    : 1=100.0%, 2=0.0%\n     issued rwts: total=33748,0,0,0 short=0,0,0,0\n";
    let options =
        ImportOptions { pattern: Some("random-read".parse().unwrap()), ..Default::default() };
    let study = with(text, &options).unwrap();
    assert_eq!(job(&study, &study.trials[0], "block").1, 4096);
    close(quantity(&study.trials[0], Metric::all(Measure::THROUGHPUT)), 33_748.0 * 4096.0);
}

#[test]
fn a_job_that_cannot_be_taken_does_not_refuse_the_others() {
    let trim = TEXT.replacen("rw=randread", "rw=randtrim", 1);
    assert_eq!(one(&trim).unwrap().trials.len(), 2);
    let [reason] = &left_out(&trim)[..] else { panic!() };
    assert!(reason.contains("random_read") && reason.contains("'randtrim'"), "{reason}");
    // A damaged report, a document, a terse line: each is named with its line.
    let terse = format!("3;fio-3.33;rr;0;0;{}\n", "1;".repeat(80));
    let text = format!("{terse}{}\n{{\"jobs\": 1}}\n{TEXT}", &JSON_3[..JSON_3.len() / 2]);
    assert_eq!(one(&text).unwrap().trials.len(), 3);
    let reasons = left_out(&text);
    assert_eq!(reasons.len(), 3, "{reasons:?}");
    // Of a document the one job that is wrong, with the place where reading it ended.
    let begin = JSON_3.find("  {\n   \"jobname\"").unwrap();
    let end = begin + JSON_3[begin..].find("\n  },\n").unwrap() + 6;
    let other = JSON_3[begin..end].replacen("\"jobname\" : \"", "\"jobname\" : \"other", 1);
    let wrong = other.replacen("\"ctx\" : 100", "\"ctx\" : \"x\"", 1);
    assert_ne!(other, wrong);
    let three = format!("{}{wrong}{}", &JSON_3[..begin], &JSON_3[begin..]);
    assert_eq!(one(&three).unwrap().trials.len(), 1);
    let [reason] = &left_out(&three)[..] else { panic!() };
    assert!(reason.contains("column") && reason.contains("u64"), "{reason}");
}

#[test]
fn results_of_other_tools_are_recognised_by_name() {
    let dd =
        "1024+0 records in\n1024+0 records out\n1073741824 bytes (1.1 GB, 1.0 GiB) copied, 9 s\n";
    let failure = one(dd).unwrap_err();
    assert!(failure.happened.contains("output of dd"), "{failure}");
    assert!(failure.next.contains("plimsoll check"), "{failure}");
    let iperf3 = "{\"start\": {\"test_start\": {}}, \"intervals\": [], \"end\": {}}\n";
    assert!(one(iperf3).unwrap_err().happened.contains("expected TCP or UDP"));
    // What fio wrote beside it is imported.
    assert_eq!(one(&format!("{dd}{TEXT}")).unwrap().trials.len(), 3);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out");
    std::fs::write(&path, b"\xfd7zXZ\0\0").unwrap();
    let xz = ImportFile::read(&path).unwrap_err();
    assert!(xz.happened.contains("xz") && xz.next.contains("unxz"), "{xz}");
    let wide = "\u{feff}CrystalDiskMark 8.0.4 x64\r\n".encode_utf16();
    std::fs::write(&path, wide.flat_map(u16::to_le_bytes).collect::<Vec<u8>>()).unwrap();
    let windows = ImportFile::read(&path).unwrap_err();
    assert!(windows.happened.contains("CrystalDiskMark"), "{windows}");
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
    close(quantity(mixed, Metric::for_kind(OpKind::WRITE, Measure::IOPS)), 6051.0 / 10.001);
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
    let studies = import(&files, &ImportOptions::default()).unwrap().studies;
    assert_eq!(studies.len(), 2, "fio's runs of all files are one study");
    assert_eq!(studies[0], own);
    assert_eq!(crate::to_json(&studies[0]).unwrap(), json);
    assert_eq!(studies[1].subjects.len(), 3);
    assert_eq!(studies, import(&files, &ImportOptions::default()).unwrap().studies);

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
        (&report("fio-3.36", "fio-4.0"), &["line 8", "fio-4.0", "fio 2 or 3"]),
        (&report("jobs=4", "jobs=99999"), &["line 8", "99999 jobs"]),
        (&JSON_3.replacen("fio-3.33", "fio-1.5", 1), &["line 1", "fio-1.5"]),
        (&JSON_3[..JSON_3.len() / 2], &["line", "column", "ends within a document"]),
        (&JSON_3.replacen("\"ctx\" : 100", "\"ctx\" : \"x\"", 1), &["line 61, column 14", "u64"]),
        ("\n\n{\"jobs\": []}", &["line 3", "'fio version'"]),
        (schema, &["line 2", "plimsoll/3", "newer version", "plimsoll/1"]),
        ("{\"fio version\": \"fio-3.33\"}", &["line 1", "jobs"]),
        (&terse, &["line 1", "field"]),
        (&terse.replacen('3', "7", 1), &["line 1", "version '7'", "2 to 5"]),
    ] {
        let failures = match import(&[file("dir/out.txt", text)], &ImportOptions::default()) {
            Ok(imports) => imports.left_out,
            Err(failure) => vec![failure],
        };
        let [failure] = &failures[..] else { panic!("{parts:?}: {failures:?}") };
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
        let study = import(&files, &options)?.studies.remove(0);
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
        which in 0usize..9, at in any::<prop::sample::Index>(), bytes in "\\PC{0,3}", cut: bool,
    ) {
        let text = [
            TEXT, TEXT_2_1, JSON_2_2, JSON_3, SEQUENTIAL_MIXED, TWO_CLIENTS, TWO_CLIENTS_TEXT,
            ONE_RUN_TWICE, RATE_LIMITED,
        ][which];
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
    let tools = ["import_iperf3", "import_netperf", "import_flent"];
    let forms = ["import_fio_json", "import_fio_text", "import_fio_terse", "import_own"];
    for form in forms.into_iter().chain(tools) {
        for entry in std::fs::read_dir(format!("{corpora}/{form}")).unwrap() {
            let path = entry.unwrap().path();
            let file = ImportFile::read(&path).unwrap();
            let options = ImportOptions { jobs: NonZeroU16::new(1), ..Default::default() };
            let studies = import(&[file], &options);
            assert!(!studies.unwrap().studies[0].trials.is_empty(), "{}", path.display());
            imported += 1;
        }
    }
    assert!(imported > 10, "{imported}");
}
