//! `plimsoll check --on`: trials driven on another host.

#[path = "../crates/reach/tests/probe_support/mod.rs"]
mod probe_support;
mod support;

use plimsoll_model::{Ended, Measure, Metric, OpKind, OpStats, Outcome, Study};
use plimsoll_reach::deploy::Machine;
use plimsoll_testkit::servers::samba::PASSWORD;
use plimsoll_testkit::servers::{
    Dropbear, Export, Ganesha, GaneshaConfig, Samba, SambaConfig, SambaShare, Sshd, SshdConfig,
};
use plimsoll_testkit::{Need, Stage, available, enter_or_skip};
use probe_support::emulated::{ALL, Emulated};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Child;
use support::runner_program::{impostor, runner};
use support::sound::{SHORT, assert_sound, with};
use support::trial::{result, target};
use support::{Plimsoll, Ran, ended, run_directories, signal, unwrapped, wait_until};

/// The program on a machine that reaches others by a configuration of ssh.
fn program(configuration: &Path) -> Plimsoll {
    Plimsoll::new().with("PLIMSOLL_SSH_CONFIG", configuration.to_str().unwrap()).with_runner()
}

fn sshd(stage: &Stage) -> Sshd {
    Sshd::start(stage, SshdConfig::default()).unwrap()
}

fn path(directory: &tempfile::TempDir) -> &str {
    directory.path().to_str().unwrap()
}

/// Programs of ours that a server's users run.
fn own_programs(processes: &[u32]) -> Vec<String> {
    let command = |id| std::fs::read(format!("/proc/{id}/cmdline")).ok();
    let commands = processes.iter().filter_map(command);
    let commands = commands.map(|bytes| String::from_utf8_lossy(&bytes).replace('\0', " "));
    commands.filter(|command| command.contains("plimsoll")).collect()
}

/// The directories that the runners of a server's users lie in.
fn places(processes: &[u32]) -> BTreeSet<PathBuf> {
    let program = |id| std::fs::read_link(format!("/proc/{id}/exe")).ok();
    let all = processes.iter().filter_map(program);
    let ours = all.filter(|program| program.file_name().is_some_and(|n| n == "plimsoll-runner"));
    ours.filter_map(|program| program.parent().map(Path::to_owned)).collect()
}

/// The figures of a study, but for the quantiles: whether a trial has those depends on how much it
/// got done.
fn names(study: &Study) -> BTreeSet<Metric> {
    let all = study.trials.iter().flat_map(|trial| result(trial).quantities.keys().copied());
    all.filter(|metric| !QUANTILES.iter().any(|(measure, _)| metric.measure == *measure)).collect()
}

const QUANTILES: [(Measure, &str); 2] =
    [(Measure::LATENCY_P50, "0.5"), (Measure::LATENCY_P99, "0.99")];

/// Each trial has the quantiles that the latencies of its operations have, and no others.
#[track_caller]
fn assert_quantiles(study: &Study) {
    for trial in &study.trials {
        let result = result(trial);
        let ops: Vec<_> = result.ops.values().filter(|ops| ops.count > 0).collect();
        for (measure, name) in QUANTILES {
            let there = |kind| result.quantities.contains_key(&Metric { kind, measure });
            let has = |ops: &&OpStats| ops.client_latency.quantile(name).is_some();
            match &ops[..] {
                [one] => assert_eq!(there(None), has(one), "{measure:?}: {trial:?}"),
                // Both halves together have what either has, and may have more.
                both => assert!(there(None) || !both.iter().any(has), "{trial:?}"),
            }
            for kind in [OpKind::READ, OpKind::WRITE] {
                let half = result.ops.get(&kind).filter(|_| ops.len() > 1);
                assert_eq!(
                    there(Some(kind)),
                    half.as_ref().is_some_and(has),
                    "{measure:?}: {trial:?}"
                );
            }
        }
    }
}

