//! A WireGuard tunnel in front of a router with a kernel of its own, and one through it.

use super::super::support::router;
use plimsoll_model::{InterfaceLoad, Trial};

const ROUTER: &str = "lab://tunnel/router";
/// Bytes of the longest frame that fits into the tunnel, its check sequence included; and what a tunnel adds: headers of
/// IP, UDP and WireGuard.
const FRAME: f64 = 1438.0;
const TUNNEL: f64 = 20.0 + 8.0 + 32.0;

#[test]
#[ignore = "machines take minutes: make check-machines"]
fn the_router_decrypts_at_one_level_and_forwards_encrypted_packets_at_the_other() {
    let Some(beds) = router::machines("tunnel", None) else { return };
    let set = format!("--set={ROUTER}/wireguard=off,to-router,through-router");
    let via = format!("--via={ROUTER}");
    let words = ["net", "lab://tunnel/lan", "lab://tunnel/wan", &via, &set, "--frames=1518"];
    let more = ["--direction=out", "--repeats=1", "--max-time=9m", "--json=-"];
    let ran = beds.program.run(&[&words[..], &more].concat());
    // Where machines are emulated, a rate may not be found; what went through the router is counted all the same.
    assert!(matches!(ran.code, Some(0 | 1)), "{ran:?}");
    for host in ["lan", "router", "wan"] {
        let left = "ip -o link show type wireguard; ip rule show pref 18371";
        assert_eq!(beds.on(&format!("tunnel/{host}"), left).trim(), "", "{host} is as it was");
    }
    let study = plimsoll_record::from_json(&ran.out).unwrap();
    assert_eq!(study.trials.len(), 3, "{ran:?}");
    for trial in &study.trials {
        let [received, sent] = sizes(trial);
        let is_tunnelled = |bytes: f64| bytes > FRAME - 4.0 + TUNNEL / 2.0;
        let found = [received, sent].map(is_tunnelled);
        let expected = [[false, false], [true, false], [true, true]];
        assert_eq!(
            found,
            expected[usize::from(trial.cell.setting)],
            "{received}, {sent}: {trial:?}"
        );
    }
    let shown = beds.program.run(&["show"]).expect(0).out;
    eprintln!("{shown}");
    assert!(shown.contains("to-router"), "{shown}");
    assert!(!shown.contains("not at R"), "{shown}");
    beds.lab(&["down", "tunnel"]).expect(0);
}

/// Mean bytes of the longest packets that the router received from A and sent to B: at the rates of the search, the
/// frames.
fn sizes(trial: &Trial) -> [f64; 2] {
    let loads = || trial.points.iter().flat_map(|point| &point.loads).chain(&trial.loads);
    let own = || loads().filter(|load| load.host == *ROUTER).flat_map(|load| &load.interfaces);
    let longest = |name: &str, mean: fn(&InterfaceLoad) -> f64| {
        own().filter(|one| one.name == name).map(mean).fold(0.0, f64::max)
    };
    [
        longest("inner", |one| one.received_bytes as f64 / one.received_packets.max(1) as f64),
        longest("outer", |one| one.sent_bytes as f64 / one.sent_packets.max(1) as f64),
    ]
}
