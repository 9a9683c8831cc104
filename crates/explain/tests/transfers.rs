//! What several in flight bring, where figures cannot be true.

mod support;

use plimsoll_explain::{Flights, transfers};
use plimsoll_model::*;
use std::collections::BTreeMap;
use support::{empty, storage};

/// Reads of several sizes one at a time, and of 1 MiB with several in flight, at so many a second each. Of three
/// blocks one is `spread` slower and one as much faster.
fn study_with(spread: f64, sizes: &[(f64, f64)], depths: &[(f64, f64)]) -> Study {
    let mut study =
        empty(&["nfs://nas/films"], &[Pattern::SequentialRead, Pattern::SequentialRead]);
    let sweeps = [(Parameter::Block, sizes), (Parameter::Depth, depths)];
    for (workload, (over, rates)) in study.plan.workloads.iter_mut().zip(sweeps) {
        let one = std::num::NonZeroU16::MIN;
        (workload.parts[0].workers, workload.parts[0].arrival) =
            (one, Arrival::Closed { depth: one });
        let values = rates.iter().map(|(at, _)| *at).collect();
        workload.steps = Some(Steps::Sweep { over, values });
    }
    for (block, off) in (0..).zip([1.0 - spread, 1.0, 1.0 + spread]) {
        for (workload, (_, rates)) in (0..).zip(sweeps) {
            let point = |(at, rate): &(f64, f64)| {
                let quantities = BTreeMap::from([(Metric::all(Measure::IOPS), rate * off)]);
                let part = PartResult { quantities, ..PartResult::default() };
                Point { at: *at, accepted: None, parts: vec![part], loads: Vec::new() }
            };
            let points: Vec<Point> = rates.iter().map(point).collect();
            let first = points[0].parts.clone();
            support::servers::add(&mut study, block, workload, first, Vec::new(), points);
        }
    }
    study
}

const SIZES: [(f64, f64); 2] = [(4096.0, 20_000.0), (1_048_576.0, 100.0)];

fn flights(spread: f64, depths: &[(f64, f64)]) -> Flights {
    transfers(&study_with(spread, &SIZES, depths)).remove(0).flights.remove(0)
}

/// "8 in flight bring 10.2 × one" was what all that followed was built on.
#[test]
fn no_number_in_flight_brings_more_than_so_many_times_as_much() {
    let wrong = flights(0.01, &[(1.0, 100.0), (4.0, 390.0), (8.0, 1_020.0)]);
    let (flight, gain) = wrong.contradiction().unwrap();
    assert_eq!(flight.depth, 8);
    assert!((gain - 10.2).abs() < 0.01, "{gain}");
    assert_eq!((wrong.enough(), wrong.gain()), (None, None), "nothing follows from it");
    let right = flights(0.01, &[(1.0, 100.0), (4.0, 250.0)]);
    assert!(right.contradiction().is_none());
    assert_eq!(right.enough().map(|enough| enough.at), Some(4.0));
    assert!((right.gain().unwrap() - 2.5).abs() < 0.01);
}

/// A fixed share of 5% called figures contradictory that a busy machine had spread further apart, and let through
/// what was beyond its interval.
#[test]
fn figures_contradict_each_other_only_beyond_their_intervals() {
    let uncertain = flights(0.1, &[(1.0, 100.0), (4.0, 430.0)]);
    assert!(uncertain.contradiction().is_none(), "{uncertain:?}");
    assert_eq!(uncertain.gain(), Some(4.0), "no more than can be true");
    let certain = flights(0.000_1, &[(1.0, 100.0), (4.0, 410.0)]);
    assert!(certain.contradiction().is_some(), "{certain:?}");
    // From one block nothing says how far the figures are off.
    let mut once = study_with(0.0, &SIZES, &[(1.0, 100.0), (4.0, 430.0)]);
    once.trials.retain(|trial| trial.block == Some(0));
    let once = &transfers(&once)[0].flights[0];
    assert!(once.depths.iter().all(|one| one.per_second.interval.is_none()));
    assert_eq!((once.contradiction(), once.gain()), (None, Some(4.0)));
}

/// A call that does nothing took 63 µs, and a read 53, which contains one.
#[test]
fn a_round_trip_that_is_longer_than_a_read_is_in_no_model() {
    let mut study = study_with(0.0, &SIZES, &[(1.0, 100.0), (2.0, 150.0)]);
    let read = Metric { kind: Some(OpKind::READ), measure: Measure::LATENCY_MEAN };
    let parts = study.trials.iter_mut().flat_map(|trial| &mut trial.points);
    for part in parts.flat_map(|point| &mut point.parts) {
        part.quantities.insert(read, 53e-6);
    }
    for (seconds, used) in [(50e-6, Some(50e-6)), (63e-6, None)] {
        storage(&mut study.subjects[0]).round_trip_seconds = Some(seconds);
        assert_eq!(transfers(&study)[0].round_trip, used);
    }
}

/// A server that takes 4 KiB at most: 1 MiB is 256 calls.
#[test]
fn blocks_above_the_largest_transfer_are_so_many_calls() {
    let mut study = study_with(0.0, &SIZES, &[(1.0, 100.0), (2.0, 150.0)]);
    assert_eq!(transfers(&study)[0].calls(), None);
    storage(&mut study.subjects[0]).read_size_bytes = 4096;
    assert_eq!(transfers(&study)[0].calls(), Some((units::Bytes(1 << 20), 256)));
}
