//! Settings of network interfaces, on a pair of virtual ones.

use super::super::support::own_place::OwnPlace;
use super::super::support::setter::{Setter, session};
use super::super::support::{Plimsoll, wait_until};
use super::super::{is_empty, printed};
use nix::mount::{MsFlags, mount};
use plimsoll_model::Cause;
use plimsoll_reach::Local;
use plimsoll_settings::Journal;
use plimsoll_testkit::servers::{Sshd, SshdConfig};
use plimsoll_testkit::{Need, Stage, enter_or_skip};
use std::fs;
use std::process::Command;

/// What a command line prints that must end well.
fn said(words: &str) -> String {
    let mut words = words.split(' ');
    printed(Command::new(words.next().unwrap()).args(words))
}

/// Whether a command line ends well: not every kernel has every kind of interface and discipline.
fn runs(words: &str) -> bool {
    let mut words = words.split(' ');
    Command::new(words.next().unwrap()).args(words).output().unwrap().status.success()
}

/// A pair of interfaces, `near` and `far`, and /sys as this stage has it.
fn with_pair(_: &Stage) {
    said("ip link add near type veth peer name far");
    said("ip link set near up");
    said("ip link set far up");
    mount(Some("sysfs"), "/sys", Some("sysfs"), MsFlags::empty(), None::<&str>).unwrap();
}

fn mtu() -> String {
    fs::read_to_string("/sys/class/net/near/mtu").unwrap()
}

/// The disciplines of an interface, without what is counted.
fn qdiscs_of(interface: &str) -> String {
    let text = said(&format!("tc qdisc show dev {interface}"));
    let words: Vec<&str> = text.split(' ').collect();
    let counts = |at: usize| at > 0 && words[at - 1] == "refcnt";
    let kept = (0..words.len()).filter(|at| words[*at] != "refcnt" && !counts(*at));
    kept.map(|at| words[at]).collect::<Vec<_>>().join(" ")
}

fn qdiscs() -> String {
    qdiscs_of("near")
}

/// Why a setting is refused before anything is measured.
#[track_caller]
fn refused(set: &str) -> plimsoll_model::Failure {
    let home = tempfile::tempdir().unwrap();
    let failure = session(Journal::at(home.path().join("j")), &[set]).err().expect(set);
    assert!(
        home.path().read_dir().unwrap().next().is_none() || is_empty(&home.path().join("j")),
        "{set}"
    );
    failure
}

#[test]
fn interfaces_that_do_not_exist_are_refused_with_those_that_do() {
    let stage = enter_or_skip!();
    let _place = OwnPlace::new(&stage);
    with_pair(&stage);
    for set in ["mtu:none0=1400", "rps:none0=1", "qdisc:none0=pfifo"] {
        let failure = refused(&format!("local/{set}"));
        assert_eq!(failure.cause, Cause::Usage, "{failure}");
        assert!(failure.next.contains("near") && failure.next.contains("lo"), "{failure}");
    }
}

#[test]
fn the_mtu_of_an_interface_is_set_tried_before_and_put_back() {
    let stage = enter_or_skip!();
    let _place = OwnPlace::new(&stage);
    with_pair(&stage);
    let home = tempfile::tempdir().unwrap();
    let set = ["local/mtu:near=as-found,1400,9000"];
    let mut session = session(Journal::at(home.path().join("j")), &set).unwrap();
    assert_eq!((session.found(0), &*mtu()), (Some("1500"), "1500\n"), "tried, and put back");
    for (level, value) in [(1, "1400\n"), (2, "9000\n"), (0, "1500\n"), (1, "1400\n")] {
        session.set(0, level).unwrap();
        session.verify_all().unwrap();
        assert_eq!(mtu(), value);
    }
    said("ip link set near mtu 1401");
    assert!(session.verify_all().unwrap_err().happened.contains("1401"));
    drop(session);
    assert_eq!(mtu(), "1500\n");
    assert!(is_empty(&home.path().join("j")));
    // Below the least of IPv6 the addresses would be gone.
    let failure = refused("local/mtu:near=1200");
    assert!(failure.happened.contains("IPv6 addresses"), "{failure}");
    // Not every kernel has VLANs.
    if runs("ip link add link far name far.5 type vlan id 5") {
        let failure = refused("local/mtu:far=1400");
        assert!(failure.happened.contains("VLANs"), "{failure}");
    }
    said("ip link add br0 type bridge");
    let failure = refused("local/mtu:br0=1400");
    assert!(failure.happened.contains("bridge"), "{failure}");
    let failure = refused("local/mtu:near=65535,65536");
    assert_eq!(failure.cause, Cause::Usage, "{failure}");
}

