//! A PPPoE session in front of a router with a kernel of its own.

use super::super::support::beds::Beds;
use super::super::support::router;
use plimsoll_model::Trial;
use std::net::Ipv4Addr;

const ROUTER: &str = "lab://session/router";
/// Bytes of the longest frame that fits into the session, without its check sequence; and what a session adds: headers of
/// PPPoE and PPP.
const FRAME: f64 = 1506.0;
const SESSION: f64 = 6.0 + 2.0;

/// Interfaces, addresses, rules and routes of a host, and what runs there for a session.
const STATE: &str = r#"
    ip -o -4 addr show; ip rule show; ip route show; ip route show table 1013 2>/dev/null
    for process in /proc/[0-9]*; do
        { read -r name <"$process/comm"; } 2>/dev/null || continue
        [ "$name" != pppd ] || echo pppd
    done
    ls /var/lib/plimsoll/*.json /root/.plimsoll/*.json 2>/dev/null
    true"#;

#[test]
#[ignore = "machines take minutes: make check-machines"]
fn the_router_receives_longer_frames_than_it_sends_and_nothing_is_left() {
    let Some(beds) = router::machines("session", Some("debian-generic")) else { return };
    what_is_missing_is_named(&beds);
    let states = || ["lan", "router", "wan"].map(|host| state(&beds, host));
    let found = states();
    let set = format!("--set={ROUTER}/pppoe=off,on");
    let via = format!("--via={ROUTER}");
    let words = ["net", "lab://session/lan", "lab://session/wan", &via, &set, "--frames=128,1518"];
    let more = ["--direction=out", "--repeats=1", "--max-time=15m", "--json=-"];
    let ran = beds.program.run(&[&words[..], &more].concat());
    // Where machines are emulated, a rate may not be found; what went through the router is counted all the same.
    assert!(matches!(ran.code, Some(0 | 1)), "{ran:?}");
    assert_eq!(states(), found, "the hosts are as they were");
    let study = plimsoll_record::from_json(&ran.out).unwrap();
    assert_eq!(study.trials.len(), 4, "{ran:?}");
    for trial in &study.trials {
        let [received, sent] = sizes(trial);
        // Other packets are few, and go both ways.
        let expected = [0.0, SESSION][usize::from(trial.cell.setting)];
        assert!((received - sent - expected).abs() < 2.0, "{received}, {sent}: {trial:?}");
        assert!(sent < FRAME + 0.5, "no frame is longer than the session takes: {sent}: {trial:?}");
    }
    // The frames of each workload have the same size at both levels.
    for workload in [0, 1] {
        let of_workload = study.trials.iter().filter(|trial| trial.cell.workload == workload);
        let sent: Vec<f64> = of_workload.map(|trial| sizes(trial)[1]).collect();
        assert!(sent.len() == 2 && (sent[0] - sent[1]).abs() < 0.02 * sent[0], "{sent:?}");
    }
    let shown = beds.program.run(&["show"]).expect(0).out;
    eprintln!("{shown}");
    assert!(shown.contains("pppoe"), "{shown}");
    assert!(!shown.contains("not at R"), "{shown}");
    beds.lab(&["down", "session"]).expect(0);
}

/// What a setting may change of a host.
#[track_caller]
fn state(beds: &Beds, host: &str) -> String {
    beds.on(&format!("session/{host}"), STATE)
}

/// Debian's cloud kernel has no PPP, and its image no pppd.
fn what_is_missing_is_named(beds: &Beds) {
    let found = state(beds, "wan");
    let [a, b] = [Ipv4Addr::new(10, 77, 0, 1), Ipv4Addr::new(10, 77, 1, 1)];
    for (_, knob) in plimsoll_settings::tunnel_knobs("pppoe", a, b) {
        let failure = knob.read(&*beds.reach("session/wan")).unwrap_err();
        assert!(failure.happened.contains("pppd is missing"), "{failure}");
        assert!(failure.next.contains("apt install ppp"), "{failure}");
    }
    assert_eq!(state(beds, "wan"), found);
}

/// Mean bytes of the packets that the router received from A and sent to B, at the rate with the most packets: these are
/// the frames.
fn sizes(trial: &Trial) -> [f64; 2] {
    let loads = trial.points.iter().flat_map(|point| &point.loads).chain(&trial.loads);
    let own = loads.filter(|load| load.host == *ROUTER).filter_map(|load| {
        let named = |name: &str| load.interfaces.iter().find(|own| own.name == name);
        Some((named("inner")?, named("outer")?))
    });
    let (inner, outer) = own
        .max_by_key(|(inner, _)| inner.received_packets)
        .unwrap_or_else(|| panic!("nothing went through the router: {trial:?}"));
    [
        inner.received_bytes as f64 / inner.received_packets.max(1) as f64,
        outer.sent_bytes as f64 / outer.sent_packets.max(1) as f64,
    ]
}