#[test]
fn two_directories_there_have_the_figures_that_they_have_here() {
    let stage = enter_or_skip!(Need::Sshd, Need::SshClient);
    let sshd = sshd(&stage);
    let program = program(&sshd.configuration());
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let page = program.home().join("page.html");
    let report = format!("--report={}", page.display());
    let words = ["check", path(&one), path(&two), "--verify"];
    program.run(&with(&words, &SHORT)).expect(0);
    let here = program.latest();
    let host = sshd.url();
    let words = [&words[..], &["--on", &host, &report]].concat();
    let shown = program.run(&with(&words, &SHORT)).expect(0).out;
    let there = program.latest();
    assert_sound(&there);
    assert_eq!(there.trials.len(), 2 * 5 * 3);
    assert_eq!(names(&there), names(&here), "the same figures");
    assert_quantiles(&there);
    assert_quantiles(&here);
    let per_op = |study: &Study, measure| {
        study.trials.iter().all(|t| result(t).quantities.contains_key(&Metric::all(measure)))
    };
    assert!(
        per_op(&there, Measure::CLIENT_CPU_PER_OP) && per_op(&there, Measure::MACHINE_CPU_PER_OP)
    );
    let clients = there.plan.clients().map(ToString::to_string);
    assert_eq!(clients.collect::<Vec<_>>(), [sshd.url()]);
    assert!(!here.plan.is_remote());
    let facts: Vec<String> = there.hosts.iter().map(|host| host.name.to_string()).collect();
    assert_eq!(facts, [sshd.url()], "the client that is watched is that host");
    for trial in &there.trials {
        let hosts: Vec<String> = trial.loads.iter().map(|load| load.host.to_string()).collect();
        assert_eq!(hosts, [sshd.url()]);
    }
    assert_eq!(target(&there, 0).protocol, target(&here, 0).protocol);
    assert!(there.flags.iter().all(|f| !matches!(f, plimsoll_model::Flag::SameMachine { .. })));
    let from = format!("from {}", sshd.url());
    let named = one.path().file_name().unwrap().to_str().unwrap();
    assert!(shown.contains(named) && shown.contains("More: plimsoll show "), "{shown}");
    let shown = program.run(&["show", "--details"]).expect(0).out;
    assert!(shown.contains(&from), "{from} in\n{shown}");
    assert!(shown.contains(path(&one)), "{shown}");
    assert!(std::fs::read_to_string(page).unwrap().contains(&from));
    let compared = program.run(&["compare", &here.id.0, &there.id.0, "--details"]).expect(0).out;
    assert!(compared.contains(&from), "{compared}");
    assert!(run_directories(one.path()).is_empty() && run_directories(two.path()).is_empty());

    let leftover = one.path().join(".plimsoll-0123abcd-00ff00ff");
    std::fs::create_dir(&leftover).unwrap();
    let cleaned = program.run(&["clean", path(&one), path(&two), "--on", &host]).expect(0).out;
    assert!(cleaned.contains("removed .plimsoll-0123abcd-00ff00ff"), "{cleaned}");
    assert!(cleaned.contains("nothing to remove") && !leftover.exists(), "{cleaned}");
    wait_until("nothing of ours runs there", || own_programs(&sshd.processes()).is_empty());
}

#[test]
fn servers_are_reached_from_there_by_name_and_passwords_come_from_here() {
    let stage = enter_or_skip!(Need::Sshd, Need::SshClient, Need::Ganesha, Need::Samba);
    let nfs = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("films"))).unwrap();
    let smb = Samba::start(&stage, SambaConfig::one(SambaShare::new("backups"))).unwrap();
    let sshd = sshd(&stage);
    let program = program(&sshd.configuration());
    let named = |url: String| url.replace("127.0.0.1", "localhost");
    let (nfs_url, smb_url) = (named(nfs.url("films")), named(smb.url("backups")));
    let host = sshd.url();
    let words = ["check", &nfs_url, &smb_url, "--on", &host];
    let words = with(&words, &SHORT);
    let none = program.run(&words).expect(4);
    assert!(none.err.contains("PLIMSOLL_PASSWORD"), "how to give it here: {}", none.err);
    let program = program.with("PLIMSOLL_PASSWORD", "wrong");
    assert!(program.run(&words).expect(4).err.contains("STATUS_LOGON_FAILURE"));
    let program = program.with("PLIMSOLL_PASSWORD", PASSWORD);
    program.run(&words).expect(0);
    let study = program.latest();
    assert_sound(&study);
    assert_eq!(target(&study, 0).given, nfs_url, "the name is kept");
    assert!(target(&study, 1).protocol.to_string().starts_with("SMB 3.1.1"));
    for (directory, what) in [
        (nfs.directory("films").unwrap().to_owned(), "NFS"),
        (smb.directory("backups").unwrap(), "SMB"),
    ] {
        assert!(run_directories(&directory).is_empty(), "{what}");
    }
    let url = "nfs://no-such-host.invalid/x";
    let ran = program.run(&["check", url, "--on", &host, "--quick", "-q"]).expect(3);
    assert!(ran.err.contains(url), "{}", ran.err);
}

