//! Scans and copies, alone, together and by several clients.

use super::{SHORT, measure, part, result, shown, storage, study_of};
use crate::any_study;
use plimsoll_model::units::{Bytes, MIB};
use plimsoll_model::*;
use plimsoll_report::{Document, Style};

fn scan() -> Job {
    Job::Scan(ScanJob::default())
}

fn copy(transfer: Transfer) -> Job {
    Job::Copy(CopyJob {
        dataset: Dataset {
            source: DataSource::Directory { data: "/home/jane/films".into() },
            files: 40,
            directories: 3,
            bytes: Bytes(700 * MIB),
        },
        transfer,
        method: Method::default(),
        block: Bytes(MIB),
        verify: false,
    })
}

/// The load of this machine, two cores at 42%, while a trial lasts.
fn lasting(seconds: f64) -> HostLoad {
    let load = any_study::load(HostName::Local);
    let by = seconds / load.seconds;
    let each = CpuTimes { user: 0.5, system: 1.0, idle: 2.9, softirq: 0.6, ..CpuTimes::default() };
    let group = load.control_group.unwrap();
    HostLoad {
        seconds,
        cpu: each * (2.0 * by),
        cores: vec![each * by; 2],
        cores_busy: vec![0.42; 2],
        run_seconds: load.run_seconds.map(|run| run * by),
        memory_stall_seconds: load.memory_stall_seconds.map(|stalled| stalled * by),
        control_group: Some(ControlGroupLoad { cpu_seconds: group.cpu_seconds * by, ..group }),
        stretches: Vec::new(),
        ..load
    }
}

/// Every entry is looked up, every directory read; the second target is slower. A trial's rates, time, windows and
/// load are of the same entries.
#[test]
fn a_scan_of_two_targets() {
    let tree = ScanJob { directories: 2000, files: 50, ..ScanJob::default() };
    let all = f64::from(tree.directories * (1 + tree.files));
    let mut scans = study_of(
        &storage(&["nfs://old/x", "nfs://new/y"]),
        vec![Workload::new(part(Job::Scan(tree)), Length::UntilDone { at_most_seconds: 600.0 })],
    );
    measure(&mut scans, 6, |cell, off| {
        let entries = off * if cell.subject == 0 { 21_500.0 } else { 9_800.0 };
        let mut of_scan = result(&[
            (Metric::all(Measure::ENTRIES), entries),
            (Metric::all(Measure::ELAPSED), all / entries),
            (Metric::all(Measure::IOPS), 1.02 * entries),
            (Metric::all(Measure::THROUGHPUT), 0.0),
            (Metric::for_kind(OpKind::LOOKUP, Measure::IOPS), entries),
            (Metric::for_kind(OpKind::LOOKUP, Measure::LATENCY_MEAN), 1.0 / entries),
            (Metric::for_kind(OpKind::READ_DIRECTORY, Measure::IOPS), 0.02 * entries),
        ]);
        let mut window = Window::only(OpKind::LOOKUP, (entries / 10.0) as u64, 0);
        window.add(&Window::only(OpKind::READ_DIRECTORY, (entries / 500.0) as u64, 0));
        let windows = (all / entries / 0.1).round() as usize;
        of_scan.series = Series::new(0.1, &vec![window; windows]);
        vec![of_scan]
    });
    let mut begins = 5.5;
    for trial in &mut scans.trials {
        let elapsed = trial.result.parts[0].quantities[&Metric::all(Measure::ELAPSED)];
        trial.loads = vec![lasting(elapsed)];
        trial.started_seconds = begins;
        begins += elapsed + 0.5;
    }
    let page = Document::of_study(&scans).html();
    for line in ["x, lookups", "y, directory reads", "Scan: operations per second over time"] {
        assert!(page.contains(line), "{line}");
    }
    let text = shown(&scans);
    assert!(!text.contains("bandwidth"), "nothing is moved: {text}");
    assert!(text.contains("x is 2.19 times as fast as y"), "{text}");
    assert!(!text.contains("contradict"), "{text}");
    insta::assert_snapshot!(text);
}

/// Copies up while another client scans, and each by itself: what the copy loses beside the scan is
/// a contrast between parts of two workloads.
#[test]
fn a_copy_beside_a_scan() {
    let clients = ["ssh://desk", "ssh://laptop"];
    let with_scan = |first: Part| Workload {
        parts: vec![first, Part { client: 1, ..part(scan()) }],
        steps: None,
        length: Length::UntilDone { at_most_seconds: 600.0 },
    };
    let alone =
        Workload::new(part(copy(Transfer::Up)), Length::UntilDone { at_most_seconds: 60.0 });
    let mut study =
        study_of(&storage(&["nfs://nas/x"]), vec![alone, with_scan(part(copy(Transfer::Up)))]);
    study.plan.drive_on(clients.map(|client| client.parse().unwrap()));
    let elapsed = |workload, part| Measurand {
        cell: Cell { workload, ..Cell::default() },
        part,
        metric: Metric::all(Measure::ELAPSED),
    };
    study.plan.contrasts =
        vec![Contrast { of: elapsed(1, 0), against: elapsed(0, 0), claim: true }];
    measure(&mut study, 6, |cell, off| {
        let rate = off * if cell.workload == 0 { 110e6 } else { 80e6 };
        let copied = result(&[
            (Metric::all(Measure::THROUGHPUT), rate),
            (Metric::all(Measure::ELAPSED), 700.0 * 1_048_576.0 / rate),
            (Metric::all(Measure::FILES), 40.0 * rate / 700e6),
        ]);
        let scanned = result(&[(Metric::all(Measure::ENTRIES), off * 4000.0)]);
        [vec![copied], if cell.workload == 1 { vec![scanned] } else { Vec::new() }].concat()
    });
    let text = shown(&study);
    // 80 against 110 MB/s: more time, so the lone copy is the faster one.
    assert!(text.contains("elapsed time: x, copy up is 38% faster than x,"), "{text}");
    assert!(text.contains("scan, ssh://laptop"), "{text}");
    insta::assert_snapshot!(text);
}

