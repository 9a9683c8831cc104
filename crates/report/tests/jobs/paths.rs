//! Jobs on network paths.

use super::{SHORT, measure, part, path, result, shown, study_of};
use crate::any_study;
use plimsoll_explain::whatif::{NewDisk, WhatIf};
use plimsoll_model::units::Bytes;
use plimsoll_model::*;
use plimsoll_report::{Document, Style, WhatIfReport, redact};

/// A measure of another version is shown with what that noted of it.
#[test]
fn a_stream_over_two_paths_with_a_measure_of_another_version() {
    let stream = StreamJob { connections: 4, rate: None };
    let paths = [path("local", "ssh://router"), path("local", "ssh://nas")];
    let mut study = study_of(&paths, vec![Workload::new(part(Job::Stream(stream)), SHORT)]);
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
    let alone = |job: Job| Workload::new(part(job), SHORT);
    let streams = |flow| Job::from(TcpStreamJob::new(flow));
    let loaded = vec![part(RequestJob::sparse().into()), part(streams(Flow::Both))];
    let workloads = vec![
        alone(streams(Flow::Out)),
        alone(streams(Flow::Both)),
        alone(RequestJob::new().into()),
        Workload { parts: loaded, ..alone(RequestJob::new().into()) },
    ];
    let mut study = study_of(&[path("local", "ssh://nas")], workloads);
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
            host: "ssh://nas".parse().unwrap(),
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
    let responsive = "Responsiveness: 4620 RPM during TCP both (RPM: round trips per minute).";
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
    let alone = "Requests: each one waits for the one before, so no resource had to be saturated.";
    assert!(
        explained.split_whitespace().collect::<Vec<_>>().join(" ").contains(alone),
        "{explained}"
    );
    let redacted = redact(&study, &[]).unwrap();
    assert!(!redacted.plan.subjects[0].to_string().contains("nas"), "{redacted:?}");
}

/// "No host, link or disk was monitored" was said of loads that nothing limits, whose hosts were monitored.
#[test]
fn loads_of_a_path_that_nothing_limits_are_explained() {
    let job = DatagramsJob {
        payload: Bytes(1400),
        rate: std::num::NonZeroU32::new(1000),
        ..DatagramsJob::new(Flow::Out)
    };
    let alone = |job: Job| Workload::new(part(job), SHORT);
    let workloads = vec![alone(RequestJob::new().into()), alone(job.into())];
    let mut study = study_of(&[path("local", "ssh://nas")], workloads);
    measure(&mut study, 3, |cell, off| {
        vec![result(&[match cell.workload {
            0 => (Metric::all(Measure::LATENCY_MEAN), 0.0002 * off),
            _ => (Metric::all(Measure::THROUGHPUT), 1.4e6 * off),
        }])]
    });
    let said = |study: &Study| {
        let screen = Document::explaining(study, &[]).screen(&Style { width: 160, colour: false });
        screen.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let text = said(&study);
    for words in [
        "Requests: each one waits for the one before, so no resource had to be saturated.",
        "UDP out: the rate that was asked for arrived, so no resource had to be saturated.",
    ] {
        assert!(text.contains(words), "{words} in {text}");
    }
    let nothing = "no host, link or disk was monitored";
    assert!(!text.contains(nothing), "{text}");
    study.trials.iter_mut().for_each(|trial| trial.loads.clear());
    let text = said(&study);
    assert!(text.contains(nothing) && !text.contains("had to be saturated"), "{text}");
}

/// "TCP out 82.1 Mbit/s, link 96%" of a link of 300 Mbit/s: the others' traffic was in the details alone.
#[test]
fn other_traffic_is_said_above_the_figures_of_a_path() {
    let out = Job::from(TcpStreamJob::new(Flow::Out));
    let mut study = study_of(&[path("local", "ssh://nas")], vec![Workload::new(part(out), SHORT)]);
    measure(&mut study, 3, |_, off| {
        vec![result(&[(Metric::all(Measure::THROUGHPUT), 10.3e6 * off)])]
    });
    let traffic = |host: &str, bytes_per_second| Flag::OtherTraffic {
        host: host.parse().unwrap(),
        bytes_per_second,
        windows: IdleWindows::default(),
    };
    study.flags.extend([traffic("local", 2e6), traffic("ssh://nas", 34.5e6)]);
    let screen = Document::of_study(&study).screen(&Style { width: 80, colour: false });
    let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    let said =
        "Other network traffic took 276 Mbit/s on ssh://nas, so figures may be too low. Stop other";
    assert!(words.contains(said), "{screen}");
}

/// 1 Gbit/s is a rate of the wire, and payload is compared with what it leaves.
#[test]
fn a_saturated_link_has_its_rate_by_layer() {
    let tcp = Workload::new(part(TcpStreamJob::new(Flow::Out).into()), SHORT);
    let mut study = study_of(&[path("local", "ssh://nas")], vec![tcp]);
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
            host: "local".parse().unwrap(),
            seconds: 1.0,
            interfaces: vec![eth0],
            ..HostLoad::default()
        }];
    }
    let SubjectFacts::Path(path) = &mut study.subjects[0] else { panic!("{:?}", study.subjects) };
    path.root_adds = vec!["Root rights at B would add settings (--set)".into()];
    let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = words(shown(&study));
    for words in [
        "the link (eth0 of A, 1 Gbit/s) is saturated: it is 98% busy. Its rate is that of the wire (L1), preambles \
         and gaps included. In packets of 1500 B, it carries at most 987 Mbit/s of frames (L2) and 941 Mbit/s of TCP payload.",
        "941 Mbit/s of an ideal 941 Mbit/s (1 Gbit/s of Ethernet, segments of 1448 B), transfer time ratio 1.00",
        "Root rights at B would add settings (--set).",
    ] {
        assert!(text.contains(words), "{words} in\n{text}");
    }
    let screen = Document::of_study(&study).screen(&Style { width: 80, colour: false });
    assert!(!screen.contains("L1") && !screen.contains("Root rights"), "{screen}");
    // Every resource that was monitored is among the details of what explains it.
    let details = Document::explaining(&study, &[]).text(&Style { width: 100, colour: false });
    let resources = words(details);
    assert!(resources.contains("TCP out link of A (1 Gbit/s) 98%"), "{resources}");
    // "The bottleneck is link 98%" had a figure without the word for it, and "not monitored (1)" a note without its text.
    let style = Style { width: 100, colour: false };
    let without_effect = |study: &Study| {
        let faster = WhatIf::Disk(NewDisk::Times(2.0));
        words(WhatIfReport::new(study, &[faster], None).document().screen(&style))
    };
    let said = without_effect(&study);
    let nothing = "A disk 2 times as fast would bring nothing for TCP out: ";
    assert!(said.contains(&format!("{nothing}the link is the bottleneck.")), "{said}");
    study.hosts[0].link_rates.clear();
    let said = without_effect(&study);
    let unused = format!("{nothing}it does not use this resource measurably.");
    assert!(said.contains(&unused) && !said.contains("(1)"), "{said}");
}

