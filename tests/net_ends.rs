//! How `plimsoll net` finds its ends: addresses of every kind, and hosts without a login or a probe.

mod support;

use plimsoll_model::{Measure, Outcome, PathFacts, Study, SubjectFacts};
use plimsoll_testkit::iperf3::Iperf3;
use plimsoll_testkit::servers::{Sshd, SshdConfig};
use plimsoll_testkit::{Need, enter_or_skip};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use support::pair::{ENDS, PAIR, figures, lab, net, program, study};
use support::{unwrapped, wait_until};

fn path(study: &Study) -> &PathFacts {
    let SubjectFacts::Path(path) = &study.subjects[0] else { panic!("{:?}", study.subjects) };
    path
}

#[track_caller]
fn assert_complete(study: &Study) {
    assert!(!study.trials.is_empty());
    for trial in &study.trials {
        assert_eq!(trial.result.outcome, Outcome::Complete, "{trial:?}");
    }
}

#[test]
fn both_ends_may_be_known_by_ipv6_alone() {
    if std::net::TcpListener::bind("[::1]:0").is_err() {
        return;
    }
    let jobs = "--job=tcp-both,udp-in,request,connect";
    let words = ["net", "local", "--quick", "--time=400ms", "--rate=500", jobs, "--json=-"];
    let six = ["--address=::1", "--address-a=::1"];
    let whole = study(&program().run(&[&words[..], &six].concat()).expect(0));
    assert!(whole.trials.iter().all(|trial| trial.result.outcome == Outcome::Complete));
    let SubjectFacts::Path(path) = &whole.subjects[0] else { panic!("{:?}", whole.subjects) };
    assert!(path.notes[0].contains("data between ::1 and ::1"), "{path:?}");
    let mixed = program().run(&[&words[..], &six[..1]].concat()).expect(2);
    assert!(mixed.err.contains("one is an IPv4 address"), "{}", mixed.err);
    if plimsoll_testkit::available(Need::Iperf3) {
        let server = Iperf3::start().unwrap();
        let given = format!("iperf3://[::1]:{}", server.address().port());
        let words = ["net", &given, "--quick", "--time=400ms", "--job=tcp-both", "--json=-"];
        let whole = study(&program().run(&words).expect(0));
        assert_eq!(whole.trials[0].result.outcome, Outcome::Complete);
    }
}

