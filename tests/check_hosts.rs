//! `plimsoll check --host`: the servers' own hosts, watched meanwhile.

mod support;

use plimsoll_model::{Flag, HostLoad, HostName, Measure, Metric, Outcome, Study, Trial, WatchedBy};
use plimsoll_reach::probe::Machine;
use plimsoll_testkit::servers::{Dropbear, Export, Ganesha, GaneshaConfig, Sshd, SshdConfig};
use plimsoll_testkit::{Need, Stage, enter_or_skip};
use std::path::{Path, PathBuf};
use support::sound::{assert_complete, assert_sound};
use support::trial::{job, result};
use support::{Plimsoll, ended, listing, probes, run_directories, signal, wait_until};

const SSH_CONFIG: &str = "PLIMSOLL_SSH_CONFIG";

/// Short trials that a host is looked at in.
const SHORT: [&str; 8] = [
    "--details",
    "--pattern=sequential-write,random-read",
    "--size=16MiB",
    "--repeats=2",
    "--time=2500ms",
    "--baseline=1s",
    "--workers=2",
    "--quiet",
];

/// One trial on each target, no longer than it takes to look at a host in it.
const ONCE: [&str; 8] = [
    "--details",
    "--pattern=random-read",
    "--size=16MiB",
    "--repeats=1",
    "--time=2500ms",
    "--baseline=200ms",
    "--workers=2",
    "--quiet",
];

const PROBES: &str = "PLIMSOLL_PROBES";

fn with_ssh(configuration: &Path) -> Plimsoll {
    let program = Plimsoll::new().with(SSH_CONFIG, configuration.to_str().unwrap());
    program.with(PROBES, probes().to_str().unwrap())
}

/// The probe's directories below the host's root that `root` is on the stage.
fn probes_placed(root: &Path) -> Vec<PathBuf> {
    let below = ["dev/shm", "run", "tmp", "var/tmp", "root"].map(|place| root.join(place));
    let entries =
        below.iter().filter_map(|place| std::fs::read_dir(place).ok()).flatten().flatten();
    let placed = entries.map(|entry| entry.path()).filter(|path| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| {
            let hex = name.strip_prefix("plimsoll-").unwrap_or_default();
            hex.len() == 16 && hex.bytes().all(|b| b.is_ascii_hexdigit())
        })
    });
    placed.filter(|path| path.join("plimsoll-probe").exists()).collect()
}

/// Names of the processes of a host but for its ssh server's own.
fn commands(processes: &[u32]) -> Vec<String> {
    let names = processes.iter().filter_map(|id| {
        let name = std::fs::read_to_string(format!("/proc/{id}/comm")).ok()?;
        Some(name.trim().to_owned())
    });
    names.filter(|name| !name.starts_with("dropbear") && !name.starts_with("sshd")).collect()
}

fn ganesha(stage: &Stage) -> Ganesha {
    Ganesha::start(stage, GaneshaConfig::one(Export::directory("films"))).unwrap()
}

fn load<'a>(trial: &'a Trial, host: &str) -> Option<&'a HostLoad> {
    trial.loads.iter().find(|load| load.host == *host)
}

#[test]
fn the_servers_cpu_beside_the_clients() {
    let stage = enter_or_skip!(Need::Ganesha, Need::Sshd, Need::SshClient);
    let (server, sshd) = (ganesha(&stage), Sshd::start(&stage, SshdConfig::default()).unwrap());
    let program = with_ssh(&sshd.configuration());
    let (url, host) = (server.url("films"), sshd.url());
    let page = program.home().join("page.html");
    let report = format!("--report={}", page.display());
    let words = [&["check", &url, "--host", &host, &report], &SHORT[..]].concat();
    let shown = program.run(&words).expect(0).out;

    let study = program.latest();
    assert_sound(&study);
    assert_eq!(study.plan.others().count(), 1);
    assert!(study.plan.command.contains(&host), "{}", study.plan.command);
    let facts = &study.hosts[1];
    assert_eq!((facts.name.to_string(), facts.watched_by), (host.clone(), Some(WatchedBy::Probe)));
    assert_eq!(facts.without_probe, None);
    assert_eq!((facts.cpus, &facts.kernel), (study.hosts[0].cpus, &study.hosts[0].kernel));
    assert!(study.flags.contains(&Flag::SameMachine { host: host.parse().unwrap() }));
    for trial in &study.trials {
        is_watched(trial, &host);
    }
    // The client moved what the server's network moved: at least the payload, over loopback here.
    let written = study.trials.iter().find(|t| job(&study, t).pattern.writes()).unwrap();
    let bytes = result(written).series.total().bytes;
    let lo = load(written, &host).unwrap().interfaces.iter().find(|i| i.name == "lo").unwrap();
    assert!(lo.received_bytes as f64 > 0.9 * bytes as f64, "{lo:?}, {bytes} written");

    for word in ["CPU of this machine", &format!("CPU of {host}"), "sirq", "server", "by the probe"]
    {
        assert!(shown.contains(word), "{word} in:\n{shown}");
    }
    assert!(shown.contains(&format!("{host} was busiest at")), "{shown}");
    let page = std::fs::read_to_string(page).unwrap();
    for word in [format!("CPU of {host}"), format!("Memory of {host}")] {
        assert!(page.contains(&word), "{word}");
    }
    let csv = program.run(&["export", "--csv"]).expect(0).out;
    assert!(csv.contains("machine_cpu_seconds_per_operation"));
}

