//! The bottleneck of a network path, from a whole study.

mod support;

use plimsoll_explain::{PathBottleneck, PathEnd, path_limits};
use plimsoll_model::*;
use std::collections::BTreeMap;
use std::num::NonZeroU16;
use support::empty;

/// What A sent over eth0 (1 Gbit/s) in a second.
fn loads(bytes: u64) -> Vec<HostLoad> {
    let interface =
        InterfaceLoad { name: "eth0".into(), sent_bytes: bytes, ..InterfaceLoad::default() };
    let load = HostLoad { host: "local".into(), seconds: 1.0, ..HostLoad::default() };
    vec![HostLoad { interfaces: vec![interface], ..load }]
}

fn result(bytes_per_second: f64) -> PartResult {
    let quantities = BTreeMap::from([(Metric::all(Measure::THROUGHPUT), bytes_per_second)]);
    PartResult { quantities, answered_seconds: Some(1.0), ..PartResult::default() }
}

/// The lower rates of a search leave a link idle that its result saturates.
#[test]
fn a_search_has_the_bottleneck_of_the_rate_that_it_found() {
    let mut study = empty(&[], &[]);
    study.hosts[0].link_rates = BTreeMap::from([("eth0".to_owned(), 1_000_000_000)]);
    let end = |host: &str| Endpoint { host: host.parse().unwrap(), address: None };
    study.plan.subjects =
        vec![Subject::Path { from: end("local"), to: end("ssh://nas"), via: None }];
    let job = DatagramsJob::new(Flow::Out).into();
    let part = Part::closed(job, NonZeroU16::MIN, NonZeroU16::MIN);
    let accept = Accept { metric: Metric::all(StreamJob::LOSS), at_most: 0.005 };
    let steps =
        Steps::Search { over: Parameter::Rate, from: 1e3, to: 1e9, resolution: 0.01, accept };
    let length = Length::For { seconds: 1.0, warm_up_seconds: 0.0 };
    study.plan.workloads = vec![Workload { steps: Some(steps), ..Workload::of(part, length) }];
    let point = |at: f64, accepted: bool, carried: u64| Point {
        at,
        accepted: Some(accepted),
        parts: vec![result(at)],
        loads: loads(carried),
    };
    study.trials.push(Trial {
        number: 0,
        block: Some(0),
        cell: Cell { subject: 0, workload: 0, setting: 0 },
        started_seconds: 0.0,
        result: PointResult { parts: vec![result(110e6)], ..PointResult::empty(Outcome::Complete) },
        points: vec![
            point(50e6, true, 53_000_000),
            point(110e6, true, 117_000_000),
            point(120e6, false, 125_000_000),
        ],
        loads: loads(90_000_000),
        mount: None,
        imported: None,
    });
    let [found] = &path_limits(&study)[..] else { panic!("a bottleneck") };
    let PathBottleneck::Link { end: PathEnd::A, share, .. } = found.bottleneck else {
        panic!("{found:?}")
    };
    assert!((share - 0.936).abs() < 1e-9, "{found:?}");
}
