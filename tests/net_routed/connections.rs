//! New connections a second through a router.

use super::{ROUTER, lab, net, study};
use plimsoll_model::{Measure, Metric, Outcome};

/// New connections a second that the rules of the router let pass, and as many at once.
const LET_THROUGH: f64 = 50.0;
const AT_ONCE: f64 = 5.0;

/// The router knows each of the connections, and refuses none.
#[test]
fn new_connections_through_a_router_are_counted() {
    let Some(beds) = lab() else { return };
    // Tracked, and behind address translation.
    let rules = "table inet home { chain translate { type nat hook postrouting priority srcnat;
        oifname \"outer\" masquerade; }; }";
    beds.on("via/router", &format!("echo '{rules}' | nft -f -"));
    let ran = net(&beds, &[ROUTER, "--connections=2,8", "--quick", "--time=1s", "--json=-"]);
    let whole = study(&ran.expect(0));
    assert_eq!(whole.trials.len(), 2, "no frames are measured: {whole:?}");
    for trial in &whole.trials {
        assert_eq!(trial.result.outcome, Outcome::Complete);
        let value = |measure| trial.result.value(0, Metric::all(measure)).expect("a figure");
        assert!(value(Measure::CONNECTIONS) > 0.0);
        assert_eq!(value(Measure::UNANSWERED), 0.0);
        let opened = value(Measure::CONNECTIONS) * 0.8;
        let load = trial.loads.iter().find(|load| load.host == *"lab://via/router").unwrap();
        // Each of them is known for 10 s after its reset, unless its port is used again: the kernel has 14,000 of them for
        // connections to one address. And it takes at least five packets.
        let table = load.conntrack.unwrap();
        assert!(table.entries as f64 >= 0.5 * opened.min(14_000.0), "{table:?} of {opened}");
        let seen = load.interfaces.iter().map(|one| one.received_packets).max().unwrap();
        assert!(seen as f64 >= 2.0 * opened, "{seen} of {opened}");
    }
    let shown = beds.program.run(&["show"]).expect(0).out;
    assert!(shown.lines().count() <= 24, "{shown}");
    for words in ["2 at a time", "8 at a time", "opened", "R: lab://via/router"] {
        assert!(shown.contains(words), "{words} in\n{shown}");
    }
    beds.program.run(&["show", "--details"]).expect(0);
}

/// What the router's rules drop was not opened, and is no connection.
/// Frames that it drops are sent again after one second and after three: in a trial of two seconds once none arrived.
#[test]
fn connections_that_a_router_drops_are_not_opened() {
    let Some(beds) = lab() else { return };
    let rules = format!(
        "table inet home {{ chain forward {{ type filter hook forward priority filter;
        tcp flags syn / syn,ack limit rate {LET_THROUGH}/second burst {AT_ONCE} packets accept
        tcp flags syn / syn,ack drop; }}; }}"
    );
    beds.on("via/router", &format!("echo '{rules}' | nft -f -"));
    let ran = net(&beds, &[ROUTER, "--connections=64", "--quick", "--time=4s", "--json=-"]);
    let whole = study(&ran.expect(0));
    let [trial] = &whole.trials[..] else { panic!("{whole:?}") };
    assert_eq!(trial.result.outcome, Outcome::Complete);
    let value = |measure| trial.result.value(0, Metric::all(measure)).expect("a figure");
    let rate = value(Measure::CONNECTIONS);
    // The first part of the trial is not counted.
    assert!(rate > 0.0 && rate <= LET_THROUGH + AT_ONCE / 3.2 + 2.0, "{rate}");
    let failed = value(Measure::UNANSWERED);
    assert!(failed > 0.0 && failed < 1.0, "{failed}");
    // More at a time would open no more.
    let shown = beds.program.run(&["show"]).expect(0).out;
    assert!(!shown.contains("round trips"), "{shown}");
}
