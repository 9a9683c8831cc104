//! The scan that follows from what operations cost: by its listings, with lookups, and as a mount does it.

mod support;

use plimsoll_explain::{NAMES, RoundTrip, scans};
use plimsoll_model::units::Bytes;
use plimsoll_model::*;
use std::num::NonZeroU16;
use support::{add_trial, empty, storage};

/// Seconds of a listing and of a lookup.
const COSTS: (f64, f64) = (9e-3, 2e-3);
/// Of a call that does nothing.
const TRIP: f64 = 0.5e-3;

/// What one operation of each kind took on targets of these protocols, ten names to a directory.
fn study(protocols: &[&str], kinds: &[(OpKind, f64)]) -> Study {
    let mut study = empty(&vec!["nfs://nas/films"; protocols.len()], &[]);
    let job = OperationsJob { entries: 10, block: Bytes(4096) };
    let part = Part::closed(job.into(), NonZeroU16::MIN, NonZeroU16::MIN);
    let length = Length::For { seconds: 1.0, warm_up_seconds: 0.1 };
    study.plan.workloads = vec![Workload::new(part, length)];
    for (subject, protocol) in (0..).zip(protocols) {
        let facts = storage(&mut study.subjects[usize::from(subject)]);
        (facts.protocol, facts.round_trip_seconds) = ((*protocol).into(), Some(TRIP));
        for block in 0..3 {
            let mean = |kind: &OpKind| Metric { kind: Some(*kind), measure: Measure::LATENCY_MEAN };
            let quantities = kinds.iter().map(|(kind, seconds)| (mean(kind), *seconds)).collect();
            let part = PartResult { quantities, ..PartResult::default() };
            add_trial(&mut study, block, Cell { subject, workload: 0, setting: 0 }, part);
        }
    }
    study
}

#[test]
fn a_mount_looks_at_each_directory_before_it_lists_it() {
    let kinds = [(OpKind::READ_DIRECTORY, COSTS.0), (OpKind::LOOKUP, COSTS.1)];
    let protocols =
        ["NFSv3 over TCP", "NFSv4.1 over TCP", "SMB 3.1.1, signed", "directory on ext4"];
    let found = scans(&study(&protocols, &kinds));
    let directories = f64::from(NAMES) / 10.0;
    let near = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-9, "{a} {b}");
    let (calls, lookup) = (2.0 * COSTS.1, COSTS.1);
    let beside = [Some(calls), Some(calls), Some(lookup - TRIP), None];
    for (scan, beside) in found.iter().zip(beside) {
        assert_eq!(scan.entries, 10);
        near(scan.listings, directories * COSTS.0);
        near(scan.with_lookups, directories * COSTS.0 + f64::from(NAMES) * COSTS.1);
        assert_eq!(scan.mounted.is_some(), beside.is_some());
        let mounted = beside.map(|beside| directories * (COSTS.0 + beside));
        scan.mounted.into_iter().zip(mounted).for_each(|(a, b)| near(a, b));
    }
    assert_eq!(found.len(), protocols.len());
}

/// Lookups of 7.93 ms among operations of 3.25 ms on average: a quota's stall fell on them, and a scan that was predicted by
/// them would have taken 2.4 times as long as the same calls did.
#[test]
fn lookups_that_were_held_up_give_a_range() {
    let kinds = [(OpKind::READ_DIRECTORY, 3.24e-3), (OpKind::LOOKUP, 7.93e-3)];
    let with_average = |seconds: f64| {
        let mut study = study(&["NFSv4.2 over TCP"], &kinds);
        for trial in &mut study.trials {
            let quantities = &mut trial.result.parts[0].quantities;
            quantities.insert(Metric::all(Measure::LATENCY_MEAN), seconds);
        }
        let [scan] = &scans(&study)[..] else { panic!("one scan") };
        (scan.with_lookups, scan.with_lookups_at_least)
    };
    let listings = f64::from(NAMES) / 10.0 * 3.24e-3;
    let near = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-9, "{a} {b}");
    let (most, least) = with_average(3.25e-3);
    near(most, listings + f64::from(NAMES) * 7.93e-3);
    near(least.unwrap(), listings + f64::from(NAMES) * 3.25e-3);
    assert_eq!(with_average(6e-3).1, None);
}

#[test]
fn without_listings_or_lookups_nothing_is_predicted() {
    for kind in [OpKind::READ_DIRECTORY, OpKind::LOOKUP] {
        assert!(scans(&study(&["NFSv3 over TCP"], &[(kind, 1e-3)])).is_empty());
    }
    assert!(scans(&empty(&["nfs://nas/films"], &[Pattern::RandomRead])).is_empty());
}

/// A round trip of 63 µs stood above lookups of 53 and opens of 40, each of which holds one.
#[test]
fn a_round_trip_that_operations_are_shorter_than_bounds_nothing_and_is_not_used() {
    let kinds = [
        (OpKind::READ_DIRECTORY, 200e-6),
        (OpKind::LOOKUP, 53e-6),
        (OpKind::OPEN, 40e-6),
        // One that has nothing to ask for.
        (OpKind::FLUSH, 1e-6),
    ];
    let mut study = study(&["NFSv3 over TCP", "SMB 3.1.1"], &kinds);
    let with_trip = |study: &mut Study, seconds| {
        study.subjects.iter_mut().for_each(|s| storage(s).round_trip_seconds = Some(seconds));
        RoundTrip::to_subject(study, 0).unwrap()
    };
    let trip = with_trip(&mut study, 63e-6);
    assert_eq!(
        trip.longer_than.iter().map(|one| one.0).collect::<Vec<_>>(),
        [OpKind::OPEN, OpKind::LOOKUP]
    );
    assert_eq!((trip.seconds, trip.bound()), (63e-6, None));
    let mounted =
        |study: &Study| scans(study).iter().map(|s| s.mounted.is_some()).collect::<Vec<_>>();
    assert_eq!(mounted(&study), [true, false], "SMB saves a round trip, of which nothing is known");
    let trip = with_trip(&mut study, 39e-6);
    assert_eq!((trip.longer_than.as_slice(), trip.bound()), (&[][..], Some(39e-6)));
    assert_eq!(mounted(&study), [true, true]);
    // A client that keeps attributes takes less for a lookup than one call.
    let part = &mut study.plan.workloads[0].parts[0];
    part.techniques = vec![Technique::AttributeCache { lifetime_seconds: 3.0 }];
    assert_eq!(with_trip(&mut study, 63e-6).bound(), Some(63e-6));
}
