//! Studies of other jobs than the patterns of a check, on other subjects than storage, in several
//! parts, in steps, and under several settings: every one of them can be shown in every form.

use crate::written::{compare, study};
use crate::{NARROW, any_study, plain};
use plimsoll_model::device::{CryptoMeans, DisturbedFigure};
use plimsoll_model::units::{Bytes, MIB};
use plimsoll_model::*;
use plimsoll_report::{Document, Style, redact};
use std::num::NonZeroU16;

const DEVICE: &str = include_str!("../../../record/tests/golden/device-nas.json");

fn part(job: Job) -> Part {
    Part::closed(job, NonZeroU16::MIN, NonZeroU16::MIN)
}

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

/// A study of these subjects doing this, without trials.
pub(crate) fn of(subjects: &[Subject], workloads: Vec<Workload>) -> Study {
    let mut study = plain::empty(&[], &[]);
    study.subjects = subjects.iter().map(facts).collect();
    study.plan.subjects = subjects.to_vec();
    study.plan.workloads = workloads;
    study.plan.command = "plimsoll run plan.toml".into();
    study.plan.contrasts = Contrast::against_first(&study.plan);
    study
}

fn facts(subject: &Subject) -> SubjectFacts {
    let given = subject.to_string();
    match subject {
        Subject::Storage(_) => SubjectFacts::Storage(TargetFacts {
            label: given.rsplit('/').next().unwrap().to_owned(),
            given,
            protocol: "NFSv3 over TCP".into(),
            ..TargetFacts::default()
        }),
        Subject::Path(PathSubject { from, to, .. }) => SubjectFacts::Path(PathFacts {
            label: format!("{}-{}", from.host, to.host),
            given,
            notes: vec!["1500 bytes at most in a packet".into()],
            ..PathFacts::default()
        }),
        host => {
            let record = plimsoll_record::from_json(DEVICE).unwrap();
            let device = record.subjects[0].host().unwrap().device.clone();
            SubjectFacts::Host(Box::new(BoxFacts { label: host.to_string(), given, device }))
        }
    }
}

fn storage(targets: &[&str]) -> Vec<Subject> {
    targets.iter().map(|target| Subject::from(target.parse::<Target>().unwrap())).collect()
}

fn path(from: &str, to: &str) -> Subject {
    let end = |host: &str| Endpoint { host: host.parse().unwrap(), address: None };
    Subject::from(PathSubject { from: end(from), to: end(to), via: None })
}

const SHORT: Length = Length::For { seconds: 5.0, warm_up_seconds: 1.0 };

/// Figures of one part.
pub(crate) fn result(figures: &[(Metric, f64)]) -> PartResult {
    PartResult { quantities: figures.iter().copied().collect(), ..PartResult::default() }
}

/// `blocks` trials of every cell, with what `parts` has for it; each block a little off.
pub(crate) fn measure(
    study: &mut Study,
    blocks: u32,
    parts: impl Fn(Cell, f64) -> Vec<PartResult>,
) {
    for block in 0..blocks {
        for cell in study.plan.cells() {
            let number = study.trials.len() as u32;
            let off = 1.0 + 0.002 * (f64::from(block % 3) - 1.0) * f64::from(1 + cell.subject);
            let mut parts = parts(cell, off);
            let all = study.plan.workload(cell).unwrap().parts.len();
            let together = (parts.len() > all).then(|| parts.pop().unwrap());
            study.trials.push(Trial {
                number,
                block: Some(block),
                cell,
                started_seconds: 5.5 * f64::from(number),
                result: PointResult { parts, together, ..PointResult::empty(Outcome::Complete) },
                points: Vec::new(),
                loads: vec![any_study::load("local")],
                mount: None,
                imported: None,
            });
        }
    }
}

