//! `plimsoll net A B --via R` where no rate is searched: what is refused, noted, counted and left behind.

#[path = "../crates/reach/tests/probe_support/mod.rs"]
mod probe_support;
mod support;

#[path = "net_routed/connections.rs"]
mod connections;

use plimsoll_model::{FactorLevel, Outcome, PathPart};
use plimsoll_testkit::require::say_skipped;
use probe_support::processes_with;
use support::pair::study;
use support::via::{ENDS, ROUTER, lab, net, rules};
use support::{Plimsoll, ended, signal, unwrapped, wait_until};

/// What a study notes of its router is what another study of it is compared with.
#[test]
fn what_changed_of_a_router_between_two_studies_is_named() {
    let Some(beds) = lab() else { return };
    let words = [ROUTER, "--parts=qdisc", "--quick", "--time=200ms", "--rate=500", "--json=-"];
    let set = |rate: u32| {
        format!("tc qdisc replace dev outer root tbf rate {rate}mbit burst 12kb latency 10ms")
    };
    beds.on("via/router", &set(80));
    let first = study(&net(&beds, &words));
    beds.on("via/router", &format!("{}; nft -f - <<'END'\n{}\nEND", set(40), rules()));
    let second = study(&net(&beds, &words));
    let [a, b] = [&first.id.0, &second.id.0];
    let compared = unwrapped(&beds.program.run(&["compare", a, b]).expect(0).out);
    for words in [
        "rules of lab://via/router: 0 rules",
        "then 42 rules",
        "queueing discipline of outer of lab://via/router: tbf 80.0 Mbit/s, then tbf 40.0 Mbit/s",
    ] {
        assert!(compared.contains(words), "{words} in {compared}");
    }
}

/// As a network card with several queues has it, of which one is in use here.
#[test]
fn the_discipline_of_each_queue_of_a_router_is_priced_and_put_back() {
    let Some(beds) = lab() else { return };
    // On one core, a kernel may make interfaces with one queue.
    let set = "if tc qdisc replace dev outer root handle 5: mq 2>/dev/null; then
            tc qdisc replace dev outer parent 5:1 tbf rate 1gbit burst 125kb latency 50ms
        else echo one; fi";
    if beds.on("via/router", set).contains("one") {
        say_skipped("the interfaces of this kernel have one queue");
        return;
    }
    let state = || beds.on("via/router", "tc qdisc show dev outer");
    let before = state();
    let words = [ROUTER, "--parts=qdisc", "--quick", "--time=200ms", "--rate=500", "--json=-"];
    let whole = study(&net(&beds, &words));
    assert_eq!(state(), before);
    let priced = &whole.plan.parts.as_ref().expect("parts").priced;
    let parts: Vec<PathPart> = priced.iter().map(|one| one.part).collect();
    assert_eq!(parts, [PathPart::Qdisc]);
    let without = whole.plan.factors[0].levels.last();
    assert_eq!(without, Some(&FactorLevel::Set { value: "mq pfifo".into() }));
}

#[test]
fn a_router_that_does_not_forward_is_named() {
    let Some(beds) = lab() else { return };
    beds.on("via/router", "sysctl -q -w net.ipv4.ip_forward=0");
    let ran = net(&beds, &[ROUTER, "--quick", "--frames=512"]).expect(3);
    for word in ["lab://via/router forwards", "ip_forward", "10.77."] {
        assert!(ran.err.contains(word), "{word} in {}", ran.err);
    }
}

#[test]
fn overload_stays_in_local_networks() {
    let Some(beds) = lab() else { return };
    let words = [ROUTER, "--quick", "--frames=512", "--address=203.0.113.9"];
    let ran = net(&beds, &words);
    assert_ne!(ran.code, Some(0));
    for word in ["203.0.113.9", "--allow-wan", "RFC 6815"] {
        assert!(ran.err.contains(word), "{word} in {}", ran.err);
    }
}

#[test]
fn the_rules_of_a_router_with_a_public_address_stay() {
    let Some(beds) = lab() else { return };
    beds.on("via/router", "ip addr add 203.0.113.9/32 dev lo");
    let listed = || beds.on("via/router", "nft list ruleset");
    let set = format!("nft -f - <<'END'\n{}\nEND", rules());
    beds.on("via/router", &set);
    let before = listed();
    for set in [
        "nft-ruleset=as-found,none",
        "nft-ruleset=as-found,only-nat",
        "nft-ruleset=as-found,only-tracking",
        "conntrack=tracked,untracked",
    ] {
        let set = format!("--set=lab://via/router/{set}");
        let ran = net(&beds, &[ROUTER, "--quick", &set]).expect(5);
        for words in ["203.0.113.9", "--allow-open"] {
            assert!(ran.err.contains(words), "{words} in {}", ran.err);
        }
    }
    // The same in a study that does not send through it.
    let (set, directory) = ("nft-ruleset=none,as-found", tempfile::tempdir().unwrap());
    let of_router = format!("--set=lab://via/router/{set}");
    let words = [
        &["trace", "lab://via/router", "--set", set][..],
        &["check", "--quick", &of_router, directory.path().to_str().unwrap()],
    ];
    for words in words {
        let ran = beds.program.run(words).expect(5);
        assert!(ran.err.contains("--allow-open"), "{}", ran.err);
    }
    // No part that rules make is left.
    let ran = net(&beds, &[ROUTER, "--parts=rules,nat"]).expect(2);
    assert!(ran.err.contains("--allow-open permits it"), "{}", ran.err);
    assert_eq!(listed(), before);
}

