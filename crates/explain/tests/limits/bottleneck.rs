//! Which resource is named as the bottleneck, and when none is.

use crate::support::servers::{SERVER, Truth, in_namespaces, study};
use crate::{base, most, named, one};
use plimsoll_explain::Unseen;
use plimsoll_model::*;

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

/// A server that was not watched: whatever it is, it is not named.
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
    let bottleneck = |link, hidden, depth| {
        let truth = Truth { link, hidden, round_trip: 0.0, ..base(depth) };
        named(&one(&study(truth, false)))
    };
    assert_eq!(bottleneck(350e-6, 400e-6, 16), "link or waiting");
    assert_eq!(bottleneck(400e-6, 20e-6, 16), "link", "it is full");
    // One operation is at one place at a time: what is not seen has what the link leaves.
    assert_eq!(bottleneck(600e-6, 20e-6, 1), "link");
    // What is not even nearly saturated is not named.
    assert_eq!(bottleneck(400e-6, 50e-6, 1), "waiting");
    assert_eq!(bottleneck(300e-6, 400e-6, 16), "waiting");
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
    let bottleneck = |link| named(&one(&study(Truth { link, hidden: 400e-6, ..base(16) }, true)));
    assert_eq!(bottleneck(350e-6), "link or waiting");
    assert_eq!(bottleneck(300e-6), "waiting");
}

/// A disk that is a fifth faster than a link: twice as fast, the link would be in the way at once.
#[test]
fn two_that_are_both_full_are_named_together() {
    let found = one(&study(Truth { disk: 400e-6, link: 370e-6, ..base(64) }, true));
    assert_eq!(named(&found), "disk or link", "{found:#?}");
    let found = one(&study(Truth { disk: 400e-6, link: 300e-6, ..base(64) }, true));
    assert_eq!(named(&found), "disk", "{found:#?}");
}

/// Whose truth is known, by hand: what is full, alone or together. Once a link at 91% was named beside cores that
/// were busy for 96%.
#[test]
fn what_labs_were_made_short_of_is_named() {
    let quota = |cores: f64| {
        move |study: &mut Study| {
            for trial in &mut study.trials {
                let operations = trial.result.moved().operations as f64;
                let server = trial.loads.iter_mut().find(|load| load.host == *SERVER).unwrap();
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
