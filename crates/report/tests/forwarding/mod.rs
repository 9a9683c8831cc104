//! Routers between two hosts: the rates that they keep, and the words that come with them.

mod causes;
mod connections;
mod explained;
mod on_the_path;
mod parts;
mod published;

use crate::any_study;
use crate::jobs::{measure, result, shown, study_of};
use crate::plain::search_for_kept_rates;
use plimsoll_model::units::Bytes;
use plimsoll_model::*;
use plimsoll_report::{Document, Style};

const ROUTER: &str = "ssh://root@router";
const SCREEN: Style = Style { width: 80, colour: false };

/// A router that keeps 40,000 frames a second of either size, three blocks.
fn routed() -> Study {
    let end = |host: &str| Endpoint { host: host.parse().unwrap(), address: None };
    let path = PathSubject {
        from: end("ssh://lan"),
        to: end("ssh://wan"),
        via: Some(ROUTER.parse().unwrap()),
    };
    let frames = [(Flow::Out, 128), (Flow::Out, 1518), (Flow::In, 128), (Flow::In, 1518)];
    let workloads = frames.map(|(flow, frame)| search_for_kept_rates(flow, frame));
    let mut study = study_of(&[path.into()], workloads.into());
    study.plan.command = "plimsoll net ssh://lan ssh://wan --via ssh://root@router".into();
    measure(&mut study, 3, |_, off| {
        vec![result(&[
            (Metric::all(Measure::FORWARDED), 40_000.0 * off),
            (Metric::all(Measure::KEPT), 39_800.0 * off),
            (Metric::all(Measure::KEPT_WITHOUT_LOSS), 39_500.0 * off),
            (Metric::all(Measure::THROUGHPUT), 4e6 * off),
            (Metric::all(Measure::PACKETS), 39_800.0 * off),
            (Metric::all(StreamJob::LOSS), 0.001),
            (Metric::all(Measure::QUEUE_P99), 0.0004),
            (Metric::all(Measure::ALL_SENT), 417_000.0),
            (Metric::all(Measure::ALL_SEGMENTS), 10.5),
            (Metric::all(Measure::EVENTS_AT_HALF), 0.0),
            (Metric::all(Measure::EVENTS_AT_MOST), 0.2),
        ])]
    });
    for trial in &mut study.trials {
        trial.loads.push(load(417_000));
        trial.points = (1..=3).map(point).collect();
    }
    study
}

/// One core full of soft interrupts, and so many frames at an interface.
fn load(frames: u64) -> HostLoad {
    let full = CpuTimes { softirq: 10.3, idle: 0.7, ..CpuTimes::default() };
    let idle = CpuTimes { idle: 11.0, ..CpuTimes::default() };
    let own = any_study::load(HostName::Local);
    HostLoad {
        host: ROUTER.parse().unwrap(),
        seconds: 11.0,
        cpu: full + idle,
        cores: vec![full, idle],
        cores_busy: vec![10.3 / 11.0, 0.0],
        interfaces: vec![InterfaceLoad {
            name: "eth0".into(),
            received_packets: frames,
            sent_packets: frames,
            ..InterfaceLoad::default()
        }],
        control_group: None,
        stretches: Vec::new(),
        ..own
    }
}

fn point(number: u32) -> Point {
    let offered = 20_000.0 * f64::from(number);
    let carried = f64::min(offered, 40_000.0);
    let part = result(&[
        (Metric::all(Measure::OFFERED_FRAMES), offered),
        (Metric::all(Measure::PACKETS), carried),
    ]);
    let accepted = Some(carried == offered);
    Point { at: offered, accepted, parts: vec![part], loads: Vec::new() }
}

fn screen(study: &Study) -> String {
    let screen = Document::of_study(study).screen(&SCREEN);
    assert!(screen.lines().count() <= 24, "{screen}");
    screen
}

#[test]
fn the_rates_of_a_router_are_on_one_screen() {
    let study = routed();
    let text = shown(&study);
    assert!(text.contains("512") || text.contains("128 B frames"), "{text}");
    let screen = screen(&study);
    let row = screen.lines().find(|line| line.starts_with("out 1518"));
    let row = row.unwrap_or_else(|| panic!("{screen}"));
    for words in ["39.8 k ±1%", "483 Mbit/s", "39.5 k", "0.1%", "400 µs", "98%", "R core 98%"] {
        assert!(row.contains(words), "{words} in {row}");
    }
    let of_events = "At 50% and 90% of the rate, frames are lost 0 and 12 times a minute";
    for words in [
        "R: ssh://root@router",
        "64",
        "flows",
        "in batches of up to 2;",
        "kept/s at",
        "no frame was lost in most trials, 3 s in all (loss below 0.0025",
        of_events,
    ] {
        assert!(screen.contains(words), "{words} in\n{screen}");
    }
    // The trials of the searches are a staircase with its knee.
    let page = Document::of_study(&study).html();
    assert!(page.contains("frames by offered rate"));
}

