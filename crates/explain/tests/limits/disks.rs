//! Disks, and the threads of a server that wait for them.

use crate::support::servers::{SERVER, Truth, count_cores, study, with_ladder};
use crate::{base, most, name, named, one};
use plimsoll_explain::{Condition, Resource};
use plimsoll_model::*;

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

/// A bound of 104/s was named for a disk that did 308/s with more in flight, where all threads were taken.
#[test]
fn operations_overlap_also_where_threads_ask_for_less_than_the_disk_could_do() {
    const THREADS: u16 = 8;
    let at = |depth: u16| {
        let at_a_time = f64::from(depth.min(THREADS));
        Truth { disk: 20e-3 / at_a_time, at_a_time, round_trip: 15e-3, ..base(depth) }
    };
    let mut study = with_ladder(study(at(4), true), true, [1, 4, 16], at);
    let count_threads = |load: &mut HostLoad| {
        if load.host == *SERVER {
            load.nfsd = Some(NfsdLoad { threads: Some(THREADS.into()), ..NfsdLoad::default() });
        }
    };
    for trial in &mut study.trials {
        trial.loads.iter_mut().for_each(count_threads);
        let points = trial.points.iter_mut().flat_map(|point| &mut point.loads);
        points.for_each(count_threads);
    }
    let server = study.hosts.iter_mut().find(|host| host.name == *SERVER).unwrap();
    server.disks.insert("sda".into(), DiskFacts { rotational: false, queue_depth: None });
    let found = one(&study);
    let ladder = found.ladder.as_ref().unwrap();
    let is_disk = |one: &&plimsoll_explain::Use| name(&one.resource) == "disk";
    let last = ladder.rungs.last().unwrap().uses.iter().find(is_disk).unwrap();
    assert!(last.servers > 8.0, "threads keep the disk idle: {last:?}");
    let disk = found.uses.iter().find(is_disk).unwrap();
    let most = ladder.rungs.iter().map(|rung| rung.per_second).fold(0.0, f64::max);
    assert!(disk.alone_per_second.unwrap() >= 0.99 * most, "{most}: {disk:?}");
    assert_eq!(named(&found), "unsaturated disk", "{found:#?}");
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
        for load in servers.filter(|load| load.host == *SERVER) {
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
        for load in servers.filter(|load| load.host == *SERVER) {
            load.nfsd = Some(NfsdLoad { threads: Some(threads), ..NfsdLoad::default() });
            (load.idle, load.idle_baseline) = (None, 0.0);
            load.disks[0].in_flight_seconds = load.disks[0].busy_seconds;
            load.disks[0].name = name.into();
        }
        let server = study.hosts.iter_mut().find(|host| host.name == *SERVER).unwrap();
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

/// A server whose core waited for its disk for 70% of the time, of which the kernel counted 52% as busy.
#[test]
fn a_disk_that_a_core_waited_for_was_busy() {
    let truth = Truth { disk: 400e-6, server: 150e-6, at_a_time: 1.0, ..base(1) };
    let mut study = study(truth, true);
    let of_disk = truth.carries(1) * 2.0 * truth.disk;
    for trial in &mut study.trials {
        let server = trial.loads.iter_mut().find(|load| load.host == *SERVER).unwrap();
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