#[test]
fn a_host_with_busybox_alone() {
    let stage = enter_or_skip!(Need::Dropbear, Need::Busybox, Need::SshClient);
    let router = Dropbear::start(&stage, Dropbear::PORT).unwrap();
    let program = program(&router.configuration());
    let disk = router.root().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let words = ["check", "/disk", "--on", &router.url()];
    // The disk is this machine's: with another test at work on it, no write may end in half a second.
    let longer = SHORT.map(|word| if word.starts_with("--time=") { "--time=1500ms" } else { word });
    program.run(&with(&words, &longer)).expect(0);
    assert_sound(&program.latest());
    assert!(run_directories(&disk).is_empty());
    wait_until("nothing of ours runs there", || own_programs(&router.processes()).is_empty());
    assert_eq!(std::fs::read_dir(router.root().join("tmp")).unwrap().count(), 0, "nothing is left");
}

/// Refused with a code and words, with nothing begun anywhere.
#[track_caller]
fn refused(program: &Plimsoll, host: &str, code: i32, words: &[&str]) -> Ran {
    let target = tempfile::tempdir().unwrap();
    let ran = program.run(&["check", path(&target), "--on", host, "--quick", "-q"]).expect(code);
    for word in words {
        assert!(ran.err.contains(word), "{word} in: {}", ran.err);
    }
    assert!(run_directories(target.path()).is_empty(), "nothing was begun");
    assert!(program.exported("latest").is_none(), "nothing is in the store");
    ran
}