/// Shows a study in every form, and gives its text for the terminal.
pub(crate) fn shown(study_of: &Study) -> String {
    let one = std::slice::from_ref(study_of);
    let mut later = study_of.clone();
    later.id.0 = "5eed0002".into();
    later.started_unix_seconds += 86_400;
    for paper in
        [Document::of_studies(one), Document::of_studies(&[study_of.clone(), later.clone()])]
    {
        assert!(paper.html().ends_with("</html>") && !paper.markdown(Some("x")).is_empty());
        let mut names = Vec::new();
        for (name, svg) in paper.charts() {
            assert!(!names.contains(&name), "{name} twice");
            roxmltree::Document::parse(&svg).unwrap_or_else(|e| panic!("{name}: {e}"));
            names.push(name);
        }
    }
    for text in
        [study(study_of, &Style { width: 60, ..NARROW }), compare(study_of, &later, &NARROW)]
    {
        assert!(!text.contains("NaN") && !text.contains("are not compared"), "{text}");
    }
    let redacted = redact(study_of, &[]).unwrap();
    let without_hosts = |trials: &[Trial]| -> Vec<Trial> {
        let mut trials = trials.to_vec();
        for trial in &mut trials {
            let of_points = trial.points.iter_mut().flat_map(|point| &mut point.loads);
            trial.loads.iter_mut().chain(of_points).for_each(|load| load.host.clear());
        }
        trials
    };
    assert_eq!(without_hosts(&redacted.trials), without_hosts(&study_of.trials));
    assert_eq!(redacted.plan.workloads.len(), study_of.plan.workloads.len());
    plimsoll_record::to_csv(study_of).unwrap();
    study(study_of, &Style { width: 100, colour: false })
}

