//! A router in a whole study: where the frames were lost, and whether its interfaces saw them.

mod support;

use plimsoll_explain::{Forwarded, RateLimit, findings, forwarded, routed};
use plimsoll_model::*;
use support::{add_trial, empty, search_for_kept_rates};

const ROUTER: &str = "ssh://root@router";
/// Seconds of each load.
const SECONDS: f64 = 10.0;

/// Load of the router while so many frames were sent and so many of them lost.
type RouterLoad<'a> = &'a dyn Fn(u64, u64) -> HostLoad;

/// A search over a router that keeps 40,000 frames a second and was offered up to 60,000.
fn study(load: RouterLoad<'_>) -> Study {
    let rates = [40_000_u64, 20_000, 40_000, 60_000].map(|offered| (offered, offered.min(40_000)));
    study_at(&rates, load)
}

/// The same with rates of frames that were sent and that arrived: at the kept rate, and at those of the search.
fn study_at(rates: &[(u64, u64)], load: RouterLoad<'_>) -> Study {
    let end = |host: &str| Endpoint { host: host.parse().unwrap(), address: None };
    let via = Some(ROUTER.parse().unwrap());
    let path = PathSubject { from: end("ssh://lan"), to: end("ssh://wan"), via }.into();
    let workload = search_for_kept_rates(Flow::Out, 128);
    let mut study = empty(&["/data"], &[]);
    study.plan = Plan::new(vec![path], vec![workload], Design::default());
    study.plan.watched.push(Watched::new(ROUTER.parse().unwrap(), HostRole::Router));
    study.subjects = vec![SubjectFacts::Path(PathFacts::default())];
    let (kept, kept_arrived) = rates[0];
    let cell = Cell { subject: 0, workload: 0, setting: 0 };
    add_trial(&mut study, 0, cell, result(kept, kept_arrived));
    let trial = &mut study.trials[0];
    trial.loads = vec![load(10 * kept, 10 * (kept - kept_arrived))];
    for &(offered, arrived) in &rates[1..] {
        let lost = offered - arrived;
        trial.points.push(Point {
            at: offered as f64,
            accepted: Some(lost == 0),
            parts: vec![result(offered, arrived)],
            loads: vec![load(10 * offered, 10 * lost)],
        });
    }
    study
}

/// What both ends counted at an offered rate.
fn result(offered: u64, arrived: u64) -> PartResult {
    let figures = [
        (Measure::OFFERED_FRAMES, offered),
        (Measure::PACKETS, arrived),
        (Measure::ALL_SENT, 10 * offered),
    ];
    let quantities = figures.map(|(measure, value)| (Metric::all(measure), value as f64)).into();
    PartResult { quantities, ..PartResult::default() }
}