/// Its load is there. What an operation cost is computed from that of the client, which is the same machine: its time is
/// charged once.
fn is_watched(trial: &Trial, host: &str) {
    let load = load(trial, host).unwrap_or_else(|| panic!("no load in trial {}", trial.number));
    assert!(load.cpu.total() > 0.0 && load.cores.len() == load.cores_busy.len());
    assert!(load.seconds >= 2.0, "{} s of a trial of 2.5 s", load.seconds);
    assert!(load.stretches.len() >= 2, "looked at meanwhile: {:?}", load.stretches);
    assert!(load.memory.is_some() && load.idle.is_some() && load.softirqs.is_some());
    assert!(load.watcher_cpu_seconds.is_some());
    assert_eq!(trial.result.outcome, Outcome::Complete);
    let moved = result(trial).series.served();
    for (measure, count) in [
        (Measure::MACHINE_CPU_PER_OP, moved.operations),
        (Measure::MACHINE_CPU_PER_BYTE, moved.bytes),
    ] {
        let figure = result(trial).quantities[&Metric::all(measure)];
        let by_hand = trial.loads[0].caused().0 / count as f64;
        assert!((figure - by_hand).abs() <= 1e-9 * by_hand.abs(), "{figure} {by_hand}");
    }
    assert!(!is_charged_to_the_server(trial));
}

fn is_charged_to_the_server(trial: &Trial) -> bool {
    let measures = [Measure::SERVER_CPU_PER_OP, Measure::SERVER_CPU_PER_BYTE];
    let quantities = &result(trial).quantities;
    measures.into_iter().any(|measure| quantities.contains_key(&Metric::all(measure)))
}

#[test]
fn a_host_of_one_target_over_dropbear() {
    let stage = enter_or_skip!(Need::Ganesha, Need::Dropbear, Need::Busybox, Need::SshClient);
    let (server, router) = (ganesha(&stage), Dropbear::start(&stage, Dropbear::PORT).unwrap());
    let program = with_ssh(&router.configuration());
    let plain = tempfile::tempdir().unwrap();
    let (url, host) = (server.url("films"), format!("1={}", router.url()));
    let words = ["check", &url, plain.path().to_str().unwrap(), "--host", &host];
    program.run(&[&words[..], &SHORT[..]].concat()).expect(0);
    let study = program.latest();
    for trial in &study.trials {
        assert!(load(trial, &router.url()).is_some(), "it is watched all the time");
        assert!(!is_charged_to_the_server(trial), "it is the client's machine, too");
    }
    assert_eq!(study.hosts[1].watched_by, Some(WatchedBy::Probe));
    nothing_is_left(&router);
}

fn nothing_is_left(router: &Dropbear) {
    wait_until("nothing of the watch is left there", || {
        commands(&router.processes()).is_empty() && probes_placed(router.root()).is_empty()
    });
}