/// The load of this machine, two cores at 42%, while a trial lasts.
fn lasting(seconds: f64) -> HostLoad {
    let load = any_study::load("local");
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
    let mut scans = of(
        &storage(&["nfs://old/x", "nfs://new/y"]),
        vec![Workload::of(part(Job::Scan(tree)), Length::UntilDone { at_most_seconds: 600.0 })],
    );
    measure(&mut scans, 6, |cell, off| {
        let entries = off * if cell.subject == 0 { 21_500.0 } else { 9_800.0 };
        let mut of_scan = result(&[
            (Metric::all(Measure::ENTRIES), entries),
            (Metric::all(Measure::ELAPSED), all / entries),
            (Metric::all(Measure::IOPS), 1.02 * entries),
            (Metric::all(Measure::THROUGHPUT), 0.0),
            (Metric::of(OpKind::LOOKUP, Measure::IOPS), entries),
            (Metric::of(OpKind::LOOKUP, Measure::LATENCY_MEAN), 1.0 / entries),
            (Metric::of(OpKind::READ_DIRECTORY, Measure::IOPS), 0.02 * entries),
        ]);
        let mut window = Window::of(OpKind::LOOKUP, (entries / 10.0) as u64, 0);
        window.add(&Window::of(OpKind::READ_DIRECTORY, (entries / 500.0) as u64, 0));
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
    let beside = |first: Part| Workload {
        parts: vec![first, Part { client: 1, ..part(scan()) }],
        steps: None,
        length: Length::UntilDone { at_most_seconds: 600.0 },
    };
    let alone = Workload::of(part(copy(Transfer::Up)), Length::UntilDone { at_most_seconds: 60.0 });
    let mut study = of(&storage(&["nfs://nas/x"]), vec![alone, beside(part(copy(Transfer::Up)))]);
    study.plan.clients = clients.map(|client| client.parse().unwrap()).into();
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

#[test]
fn two_clients_that_do_the_same_stand_together_and_apart() {
    let mut stream = part(copy(Transfer::Down));
    let first = stream.clone();
    stream.client = 1;
    let both = Workload { parts: vec![first, stream], steps: None, length: SHORT };
    let mut study = of(&storage(&["nfs://nas/x", "nfs://nas/y"]), vec![both]);
    study.plan.clients = vec!["ssh://desk".parse().unwrap(), "ssh://laptop".parse().unwrap()];
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

/// A measure of another version is shown with what that noted of it.
#[test]
fn a_stream_over_two_paths_with_a_measure_of_another_version() {
    let stream = StreamJob { connections: 4, rate: None };
    let paths = [path("local", "ssh://router"), path("local", "ssh://nas")];
    let mut study = of(&paths, vec![Workload::of(part(Job::Stream(stream)), SHORT)]);
    let (sharpness, oddity) = ("sharpness".parse().unwrap(), "oddity_seconds".parse().unwrap());
    let info = |measure, unit: &str, per: &str, direction| MeasureInfo {
        measure,
        unit: unit.into(),
        per: per.into(),
        direction,
        aggregation: Aggregation::Geometric,
        combine: Combine::None,
    };
    study.measures = vec![
        info(sharpness, "pixel\u{1b}[2J", "frame", Direction::More),
        info(oddity, "s", "", Direction::Less),
    ];
    let mut third = study.plan.contrasts[0];
    third.of.metric = Metric::all(sharpness);
    third.against.metric = Metric::all(sharpness);
    study.plan.contrasts.push(third);
    measure(&mut study, 6, |cell, off| {
        let factor = off * if cell.subject == 0 { 1.0 } else { 1.5 };
        vec![result(&[
            (Metric::all(Measure::THROUGHPUT), 80e6 * factor),
            (Metric::all(StreamJob::LOSS), 0.012 * factor),
            (Metric::all(sharpness), 42.0 * factor),
            (Metric::all(oddity), 0.0123 * factor),
        ])]
    });
    let text = shown(&study);
    assert!(text.contains("sharpness per frame: ") && text.contains("% higher than "), "{text}");
    insta::assert_snapshot!(text);
}

/// Each load has a row with its goodput, the CPU of both ends, its latency and its bottleneck.
#[test]
fn a_network_path_on_one_screen() {
    let alone = |job: Job| Workload::of(part(job), SHORT);
    let streams = |flow| Job::from(TcpStreamJob::new(flow));
    let loaded = vec![part(RequestJob::sparse().into()), part(streams(Flow::Both))];
    let workloads = vec![
        alone(streams(Flow::Out)),
        alone(streams(Flow::Both)),
        alone(RequestJob::new().into()),
        Workload { parts: loaded, ..alone(RequestJob::new().into()) },
    ];
    let mut study = of(&[path("local", "ssh://nas")], workloads);
    let all = Metric::all;
    measure(&mut study, 3, |cell, off| {
        let latency = |p50: f64| {
            vec![
                (all(Measure::LATENCY_MEAN), p50),
                (all(Measure::LATENCY_P50), p50 * off),
                (all(Measure::LATENCY_P99), 4.0 * p50),
            ]
        };
        let stream = vec![
            (all(Measure::THROUGHPUT), 117.6e6 * off),
            (all(Measure::NEAR_CPU_PER_BYTE), 0.5e-9),
            (all(Measure::FAR_CPU_PER_BYTE), 1.2e-9),
            (all(Measure::FLOW_RTT_P50), 0.012),
            (all(Measure::FLOW_RTT_LEAST), 0.0004),
            (all(Measure::TCP_EFFICIENCY), 0.995),
            (all(Measure::BUFFER_DELAY), 29.0),
        ];
        let both =
            vec![(all(Measure::GOODPUT_OUT), 100e6 * off), (all(Measure::GOODPUT_IN), 60e6 * off)];
        match cell.workload {
            0 => vec![result(&stream)],
            1 => vec![result(&[stream, both].concat())],
            2 => vec![result(&latency(0.0002))],
            _ => {
                let responsive = vec![(all(Measure::RESPONSIVENESS), 77.0)];
                let sparse = [latency(0.013), responsive].concat();
                vec![result(&sparse), result(&[stream, both].concat())]
            }
        }
    });
    let wireless = WirelessLink {
        send_bits_per_second: Some(390_000_000),
        signal_dbm: Some(-61),
        sent_packets: Some(1000),
        retried_packets: Some(48),
        ..WirelessLink::default()
    };
    let queue = device::Queue { name: Some("rx-0".into()), steering_cores_mask: Some("f".into()) };
    let name = Some("wlan0".to_owned());
    let nic = device::Nic { name, queues: vec![queue], ..device::Nic::default() };
    let SubjectFacts::Path(path) = &mut study.subjects[0] else { panic!("{:?}", study.subjects) };
    path.interfaces =
        vec![PathInterface { end: "B".into(), device: nic, wireless: Some(wireless) }];
    for trial in &mut study.trials {
        let softirq = |softirq| CpuTimes { softirq, idle: 10.0 - softirq, ..CpuTimes::default() };
        trial.loads = vec![HostLoad {
            host: "ssh://nas".into(),
            seconds: 10.0,
            cores: vec![softirq(3.4), softirq(0.0)],
            softnet: Some(Softnet { processed: 9000, dropped: 0, squeezed: 4 }),
            ..HostLoad::default()
        }];
    }
    let style = Style { width: 80, colour: false };
    let screen = Document::of_study(&study).screen(&style);
    assert!(screen.lines().count() <= 24, "{screen}");
    let radio = "B: wlan0 is wireless: sends at 390 Mbit/s, signal -61 dBm, 4.8% retries.";
    assert!(screen.replace('\n', " ").contains(radio), "{screen}");
    let row = |name: &str| {
        let found = screen.lines().find(|line| line.starts_with(name));
        found.unwrap_or_else(|| panic!("{name} in\n{screen}")).to_owned()
    };
    let out = row("TCP out");
    for word in ["941 Mbit/s ±", "0.500 / 1.20"] {
        assert!(out.contains(word), "{word} in\n{screen}");
    }
    assert!(row("TCP both: out").contains("800 Mbit/s"), "{screen}");
    assert!(row("TCP both: in").contains("480 Mbit/s"), "{screen}");
    let idle = row("requests ");
    assert!(idle.contains("200 µs") && idle.contains("800 µs"), "{screen}");
    assert!(screen.contains("requests during") && screen.contains("52.0 ms"), "{screen}");
    // The queue is in front of something that was not monitored.
    assert!(out.contains("not monitored (1)"), "{screen}");
    assert!(screen.contains("(1) A queue grows on the path"), "{screen}");
    let responsive =
        "Responsiveness: 4620 RPM during TCP both (draft-ietf-ippm-responsiveness-09).";
    assert!(screen.replace('\n', " ").contains(responsive), "{screen}");
    let text = shown(&study);
    let efficiency = "RFC 6349, TCP out: TCP efficiency 99.50%; buffer delay 2900%.";
    let details = [
        "Interface wlan0 of B: rx-0 RPS mask f.",
        "core 0 34%; 12 runs squeezed and 0 packets dropped (softnet_stat).",
    ];
    let words = ["Network path: ", "Block size 128 KiB, 1 stream.", "goodput", efficiency];
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in words.into_iter().chain(details) {
        assert!(text.contains(words), "{words} in\n{text}");
    }
    let explained = Document::explaining(&study, &[]).screen(&style);
    assert!(explained.contains("TCP out: a queue grows"), "{explained}");
    let redacted = redact(&study, &[]).unwrap();
    assert!(!redacted.plan.subjects[0].to_string().contains("nas"), "{redacted:?}");
}

/// 1 Gbit/s is a rate of the wire, and payload is compared with what it leaves.
#[test]
fn a_saturated_link_has_its_rate_by_layer() {
    let tcp = Workload::of(part(TcpStreamJob::new(Flow::Out).into()), SHORT);
    let mut study = of(&[path("local", "ssh://nas")], vec![tcp]);
    study.hosts[0].link_rates = [("eth0".to_owned(), 1_000_000_000)].into();
    let figures = [
        (Metric::all(Measure::THROUGHPUT), 117.6e6),
        (Metric::all(Measure::TCP_EFFICIENCY), 1.0),
        (Metric::all(Measure::SEGMENT), 1448.0),
        (Metric::all(Measure::PATH_MTU), 1500.0),
    ];
    measure(&mut study, 3, |_, _| vec![result(&figures)]);
    for trial in &mut study.trials {
        let packets = 80_000;
        let eth0 = InterfaceLoad {
            name: "eth0".into(),
            sent_bytes: 1514 * packets,
            sent_packets: packets,
            ..InterfaceLoad::default()
        };
        trial.loads = vec![HostLoad {
            host: "local".into(),
            seconds: 1.0,
            interfaces: vec![eth0],
            ..HostLoad::default()
        }];
    }
    let SubjectFacts::Path(path) = &mut study.subjects[0] else { panic!("{:?}", study.subjects) };
    path.root_adds = vec!["All rights of root at B would add settings (--set)".into()];
    let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = words(shown(&study));
    for words in [
        "the link (eth0 of A, 1 Gbit/s) is saturated: 98%. Its rate is that of the wire (L1), preambles and gaps \
         included. In packets of 1500 B, it carries at most 987 Mbit/s of frames (L2) and 941 Mbit/s of TCP payload.",
        "941 Mbit/s of an ideal 941 Mbit/s (1 Gbit/s of Ethernet, segments of 1448 B), transfer time ratio 1.00",
        "All rights of root at B would add settings (--set).",
    ] {
        assert!(text.contains(words), "{words} in\n{text}");
    }
    let screen = Document::of_study(&study).screen(&Style { width: 80, colour: false });
    assert!(!screen.contains("L1") && !screen.contains("All rights"), "{screen}");
}

/// Loads that differ in their size have a chart, with the points of a publication where its load is the same.
#[test]
fn a_network_path_by_size() {
    let alone = |job: Job| Workload::of(part(job), SHORT);
    let tcp = |flow, block, streams| {
        let job = TcpStreamJob { block: Bytes(block), streams, ..TcpStreamJob::new(flow) };
        alone(job.into())
    };
    let udp = |payload| {
        let job = DatagramsJob { payload: Bytes(payload), ..DatagramsJob::new(Flow::Out) };
        alone(job.into())
    };
    let charts = |workloads: Vec<Workload>| {
        let mut study = of(&[path("ssh://router", "ssh://pc")], workloads);
        measure(&mut study, 5, |cell, off| {
            let rate = 10e6 * f64::from(1 + cell.workload) * off;
            vec![result(&[(Metric::all(Measure::THROUGHPUT), rate)])]
        });
        shown(&study);
        let charts = Document::of_study(&study).charts().collect::<Vec<_>>();
        charts.into_iter().filter(|(name, _)| name.starts_with("by-size")).collect::<Vec<_>>()
    };
    let all = charts(vec![
        tcp(Flow::Out, 131_072, 1),
        tcp(Flow::Out, 1024, 1),
        udp(400),
        tcp(Flow::In, 1024, 1),
        udp(1450),
        tcp(Flow::In, 4096, 1),
    ]);
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["by-size.svg", "by-size-2.svg", "by-size-3.svg"]);
    // The points of the text, and 10 MB/s of the largest block.
    for words in
        ["TCP out: goodput by block size", "RSPRO, published", "8 KiB", "363 Mbit/s", "80.0 Mbit/s"]
    {
        assert!(all[0].1.contains(words), "{words} in {}", all[0].1);
    }
    for words in ["by payload", "1450 B", "418 Mbit/s", "figure 2"] {
        assert!(all[1].1.contains(words), "{words} in {}", all[1].1);
    }
    assert!(!all[2].1.contains("published") && all[2].1.contains("4 KiB"), "{}", all[2].1);
    // Of several streams nothing was published, and one size is no chart.
    let four = charts(vec![tcp(Flow::Out, 1024, 4), tcp(Flow::Out, 8192, 4), udp(400)]);
    assert_eq!(four.len(), 1);
    assert!(!four[0].1.contains("published"), "{}", four[0].1);
}

/// The same goodput may take much more CPU time.
#[test]
fn a_network_path_that_is_equally_fast_with_less_cpu_time() {
    let workload = Workload::of(part(TcpStreamJob::new(Flow::Out).into()), SHORT);
    let mut study = of(&[path("ssh://a", "ssh://b")], vec![workload]);
    study.plan.factors = vec![Factor {
        name: "offload:eth0:tso".into(),
        host: "ssh://a".parse().unwrap(),
        levels: ["off", "on"].map(|value| FactorLevel::Set { value: value.into() }).into(),
        switch: Switch::Live,
    }];
    study.plan.contrasts = Contrast::against_first(&study.plan);
    measure(&mut study, 12, |cell, off| {
        let at_a = if cell.setting == 0 { 0.5e-9 } else { 0.01e-9 };
        vec![result(&[
            (Metric::all(Measure::THROUGHPUT), 117e6 * off),
            (Metric::all(Measure::NEAR_CPU_PER_BYTE), at_a * off),
            (Metric::all(Measure::FAR_CPU_PER_BYTE), 1e-9 * off),
        ])]
    });
    let screen = Document::of_study(&study).screen(&Style { width: 80, colour: false });
    let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    // The settings are A and B on a screen of 80 columns.
    let costs = "TCP out is equally fast, but host A needs 0.500 s/GB of CPU with A and 0.0100 s/GB with B.";
    assert!(words.contains(costs), "{screen}");
    assert!(!words.contains("but host B needs"), "{screen}");
    shown(&study);
}

/// TCP that stopped in a trial had a low rate, and nothing said why.
#[test]
fn a_network_path_whose_streams_stalled() {
    let alone = |flow| Workload::of(part(TcpStreamJob::new(flow).into()), SHORT);
    let mut study = of(&[path("local", "ssh://nas")], vec![alone(Flow::Out), alone(Flow::Both)]);
    let all = Metric::all;
    measure(&mut study, 3, |cell, off| {
        let one = (all(Measure::THROUGHPUT), 20e6 * off);
        let ways = [(all(Measure::GOODPUT_OUT), 12e6 * off), (all(Measure::GOODPUT_IN), 8e6 * off)];
        match cell.workload {
            0 => vec![PartResult {
                answered_seconds: Some(3.0),
                stalls: vec![Stall {
                    phase: StallPhase::Measured,
                    start_seconds: 2.0,
                    seconds: 2.0,
                }],
                ..result(&[one])
            }],
            _ => vec![PartResult {
                answered_seconds: Some(5.0),
                ..result(&[vec![one], ways.to_vec()].concat())
            }],
        }
    });
    for trial in study.trials.iter_mut().filter(|trial| trial.cell.workload == 0) {
        trial.result.flags = vec![Flag::LongGap { seconds: 2.0 }];
    }
    let screen = Document::of_study(&study).screen(&Style { width: 80, colour: false });
    let said = "No byte of TCP arrived for 22% of the time: 3 stalls, the longest 2.00 s.";
    assert!(screen.contains(said), "{screen}");
    let lines: Vec<&str> = screen.lines().collect();
    let row = lines.iter().position(|line| line.starts_with("TCP out")).expect(&screen);
    assert!(lines[row].contains("160 Mbit/s ±"), "{screen}");
    // 3 s of 5 s.
    assert!(lines[row + 1].contains("(96.0 over all time)"), "{screen}");
    assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    // The stall says what the flag would say.
    assert!(!screen.contains("No operation completed"), "{screen}");
}

/// Only the round trips of flent's tests were shown, and paths were to be measured with a check.
#[test]
fn an_imported_test_of_streams_and_round_trips() {
    let parts = vec![part(RequestJob::sparse().into()), part(TcpStreamJob::new(Flow::Both).into())];
    let workload = Workload { parts, steps: None, length: SHORT };
    let all = Metric::all;
    for servers in [&["ssh://b"][..], &["ssh://b", "ssh://c"], &["ssh://b", "ssh://c", "ssh://d"]] {
        let paths: Vec<Subject> = servers.iter().map(|server| path("ssh://a", server)).collect();
        let mut study = of(&paths, vec![workload.clone()]);
        study.origin = Origin::Imported { tool: "flent-2.1.1".into() };
        measure(&mut study, 1, |cell, _| {
            let times = 1.0 + f64::from(cell.subject);
            let ways = [
                (all(Measure::THROUGHPUT), 37.5e6 * times),
                (all(Measure::GOODPUT_OUT), 7.5e6 * times),
                (all(Measure::GOODPUT_IN), 30e6 * times),
            ];
            vec![result(&[(all(Measure::LATENCY_MEAN), 0.03 * times)]), result(&ways)]
        });
        for trial in &mut study.trials {
            (trial.block, trial.imported) = (None, Some(any_study::imported(5.0, 1)));
        }
        let screen = Document::of_study(&study).screen(&Style { width: 80, colour: false });
        let row = |name: &str| screen.lines().find(|line| line.starts_with(name)).expect(&screen);
        assert!(row("TCP both: out").contains("60.0 Mbit/s"), "{screen}");
        assert!(row("TCP both: in").contains("240 Mbit/s"), "{screen}");
        if servers.len() == 2 {
            assert!(row("TCP both: out").contains("120 Mbit/s"), "{screen}");
        }
        let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
        let says_how = words.contains("measure with plimsoll net.");
        assert_eq!(says_how, servers.len() > 1, "{screen}");
        let text = Document::of_study(&study).text(&Style { width: 80, colour: false });
        assert!(!text.contains("clat"), "the figures are not those of fio: {text}");
    }
}

/// The settings of one target stand beside each other; what was changed is in the method.
#[test]
fn a_factor_of_two_levels() {
    let factors = vec![Factor {
        name: "sysctl:net.ipv4.tcp_congestion_control".into(),
        host: "ssh://root@nas".parse().unwrap(),
        levels: vec![FactorLevel::AsFound, FactorLevel::Set { value: "bbr".into() }],
        switch: Switch::Live,
    }];
    let mut study = of(&storage(&["nfs://nas/x"]), vec![plain::workload(Pattern::SequentialRead)]);
    study.plan.factors = factors;
    study.plan.contrasts = Contrast::against_first(&study.plan);
    measure(&mut study, 6, |cell, off| {
        let rate = off * (90e6 + 30e6 * f64::from(cell.setting));
        vec![result(&[(Metric::all(Measure::THROUGHPUT), rate)])]
    });
    let text = shown(&study);
    assert!(text.contains("x, tcp_congestion_control=bbr is 33% faster than x,"), "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains(
            "Changed on ssh://root@nas: sysctl:net.ipv4.tcp_congestion_control (as found and bbr), changed \
             between trials, in random order within each block. It was restored at the end."
        ),
        "{text}"
    );
    study.flags.push(Flag::SettingNotRestored {
        host: "ssh://root@nas".into(),
        setting: study.plan.factors[0].name.clone(),
        reason: "no route to host".into(),
    });
    let text = shown(&study).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("It could not be restored; see the warnings."), "{text}");
    assert!(text.contains("could not be restored: no route") && !text.contains("It was restored"));
    let redacted = redact(&study, &[]).unwrap();
    assert_eq!(redacted.plan.factors[0].name, study.plan.factors[0].name);
    assert!(!redacted.plan.factors[0].host.to_string().contains("nas"));
}

#[test]
fn a_sweep_has_a_table_and_a_line() {
    let depths = [1.0, 4.0, 16.0];
    let mut swept = plain::workload(Pattern::RandomRead);
    swept.steps = Some(Steps::Sweep { over: Parameter::Depth, values: depths.into() });
    let mut study = of(&storage(&["nfs://nas/x"]), vec![swept]);
    let rate = |depth: f64, off: f64| {
        let iops = off * 8000.0 * depth / (1.0 + 0.2 * depth);
        result(&[
            (Metric::all(Measure::IOPS), iops),
            (Metric::all(Measure::THROUGHPUT), 4096.0 * iops),
        ])
    };
    measure(&mut study, 3, |_, off| vec![rate(16.0, off)]);
    for trial in &mut study.trials {
        // In an order of its own.
        let points = [16.0, 1.0, 4.0].map(|at| Point {
            at,
            accepted: None,
            parts: vec![rate(at, 1.0 + 0.001 * f64::from(trial.number))],
            loads: Vec::new(),
        });
        trial.points = points.into();
    }
    let text = shown(&study);
    assert!(text.contains("in flight per worker swept through 1, 4, 16"), "{text}");
    let rows: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("in flight per worker ") && line.contains("MB/s"))
        .collect();
    assert_eq!(rows.len(), 3, "{text}");
    assert!(rows[0].contains("worker 1 ") && rows[0].contains("6673"), "{text}");
    assert!(rows[2].contains("worker 16 ") && rows[2].contains("30.5 k"), "{text}");
    let page = Document::of_study(&study).html();
    assert!(page.contains("Random read: operations per second by in flight per worker"));
}