#[track_caller]
fn of_router(load: RouterLoad<'_>) -> Forwarded {
    let mut found = forwarded(&study(load));
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// A router of two cores, the first of which spent so many seconds in soft interrupts. Its interfaces counted so many
/// packets.
fn host(softirq: f64, packets: u64) -> HostLoad {
    let first = CpuTimes { softirq, idle: SECONDS - softirq, ..CpuTimes::default() };
    let second = CpuTimes { idle: SECONDS, ..CpuTimes::default() };
    let inner = InterfaceLoad {
        name: "inner".into(),
        received_packets: packets,
        ..InterfaceLoad::default()
    };
    let outer =
        InterfaceLoad { name: "outer".into(), sent_packets: packets, ..InterfaceLoad::default() };
    HostLoad {
        host: ROUTER.parse().unwrap(),
        seconds: SECONDS,
        cpu: first + second,
        cores: vec![first, second],
        cores_busy: vec![softirq / SECONDS, 0.0],
        interfaces: vec![inner, outer],
        softnet: Some(Softnet { processed: packets, dropped: 0, squeezed: 40 }),
        ..HostLoad::default()
    }
}

/// The same with packets that the queue of a core dropped.
fn dropping(softirq: f64, sent: u64, dropped: u64) -> HostLoad {
    let softnet = Some(Softnet { processed: sent - dropped, dropped, squeezed: 9_000 });
    HostLoad { softnet, ..host(softirq, sent) }
}

#[test]
fn the_queue_of_a_core_is_the_limit_if_it_dropped_most_of_the_lost_frames() {
    // The core is busy, but not all of the time.
    let of_percent =
        |percent: u64| of_router(&|sent, lost| dropping(8.0, sent, lost * percent / 100));
    let is_near = |value: f64, expected: f64| (value - expected).abs() < 1e-9;
    let much = of_percent(97);
    assert!(much.softnet_dropped.is_some_and(|share| is_near(share, 0.97)), "{much:?}");
    let RateLimit::CpuQueue { share } = much.limit else { panic!("{much:?}") };
    assert!(is_near(share, 0.97), "{share}");
    // At the highest rate, as a share of the frames that were sent.
    let top = much.rates.last().unwrap();
    assert!(is_near(top.softnet_dropped, 0.97 / 3.0), "{top:?}");
    let little = of_percent(49);
    assert!(little.softnet_dropped.is_some_and(|share| is_near(share, 0.49)), "{little:?}");
    assert_eq!(little.limit, RateLimit::Unknown);
    // A core that is always busy is the cause, and its full queue the result.
    let full = of_router(&|sent, lost| dropping(9.8, sent, lost * 97 / 100));
    assert!(matches!(full.limit, RateLimit::Core { .. }), "{full:?}");
}

#[test]
fn drops_at_rates_that_lost_no_frame_are_of_other_traffic() {
    let load = |sent: u64, lost: u64| dropping(2.0, sent, if lost == 0 { 90_000 } else { 0 });
    let found = of_router(&load);
    assert_eq!(found.softnet_dropped, Some(0.0), "{found:?}");
    assert_eq!(found.limit, RateLimit::NotCpu { share: 0.2 });
}

#[test]
fn interfaces_that_stand_still_while_frames_arrive_did_not_see_them() {
    // What any interface receives, a busy neighbour, and interfaces without a packet, which are not listed.
    let absent = |_: u64, _: u64| HostLoad { interfaces: Vec::new(), ..host(0.01, 0) };
    let loads: [RouterLoad<'_>; 3] = [&|_, _| host(0.01, 21), &|_, _| host(0.01, 30_000), &absent];
    for load in loads {
        let found = of_router(load);
        assert!(found.passes_by(), "{found:?}");
        assert!(found.passed.is_some_and(|share| share < 0.01), "{found:?}");
        // Its hardware may have forwarded them, or another path.
        assert_eq!(found.offloaded, None, "{found:?}");
    }
    // Nothing is known of a router that was not monitored.
    let mut study = study(&|sent, _| host(0.01, sent));
    study.trials[0].loads.clear();
    study.trials[0].points.iter_mut().for_each(|point| point.loads.clear());
    let [found] = &forwarded(&study)[..] else { panic!("a router") };
    assert!(found.passed.is_none() && !found.passes_by(), "{found:?}");
}

/// The kept rate and the sizes of packets are those of a real run with a tunnel that ends at R.
/// The losses in front of R are made up: that run kept no counts.
#[test]
fn frames_that_are_lost_in_front_of_a_router_do_not_pass_it_by() {
    let rates = [(4_714, 4_714), (2_357, 2_357), (4_714, 4_690), (9_428, 4_700), (30_000, 4_720)];
    let packets = |size: u64, count: u64| InterfaceLoad {
        received_bytes: size * count,
        received_packets: count,
        ..InterfaceLoad::default()
    };
    let load = |sent: u64, lost: u64| {
        let arrived = sent - lost;
        let inner = InterfaceLoad { name: "inner".into(), ..packets(1_489, arrived) };
        let tunnel = InterfaceLoad { name: "plimsoll_wg".into(), ..packets(1_420, arrived) };
        let outer = InterfaceLoad {
            name: "outer".into(),
            sent_bytes: 1_429 * arrived,
            sent_packets: arrived,
            ..InterfaceLoad::default()
        };
        HostLoad { interfaces: vec![inner, outer, tunnel], ..host(3.8, arrived) }
    };
    let found = forwarded(&study_at(&rates, &load));
    let [found] = &found[..] else { panic!("{found:?}") };
    assert!(!found.passes_by(), "{found:?}");
    assert!(found.passed.is_some_and(|share| (share - 1.0).abs() < 0.02), "{found:?}");
    // Nor do those that are lost behind its interfaces, although fewer arrive the more are sent.
    let collapsed = [(40_000, 40_000), (20_000, 20_000), (40_000, 40_000), (80_000, 10_000)];
    let found = forwarded(&study_at(&collapsed, &|sent, _| host(6.0, sent)));
    let [found] = &found[..] else { panic!("{found:?}") };
    assert!(!found.passes_by(), "{found:?}");
}

/// A tunnel through R whose ends lose frames: R counts more than arrive, fewer than are sent, and about as many at each
/// rate. The answer was "not at R" in such a run.
#[test]
fn frames_that_are_lost_in_front_of_a_router_and_behind_it_do_not_pass_it_by() {
    let rates = [(2_000, 2_000), (3_500, 3_500), (5_000, 1_500), (6_000, 3_000), (9_000, 1_500)];
    let found = forwarded(&study_at(&rates, &|sent, _| host(1.0, sent.min(35_000))));
    let [found] = &found[..] else { panic!("{found:?}") };
    assert!(found.passed.is_some_and(|share| (share - 1.0).abs() < 0.02), "{found:?}");
    // Other traffic, as much at each rate, is not taken for frames that go another way.
    let found = forwarded(&study_at(&rates, &|_, _| host(1.0, 20_000)));
    let [found] = &found[..] else { panic!("{found:?}") };
    assert!(found.passes_by(), "{found:?}");
}

#[test]
fn frames_that_its_interfaces_saw_and_its_kernel_did_not_are_offloaded() {
    let found = of_router(&|sent, _| host(0.01, sent));
    assert!(!found.passes_by(), "{found:?}");
    assert!(found.offloaded.is_some_and(|share| (share - 0.001).abs() < 1e-9), "{found:?}");
    let found = of_router(&|sent, _| host(6.0, sent));
    assert!(!found.passes_by() && found.offloaded.is_none(), "{found:?}");
}

#[test]
fn the_figures_behind_a_limit_are_those_of_the_kept_rate_and_of_the_first_loss() {
    // A rate below the kept one lost frames, too: an interruption.
    let rates = [(40_000, 40_000), (10_000, 9_000), (40_000, 40_000), (60_000, 40_000)];
    let load =
        |sent: u64, lost: u64| dropping(if sent == 600_000 { 9.0 } else { 6.0 }, sent, lost / 2);
    let mut study = study_at(&rates, &load);
    let kept = &mut study.trials[0].result.parts[0].quantities;
    kept.insert(Metric::all(Measure::KEPT), 40_000.0);
    kept.insert(Metric::all(Measure::NEAR_BUSIEST), 0.6);
    // Of 10 s of monitoring, frames were sent for 8.
    kept.insert(Metric::all(Measure::ALL_SEGMENTS), 8.0);
    let sender = HostLoad {
        host: "ssh://lan".parse().unwrap(),
        cores_busy: vec![0.1, 0.56],
        ..host(0.0, 0)
    };
    study.trials[0].loads.push(sender);
    let of = |study: &Study| forwarded(study).remove(0);
    let found = of(&study);
    let is_near = |value: Option<f64>, expected: f64| {
        assert!(value.is_some_and(|value| (value - expected).abs() < 1e-9), "{value:?} {expected}");
    };
    is_near(found.kept, 40_000.0);
    for share in [found.cpu.softirq, found.cpu.kernel, found.cpu.busiest] {
        is_near(share, 0.75);
    }
    is_near(found.cpu.next, 0.0);
    is_near(found.sender, 0.7);
    let loss = found.first_loss().unwrap();
    assert_eq!(
        (loss.offered, loss.received, loss.cores.clone()),
        (60_000.0, 40_000.0, vec![0.9, 0.0])
    );
    assert!(
        (loss.loss() - 1.0 / 3.0).abs() < 1e-9 && (loss.softnet_dropped - 1.0 / 6.0).abs() < 1e-9
    );
    // Frames that go in are sent by B, of which nothing is known.
    let Job::Forwarding(job) = &mut study.plan.workloads[0].parts[0].job else { panic!() };
    job.flow = Flow::In;
    assert_eq!(of(&study).sender, None);
    // Where the kept rate is not known, the lowest rate that lost frames counts.
    study.trials[0].result.parts[0].quantities.remove(&Metric::all(Measure::KEPT));
    assert_eq!(of(&study).first_loss().map(|at| at.offered), Some(10_000.0));
}

/// A router that is offered 10 to 40 MB/s of payload, of which 20 MB/s arrive at most; under each rate its first core spends
/// so much of the time in soft interrupts.
fn staircase(softirq: f64, dropped: f64) -> Study {
    let mut study = study(&|sent, _| host(1.0, sent));
    let rates = [10e6, 20e6, 30e6, 40e6];
    let job = DatagramsJob { payload: units::Bytes(1000), ..DatagramsJob::new(Flow::Out) };
    let workload = &mut study.plan.workloads[0];
    workload.parts[0].job = job.into();
    workload.steps = Some(Steps::Sweep { over: Parameter::Rate, values: rates.into() });
    study.trials[0].points = rates
        .iter()
        .map(|offered| {
            let arrived = offered.min(20e6);
            let figures = [
                (StreamJob::OFFERED, *offered),
                (Measure::THROUGHPUT, arrived),
                (StreamJob::LOSS, 1.0 - arrived / offered),
            ];
            let quantities = figures.map(|(measure, value)| (Metric::all(measure), value)).into();
            let answered_seconds = Some(0.5 * SECONDS);
            let part = PartResult { quantities, answered_seconds, ..PartResult::default() };
            let lost = 0.5 * SECONDS * (offered - arrived) / 1000.0;
            let queue = QueueLoad {
                interface: "outer".into(),
                discipline: "pfifo".into(),
                dropped: (dropped * lost).round() as u64,
                ..QueueLoad::default()
            };
            let load = HostLoad { queues: vec![queue], ..host(0.5 * softirq * SECONDS, 0) };
            Point { at: *offered, accepted: None, parts: vec![part], loads: vec![load] }
        })
        .collect();
    study
}

/// The same rule as for frames that are searched for.
#[test]
fn what_sets_the_rate_of_rising_rates_is_named() {
    let of = |study: &Study| routed(study, &findings(study)).remove(0);
    let limit = |softirq: f64, dropped: f64| of(&staircase(softirq, dropped)).limit;
    assert!(
        matches!(limit(0.95, 0.9), Some(RateLimit::Core { share }) if (share - 0.95).abs() < 1e-9)
    );
    assert!(
        matches!(limit(0.2, 0.9), Some(RateLimit::Queue { share }) if (share - 0.2).abs() < 1e-9)
    );
    assert!(matches!(limit(0.2, 0.4), Some(RateLimit::NotCpu { .. })));
    let found = of(&staircase(0.2, 0.9));
    assert_eq!(found.without_loss(), Some(1));
    let queue = found.queue.unwrap();
    assert!((queue.dropped - 0.9).abs() < 1e-9 && queue.interface == "outer", "{queue:?}");
    assert!(
        found.rates.iter().all(|rate| rate.busiest_core.is_some_and(|b| (b - 0.2).abs() < 1e-9))
    );
    // Where nothing is lost, only the sender can be what sets the rate.
    let lossless = |sent: f64| {
        let mut study = staircase(0.2, 0.0);
        for point in &mut study.trials[0].points {
            let figures = &mut point.parts[0].quantities;
            for measure in [StreamJob::OFFERED, Measure::THROUGHPUT] {
                figures.insert(Metric::all(measure), point.at.min(sent));
            }
            figures.insert(Metric::all(StreamJob::LOSS), 0.0);
        }
        of(&study).limit
    };
    assert_eq!((lossless(40e6), lossless(25e6)), (None, Some(RateLimit::Sender)));
    // Without the router's loads, nothing is known.
    let mut study = staircase(0.2, 0.9);
    study.trials[0].points.iter_mut().for_each(|point| point.loads.clear());
    assert_eq!(of(&study).limit, Some(RateLimit::Unknown));
}
