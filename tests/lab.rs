//! `plimsoll lab`: labs of namespaces, as a user sees them.

mod support;

use lab::Need;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;
use support::beds::{Beds, goodput, of_this_machine};
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
    [Need::Namespaces, Need::Nftables, Need::Ping].into_iter().all(lab::available)
}

#[test]
fn slips_in_a_lab_file_are_told_before_anything_is_made() {
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
    refused(&PAIR.replace("50%", "50"), &["typo.toml:4", "`50` is no share"]);
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
    assert_eq!(beds.lab(&["status"]).expect(0).out, "no lab is up\n");
    let found = beds.lab(&["doctor", "--json"]).expect(0).out;
    let found: serde_json::Value = serde_json::from_str(&found).unwrap();
    let root = nix::unistd::geteuid().is_root();
    let says = |what: &str| found.as_array().unwrap().iter().find(|f| f["what"] == what).unwrap();
    assert_eq!(says("root")["good"], root);
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

/// What is set is what is asked for, on both ends, and what is sent goes through it. What comes of
/// that on a quiet machine: `measure_links`.
#[test]
fn links_are_shaped_as_they_are_asked_to_be() {
    if !namespaces() {
        return;
    }
    let beds = Beds::new();
    let text = PAIR.replace("cpu = \"50%\"\n", "").replace("link.lan", "link.abcdefghijklmno");
    let file = beds.file("rates", &text);
    beds.lab(&["up", &file]).expect(0);
    let shaping = |host: &str| -> serde_json::Value {
        let line = "tc -s -j qdisc show dev abcdefghijklmno";
        serde_json::from_str(&beds.on(&format!("rates/{host}"), line)).unwrap()
    };
    // Bits per second; `None`: nothing shapes it.
    let rates = || {
        ["a", "b"].map(|host| {
            let all = shaping(host);
            let tbf = all.as_array().unwrap().iter().find(|one| one["kind"] == "tbf").cloned()?;
            assert_eq!(tbf["root"], true, "all goes through it: {tbf}");
            Some(tbf["options"]["rate"].as_u64().unwrap() * 8)
        })
    };
    let set = |change: &str| beds.lab(&["set", "rates", "abcdefghijklmno", change]).expect(0);
    assert_eq!(rates(), [Some(100_000_000); 2]);
    beds.on("rates/a", "ping -q -c 10 -i 0.01 -s 1000 -W 5 b");
    for host in ["a", "b"] {
        let sent = shaping(host)[0]["bytes"].as_u64().unwrap();
        assert!(sent >= 10_000, "what {host} sends goes through it: {sent} B");
    }
    set("rate=1gbit");
    assert_eq!(rates(), [Some(1_000_000_000); 2]);
    let bytes = set("rate=1Gbps");
    assert!(bytes.err.contains("1Gbps is 8Gbit/s: as in tc"), "{}", bytes.err);
    assert_eq!(rates(), [Some(8_000_000_000); 2]);
    set("rate.a=20Mbit/s");
    assert_eq!(rates(), [Some(20_000_000), Some(8_000_000_000)]);
    set("rate.b=none");
    assert_eq!(rates(), [Some(20_000_000), None]);
    let status = beds.lab(&["status", "rates"]).expect(0).out;
    assert!(status.contains("20Mbit/s from a") && !status.contains("from b"), "{status}");
    beds.lab(&["set", "rates", "abcdefghijklmno", "rate.c=1Mbit"]).expect(2);
    set("rate=none");
    assert_eq!(rates(), [None; 2]);
}

/// What TCP makes of the rates. Other work on the machine takes its part of that.
#[test]
#[ignore = "wants a quiet machine: make measure-links"]
fn measure_links() {
    if !namespaces() || !lab::available(Need::Python) {
        return;
    }
    let beds = Beds::new();
    let file = beds.file("rates", &PAIR.replace("cpu = \"50%\"\n", ""));
    beds.lab(&["up", &file]).expect(0);
    for (rate, bits) in [("100Mbit/s", 100e6), ("1Gbit/s", 1e9)] {
        beds.lab(&["set", "rates", "lan", &format!("rate={rate}")]).expect(0);
        let carried = goodput(&beds, "rates", "a", "b");
        println!("{rate}: {:.1}% in TCP", carried / bits * 100.0);
        assert!((0.8..1.0).contains(&(carried / bits)), "{carried} of {bits}");
    }
    beds.lab(&["set", "rates", "lan", "rate=none"]).expect(0);
    let free = goodput(&beds, "rates", "a", "b");
    println!("unshaped: {:.1} Gbit/s", free / 1e9);
    assert!(free > 1.3e9, "{free}: without shaping it is faster");
}

#[test]
fn routes_lead_over_several_routers_and_what_has_none_is_named() {
    if !namespaces() {
        return;
    }
    let beds = Beds::new();
    let host = |name: &str, more: &str| format!("[host.{name}]\nkind = \"netns\"\n{more}\n");
    let link = |name: &str, more: &str| format!("[link.{name}]\nbetween = {more}\n");
    let text = [
        host("a", "gateway = \"r1\""),
        host("b", ""),
        host("island", ""),
        host("r1", "forward = true"),
        host("r2", "forward = true"),
        host("r3", "forward = true"),
        link("one", "[\"a\", \"r1\"]"),
        link("two", "[\"r1\", \"r2\", \"r3\"]\nmtu = 1400"),
        link("three", "[\"r2\", \"r3\", \"b\"]"),
    ];
    let up = beds.lab(&["up", &beds.file("far", &text.concat())]).expect(0);
    let apart = "No way leads from island to r1, r2, r3, or back.";
    assert!(up.out.contains(apart) && up.out.contains("from a to island"), "{}", up.out);
    assert!(!up.out.contains("from a to b") && !up.out.contains("from r1"), "{}", up.out);
    beds.on("far/a", "ping -q -c 1 -W 5 b");
    beds.on("far/b", "ping -q -c 1 -W 5 a");
    let by = |lab: &str| beds.on(&format!("{lab}/r1"), "ip route get 10.77.2.3");
    assert!(by("far").contains("via 10.77.3.2"), "the shortest, the first of two: {}", by("far"));

    // 28 bytes are headers. A longer one does not go out whole.
    beds.on("far/r1", "ping -q -c 1 -W 5 -M do -s 1372 r3");
    let long =
        ["exec", "far/r1", "--", "ping", "-c", "1", "-W", "1", "-M", "do", "-s", "1373", "r3"];
    beds.lab(&long).expect(1);
    for host in ["r1", "r2", "r3"] {
        beds.lab(&["exec", &format!("far/{host}"), "--", "ip", "link", "show", "two"]).expect(0);
    }
    beds.lab(&["set", "far", "two", "mtu=9000"]).expect(0);
    beds.on("far/r1", "ping -q -c 1 -W 5 -M do -s 8972 r3");
    beds.lab(&["set", "far", "two", "mtu=none"]).expect(0);
    assert!(beds.on("far/r1", "cat /sys/class/net/two/mtu").trim() == "1500");

    let given = text.concat().replacen("[host.r1]\n", "[host.r1]\nroute = { three = \"r3\" }\n", 1);
    beds.lab(&["up", &beds.file("given", &given)]).expect(0);
    assert!(by("given").contains("via 10.77.3.3"), "{}", by("given"));
    beds.on("given/a", "ping -q -c 1 -W 5 b");
}

#[test]
fn what_a_lab_was_is_kept_with_each_study_and_compared() {
    if !namespaces() {
        return;
    }
    let beds = Beds::new();
    let file = beds.file("pair", &PAIR.replace("cpu = \"50%\"\n", ""));
    beds.lab(&["up", &file]).expect(0);
    let target = tempfile::tempdir().unwrap();
    let measure = || {
        let words = ["check", target.path().to_str().unwrap(), "--host=lab://pair/a"];
        let short = ["--pattern=random-read", "--size=16MiB", "--repeats=1", "--time=1s", "-q"];
        beds.program.run(&[&words[..], &short[..]].concat()).expect(0);
        let study = beds.program.latest();
        let lab = study.hosts.iter().find_map(|host| host.lab.clone()).unwrap();
        assert_eq!(lab.name, "pair");
        (study.id.0, lab.settings)
    };
    let (first, was) = measure();
    assert_eq!(was["link lan rate"], "100Mbit/s");
    assert_eq!(was["link lan between"], "a, b");
    let (same, _) = measure();
    beds.lab(&["set", "pair", "lan", "rate=1Mbit/s", "mtu=1400"]).expect(0);
    let (second, is) = measure();
    assert_eq!(is["link lan rate"], "1Mbit/s");
    let equal = beds.program.run(&["compare", &first, &same]).expect(0).out;
    assert!(!equal.contains("lab"), "{equal}");
    let compared = beds.program.run(&["compare", &first, &second]).expect(0).out;
    assert!(compared.contains("link lan rate: 100Mbit/s, then 1Mbit/s"), "{compared}");
    assert!(compared.contains("link lan mtu: none, then 1400"), "{compared}");
}

/// The cache in use, not another one; and KVM is tried, for its device says little.
#[test]
fn the_doctor_looks_at_the_cache_in_use_and_tries_kvm() {
    let beds = Beds::new();
    let findings = |cache: &std::path::Path| -> serde_json::Value {
        let mut command = beds.program.command(&["lab", "doctor", "--json"]);
        let ran: support::Ran = command.env("PLIMSOLL_LAB_CACHE", cache).output().unwrap().into();
        serde_json::from_str(&ran.expect(0).out).unwrap()
    };
    let says = |found: &serde_json::Value, what: &str| {
        found.as_array().unwrap().iter().find(|one| one["what"] == what).unwrap().clone()
    };
    let cache = beds.program.home().join("not/made/yet");
    let found = findings(&cache);
    let disk = says(&found, "disk");
    assert!(disk["found"].as_str().unwrap().contains(cache.to_str().unwrap()), "{disk}");
    let kvm = says(&found, "kvm");
    let word = kvm["found"].as_str().unwrap().to_owned();
    let device = fs::File::options().read(true).write(true).open("/dev/kvm").is_ok();
    let signs: &[&str] = match (device, lab::available(Need::Machines)) {
        (true, true) => &["ran under it", "hung under it"],
        (true, false) => &["cannot start a guest"],
        (false, _) => &["/dev/kvm: "],
    };
    assert!(signs.iter().any(|sign| word.contains(sign)), "{word}");
    assert_eq!(kvm["good"], word.contains("ran under it"), "{kvm}");
    assert!(!cache.exists(), "nothing is changed");
    // What was found out with a whole machine is known.
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    fs::create_dir_all(&cache).unwrap();
    fs::write(cache.join("kvm"), format!("{} hangs\n", boot.trim())).unwrap();
    if device {
        let known = says(&findings(&cache), "kvm");
        assert!(known["found"].as_str().unwrap().contains("a machine hung"), "{known}");
    }
    let file = beds.program.home().join("file");
    fs::write(&file, "").unwrap();
    assert_eq!(says(&findings(&file), "disk")["good"], false, "no place for images");
}

#[test]
fn hosts_of_a_lab_are_hosts_wherever_one_is_taken() {
    if !namespaces() || !lab::available(Need::Ganesha) {
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
    let short = ["--pattern=random-read", "--size=16MiB", "--repeats=2", "--time=1s", "-q"];
    beds.program.run(&[&words[..], &short[..]].concat()).expect(0);
    let study = beds.program.latest();
    assert!(study.trials.iter().all(|t| t.loads.iter().any(|l| l.host == "lab://net/wan")));
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
        format!(
            "[host.wan]\nkind = \"netns\"\ngateway = \"router\"\n\
             [host.router]\nkind = \"netns\"\nforward = true\nrules = '''{rules}'''\n\
             [host.lan]\nkind = \"netns\"\ngateway = \"router\"\n\
             [link.outer]\nbetween = [\"wan\", \"router\"]\n\
             [link.inner]\nbetween = [\"router\", \"lan\"]\n"
        )
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
    if !namespaces() || !lab::available(Need::Samba) || !lab::available(Need::Smbclient) {
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
    assert!(dead.err.contains("it has died"), "{}", dead.err);
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
    let group = traces.groups[0].to_str().unwrap();
    let processes = || fs::read_to_string(traces.groups[0].join("cgroup.procs")).unwrap();
    wait_until("the group is empty", || processes().is_empty());
    let ran = beds.lab(&["down", "pair"]).expect(1);
    let orders = ran.err.split_once("rmdir ").unwrap().1;
    assert!(orders.contains(group), "{group} in {}", ran.err);
    assert!(!other.groups.iter().any(|other| ran.err.contains(other.to_str().unwrap())));
    fs::remove_dir(group).unwrap();
    let alive = |pid: &u32| std::path::Path::new(&format!("/proc/{pid}")).exists();
    wait_until("all are gone", || !traces.processes.iter().any(alive));
    let last = format!("rm -r {}", beds.directory("pair").display());
    assert!(orders.contains(&last), "{}", ran.err);
    fs::remove_dir_all(beds.directory("pair")).unwrap();
    traces.are_gone();
    assert_eq!(beds.traces("other").processes, other.processes, "another lab is untouched");
}

/// Packages that never come are not waited for.
#[test]
fn ctrl_c_ends_the_making_of_an_image() {
    if !namespaces() || !lab::available(Need::Machines) {
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
    let plan = lab::bed::Plan::read(example, "docs/lab.md").unwrap();
    assert!(plan.hosts.len() >= 5 && plan.links.len() >= 3);
}

/// What Samba runs in a namespace runs as root of this machine.
#[test]
fn a_lab_file_of_a_stranger_runs_nothing_here() {
    if !namespaces() || !lab::available(Need::Samba) || !lab::available(Need::Smbclient) {
        return;
    }
    let beds = Beds::new();
    let trace = beds.program.home().join("trace");
    let line = format!("root preexec = touch {}", trace.display());
    let text = format!(
        "[host.a]\nkind = \"netns\"\n[host.a.disk.data]\nsize = \"16MiB\"\nat = \"/srv/data\"\n\
         [[host.a.samba.share]]\nname = \"data\"\npath = \"/srv/data\"\n\
         lines = [\"strict sync = no\", \"{line}\"]\n"
    );
    let file = beds.file("gift", &text);
    let ran = beds.lab(&["up", &file]).expect(2);
    assert!(ran.err.contains(&format!("gift.toml:9: `{line}`")), "{}", ran.err);
    assert!(ran.err.contains("--trust") && !ran.err.contains("strict sync"), "{}", ran.err);
    assert!(!beds.directory("gift").exists());

    // Agreed to, it does what it says: so it is this that is refused.
    let connect = "smbclient -U plimsoll%plimsoll //127.0.0.1/data -c ls";
    beds.lab(&["up", &file, "--trust"]).expect(0);
    assert!(!trace.exists());
    beds.on("gift/a", connect);
    assert!(trace.exists());
    beds.lab(&["down", "gift"]).expect(0);
    fs::remove_file(&trace).unwrap();

    // At a terminal it is asked about, and nothing else than yes is taken for it.
    let program = env!("CARGO_BIN_EXE_plimsoll");
    let labs = beds.directory("");
    for (answer, code) in [("n", "2"), ("", "2"), ("y", "0")] {
        let script = format!(
            "echo {answer} | PLIMSOLL_LABS={} script -qec '{program} lab up {file}' /dev/null; echo end $?",
            labs.display()
        );
        let said =
            Command::new("bash").args(["-c", &format!("set -o pipefail; {script}")]).output();
        let said = String::from_utf8_lossy(&said.unwrap().stdout).into_owned();
        assert!(said.contains("[y/N]") && said.contains(&line), "{said}");
        assert!(said.trim_end().ends_with(&format!("end {code}")), "{answer}: {said}");
    }
    beds.lab(&["down", "gift"]).expect(0);
}

/// Passwords and disks are in it.
#[test]
fn what_a_lab_writes_down_is_nobody_elses() {
    if !namespaces() {
        return;
    }
    use std::os::unix::fs::PermissionsExt;
    let beds = Beds::new();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    // Left by somebody with other habits.
    fs::create_dir_all(beds.directory("pair")).unwrap();
    fs::set_permissions(beds.directory("pair"), fs::Permissions::from_mode(0o755)).unwrap();
    beds.lab(&["up", &beds.file("pair", PAIR)]).expect(0);
    assert_eq!(mode(&beds.directory("pair")), 0o700);
    for entry in fs::read_dir(beds.directory("pair")).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path) & 0o077, 0, "{}", path.display());
    }
    beds.lab(&["down", "pair"]).expect(0);

    // Not in a directory of another user's, or where a link leads.
    fs::create_dir(beds.directory("pair")).unwrap();
    std::os::unix::fs::chown(beds.directory("pair"), Some(65534), None).unwrap();
    let file = beds.file("pair", PAIR);
    let ran = beds.lab(&["up", &file]).expect(5);
    assert!(ran.err.contains("another user"), "{}", ran.err);
    fs::remove_dir(beds.directory("pair")).unwrap();
    std::os::unix::fs::symlink(beds.program.home(), beds.directory("pair")).unwrap();
    assert!(beds.lab(&["up", &file]).expect(5).err.contains("no directory"));
    fs::remove_file(beds.directory("pair")).unwrap();

    // The usual place too, in a /run of its own: made, corrected, and refused.
    let in_own_run = |before: &str| {
        let program = env!("CARGO_BIN_EXE_plimsoll");
        let script = format!(
            "mount -t tmpfs run /run && {before} && {program} lab up {file} --quiet >/dev/null && \
             stat -c %a /run/plimsoll /run/plimsoll/lab /run/plimsoll/lab/pair && {program} lab down pair"
        );
        let mut unshare = Command::new("unshare");
        unshare.args(["--mount", "/bin/sh", "-c", &script]).env_remove("PLIMSOLL_LABS");
        support::Ran::from(unshare.output().unwrap())
    };
    assert_eq!(in_own_run("true").expect(0).out, "700\n700\n700\n");
    assert_eq!(in_own_run("mkdir -p -m 777 /run/plimsoll/lab").expect(0).out, "700\n700\n700\n");
    for bad in ["install -d -o 65534 /run/plimsoll", "mkdir /run/x; ln -s x /run/plimsoll"] {
        assert!(in_own_run(bad).expect(5).err.contains("make a private directory"), "{bad}");
    }
}

#[test]
fn whoever_is_not_root_has_one_message() {
    if !namespaces() {
        return;
    }
    let beds = Beds::new();
    let file = beds.file("pair", PAIR);
    beds.lab(&["up", &file]).expect(0);
    // The program and what it needs, where anybody may read it.
    let place = tempfile::tempdir_in("/tmp").unwrap();
    let open = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode;
    fs::set_permissions(place.path(), open(0o755)).unwrap();
    let program = place.path().join("plimsoll");
    fs::copy(env!("CARGO_BIN_EXE_plimsoll"), &program).unwrap();
    let mut said = std::collections::BTreeSet::new();
    for words in [
        &["lab", "up", "router"][..],
        &["lab", "down", "pair"],
        &["lab", "status"],
        &["lab", "status", "pair"],
        &["lab", "exec", "pair/a", "--", "true"],
        &["lab", "shell", "pair/a"],
        &["lab", "set", "pair", "lan", "rate=1Mbit/s"],
        &["lab", "reset", "pair/a"],
        &["check", "--on", "lab://pair/a", "nfs://b/srv", "-q", "--db=/tmp/none.db"],
        &["check", "/dev/shm", "--host=lab://pair/a", "-q", "--db=/tmp/none.db"],
        &["device", "lab://pair/a", "-q", "--db=/tmp/none.db"],
    ] {
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(&program)
            .args(words);
        command.env("PLIMSOLL_LABS", beds.directory("")).env("HOME", place.path());
        let ran: support::Ran = command.stdin(Stdio::null()).output().unwrap().into();
        let ran = ran.expect(5);
        assert!(ran.err.contains("this is not root"), "{words:?}: {}", ran.err);
        said.insert(ran.err);
    }
    assert_eq!(said.len(), 1, "{said:?}");
    beds.lab(&["down", "pair"]).expect(0);
}