/// Hosts by themselves, in blocks: figures with intervals, and what is in their records.
#[test]
fn two_hosts_in_blocks() {
    let hosts =
        ["ssh://old", "ssh://new"].map(|host| HostSubject { host: host.parse().unwrap() }.into());
    let record = plimsoll_record::from_json(DEVICE).unwrap();
    let mut study = of(&hosts, record.plan.workloads.clone());
    study.measures = record.measures.clone();
    measure(&mut study, 6, |cell, off| {
        let trial = record.trials.iter().find(|t| t.cell.workload == cell.workload).unwrap();
        let mut part = trial.result.parts[0].clone();
        let factor = off * (1.0 + 0.5 * f64::from(cell.subject));
        part.quantities.values_mut().for_each(|value| *value *= factor);
        vec![part]
    });
    let text = shown(&study);
    for words in [
        "integer rounds, one core",
        "Cryptography: ssh://new",
        "ssh://new is 50% faster than ssh://old",
        "Synology DS218play",
    ] {
        assert!(text.contains(words), "{words} in {text}");
    }
    let page = Document::of_study(&study).html();
    assert!(
        page.contains("id=\"host-cpu-2\"") && page.contains("ssh://old and ssh://new compared")
    );
    // What was measured by other means on one of them is not compared.
    let crypto = |study: &Study| {
        let shown = crate::written::study(study, &NARROW);
        let (_, rest) = shown.split_once("\n\nCrypto\n").expect("a section");
        rest.lines()
            .find(|line| line.starts_with("> "))
            .unwrap_or_else(|| panic!("{shown}"))
            .to_owned()
    };
    assert!(crypto(&study).contains("ssh://new is 50% faster"), "{}", crypto(&study));
    let SubjectFacts::Host(facts) = &mut study.subjects[1] else { panic!("a host") };
    for figure in &mut facts.device.crypto.as_mut().unwrap().algorithms {
        figure.means = CryptoMeans::Portable;
    }
    assert!(!crypto(&study).contains("faster"), "{}", crypto(&study));
    let text = crate::written::study(&study, &NARROW);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let apart = "Not compared, because they were measured in different ways: AES-128-GCM (openssl,";
    assert!(text.contains(apart), "{text}");
}

