//! `plimsoll net` end to end: on this machine, and between two namespaces of a lab.

#[path = "../crates/host/tests/probe_support/mod.rs"]
mod probe_support;
mod support;

use plimsoll_model::{Ended, Flag, Measure, Metric, Outcome, StreamJob, Study, SubjectFacts};
use plimsoll_testkit::iperf3::Iperf3;
use plimsoll_testkit::servers::{Sshd, SshdConfig};
use plimsoll_testkit::{Need, enter_or_skip};
use probe_support::processes_with;
use support::beds::Beds;
use support::{Plimsoll, Ran, ended, probes, signal, unwrapped, wait_until};

fn program() -> Plimsoll {
    Plimsoll::new().with("PLIMSOLL_PROBES", probes().to_str().expect("a path in letters"))
}

/// Two hosts on a link that any machine can fill.
const PAIR: &str = r#"
[host.a]
kind = "netns"
[host.b]
kind = "netns"
[link.lan]
between = ["a", "b"]
rate = "20Mbit/s"
"#;

/// A lab of that file, up; `None` where this machine has no namespaces.
fn lab(text: &str) -> Option<Beds> {
    let needs = [Need::Namespaces, Need::Nftables, Need::Ping];
    if !needs.into_iter().all(plimsoll_testkit::available) {
        return None;
    }
    let beds = Beds::of(program());
    let file = beds.file("pair", text);
    beds.lab(&["up", &file]).expect(0);
    Some(beds)
}

const ENDS: [&str; 2] = ["lab://pair/a", "lab://pair/b"];

/// `plimsoll net` between the two hosts.
fn net(beds: &Beds, words: &[&str]) -> Ran {
    beds.program.run(&[&["net"], &ENDS[..], words].concat())
}

#[track_caller]
fn study(ran: &Ran) -> Study {
    plimsoll_record::from_json(&ran.out).unwrap_or_else(|e| panic!("{e}: {ran:?}"))
}

/// The figures of the first part of a workload, trial by trial.
fn figures(study: &Study, workload: u16, measure: Measure) -> Vec<f64> {
    let own = study.trials.iter().filter(|trial| trial.cell.workload == workload);
    own.filter_map(|trial| trial.result.value(0, Metric::all(measure))).collect()
}

#[test]
fn this_machine_is_measured_kept_shown_and_compared() {
    let program = program();
    let words = ["net", "local", "--quick", "--time=400ms", "--json=-"];
    let ran = program.run(&words).expect(0);
    let whole = study(&ran);
    assert_eq!((&whole.ended, whole.trials.len()), (&Ended::Done, 5));
    assert!(whole.trials.iter().all(|trial| trial.result.outcome == Outcome::Complete));
    let SubjectFacts::Path(path) = &whole.subjects[0] else { panic!("{:?}", whole.subjects) };
    assert_eq!(path.given, "local to local");
    assert!(path.notes[0].contains("127.0.0.1"), "{path:?}");
    for workload in 0..3 {
        assert!(figures(&whole, workload, Measure::THROUGHPUT)[0] > 1e6);
    }
    assert!(figures(&whole, 3, Measure::LATENCY_MEAN)[0] > 0.0);
    let loaded = &whole.trials.iter().find(|trial| trial.cell.workload == 4).unwrap().result;
    assert!(loaded.value(1, Metric::all(Measure::GOODPUT_IN)).unwrap() > 0.0);

    let id = &whole.id.0;
    let shown = program.run(&["show", id]).expect(0).out;
    assert!(shown.lines().count() <= 24, "{shown}");
    for words in [
        "TCP out",
        "TCP both: in",
        "requests during",
        "bit/s",
        "bottleneck",
        "CPU s/GB",
        " RPM during TCP both",
    ] {
        assert!(shown.contains(words), "{words} in\n{shown}");
    }
    let details = program.run(&["show", id, "--details"]).expect(0).out;
    for words in ["TCP out", "goodput", "128 KiB blocks", "least", "RFC 6349", "TCP efficiency"] {
        assert!(details.contains(words), "{words} in\n{details}");
    }
    assert!(!details.contains("1 worker"), "{details}");
    let exported = study(&program.run(&["export", id]).expect(0));
    assert_eq!((&exported.plan, &exported.subjects), (&whole.plan, &whole.subjects));
    assert_eq!(exported.trials.len(), whole.trials.len());
    let list = program.run(&["list"]).expect(0).out;
    assert!(list.contains(id) && list.contains("tcp-out"), "{list}");
    program.run(&["compare", id, id]).expect(0);
    let page = program.home().join("page.html");
    program.run(&["report", "--output", page.to_str().unwrap()]).expect(0);
    let refused = program.run(&["check", "--continue", id]).expect(2);
    assert!(
        refused.err.contains("studies of a network path cannot be continued"),
        "{}",
        refused.err
    );
}

