//! New connections through a router, with and without frames beside them.

use super::explained::explained;
use super::{ROUTER, load, routed, screen};
use crate::jobs::{measure, result, shown};
use plimsoll_model::*;
use std::num::NonZeroU16;

fn opened(streams: u16) -> Workload {
    let part = Part::closed(ConnectJob { streams }.into(), NonZeroU16::MIN, NonZeroU16::MIN);
    Workload::new(part, Length::For { seconds: 4.0, warm_up_seconds: 0.5 })
}

/// The router of the other tests, which takes 9,000 connections a second, and 6,000 under its second setting.
fn study_of(workloads: Vec<Workload>, settings: &[&str]) -> Study {
    let mut study = routed();
    study.trials.clear();
    study.plan.workloads = workloads;
    if !settings.is_empty() {
        let levels = settings.iter().map(|value| FactorLevel::Set { value: (*value).into() });
        study.plan.factors = vec![Factor {
            name: "conntrack".into(),
            host: ROUTER.parse().unwrap(),
            levels: levels.collect(),
            switch: Switch::Live,
        }];
    }
    study.plan.contrasts = Contrast::against_first(&study.plan);
    measure(&mut study, 6, |cell, off| {
        let rate = if cell.setting == 0 { 9_000.0 } else { 6_000.0 };
        vec![PartResult {
            answered_seconds: Some(10.5),
            ..result(&[
                (Metric::all(Measure::CONNECTIONS), rate * off),
                (Metric::all(Measure::UNANSWERED), 0.015),
                (Metric::all(Measure::LATENCY_MEAN), 0.0017),
                (Metric::all(Measure::LATENCY_P50), 0.0016),
                (Metric::all(Measure::LATENCY_P99), 0.0041),
            ])
        }]
    });
    for trial in &mut study.trials {
        trial.loads.push(HostLoad {
            conntrack: Some(ConntrackLoad {
                entries: 60,
                most_entries: Some(4096),
                ..ConntrackLoad::default()
            }),
            ..load(417_000)
        });
    }
    study
}

fn row(text: &str, name: &str) -> String {
    text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{text}")).to_owned()
}

#[test]
fn numbers_of_connections_have_a_row_each() {
    let study = study_of(vec![opened(2), opened(64)], &[]);
    let details = shown(&study);
    assert!(details.contains("connections/s"), "{details}");
    let text = screen(&study);
    for name in ["2 at a time", "64 at a time"] {
        let row = row(&text, name);
        for words in ["9000 ±1%", "1.50 %", "1.60 ms", "4.10 ms", "98%", "R core 98%"] {
            assert!(row.contains(words), "{words} in {row}");
        }
    }
    assert!(text.contains("one exchange of 20 bytes") && !text.contains("UDP"), "{text}");
    let said = explained(&study);
    for words in [
        "A core of R sets the rate (2 at a time): the kernel takes 98% of the busiest core.",
        "64 at a time 9000 ±1% 1.50 %",
    ] {
        assert!(said.contains(words), "{words} in {said}");
    }
    assert!(!text.contains("was full"), "{text}");
}

