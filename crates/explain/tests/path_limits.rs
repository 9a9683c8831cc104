//! The bottleneck of a network path, from a whole study.

mod support;

use plimsoll_explain::{PathBottleneck, PathEnd, PathLimits, path_limits};
use plimsoll_model::units::Bytes;
use plimsoll_model::*;
use std::collections::BTreeMap;
use std::num::NonZeroU16;
use support::empty;

/// What A sent over eth0 (1 Gbit/s) in a second.
fn loads(bytes: u64) -> Vec<HostLoad> {
    let interface =
        InterfaceLoad { name: "eth0".into(), sent_bytes: bytes, ..InterfaceLoad::default() };
    let load = HostLoad { host: "local".parse().unwrap(), seconds: 1.0, ..HostLoad::default() };
    vec![HostLoad { interfaces: vec![interface], ..load }]
}

fn result(bytes_per_second: f64) -> PartResult {
    let quantities = BTreeMap::from([(Metric::all(Measure::THROUGHPUT), bytes_per_second)]);
    PartResult { quantities, answered_seconds: Some(1.0), ..PartResult::default() }
}

/// A study of UDP from A to B, without trials.
fn study(job: DatagramsJob, steps: Option<Steps>) -> Study {
    let mut study = empty(&[], &[]);
    study.hosts[0].link_rates = BTreeMap::from([("eth0".to_owned(), 1_000_000_000)]);
    let end = |host: &str| Endpoint { host: host.parse().unwrap(), address: None };
    study.plan.subjects =
        vec![PathSubject { from: end("local"), to: end("ssh://nas"), via: None }.into()];
    let part = Part::closed(job.into(), NonZeroU16::MIN, NonZeroU16::MIN);
    let length = Length::For { seconds: 1.0, warm_up_seconds: 0.0 };
    study.plan.workloads = vec![Workload { steps, ..Workload::new(part, length) }];
    study
}

/// A trial in which so many bytes arrived per second, and so many crossed the link.
fn trial(arrived: f64, carried: u64, points: Vec<Point>) -> Trial {
    Trial {
        number: 0,
        block: Some(0),
        cell: Cell { subject: 0, workload: 0, setting: 0 },
        started_seconds: 0.0,
        result: PointResult {
            parts: vec![result(arrived)],
            ..PointResult::empty(Outcome::Complete)
        },
        points,
        loads: loads(carried),
        mount: None,
        imported: None,
    }
}

/// The lower rates of a search leave a link idle that its result saturates.
#[test]
fn a_search_has_the_bottleneck_of_the_rate_that_it_found() {
    let accept = vec![Bound::at_most(Metric::all(StreamJob::LOSS), 0.005)];
    let steps =
        Steps::Search { over: Parameter::Rate, from: 1e3, to: 1e9, resolution: 0.01, accept };
    let mut study = study(DatagramsJob::new(Flow::Out), Some(steps));
    let point = |at: f64, accepted: bool, carried: u64| Point {
        at,
        accepted: Some(accepted),
        parts: vec![result(at)],
        loads: loads(carried),
    };
    let points = vec![
        point(50e6, true, 53_000_000),
        point(110e6, true, 117_000_000),
        point(120e6, false, 125_000_000),
    ];
    study.trials.push(trial(110e6, 90_000_000, points));
    let [found] = &path_limits(&study)[..] else { panic!("a bottleneck") };
    let PathBottleneck::Link { end: PathEnd::A, share, .. } = found.bottleneck else {
        panic!("{found:?}")
    };
    assert!((share - 0.936).abs() < 1e-9, "{found:?}");
}

/// A core of the host between A and B was always busy; those of A were idle.
#[test]
fn a_core_of_a_router_is_named_as_that_of_the_router() {
    let of_role = |role| {
        let mut study = study(DatagramsJob::new(Flow::Out), None);
        let host = "ssh://root@router".parse().unwrap();
        study.plan.watched.push(Watched::new(host, role));
        let mut trial = trial(50e6, 53_000_000, Vec::new());
        trial.loads[0].cores_busy = vec![0.25];
        trial.loads.push(HostLoad {
            host: "ssh://root@router".parse().unwrap(),
            seconds: 1.0,
            cores_busy: vec![1.0, 0.1],
            ..HostLoad::default()
        });
        study.trials.push(trial);
        let [PathLimits { bottleneck, .. }] = &path_limits(&study)[..] else {
            panic!("a bottleneck")
        };
        bottleneck.clone()
    };
    let found = of_role(HostRole::Router);
    assert_eq!(found, PathBottleneck::Core { end: PathEnd::Router, share: 1.0 });
    let found = of_role(HostRole::Server);
    assert_eq!(found, PathBottleneck::Unknown { knows_link: true, busiest_core: Some(0.25) });
}