/// A copy and a scan at once on one machine: its CPU time, and the server's, are of both, and were shown nowhere.
#[test]
fn the_cpu_time_of_parts_that_run_at_once_is_shown_once() {
    let both = Workload {
        parts: vec![part(copy(Transfer::Up)), part(scan())],
        steps: None,
        length: Length::UntilDone { at_most_seconds: 600.0 },
    };
    let mut study = study_of(&storage(&["nfs://nas/x"]), vec![both]);
    measure(&mut study, 6, |_, off| {
        let copied = result(&[(Metric::all(Measure::THROUGHPUT), off * 80e6)]);
        vec![copied, result(&[(Metric::all(Measure::ENTRIES), off * 4000.0)])]
    });
    assert!(!shown(&study).contains("all parts together"), "no figure");
    for (number, trial) in (0u32..).zip(&mut study.trials) {
        let server = if number.is_multiple_of(2) { 1e-10 } else { -1e-10 };
        trial.loads.clear();
        trial.result.whole = [
            (Metric::all(Measure::MACHINE_CPU_PER_BYTE), 0.155e-9),
            (Metric::all(Measure::SERVER_CPU_PER_BYTE), server),
        ]
        .into();
    }
    let page = Document::of_study(&study).html();
    for text in [shown(&study), page] {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for words in [
            "CPU for all parts together, x: this machine 0.155 s/GB",
            "server below 0.",
            "(busy minus idle).",
        ] {
            assert!(text.contains(words), "{words} in {text}");
        }
    }
}

#[test]
fn two_clients_that_do_the_same_stand_together_and_apart() {
    let mut stream = part(copy(Transfer::Down));
    let first = stream.clone();
    stream.client = 1;
    let both = Workload { parts: vec![first, stream], steps: None, length: SHORT };
    let mut study = study_of(&storage(&["nfs://nas/x", "nfs://nas/y"]), vec![both]);
    study.plan.drive_on(["ssh://desk", "ssh://laptop"].map(|client| client.parse().unwrap()));
    measure(&mut study, 6, |cell, off| {
        let rate = |share: f64| {
            let rate = share * off * (100e6 + 40e6 * f64::from(cell.subject));
            result(&[(Metric::all(Measure::THROUGHPUT), rate)])
        };
        vec![rate(0.6), rate(0.4), rate(1.0)]
    });
    let text = shown(&study);
    for words in [
        "Copy down by 2 clients",
        "x: all clients together",
        "  copy down, ssh://laptop",
        "y is 40% faster than x",
        "56.0 MB/s",
    ] {
        assert!(text.contains(words), "{words} in {text}");
    }
}

/// It was "Photos that are late: 12% of those of 24 MB", without a verb.
#[test]
fn late_photos_are_described_in_a_whole_sentence() {
    let slides = SlidesJob {
        photo: Bytes(24_000_000),
        shown_seconds: 3.0,
        ahead: false,
        block: Bytes(MIB),
        size: Bytes(256 * MIB),
    };
    let workload = Workload::new(part(slides.into()), SHORT);
    let mut study = study_of(&storage(&["nfs://nas/photos"]), vec![workload]);
    measure(&mut study, 3, |_, off| {
        let figures = [
            (SlidesJob::PHOTO_TIME, 0.4),
            (SlidesJob::PHOTO_LONGEST, 0.9),
            (SlidesJob::PHOTOS, 2.0),
            (SlidesJob::LATE, 0.12),
        ];
        vec![result(&figures.map(|(measure, value)| (Metric::all(measure), value * off)))]
    });
    let screen = Document::of_study(&study).screen(&Style { width: 160, colour: false });
    assert!(screen.contains("12% of the photos of 24 MB are late."), "{screen}");
}

/// "No host, link or disk was monitored" was said of a slide show, whose client was.
#[test]
fn a_slide_show_has_the_rate_that_it_needs() {
    let slides = SlidesJob {
        photo: Bytes(3_000_000),
        shown_seconds: 3.0,
        ahead: false,
        block: Bytes(MIB),
        size: Bytes(256 * MIB),
    };
    let workload = Workload::new(part(slides.into()), SHORT);
    let mut study = study_of(&storage(&["nfs://nas/photos"]), vec![workload]);
    measure(&mut study, 3, |_, off| {
        vec![result(&[(Metric::all(SlidesJob::PHOTO_TIME), 0.04 * off)])]
    });
    let said = |study: &Study| {
        let screen = Document::explaining(study, &[]).screen(&Style { width: 160, colour: false });
        screen.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let reached =
        "The fixed rate was reached, so no resource had to be saturated (photos of 3 MB).";
    let text = said(&study);
    assert!(text.contains(reached) && !text.contains("was monitored"), "{text}");
    study.plan.command = "plimsoll check --rate 500 nfs://nas/photos".into();
    let text = said(&study);
    assert!(text.contains("(photos of 3 MB): leave out --rate to find the limit."), "{text}");
    study.trials.iter_mut().for_each(|trial| trial.loads.clear());
    let text = said(&study);
    assert!(text.contains("no host, link or disk was monitored"), "{text}");
}
