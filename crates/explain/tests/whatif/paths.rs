//! Predictions of streams over a network path.

use crate::{ends, link, support};
use plimsoll_explain::whatif::{ProcessorSpeed, Processors, WhatIf, predict};
use plimsoll_model::*;
use std::collections::BTreeMap;
use std::num::NonZeroU16;

/// UDP from A to B, which takes 95% of A's link of 1 Gbit/s and 20% of its busiest core.
fn study() -> Study {
    let mut study = support::empty(&[], &[]);
    study.hosts[0].link_rates = BTreeMap::from([("eth0".to_owned(), 1_000_000_000)]);
    let end = |host: &str| Endpoint { host: host.parse().unwrap(), address: None };
    study.plan.subjects =
        vec![PathSubject { from: end("local"), to: end("ssh://nas"), via: None }.into()];
    let job = DatagramsJob::new(Flow::Out);
    let part = Part::closed(job.into(), NonZeroU16::MIN, NonZeroU16::MIN);
    let length = Length::For { seconds: 1.0, warm_up_seconds: 0.0 };
    study.plan.workloads = vec![Workload::new(part, length)];
    let sent =
        InterfaceLoad { name: "eth0".into(), sent_bytes: 118_750_000, ..InterfaceLoad::default() };
    let quantities = BTreeMap::from([(Metric::all(Measure::THROUGHPUT), 110e6)]);
    let part = PartResult { quantities, answered_seconds: Some(1.0), ..PartResult::default() };
    for block in 0..3 {
        support::add_trial(&mut study, block, Cell::default(), part.clone());
        let load = HostLoad {
            host: HostName::Local,
            seconds: 1.0,
            interfaces: vec![sent.clone()],
            cores_busy: vec![0.2, 0.1],
            ..HostLoad::default()
        };
        study.trials.last_mut().unwrap().loads = vec![load];
    }
    study
}

/// A faster link with a slower processor made no difference at most, because something becomes slower.
#[test]
fn a_faster_link_helps_beside_a_slower_processor() {
    let after = |times: f64| {
        let speed = ProcessorSpeed::times(times);
        let slower = WhatIf::Processor { of: Processors::Client, speed };
        let found = predict(&study(), &[link(2.5), slower]);
        ends(&found[0])
    };
    let is_near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-6;
    let (low, high) = after(0.5);
    assert!(is_near(low, 1.0) && is_near(high, 2.5 / 0.95), "{low} {high}");
    // With a tenth of its speed the core is saturated by half of the rate.
    let (low, high) = after(0.1);
    assert!(is_near(low, 0.5) && is_near(high, 0.5), "{low} {high}");
}