/// What watches is on the host while it does, and goes when the program is killed.
#[test]
fn the_probe_is_there_while_it_watches_and_gone_after_a_kill() {
    let stage = enter_or_skip!(Need::Dropbear, Need::Busybox, Need::SshClient);
    let router = Dropbear::start(&stage, Dropbear::PORT).unwrap();
    let program = with_ssh(&router.configuration());
    for how in ["-KILL", "-INT"] {
        let plain = tempfile::tempdir().unwrap();
        let directory = plain.path().to_str().unwrap();
        let child =
            program.start(&["check", directory, "--host", &router.url(), "--time=60s", "-q"]);
        wait_until("the probe runs there", || {
            commands(&router.processes()).contains(&"plimsoll-probe".to_owned())
        });
        assert_eq!(probes_placed(router.root()).len(), 1);
        signal(&child, how);
        let ran = ended(child);
        assert_ne!(ran.code, Some(0), "{ran:?}");
        nothing_is_left(&router);
    }
}

/// No build of the probe fits: a shell watches, and the study says why.
#[test]
fn without_a_probe_that_fits_a_shell_watches() {
    let stage = enter_or_skip!(Need::Dropbear, Need::Busybox, Need::SshClient);
    let router = Dropbear::start(&stage, Dropbear::PORT).unwrap();
    let odd = tempfile::tempdir().unwrap();
    for machine in Machine::ALL {
        let place = odd.path().join(machine.name());
        std::fs::create_dir(&place).unwrap();
        std::fs::write(place.join("plimsoll-probe"), b"\x7fELF of another world").unwrap();
    }
    let program = with_ssh(&router.configuration()).with(PROBES, odd.path().to_str().unwrap());
    let (plain, host) = (tempfile::tempdir().unwrap(), router.url());
    let words = ["check", plain.path().to_str().unwrap(), "--host", &host];
    let shown = program.run(&[&words[..], &ONCE[..]].concat()).expect(0).out;
    let study = program.latest();
    let facts = &study.hosts[1];
    assert_eq!(facts.watched_by, Some(WatchedBy::Shell));
    let why = facts.without_probe.as_deref().unwrap();
    assert!(why.contains("none of the available programs runs on this host"), "{why}");
    assert!(shown.contains("by a shell on the host"), "{shown}");
    assert!(shown.contains("could not be used"), "{shown}");
    for trial in &study.trials {
        is_watched(trial, &host);
    }
    nothing_is_left(&router);
}

/// The servers that targets name are tried without asking; what cannot be watched is reported.
#[test]
fn the_hosts_that_targets_name_themselves() {
    let stage = enter_or_skip!(Need::Ganesha, Need::Sshd, Need::SshClient);
    let (server, sshd) = (ganesha(&stage), Sshd::start(&stage, SshdConfig::default()).unwrap());
    let plain = tempfile::tempdir().unwrap();
    let own = std::fs::read_to_string(sshd.configuration()).unwrap();
    let configuration = plain.path().join("config");
    std::fs::write(&configuration, format!("{own}Port {}\n", sshd.port())).unwrap();
    let (url, directory) = (server.url("films"), plain.path().join("films"));
    std::fs::create_dir(&directory).unwrap();
    let words = ["check", &url, directory.to_str().unwrap(), "--host=auto"];
    let words = [&words[..], &ONCE[..]].concat();

    let program = with_ssh(&configuration);
    program.run(&words).expect(0);
    let study = program.latest();
    let names: Vec<String> = study.hosts.iter().map(|facts| facts.name.to_string()).collect();
    assert_eq!(names, ["local", "ssh://127.0.0.1"]);
    let others: Vec<_> = study.plan.others().map(|one| (one.guessed, one.subject)).collect();
    assert_eq!(others, [(true, Some(0))], "a directory names none");
    study.trials.iter().filter(|t| t.cell.subject == 0).for_each(|t| is_watched(t, &names[1]));

    // Nobody listens where ssh looks without a word of its port.
    let program = with_ssh(&sshd.configuration());
    let shown = program.run(&words).expect(0).out;
    let study = program.latest();
    assert_eq!(study.hosts.len(), 1);
    let reasons = study.flags.iter().filter_map(|flag| match flag {
        Flag::NotWatched { host, reason } => Some((host.to_string(), reason.as_str())),
        _ => None,
    });
    let reasons: Vec<_> = reasons.collect();
    let [(host, reason)] = &reasons[..] else { panic!("{reasons:?}") };
    assert_eq!(host, "ssh://127.0.0.1");
    assert!(reason.contains("refused"), "{reason}");
    assert!(shown.contains("ssh://127.0.0.1 was not monitored"), "{shown}");
}

