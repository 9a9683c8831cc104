//! Demands, utilisation and bounds of each resource.

use crate::support::servers::{Truth, study};
use crate::{base, most, name, named, one, support};
use plimsoll_explain::{Condition, Resource, Unseen};
use plimsoll_model::*;

#[test]
fn demands_utilisation_and_bounds_are_those_of_the_truth() {
    let truth = Truth { server: 300e-6, disk: 150e-6, idle: 0.4, ..base(8) };
    let found = one(&study(truth, true));
    let resource_use = |is: &str| found.uses.iter().find(|one| name(&one.resource) == is).unwrap();
    let close = |a: f64, b: f64| (a / b - 1.0).abs() < 2e-3;
    for (is, demand) in [("disk", 150e-6), ("link", 20e-6), ("driver", 20e-6)] {
        assert!(close(resource_use(is).demand_seconds, demand), "{is}: {:?}", resource_use(is));
        assert!(close(resource_use(is).utilisation, demand * found.per_second), "{is}");
        assert!(close(resource_use(is).alone_per_second.unwrap(), 1.0 / demand), "{is}");
    }
    let processor = resource_use("processor");
    assert!(close(processor.demand_seconds, 300e-6) && close(processor.background, 0.2));
    assert!(close(processor.utilisation, 0.2 + found.per_second * 300e-6 / 2.0));
    assert!(close(processor.alone_per_second.unwrap(), 0.8 * 2.0 / 300e-6));
    let response = found.response_seconds();
    assert!(close(response, 8.0 / truth.carries(8)), "{response}");
    // Nothing waits that is not accounted for.
    assert!(found.waiting_seconds < 0.03 * response, "{found:#?}");
}

/// A demo said that of operations of 46 µs round trips take 66: those of a machine at rest.
#[test]
fn a_round_trip_at_rest_is_no_longer_than_what_others_leave_of_an_operation() {
    let truth = Truth { driver: 30e-6, server: 80e-6, round_trip: 10e-6, ..base(1) };
    let mut study = study(truth, true);
    support::storage(&mut study.subjects[0]).round_trip_seconds = Some(100e-6);
    let found = one(&study);
    let delay = found.uses.iter().find(|one| one.is_delay()).unwrap();
    assert!((delay.demand_seconds / 10e-6 - 1.0).abs() < 0.01, "{delay:?}");
    assert_eq!(named(&found), "unsaturated processor", "{found:#?}");
}

/// Every operation holds a round trip: one of 300 µs is none where operations take half of that.
#[test]
fn a_round_trip_that_is_longer_than_an_operation_is_no_bound_and_not_used() {
    let truth = Truth { driver: 30e-6, server: 80e-6, round_trip: 10e-6, ..base(1) };
    let mut study = study(truth, true);
    support::storage(&mut study.subjects[0]).round_trip_seconds = Some(300e-6);
    let found = one(&study);
    assert!(!found.uses.iter().any(plimsoll_explain::Use::is_delay), "{found:#?}");
    assert_eq!(found.unseen, [Unseen::RoundTrip]);
    let [Condition::RoundTripIsNoBound { seconds, response }] = found.conditions[..] else {
        panic!("{:?}", found.conditions)
    };
    assert!(seconds == 300e-6 && (response / found.response_seconds() - 1.0).abs() < 1e-9);
    assert_eq!(named(&found), "unsaturated processor", "{found:#?}");
}

/// With few large operations, most of a short trial's may be in flight when it ends, and hosts count all of
/// them: once the link of a slow server was said to be half as full again as it was.
#[test]
fn what_was_in_flight_at_the_end_counts_for_demands() {
    let truth = Truth { disk: 0.1, server: 0.04, link: 0.02, ..base(8) };
    let mut study = study(truth, true);
    for trial in &mut study.trials {
        let series = &mut trial.result.parts[0].series;
        let column = series.kinds.get_mut(&OpKind::READ).unwrap();
        column.operations[0] -= 8;
        column.bytes[0] -= 8 << 12;
        series.late = Count { operations: 8, bytes: 8 << 12 };
        assert!((10..30).contains(&series.served().operations), "{series:?}");
    }
    // Counters are of all that was carried, of which whole operations are counted.
    let carried = 2.0 * truth.carries(8);
    let found = one(&study);
    for (is, demand) in [("disk", 0.1), ("processor", 0.04), ("link", 0.02)] {
        let one = found.uses.iter().find(|one| name(&one.resource) == is).unwrap();
        // A disk that was busy all the time allows no less than what it carried.
        let expected = (demand * carried / carried.floor()).min(1.0 / found.per_second);
        assert!((one.demand_seconds / expected - 1.0).abs() < 1e-3, "{is}: {one:?}");
    }
}

