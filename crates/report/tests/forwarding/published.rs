//! Published experiments with routers, repeated: UDP routed at rising rates, and UDP that a router sends without its
//! rules.

use super::explained::explained;
use super::{ROUTER, SCREEN, load, screen};
use crate::jobs::{measure, result, shown, study_of};
use plimsoll_model::units::Bytes;
use plimsoll_model::*;
use plimsoll_references::source;
use plimsoll_report::Document;
use std::num::NonZeroU16;

/// Five blocks of these loads from A to B.
fn study(from: &str, via: Option<HostName>, jobs: &[DatagramsJob], steps: Option<Steps>) -> Study {
    let end = |host: &str| Endpoint { host: host.parse().unwrap(), address: None };
    let path = PathSubject { from: end(from), to: end("ssh://pc"), via };
    let workloads = jobs.iter().map(|job| Workload {
        steps: steps.clone(),
        ..Workload::new(
            Part::closed(job.clone().into(), NonZeroU16::MIN, NonZeroU16::MIN),
            Length::For { seconds: 20.0, warm_up_seconds: 0.5 },
        )
    });
    study_of(&[path.into()], workloads.collect())
}

fn udp(payload: u64) -> DatagramsJob {
    DatagramsJob { payload: Bytes(payload), ..DatagramsJob::new(Flow::Out) }
}