/// Loads that differ in their size have a chart, with the points of a publication where its load is the same.
#[test]
fn a_network_path_by_size() {
    let alone = |job: Job| Workload::new(part(job), SHORT);
    let tcp = |flow, block, streams| {
        let job = TcpStreamJob { block: Bytes(block), streams, ..TcpStreamJob::new(flow) };
        alone(job.into())
    };
    let udp = |payload| {
        let job = DatagramsJob { payload: Bytes(payload), ..DatagramsJob::new(Flow::Out) };
        alone(job.into())
    };
    let charts = |workloads: Vec<Workload>| {
        let mut study = study_of(&[path("ssh://router", "ssh://pc")], workloads);
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
    for words in [
        "TCP out: goodput by block size",
        "RSPRO, published",
        "8 KiB",
        "363 Mbit/s",
        "80.0 Mbit/s",
        "Arithmetic mean of the blocks, as published, with its interval.",
    ] {
        assert!(all[0].1.contains(words), "{words} in {}", all[0].1);
    }
    for words in ["by payload", "1450 B", "418 Mbit/s", "figure 2"] {
        assert!(all[1].1.contains(words), "{words} in {}", all[1].1);
    }
    assert!(!all[2].1.contains("published") && all[2].1.contains("4 KiB"), "{}", all[2].1);
    assert!(all[2].1.contains("Geometric mean of the blocks, with its interval."), "{}", all[2].1);
    // Of several streams nothing was published, and one size is no chart.
    let four = charts(vec![tcp(Flow::Out, 1024, 4), tcp(Flow::Out, 8192, 4), udp(400)]);
    assert_eq!(four.len(), 1);
    assert!(!four[0].1.contains("published"), "{}", four[0].1);
}

/// The same goodput may take much more CPU time.
#[test]
fn a_network_path_that_is_equally_fast_with_less_cpu_time() {
    let workload = Workload::new(part(TcpStreamJob::new(Flow::Out).into()), SHORT);
    let mut study = study_of(&[path("ssh://a", "ssh://b")], vec![workload]);
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
    let alone = |flow| Workload::new(part(TcpStreamJob::new(flow).into()), SHORT);
    let mut study =
        study_of(&[path("local", "ssh://nas")], vec![alone(Flow::Out), alone(Flow::Both)]);
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
        let mut study = study_of(&paths, vec![workload.clone()]);
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