/// One host has its own page: what it is, and its figures with intervals where they stood alone.
#[test]
fn one_host_in_blocks_and_the_same_with_another_firmware() {
    let host = |blocks, factor: f64| {
        let record = plimsoll_record::from_json(DEVICE).unwrap();
        let mut study = of(&record.plan.subjects, record.plan.workloads.clone());
        study.measures = record.measures.clone();
        measure(&mut study, blocks, |cell, off| {
            let trial = record.trials.iter().find(|t| t.cell.workload == cell.workload).unwrap();
            let mut part = trial.result.parts[0].clone();
            part.quantities.values_mut().for_each(|value| *value *= factor * off);
            vec![part]
        });
        study
    };
    let (old, new) = (host(3, 1.0), host(3, 1.5));
    let text = crate::written::study(&old, &NARROW);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "geometric means of 3 blocks with 95% intervals",
        "402 MB/s [400–404]",
        "Compared with published platforms",
        "Synology DS218play",
    ] {
        assert!(text.contains(words), "{words} in {text}");
    }
    assert!(crate::written::study(&new, &NARROW).contains("603 MB/s [600–606]"));
    let page = Document::of_study(&old).html();
    assert!(page.contains("402 MB/s [400–404]") && page.contains("3 blocks"));

    let both = crate::written::compare(&old, &new, &NARROW);
    let row = both.lines().find(|line| line.starts_with("AES-128-GCM ")).expect("a row");
    assert!(row.contains("603 MB/s [600–606]") && row.contains("1.50 [1.4"), "{row}");
    assert!(both.contains("> AES-128-GCM: B is 50% faster than A ["), "{both}");
    // A single block has no interval, and no verdict follows.
    let single = crate::written::compare(&old, &host(1, 1.5), &NARROW);
    assert!(
        single.contains("no intervals and no verdicts") && !single.contains("faster"),
        "{single}"
    );
    let row = single.lines().find(|line| line.starts_with("AES-128-GCM ")).expect("a row");
    assert!(row.trim_end().ends_with("1.50"), "{row}");
}

