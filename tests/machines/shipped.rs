//! The labs that plimsoll brings: what their files say is there, by commands inside of them.

use super::super::support::beds::Beds;
use plimsoll_lab::plan::{FileSystem, Host, HostKind, Mount};
use plimsoll_lab::{Plan, SHIPPED};
use plimsoll_testkit::Need;

#[test]
#[ignore = "machines take minutes: make check-machines"]
fn shipped_labs_are_what_their_files_say() {
    if !plimsoll_testkit::available(Need::Machines) || !plimsoll_testkit::available(Need::Mips) {
        return;
    }
    for (name, text) in SHIPPED {
        let plan = Plan::read(text, name).unwrap();
        if plan.hosts.values().any(|host| host.kind == HostKind::Vm) {
            look_at(name, &plan);
        }
    }
}

fn look_at(name: &str, plan: &Plan) {
    let beds = Beds::new();
    let up = beds.lab(&["up", name]).expect(0);
    eprintln!("{}", up.err.lines().last().unwrap_or_default());
    let traces = beds.traces(name);
    let status = beds.lab(&["status", name, "--json"]).expect(0).out;
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    for (host, what) in &plan.hosts {
        let inside = |line: &str| beds.on(&format!("{name}/{host}"), line);
        machine(&inside, what);
        disks(&inside, what);
        exports(&inside, what);
        for link in plan.links.iter().filter(|(_, link)| link.between.contains(host)) {
            let shaped = status[0]["links"][link.0]["shaped_rate"].as_str();
            assert_eq!(shaped.is_some(), link.1.rate.is_some(), "{status}");
            let listed = inside(&format!("tc qdisc show dev {}", link.0));
            // tc writes Mbit where the lab says Mbit/s.
            let rate = shaped.map(|rate| format!(" rate {} ", rate.trim_end_matches("/s")));
            assert_eq!(listed.contains("tbf"), rate.is_some(), "{listed}");
            assert!(listed.contains(rate.as_deref().unwrap_or("")), "{rate:?} in {listed}");
        }
        for mount in &what.mounts {
            let server = &plan.hosts[&mount.from.host];
            let serving = |line: &str| beds.on(&format!("{name}/{}", mount.from.host), line);
            mounted(&inside, &serving, mount, server);
        }
    }
    beds.lab(&["down", name]).expect(0);
    traces.are_gone();
}

fn machine(inside: &dyn Fn(&str) -> String, host: &Host) {
    assert_eq!(inside("nproc").trim(), host.cores.to_string());
    let kib: u32 = inside("awk '/^MemTotal/ { print $2 }' /proc/meminfo").trim().parse().unwrap();
    // The kernel keeps a part for itself.
    let all = host.memory_mib() * 1024;
    assert!((all / 4 * 3..=all).contains(&kib), "{kib} KiB of {all}");
}

fn disks(inside: &dyn Fn(&str) -> String, host: &Host) {
    for (name, disk) in &host.disks {
        let device =
            inside(&format!("awk '$2 == \"{}\" {{ print $1, $3 }}' /proc/mounts", disk.at));
        assert_eq!(device, format!("/dev/mapper/plimsoll-{name} ext4\n"));
        let bytes = inside(&format!("blockdev --getsize64 /dev/mapper/plimsoll-{name}"));
        assert_eq!(bytes.trim(), disk.size.0.to_string());
        let table = inside(&format!("dmsetup table plimsoll-{name}"));
        let milliseconds = disk.latency.map_or(0, |latency| latency.0 / 1000);
        let delay = table.split_whitespace().last().unwrap_or_default();
        assert!(table.contains(" delay ") && delay == milliseconds.to_string(), "{table}");
    }
}

fn exports(inside: &dyn Fn(&str) -> String, host: &Host) {
    let Some(nfsd) = &host.nfsd else { return };
    let threads = inside("cat /proc/fs/nfsd/threads");
    assert_eq!(threads.trim(), nfsd.threads.to_string());
    let versions = inside("cat /proc/fs/nfsd/versions");
    for version in ["2", "3", "4.0", "4.1", "4.2"] {
        let spoken = versions.split_whitespace().any(|word| word == format!("+{version}"));
        let wanted = nfsd.versions.iter().any(|wanted| wanted == version);
        assert_eq!(spoken, wanted, "{version}: {versions}");
    }
    let listed = inside("exportfs -v");
    let listed = listed.replace("\n\t", " ");
    for export in &nfsd.exports {
        let line = listed.lines().find(|line| line.split_whitespace().next() == Some(&export.path));
        let options = line.and_then(|line| line.split_once('(')).map(|(_, options)| options);
        let options: Vec<_> = options.unwrap_or("").trim_end_matches(')').split(',').collect();
        for wanted in export.options.split(',') {
            assert!(options.contains(&wanted), "{wanted} in {listed}");
        }
    }
}

/// Its protocol, and files that go through it.
fn mounted(
    inside: &dyn Fn(&str) -> String,
    serving: &dyn Fn(&str) -> String,
    mount: &Mount,
    server: &Host,
) {
    let at = &mount.at;
    let listed = inside(&format!("awk '$2 == \"{at}\" {{ print $3, $4 }}' /proc/mounts"));
    let (kind, options) = listed.trim().split_once(' ').unwrap();
    let kinds: &[&str] = if mount.fs == FileSystem::Cifs { &["cifs"] } else { &["nfs", "nfs4"] };
    assert!(kinds.contains(&kind), "{listed}");
    for wanted in mount.options.split(',') {
        assert!(options.split(',').any(|option| option == wanted), "{wanted} in {listed}");
    }
    let mut shares = server.samba.iter().flat_map(|samba| &samba.shares);
    let share = shares.find(|share| share.name == mount.from.path).map(|share| &share.path);
    let there = share.unwrap_or(&mount.from.path);
    let file = at.replace('/', "-");
    let sum = inside(&format!(
        "head -c 300000 /dev/urandom >{at}/{file}; sync {at}/{file}; sha256sum <{at}/{file}"
    ));
    assert_eq!(serving(&format!("sha256sum <{there}/{file}")), sum, "{at}");
    serving(&format!("echo from the server >{there}/back{file}"));
    assert_eq!(inside(&format!("cat {at}/back{file}")), "from the server\n");
}
