//! `plimsoll lab`: labs of namespaces, as a user sees them.

mod support;

mod labs {
    mod facts;
    mod links;
    mod strangers;
}

use plimsoll_testkit::Need;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;
use support::beds::{Beds, of_this_machine};
use support::router::ROUTED;
use support::sound::assert_complete;
use support::{ended, signal, wait_until};

/// Two hosts, and what most tests ask of them.
const PAIR: &str = r#"
[host.a]
kind = "netns"
cpu = "50%"
[host.b]
kind = "netns"
[link.lan]
between = ["a", "b"]
rate = "100Mbit/s"
"#;

fn namespaces() -> bool {
    [Need::Namespaces, Need::Nftables, Need::Ping].into_iter().all(plimsoll_testkit::available)
}

#[test]
fn slips_in_a_lab_file_are_told_before_anything_is_made() {
    if !namespaces() {
        return;
    }
    let beds = Beds::new();
    let refused = |text: &str, words: &[&str]| {
        let file = beds.file("typo", text);
        let ran = beds.lab(&["up", &file]).expect(2);
        for word in words {
            assert!(ran.err.contains(word), "{word} in: {}", ran.err);
        }
        assert!(!beds.directory("typo").exists());
    };
    refused(&PAIR.replace("rate", "rat"), &["typo.toml:9", "unknown key `rat`", "`rate`"]);
    refused(&PAIR.replace(r#""b"]"#, r#""bb"]"#), &["typo.toml:8", "no host `bb`", "`b`"]);
    refused(&PAIR.replace("50%", "50"), &["typo.toml:4", "`50` is not a percentage"]);
    let slow_router = PAIR.replace("cpu =", "forward = true\ncpu =");
    refused(&slow_router, &["typo.toml:5", "interrupts", "slow-router"]);
    let long = PAIR.replace("link.lan", "link.abcdefghijklmnop");
    refused(&long, &["typo.toml:7", "has 16 characters", "at most 15"]);
    refused("", &["missing key `host`"]);
    let ran = beds.lab(&["up", "ruoter"]).expect(2);
    assert!(ran.err.contains("`router`"), "{}", ran.err);
    beds.lab(&["up", "/nowhere/lab.toml"]).expect(2);
    let good = beds.file("good", PAIR);
    beds.lab(&["up", &good, "--name", "No Name"]).expect(2);
    assert!(beds.lab(&["down", "nothing"]).expect(2).err.contains("no lab of this name"));
    beds.lab(&["exec", "nothing/a", "--", "true"]).expect(2);
    assert_eq!(beds.lab(&["status"]).expect(0).out, "no lab is running\n");
    let found = beds.lab(&["doctor", "--json"]).expect(0).out;
    let found: serde_json::Value = serde_json::from_str(&found).unwrap();
    let says = |what: &str| found.as_array().unwrap().iter().find(|f| f["what"] == what).unwrap();
    assert_eq!(says("root")["good"], true);
    assert!(says("kvm")["found"].as_str().is_some_and(|word| !word.is_empty()));
}

#[test]
fn a_lab_goes_up_is_entered_and_goes_down() {
    if !namespaces() {
        return;
    }
    let beds = Beds::new();
    let before = of_this_machine();
    let file = beds.file("pair", PAIR);
    beds.lab(&["up", &file]).expect(0);
    let traces = beds.traces("pair");
    assert!(traces.processes.len() >= 4 && traces.namespaces.len() == 2, "{traces:?}");
    assert_eq!(of_this_machine(), before, "nothing of it is in this machine's own namespaces");

    let status = beds.lab(&["status", "--json"]).expect(0).out;
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    assert_eq!(status[0]["state"], "up");
    assert_eq!(status[0]["hosts"]["b"]["addresses"]["lan"], "10.77.1.2");
    assert!(beds.lab(&["status"]).expect(0).out.contains("stutters"), "a quota is no slow CPU");

    assert_eq!(beds.on("pair/a", "hostname; hostname -I").trim(), "a\n10.77.1.1");
    assert!(beds.on("pair/a", "ping -c 1 -W 5 b").contains("10.77.1.2"));
    beds.lab(&["exec", "pair/a", "--", "/bin/sh", "-c", "exit 37"]).expect(37);
    let words = beds.lab(&["exec", "pair/a", "--", "printf", "%s|", "a b", "$HOME", "'"]).expect(0);
    assert_eq!(words.out, "a b|$HOME|'|");
    let mut cat = beds.program.command(&["lab", "exec", "lab://pair/b", "--", "cat"]);
    let mut cat = cat.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    cat.stdin.take().unwrap().write_all(b"through and back").unwrap();
    assert_eq!(ended(cat).expect(0).out, "through and back");
    assert!(beds.lab(&["exec", "pair/bb", "--", "true"]).expect(2).err.contains("`b`"));

    // Its share of a core is set, and what is led inside has it, too.
    let limit = |group: &std::path::Path| {
        let v1 = fs::read_to_string(group.join("cpu.cfs_quota_us"));
        v1.or_else(|_| fs::read_to_string(group.join("cpu.max"))).unwrap()
    };
    assert!(limit(&traces.groups[0]).starts_with("2500"));
    let name = traces.groups[0].file_name().unwrap().to_str().unwrap();
    assert!(beds.on("pair/a", "cat /proc/self/cgroup").contains(name));
    beds.lab(&["set", "pair", "a", "cpu=20%"]).expect(0);
    assert!(limit(&traces.groups[0]).starts_with("1000"));
    assert!(beds.lab(&["set", "pair", "lan", "rte=1Gbit/s"]).expect(2).err.contains("`rate`"));

    let again = beds.lab(&["up", &file]).expect(2);
    assert!(again.err.contains("a lab of this name is up"), "{}", again.err);
    beds.lab(&["down", "pair"]).expect(0);
    traces.are_gone();
    assert_eq!(of_this_machine(), before);
}

#[test]
fn a_signal_ends_a_command_on_a_host_in_order() {
    if !namespaces() {
        return;
    }
    let beds = Beds::new();
    beds.lab(&["up", &beds.file("pair", PAIR)]).expect(0);
    let trap = |name: &str| {
        format!(
            "trap 'sleep 0.2; echo cleaned; exit 7' {name}; echo ready; while :; do sleep 0.05; done"
        )
    };
    let plain = "echo ready; exec sleep 600".to_owned();
    // Ctrl-C comes to the whole group, the request to end to this program alone.
    for (name, group, line, out, code) in [
        ("INT", "-", trap("INT"), "ready\ncleaned\n", 7),
        ("TERM", "", trap("TERM"), "ready\ncleaned\n", 7),
        ("INT", "-", plain.clone(), "ready\n", 128 + 2),
        ("TERM", "", plain, "ready\n", 128 + 15),
    ] {
        let words = ["lab", "exec", "pair/a", "--", "/bin/sh", "-c", &line];
        let mut command = beds.program.command(&words);
        let mut child = command.process_group(0).stdout(Stdio::piped()).spawn().unwrap();
        let (mut said, mut seen) = (BufReader::new(child.stdout.take().unwrap()), String::new());
        said.read_line(&mut seen).unwrap();
        let to = format!("{group}{}", child.id());
        assert!(Command::new("kill").args(["-s", name, "--", &to]).status().unwrap().success());
        said.read_to_string(&mut seen).unwrap();
        assert_eq!((&*seen, ended(child).code), (out, Some(code)), "{name}: {line}");
    }
}

#[test]
fn a_share_of_a_core_is_set_on_a_host_that_had_none() {
    if !namespaces() {
        return;
    }
    let beds = Beds::new();
    beds.lab(&["up", &beds.file("free", &PAIR.replace("cpu = \"50%\"\n", ""))]).expect(0);
    let before = beds.on("free/b", "sleep 600 >/dev/null 2>&1 & echo $!");
    beds.lab(&["set", "free", "b", "cpu=20%"]).expect(0);
    // What runs is in it, and what is led inside later.
    let own = |pid: &str| beds.on("free/b", &format!("cat /proc/{}/cgroup", pid.trim()));
    let group = own("self");
    let name = group.lines().find_map(|line| line.rsplit_once("/plimsoll-lab-")).expect(&group).1;
    assert!(own(&before).contains(name) && own("1").contains(name), "{group}");
    assert!(name.ends_with("-b"), "{name}");
    let traces = beds.traces("free");
    let path = traces.groups.iter().find(|path| path.to_string_lossy().ends_with(name)).unwrap();
    let quota = || {
        let v1 = fs::read_to_string(path.join("cpu.cfs_quota_us"));
        v1.or_else(|_| fs::read_to_string(path.join("cpu.max"))).unwrap()
    };
    assert!(quota().starts_with("1000"), "{}", quota());
    assert!(beds.lab(&["status", "free"]).expect(0).out.contains("20% of a core"));
    beds.lab(&["set", "free", "b", "cpu=none"]).expect(0);
    assert!(quota().starts_with("-1") || quota().starts_with("max"), "{}", quota());
    assert!(!beds.lab(&["status", "free"]).expect(0).out.contains("of a core"));
    // Listed with those that can be brought up by name.
    let list = beds.lab(&["list"]).expect(0).out;
    assert!(list.contains("free ") && list.contains("up, 2 hosts"), "{list}");
    for (name, _) in plimsoll_lab::SHIPPED {
        assert!(list.lines().any(|line| line.starts_with(name)), "{name} in: {list}");
    }
    beds.lab(&["down", "free"]).expect(0);
    traces.are_gone();
}

#[test]
fn hosts_of_a_lab_are_hosts_wherever_one_is_taken() {
    if !namespaces() || !plimsoll_testkit::available(Need::Ganesha) {
        return;
    }
    let beds = Beds::new();
    beds.lab(&["up", "router", "--name", "net"]).expect(0);
    let program = env!("CARGO_BIN_EXE_plimsoll");
    let line = format!(
        "PLIMSOLL_DB=/run/studies.db {program} check nfs://wan/srv/data --pattern=random-read \
         --size=16MiB --repeats=2 --time=1s --baseline=0s --quiet"
    );
    assert!(beds.on("net/lan", &line).contains("random read"), "the share behind the router");

    let device = beds.program.run(&["device", "lab://net/wan", "--only=inventory", "-q"]).expect(0);
    assert!(device.out.contains("outer"), "its own interface in: {}", device.out);
    let plain = tempfile::tempdir().unwrap();
    let words = ["check", plain.path().to_str().unwrap(), "--host=lab://net/wan"];
    let short = ["--pattern=random-read", "--size=16MiB", "--repeats=2", "--time=1s"];
    let short = [&short[..], &["--baseline=0s", "-q"]].concat();
    beds.program.run(&[&words[..], &short[..]].concat()).expect(0);
    let study = beds.program.latest();
    assert_complete(&study);
    assert!(study.trials.iter().all(|t| t.loads.iter().any(|l| l.host == *"lab://net/wan")));
    let unknown = beds.program.run(&["device", "lab://net/wam", "-q"]).expect(2);
    assert!(unknown.err.contains("`wan`"), "{}", unknown.err);
}

#[test]
fn rules_are_loaded_or_the_lab_is_not_there() {
    if !namespaces() {
        return;
    }
    let beds = Beds::new();
    let text = |rules: &str| {
        let forward = "forward = true\n";
        ROUTED.replacen(forward, &format!("{forward}rules = '''{rules}'''\n"), 1)
    };
    let rules = "table inet r { chain f { type filter hook forward priority 0; \
                 ct state new counter\nip protocol icmp counter drop\n}\n}\n";
    beds.lab(&["up", &beds.file("ruled", &text(rules))]).expect(0);
    let listed = beds.on("ruled/router", "nft list ruleset");
    assert!(listed.contains("icmp") && listed.contains("counter"), "{listed}");
    beds.on("ruled/router", "ping -c 1 -W 5 lan");
    let lost = ["exec", "ruled/lan", "--", "ping", "-c", "1", "-W", "1", "wan"];
    beds.lab(&lost).expect(1);
    let counted = beds.on("ruled/router", "nft list ruleset");
    assert!(counted.contains("packets 1 bytes 84 drop"), "the rule has counted it: {counted}");
    beds.on("ruled/router", "nft flush ruleset");
    beds.on("ruled/lan", "ping -c 1 -W 5 wan");

    let failed = beds.lab(&["up", &beds.file("wrong", &text("table inet r { chian }"))]).expect(1);
    assert!(failed.err.contains("syntax error"), "nft's own word: {}", failed.err);
    assert!(!beds.directory("wrong").exists());
    assert_eq!(beds.on("ruled/wan", "hostname").trim(), "wan", "another lab is untouched");
}

#[test]
fn a_switch_joins_three_and_samba_serves_them() {
    if !namespaces()
        || !plimsoll_testkit::available(Need::Samba)
        || !plimsoll_testkit::available(Need::Smbclient)
    {
        return;
    }
    let beds = Beds::new();
    let file = beds.file(
        "three",
        r#"
[host.nas]
kind = "netns"
[host.nas.disk.data]
size = "64MiB"
at = "/srv/data"
[host.nas.samba]
user = "ann"
password = "it's a secret"
[[host.nas.samba.share]]
name = "films"
path = "/srv/data"
[host.b]
kind = "netns"
[host.c]
kind = "netns"
[link.lan]
between = ["nas", "b", "c"]
rate = "1Gbit/s"
"#,
    );
    beds.lab(&["up", &file]).expect(0);
    let traces = beds.traces("three");
    assert_eq!(traces.namespaces.len(), 4, "of three hosts and a switch");
    for line in ["ping -c 1 -W 5 c", "ping -c 1 -W 5 nas"] {
        beds.on("three/b", line);
    }
    beds.on("three/nas", "echo reel >/srv/data/film");
    let line = "PASSWD=\"it's a secret\" smbclient -U ann //nas/films -c 'get film /run/film' && \
                cat /run/film";
    assert!(beds.on("three/c", line).ends_with("reel\n"));
    beds.lab(&["down", "three"]).expect(0);
    traces.are_gone();
}

#[test]
fn a_delay_is_there_or_is_refused_in_words() {
    if !namespaces() {
        return;
    }
    let beds = Beds::new();
    let file = beds.file("far", &PAIR.replace("rate = \"100Mbit/s\"", "delay = \"20ms\""));
    let ran = beds.lab(&["up", &file]);
    if ran.code == Some(0) {
        assert!(beds.on("far/a", "tc qdisc show dev lan").contains("delay 20ms"));
    } else {
        assert!(ran.expect(2).err.contains("This kernel has no netem"));
        assert!(!beds.directory("far").exists());
    }
}

#[test]
fn whatever_is_killed_goes_down_without_a_trace() {
    if !namespaces() {
        return;
    }
    let beds = Beds::new();
    let file = beds.file("pair", PAIR);
    beds.lab(&["up", &file, "--name", "other"]).expect(0);
    let (other, before) = (beds.traces("other"), of_this_machine());

    // Everything that runs, at once.
    beds.lab(&["up", &file]).expect(0);
    let mut command = beds.program.command(&["lab", "exec", "pair/a", "--", "sleep", "600"]);
    let mut inside = command.spawn().unwrap();
    let traces = beds.traces("pair");
    let numbers: Vec<String> = traces.processes.iter().map(u32::to_string).collect();
    // Some are gone with others before their turn comes.
    Command::new("kill").arg("-KILL").args(&numbers).stderr(Stdio::null()).status().unwrap();
    wait_until("the command has ended with its host", || inside.try_wait().unwrap().is_some());
    assert!(beds.lab(&["status", "pair"]).expect(0).out.contains("broken"));
    let dead = beds.lab(&["exec", "pair/a", "--", "true"]).expect(3);
    assert!(dead.err.contains("it has stopped"), "{}", dead.err);
    beds.lab(&["down", "pair"]).expect(0);
    traces.are_gone();

    // `lab up` under way, at moments spread over its course.
    for number in 0..12_u64 {
        let mut up = beds.program.start(&["lab", "up", &file, "--quiet"]);
        std::thread::sleep(Duration::from_millis(number * 25));
        let _ = up.kill();
        up.wait().unwrap();
        let traces = beds.traces("pair");
        if beds.directory("pair").exists() {
            beds.lab(&["down", "pair"]).expect(0);
        }
        traces.are_gone();
    }

    assert_eq!(beds.traces("other").processes, other.processes, "another lab is untouched");
    assert_eq!(beds.on("other/a", "ping -c 1 -W 5 b >/dev/null; echo $?").trim(), "0");
    assert_eq!(of_this_machine(), before);
}

#[test]
fn a_number_that_another_process_has_now_is_spared() {
    if !namespaces() {
        return;
    }
    let beds = Beds::new();
    beds.lab(&["up", &beds.file("pair", PAIR)]).expect(0);
    let mut stranger = Command::new("sleep").arg("600").spawn().unwrap();
    let traces = beds.traces("pair");
    let path = beds.directory("pair").join("bed.json");
    let mut bed: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let listed = bed["holders"]["a"]["processes"].as_array_mut().unwrap();
    let mut wrong = listed[0].clone();
    wrong["pid"] = stranger.id().into();
    listed.push(wrong);
    fs::write(&path, bed.to_string()).unwrap();
    beds.lab(&["down", "pair"]).expect(0);
    traces.are_gone();
    assert!(stranger.try_wait().unwrap().is_none(), "a stranger was killed");
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

/// It may be lost where the machine crashed or its disk was full, or be of another version.
#[test]
fn a_lab_goes_down_whatever_is_written_of_it() {
    if !namespaces() {
        return;
    }
    let beds = Beds::new();
    let file = beds.file("pair", PAIR);
    beds.lab(&["up", &file, "--name", "other"]).expect(0);
    let other = beds.traces("other");
    let written = beds.directory("pair").join("bed.json");
    let mark = beds.directory("pair").join("mark");
    let newer = |bed: &str| bed.replacen("\"kind\"", "\"invented\": 1, \"kind\"", 1);
    let half = |bed: &str| bed[..bed.len() / 2].to_owned();
    for (what, has_mark) in [("newer", true), ("half", true), ("garbage", true), ("garbage", false)]
    {
        let spoil = |bed: &str| match what {
            "newer" => newer(bed),
            "half" => half(bed),
            _ => "\0\u{1}{{{".to_owned(),
        };
        beds.lab(&["up", &file]).expect(0);
        let traces = beds.traces("pair");
        assert!(!traces.processes.is_empty() && !traces.groups.is_empty());
        fs::write(&written, spoil(&fs::read_to_string(&written).unwrap())).unwrap();
        if !has_mark {
            fs::remove_file(&mark).unwrap();
        }
        let status = beds.lab(&["status", "pair"]).expect(2);
        assert!(status.err.contains("plimsoll lab down pair"), "{}", status.err);
        beds.lab(&["down", "pair"]).expect(0);
        traces.are_gone();
    }

    // Groups are called after a mark that nothing tells any more: they are named.
    beds.lab(&["up", &file]).expect(0);
    let traces = beds.traces("pair");
    fs::write(&written, "{").unwrap();
    fs::write(&mark, "****************").unwrap();
    for pid in &traces.processes {
        let mut kill = Command::new("kill");
        // Some are gone with others before their turn comes.
        kill.args(["-KILL", &pid.to_string()]).stderr(Stdio::null()).status().unwrap();
    }
    // One that is still ending tells the mark by its environment.
    let alive = |pid: &u32| std::path::Path::new(&format!("/proc/{pid}")).exists();
    wait_until("all are gone", || !traces.processes.iter().any(alive));
    let group = traces.groups[0].to_str().unwrap();
    let ran = beds.lab(&["down", "pair"]).expect(1);
    let orders = ran.err.split_once("rmdir ").unwrap().1;
    assert!(orders.contains(group), "{group} in {}", ran.err);
    assert!(!other.groups.iter().any(|other| ran.err.contains(other.to_str().unwrap())));
    fs::remove_dir(group).unwrap();
    let last = format!("rm -r {}", beds.directory("pair").display());
    assert!(orders.contains(&last), "{}", ran.err);
    fs::remove_dir_all(beds.directory("pair")).unwrap();
    traces.are_gone();
    assert_eq!(beds.traces("other").processes, other.processes, "another lab is untouched");
}

/// Packages that never come are not waited for.
#[test]
fn ctrl_c_ends_the_making_of_an_image() {
    if !namespaces() || !plimsoll_testkit::available(Need::Machines) {
        return;
    }
    let beds = Beds::new();
    let cache = beds.program.home().join("cache");
    let deaf = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let file = beds.file("slow", "[host.a]\nkind = \"vm\"\n");
    let mut up = beds.program.command(&["lab", "up", &file, "--quiet"]);
    up.env("PLIMSOLL_LAB_CACHE", &cache);
    up.env("PLIMSOLL_LAB_MIRROR", format!("http://{}", deaf.local_addr().unwrap()));
    let mut up = up.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // apt has come to ask for packages.
    let (_never_answered, _) = deaf.accept().unwrap();
    signal(&up, "-INT");
    wait_until("it ends", || up.try_wait().unwrap().is_some());
    let ran = ended(up).expect(130);
    assert!(ran.err.contains("interrupted"), "{}", ran.err);
    assert!(!beds.directory("slow").exists());
    let lock = fs::File::create(cache.join("lock")).unwrap();
    wait_until("nobody makes it any more", || lock.try_lock().is_ok());
}

#[test]
fn ctrl_c_takes_down_what_is_there_of_it() {
    if !namespaces() {
        return;
    }
    let beds = Beds::new();
    let hosts: String = (0..16).map(|n| format!("[host.h{n}]\nkind = \"netns\"\n")).collect();
    let file = beds.file("many", &hosts);
    let up = beds.program.start(&["lab", "up", &file, "--quiet"]);
    wait_until("a host is there", || beds.traces("many").processes.len() > 2);
    let traces = beds.traces("many");
    signal(&up, "-INT");
    let ran = ended(up).expect(130);
    assert!(ran.err.contains("interrupted"), "{}", ran.err);
    traces.are_gone();
}

#[test]
fn the_example_on_the_page_is_a_lab() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/lab.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, example) = page.split_once("```toml\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let plan = plimsoll_lab::Plan::read(example, "docs/lab.md").unwrap();
    assert!(plan.hosts.len() >= 5 && plan.links.len() >= 3);
}