#[test]
fn a_shaped_link_is_the_bottleneck() {
    let Some(beds) = lab(PAIR) else { return };
    let words = ["--quick", "--time=2s", "--job=tcp-out,tcp-in,request", "--json=-"];
    let whole = study(&net(&beds, &words).expect(0));
    for workload in 0..2 {
        // Bytes per second: headers take 6%, and the queue of the shaper lets the first ones through.
        let goodput = figures(&whole, workload, Measure::THROUGHPUT)[0];
        assert!((0.7 * 2.5e6..1.1 * 2.5e6).contains(&goodput), "{goodput}");
    }
    let SubjectFacts::Path(path) = &whole.subjects[0] else { panic!("{:?}", whole.subjects) };
    assert!(path.notes[0].contains("10.77.1.1 and 10.77.1.2"), "{path:?}");
    let shown = beds.program.run(&["show"]).expect(0).out;
    let row = shown.lines().find(|line| line.starts_with("TCP out")).expect(&shown);
    let percent = row.rsplit_once("  link ").and_then(|(_, rest)| rest.split_once('%'));
    let percent = percent.and_then(|(percent, _)| percent.parse::<u32>().ok());
    assert!(percent.is_some_and(|percent| (90..=100).contains(&percent)), "{shown}");
    assert!(row.contains("Mbit/s"), "{shown}");
    // The data went over the link, and not around it.
    let load = whole.trials[0].loads.iter().find(|load| load.host == ENDS[0]).unwrap();
    assert!(load.interfaces.iter().any(|one| one.name == "lan"), "{load:?}");
}

/// The search ends at the rate of the shaper, which it was not told.
#[test]
fn the_highest_rate_of_datagrams_is_that_of_the_link() {
    let Some(beds) = lab(PAIR) else { return };
    let words = ["--quick", "--time=1s", "--job=udp-out", "--payloads=1000", "--json=-"];
    let whole = study(&net(&beds, &words).expect(0));
    let trial = &whole.trials[0];
    assert!(!trial.points.is_empty(), "{trial:?}");
    assert!(figures(&whole, 0, StreamJob::LOSS)[0] <= 0.005, "{trial:?}");
    // The queue of the shaper takes a part of what is sent too fast, or holds its sender up.
    let goodput = figures(&whole, 0, Measure::THROUGHPUT)[0];
    assert!((0.7 * 2.5e6..1.3 * 2.5e6).contains(&goodput), "{goodput}");
    let shown = beds.program.run(&["show"]).expect(0).out;
    assert!(shown.contains("UDP: the highest rate that loses at most 0.5%"), "{shown}");
}

#[test]
fn a_share_of_a_core_is_the_bottleneck() {
    let slow = PAIR.replacen("kind = \"netns\"", "kind = \"netns\"\ncpu = \"10%\"", 1);
    let Some(beds) = lab(&slow.replace("rate = \"20Mbit/s\"\n", "")) else { return };
    net(&beds, &["--quick", "--time=2s", "--job=tcp-out"]).expect(0);
    let shown = beds.program.run(&["show"]).expect(0).out;
    assert!(shown.contains("CPU quota of A"), "{shown}");
}

#[test]
fn a_firewall_is_named_with_the_ways_around_it() {
    let Some(beds) = lab(PAIR) else { return };
    beds.on(
        "pair/b",
        "nft 'add table inet t; add chain inet t in { type filter hook input priority 0; }; \
        add rule inet t in tcp dport 5301 drop'",
    );
    let words = ["--quick", "--time=400ms", "--job=tcp-in"];
    let port = ["--port=5301"];
    let ran = net(&beds, &[&words[..], &port].concat()).expect(3);
    for word in ["port 5301", "lab://pair/b", "10.77.1.2", "--connect-from b", "firewalls"] {
        assert!(ran.err.contains(word), "{word} in {}", ran.err);
    }
    // From the other side it is open.
    net(&beds, &[&words[..], &port, &["--connect-from=b"]].concat()).expect(0);
    // Datagrams alone are dropped.
    beds.on("pair/b", "nft add rule inet t in udp dport 5302 drop");
    let words = ["--quick", "--time=400ms", "--job=udp-out", "--rate=100", "--port=5302"];
    let said = unwrapped(&net(&beds, &words).expect(1).out);
    assert!(said.contains("did not") && said.contains("port 5302"), "{said}");
    assert!(!said.contains("cancelled"), "{said}");
    // A wrong address.
    let ran = net(&beds, &[&words[..], &["--address=10.77.1.77"]].concat()).expect(3);
    assert!(ran.err.contains("10.77.1.77"), "{}", ran.err);
}

