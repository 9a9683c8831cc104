//! What limits a workload, where the truth is known: throughputs and loads come from a closed network of
//! given demands, as the hosts' counters would show them.

mod support;

use plimsoll_explain::{Condition, Limit, Limits, Resource, Role, Unseen, Use, limits};
use plimsoll_model::*;
use support::servers::{
    SERVER, Truth, count_cores, in_namespaces, on_one_machine, study, with_ladder,
};

fn one(study: &Study) -> Limits {
    limits(study).into_iter().next().unwrap()
}

fn name(resource: &Resource) -> &'static str {
    match resource {
        Resource::Link { .. } => "link",
        Resource::Driver => "driver",
        Resource::Processor => "processor",
        Resource::Core { .. } => "core",
        Resource::Quota { .. } => "quota",
        Resource::Threads { .. } => "threads",
        Resource::Disk { .. } => "disk",
        Resource::RoundTrip => "round trip",
    }
}

/// Begins what would help most and is not saturated.
const UNSATURATED: &str = "unsaturated ";

/// The one resource that would help most, saturated or not.
fn most(found: &Limits) -> &Use {
    match &found.verdict {
        Limit::Resource { binding, .. } => &found.uses[*binding],
        Limit::Unsaturated(uses) if uses.len() == 1 => &found.uses[uses[0]],
        other => panic!("{other:?} in {found:#?}"),
    }
}

/// The resource that is named, or what else is said.
fn named(found: &Limits) -> String {
    let name = |place: usize| name(&found.uses[place].resource);
    match &found.verdict {
        Limit::Resource { binding, .. } => name(*binding).into(),
        Limit::Several { uses, waiting } => {
            let mut all: Vec<&str> = uses.iter().map(|place| name(*place)).collect();
            all.extend(waiting.then_some("waiting"));
            all.sort_unstable();
            all.join(" or ")
        }
        Limit::Unsaturated(uses) => {
            let mut all: Vec<&str> = uses.iter().map(|place| name(*place)).collect();
            all.sort_unstable();
            format!("{UNSATURATED}{}", all.join(" or "))
        }
        Limit::Waiting => "waiting".into(),
        Limit::Hidden => "hidden".into(),
        Limit::Contradiction(place) => format!("not {}", name(*place)),
    }
}

fn base(depth: u16) -> Truth {
    let small = 20e-6;
    Truth {
        depth,
        driver: small,
        server: small,
        disk: small,
        link: small,
        round_trip: 100e-6,
        ..Truth::default()
    }
}

