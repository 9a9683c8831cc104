//! `plimsoll net` end to end: on this machine, and between two namespaces of a lab.

#[path = "../crates/reach/tests/probe_support/mod.rs"]
mod probe_support;
mod support;

use plimsoll_model::units::Bytes;
use plimsoll_model::{Ended, Flag, HostName, Measure, Metric, Outcome, StreamJob, SubjectFacts};
use plimsoll_testkit::iperf3::Iperf3;
use plimsoll_testkit::{Need, thorough};
use probe_support::processes_with;
use support::pair::{ENDS, PAIR, figures, lab, net, program, study, without_rate};
use support::terminal::AtTerminal;
use support::{Ran, ended, signal, unwrapped, wait_until};

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
    for words in ["TCP out", "goodput", "Block size 128 KiB", "least", "RFC 6349", "TCP efficiency"]
    {
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
    let load = whole.trials[0].loads.iter().find(|load| load.host == *ENDS[0]).unwrap();
    assert!(load.interfaces.iter().any(|one| one.name == "lan"), "{load:?}");
    // A lab shapes frames, and their payload is less.
    let details = unwrapped(&beds.program.run(&["show", "--details"]).expect(0).out);
    let layers = "Its rate is that of a shaper, which counts frames (L2). In packets of 1500 B, it carries at most 19.1 Mbit/s";
    assert!(details.contains(layers), "{details}");
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
    let slow = without_rate().replacen("kind = \"netns\"", "kind = \"netns\"\ncpu = \"10%\"", 1);
    let Some(beds) = lab(&slow) else { return };
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
        let entries = || std::fs::read_dir(path).unwrap().count();
        // Of one that is killed, the guards on the hosts remove them.
        assert!(code.is_none() || entries() == 0, "the probes are removed");
        wait_until("the probes are removed", || entries() == 0);
        wait_until("its processes are gone", || processes_with(path).is_empty());
    }
}