#[test]
fn a_study_that_is_interrupted_or_killed_leaves_nothing_at_either_end() {
    let Some(beds) = lab(PAIR) else { return };
    let place = tempfile::tempdir().unwrap();
    let path = place.path().to_str().unwrap();
    let words =
        [&["net"], &ENDS[..], &["--job=tcp-both", "--time=600s", "--probe-dir", path]].concat();
    let sent = || {
        let bytes = beds.on("pair/a", "cat /sys/class/net/lan/statistics/tx_bytes");
        bytes.trim().parse::<u64>().unwrap()
    };
    for (number, code) in [("-INT", Some(130)), ("-KILL", None)] {
        let (child, before) = (beds.program.start(&words), sent());
        wait_until("the load runs", || sent() > before + 1_000_000);
        signal(&child, number);
        let ran = ended(child);
        assert_eq!(ran.code, code, "{ran:?}");
        let left = || std::fs::read_dir(path).unwrap().count();
        // Of one that is killed, the guards on the hosts remove them.
        assert!(code.is_none() || left() == 0, "the probes are removed");
        wait_until("the probes are removed", || left() == 0);
        wait_until("its processes are gone", || processes_with(path).is_empty());
    }
}

/// The data address is that at which ssh reached the host. Behind a jump host it is not known, and must be named.
#[test]
fn a_host_over_ssh_is_met_at_the_address_of_its_login() {
    let stage = enter_or_skip!(Need::Sshd, Need::SshClient);
    let sshd = Sshd::start(&stage, SshdConfig::default()).unwrap();
    let configuration = sshd.configuration();
    let with =
        |path: &std::path::Path| program().with("PLIMSOLL_SSH_CONFIG", path.to_str().unwrap());
    let url = sshd.url();
    let words = ["net", &url, "--quick", "--time=400ms", "--job=tcp-out,request", "--json=-"];
    let whole = study(&with(&configuration).run(&words).expect(0));
    let SubjectFacts::Path(path) = &whole.subjects[0] else { panic!("{:?}", whole.subjects) };
    assert!(path.notes[0].contains("127.0.0.1 and 127.0.0.1"), "{path:?}");
    assert!(figures(&whole, 0, Measure::THROUGHPUT)[0] > 1e6);

    let place = tempfile::tempdir().unwrap();
    let jump = place.path().join("config");
    let own = std::fs::read_to_string(&configuration).unwrap();
    let command = "ProxyCommand python3 -c 'import os, socket, threading; s = socket.create_connection((\"%h\", %p)); \
        threading.Thread(target=lambda: [os.write(1, b) for b in iter(lambda: s.recv(65536), b\"\")], \
        daemon=True).start(); [s.sendall(b) for b in iter(lambda: os.read(0, 65536), b\"\")]'\n";
    std::fs::write(&jump, format!("{own}{command}")).unwrap();
    let refused = with(&jump).run(&words).expect(2);
    for word in ["through python3", "--address ADDRESS", &url] {
        assert!(refused.err.contains(word), "{word} in {}", refused.err);
    }
    with(&jump).run(&[&words[..], &["--address=127.0.0.1"]].concat()).expect(0);
}