/// A core that other work kept busy was the bottleneck of a rate that arrived in full.
#[test]
fn a_fixed_rate_that_arrives_has_no_bottleneck() {
    // 115 MB/s.
    let rate = std::num::NonZeroU32::new(115_000);
    let job = DatagramsJob { rate, payload: Bytes(1000), ..DatagramsJob::new(Flow::Out) };
    let mut study = study(job, None);
    study.trials.push(trial(114e6, 123_000_000, Vec::new()));
    assert_eq!(path_limits(&study), []);
    study.trials[0] = trial(100e6, 123_000_000, Vec::new());
    let [found] = &path_limits(&study)[..] else { panic!("a bottleneck") };
    assert!(matches!(found.bottleneck, PathBottleneck::Link { .. }), "{found:?}");
}

/// Its fastest point is the request, too.
#[test]
fn a_sweep_whose_highest_rate_arrives_has_no_bottleneck() {
    let steps = Steps::Sweep { over: Parameter::Rate, values: vec![115e6, 50e6] };
    let job = DatagramsJob { payload: Bytes(1000), ..DatagramsJob::new(Flow::Out) };
    let mut study = study(job, Some(steps));
    let points = |fastest: f64| {
        let point = |at: f64, arrived: f64, carried: u64| {
            let (accepted, parts) = (None, vec![result(arrived)]);
            Point { at, accepted, parts, loads: loads(carried) }
        };
        vec![point(115e6, fastest, 123_000_000), point(50e6, 50e6, 53_000_000)]
    };
    study.trials.push(trial(114e6, 90_000_000, points(114e6)));
    assert_eq!(path_limits(&study), []);
    study.trials[0] = trial(100e6, 90_000_000, points(100e6));
    let [found] = &path_limits(&study)[..] else { panic!("a bottleneck") };
    assert!(matches!(found.bottleneck, PathBottleneck::Link { .. }), "{found:?}");
}

/// The bottleneck of TCP in at 2.5 GB/s, during which one core of A was always busy. The process of A used 0.31 cores,
/// that of B so many.
fn of_tcp_in(far: &str, far_busiest: f64, flags: Vec<Flag>) -> PathBottleneck {
    let mut study = study(DatagramsJob::new(Flow::In), None);
    let end = |host: &str| Endpoint { host: host.parse().unwrap(), address: None };
    study.plan.subjects = vec![PathSubject { from: end("local"), to: end(far), via: None }.into()];
    let job = TcpStreamJob::new(Flow::In).into();
    study.plan.workloads[0].parts = vec![Part::closed(job, NonZeroU16::MIN, NonZeroU16::MIN)];
    study.flags = flags;
    let mut trial = trial(2.5e9, 0, Vec::new());
    trial.loads[0].cores_busy = vec![1.0, 0.4];
    let quantities = &mut trial.result.parts[0].quantities;
    quantities.insert(Metric::all(Measure::NEAR_BUSIEST), 0.3125);
    quantities.insert(Metric::all(Measure::FAR_BUSIEST), far_busiest);
    study.trials.push(trial);
    let [PathLimits { bottleneck, .. }] = &path_limits(&study)[..] else { panic!("a bottleneck") };
    bottleneck.clone()
}

/// "Core of A 100%" was named, although the process of B on the same machine was busy.
#[test]
fn no_core_of_a_shared_machine_is_attributed_to_one_end() {
    let server = "iperf3://127.0.0.1:5299";
    let shared = || vec![Flag::SameMachine { host: server.parse().unwrap() }];
    let found = of_tcp_in(server, 0.9575, shared());
    assert_eq!(found, PathBottleneck::Process { end: PathEnd::B, share: 0.9575 });
    let found = of_tcp_in(server, 0.6, shared());
    assert_eq!(found, PathBottleneck::Core { end: PathEnd::Both, share: 1.0 });
    let found = of_tcp_in("local", 0.6, Vec::new());
    assert_eq!(found, PathBottleneck::Core { end: PathEnd::Both, share: 1.0 });
    // Of a machine that is A alone, the core is that of A.
    let found = of_tcp_in("iperf3://nas", 0.9575, Vec::new());
    assert_eq!(found, PathBottleneck::Core { end: PathEnd::A, share: 1.0 });
}