#[test]
fn hosts_that_will_not_do_are_told_before_anything_is_measured() {
    let stage = enter_or_skip!(Need::Sshd, Need::SshClient);
    let odd = tempfile::tempdir().unwrap();
    let uname = odd.path().join("uname");
    std::fs::write(&uname, "#!/bin/sh\necho aarch64\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&uname, mode).unwrap();
    let sshd = sshd(&stage);
    let host = sshd.url();
    let program = program(&sshd.configuration());
    refused(&program, "nas", 2, &["Give ssh://nas"]);
    refused(&program, "ssh://root:geheim@nas", 2, &["password"]);
    refused(&program, "ssh://root@127.0.0.1:1", 3, &["127.0.0.1:1"]);
    let instead = |file: &Path| {
        self::program(&sshd.configuration()).with("PLIMSOLL_RUNNER", file.to_str().unwrap())
    };
    let build = "make runner";
    refused(&instead(Path::new("/nowhere/runner")), &host, 2, &[build, "PLIMSOLL_RUNNER"]);
    refused(&instead(&uname), &host, 2, &[build, "not a program"]);
    refused(&instead(Path::new("/bin/sh")), &host, 2, &[build, "dynamically linked"]);
    let fake = |body: &str| {
        let place = tempfile::tempdir().unwrap();
        let file = impostor(place.path(), body);
        (instead(&file), place)
    };
    let (other, _kept) = fake(
        "puts(\"{\\\"reply\\\":\\\"hello\\\",\\\"protocol\\\":7,\\\"version\\\":\\\"9.9\\\"}\"); fflush(stdout); sleep(1);",
    );
    refused(&other, &host, 2, &["9.9", "protocol 7", build]);
    let (noise, _kept) = fake("puts(\"hello\"); fflush(stdout); sleep(1);");
    refused(&noise, &host, 1, &["is invalid", build]);
    let (endless, _kept) = fake(
        "memset(line, 'x', sizeof line); for (;;) if (write(1, line, sizeof line) < 0) return 1;",
    );
    refused(&endless, &host, 1, &["a line has more than"]);
    let (eager, _kept) = fake(
        "hello(); for (int i = 0; i < 9; i++) puts(\"{\\\"reply\\\":\\\"done\\\"}\"); fflush(stdout); sleep(1);",
    );
    refused(&eager, &host, 1, &["unexpected message"]);
    let (short, _kept) = fake("hello(); return 7;");
    refused(&short, &host, 3, &["exit code 7"]);
    wait_until("nothing of ours runs there", || own_programs(&sshd.processes()).is_empty());
    drop(sshd);
    let search = format!("SetEnv PATH={}:/usr/bin:/bin", odd.path().display());
    let config = SshdConfig { port: 20_023, ..SshdConfig::default() }.line(&search);
    let arm = Sshd::start(&stage, config).unwrap();
    // The builds that there are, by machine: that for another one is not what the host is sent.
    let builds = tempfile::tempdir().unwrap();
    let build = |machine: &str| builds.path().join(machine).join("plimsoll-runner");
    let put = |machine: &str| {
        std::fs::create_dir_all(build(machine).parent().unwrap()).unwrap();
        std::fs::copy(runner(), build(machine)).unwrap();
    };
    put("x86_64");
    let from = |builds: &Path| {
        self::program(&arm.configuration()).with("PLIMSOLL_RUNNER", builds.to_str().unwrap())
    };
    let looked = build("aarch64");
    let expected = ["aarch64", "those for x86_64", looked.to_str().unwrap(), "make runners"];
    let ran = refused(&from(builds.path()), &arm.url(), 2, &expected);
    assert!(ran.err.contains("--host"), "what can be done instead: {}", ran.err);
    let expected = ["aarch64", "those for x86_64", runner().to_str().unwrap()];
    refused(&from(runner()), &arm.url(), 2, &expected);
    // This host says so, but runs what this machine runs.
    put("aarch64");
    std::fs::write(build("x86_64"), "#!/bin/false\n").unwrap();
    let place = tempfile::tempdir().unwrap();
    let words = ["check", path(&place), "--on", &arm.url()];
    from(builds.path()).run(&with(&words, &SHORT)).expect(0);
}

/// What must hold of a host that is another machine, run again where its programs are executed.
#[test]
fn inner_on_another_machine() {
    let Some(emulated) = Emulated::inner() else { return };
    let stage = Stage::enter().unwrap();
    let host = Dropbear::start(&stage, Dropbear::PORT).unwrap();
    emulated.bring_into(host.root());
    let builds = std::env::var("PLIMSOLL_RUNNER").expect("the directory of the runner's builds");
    let program = program(&host.configuration()).with("PLIMSOLL_RUNNER", &builds);
    std::fs::create_dir(host.root().join("data")).unwrap();
    let words = ["check", "/data", "--on", &host.url(), "--pattern=random-read"];
    program.run(&with(&words, &SHORT)).expect(0);
    let study = program.latest();
    assert_sound(&study);
    assert!(study.plan.is_remote());
    assert_eq!(support::listing(&host.root().join("data")), vec![]);
    wait_until("nothing of ours is left there", || own_programs(&host.processes()).is_empty());
}

/// An ARM of 64 bits, emulated.
#[test]
#[ignore = "takes a runner for aarch64: make check-dist"]
fn a_host_of_another_machine_drives_trials() {
    let number = ALL.iter().position(|emulated| emulated.machine == Machine::Aarch64).unwrap();
    if [Need::Dropbear, Need::Busybox, Need::SshClient].into_iter().all(available) {
        ALL[number].run_test(number, "inner_on_another_machine");
    }
}

#[test]
fn a_host_without_room_or_leave_to_run_programs() {
    let stage = enter_or_skip!(Need::Dropbear, Need::Busybox, Need::SshClient);
    let router = Dropbear::start(&stage, Dropbear::PORT).unwrap();
    let program = program(&router.configuration());
    let keys = router.root().join("root/.ssh/authorized_keys");
    let key = std::fs::read(&keys).unwrap();
    let mount = |place: &str, flags: nix::mount::MsFlags, options: Option<&str>| {
        let place = router.root().join(place);
        std::fs::create_dir_all(&place).unwrap();
        nix::mount::mount(Some("tmpfs"), &place, Some("tmpfs"), flags, options).unwrap();
        if keys.starts_with(&place) {
            // Who logs in has his keys there.
            std::fs::create_dir(keys.parent().unwrap()).unwrap();
            std::fs::write(&keys, &key).unwrap();
            let private = |mode| std::os::unix::fs::PermissionsExt::from_mode(mode);
            std::fs::set_permissions(&place, private(0o700)).unwrap();
            std::fs::set_permissions(keys.parent().unwrap(), private(0o700)).unwrap();
            std::fs::set_permissions(&keys, private(0o600)).unwrap();
        }
    };
    for place in ["tmp", "run", "dev/shm", "var", "root"] {
        mount(place, nix::mount::MsFlags::MS_NOEXEC, None);
    }
    std::fs::create_dir_all(router.root().join("var/tmp")).unwrap();
    refused(
        &program,
        &router.url(),
        5,
        &["/tmp: ", "does not permit the program to run", "Free 20 MB"],
    );
    for place in ["tmp", "run", "dev/shm", "var", "root"] {
        nix::mount::umount(&router.root().join(place)).unwrap();
        mount(place, nix::mount::MsFlags::empty(), Some("size=64k"));
    }
    refused(&program, &router.url(), 6, &["No space left"]);
    for place in ["tmp", "run", "dev/shm", "var", "root"] {
        let names = std::fs::read_dir(router.root().join(place)).unwrap().flatten();
        let ours = names.filter(|name| name.file_name().to_string_lossy().contains("plimsoll"));
        assert_eq!(ours.count(), 0, "{place}");
    }
}

/// A study of long trials that is under way, in its second trial, on a host.
struct UnderWay {
    sshd: Sshd,
    program: Plimsoll,
    share: tempfile::TempDir,
    child: Child,
    places: BTreeSet<PathBuf>,
    stage: Stage,
}

fn under_way() -> Option<UnderWay> {
    let stage = Stage::enter_or_skip(&[Need::Sshd, Need::SshClient])?;
    let sshd = sshd(&stage);
    let program = program(&sshd.configuration());
    let share = tempfile::tempdir().unwrap();
    let words =
        ["--pattern=random-read", "--size=16MiB", "--repeats=3", "--time=6s", "--baseline=0s"];
    let child = program.start(&with(&["check", path(&share), "--on", &sshd.url(), "-q"], &words));
    wait_until("a trial has ended", || {
        program.exported("latest").is_some_and(|study| !study.trials.is_empty())
    });
    // In the midst of the next: what happens between two trials ends a study in another way.
    std::thread::sleep(std::time::Duration::from_secs(2));
    let places = places(&sshd.processes());
    assert_eq!(places.len(), 1, "one runner");
    Some(UnderWay { sshd, program, share, child, places, stage })
}

impl UnderWay {
    /// The runner on the host.
    fn runner(&self) -> u32 {
        let is = |id: &&u32| {
            std::fs::read_link(format!("/proc/{id}/exe"))
                .is_ok_and(|program| program.ends_with("plimsoll-runner"))
        };
        *self.sshd.processes().iter().find(is).expect("a runner")
    }

    /// Nothing of the run is left on the share, in memory or in files.
    fn assert_clean(&self) {
        wait_until("the share is clean", || run_directories(self.share.path()).is_empty());
        wait_until("nothing of ours runs there", || {
            own_programs(&self.sshd.processes()).is_empty()
        });
        let gone = || self.places.iter().all(|place| !place.exists());
        wait_until("the program is gone there", gone);
    }

    fn ended(self, code: i32) -> (Ran, Study) {
        let ran = ended(self.child).expect(code);
        (ran, self.program.latest())
    }
}

/// Why the last trial failed, of a study that lost its host.
#[track_caller]
fn lost(study: &Study) -> &str {
    let Ended::Failed { failure } = &study.ended else { panic!("{:?}", study.ended) };
    let (last, others) = study.trials.split_last().unwrap();
    assert!(others.iter().all(|trial| trial.result.outcome == Outcome::Complete));
    let Outcome::Failed { failure: same, .. } = &last.result.outcome else {
        panic!("{:?}", last.result.outcome)
    };
    assert_eq!(failure, same);
    &failure.happened
}

#[test]
fn a_killed_runner_fails_its_trial_and_another_cleans_up() {
    let Some(run) = under_way() else { return };
    let runner = run.runner().to_string();
    assert!(
        std::process::Command::new("kill").args(["-KILL", &runner]).status().unwrap().success()
    );
    run.assert_clean();
    let (_, study) = run.ended(1);
    assert!(lost(&study).contains("signal 9"), "{study:?}");
    assert!(
        study.flags.iter().all(|flag| !matches!(flag, plimsoll_model::Flag::NotCleaned { .. }))
    );
}

#[test]
fn a_lost_connection_ends_the_trial_cleanly_on_both_sides() {
    let Some(run) = under_way() else { return };
    // Into the middle of a trial.
    std::thread::sleep(std::time::Duration::from_secs(3));
    // The one connection that all commands share: the only ssh that is a child of the program and
    // was there first.
    let configuration = run.sshd.configuration().display().to_string();
    let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", run.child.id()));
    let children = children.unwrap();
    let is_ssh = |id: &&str| {
        std::fs::read_to_string(format!("/proc/{id}/cmdline"))
            .is_ok_and(|line| line.contains(&configuration))
    };
    for id in children.split_ascii_whitespace().filter(is_ssh) {
        let _ = std::process::Command::new("kill").args(["-KILL", id]).status();
    }
    run.assert_clean();
    let (ran, study) = run.ended(1);
    assert!(unwrapped(&ran.out).contains("plimsoll clean --on"), "{}", ran.out);
    let last = study.trials.last().unwrap();
    lost(&study);
    assert!(!result(last).series.is_empty(), "what was seen of it is kept");
    assert!(result(last).quantities.is_empty());
}

#[test]
fn a_link_that_falls_silent_is_given_up_by_both_sides() {
    if !plimsoll_testkit::available(Need::Nftables) {
        return;
    }
    let Some(mut run) = under_way() else { return };
    run.stage.drop_port(run.sshd.port()).unwrap();
    // Nobody learns that the other is gone.
    let patience = plimsoll_remote::protocol::SILENCE * 3;
    let begun = std::time::Instant::now();
    let waited = |what: &str, done: &mut dyn FnMut() -> bool| {
        while !done() {
            assert!(begun.elapsed() < patience, "waited in vain until {what}");
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    };
    waited("it ends here", &mut || run.child.try_wait().unwrap().is_some());
    // Shells that wait for a word end when the server there notices.
    waited("it ends there", &mut || places(&run.sshd.processes()).is_empty());
    waited("the share is clean", &mut || run_directories(run.share.path()).is_empty());
    waited("it is gone there", &mut || run.places.iter().all(|place| !place.exists()));
    let (ran, study) = run.ended(1);
    assert!(unwrapped(&ran.out).contains("plimsoll clean --on"), "{}", ran.out);
    lost(&study);
    let last = study.trials.last().unwrap();
    assert!(last.result.parts.iter().all(|part| part.quantities.is_empty()));
}

#[test]
fn ctrl_c_here_ends_it_there() {
    let Some(run) = under_way() else { return };
    signal(&run.child, "-INT");
    run.assert_clean();
    let (_, study) = run.ended(130);
    assert_eq!(study.ended, Ended::Interrupted);
    assert_eq!(study.trials.last().unwrap().result.outcome, Outcome::Stopped);
}

#[test]
fn a_killed_program_here_leaves_nothing_there() {
    let Some(mut run) = under_way() else { return };
    run.child.kill().unwrap();
    run.child.wait().unwrap();
    run.assert_clean();
}
