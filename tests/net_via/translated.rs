//! Frames through two routers, each of which translates addresses.

use super::support::pair::lab_named;
use super::support::unwrapped;
use super::{ROUTER, address, alone, net, rate, study};
use plimsoll_model::SubjectFacts;

/// The `wan` is behind another router than the one that is measured.
const TWICE: &str = r#"
[host.wan]
kind = "netns"
gateway = "upstream"
[host.upstream]
kind = "netns"
forward = true
[host.router]
kind = "netns"
forward = true
gateway = "upstream"
[host.lan]
kind = "netns"
gateway = "router"
[link.outer]
between = ["wan", "upstream"]
[link.middle]
between = ["upstream", "router"]
[link.inner]
between = ["router", "lan"]
"#;

/// A opens the flows from the inside. B sees the address of the outer router, which the user names.
#[test]
fn frames_come_back_through_two_routers_that_translate() {
    let Some(beds) = lab_named("via", TWICE) else { return };
    let _alone = alone();
    for (host, link) in [("router", "middle"), ("upstream", "outer")] {
        let chain = format!(
            "chain translate {{ type nat hook postrouting priority srcnat; oifname \"{link}\" masquerade; }}"
        );
        beds.on(&format!("via/{host}"), &format!("nft 'table ip home {{ {chain}; }}'"));
    }
    beds.on("via/router", "tc qdisc replace dev inner root tbf rate 8mbit burst 6000 latency 10ms");
    let seen = format!("--address-a={}", address(&beds, "upstream", "outer"));
    let words = [ROUTER, &seen, "--quick", "--frames=512", "--direction=in", "--json=-"];
    let whole = study(&net(&beds, &words));
    let SubjectFacts::Path(path) = &whole.subjects[0] else { panic!("{whole:?}") };
    let router = path.router.as_ref().expect("facts");
    let names: Vec<&str> = router.interfaces.iter().filter_map(|nic| nic.name.as_deref()).collect();
    assert_eq!(names, ["inner", "middle"], "not that to the address of the outer router");
    let [trial] = &whole.trials[..] else { panic!("{whole:?}") };
    assert!(rate(trial).is_none_or(|rate| rate > 0.0), "{trial:?}");
    let shown = unwrapped(&beds.program.run(&["show"]).expect(0).out);
    assert!(!shown.contains("do not go through R"), "{shown}");
    // Each flow is a connection of the router.
    let load = trial.points[0].loads.iter().find(|load| load.host == *"lab://via/router");
    let table = load.and_then(|load| load.conntrack).expect("connections");
    assert!(table.entries >= 64, "{table:?}");
}
