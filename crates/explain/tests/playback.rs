//! Films on a server whose disk is the bottleneck: whether it rotates, and what other requests bring.

mod support;

use plimsoll_explain::playback;
use plimsoll_model::units::{Bytes, GIB, KIB, MIB};
use plimsoll_model::*;
use support::servers::{SERVER, Truth, add, study};

const DISK: Truth = Truth {
    depth: 4,
    driver: 10e-6,
    server: 20e-6,
    one_core: false,
    disk: 5e-3,
    at_a_time: 1.0,
    link: 10e-6,
    round_trip: 200e-6,
    hidden: 0.0,
    idle: 0.0,
    seconds: 0.0,
};

fn films(request: u64) -> Job {
    let player = Player { request: Bytes(request), ..Player::kodi() };
    let (film, pace, size) = (Film::constant("x", 1e6), Pace::Uncapped, Bytes(GIB));
    PlaybackJob { film, player, pace, size, seek_every_seconds: None }.into()
}

/// Films on that server; with this headroom.
fn measured(disk: DiskFacts, headroom: f64) -> Study {
    let mut study = study(DISK, true);
    study.plan.workloads[0].parts[0].job = films(128 * KIB);
    for trial in &mut study.trials {
        let own = &mut trial.result.parts[0].quantities;
        own.insert(Metric::all(PlaybackJob::HEADROOM), headroom);
    }
    let server = study.hosts.iter_mut().find(|host| host.name == *SERVER).unwrap();
    server.disks.insert("sda".into(), disk);
    study
}

#[test]
fn a_rotating_disk_is_told_from_others() {
    let disk = |rotational| DiskFacts { rotational, queue_depth: Some(32) };
    for rotational in [true, false] {
        let [films] = &playback(&measured(disk(rotational), 2.0))[..] else { panic!("one target") };
        assert_eq!(films.rotates, rotational);
        assert!(films.requests.is_empty());
    }
}

#[test]
fn other_requests_are_no_other_number_of_films() {
    let mut study = measured(DiskFacts { rotational: true, queue_depth: None }, 0.5);
    let mut large = study.plan.workloads[0].clone();
    large.parts[0].job = films(4 * MIB);
    study.plan.workloads.push(large);
    for block in 0..3 {
        let (mut part, loads) = DISK.run(DISK.depth, true);
        part.quantities.insert(Metric::all(PlaybackJob::HEADROOM), 3.0);
        add(&mut study, block, 1, vec![part], loads, Vec::new());
    }
    let [films] = &playback(&study)[..] else { panic!("one target") };
    assert_eq!((films.alone.uncapped.len(), films.alone.most()), (1, Some(0)));
    let sizes: Vec<u64> = films.requests.keys().copied().collect();
    assert_eq!(sizes, [4 * MIB]);
    assert!((films.requests[&(4 * MIB)].headroom.estimate - 3.0).abs() < 1e-9);
}