#[test]
fn what_sets_the_rate_of_connections_is_named() {
    let limit = |change: &dyn Fn(&mut Study)| {
        let mut study = study_of(vec![opened(16)], &[]);
        change(&mut study);
        shown(&study);
        // The same has a sentence where it is explained.
        format!("{} {}", row(&screen(&study), "16 at a time"), explained(&study))
    };
    let idle = |study: &mut Study| {
        let loads = study.trials.iter_mut().flat_map(|trial| &mut trial.loads);
        for load in loads.filter(|load| load.host == *ROUTER) {
            load.cores.iter_mut().for_each(|core| core.softirq = 1.0);
            load.cores_busy = vec![0.1, 0.1];
        }
    };
    let round_trips = limit(&idle);
    assert!(round_trips.contains("round trips"), "{round_trips}");
    assert!(round_trips.contains("Round trips set the rate (16 at a time)"), "{round_trips}");
    // A rule of the router drops what is beyond its own rate: more at a time would open no more.
    let dropped = limit(&|study| {
        idle(study);
        for trial in &mut study.trials {
            let figures = &mut trial.result.parts[0].quantities;
            figures.insert(Metric::all(Measure::UNANSWERED), 0.4);
        }
    });
    assert!(dropped.contains("not opened") && !dropped.contains("Round trips"), "{dropped}");
    let words = "Attempts that fail set the rate (16 at a time): 40% of them were refused, or had no answer after a second.";
    assert!(dropped.contains(words), "{dropped}");
    let at_end = limit(&|study| {
        idle(study);
        for trial in &mut study.trials {
            let figures = &mut trial.result.parts[0].quantities;
            figures.insert(Metric::all(Measure::FAR_BUSIEST), 0.97);
        }
    });
    assert!(at_end.contains("sender 97%"), "{at_end}");
    let words =
        "The sender, not R, sets the rate (16 at a time): its busiest core or process is 97% busy.";
    assert!(at_end.contains(words), "{at_end}");
    let shared = limit(&|study| {
        study.hosts.iter_mut().for_each(|host| host.is_this_machine = host.name == *ROUTER);
        let own = HostFacts {
            name: ROUTER.parse().unwrap(),
            is_this_machine: true,
            ..HostFacts::default()
        };
        study.hosts.push(own);
    });
    assert!(shared.contains("shared core 98%"), "the ends take part in it: {shared}");
    let words = "A core of the machine that R shares with the ends sets the rate (16 at a time): it is 98% busy.";
    assert!(shared.contains(words), "{shared}");
    let unknown = limit(&|study| {
        study.trials.iter_mut().for_each(|trial| trial.loads.retain(|load| load.host != *ROUTER));
    });
    assert!(unknown.contains("not monitored"), "{unknown}");
    let words = "The bottleneck is not known (16 at a time): R was not monitored.";
    assert!(unknown.contains(words), "{unknown}");
}

#[test]
fn a_full_table_is_named_before_anything_else() {
    let mut study = study_of(vec![opened(16)], &[]);
    for load in study.trials.iter_mut().flat_map(|trial| &mut trial.loads) {
        if let Some(table) = &mut load.conntrack {
            (table.entries, table.dropped) = (4096, 2);
        }
    }
    let text = screen(&study);
    assert!(row(&text, "16 at a time").contains("R table"), "{text}");
    let whole = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = "The connection table of R was full (16 at a time): it had 4096 of 4096 connections, dropped 12 packets \
        and removed 0 connections early.";
    assert!(whole.contains(sentence), "{text}");
}

#[test]
fn settings_are_compared_in_connections() {
    let study = study_of(vec![opened(16)], &["untracked", "tracked"]);
    shown(&study);
    let text = screen(&study);
    let whole = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence =
        "With B, R forwards at least 33% fewer new connections than with A (16 at a time).";
    assert!(whole.contains(sentence), "{text}");
    assert!(row(&text, "16 at a time B").contains("≥ 33% fewer"), "{text}");
}

#[test]
fn frames_and_connections_share_a_screen() {
    let mut study = routed();
    let frames = study.trials.clone();
    study.plan.workloads.push(opened(16));
    let number = (study.plan.workloads.len() - 1) as u16;
    let mut own = study_of(vec![opened(16)], &[]).trials;
    own.truncate(3);
    own.iter_mut().for_each(|trial| trial.cell.workload = number);
    study.trials = [frames, own].concat();
    shown(&study);
    let text = screen(&study);
    assert!(row(&text, "out 128").contains("39.8 k"), "{text}");
    assert!(row(&text, "16 at a time").contains("9000 ±"), "{text}");
    let whole = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(whole.contains("UDP, 64 flows"), "{text}");
}