/// The interface keeps what was set under its other name, so the journals have to keep what it had.
#[test]
fn a_renamed_interface_is_put_back_when_it_has_its_name_again() {
    let stage = enter_or_skip!();
    let _place = OwnPlace::new(&stage);
    with_pair(&stage);
    let home = tempfile::tempdir().unwrap();
    let mut session =
        session(Journal::at(home.path().join("j")), &["local/mtu:near=1400"]).unwrap();
    session.set(0, 0).unwrap();
    // Not every kernel renames an interface that is up.
    let rename = |from: &str, to: &str| {
        for words in [format!("{from} down"), format!("{from} name {to}"), format!("{to} up")] {
            said(&format!("ip link set {words}"));
        }
    };
    rename("near", "other");
    session.verify_all().unwrap_err();
    let failure = session.restore_all().unwrap_err();
    assert!(failure.happened.contains("renamed to other"), "{failure}");
    assert!(!is_empty(&home.path().join("j")));
    rename("other", "near");
    assert_eq!(mtu(), "1400\n");
    session.restore_all().unwrap();
    assert_eq!(mtu(), "1500\n");
    assert!(is_empty(&home.path().join("j")));
}

/// A link that delivers nothing any more, by the way to the host itself. It is cut when the value is tried, before the
/// study.
#[test]
fn a_discipline_that_cuts_the_link_is_undone_by_the_host_itself() {
    let stage = enter_or_skip!(Need::Sshd);
    let _place = OwnPlace::new(&stage);
    let server = Sshd::start(&stage, SshdConfig::default()).unwrap();
    let program =
        Plimsoll::new().with("PLIMSOLL_SSH_CONFIG", server.configuration().to_str().unwrap());
    let shown = || qdiscs_of("lo");
    let found = shown();
    let set = format!("{}/qdisc:lo=pfifo limit 0", server.url());
    let setter = Setter::start(&program, "sets_until_it_is_killed", Some(8), &[&set]);
    wait_until("the link is cut", || shown().contains("limit 0p"));
    wait_until("the host undoes it", || shown() == found);
    drop(setter);
    program.run(&["restore"]);
    program.run(&["restore", &server.url()]).expect(0);
    assert_eq!(shown(), found);
}

#[test]
fn disciplines_are_put_back_exactly_or_refused() {
    let stage = enter_or_skip!();
    let _place = OwnPlace::new(&stage);
    with_pair(&stage);
    let home = tempfile::tempdir().unwrap();
    let journal = || Journal::at(home.path().join("j"));
    let found = qdiscs();
    let set =
        ["local/qdisc:near=tbf rate 10mbit burst 32kb limit 1mb,as-found,pfifo limit 50,default"];
    let mut own = session(journal(), &set).unwrap();
    assert_eq!((own.found(0), qdiscs()), (Some("default"), found.clone()));
    for (level, part) in
        [(0, "qdisc tbf"), (2, "limit 50p"), (0, "rate 10Mbit"), (3, &*found), (1, &*found)]
    {
        own.set(0, level).unwrap();
        own.verify_all().unwrap();
        assert!(qdiscs().contains(part.trim()), "{part}: {}", qdiscs());
    }
    own.set(0, 2).unwrap();
    said("tc qdisc replace dev near root pfifo limit 51");
    assert!(own.verify_all().unwrap_err().happened.contains("another program"));
    drop(own);
    assert_eq!(qdiscs(), found);
    // A user's own, with settings and handle.
    let mut tried = 0;
    for user in [
        "handle 42: pfifo limit 77",
        "bfifo limit 10000",
        "tbf rate 1mbit burst 16kb latency 50ms",
        "netem delay 7ms",
        "handle 7: fq_codel limit 100 target 9ms noecn",
    ] {
        if !runs(&format!("tc qdisc replace dev near root {user}")) {
            continue;
        }
        tried += 1;
        let found = qdiscs();
        let mut session = session(journal(), &["local/qdisc:near=pfifo limit 5"])
            .unwrap_or_else(|f| panic!("{user}: {f}"));
        session.set(0, 0).unwrap();
        assert!(qdiscs().contains("limit 5p"), "{}", qdiscs());
        drop(session);
        assert_eq!(qdiscs(), found);
        said("tc qdisc del dev near root");
    }
    assert!(is_empty(&home.path().join("j")));
    assert!(tried >= 2, "{tried}");
    assert!(!said("ip -o link show").contains("plimsoll"), "the interface of the trial is gone");
    // Classes cannot be put back.
    said("tc qdisc add dev near root handle 1: htb default 10");
    said("tc class add dev near parent 1: classid 1:10 htb rate 10mbit");
    let found = qdiscs();
    let failure = refused("local/qdisc:near=pfifo limit 5");
    assert_eq!((failure.cause, qdiscs()), (Cause::NotPermitted, found));
    assert!(failure.happened.contains("htb"), "{failure}");
    said("tc qdisc del dev near root");
    // One that the kernel does not have.
    let failure = refused("local/qdisc:near=nosuch_queue");
    assert!(failure.tried.contains("queueing discipline"), "{failure}");
}