#[test]
fn the_resource_whose_doubling_helps_most_is_named() {
    let cases = [
        (Truth { driver: 400e-6, ..base(16) }, "driver"),
        (Truth { server: 800e-6, ..base(16) }, "processor"),
        (Truth { server: 400e-6, one_core: true, ..base(16) }, "core"),
        (Truth { disk: 400e-6, ..base(16) }, "disk"),
        (Truth { link: 400e-6, ..base(16) }, "link"),
        (Truth { round_trip: 2e-3, ..base(1) }, "round trip"),
        (Truth { disk: 2e-3, ..base(1) }, "disk"),
        // One of its two cores is busy: that of one operation at a time.
        (Truth { server: 2e-3, ..base(1) }, "unsaturated processor"),
    ];
    for (truth, expected) in cases {
        let found = one(&study(truth, true));
        assert_eq!(named(&found), expected, "{truth:?}: {found:#?}");
        // What it says of doubling is what doubling does.
        let half = |of: f64| if of >= 400e-6 { of / 2.0 } else { of };
        let doubled = Truth {
            driver: half(truth.driver),
            server: half(truth.server),
            disk: half(truth.disk),
            link: half(truth.link),
            round_trip: half(truth.round_trip),
            ..truth
        };
        let more = doubled.carries(truth.depth) / truth.carries(truth.depth) - 1.0;
        let gain = most(&found).gain;
        assert!((gain / more - 1.0).abs() < 0.02, "{truth:?}: {gain}, truly {more}");
    }
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

#[test]
fn demands_utilisation_and_bounds_are_those_of_the_truth() {
    let truth = Truth { server: 300e-6, disk: 150e-6, idle: 0.4, ..base(8) };
    let found = one(&study(truth, true));
    let of = |is: &str| found.uses.iter().find(|one| name(&one.resource) == is).unwrap();
    let close = |a: f64, b: f64| (a / b - 1.0).abs() < 2e-3;
    for (is, demand) in [("disk", 150e-6), ("link", 20e-6), ("driver", 20e-6)] {
        assert!(close(of(is).demand_seconds, demand), "{is}: {:?}", of(is));
        assert!(close(of(is).utilisation, demand * found.per_second), "{is}");
        assert!(close(of(is).alone_per_second.unwrap(), 1.0 / demand), "{is}");
    }
    let processor = of("processor");
    assert!(close(processor.demand_seconds, 300e-6) && close(processor.background, 0.2));
    assert!(close(processor.utilisation, 0.2 + found.per_second * 300e-6 / 2.0));
    assert!(close(processor.alone_per_second.unwrap(), 0.8 * 2.0 / 300e-6));
    let response = found.response_seconds();
    assert!(close(response, 8.0 / truth.carries(8)), "{response}");
    // Nothing waits that is not accounted for.
    assert!(found.waiting_seconds < 0.03 * response, "{found:#?}");
}

/// A server that was not watched: whatever it is, it is not named.
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

#[test]
fn nothing_is_named_that_no_figure_supports() {
    for truth in [
        Truth { server: 800e-6, round_trip: 0.0, ..base(16) },
        Truth { disk: 400e-6, round_trip: 0.0, ..base(16) },
        Truth { hidden: 400e-6, round_trip: 0.0, ..base(16) },
        Truth { disk: 2e-3, round_trip: 0.0, ..base(1) },
    ] {
        let found = one(&study(truth, false));
        assert_eq!(named(&found), "waiting", "{truth:?}: {found:#?}");
        assert_eq!(found.unseen, [Unseen::Server, Unseen::RoundTrip]);
        assert!(found.uses.iter().all(|u| u.utilisation < 0.2), "{found:#?}");
    }
}

/// A server that was not watched, with a link that is nearly as slow: the link alone was seen, and named, though
/// it was 86% busy.
#[test]
fn what_is_not_full_is_not_named_where_a_server_may_be() {
    let of = |link, hidden, depth| {
        let truth = Truth { link, hidden, round_trip: 0.0, ..base(depth) };
        named(&one(&study(truth, false)))
    };
    assert_eq!(of(350e-6, 400e-6, 16), "link or waiting");
    assert_eq!(of(400e-6, 20e-6, 16), "link", "it is full");
    // One operation is at one place at a time: what is not seen has what the link leaves.
    assert_eq!(of(600e-6, 20e-6, 1), "link");
    // What is not even nearly saturated is not named.
    assert_eq!(of(400e-6, 50e-6, 1), "waiting");
    assert_eq!(of(300e-6, 400e-6, 16), "waiting");
    // One of 1 MiB is at several: the server works on the end of what the link has the beginning of.
    let truth = Truth { link: 600e-6, hidden: 20e-6, round_trip: 0.0, ..base(1) };
    let mut large = study(truth, false);
    for part in large.trials.iter_mut().flat_map(|trial| &mut trial.result.parts) {
        *part.quantities.get_mut(&Metric::all(Measure::THROUGHPUT)).unwrap() *= 256.0;
    }
    assert_eq!(named(&one(&large)), "link or waiting");
    // The server's host was watched, and nothing of it is busy.
    let truth = Truth { link: 350e-6, round_trip: 300e-6, ..base(4) };
    assert_eq!(named(&one(&study(truth, true))), "link");
}

#[test]
fn what_helps_alike_cannot_be_told_apart() {
    let found =
        one(&study(Truth { server: 400e-6, one_core: true, disk: 390e-6, ..base(4) }, true));
    assert_eq!(named(&found), "unsaturated core or disk", "{found:#?}");
    let found = one(&study(Truth { disk: 500e-6, hidden: 480e-6, ..base(1) }, true));
    assert_eq!(named(&found), "unsaturated disk", "{found:#?}");
    let found =
        one(&study(Truth { server: 400e-6, one_core: true, disk: 390e-6, ..base(32) }, true));
    assert_eq!(named(&found), "core or disk", "{found:#?}");
}

/// "No monitored resource is saturated" was said of copies that kept a link 84 to 94% busy.
#[test]
fn what_is_nearly_saturated_is_named_beside_waiting() {
    let of = |link| named(&one(&study(Truth { link, hidden: 400e-6, ..base(16) }, true)));
    assert_eq!(of(350e-6), "link or waiting");
    assert_eq!(of(300e-6), "waiting");
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

/// A quota that was used to 87% of the counters' time and to 110% of the operations' time is nearly saturated, and was
/// left out: the client alone was named beside it.
#[test]
fn a_quota_that_short_trials_show_as_more_than_all_is_saturated() {
    let truth = Truth { server: 400e-6, one_core: true, ..base(16) };
    let of = |share: f64, longer: f64| {
        let mut study = study(truth, true);
        study.flags.push(Flag::SameMachine { host: SERVER.into() });
        for trial in &mut study.trials {
            let operations = trial.result.moved().operations as f64;
            let used = operations * 220e-6;
            let server = trial.loads.iter_mut().find(|load| load.host == SERVER).unwrap();
            server.seconds *= longer;
            server.control_group = Some(ControlGroupLoad {
                cpu_seconds: used,
                quota_cores: Some(used / share / server.seconds),
                throttled_share: Some(0.2),
            });
        }
        one(&study)
    };
    let found = of(0.87, 1.27);
    assert_eq!(named(&found), "quota", "{found:#?}");
    assert_eq!(found.binding().unwrap().utilisation, 1.0);
    let found = of(0.6, 2.0);
    assert_eq!(named(&found), "not quota", "{found:#?}");
}

/// A disk that is a fifth faster than a link: twice as fast, the link would be in the way at once.
#[test]
fn two_that_are_both_full_are_named_together() {
    let found = one(&study(Truth { disk: 400e-6, link: 370e-6, ..base(64) }, true));
    assert_eq!(named(&found), "disk or link", "{found:#?}");
    let found = one(&study(Truth { disk: 400e-6, link: 300e-6, ..base(64) }, true));
    assert_eq!(named(&found), "disk", "{found:#?}");
}

/// A disk that does several at a time is busy for the shorter with each of them, and no queue.
#[test]
fn a_disk_whose_operations_overlap_is_known_by_a_ladder() {
    let at = |depth: u16| {
        let at_a_time = f64::from(depth);
        Truth { disk: 20e-3 / at_a_time, at_a_time, round_trip: 15e-3, ..base(depth) }
    };
    let study = study(at(4), true);
    let looks = one(&study);
    assert_eq!(most(&looks).resource, Resource::Disk { name: "sda".into() }, "like a queue");
    let found = one(&with_ladder(study, true, [1, 4, 16], at));
    assert_eq!(named(&found), "unsaturated disk or round trip", "{found:#?}");
    let disk = found.uses.iter().find(|one| name(&one.resource) == "disk").unwrap();
    assert!((disk.demand_seconds / 20e-3 - 1.0).abs() < 0.01, "{disk:?}");
    assert!((disk.servers / 16.0 - 1.0).abs() < 0.01, "{disk:?}");
    assert!((disk.utilisation / (found.per_second * 20e-3 / 16.0) - 1.0).abs() < 0.01, "{disk:?}");
}

/// What memory serves keeps a disk busy for the shorter as well, but with one operation at a time.
#[test]
fn a_disk_that_is_asked_for_less_does_not_overlap() {
    let at = |depth: u16| {
        let from_disk = 1.0 / f64::from(depth).sqrt();
        Truth { disk: 8e-3 * from_disk, at_a_time: 1.0, round_trip: 1e-3, ..base(depth) }
    };
    let found = one(&with_ladder(study(at(4), true), true, [1, 4, 16], at));
    let disk = found.uses.iter().find(|one| name(&one.resource) == "disk").unwrap();
    assert_eq!(disk.servers, 1.0, "{disk:?}");
    assert!((disk.demand_seconds / 4e-3 - 1.0).abs() < 0.01, "{disk:?}");
    assert_eq!(named(&found), "disk", "{found:#?}");
}

/// A disk that serves many at a time is busy all the time with one: it takes either more of them or a
/// faster one.
#[test]
fn threads_that_all_wait_for_the_disk_are_named_beside_it() {
    let with_threads = |count: u32, depth: u16, idle: f64| {
        let mut study = study(Truth { disk: 5e-3, ..base(depth) }, true);
        let servers = study.trials.iter_mut().flat_map(|trial| &mut trial.loads);
        for load in servers.filter(|load| load.host == SERVER) {
            let nfsd = NfsdLoad { threads: Some(count), ..NfsdLoad::default() };
            load.nfsd = Some(nfsd);
            (load.idle, load.idle_baseline) = (None, idle);
            load.disks[0].in_flight_seconds = load.disks[0].busy_seconds;
        }
        one(&study)
    };
    let few = with_threads(1, 4, 0.0);
    assert_eq!(named(&few), "disk or threads", "{few:#?}");
    // The idle window was busier than the trials are.
    assert_eq!(named(&with_threads(1, 4, 1.5)), "disk or threads");
    let threads = few.uses.iter().find(|u| u.resource == Resource::Threads { count: 1 }).unwrap();
    assert!((threads.demand_seconds / 5.02e-3 - 1.0).abs() < 1e-2, "{threads:?}");
    for (count, depth) in [(8, 16), (8, 4), (1, 1)] {
        let enough = with_threads(count, depth, 0.0);
        assert_eq!(named(&enough), "disk", "{enough:#?}");
    }
}

/// A solid-state disk that one thread asks for one operation after the other is busy all the time and not full.
#[test]
fn threads_are_the_limit_of_a_disk_that_could_do_several_operations_at_a_time() {
    let with_disk = |disk: DiskFacts, name: &str, threads: u32| {
        let mut study = study(Truth { disk: 5e-3, ..base(4) }, true);
        let servers = study.trials.iter_mut().flat_map(|trial| &mut trial.loads);
        for load in servers.filter(|load| load.host == SERVER) {
            load.nfsd = Some(NfsdLoad { threads: Some(threads), ..NfsdLoad::default() });
            (load.idle, load.idle_baseline) = (None, 0.0);
            load.disks[0].in_flight_seconds = load.disks[0].busy_seconds;
            load.disks[0].name = name.into();
        }
        let server = study.hosts.iter_mut().find(|host| host.name == SERVER).unwrap();
        server.disks.insert(name.into(), disk);
        one(&study)
    };
    let disk = |rotational, queue_depth| DiskFacts { rotational, queue_depth };
    let found = with_disk(disk(false, None), "nvme0n1", 1);
    assert_eq!(named(&found), "threads", "{found:#?}");
    assert!(found.binding().unwrap().utilisation > 0.95, "{found:#?}");
    let solid = found.uses.iter().find(|u| name(&u.resource) == "disk").unwrap();
    assert!((solid.demand_seconds / 5e-3 - 1.0).abs() < 0.01, "{solid:?}");
    assert!((0.2..0.3).contains(&solid.utilisation), "one of the four in flight: {solid:?}");
    assert_eq!(named(&with_disk(disk(false, Some(32)), "sda", 1)), "threads");
    // One that turns, sticks and cards that take one at a time, and one of which nothing is known.
    assert_eq!(named(&with_disk(disk(true, Some(32)), "sda", 1)), "disk or threads");
    assert_eq!(named(&with_disk(disk(false, Some(1)), "sda", 1)), "disk or threads");
    assert_eq!(named(&with_disk(disk(false, None), "mmcblk0", 1)), "disk or threads");
    // Threads that are not all taken are no limit, whatever the disk is.
    assert_eq!(named(&with_disk(disk(false, None), "nvme0n1", 8)), "disk");
}

/// A thread that is always busy and moves between the two cores makes neither full.
#[test]
fn one_core_s_worth_on_several_is_what_a_thread_makes_of_them() {
    let ladder = |truth: Truth| {
        one(&with_ladder(study(truth, true), true, [1, 4, 16], move |depth| Truth {
            depth,
            ..truth
        }))
    };
    let thread = Truth { server: 400e-6, hidden: 405e-6, ..base(16) };
    let found = ladder(thread);
    assert_eq!(named(&found), "hidden", "{found:#?}");
    assert_eq!(found.one_thread().unwrap().host, SERVER);
    let found = ladder(Truth { server: 100e-6, ..thread });
    assert_eq!((named(&found).as_str(), found.one_thread()), ("hidden", None));
}

#[test]
fn a_ladder_tells_something_full_from_waiting() {
    let hidden = Truth { hidden: 400e-6, ..base(16) };
    let ladder = |truth: Truth| {
        with_ladder(study(truth, true), true, [1, 4, 16], move |depth| Truth { depth, ..truth })
    };
    assert_eq!(named(&one(&ladder(hidden))), "hidden");
    let slow = Truth { round_trip: 0.0, hidden: 0.0, ..base(4) };
    let mut waiting = ladder(Truth { round_trip: 5e-3, ..slow });
    // As if nobody had measured the round trip.
    support::storage(&mut waiting.subjects[0]).round_trip_seconds = None;
    let found = one(&waiting);
    assert_eq!(named(&found), "waiting", "{found:#?}");
    let ladder = found.ladder.unwrap();
    assert!(!ladder.is_saturated());
    assert_eq!(ladder.rungs.len(), 3);
}

/// Interrupts coalesce: at four times the rate an operation takes half as much.
/// Copies of few files by more workers, of which 9, 11 and 10 were in flight, slower each time: "more helps".
#[test]
fn what_hardly_has_more_in_flight_does_not_tell_whether_that_helps() {
    let found = |depths| {
        let at = |depth| Truth { disk: 400e-6, ..base(depth) };
        one(&with_ladder(study(at(4), true), true, depths, at)).ladder.unwrap().more_helps()
    };
    assert_eq!(found([8, 9, 10]), None);
    assert_eq!(found([1, 4, 16]), Some(false));
    let at = |depth| Truth { round_trip: 50e-3, ..base(depth) };
    let waiting = one(&with_ladder(study(at(4), true), true, [1, 4, 16], at));
    assert_eq!(waiting.ladder.unwrap().more_helps(), Some(true));
}

#[test]
fn demands_that_depend_on_load_are_found() {
    let truth = Truth { server: 200e-6, ..base(16) };
    let at =
        move |depth: u16| Truth { depth, server: if depth > 4 { 200e-6 } else { 400e-6 }, ..truth };
    let found = one(&with_ladder(study(truth, true), true, [1, 4, 16], at));
    let ladder = found.ladder.as_ref().unwrap();
    for one in &found.uses {
        let expected = match one.resource {
            Resource::Processor => Some(false),
            Resource::RoundTrip => Some(true),
            _ => Some(true),
        };
        assert_eq!(ladder.is_constant(one), expected, "{one:?}");
    }
}

#[test]
fn clocks_memory_and_steal_are_told_beside_utilisation() {
    let mut study = study(base(4), true);
    assert_eq!(one(&study).conditions, []);
    study.hosts[1].memory_bytes = 1 << 30;
    let server = study.trials[1].loads.iter_mut().find(|load| load.host == SERVER).unwrap();
    server.frequency = Some(Frequency { lowest_hertz: 6e8, highest_hertz: 1.2e9 });
    server.memory = Some(MemoryLoad { least_available_bytes: 1 << 20, ..MemoryLoad::default() });
    server.memory_stall_seconds = Some(0.3);
    server.cpu.steal = 2.0;
    let host = || SERVER.to_owned();
    let expected = [
        Condition::ClockMoved { host: host(), hertz: (6e8, 1.2e9) },
        Condition::MemoryShort { host: host(), bytes: (1 << 20, 1 << 30) },
        // Of three trials of two seconds.
        Condition::MemoryPressure { host: host(), share: 0.3 / 6.0 },
    ];
    let found = one(&study).conditions;
    assert_eq!(found[..3], expected);
    assert!(matches!(&found[3], Condition::Stolen { share, .. } if *share > 0.1), "{found:?}");
}

#[test]
fn more_than_a_link_can_carry_is_a_contradiction() {
    let mut study = study(Truth { link: 300e-6, ..base(16) }, true);
    study.hosts[0].link_rates.insert("eth0".into(), 100_000_000);
    assert_eq!(named(&one(&study)), "not link");
}

#[test]
fn a_quota_is_what_a_host_may_use_and_a_shared_machine_tells_nothing_else() {
    let truth = Truth { server: 400e-6, one_core: true, ..base(16) };
    let mut shared = study(truth, true);
    shared.flags.push(Flag::SameMachine { host: SERVER.into() });
    let found = one(&shared);
    assert!(found.unseen.contains(&Unseen::SharedProcessor));
    assert!(!named(&found).contains("core"), "{found:#?}");
    // Half a core: an operation that takes 200 µs of it takes 400 of its time.
    for trial in &mut shared.trials {
        let operations = trial.result.moved().operations as f64;
        let server = trial.loads.iter_mut().find(|load| load.host == SERVER).unwrap();
        server.control_group = Some(ControlGroupLoad {
            cpu_seconds: operations * 200e-6,
            quota_cores: Some(0.5),
            throttled_share: Some(0.9),
        });
    }
    let found = one(&shared);
    assert_eq!(named(&found), "quota", "{found:#?}");
    let quota = found.binding().unwrap();
    assert!((quota.utilisation / (truth.carries(16) * 400e-6) - 1.0).abs() < 0.01, "{quota:?}");
}

/// What a quota held back differs from number to number in flight, and its demand is still looked at.
#[test]
fn the_demand_on_a_quota_is_compared_over_a_ladder() {
    let truth = Truth { server: 400e-6, one_core: true, ..base(16) };
    let mut study =
        with_ladder(study(truth, true), true, [1, 4, 16], move |depth| Truth { depth, ..truth });
    let limit = |load: &mut HostLoad, operations: u64| {
        load.control_group = Some(ControlGroupLoad {
            cpu_seconds: operations as f64 * 200e-6,
            quota_cores: Some(0.5),
            throttled_share: Some(1.0 / (operations as f64)),
        });
    };
    for trial in &mut study.trials {
        let operations = trial.result.moved().operations;
        trial.loads.iter_mut().for_each(|load| limit(load, operations));
        for point in &mut trial.points {
            let operations = point.parts[0].series.served().operations;
            point.loads.iter_mut().for_each(|load| limit(load, operations));
        }
    }
    let found = one(&study);
    let quota = found.uses.iter().find(|one| name(&one.resource) == "quota").unwrap();
    assert_eq!(found.ladder.as_ref().unwrap().is_constant(quota), Some(true), "{found:#?}");
}

#[test]
fn figures_that_are_none_and_trials_that_failed_are_left_out() {
    let truth = base(4);
    let mut odd = study(truth, true);
    odd.trials[0].result.parts[0].quantities.insert(Metric::all(Measure::IOPS), f64::NAN);
    odd.trials[1].loads.clear();
    support::fail(&mut odd.trials[2]);
    let found = one(&odd);
    assert!(found.per_second.is_finite() && found.uses.iter().all(|u| u.utilisation.is_finite()));
    odd.trials.clear();
    assert!(limits(&odd).is_empty());
    let mut none = study(truth, true);
    for trial in &mut none.trials {
        trial.result.parts[0].quantities.clear();
        trial.loads.iter_mut().for_each(|load| load.seconds = f64::INFINITY);
    }
    assert!(limits(&none).is_empty());
}

/// A quick copy's trials of some milliseconds: a tick or two fell into them, and "the CPU of this machine would allow
/// 68.9 MB/s alone" stood beside the 212 MB/s that were measured.
#[test]
fn a_few_ticks_are_no_limit() {
    let truth = Truth { server: 100e-6, driver: 50e-6, seconds: 0.02, ..base(4) };
    let with_ticks = |truth: Truth, ticks: f64| {
        let mut study = study(truth, true);
        for trial in &mut study.trials {
            for load in &mut trial.loads {
                load.cores = vec![CpuTimes { system: 0.01 * ticks, ..CpuTimes::default() }; 2];
                count_cores(load);
            }
        }
        one(&study)
    };
    // Two ticks of each of two cores in each of three trials: all of their time, and twelve of them.
    let found = with_ticks(truth, 2.0);
    let processor = found.uses.iter().find(|one| one.resource == Resource::Processor).unwrap();
    assert!(!processor.is_conclusive() && processor.alone_per_second.is_none(), "{processor:?}");
    assert_eq!(processor.utilisation, 1.0);
    assert!(!named(&found).contains("processor"), "{found:#?}");
    assert_eq!(found.unseen, [Unseen::FewTicks]);
    // The same share of longer trials is enough of them.
    let found = with_ticks(Truth { seconds: 0.2, ..truth }, 20.0);
    assert!(named(&found).contains("processor"), "{found:#?}");
    assert!(!found.unseen.contains(&Unseen::FewTicks));
    // Few ticks in a long time are few of them, and that is known.
    let found = with_ticks(Truth { seconds: 2.0, ..truth }, 2.0);
    assert!(!found.unseen.contains(&Unseen::FewTicks), "{found:#?}");
}

#[test]
fn a_cost_that_cannot_be_distinguished_from_idle_is_no_limit() {
    let mut study = study(Truth { server: 800e-6, ..base(16) }, true);
    assert_eq!(named(&one(&study)), "processor");
    // What the host does anyway differed from block to block by more than the load took.
    for (trial, idle) in study.trials.iter_mut().zip([0.1, 1.9, 3.0]) {
        let server = trial.loads.iter_mut().find(|load| load.host == SERVER).unwrap();
        server.idle_baseline = idle;
    }
    let found = one(&study);
    assert!(!named(&found).contains("processor"), "{found:#?}");
    assert_eq!(found.unseen, [Unseen::FewTicks], "it is busy, nobody knows by whom");
}

/// Counters that were read for longer than the operations took: a core "would allow 2.00 GB/s" beside 2.14.
#[test]
fn a_ceiling_below_what_was_measured_is_a_contradiction_unless_it_was_busy_all_the_time() {
    let of = |busy: f64, rate: f64| {
        let truth = Truth { server: 400e-6, one_core: true, ..base(16) };
        let mut study = study(truth, true);
        for trial in &mut study.trials {
            *trial.result.parts[0].quantities.get_mut(&Metric::all(Measure::IOPS)).unwrap() *= rate;
            let server = trial.loads.iter_mut().find(|load| load.host == SERVER).unwrap();
            server.cores[0] =
                CpuTimes { system: 2.0 * busy, idle: 2.0 - 2.0 * busy, ..CpuTimes::default() };
            count_cores(server);
        }
        one(&study)
    };
    let full = of(1.0, 1.2);
    assert_eq!(named(&full), "core", "{full:#?}");
    let core = full.binding().unwrap();
    assert_eq!((core.utilisation, core.alone_per_second), (1.0, Some(full.per_second)));
    // Seven tenths of the time are not all that is had of it.
    let found = of(0.7, 2.0);
    assert_eq!(named(&found), "not core", "{found:#?}");
    assert!(found.uses[0].utilisation > 1.3 && found.uses[0].alone_per_second.is_none());
    assert_eq!((found.uses[0].demand_seconds, found.uses[0].gain), (0.0, 0.0));
}

/// What contradicts itself takes nothing off what is known.
#[test]
fn a_limit_stands_beside_a_contradiction() {
    let truth = Truth { link: 100e-6, disk: 400e-6, ..base(16) };
    let mut study = study(truth, true);
    study.hosts[0].link_rates.insert("eth0".into(), 100_000_000);
    let found = one(&study);
    assert_eq!(named(&found), "disk", "{found:#?}");
    let contradictory: Vec<&Resource> =
        found.uses.iter().filter(|one| one.is_contradictory()).map(|one| &one.resource).collect();
    assert!(matches!(contradictory[..], [Resource::Link { .. }]), "{contradictory:?}");
}

/// `--host local` lost what the client alone showed: "client CPU 95%" became "not seen".
#[test]
fn a_shared_machine_that_is_saturated_is_the_bottleneck() {
    let truth = Truth { driver: 150e-6, server: 600e-6, ..base(16) };
    let mut both = study(truth, true);
    on_one_machine(&mut both);
    let found = one(&both);
    assert_eq!(named(&found), "processor", "{found:#?}");
    let machine = found.binding().unwrap();
    assert_eq!((machine.role, machine.host.as_str()), (Role::Both, "local"));
    assert!(machine.utilisation > 0.95 && found.unseen.is_empty(), "{found:#?}");
    // One that is not saturated tells nothing of whose work it does.
    let mut idle = study(Truth { driver: 50e-6, server: 100e-6, round_trip: 3e-3, ..truth }, true);
    on_one_machine(&mut idle);
    assert_eq!(one(&idle).unseen, [Unseen::SharedProcessor]);
}

/// "Not monitored: link rate" was said of a server beside its client, between which there is no link.
#[test]
fn a_host_that_is_both_ends_on_loopback_has_no_link() {
    let mut both =
        study(Truth { depth: 2, driver: 20e-6, server: 50e-6, ..Truth::default() }, true);
    on_one_machine(&mut both);
    both.hosts[0].link_rates.clear();
    let unseen = |study: &Study| one(study).unseen;
    assert!(unseen(&both).contains(&Unseen::Link), "{:?}", unseen(&both));
    both.plan.subjects = vec![Subject::from("nfs://127.0.0.1/a".parse::<Target>().unwrap())];
    assert!(!unseen(&both).contains(&Unseen::Link), "{:?}", unseen(&both));
    // An address of loopback may lead to another machine, as over a tunnel.
    both.plan.hosts.clear();
    both.flags.clear();
    assert!(unseen(&both).contains(&Unseen::Link), "{:?}", unseen(&both));
}

fn set(lab: &mut LabFacts, all: &[(&str, &str)]) {
    lab.settings.extend(all.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
}

/// A router between two hosts of a lab that may have a fifth of a core: the machine's own kernel knows nothing of
/// that, and "waiting" was all that was said.
#[test]
fn the_quota_of_a_labs_machine_is_known_though_its_kernel_is_not_told() {
    let truth = Truth { server: 300e-6, hidden: 1_200e-6, ..base(4) };
    let of = |watched: bool| {
        let mut study = study(truth, watched);
        study.plan.clients = vec!["lab://bed/lan".parse().unwrap()];
        study.plan.subjects = vec![Subject::from("nfs://wan/srv".parse::<Target>().unwrap())];
        let mut lab = LabFacts { name: "bed".into(), ..LabFacts::default() };
        set(
            &mut lab,
            &[
                ("host router cpu", "20%"),
                ("host printer cpu", "5%"),
                ("link outer between", "wan, router"),
                ("link inner between", "router, lan"),
                ("link office between", "printer, lan"),
            ],
        );
        let rename = |name: &mut String| {
            *name = if name == "local" { "lab://bed/lan" } else { "lab://bed/router" }.to_owned();
        };
        for host in &mut study.hosts {
            rename(&mut host.name);
            host.lab = Some(lab.clone());
        }
        for server in &mut study.plan.hosts {
            server.host = "lab://bed/router".parse().unwrap();
        }
        study.trials.iter_mut().flat_map(|t| &mut t.loads).for_each(|load| rename(&mut load.host));
        study
    };
    let unwatched = one(&of(false));
    assert_eq!(named(&unwatched), "waiting", "{unwatched:#?}");
    let [held] = &unwatched.held[..] else { panic!("{:?}", unwatched.held) };
    assert_eq!((held.host.as_str(), held.cores), ("lab://bed/router", 0.2));

    // It counts a fifth of the time as busy, and nothing while it is stopped.
    let mut watched = of(true);
    for trial in &mut watched.trials {
        let router = trial.loads.iter_mut().find(|load| load.host == "lab://bed/router").unwrap();
        router.cores = vec![CpuTimes { softirq: 0.38, idle: 0.04, ..CpuTimes::default() }];
        count_cores(router);
    }
    let found = one(&watched);
    assert_eq!(named(&found), "quota", "{found:#?}");
    assert!(found.held.is_empty());
    let Resource::Quota { cores, throttled } = found.binding().unwrap().resource else { panic!() };
    assert!(cores == 0.2 && (0.78..0.80).contains(&throttled), "{throttled}");

    // Counted outside it is known exactly, whatever its own kernel counts.
    for trial in &mut watched.trials {
        let router = trial.loads.iter_mut().find(|load| load.host == "lab://bed/router").unwrap();
        router.cores = vec![CpuTimes { softirq: 0.1, idle: 1.9, ..CpuTimes::default() }];
        count_cores(router);
        router.control_group = Some(ControlGroupLoad {
            cpu_seconds: 0.39,
            quota_cores: Some(0.2),
            throttled_share: Some(0.95),
        });
    }
    assert_eq!(named(&one(&watched)), "quota");
}

/// A server whose core waited for its disk for 70% of the time, of which the kernel counted 52% as busy.
#[test]
fn a_disk_that_a_core_waited_for_was_busy() {
    let truth = Truth { disk: 400e-6, server: 150e-6, at_a_time: 1.0, ..base(1) };
    let mut study = study(truth, true);
    let of_disk = truth.carries(1) * 2.0 * truth.disk;
    for trial in &mut study.trials {
        let server = trial.loads.iter_mut().find(|load| load.host == SERVER).unwrap();
        server.disks[0].busy_seconds *= 0.6;
        server.cores[0].idle -= of_disk;
        server.cores[0].iowait = of_disk;
        count_cores(server);
    }
    let found = one(&study);
    assert_eq!(named(&found), "unsaturated disk", "{found:#?}");
    assert!((most(&found).demand_seconds / 400e-6 - 1.0).abs() < 0.01, "{found:#?}");
    // Where no disk is known, what it waited for is said.
    for load in study.trials.iter_mut().flat_map(|trial| &mut trial.loads) {
        load.disks.clear();
    }
    let found = one(&study);
    let waits =
        |one: &Condition| matches!(one, Condition::WaitsForIo { share, .. } if *share > 0.25);
    assert!(found.conditions.iter().any(waits), "{found:#?}");
}

/// Whose truth is known, by hand: what is full, alone or together. Once a link at 91% was named beside cores that
/// were busy for 96%.
#[test]
fn what_labs_were_made_short_of_is_named() {
    let quota = |cores: f64| {
        move |study: &mut Study| {
            for trial in &mut study.trials {
                let operations = trial.result.moved().operations as f64;
                let server = trial.loads.iter_mut().find(|load| load.host == SERVER).unwrap();
                let used = (operations * 200e-6).min(cores * server.seconds);
                server.control_group = Some(ControlGroupLoad {
                    cpu_seconds: used,
                    quota_cores: Some(cores),
                    throttled_share: Some((used / cores / server.seconds).min(1.0)),
                });
            }
        }
    };
    let nothing = |_: &mut Study| {};
    let few_threads = |study: &mut Study| {
        for load in study.trials.iter_mut().flat_map(|trial| &mut trial.loads) {
            load.nfsd = Some(NfsdLoad { threads: Some(2), ..NfsdLoad::default() });
            load.disks.iter_mut().for_each(|d| d.in_flight_seconds = 2.0 * d.busy_seconds);
        }
    };
    type Change = Box<dyn Fn(&mut Study)>;
    let fifth = Truth { server: 1_000e-6, one_core: true, ..base(16) };
    let cases: [(&str, Truth, Change, &str); 12] = [
        ("100 Mbit/s", Truth { link: 330e-6, ..base(4) }, Box::new(nothing), "link"),
        ("10 ms", Truth { round_trip: 10e-3, ..base(4) }, Box::new(nothing), "round trip"),
        ("20% of a core", fifth, Box::new(quota(0.2)), "quota"),
        ("5 ms a read", Truth { disk: 5e-3, ..base(4) }, Box::new(nothing), "disk"),
        (
            "1 Gbit/s and a machine that is full",
            Truth { driver: 150e-6, server: 480e-6, link: 310e-6, ..base(16) },
            Box::new(in_namespaces),
            "link or processor",
        ),
        (
            "a machine that is full",
            Truth { driver: 150e-6, server: 480e-6, link: 60e-6, ..base(16) },
            Box::new(in_namespaces),
            "processor",
        ),
        (
            "1 Gbit/s on a machine that has plenty",
            Truth { driver: 20e-6, server: 80e-6, link: 310e-6, ..base(16) },
            Box::new(in_namespaces),
            "link",
        ),
        (
            "20% of a core through 2 ms",
            Truth { round_trip: 2e-3, ..fifth },
            Box::new(quota(0.2)),
            "quota",
        ),
        (
            "5 ms a read through 10 ms",
            Truth { disk: 5e-3, round_trip: 10e-3, ..base(16) },
            Box::new(nothing),
            "disk",
        ),
        (
            "a disk as slow as the link",
            Truth { disk: 330e-6, link: 330e-6, ..base(16) },
            Box::new(nothing),
            "disk or link",
        ),
        (
            "two threads for a disk",
            Truth { disk: 5e-3, at_a_time: 2.0, ..base(8) },
            Box::new(few_threads),
            "disk or threads",
        ),
        (
            "a busy loop beside 100 Mbit/s",
            Truth { link: 330e-6, idle: 1.0, ..base(4) },
            Box::new(nothing),
            "link",
        ),
    ];
    for (name, truth, change, expected) in cases {
        let mut study = study(truth, true);
        change(&mut study);
        let found = one(&study);
        assert_eq!(named(&found), expected, "{name}: {found:#?}");
        assert!(found.uses.iter().all(|one| !one.is_contradictory()), "{name}: {found:#?}");
    }
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

/// A number in 0..1 that looks random and depends on its arguments alone.
fn uniform(seed: u64, of: u64) -> f64 {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ of.wrapping_mul(0xd1b5_4a32_d192_ed03);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Any demands over two orders of magnitude, at any depth.
fn any(seed: u64) -> Truth {
    let demand = |of| 10e-6 * 100_f64.powf(uniform(seed, of));
    Truth {
        depth: [1, 2, 4, 8, 16, 32][(uniform(seed, 9) * 6.0) as usize],
        driver: demand(0),
        server: demand(1),
        one_core: uniform(seed, 7) < 0.5,
        disk: demand(2),
        link: demand(3),
        round_trip: demand(4),
        hidden: if uniform(seed, 8) < 0.3 { demand(5) } else { 0.0 },
        at_a_time: 1.0,
        idle: 0.3 * uniform(seed, 6),
        seconds: 2.0,
    }
}

/// What doubling each truly brings, the hidden one last.
fn gains(truth: Truth) -> Vec<(&'static str, f64)> {
    let base = truth.carries(truth.depth);
    let half = |change: fn(&mut Truth)| {
        let mut doubled = truth;
        change(&mut doubled);
        doubled.carries(truth.depth) / base - 1.0
    };
    vec![
        ("driver", half(|t| t.driver /= 2.0)),
        (if truth.one_core { "core" } else { "processor" }, half(|t| t.server /= 2.0)),
        ("disk", half(|t| t.disk /= 2.0)),
        ("link", half(|t| t.link /= 2.0)),
        ("round trip", half(|t| t.round_trip /= 2.0)),
        ("waiting", half(|t| t.hidden /= 2.0)),
    ]
}

/// Of two thousand servers of any kind, with figures that are off by some percent, hardly any is called
/// limited by what is not its limit, and most that have one have it named.
#[test]
fn limits_of_any_server_are_named_or_left_open() {
    let (mut clear, mut right, mut wrong, mut named_any) = (0_u64, 0_u64, 0_u64, 0_u64);
    let setting = |name: &str, or: u64| {
        std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(or)
    };
    let (count, seeds) = (setting("PLIMSOLL_STUDIES", 2000), setting("PLIMSOLL_SEED", 0));
    for seed in (0..count).map(|number| seeds.wrapping_mul(1 << 32).wrapping_add(number)) {
        let truth = any(seed);
        let mut measured = study(truth, true);
        for (number, trial) in measured.trials.iter_mut().enumerate() {
            let off = |of: u64| 1.0 + 0.06 * (uniform(seed, 100 + 10 * number as u64 + of) - 0.5);
            let rate = trial.result.parts[0].quantities.get_mut(&Metric::all(Measure::IOPS));
            *rate.unwrap() *= off(0);
            for load in &mut trial.loads {
                load.disks.iter_mut().for_each(|disk| disk.busy_seconds *= off(1));
                load.cpu.system *= off(2);
            }
        }
        let mut truly = gains(truth);
        truly.sort_by(|a, b| b.1.total_cmp(&a.1));
        let [(first, most), (_, next), ..] = truly[..] else { unreachable!() };
        let said = named(&one(&measured));
        let said = said.trim_start_matches(UNSATURATED);
        let stands_out = most > 0.1 && most > 2.0 * next;
        clear += u64::from(stands_out);
        right += u64::from(stands_out && said == first);
        let single = ["driver", "processor", "core", "disk", "link", "round trip"].contains(&said);
        named_any += u64::from(single);
        // Wrong is what something else would have helped half as much again.
        let of_said = truly.iter().find(|(name, _)| *name == said).map_or(0.0, |(_, gain)| *gain);
        wrong += u64::from(single && of_said * 1.5 < most);
    }
    println!(
        "{count} servers: of {clear} with a clear limit {right} named; of {named_any} named {wrong} wrong"
    );
    assert!(4 * clear > count, "{clear}");
    assert!(10 * right > 9 * clear, "{right} of {clear}");
    assert!(50 * wrong < named_any, "{wrong} of {named_any}");
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
