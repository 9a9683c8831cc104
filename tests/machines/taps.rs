//! A router with a kernel of its own between hosts that share the kernel of this machine.

use super::super::support::beds::{Beds, machines_in, of_this_machine};
use super::super::support::lab_file::LabFile;
use super::super::support::{Plimsoll, probes, signal, wait_until};
use plimsoll_model::{Measure, Metric, Outcome};
use plimsoll_testkit::Need;

const ROUTER: &str = "lab://taps/router";
/// The hosts in namespaces, and their links to the router.
const ENDS: [(&str, &str); 2] = [("lan", "inner"), ("wan", "outer")];

#[test]
#[ignore = "machines take minutes: make check-machines"]
fn a_machine_forwards_between_namespaces_and_leaves_nothing() {
    if ![Need::Machines, Need::Namespaces, Need::Ping].into_iter().all(plimsoll_testkit::available)
    {
        return;
    }
    let beds =
        Beds::with_program(Plimsoll::new().with("PLIMSOLL_PROBES", probes().to_str().unwrap()));
    let lab = LabFile::new()
        .namespace("lan")
        .set("gateway", "router")
        .machine("router", "192MiB")
        .line(format_args!("forward = true"))
        .namespace("wan")
        .set("gateway", "router")
        .link("inner", ["lan", "router"])
        .link("outer", ["router", "wan"]);
    let before = of_this_machine();
    beds.up("taps", &lab);
    assert_eq!(of_this_machine(), before, "nothing of it is in this machine's own namespaces");
    let traces = beds.traces("taps");
    let boot = |host: &str| beds.on(&format!("taps/{host}"), "cat /proc/sys/kernel/random/boot_id");
    assert!(boot("lan") == boot("wan") && boot("lan") != boot("router"), "one kernel apart");
    for (host, link) in ENDS {
        let shown = beds.on(&format!("taps/{host}"), &format!("ip -d link show dev {link}"));
        assert!(shown.contains("tun type tap"), "{shown}");
    }
    packets_pass(&beds);
    both_ends_are_shaped(&beds);

    let machines = machines_in(&beds.directory("taps"));
    let first = boot("router");
    beds.lab(&["reset", "taps/router"]).expect(0);
    assert_ne!(boot("router"), first);
    assert_eq!(machines_in(&beds.directory("taps")), machines);
    packets_pass(&beds);

    a_rate_is_searched(&beds);
    beds.lab(&["down", "taps"]).expect(0);
    traces.are_gone();
    killed_while_it_comes_up(&beds, &lab);
    assert_eq!(of_this_machine(), before, "nothing of it is left");
}

/// Whoever brought it up was killed when its machine ran.
fn killed_while_it_comes_up(beds: &Beds, lab: &LabFile) {
    let file = beds.file("taps", &lab.to_string());
    let mut up = beds.program.start(&["lab", "up", &file, "--quiet"]);
    let directory = beds.directory("taps");
    wait_until("its machine runs", || machines_in(&directory).len() == 1);
    signal(&up, "-KILL");
    up.wait().unwrap();
    let traces = beds.traces("taps");
    beds.lab(&["down", "taps"]).expect(0);
    traces.are_gone();
}

#[track_caller]
fn packets_pass(beds: &Beds) {
    for (from, to) in [("lan", "wan"), ("wan", "lan"), ("router", "lan"), ("router", "wan")] {
        let from = format!("taps/{from}");
        beds.on(&from, &format!("ping -q -c 3 -i 0.2 -W 10 {to}"));
    }
    // Each packet was forwarded by the router.
    let hops = beds.on("taps/lan", "ping -c 1 -W 10 wan");
    assert!(hops.contains("ttl=63"), "{hops}");
}

#[track_caller]
fn both_ends_are_shaped(beds: &Beds) {
    let buckets = || {
        ["lan", "router"].map(|host| {
            let shown = beds.on(&format!("taps/{host}"), "tc qdisc show dev inner");
            shown.contains("qdisc tbf")
        })
    };
    let set = |change: &str| beds.lab(&["set", "taps", "inner", change]).expect(0);
    assert_eq!(buckets(), [false, false]);
    set("rate=100Mbit/s");
    assert_eq!(buckets(), [true, true]);
    packets_pass(beds);
    set("rate.lan=none");
    assert_eq!(buckets(), [false, true]);
    set("rate=none");
    assert_eq!(buckets(), [false, false]);
    beds.lab(&["set", "taps", "inner", "mtu=65522"]).expect(2);
}

/// Whether a rate is found is a matter of a quiet machine. What the router's own kernel did is counted all the same.
#[track_caller]
fn a_rate_is_searched(beds: &Beds) {
    let via = format!("--via={ROUTER}");
    let words = ["net", "lab://taps/lan", "lab://taps/wan", &via, "--quick", "--frames=512"];
    let more = ["--direction=out", "--final=2s", "--json=-"];
    let ran = beds.program.run(&[&words[..], &more].concat());
    assert!(matches!(ran.code, Some(0 | 1)), "{ran:?}");
    let study = plimsoll_record::from_json(&ran.out).unwrap_or_else(|e| panic!("{e}: {ran:?}"));
    let trial = &study.trials[0];
    let rate = match &trial.result.outcome {
        Outcome::Complete => trial.result.value(0, Metric::all(Measure::FORWARDED)),
        Outcome::Failed { failure, .. } => {
            assert_eq!(failure.tried, "find the highest rate that is kept", "{failure}");
            None
        }
        Outcome::Stopped | Outcome::Void { .. } => panic!("{ran:?}"),
    };
    let loads = trial.points.iter().flat_map(|point| &point.loads).chain(&trial.loads);
    let own: Vec<_> = loads.filter(|load| load.host == *ROUTER).collect();
    let busy: f64 = own.iter().map(|load| load.cpu.busy().0).sum();
    assert!(busy > 0.0, "the CPU of its machine is counted: {trial:?}");
    let packets = |name: &str| -> (u64, u64) {
        let interfaces = own.iter().flat_map(|load| &load.interfaces);
        interfaces.filter(|one| one.name == name).fold((0, 0), |(received, sent), one| {
            (received + one.received_packets, sent + one.sent_packets)
        })
    };
    let (received, sent) = (packets("inner").0, packets("outer").1);
    assert!(received > 100 && sent > 100, "{received} and {sent}: {trial:?}");
    let shown = beds.program.run(&["show"]).expect(0).out;
    eprintln!("{rate:?}\n{shown}");
    assert!(shown.lines().count() <= 24, "{shown}");
    for words in ["out 512", "R: lab://taps/router", "kept/s", "soft"] {
        assert!(rate.is_none() || shown.contains(words), "{words} in\n{shown}");
    }
}