/// The root of an interface with several queues has a discipline for each.
#[test]
fn disciplines_of_queues_are_put_back_exactly_or_refused() {
    let stage = enter_or_skip!();
    let _place = OwnPlace::new(&stage);
    let queues = "numtxqueues 4 numrxqueues 4";
    said(&format!("ip link add near {queues} type veth peer name far {queues}"));
    said("ip link set near up");
    said("ip link set far up");
    // Not every kernel has interfaces of this kind with the default discipline of several queues.
    let default = runs("ip link add many numtxqueues 4 type ifb") && runs("ip link set many up");
    said("tc qdisc add dev near root handle 42: mq");
    said("tc qdisc replace dev near parent 42:2 handle 7: pfifo limit 77");
    said("tc qdisc replace dev near parent 42:3 bfifo limit 10000");
    let home = tempfile::tempdir().unwrap();
    let journal = || Journal::at(home.path().join("j"));
    // Their order is not kept.
    let shown = |interface: &str| {
        let text = qdiscs_of(interface);
        let mut lines: Vec<String> = text.lines().map(|line| line.trim().to_owned()).collect();
        lines.sort();
        lines
    };
    let plain = |interface: &str| shown(interface).join("\n").matches(" limit 9p").count();
    for interface in ["near", "many"].into_iter().filter(|name| *name == "near" || default) {
        let found = shown(interface);
        assert!(found.iter().any(|line| line.starts_with("qdisc mq ")), "{found:?}");
        let set = format!("local/qdisc:{interface}=mq pfifo limit 9,as-found,pfifo limit 5");
        let mut own = session(journal(), &[&set]).unwrap();
        assert_eq!(shown(interface), found, "tried, and put back");
        own.set(0, 0).unwrap();
        assert_eq!(plain(interface), 4, "{:?}", shown(interface));
        own.verify_all().unwrap();
        own.set(0, 1).unwrap();
        assert_eq!(shown(interface), found);
        own.set(0, 2).unwrap();
        assert_eq!(shown(interface).len(), 1, "{:?}", shown(interface));
        own.set(0, 0).unwrap();
        said(&format!("tc qdisc replace dev {interface} parent 1:2 bfifo"));
        let failure = own.verify_all().unwrap_err();
        assert!(failure.happened.contains("the queues have"), "{failure}");
        drop(own);
        assert_eq!(shown(interface), found);
        // As the host itself does it.
        let knob = plimsoll_settings::knob(&format!("qdisc:{interface}")).unwrap();
        let kept = knob.read(&Local).unwrap().original;
        knob.apply(&Local, &kept, "mq pfifo limit 9").unwrap();
        assert_eq!(plain(interface), 4, "{:?}", shown(interface));
        printed(Command::new("sh").args(["-c", &knob.undo_by_shell(&kept).unwrap()]));
        assert_eq!(shown(interface), found);
    }
    assert!(is_empty(&home.path().join("j")));
    // Classes cannot be put back.
    said("tc qdisc replace dev near parent 42:2 handle 8: htb default 10");
    let found = shown("near");
    let failure = refused("local/qdisc:near=mq pfifo");
    assert_eq!((failure.cause, shown("near")), (Cause::NotPermitted, found));
    assert!(failure.happened.contains("htb"), "{failure}");
}

