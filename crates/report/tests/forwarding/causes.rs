//! What sets the rate of a router, named by its counters.

use super::{ROUTER, load, routed, screen};
use crate::jobs::shown;
use plimsoll_model::*;

/// The same router, of which a token bucket keeps the rate; its cores are idle.
pub(super) fn shaped() -> Study {
    let mut study = routed();
    for trial in &mut study.trials {
        trial.loads.retain(|load| load.host != *ROUTER);
        trial.loads.push(idle(417_000, 0));
        for point in &mut trial.points {
            let figures = &mut point.parts[0].quantities;
            let [offered, carried] = [Measure::OFFERED_FRAMES, Measure::PACKETS]
                .map(|measure| figures[&Metric::all(measure)]);
            let (sent, lost) = (10.0 * offered, 10.0 * (offered - carried));
            figures.insert(Metric::all(Measure::ALL_SENT), sent);
            point.loads = vec![idle(sent as u64, lost as u64)];
        }
    }
    study
}

/// 4% of a core, and nearly all lost frames dropped by the token bucket.
fn idle(frames: u64, lost: u64) -> HostLoad {
    let little = CpuTimes { softirq: 0.42, idle: 10.58, ..CpuTimes::default() };
    let queue = QueueLoad {
        interface: "eth1".into(),
        discipline: "tbf".into(),
        dropped: lost * 97 / 100,
        overlimits: 2 * lost,
        marked: 0,
    };
    let table = ConntrackLoad { entries: 128, most_entries: Some(4096), ..Default::default() };
    HostLoad {
        cpu: little + CpuTimes { idle: 11.0, ..CpuTimes::default() },
        cores: vec![little, CpuTimes { idle: 11.0, ..CpuTimes::default() }],
        cores_busy: vec![0.042, 0.0],
        queues: vec![queue],
        conntrack: Some(table),
        ..load(frames)
    }
}

#[test]
fn a_shaper_that_sets_the_rate_is_named_with_its_counters() {
    let study = shaped();
    let details = shown(&study);
    let text = screen(&study);
    let whole = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = "The shaper on eth1 of R (tbf), not the CPU, sets the rate (out 128, out 1518, in 128 and in 1518): it \
        dropped 97% of the frames lost over all rates; the kernel takes 4% of the busiest core.";
    assert!(whole.contains(sentence), "{text}");
    let row = text.lines().find(|line| line.starts_with("out 1518")).unwrap();
    assert!(row.contains("shaper") && !row.contains("shaper, link"), "{row}");
    assert!(
        !whole.contains("connection table") && !whole.contains("frames are offloaded"),
        "{text}"
    );
    // The three rates, each with what it did to the router.
    for words in ["R at each offered rate", "offered/s", "held", "20.0 k", "60.0 k", "128"] {
        assert!(details.contains(words), "{words} in\n{details}");
    }
    // Without its counters it may be a shaper, or a link.
    let mut unknown = study;
    for point in unknown.trials.iter_mut().flat_map(|trial| &mut trial.points) {
        point.loads.iter_mut().for_each(|load| load.queues.clear());
    }
    let text = screen(&unknown);
    assert!(text.contains("shaper, link") && !text.contains("sets the rate"), "{text}");
}

/// What its queues dropped was of others.
#[test]
fn a_router_that_did_not_see_the_frames_has_no_shaper_for_them() {
    let mut study = shaped();
    for trial in &mut study.trials {
        let of_points = trial.points.iter_mut().flat_map(|point| &mut point.loads);
        for load in trial.loads.iter_mut().chain(of_points) {
            let still =
                |one: &mut InterfaceLoad| (one.received_packets, one.sent_packets) = (12, 9);
            load.interfaces.iter_mut().for_each(still);
        }
    }
    let text = screen(&study);
    assert!(text.contains("not at R") && !text.contains("sets the rate"), "{text}");
}

#[test]
fn full_queues_and_tables_of_a_router_are_named() {
    let mut study = shaped();
    for point in study.trials.iter_mut().flat_map(|trial| &mut trial.points) {
        for load in &mut point.loads {
            let dropped = load.queues.drain(..).map(|queue| queue.dropped).sum();
            load.softnet = Some(Softnet { processed: 1, dropped, squeezed: 0 });
            let table = load.conntrack.as_mut().unwrap();
            (table.entries, table.dropped, table.early_dropped) = (4096, 1, 2);
        }
    }
    shown(&study);
    let text = screen(&study);
    let whole = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "The CPU queue of R overflowed (out 128, out 1518, in 128 and in 1518): it dropped 97% of the frames lost \
         over all rates (softnet_stat).",
        "The connection table of R was full (out 128, out 1518, in 128 and in 1518): it had 4096 of 4096 \
         connections, dropped 36 packets and removed 72 connections early.",
    ] {
        assert!(whole.contains(words), "{words} in\n{text}");
    }
}

#[test]
fn frames_that_take_no_cpu_time_are_offloaded() {
    let mut study = shaped();
    for load in
        study.trials.iter_mut().flat_map(|trial| &mut trial.points).flat_map(|p| &mut p.loads)
    {
        load.queues.clear();
        (load.cpu.softirq, load.idle) = (0.011, None);
    }
    let text = screen(&study).split_whitespace().collect::<Vec<_>>().join(" ");
    let words = "The frames are offloaded (out 128, out 1518, in 128 and in 1518): the kernel of R takes at most \
        0.1% of a core.";
    assert!(text.contains(words), "{text}");
}