/// A figure that was disturbed in any block is no measure of the host, whatever the last one was.
#[test]
fn a_block_that_was_disturbed_is_not_forgotten() {
    let record = plimsoll_record::from_json(DEVICE).unwrap();
    let mut study = of(&record.plan.subjects, record.plan.workloads.clone());
    study.measures = record.measures.clone();
    measure(&mut study, 3, |cell, _| {
        let trial = record.trials.iter().find(|t| t.cell.workload == cell.workload).unwrap();
        trial.result.parts.clone()
    });
    let ceiling = "Encrypted transport (AES-128-GCM, SMB 3 and TLS): at most about 402 MB/s";
    let flat = |study: &Study| {
        let text = crate::written::study(study, &NARROW);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(flat(&study).contains(ceiling), "{}", flat(&study));
    let crypto = study.plan.workloads.iter().position(|w| w.parts[0].job.kind() == "crypto");
    let of_crypto = |trial: &&mut Trial| Some(usize::from(trial.cell.workload)) == crypto;
    let first = study.trials.iter_mut().find(of_crypto).unwrap();
    let figure = DisturbedFigure {
        figure: "AES-128-GCM".into(),
        by: "openssl".into(),
        cpu_share: Some(0.41),
        slowest_share: None,
        slower_than: None,
    };
    first.result.flags.push(Flag::FiguresDisturbed { figures: vec![figure], of: 6 });
    let text = flat(&study);
    assert!(text.contains("1 of 6 figures were disturbed: as little as 41% of a core"), "{text}");
    assert!(text.contains("No limit is derived from AES-128-GCM") && !text.contains(ceiling));
}