/// 39,800 frames a second of 337 bytes: behind a tunnel, the mean of a mix is shorter as well.
#[test]
fn rates_in_bits_are_of_the_frames_that_were_sent() {
    let mut study = routed();
    let Job::Forwarding(job) = &mut study.plan.workloads[1].parts[0].job else { panic!() };
    *job = ForwardingJob::imix(Flow::Out, Bytes(1518));
    for trial in &mut study.trials {
        trial.result.flags.push(Flag::FrameCapped {
            wanted: Bytes(1518),
            used: Bytes(1310),
            path_mtu: Bytes(1292),
        });
    }
    let screen = Document::of_study(&study).screen(&SCREEN);
    let row = |name: &str| screen.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    for (name, rate) in
        [("out imix", "107 Mbit/s"), ("in 1310", "417 Mbit/s"), ("out 128", " Mbit/s")]
    {
        assert!(row(name).contains(rate), "{rate} of {name} in\n{screen}");
    }
}

#[test]
fn what_the_lead_in_lost_is_said_with_its_load() {
    let mut study = routed();
    for trial in study.trials.iter_mut().filter(|trial| trial.cell.workload == 1) {
        trial.result.parts[0].quantities.insert(Metric::all(Measure::LEAD_LOSS), 0.12);
    }
    let whole = screen(&study).split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = "The lead-in, which has the first packets of each flow, lost up to 12% of its frames (out 1518).";
    assert!(whole.contains(sentence), "{whole}");
}

#[test]
fn numbers_of_flows_stand_beside_each_other() {
    let mut study = routed();
    for (workload, flows) in study.plan.workloads.iter_mut().zip([1, 64, 1, 64]) {
        let Job::Forwarding(job) = &mut workload.parts[0].job else { panic!() };
        (job.frame, job.flows) = (Bytes(512), flows);
    }
    shown(&study);
    let text = screen(&study);
    let rows: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|words| matches!(words.as_slice(), ["out" | "in", "512", ..]))
        .collect();
    let flows: Vec<(&str, &str)> = rows.iter().map(|words| (words[0], words[2])).collect();
    assert_eq!(flows, [("out", "1"), ("out", "64"), ("in", "1"), ("in", "64")], "{text}");
    let whole = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(whole.contains("UDP, in batches of up to"), "{text}");
}

#[test]
fn frames_that_the_router_did_not_see_are_said_to_be_elsewhere() {
    let mut study = routed();
    for load in study.trials.iter_mut().flat_map(|trial| &mut trial.loads) {
        load.interfaces
            .iter_mut()
            .for_each(|one| (one.received_packets, one.sent_packets) = (12, 9));
    }
    let screen = screen(&study).replace('\n', " ");
    assert!(screen.contains("not at R") && screen.contains("do not go through R"), "{screen}");
}

#[test]
fn a_rate_comes_with_its_words() {
    let mut study = routed();
    let caveats = [
        RateCaveat::AtLeast,
        RateCaveat::BurstCredit { bytes: 512_000.0, frames_per_second: 38_000.0 },
        RateCaveat::QuietMoments { share: 0.6 },
        RateCaveat::Collapse { frames_per_second: 9_000.0 },
    ];
    for trial in &mut study.trials {
        let caveat = caveats[usize::from(trial.cell.workload)];
        let (workload, frame) = ("out".to_owned(), Bytes(128));
        trial.result.flags.push(Flag::KeptRate { workload, frame, caveat });
    }
    let text = shown(&study);
    for words in [
        "at least",
        "burst credit of 512 kB",
        "quiet moments",
        "60% of the time",
        "overload collapse",
    ] {
        assert!(text.contains(words), "{words} in\n{text}");
    }
    let screen = screen(&study);
    // After the credit, its own limit.
    let row = screen.lines().find(|line| line.starts_with("out 1518")).unwrap();
    assert!(row.contains("38.0 k"), "{row}");
    assert!(screen.contains("sender") && screen.contains("≥ 39.8 k"), "{screen}");
}

#[test]
fn rates_that_were_confirmed_for_a_chosen_time_say_so() {
    let mut study = routed();
    for workload in &mut study.plan.workloads {
        let Some(Steps::Kept { final_seconds, .. }) = &mut workload.steps else { panic!() };
        *final_seconds = Some(60.0);
    }
    let whole = |study: &Study| screen(study).split_whitespace().collect::<Vec<_>>().join(" ");
    let text = whole(&study);
    let sentence = "Each rate was confirmed by trials of 60 s, which lost 0.1% at most.";
    assert!(text.contains(sentence), "{text}");
    assert!(shown(&study).contains("confirmed by a trial of 60 s"));
    let caveat = RateCaveat::Unsteady { loss_ratio: 0.04, seconds: 60.0 };
    for trial in study.trials.iter_mut().filter(|trial| trial.cell.workload == 1) {
        let (workload, frame) = ("out".to_owned(), Bytes(1518));
        trial.result.flags.push(Flag::KeptRate { workload, frame, caveat });
    }
    let text = whole(&study);
    assert!(text.contains("3 of 4 rates were confirmed by trials of 60 s"), "{text}");
    assert!(shown(&study).contains("one of 60 s lost 4.0%"));
}

