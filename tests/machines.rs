//! `plimsoll lab` with virtual machines, as a user sees them. They are slow to boot where they are
//! emulated: `make check-machines`.

#[path = "../experiments/kept.rs"]
#[allow(dead_code, reason = "measurements on a quiet machine use the rest")]
mod kept;
mod support;

mod machines {
    mod connections;
    mod databases;
    pub mod disks;
    pub mod inside;
    mod knobs;
    mod measure_router;
    mod measure_router_kills;
    mod measure_trace;
    mod measure_trace_costs;
    mod nfs;
    mod power;
    mod pppoe;
    mod quota;
    mod read_ahead;
    mod reboot;
    mod saved;
    mod settings;
    mod shipped;
    mod taps;
    mod trace;
    mod wireguard;
}

use machines::{disks, inside};
use plimsoll_testkit::Need;
use std::fs;
use std::process::Command;
use std::time::Duration;
use support::beds::{Beds, machines_in};
use support::{ended, signal, wait_until};

/// One machine, and all that is asked of it.
#[test]
#[ignore = "machines take minutes: make check-machines"]
fn a_machine_has_disks_and_a_terminal() {
    if !plimsoll_testkit::available(Need::Machines) {
        return;
    }
    let beds = Beds::new();
    beds.lab(&["up", &beds.file("disks", disks::LAB)]).expect(0);
    let traces = beds.traces("disks");
    disks::latencies(&beds);
    disks::rates(&beds);
    disks::encryption(&beds);
    disks::no_disk_at_all(&beds);
    inside::streams(&beds);
    inside::a_shell_has_a_terminal(&beds);
    inside::a_closed_terminal_ends_its_shell(&beds);
    // Also where nothing is left of what was written down.
    fs::write(beds.directory("disks").join("bed.json"), "").unwrap();
    fs::remove_file(beds.directory("disks").join("mark")).unwrap();
    let machines = machines_in(&beds.directory("disks"));
    assert_eq!(machines.len(), 1);
    beds.lab(&["down", "disks"]).expect(0);
    // Its last thread may end long after its first, and holds memory and files until then.
    let threads = fs::read_dir(format!("/proc/{}/task", machines[0]));
    assert!(threads.map_or(0, Iterator::count) <= 1, "its machine still runs");
    traces.are_gone();
}

/// All of it, its kernel too: also when it has booted again.
#[test]
#[ignore = "machines take minutes: make check-machines"]
fn a_share_of_a_core_holds_for_a_whole_machine() {
    if !plimsoll_testkit::available(Need::Machines) {
        return;
    }
    let beds = Beds::new();
    let text = "[host.a]\nkind = \"vm\"\nmemory = \"192MiB\"\nforward = true\ncpu = \"50%\"\n";
    beds.lab(&["up", &beds.file("share", text)]).expect(0);
    let group = beds.traces("share").groups[0].clone();
    let quota = || {
        let v1 = fs::read_to_string(group.join("cpu.cfs_quota_us"));
        v1.or_else(|_| fs::read_to_string(group.join("cpu.max"))).unwrap()
    };
    let inside = || {
        let text = fs::read_to_string(group.join("cgroup.procs")).unwrap();
        text.lines().map(|pid| pid.parse::<u32>().unwrap()).collect::<Vec<_>>()
    };
    assert!(quota().starts_with("2500"), "{}", quota());
    assert_eq!(inside(), machines_in(&beds.directory("share")));
    beds.lab(&["set", "share", "a", "cpu=20%"]).expect(0);
    assert!(quota().starts_with("1000"), "{}", quota());
    beds.lab(&["reset", "share/a"]).expect(0);
    assert!(quota().starts_with("1000"), "{}", quota());
    assert_eq!(beds.on("share/a", "cat /proc/sys/net/ipv4/ip_forward"), "1\n");
    beds.lab(&["down", "share"]).expect(0);
    assert!(!group.exists());
}

/// One that stands still never comes up.
#[test]
#[ignore = "machines take minutes: make check-machines"]
fn ctrl_c_is_obeyed_while_machines_boot() {
    if !plimsoll_testkit::available(Need::Machines) {
        return;
    }
    let beds = Beds::new();
    let directory = beds.directory("n750");
    let mut up = beds.program.start(&["lab", "up", "n750", "--quiet"]);
    wait_until("its second machine runs", || machines_in(&directory).len() == 2);
    // By then QEMU itself is ready, and no machine has booted; else less is tested.
    std::thread::sleep(Duration::from_secs(1));
    let traces = beds.traces("n750");
    for pid in machines_in(&directory) {
        Command::new("kill").args(["-STOP", &pid.to_string()]).status().unwrap();
    }
    signal(&up, "-INT");
    wait_until("it ends", || up.try_wait().unwrap().is_some());
    let ran = ended(up).expect(130);
    assert!(ran.err.contains("interrupted"), "{}", ran.err);
    traces.are_gone();
}