#[test]
fn an_iperf3_server_is_measured_without_a_login() {
    if !plimsoll_testkit::available(Need::Iperf3) {
        return;
    }
    let (program, server) = (program(), Iperf3::start().unwrap());
    let given = format!("iperf3://{}", server.address());
    let jobs = "--job=tcp-out,tcp-in,udp-out,udp-in";
    let words = ["net", &given, "--quick", "--time=400ms", "--rate=2000", jobs, "--json=-"];
    let ran = program.run(&words).expect(0);
    let whole = study(&ran);
    assert_eq!((&whole.ended, whole.trials.len()), (&Ended::Done, 4));
    assert!(whole.trials.iter().all(|trial| trial.result.outcome == Outcome::Complete));
    for workload in 0..4 {
        assert!(figures(&whole, workload, Measure::THROUGHPUT)[0] > 1e5, "{workload}");
        assert!(figures(&whole, workload, Measure::FAR_CPU_PER_BYTE)[0] > 0.0, "{workload}");
    }
    // Nobody logged in to the server, but it has the address of this machine, whose cores both ends use.
    assert!(whole.flags.contains(&Flag::SameMachine { host: given }), "{:?}", whole.flags);
    assert_eq!(whole.hosts.iter().map(|host| host.name.as_str()).collect::<Vec<_>>(), ["local"]);
    let SubjectFacts::Path(path) = &whole.subjects[0] else { panic!("{:?}", whole.subjects) };
    assert!(path.notes[0].contains("B is an iperf3 server"), "{path:?}");
    let shown = program.run(&["show"]).expect(0).out;
    assert!(shown.contains("TCP out") && shown.contains("bit/s"), "{shown}");
    assert!(shown.starts_with("Network path: this machine to 127.0.0.1: "), "{shown}");
    assert!(!shown.contains("core of") && !shown.contains("machin.."), "{shown}");
}

#[test]
fn the_probe_of_another_host_relays_the_control_connection() {
    let Some(beds) = lab(PAIR).filter(|_| plimsoll_testkit::available(Need::Iperf3)) else {
        return;
    };
    let words = ["net", ENDS[0], "iperf3://10.77.1.2", "--quick", "--time=1s", "--json=-"];
    let ran = beds.program.run(&words).expect(3);
    assert!(ran.err.contains("nobody listens") && ran.err.contains("iperf3 -s"), "{}", ran.err);
    beds.on("pair/b", "iperf3 -s -D");
    wait_until("the server listens", || {
        beds.on("pair/b", "cat /proc/net/tcp /proc/net/tcp6").contains(":1451 ")
    });
    let whole = study(&beds.program.run(&words).expect(0));
    for workload in 0..2 {
        // 20 Mbit/s of the link, in bytes.
        let goodput = figures(&whole, workload, Measure::THROUGHPUT)[0];
        assert!((0.6 * 2.5e6..1.1 * 2.5e6).contains(&goodput), "{goodput}");
        assert!(figures(&whole, workload, Measure::FAR_CPU_PER_BYTE)[0] > 0.0);
    }
}

#[test]
fn a_setting_is_compared_on_a_path() {
    let Some(beds) = lab(PAIR) else { return };
    let set = "--set=lab://pair/a/sysctl:net.ipv4.tcp_congestion_control=as-found,reno";
    let words = ["--time=400ms", "--job=tcp-out", "--repeats=2", set, "--json=-"];
    let whole = study(&net(&beds, &words).expect(0));
    assert_eq!((whole.plan.contrasts.len(), whole.trials.len()), (1, 4));
    let shown = beds.program.run(&["show"]).expect(0).out;
    assert!(shown.contains("reno") && shown.contains("bit/s"), "{shown}");
}

#[test]
fn bad_arguments_are_refused_before_anything_is_reached() {
    let program = program();
    for (words, code, expected) in [
        (&["net"][..], 2, "HOST"),
        (&["net", "nas"], 2, "ssh://nas"),
        (&["net", "a", "b", "c"], 2, "unexpected"),
        (&["net", "ssh://root:secret@nas"], 2, "password"),
        (&["net", "local", "--job", "sctp"], 2, "sctp"),
        (&["net", "local", "--payloads", "8"], 2, "16 to 65507"),
        (&["net", "local", "--payloads", "18"], 2, "udp-out"),
        (&["net", "local", "--rate", "fast"], 2, "neither max"),
        (&["net", "local", "--job", "udp-out", "--rate", "100000001"], 2, "from 1 to 100000000"),
        (&["net", "local", "--loss", "80"], 2, "0 to 50"),
        (&["net", "local", "--address", "nas"], 2, "nas"),
        (&["net", "local", "--probe-dir=/proc", "--quick"], 5, "/proc"),
        (&["net", "lab://nowhere/a"], 2, "no lab"),
        (&["net", "iperf3://nas", "--job", "request"], 2, "--job request"),
        (&["net", "iperf3://nas", "local"], 2, "plimsoll net local iperf3://nas"),
        (&["device", "iperf3://nas"], 2, "no host that commands can be run on"),
    ] {
        let ran = program.run(words);
        assert_eq!(ran.code, Some(code), "{words:?}: {ran:?}");
        assert!(ran.err.contains(expected), "{expected} in {}", ran.err);
        assert!(!ran.err.contains("secret"), "{}", ran.err);
    }
}