/// A router that is offered 5 to 100 Mbit/s, with what A sends and what arrives of each rate, in Mbit/s.
fn staircase(sent_and_arrived: impl Fn(f64) -> [f64; 2]) -> Study {
    let rates: Vec<f64> = (1..=20).map(|step| 5e6 / 8.0 * f64::from(step)).collect();
    let steps = Steps::Sweep { over: Parameter::Rate, values: rates.clone() };
    let via = Some(ROUTER.parse().unwrap());
    let mut study = study("ssh://wan", via, &[udp(1450)], Some(steps));
    measure(&mut study, 5, |_, off| vec![result(&[(Metric::all(Measure::THROUGHPUT), 8e6 * off)])]);
    for trial in &mut study.trials {
        trial.loads.push(load(1000));
        let point = |at: &f64| {
            let [sent, arrived] = sent_and_arrived(8.0 * at / 1e6).map(|rate| rate * 1e6 / 8.0);
            let part = result(&[
                (Metric::all(StreamJob::OFFERED), sent),
                (Metric::all(Measure::THROUGHPUT), arrived),
                (Metric::all(StreamJob::LOSS), 1.0 - arrived / sent),
            ]);
            Point { at: *at, accepted: None, parts: vec![part], loads: vec![load(1000)] }
        };
        trial.points = rates.iter().map(point).collect();
    }
    study
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What the study has beside its publication.
fn compared(study: &Study) -> String {
    let source = source("kofler2011").unwrap();
    words(&Document::compared_with_source(study, source).text(&SCREEN))
}

/// Up to 70 Mbit/s everything arrives, and above that less than before.
#[test]
fn rates_that_a_router_forwards_are_a_staircase_with_published_points() {
    let study = staircase(|rate| [rate, if rate <= 70.0 { rate } else { 65.0 }]);
    shown(&study);
    let text = screen(&study);
    let sentence = "R forwards 70.0 Mbit/s without loss. Of 100 Mbit/s, the highest rate offered, 65.0 Mbit/s arrive.";
    assert!(words(&text).contains(sentence), "{text}");
    for said in ["busiest", "9 of 20 rates", "R: ssh://root@router", "1450 B payload", "94%"] {
        assert!(words(&text).contains(said), "{said} in\n{text}");
    }
    let row = |rate: &str| text.lines().find(|line| line.trim_start().starts_with(rate));
    // All blocks are equal.
    let best = row("70.0 Mbit/s").expect("the last rate without loss");
    assert!(best.contains("70.0 Mbit/s ±0%") && !text.contains("-0%"), "{text}");
    assert!(row("75.0 Mbit/s").is_some_and(|row| row.contains("13.3 %")), "{text}");
    let said = explained(&study);
    for words in [
        sentence,
        "A core of R sets the rate (UDP out by rate): the kernel takes 94% of the busiest core, soft interrupts 94%.",
        "Less CPU time a packet helps",
    ] {
        assert!(said.contains(words), "{words} in {said}");
    }
    let document = Document::of_study(&study);
    let charts: Vec<(String, String)> = document.charts().collect();
    let (_, chart) = charts.iter().find(|(name, _)| name == "routed.svg").expect("a chart");
    for words in [
        "RSPRO, published",
        "RSPRO without netfilter, published",
        "430 Mbit/s",
        "figure 3",
        "arithmetic mean of the blocks",
    ] {
        assert!(chart.contains(words), "{words} in {chart}");
    }
    assert!(!charts.iter().any(|(name, _)| name.ends_with("steps.svg")), "the same once");
    let beside = compared(&study);
    for words in ["R 70.0 Mbit/s 70.0 Mbit/s", "WRT54, published 70.0 Mbit/s"] {
        assert!(beside.contains(words), "{words} in {beside}");
    }
}

/// 20, 40, 60, 80 and 100 Mbit/s of 100 arrive: 60.0 on average, where the geometric mean is 52.1.
#[test]
fn rates_are_arithmetic_means_as_published() {
    let mut study = staircase(|rate| [rate, rate]);
    for (trial, arrived) in study.trials.iter_mut().zip([20.0, 40.0, 60.0, 80.0, 100.0]) {
        let last = trial.points.last_mut().unwrap();
        let quantities = &mut last.parts[0].quantities;
        quantities.insert(Metric::all(Measure::THROUGHPUT), arrived * 1e6 / 8.0);
        quantities.insert(Metric::all(StreamJob::LOSS), 1.0 - arrived / 100.0);
    }
    study.plan.design.rule = Rule::Fixed { blocks: 5 };
    let text = words(&screen(&study));
    assert!(
        text.contains("Of 100 Mbit/s, the highest rate offered, 60.0 Mbit/s arrive."),
        "{text}"
    );
    // t(0.95, 4) = 2.776, and the standard error is 14.14 Mbit/s: 39.3 of 60.
    assert!(text.contains("60.0 Mbit/s ±66%"), "{text}");
}

#[test]
fn a_staircase_without_a_knee_says_why() {
    let study = staircase(|rate| [rate, rate]);
    let text = words(&screen(&study));
    let more = "R forwards every rate without loss, up to 100 Mbit/s. Offer more with --up-to.";
    assert!(text.contains(more), "{text}");
    let said = explained(&study);
    assert!(said.contains(more) && !said.contains("sets the rate"), "{said}");
    let study = staircase(|rate| [rate.min(60.0), rate.min(60.0)]);
    let text = words(&screen(&study));
    let said = explained(&study);
    let not_r = "The sender, not R, sets the rate (UDP out by rate): R keeps at least that.";
    assert!(said.contains(not_r), "{said}");
    let sender = "R forwards all that A can send without loss: 60.0 Mbit/s of 100 Mbit/s.";
    let same = "The last row has the planned rates from 60.0 Mbit/s to 100 Mbit/s: A sent about the same at each.";
    assert!(text.contains(sender) && text.contains(same), "{text}");
    assert_eq!(text.matches("60.0 Mbit/s ±0%").count(), 1, "{text}");
    assert!(text.contains("7 of 12 rates"), "{text}");
    let mut lossy = staircase(|rate| [rate, 0.9 * rate]);
    for point in lossy.trials.iter_mut().flat_map(|trial| &mut trial.points) {
        point.parts[0].quantities.insert(Metric::all(Measure::SOCKET_DROPPED), 0.04);
    }
    let text = words(&screen(&lossy));
    assert!(text.contains("B dropped up to 4.00 % of the datagrams itself"), "{text}");
    assert!(text.contains("R forwards no rate without loss. Of 100 Mbit/s"), "{text}");
}

/// A token bucket drops what does not arrive, and the router's CPU is nearly idle.
#[test]
fn a_shaper_that_sets_the_rate_of_a_staircase_is_explained() {
    let mut study = staircase(|rate| [rate, if rate <= 70.0 { rate } else { 65.0 }]);
    for point in study.trials.iter_mut().flat_map(|trial| &mut trial.points) {
        let part = &mut point.parts[0];
        part.answered_seconds = Some(10.0);
        let figure = |measure| part.quantities[&Metric::all(measure)];
        let lost = 10.0 * (figure(StreamJob::OFFERED) - figure(Measure::THROUGHPUT)) / 1450.0;
        let softirq = CpuTimes { softirq: 1.0, idle: 10.0, ..CpuTimes::default() };
        point.loads = vec![HostLoad {
            cores: vec![softirq],
            cores_busy: vec![1.0 / 11.0],
            queues: vec![QueueLoad {
                interface: "eth1".into(),
                discipline: "tbf".into(),
                dropped: (0.97 * lost).round() as u64,
                overlimits: (10.0 * lost) as u64,
                marked: 0,
            }],
            ..load(1000)
        }];
    }
    let said = explained(&study);
    let sentence = "The shaper on eth1 of R (tbf), not the CPU, sets the rate (UDP out by rate): it dropped 97% of the frames \
                    lost over all rates; the kernel takes 10% of the busiest core.";
    for words in [sentence, "A higher rate of the shaper helps."] {
        assert!(said.contains(words), "{words} in {said}");
    }
}

/// A quarter more without rules, with each payload.
#[test]
fn the_gain_without_rules_stands_beside_the_published_one() {
    let mut study = study("ssh://router", None, &[udp(400), udp(1000), udp(1450)], None);
    study.plan.factors = vec![Factor {
        name: "nft-ruleset".into(),
        host: "ssh://router".parse().unwrap(),
        levels: vec![FactorLevel::AsFound, FactorLevel::Set { value: "none".into() }],
        switch: Switch::Live,
    }];
    study.plan.contrasts = Contrast::against_first(&study.plan);
    measure(&mut study, 5, |cell, off| {
        let rate = 10e6 * off * if cell.setting == 1 { 1.25 } else { 1.0 };
        vec![result(&[(Metric::all(Measure::THROUGHPUT), rate)])]
    });
    shown(&study);
    let text = words(&screen(&study));
    let gains =
        "Gain of UDP out without rules: 25% [25%–25%] with 400 B and 25% [25%–25%] with 1450 B";
    for words in [gains, "the hooks of netfilter stay in the kernel"] {
        assert!(text.contains(words), "{words} in {text}");
    }
    let beside = compared(&study);
    for words in ["400 B 25% [25%–25%] 53 to 80%", "1 kB 25% [25%–25%] –", "39 to 50%", "figure 4"]
    {
        assert!(beside.contains(words), "{words} in {beside}");
    }
    // Rules of another host are no rules of the sender.
    study.plan.factors[0].host = "ssh://pc".parse().unwrap();
    assert!(!compared(&study).contains("53 to 80%"));
}