#[test]
fn an_iperf3_server_is_measured_without_a_login() {
    if !plimsoll_testkit::available(Need::Iperf3) {
        return;
    }
    let (program, server) = (program(), Iperf3::start().unwrap());
    let given = format!("iperf3://{}", server.address());
    let jobs = "--job=tcp-out,tcp-in,tcp-both,udp-out,udp-in";
    let words = ["net", &given, "--quick", "--time=400ms", "--rate=2000", jobs, "--json=-"];
    let ran = program.run(&words).expect(0);
    let whole = study(&ran);
    assert_eq!((&whole.ended, whole.trials.len()), (&Ended::Done, 5));
    assert!(whole.trials.iter().all(|trial| trial.result.outcome == Outcome::Complete));
    for workload in 0..5 {
        assert!(figures(&whole, workload, Measure::THROUGHPUT)[0] > 1e5, "{workload}");
        assert!(figures(&whole, workload, Measure::FAR_CPU_PER_BYTE)[0] > 0.0, "{workload}");
    }
    // Nobody logged in to the server, but it has the address of this machine, whose cores both ends use.
    assert!(
        whole.flags.contains(&Flag::SameMachine { host: given.parse().unwrap() }),
        "{:?}",
        whole.flags
    );
    assert!(whole.hosts.iter().map(|host| &host.name).eq([&HostName::Local]));
    let SubjectFacts::Path(path) = &whole.subjects[0] else { panic!("{:?}", whole.subjects) };
    assert!(path.notes[0].contains("B is an iperf3 server"), "{path:?}");
    let shown = program.run(&["show"]).expect(0).out;
    assert!(shown.contains("TCP both: in") && shown.contains("bit/s"), "{shown}");
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

/// A stands for a router that marks packets in place of dropping them.
#[test]
fn packets_that_the_path_marks_are_counted() {
    let Some(beds) = lab(PAIR) else { return };
    for host in ["pair/a", "pair/b"] {
        beds.on(host, "sysctl -q -w net.ipv4.tcp_ecn=1");
    }
    beds.on(
        "pair/a",
        "nft 'add table ip e; add chain ip e o { type filter hook output priority 0; }; \
        add rule ip e o meta l4proto tcp ip ecn ect0 limit rate 50/second ip ecn set ce'",
    );
    let whole =
        study(&net(&beds, &["--quick", "--time=1s", "--job=tcp-out", "--json=-"]).expect(0));
    let marked = figures(&whole, 0, Measure::ECN_MARKED)[0];
    assert!(marked > 0.0 && marked < 1.0, "{marked}");
    let details = beds.program.run(&["show", "--details"]).expect(0).out;
    assert!(unwrapped(&details).contains("marked by ECN"), "{details}");
}

/// The link between both takes packets of 1280 bytes.
#[test]
fn a_payload_that_does_not_fit_is_capped() {
    let Some(beds) = lab(PAIR) else { return };
    for host in ["pair/a", "pair/b"] {
        beds.on(host, "ip link set dev lan mtu 1280");
    }
    let words = ["--quick", "--time=400ms", "--job=udp-out,udp-in", "--rate=200", "--json=-"];
    let whole = study(&net(&beds, &words).expect(0));
    for trial in &whole.trials {
        assert_eq!(trial.result.outcome, Outcome::Complete, "{trial:?}");
        let capped =
            Flag::PayloadCapped { wanted: Bytes(1400), used: Bytes(1252), path_mtu: Bytes(1280) };
        assert!(trial.result.flags.contains(&capped), "{:?}", trial.result.flags);
        // 200 datagrams a second of 1252 bytes.
        let goodput = trial.result.value(0, Metric::all(Measure::THROUGHPUT)).unwrap();
        assert!((0.8 * 250_400.0..1.2 * 250_400.0).contains(&goodput), "{goodput}");
    }
    let shown = unwrapped(&beds.program.run(&["show"]).expect(0).out);
    assert!(shown.contains("the path takes packets of 1280 bytes"), "{shown}");
}

#[test]
fn an_end_that_is_the_router_of_the_other_one_is_named() {
    let routed = PAIR.replacen("[host.a]\n", "[host.a]\ngateway = \"b\"\n", 1).replacen(
        "[host.b]\n",
        "[host.b]\nforward = true\n",
        1,
    );
    let Some(beds) = lab(&routed) else { return };
    let words = ["--quick", "--time=400ms", "--job=tcp-out", "--json=-"];
    let whole = study(&net(&beds, &words).expect(0));
    let flag = Flag::EndIsGateway { host: ENDS[1].parse().unwrap() };
    assert!(whole.flags.contains(&flag), "{:?}", whole.flags);
    let shown = unwrapped(&beds.program.run(&["show"]).expect(0).out);
    assert!(shown.contains("is the gateway of the other end"), "{shown}");
}

#[test]
fn streams_are_compared_with_and_without_nagles_algorithm() {
    let words = ["net", "local", "--quick", "--time=300ms", "--job=tcp-out", "--nagle=on,off"];
    let program = program();
    let whole = study(&program.run(&[&words[..], &["--json=-"]].concat()).expect(0));
    assert_eq!(whole.plan.workloads.len(), 2);
    assert!(whole.trials.iter().all(|trial| trial.result.outcome == Outcome::Complete));
    let shown = program.run(&["show"]).expect(0).out;
    assert!(shown.contains("Nagle's"), "{shown}");
    let details = unwrapped(&program.run(&["show", "--details"]).expect(0).out);
    assert!(details.contains("1 stream, without Nagle's algorithm."), "{details}");
    program.run(&["compare", &whole.id.0, &whole.id.0]).expect(0);
}

/// Without root, the kernel grants less than is asked for, and reports no error.
#[test]
fn socket_buffers_that_are_not_granted_are_named() {
    let words = ["net", "local", "--quick", "--time=300ms", "--job=tcp-out", "--json=-"];
    let buffer = ["--socket-buffer=256MiB"];
    let program = program();
    let mut without = std::process::Command::new("setpriv");
    without.args(["--bounding-set", "-net_admin", "--inh-caps", "-net_admin"]);
    let command = program.command_under(without, &[&words[..], &buffer].concat()).output();
    let whole = study(&Ran::from(command.unwrap()).expect(0));
    let flags = &whole.trials[0].result.flags;
    let capped = |flag: &&Flag| matches!(flag, Flag::SocketBufferCapped { wanted, used, .. } if used < wanted);
    assert_eq!(flags.iter().filter(capped).count(), 1, "{flags:?}");
    let shown = unwrapped(&program.run(&["show"]).expect(0).out);
    assert!(shown.contains("instead of 256 MiB"), "{shown}");
    let details = unwrapped(&program.run(&["show", "--details"]).expect(0).out);
    for words in ["Root rights at A and B would add", "socket buffers above", "(--set)."] {
        assert!(details.contains(words), "{words} in {details}");
    }
    let SubjectFacts::Path(path) = &whole.subjects[0] else { panic!("{:?}", whole.subjects) };
    assert_eq!(path.root_adds.len(), 1, "{path:?}");
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let root = study(&program.run(&words).expect(0));
    let SubjectFacts::Path(path) = &root.subjects[0] else { panic!("{:?}", root.subjects) };
    assert!(!path.root_adds.concat().contains("(--set)"), "{path:?}");
}

/// Both ends have a faster link in common, over which no data goes.
#[test]
fn a_slower_link_that_is_used_instead_of_a_faster_one_is_named() {
    let wide = "[link.wide]\nbetween = [\"a\", \"b\"]\nrate = \"100Mbit/s\"\n";
    let Some(beds) = lab(&format!("{PAIR}{wide}")) else { return };
    net(&beds, &["--quick", "--time=2s", "--job=tcp-out"]).expect(0);
    let shown = unwrapped(&beds.program.run(&["show"]).expect(0).out);
    for words in ["went over lan (20", "wide (100 Mbit/s) was idle", "address on the faster link"] {
        assert!(shown.contains(words), "{words} in {shown}");
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
fn presets_have_round_trips_during_four_streams() {
    let words = ["net", "local", "--quick", "--time=600ms", "--job=up,down,rrul", "--json=-"];
    let whole = study(&program().run(&words).expect(0));
    assert_eq!(whole.trials.len(), 3);
    for trial in &whole.trials {
        assert_eq!(trial.result.outcome, Outcome::Complete, "{trial:?}");
        let value = |part, measure| trial.result.value(part, Metric::all(measure)).unwrap();
        assert!(value(0, Measure::LATENCY_MEAN) > 0.0 && value(1, Measure::THROUGHPUT) > 1e6);
        let load = &whole.plan.workload(trial.cell).unwrap().parts[1].job;
        assert!(load.settings().iter().any(|words| words.starts_with("4 streams")), "{load:?}");
    }
}

/// The sizes of the publication, and its points beside the own ones.
#[test]
fn a_published_figure_is_repeated() {
    let program = program();
    let page = program.home().join("page.html");
    let figures = [("1", 9, ["256 KiB", "363 Mbit/s"]), ("2", 8, ["1450 B", "418 Mbit/s"])];
    for (figure, sizes, points) in figures.into_iter().take(thorough::some_of(1, 2, "figures")) {
        let design = ["net", "local", "--design=kofler2011", "--figure", figure];
        let short = ["--time=300ms", "--repeats=1", "--json=-"];
        let whole = study(&program.run(&[&design[..], &short].concat()).expect(0));
        assert_eq!((&whole.ended, whole.trials.len()), (&Ended::Done, sizes));
        let words = ["report", "--force", "--output", page.to_str().unwrap()];
        program.run(&words).expect(0);
        let beside = program.run(&["compare", "latest", "--with", "kofler2011"]).expect(0).out;
        assert!(beside.contains(points[1]) && beside.contains("RSPRO"), "{beside}");
        let text = std::fs::read_to_string(&page).unwrap().replace("&nbsp;", " ");
        for words in points.into_iter().chain(["RSPRO, published", "Kofler"]) {
            assert!(text.contains(words), "{words} in the page of figure {figure}");
        }
    }
}

/// Commands that the command line brings run only if somebody agrees.
#[test]
fn a_setting_by_commands_is_compared_after_consent() {
    let Some(beds) = lab(PAIR) else { return };
    let place = tempfile::tempdir().unwrap();
    let (own, applied) = (place.path().join("own"), place.path().join("applied"));
    let (file, log) = (own.to_str().unwrap(), applied.to_str().unwrap());
    let now = || std::fs::read_to_string(&own).unwrap();
    std::fs::write(&own, "found\n").unwrap();
    let read = format!("--command=own:read=cat '{file}'");
    let apply = format!("--command=own:apply=echo \"$LEVEL\" >'{file}'; echo \"$LEVEL\" >>'{log}'");
    let set = "--set=lab://pair/a/command:own=as-found,x";
    let words = ["--quick", "--time=300ms", "--job=request", set, &read, &apply];
    let ran = net(&beds, &words).expect(2);
    for word in ["--trust", ENDS[0], "consent"] {
        assert!(ran.err.contains(word), "{word} in {}", ran.err);
    }
    let all = [&["net"], &ENDS[..], &words].concat();
    for (answer, expected) in [("n\r", "2"), ("y\r", "0")] {
        assert!(!applied.exists(), "nothing ran before somebody agreed");
        let mut terminal = AtTerminal::start(&beds.program, &all);
        terminal.wait_for("[y/N]");
        assert!(terminal.said().contains("own:apply=echo"), "{}", terminal.said());
        terminal.type_in(answer);
        let (said, code) = terminal.ended();
        assert_eq!(code, expected, "{said}");
    }
    assert!(std::fs::read_to_string(&applied).unwrap().contains("x\n"));
    assert_eq!(now(), "found\n");
    let whole = study(&net(&beds, &[&words[..], &["--trust", "--json=-"]].concat()).expect(0));
    assert_eq!((whole.plan.contrasts.len(), whole.trials.len()), (1, 2));
    assert_eq!(
        (whole.plan.commands["own"].read.as_str(), now().as_str()),
        (&read[19..], "found\n")
    );
    // The text of a command may name anything, so a page to be published has none.
    let page = place.path().join("page.html");
    let words = ["report", "--redact", "--output", page.to_str().unwrap()];
    beds.program.run(&words).expect(0);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains(ENDS[0]) && page.contains("command:own"), "the host and the setting");
    for secret in [file, log, "$LEVEL"] {
        let found = page.find(secret).map(|at| &page[at.saturating_sub(80)..at + 20]);
        assert_eq!(found, None, "no command");
    }
}

#[test]
fn bad_arguments_are_refused_before_anything_is_reached() {
    let program = program();
    let no_lab = if nix::unistd::geteuid().is_root() { (2, "no lab") } else { (5, "as root") };
    for (words, code, expected) in [
        (&["net"][..], 2, "HOST"),
        (&["net", "nas"], 2, "ssh://nas"),
        (&["net", "a", "b", "c"], 2, "unexpected"),
        (&["net", "ssh://root:secret@nas"], 2, "password"),
        (&["net", "local", "--job", "sctp"], 2, "sctp"),
        (&["net", "local", "--payloads", "8"], 2, "16 to 65507"),
        (&["net", "local", "--payloads", "18"], 2, "--payloads is for UDP jobs"),
        (&["net", "local", "--payloads", "18"], 2, "Add --job udp-out"),
        (&["net", "local", "--loss", "1"], 2, "Add --job udp-out"),
        (&["net", "local", "--job", "udp-out", "--rate", "max", "--loss", "1"], 2, "--rate"),
        (&["net", "local", "--blocks", "1KiB", "--job", "udp-in"], 2, "Add --job tcp-out"),
        (&["net", "local", "--set", "command:x=1,2"], 2, "--command 'x:read=…'"),
        (&["net", "local", "--trust"], 2, "--command"),
        (&["net", "local", "--figure", "1"], 2, "--design"),
        (&["net", "local", "--design", "kofler2011"], 2, "--figure"),
        (&["net", "local", "--design", "kofler2011", "--figure", "3"], 2, "--via"),
        (&["net", "local", "--design", "kofler2011", "--figure", "5"], 2, "5"),
        (&["net", "local", "--rate", "fast"], 2, "neither max"),
        (&["net", "local", "--job", "udp-out", "--rate", "100000001"], 2, "from 1 to 100000000"),
        (&["net", "local", "--loss", "80"], 2, "0 to 50"),
        (&["net", "local", "--address", "nas"], 2, "nas"),
        (&["net", "local", "--address", "fe80::1"], 2, "fe80::1%eth0"),
        (&["net", "ssh://[fe80::1]"], 2, "[fe80::1%eth0]"),
        (&["net", "iperf3://[fe80::1]:5201"], 2, "[fe80::1%eth0]"),
        (&["net", "local", "--probe-dir=/proc", "--quick"], 5, "/proc"),
        (&["net", "lab://nowhere/a"], no_lab.0, no_lab.1),
        (&["net", "iperf3://nas", "--job", "request"], 2, "--job request"),
        (&["net", "iperf3://nas", "local"], 2, "plimsoll net local iperf3://nas"),
        (&["device", "iperf3://nas"], 2, "commands cannot be run on an iperf3 server"),
    ] {
        let ran = program.run(words);
        assert_eq!(ran.code, Some(code), "{words:?}: {ran:?}");
        assert!(ran.err.contains(expected), "{expected} in {}", ran.err);
        assert!(!ran.err.contains("secret"), "{}", ran.err);
    }
}