#[test]
fn a_killed_run_leaves_disciplines_and_mtu_that_restore_puts_back() {
    let stage = enter_or_skip!();
    let _place = OwnPlace::new(&stage);
    with_pair(&stage);
    let program = Plimsoll::new();
    let found = (mtu(), qdiscs());
    let sets = [
        "local/mtu:near=1400,1300",
        "local/qdisc:near=pfifo limit 5,pfifo limit 6",
        "local/rps:near=1,0",
    ];
    let mut setter = Setter::start(&program, "sets_until_it_is_killed", None, &sets);
    setter.wait_for("set");
    setter.kill();
    assert_ne!((mtu(), qdiscs()), found);
    let restored = program.run(&["restore"]).expect(0).out;
    for knob in ["mtu:near", "qdisc:near", "rps:near"] {
        assert!(restored.contains(&format!("restored {knob} on local")), "{restored}");
    }
    assert_eq!((mtu(), qdiscs()), found);
}

#[test]
fn receive_queues_are_steered_and_put_back() {
    let stage = enter_or_skip!();
    let _place = OwnPlace::new(&stage);
    with_pair(&stage);
    let home = tempfile::tempdir().unwrap();
    let file = "/sys/class/net/near/queues/rx-0/rps_cpus";
    let now = || fs::read_to_string(file).unwrap();
    let found = now();
    let mut session =
        session(Journal::at(home.path().join("j")), &["local/rps:near=1,as-found,0"]).unwrap();
    assert_eq!((session.found(0), now()), (Some("0"), found.clone()));
    session.set(0, 0).unwrap();
    session.verify_all().unwrap();
    assert!(now().trim().ends_with('1') && now() != found, "{}", now());
    session.set(0, 1).unwrap();
    assert_eq!(now(), found);
    session.set(0, 0).unwrap();
    drop(session);
    assert_eq!(now(), found);
    // More cores than any machine has.
    let failure = refused(&format!("local/rps:near={}", "f".repeat(400)));
    assert!(failure.tried.contains("receive queues") || failure.tried.contains("rps"), "{failure}");
    assert_eq!(now(), found);
}

#[test]
fn all_interfaces_of_a_router_are_steered_and_each_put_back() {
    let stage = enter_or_skip!();
    let _place = OwnPlace::new(&stage);
    with_pair(&stage);
    let file = |name: &str| format!("/sys/class/net/{name}/queues/rx-0/rps_cpus");
    let now = || ["near", "far"].map(|name| fs::read_to_string(file(name)).unwrap());
    let is_mask = |mask: &str, wanted: u64| {
        u64::from_str_radix(&mask.trim().replace(',', ""), 16).unwrap() == wanted
    };
    // One of them was steered to the first core.
    fs::write(file("far"), "1\n").unwrap();
    let found = now();
    let home = tempfile::tempdir().unwrap();
    let set = ["local/packet-steering=off,all,as-found"];
    let mut session = session(Journal::at(home.path().join("j")), &set).unwrap();
    assert_eq!((session.found(0), now()), (Some("mixed"), found.clone()));
    session.set(0, 0).unwrap();
    session.verify_all().unwrap();
    assert!(now().iter().all(|mask| is_mask(mask, 0)), "{:?}", now());
    session.set(0, 1).unwrap();
    session.verify_all().unwrap();
    let online = fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    let (_, last) = online.trim().rsplit_once(['-', ',']).unwrap_or(("", online.trim()));
    let cores: u32 = last.parse::<u32>().unwrap() + 1;
    let all = u64::MAX >> (64 - cores.min(64));
    assert!(now().iter().all(|mask| is_mask(mask, all)), "{:?} of {online}", now());
    // Another hand at one of them.
    fs::write(file("near"), "0\n").unwrap();
    let changed = session.verify_all().unwrap_err();
    assert!(changed.to_string().contains("near"), "{changed}");
    session.set(0, 2).unwrap();
    assert_eq!(now(), found);
    session.set(0, 1).unwrap();
    drop(session);
    assert_eq!(now(), found);
    assert!(is_empty(&home.path().join("j")));
    assert_eq!(refused("local/packet-steering=on").cause, Cause::Usage);
}