#[test]
fn this_machine_as_the_server() {
    let plain = tempfile::tempdir().unwrap();
    let program = Plimsoll::new();
    let words = ["check", plain.path().to_str().unwrap(), "--host=local"];
    program.run(&[&words[..], &SHORT[..]].concat()).expect(0);
    let study = program.latest();
    assert_eq!(study.hosts.len(), 1, "it is watched anyway");
    assert!(study.flags.contains(&Flag::SameMachine { host: HostName::Local }));
    for trial in &study.trials {
        let per_op = Metric::all(Measure::MACHINE_CPU_PER_OP);
        assert!(result(trial).quantities.contains_key(&per_op));
        assert!(!is_charged_to_the_server(trial), "its time is charged once");
    }
}

#[test]
fn a_host_that_cannot_be_reached_is_told_before_anything_is_measured() {
    let stage = enter_or_skip!(Need::Sshd, Need::SshClient);
    let sshd = Sshd::start(&stage, SshdConfig::default()).unwrap();
    let plain = tempfile::tempdir().unwrap();
    let directory = plain.path().to_str().unwrap();
    let check = |program: &Plimsoll, host: &str, code: i32, word: &str| {
        let ran = program.run(&["check", directory, "--host", host, "--quick", "-q"]).expect(code);
        assert!(!word.is_empty() && ran.err.contains(word), "{word} in: {}", ran.err);
        assert!(!ran.err.contains("geheim"), "a password is not repeated: {}", ran.err);
        assert_eq!(listing(plain.path()), vec![], "nothing was begun");
        assert!(program.exported("latest").is_none(), "nothing is in the store");
    };
    let program = with_ssh(&sshd.configuration());
    check(&program, "ssh://root@127.0.0.1:1", 3, "ssh://root@127.0.0.1:1");
    check(&program, "nas", 2, "Give ssh://nas");
    check(&program, "ssh://root:geheim@nas", 2, "password");
    check(&program, "1=ssh://root:geheim@nas", 2, "password");
    check(&program, "2=local", 2, "there is no target 2");
    check(&program, "0=local", 2, "the first target is 1");
    let stranger = with_ssh(&sshd.configuration_of_a_stranger());
    check(&stranger, &sshd.url(), 4, "ssh-copy-id");
}

fn losses(trial: &Trial) -> usize {
    let lost = |flag: &&Flag| matches!(flag, Flag::HostLost { .. });
    trial.result.flags.iter().filter(lost).count()
}

/// Cuts the host off while a study runs, and hands back the study.
fn cut_off(come_back: bool) -> Option<(Study, String)> {
    let stage = Stage::enter_or_skip(&[Need::Sshd, Need::SshClient])?;
    let mut sshd = Sshd::start(&stage, SshdConfig::default()).unwrap();
    let plain = tempfile::tempdir().unwrap();
    let program = with_ssh(&sshd.configuration());
    let host = sshd.url();
    let child = program.start(&[
        "check",
        plain.path().to_str().unwrap(),
        "--host",
        &host,
        "--pattern=random-read",
        "--size=16MiB",
        "--repeats=4",
        "--time=4s",
        "--baseline=1s",
        "--quiet",
    ]);
    wait_until("a trial has ended", || {
        program.exported("latest").is_some_and(|study| !study.trials.is_empty())
    });
    sshd.kill();
    if come_back {
        sshd.restart().unwrap();
    }
    ended(child).expect(0);
    assert!(run_directories(plain.path()).is_empty());
    Some((program.latest(), host))
}

#[test]
fn a_host_that_is_lost_marks_its_trial_and_the_study_goes_on() {
    let Some((study, host)) = cut_off(false) else { return };
    assert_eq!(study.trials.len(), 4);
    assert_complete(&study);
    let lost: Vec<usize> = study.trials.iter().map(losses).collect();
    assert_eq!(lost.iter().sum::<usize>(), 1, "reported once: {lost:?}");
    let at = lost.iter().position(|n| *n == 1).unwrap();
    for (i, trial) in study.trials.iter().enumerate() {
        assert_eq!(load(trial, &host).is_some(), i < at, "trial {i}, lost in {at}");
        assert!(load(trial, "local").is_some());
    }
}

#[test]
fn a_host_that_comes_back_is_watched_again() {
    let Some((study, host)) = cut_off(true) else { return };
    assert_eq!(study.trials.iter().map(losses).sum::<usize>(), 1);
    let last = study.trials.last().unwrap();
    assert!(load(last, &host).is_some(), "watched again: {:?}", last.result.flags);
}
