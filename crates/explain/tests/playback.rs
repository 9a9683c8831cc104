//! Films on a server whose disk is the bottleneck: whether it rotates, and what other requests bring.

mod support;

use plimsoll_explain::playback;
use plimsoll_model::units::{Bytes, GIB, KIB, MIB};
use plimsoll_model::*;
use std::num::NonZeroU16;
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

/// A server that takes fewer connections than there are streams fails their trials.
#[test]
fn numbers_of_which_every_trial_failed_are_known() {
    let mut study = measured(DiskFacts { rotational: false, queue_depth: Some(32) }, 3.0);
    let mut four = study.plan.workloads[0].clone();
    four.parts[0].workers = NonZeroU16::new(4).unwrap();
    study.plan.workloads.push(four);
    for block in 0..3 {
        let (part, loads) = DISK.run(DISK.depth, true);
        add(&mut study, block, 1, vec![part], loads, Vec::new());
        let failure = Failure::new(Cause::Trial, "connect").on("nas").happened("closed");
        let phase = "lay out".to_owned();
        study.trials.last_mut().unwrap().result.outcome = Outcome::Failed { phase, failure };
    }
    let [films] = &playback(&study)[..] else { panic!("one target") };
    assert_eq!(films.alone.failed, [4]);
    assert_eq!(films.alone.uncapped.len(), 1);
}

#[test]
fn where_no_film_plays_other_work_is_compared_beside_one() {
    let mut study = measured(DiskFacts { rotational: false, queue_depth: Some(32) }, 0.5);
    let (length, one) = (study.plan.workloads[0].length, NonZeroU16::MIN);
    let film = |pace| {
        let Job::Playback(job) = films(128 * KIB) else { panic!("films") };
        Part::closed(job.with_pace(pace).into(), one, one)
    };
    let writes = PatternJob::named("random-write", Bytes(GIB)).unwrap();
    let other = Part::closed(writes.into(), one, one);
    let during = |pace| vec![film(pace), other.clone()];
    let parts = [during(Pace::Uncapped), during(Pace::Played), vec![other.clone()]];
    study.plan.workloads.extend(parts.map(|parts| Workload { parts, steps: None, length }));
    let result = |values: &[(Measure, f64)]| PartResult {
        quantities: values.iter().map(|(measure, value)| (Metric::all(*measure), *value)).collect(),
        ..PartResult::default()
    };
    let work = |rate| result(&[(Measure::THROUGHPUT, rate)]);
    let uncapped = result(&[(PlaybackJob::HEADROOM, 0.4)]);
    let played = result(&[
        (PlaybackJob::STALLS, 3.0),
        (PlaybackJob::LONGEST_STALL, 1.0),
        (PlaybackJob::STALLED, 0.5),
    ]);
    for block in 0..3 {
        add(&mut study, block, 1, vec![uncapped.clone(), work(60.0)], Vec::new(), Vec::new());
        add(&mut study, block, 2, vec![played.clone(), work(50.0)], Vec::new(), Vec::new());
        add(&mut study, block, 3, vec![work(100.0)], Vec::new(), Vec::new());
    }
    let [films] = &playback(&study)[..] else { panic!("one target") };
    let during = films.during.as_ref().expect("films during other work");
    assert_eq!((during.work.as_str(), during.films.most()), ("random writes", Some(0)));
    let (streams, ratio) = during.work_loss.expect("the work beside a film and alone");
    assert_eq!(streams, 1);
    assert!((ratio.estimate - 0.5).abs() < 1e-9, "{ratio:?}");
    // No trial has the time to a first frame.
    assert_eq!(during.films.played[0].without_picture, 3);
}
