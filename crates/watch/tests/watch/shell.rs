//! The lines of shell, run by the shells that hosts have.

use crate::support::{by_shell, clock, instead, sample};
use plimsoll_model::WatchedBy;
use plimsoll_testkit::Need;
use plimsoll_watch::{Ask, Local, Watch};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

#[test]
fn a_shell_sees_what_this_machine_sees() {
    let (mut shell, mut local) = (by_shell(), Local::new(clock()));
    let (there, here) = (shell.facts(), local.facts());
    assert_eq!((&there.kernel, there.memory_bytes), (&here.kernel, here.memory_bytes));
    assert_eq!((&there.cpu_model, &there.cpu_accounting), (&here.cpu_model, &here.cpu_accounting));
    assert_eq!(there.watched_by, Some(WatchedBy::Shell));
    assert!(there.is_this_machine && !here.is_this_machine);
    assert_eq!(shell.hardware(), local.hardware());

    // Counters only grow: what the shell says lies between what was read before and after it.
    let before = sample(&mut local, Ask::Counters);
    let between = sample(&mut shell, Ask::Counters);
    let after = sample(&mut local, Ask::Counters);
    let classes =
        |cpu: &plimsoll_model::CpuTimes| [cpu.user, cpu.nice, cpu.system, cpu.softirq, cpu.steal];
    let [before_cpu, cpu, after_cpu] = [&before, &between, &after].map(|s| classes(&s.cpu));
    for class in 0..cpu.len() {
        let order = [before_cpu[class], cpu[class], after_cpu[class]];
        assert!(order.is_sorted(), "{order:?}");
    }
    assert_eq!(between.cores.len(), after.cores.len());
    assert_eq!(there.cpus as usize, after.cores.len());
    let uptimes = [&before, &between, &after].map(|s| s.uptime_seconds.unwrap());
    assert!(uptimes.is_sorted(), "{uptimes:?}");
    let names = |s: &plimsoll_watch::proc_files::Sample| -> BTreeSet<String> {
        s.disks.iter().map(|d| d.name.clone()).collect()
    };
    assert_eq!(names(&between), names(&after));
    for (a, b) in before.disks.iter().zip(&between.disks) {
        assert!(a.name != b.name || a.written_bytes <= b.written_bytes);
    }
    assert!(between.interfaces.iter().any(|i| i.name == "lo"));
    let facts = [&before, &between].map(|s| {
        (s.memory.is_some(), s.run_seconds.is_some(), s.softirqs.is_some(), s.frequency.is_some())
    });
    assert_eq!(facts[0], facts[1]);
    assert!(between.tcp_retransmitted.is_some() && between.load_average.is_some());
    assert!(between.within <= Duration::from_secs(10) && between.processes.is_empty());
}

#[test]
fn processes_only_where_they_are_asked_for() {
    let (mut shell, mut local) = (by_shell(), Local::new(clock()));
    for watch in [&mut shell as &mut dyn Watch, &mut local] {
        let processes = sample(watch, Ask::Processes).processes;
        let own = processes.iter().find(|p| p.id == std::process::id()).unwrap();
        assert!(own.name.starts_with("watch"), "{own:?}");
        assert!(sample(watch, Ask::Counters).processes.is_empty());
    }
}

#[test]
fn its_own_cost_is_known() {
    let mut shell = by_shell();
    let first = sample(&mut shell, Ask::Counters).watcher_seconds.unwrap();
    (0..100).for_each(|_| drop(sample(&mut shell, Ask::Counters)));
    let last = sample(&mut shell, Ask::Counters).watcher_seconds.unwrap();
    // Two ticks are 20 ms; a hundred samples take more.
    assert!(last > first && last - first < 10.0, "{first} {last}");
}