#[test]
fn offloads_are_set_and_all_that_change_with_them_are_put_back() {
    let stage = enter_or_skip!(Need::Ethtool);
    let _place = OwnPlace::new(&stage);
    with_pair(&stage);
    let home = tempfile::tempdir().unwrap();
    let listed = || said("ethtool -k near");
    let state = |name: &str| {
        let text = listed();
        let line =
            text.lines().find_map(|line| line.trim_start().strip_prefix(&format!("{name}: ")));
        line.unwrap_or_else(|| panic!("{name} in {text}")).to_owned()
    };
    said("ethtool -K near tx-sctp-segmentation off");
    let found = listed();
    let sets = ["local/offload:near:tso=off,on", "local/offload:near:gro=on,off"];
    let mut own = session(Journal::at(home.path().join("j")), &sets).unwrap();
    assert_eq!((own.found(0), listed()), (Some("on"), found.clone()), "tried, and put back");
    own.set(0, 0).unwrap();
    assert_eq!(state("tcp-segmentation-offload"), "off");
    own.set(1, 0).unwrap();
    own.verify_all().unwrap();
    assert_eq!(state("generic-receive-offload"), "on");
    said("ethtool -K near gro off");
    assert!(own.verify_all().is_err(), "another program");
    drop(own);
    assert_eq!(listed(), found);
    // Segmentation needs checksums: it goes with them, and comes back with them.
    let mut own =
        session(Journal::at(home.path().join("j")), &["local/offload:near:tx-checksum=off"])
            .unwrap();
    own.set(0, 0).unwrap();
    assert!(state("tx-tcp-segmentation").starts_with("off"), "{}", listed());
    drop(own);
    assert_eq!(listed(), found);
    assert!(is_empty(&home.path().join("j")));
    let failure = refused("local/offload:near:warp=on");
    assert_eq!(failure.cause, Cause::Usage, "{failure}");
    assert!(
        failure.next.contains("tso") && failure.next.contains("tx-tcp-segmentation"),
        "{failure}"
    );
    let failure = refused("local/offload:near:lro=on");
    assert!(failure.happened.contains("does not let"), "{failure}");
}

/// A network namespace has the table of its machine.
#[test]
fn the_size_of_the_table_of_connections_belongs_to_the_machine() {
    let stage = enter_or_skip!();
    let _place = OwnPlace::new(&stage);
    // Not every kernel tracks connections.
    if fs::metadata("/proc/sys/net/netfilter/nf_conntrack_max").is_err() {
        return;
    }
    let failure = refused("local/conntrack-max=1000");
    assert_eq!(failure.cause, Cause::NotPermitted, "{failure}");
    assert!(failure.happened.contains("is a network namespace"), "{failure}");
    assert!(
        !failure.next.contains("root") && failure.next.contains("virtual machine"),
        "{failure}"
    );
}

#[test]
fn congestion_control_has_a_short_name() {
    let stage = enter_or_skip!();
    let _place = OwnPlace::new(&stage);
    let home = tempfile::tempdir().unwrap();
    let file = "/proc/sys/net/ipv4/tcp_congestion_control";
    let now = || fs::read_to_string(file).unwrap();
    let found = now();
    let mut session =
        session(Journal::at(home.path().join("j")), &["local/congestion=reno,as-found"]).unwrap();
    session.set(0, 0).unwrap();
    assert_eq!(now(), "reno\n");
    drop(session);
    assert_eq!(now(), found);
    let failure = refused("local/congestion=nosuch");
    assert_eq!(failure.cause, Cause::Usage, "{failure}");
    assert!(failure.next.contains("reno"), "{failure}");
}