/// Counters of a copy of 30 ms began late and ended early: they had fewer bytes than the files.
#[test]
fn a_link_carries_the_payload_and_its_headers_at_least() {
    let small = 1e-6;
    let truth = Truth {
        depth: 64,
        driver: small,
        server: small,
        disk: small,
        link: 36e-6,
        round_trip: 100e-6,
        ..Truth::default()
    };
    // Four fifths of the bytes of the link, in packets of so many of an operation each.
    let missing = |packets: f64| {
        let mut study = study(truth, true);
        for load in study.trials.iter_mut().flat_map(|trial| &mut trial.loads) {
            for interface in &mut load.interfaces {
                let operations = interface.received_packets as f64;
                interface.received_bytes = interface.received_bytes / 5 * 4;
                interface.received_packets = (operations * packets) as u64;
            }
        }
        study
    };
    let link = |study: &Study| {
        let found = one(study);
        let link = found.uses.iter().find(|one| name(&one.resource) == "link").unwrap();
        link.demand_seconds
    };
    let frames = 4096.0 * 8e-9 * 1514.0 / (1514.0 - 66.0);
    let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-3;
    for packets in [3.0, 1.0 / 16.0] {
        let study = missing(packets);
        assert!(close(link(&study), frames), "{} of {frames}", link(&study));
        assert_eq!(named(&one(&study)), "link");
        assert!(one(&study).binding().unwrap().utilisation > 0.93);
    }
    // A larger frame has fewer headers.
    let frame = 0.8 * 4500.0;
    assert!(close(link(&missing(1.0)), 4096.0 * 8e-9 * frame / (frame - 66.0)));
    // Half of it went elsewhere.
    let mut two = missing(3.0);
    for load in two.trials.iter_mut().flat_map(|trial| &mut trial.loads) {
        let other = load.interfaces.first().cloned();
        load.interfaces.extend(other.map(|other| InterfaceLoad { name: "eth1".into(), ..other }));
    }
    assert!(close(link(&two), 0.8 * 36e-6), "{}", link(&two));
    // An interface that counted a few packets belongs to the server of another target.
    let mut elsewhere = missing(3.0);
    for interface in
        elsewhere.trials.iter_mut().flat_map(|t| &mut t.loads).flat_map(|l| &mut l.interfaces)
    {
        (interface.received_bytes, interface.sent_bytes) = (4096, 4096);
    }
    let found = one(&elsewhere);
    let carried = found.uses.iter().find(|one| name(&one.resource) == "link");
    assert!(carried.is_none_or(|link| link.utilisation < 0.01), "{carried:?}");
    // Bytes of a directory may come from memory, and several clients have a link each.
    let mut mounted = missing(3.0);
    mounted.plan.subjects = vec![Subject::from("/mnt/nas".parse::<Target>().unwrap())];
    assert!(close(link(&mounted), 0.8 * 36e-6), "{}", link(&mounted));
}

/// A server that takes 4 KiB at most makes 256 calls of a read of 1 MiB.
#[test]
fn operations_that_are_many_calls_are_counted() {
    let mut study = study(Truth { disk: 400e-6, ..base(1) }, true);
    let Job::Pattern(job) = &mut study.plan.workloads[0].parts[0].job else { panic!() };
    job.block = plimsoll_model::units::Bytes(1 << 20);
    assert_eq!(one(&study).calls, None);
    support::storage(&mut study.subjects[0]).read_size_bytes = 4096;
    assert_eq!(one(&study).calls, Some((256, 4096)));
}

/// The rate of a copy is in files: it once was taken for that of its operations, and a disk that was busy all
/// the time seemed to be busy for an eighth of it.
#[test]
fn a_copy_is_made_of_operations() {
    let mut study = study(Truth { disk: 400e-6, ..base(1) }, true);
    for trial in &mut study.trials {
        let seconds = trial.loads[0].seconds;
        let quantities = &mut trial.result.parts[0].quantities;
        quantities.insert(Metric::all(Measure::ELAPSED), seconds);
        *quantities.get_mut(&Metric::all(Measure::IOPS)).unwrap() /= 8.0;
        *quantities.get_mut(&Metric::all(Measure::CLIENT_CPU_PER_OP)).unwrap() *= 8.0;
    }
    let found = one(&study);
    assert_eq!(named(&found), "unsaturated disk", "{found:#?}");
    let busy = base(1).carries(1).min(Truth { disk: 400e-6, ..base(1) }.carries(1)) * 400e-6;
    assert!((most(&found).utilisation / busy - 1.0).abs() < 0.01, "{found:#?}");
    let driver = found.uses.iter().find(|u| u.resource == Resource::Driver).unwrap();
    assert!((driver.demand_seconds / 20e-6 - 1.0).abs() < 0.01, "{driver:?}");
}
