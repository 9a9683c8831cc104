//! Watching by the probe gives the same counters as watching by a shell.

use crate::probe_support::programs;
use crate::support::{by_shell, clock, sample};
use plimsoll_model::{HostName, WatchedBy};
use plimsoll_watch::{Ask, Connect, Probe, Remote, Watch, load_between};

fn by_probe() -> Remote {
    let reach: Connect = Box::new(|| plimsoll_reach::open(&HostName::Local, false));
    Probe::watch_by(reach().unwrap(), reach, programs(), clock()).unwrap()
}

#[test]
fn the_probe_and_a_shell_see_the_same() {
    let (mut probe, mut shell) = (by_probe(), by_shell());
    let facts = probe.facts();
    assert_eq!(facts.watched_by, Some(WatchedBy::Probe));
    assert_eq!((&facts.kernel, facts.cpus), (&shell.facts().kernel, shell.facts().cpus));
    // Counters only grow: what the probe says lies between what the shell says before and after.
    let before = sample(&mut shell, Ask::Counters);
    let between = sample(&mut probe, Ask::Counters);
    let after = sample(&mut shell, Ask::Counters);
    for of in [|s: &plimsoll_model::CpuTimes| s.user, |s: &plimsoll_model::CpuTimes| s.system] {
        let order = [&before, &between, &after].map(|s| of(&s.cpu));
        assert!(order.is_sorted(), "{order:?}");
    }
    assert_eq!(between.cores.len(), after.cores.len());
    let names = |s: &plimsoll_watch::proc_files::Sample| -> Vec<String> {
        s.disks.iter().map(|d| d.name.clone()).collect()
    };
    assert_eq!(names(&between), names(&after));
    assert!(between.memory.is_some() && between.softirqs.is_some());
    assert!(between.tcp_retransmitted.is_some() && between.load_average.is_some());

    assert_eq!(between.run_seconds.is_some(), after.run_seconds.is_some(), "its own clock");
    assert!(between.processes.is_empty() && between.mounts.is_none());
    let mounts = [&mut probe, &mut shell].map(|watch| sample(watch, Ask::Mounts).mounts.unwrap());
    assert_eq!(mounts[0], mounts[1]);

    let first = sample(&mut probe, Ask::Processes);
    assert!(first.processes.iter().any(|process| process.id == std::process::id()));
    // The kernel counts by ticks, and a quiet machine answers faster than they come.
    let begun = std::time::Instant::now();
    let last = loop {
        let now = sample(&mut probe, Ask::Counters);
        let later = now.cpu.total() > first.cpu.total();
        if later || begun.elapsed() > std::time::Duration::from_secs(60) {
            break now;
        }
    };
    let load = load_between(&HostName::Local, probe.hardware(), &first, &last).unwrap();
    assert!(load.cpu.total() > 0.0 && load.watcher_cpu_seconds.is_some());
    assert!(last.uptime_seconds > first.uptime_seconds && last.at > first.at);
}