/// Each end knows the other one by an interface of its own: `lan` at A and at B.
#[test]
fn link_local_addresses_have_an_interface() {
    let Some(beds) = lab(PAIR) else { return };
    // An address is tentative for a second or two.
    let own = |host: &str| {
        let said = beds.on(host, "ip -6 -o addr show dev lan scope link -tentative");
        let word = said.split_whitespace().find(|word| word.starts_with("fe80:"));
        word.and_then(|word| word.split('/').next()).map(str::to_owned)
    };
    wait_until("both have an address", || own("pair/a").and(own("pair/b")).is_some());
    let (a, b) = (own("pair/a").unwrap(), own("pair/b").unwrap());
    let jobs = ["--job=tcp-out,tcp-in,udp-in", "--rate=100", "--quick", "--time=400ms", "--json=-"];
    let to_b = format!("--address={b}%lan");
    let whole = study(&net(&beds, &[&jobs[..], &[&to_b]].concat()).expect(0));
    assert_complete(&whole);
    let note = format!("data between {a}%lan and {b}%lan");
    assert!(path(&whole).notes[0].contains(&note), "{:?}", path(&whole));
    let ends: Vec<&str> = path(&whole).interfaces.iter().map(|one| one.end.as_str()).collect();
    assert_eq!(ends, ["A", "B"], "{:?}", path(&whole).interfaces);
    let page = beds.program.home().join("page.html");
    let words = ["report", "--redact", "--output", page.to_str().unwrap()];
    beds.program.run(&words).expect(0);
    let page = fs::read_to_string(page).unwrap();
    assert!(!page.contains(&a) && !page.contains(&b), "no address");

    let to_a = format!("--address-a={a}%lan");
    let opened_from_b = [&jobs[..], &[&to_a, "--connect-from=b"]].concat();
    assert_complete(&study(&net(&beds, &opened_from_b).expect(0)));

    let nowhere = format!("--address={b}%wan");
    let ran = net(&beds, &[&jobs[..], &[&nowhere]].concat());
    assert!([Some(2), Some(3)].contains(&ran.code), "{ran:?}");
    let bare = format!("--address={b}");
    let ran = net(&beds, &[&jobs[..], &[&bare]].concat()).expect(2);
    assert!(ran.err.contains(&format!("{b}%eth0")), "{}", ran.err);

    if !plimsoll_testkit::available(Need::Iperf3) {
        return;
    }
    beds.on("pair/b", "iperf3 -s -D");
    wait_until("the server listens", || {
        beds.on("pair/b", "cat /proc/net/tcp /proc/net/tcp6").contains(":1451 ")
    });
    let server = format!("iperf3://[{b}%25lan]:5201");
    let jobs = ["--job=tcp-out,udp-in", "--rate=100", "--quick", "--time=400ms", "--json=-"];
    let whole =
        study(&beds.program.run(&[&["net", ENDS[0], &server], &jobs[..]].concat()).expect(0));
    assert_complete(&whole);
    assert!(path(&whole).given.contains(&format!("iperf3://[{b}%lan]:5201")), "{:?}", path(&whole));
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
fn a_host_without_a_login_may_run_an_iperf3_server() {
    if !plimsoll_testkit::available(Need::SshClient) {
        return;
    }
    let unknown = program().run(&["net", "ssh://no-such-host.invalid", "--quick"]).expect(3);
    for words in [
        "find the address of the host",
        "on: ssh://no-such-host.invalid",
        "Could not resolve hostname no-such-host.invalid",
        "Check the spelling",
    ] {
        assert!(unknown.err.contains(words), "{words} in {}", unknown.err);
    }
    assert!(!unknown.err.contains("iperf3"), "{}", unknown.err);

    let ran = program().run(&["net", "ssh://127.0.0.1:1", "--quick"]);
    assert!([Some(3), Some(4)].contains(&ran.code), "{ran:?}");
    assert!(ran.err.contains("iperf3 -s") && ran.err.contains("iperf3://127.0.0.1"), "{}", ran.err);
}

/// The host says that it is an ARM, for which there is no probe.
#[test]
fn a_host_without_a_probe_may_run_an_iperf3_server() {
    let stage = enter_or_skip!(Need::Sshd, Need::SshClient);
    let odd = tempfile::tempdir().unwrap();
    let uname = odd.path().join("uname");
    fs::write(&uname, "#!/bin/sh\necho aarch64\n").unwrap();
    fs::set_permissions(&uname, Permissions::from_mode(0o755)).unwrap();
    let search = format!("SetEnv PATH={}:/usr/bin:/bin", odd.path().display());
    let sshd = Sshd::start(&stage, SshdConfig::default().line(&search)).unwrap();
    let configuration = sshd.configuration();
    let program = program().with("PLIMSOLL_SSH_CONFIG", configuration.to_str().unwrap());
    let ran = program.run(&["net", &sshd.url(), "--quick", "--time=400ms"]).expect(2);
    let said = unwrapped(&ran.err);
    for words in ["aarch64", "Or start iperf3 -s on it, and name iperf3://127.0.0.1"] {
        assert!(said.contains(words), "{words} in {said}");
    }
    // As A, it cannot be replaced by a server.
    let ran = program.run(&["net", &sshd.url(), "local", "--quick", "--time=400ms"]).expect(2);
    assert!(ran.err.contains("aarch64") && !ran.err.contains("iperf3"), "{}", ran.err);
}