#[test]
fn a_file_of_rules_with_a_slip_is_refused_before_anything_is_measured() {
    let Some(beds) = lab() else { return };
    let slip = "table inet slip {\n chain forward {\n  ip saddr 192.0.2.1 dropp\n }\n}\n";
    let set = format!("--set=lab://via/router/nft-ruleset=none,{}", beds.file("slip", slip));
    let ran = net(&beds, &[ROUTER, "--quick", "--frames=512", &set]).expect(2);
    for words in ["slip.toml on lab://via/router", ":3:", "rror:", "Correct the rules"] {
        assert!(ran.err.contains(words), "{words} in {}", ran.err);
    }
    let kept = beds.program.run(&["list"]).expect(0).out;
    assert!(kept.contains("No studies yet"), "nothing was measured: {kept}");
    assert_eq!(beds.on("via/router", "nft list ruleset"), "");
}

#[test]
fn an_interrupted_search_leaves_nothing() {
    let Some(beds) = lab() else { return };
    let place = tempfile::tempdir().unwrap();
    let path = place.path().to_str().unwrap();
    let words = [&["net"], &ENDS[..], &[ROUTER, "--probe-dir", path]].concat();
    let sent = || {
        let bytes = beds.on("via/lan", "cd /sys/class/net/inner/statistics; cat tx_bytes rx_bytes");
        bytes.split_whitespace().map(|bytes| bytes.parse::<u64>().unwrap()).sum::<u64>()
    };
    let (child, before) = (beds.program.start(&words), sent());
    wait_until("the load runs", || sent() > before + 1_000_000);
    signal(&child, "-INT");
    let ran = ended(child);
    assert_eq!(ran.code, Some(130), "{ran:?}");
    wait_until("the probes are removed", || std::fs::read_dir(path).unwrap().count() == 0);
    wait_until("its processes are gone", || processes_with(path).is_empty());
}

#[test]
fn bad_arguments_are_refused_before_anything_is_reached() {
    let program = Plimsoll::new();
    for (words, expected) in [
        (&["net", "local", "--frames", "512"][..], "--via"),
        (&["net", "local", "--via", "router"], "ssh://router"),
        (&["net", "local", "--via", "ssh://r", "--frames", "63"], "from 64 to 9018"),
        (&["net", "local", "--via", "ssh://r", "--flows", "64,1025"], "at most 1024 flows"),
        (&["net", "local", "--via", "ssh://r", "--job", "tcp-out"], "cannot be used with"),
        (&["net", "local", "--via", "ssh://r", "--connections", "1"], "2..=64"),
        (&["net", "local", "--connections", "16"], "--via"),
        (&["net", "local", "--parts", "rules"], "--via"),
        (&["net", "local", "--via", "ssh://r", "--parts", "pppoe"], "possible values"),
        (&["net", "local", "--via", "ssh://r", "--rate", "500"], "chooses its rates"),
        (&["net", "local", "--via", "ssh://r", "--final", "100ms"], "from 1 s to an hour"),
        (&["net", "local", "--via", "ssh://r", "--latency", "20s"], "from 0.1ms to 10s"),
        (
            &["net", "local", "--via", "ssh://r", "--parts", "rules", "--frames", "128,512"],
            "one size of frames",
        ),
        (&["net", "local", "--via", "iperf3://nas"], "an iperf3 server cannot be monitored"),
        (&["net", "iperf3://nas", "--via", "ssh://r"], "--via"),
        (&["net", "local", "--via", "ssh://root:secret@r"], "password"),
    ] {
        let ran = program.run(words);
        assert_eq!(ran.code, Some(2), "{words:?}: {ran:?}");
        assert!(ran.err.contains(expected), "{expected} in {}", ran.err);
        assert!(!ran.err.contains("secret"), "{}", ran.err);
    }
}

/// The rules of the router, which sends, are there in half of the trials, and at the end.
#[test]
fn a_router_sends_with_its_rules_and_without_them() {
    let Some(beds) = lab() else { return };
    beds.on("via/router", &format!("nft -f - <<'END'\n{}\nEND", rules()));
    let state = || beds.on("via/router", "nft list ruleset");
    let before = state();
    let ends = ["net", "lab://via/router", "lab://via/wan"];
    let words = ["--design=kofler2011", "--figure=4", "--time=200ms", "--repeats=1", "--json=-"];
    let whole = study(&beds.program.run(&[&ends[..], &words].concat()).expect(0));
    assert_eq!((whole.trials.len(), whole.plan.contrasts.len()), (16, 8));
    assert!(whole.trials.iter().all(|trial| trial.result.outcome == Outcome::Complete));
    assert_eq!(state(), before);
    let shown = unwrapped(&beds.program.run(&["show"]).expect(0).out);
    for words in ["Gain of UDP out without rules:", "the hooks of netfilter stay"] {
        assert!(shown.contains(words), "{words} in\n{shown}");
    }
    let beside = beds.program.run(&["compare", "latest", "--with", "kofler2011"]).expect(0).out;
    for words in ["53 to 80%", "39 to 50%"] {
        assert!(beside.contains(words), "{words} in\n{beside}");
    }
}