#[test]
fn a_bound_on_the_delay_is_said_with_the_rates() {
    let mut study = routed();
    for workload in &mut study.plan.workloads {
        let Some(Steps::Kept { accept, .. }) = &mut workload.steps else { panic!() };
        *accept = Some(Bound::at_most(Metric::all(Measure::QUEUE_P99), 0.02));
    }
    let text = screen(&study).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("Each kept rate has a queue p99 of at most 20.0 ms."), "{text}");
    let details = shown(&study).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(details.contains(", and a queue p99 of at most 20.0 ms"), "{details}");
    let caveat = RateCaveat::Late { delay_seconds: 0.034, seconds: 10.0 };
    for trial in study.trials.iter_mut().filter(|trial| trial.cell.workload == 1) {
        let (workload, frame) = ("out".to_owned(), Bytes(1518));
        trial.result.flags.push(Flag::KeptRate { workload, frame, caveat });
    }
    let details = shown(&study).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(details.contains("in one of 10 s the queue p99 was 34.0 ms"), "{details}");
}

/// The same router without rules and with a file of rules, which cost it a quarter of its packets; six blocks.
fn with_rules(caveat: Option<RateCaveat>) -> Study {
    let mut study = routed();
    study.trials.clear();
    study.plan.workloads.truncate(1);
    study.plan.factors = vec![Factor {
        name: "nft-ruleset".into(),
        host: ROUTER.parse().unwrap(),
        levels: ["none", "rules.nft"].map(|value| FactorLevel::Set { value: value.into() }).into(),
        switch: Switch::Live,
    }];
    study.plan.contrasts = Contrast::against_first(&study.plan);
    measure(&mut study, 6, |cell, off| {
        let rate = if cell.setting == 0 { 40_000.0 } else { 30_000.0 };
        vec![result(&[
            (Metric::all(Measure::FORWARDED), rate * off),
            (Metric::all(Measure::KEPT), 0.995 * rate * off),
            (Metric::all(Measure::ALL_SENT), 417_000.0),
        ])]
    });
    for trial in &mut study.trials {
        trial.loads.push(load(417_000));
        let caveat = caveat.filter(|_| trial.cell.setting == 0);
        trial.result.flags.extend(caveat.map(|caveat| Flag::KeptRate {
            workload: "out".into(),
            frame: Bytes(128),
            caveat,
        }));
    }
    study
}

#[test]
fn settings_are_compared_in_packets() {
    let study = with_rules(None);
    shown(&study);
    let text = screen(&study);
    // All blocks found 25% fewer, on the grid of a search.
    let sentence = "With B, R forwards at least 24% fewer packets than with A (out 128).";
    let whole = text.replace('\n', " ");
    assert!(whole.contains(sentence), "{text}");
    let row = text.lines().find(|line| line.starts_with("out 128  B"));
    assert!(row.is_some_and(|row| row.contains("29.8 k") && row.contains("≥ 24% fewer")), "{text}");
}

#[test]
fn a_bound_is_compared_only_where_it_says_something() {
    // The sender was too slow for the router without rules, which is faster all the same.
    let text = screen(&with_rules(Some(RateCaveat::AtLeast)));
    assert!(text.contains("≥ 24% fewer"), "{text}");
    let quiet = with_rules(Some(RateCaveat::QuietMoments { share: 0.5 }));
    shown(&quiet);
    let text = screen(&quiet);
    assert!(text.contains("only bounds") && !text.contains("fewer"), "{text}");
}

/// A rate of a search that was not finished, or that few trials decided.
#[test]
fn a_quick_search_says_how_well_its_rate_is_known() {
    let mut study = routed();
    for workload in &mut study.plan.workloads {
        let Some(Steps::Kept { is_quick, .. }) = &mut workload.steps else { panic!() };
        *is_quick = true;
    }
    let caveat = RateCaveat::Unfinished { width_ratio: 0.04 };
    let (workload, frame) = ("out".to_owned(), Bytes(128));
    study.trials[0].result.flags.push(Flag::KeptRate { workload, frame, caveat });
    let text = shown(&study);
    assert!(text.contains("unfinished") && text.contains("within 4%"), "{text}");
    let lossless = "No loss: no frame was lost in most trials, 2 s in all (loss below 0.0";
    assert!(screen(&study).contains(lossless), "{}", screen(&study));
    // Columns have units.
    for words in ["no loss,", "kept,", "forwarded,", "packets/s", "99% queueing delay"] {
        assert!(text.replace('\n', " ").contains(words), "{words} in\n{text}");
    }
}