#[test]
fn mounts_only_where_they_are_asked_for() {
    let (mut shell, mut local) = (by_shell(), Local::new(clock()));
    let texts = [&mut shell as &mut dyn Watch, &mut local].map(|watch| {
        assert_eq!(sample(watch, Ask::Counters).mounts, None);
        sample(watch, Ask::Mounts).mounts.unwrap()
    });
    let file = |name: &str| std::fs::read_to_string(format!("/proc/self/{name}")).unwrap();
    for texts in texts {
        assert_eq!(texts.mountinfo.trim(), file("mountinfo").trim());
        assert_eq!(texts.mountstats.trim(), file("mountstats").trim());
        let root = texts.mountinfo.lines().any(|line| line.split(' ').nth(4) == Some("/"));
        assert!(root, "{texts:?}");
        assert_eq!(plimsoll_reach::mounts::account(&texts, "/"), None, "no NFS and no SMB");
    }
}

#[test]
fn queues_and_connections_only_where_they_are_asked_for() {
    let (mut shell, mut local) = (by_shell(), Local::new(clock()));
    let has_table = Path::new("/proc/net/stat/nf_conntrack").exists();
    let listed = std::process::Command::new("tc").args(["qdisc", "show"]).output();
    let listed =
        listed.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
    let roots = listed.lines().filter(|line| line.contains(" root ")).count();
    for watch in [&mut shell as &mut dyn Watch, &mut local] {
        let plain = sample(watch, Ask::Counters);
        assert!(plain.conntrack.is_none() && plain.queues.is_empty(), "{plain:?}");
        let whole = sample(watch, Ask::Forwarding);
        assert_eq!(whole.conntrack.is_some(), has_table);
        assert!(
            whole.conntrack.is_none_or(|table| table.most_entries.is_some_and(|most| most > 0))
        );
        assert!(whole.queues.len() >= roots, "{:?} of {listed}", whole.queues);
        assert!(!whole.interfaces.is_empty(), "the counters, too");
        // Offloaded connections are for the end.
        assert_eq!(whole.conntrack.and_then(|table| table.offloaded), None);
        let at_the_end = sample(watch, Ask::Forwarded);
        assert_eq!(at_the_end.conntrack.is_some(), has_table);
        assert!(at_the_end.queues.len() >= roots);
    }
}

/// Forks of a shell that answers so many questions, by strace.
fn forks(shell: &str, samples: usize) -> usize {
    let traced = tempfile::NamedTempFile::new().unwrap();
    let strace = "strace -f -q -e trace=fork,vfork,clone,clone3 -e signal=none";
    let command = format!("exec {strace} -o {} {shell} -c {{}}", traced.path().display());
    let mut watch = instead(command).unwrap();
    // The first one was taken when watching began.
    (1..samples).for_each(|_| drop(sample(&mut watch, Ask::Counters)));
    drop(watch);
    let begun = Instant::now();
    loop {
        let text = std::fs::read_to_string(traced.path()).unwrap();
        // Lines may come until the shell, which forks first, is reported to have ended.
        let shell = text.split_whitespace().next().unwrap_or("?");
        let ended =
            |line: &str| line.split_whitespace().next() == Some(shell) && line.contains("+++");
        if text.lines().any(ended) {
            // What is interrupted by another line comes in two.
            let forks = text.lines().filter(|l| !l.contains("resumed>") && !l.contains("+++"));
            return forks.count();
        }
        assert!(begun.elapsed() < crate::support::LONG, "the shell has not ended: {text}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn one_process_a_sample() {
    if !plimsoll_testkit::available(Need::Strace) || !plimsoll_testkit::available(Need::Busybox) {
        return;
    }
    for shell in ["/bin/sh", "busybox ash"] {
        let (few, many) = (forks(shell, 3), forks(shell, 13));
        assert!(few > 0, "strace saw nothing");
        assert!(many - few <= 10, "{shell}: {} for 10 samples", many - few);
    }
}

#[test]
fn it_ends_by_itself_when_its_input_closes() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pid");
    // A wrapper that nobody kills: what ends the shell is its input.
    let command = format!("echo $$ >{}; exec /bin/sh -c {{}}", file.display());
    let mut watch = instead(command).unwrap();
    sample(&mut watch, Ask::Counters);
    let id = std::fs::read_to_string(&file).unwrap().trim().to_owned();
    let process = Path::new("/proc").join(id);
    assert!(process.exists());
    drop(watch);
    let begun = Instant::now();
    while process.exists() {
        assert!(begun.elapsed() < crate::support::LONG, "it is still there");
        std::thread::sleep(Duration::from_millis(10));
    }
}
