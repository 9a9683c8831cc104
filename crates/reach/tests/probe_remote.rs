//! The probe over ssh: OpenSSH's server, and dropbear on a host that has BusyBox alone.

mod probe_support;

use plimsoll_model::Cause;
use plimsoll_reach::probe::{FileKind, Machine, Placed, Request};
use plimsoll_reach::{Reach, Settings, Ssh, deploy, open};
use plimsoll_testkit::servers::{Dropbear, Sshd, SshdConfig};
use plimsoll_testkit::{Need, Stage};
use probe_support::emulated::{ALL, Emulated};
use probe_support::{LONG, kill, only, processes_with, programs, run, soon};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

const NEEDS: [Need; 3] = [Need::Sshd, Need::Dropbear, Need::Busybox];

fn login(url: &str, configuration: PathBuf) -> Arc<dyn Reach> {
    let mut settings = Settings::from_environment();
    settings.configuration = Some(configuration);
    settings.may_ask = false;
    Arc::new(Ssh::connect(&url.parse().unwrap(), &settings).unwrap())
}

/// A host of each kind, with where its root directory is on the stage.
fn hosts(stage: &Stage) -> (Sshd, Dropbear) {
    let sshd = Sshd::start(stage, SshdConfig::default()).unwrap();
    (sshd, Dropbear::start(stage, Dropbear::PORT).unwrap())
}

/// Everything that a probe does for the rest of the program.
fn use_it(placed: &Placed) {
    let (sections, done) = run(placed, &Request::new("selftest"));
    done.unwrap();
    assert_eq!(sections[0]["crypto_vectors_good"], true, "{sections:?}");
    let (sections, done) = run(placed, &Request::new("inventory").set("path", "/"));
    done.unwrap();
    assert!(sections.iter().any(|section| section["section"] == "kernel"));
    let mut sampler = placed.sampler().unwrap();
    for _ in 0..3 {
        let before = Instant::now();
        sampler.ask().unwrap();
        // A verb of its own beside it: one process each.
        run(placed, &Request::new("cpu").set("duration_ms", 10)).1.unwrap();
        let sample = sampler.sample(Instant::now() + LONG).unwrap().unwrap();
        assert!(before <= sample.moment.at && sample.moment.at <= Instant::now());
        let stat = sample.files.iter().find(|file| file.kind == FileKind::Stat).unwrap();
        assert!(stat.text.starts_with("cpu  "), "{stat:?}");
    }
}

#[test]
fn it_works_over_ssh_and_leaves_nothing() {
    let Some(stage) = Stage::enter_or_skip(&NEEDS) else { return };
    let (sshd, dropbear) = hosts(&stage);
    for (host, root, below) in [
        (login(&sshd.url(), sshd.configuration()), Path::new("/"), "/dev/shm/"),
        (login(&dropbear.url(), dropbear.configuration()), dropbear.root(), "/tmp/"),
    ] {
        let placed = Placed::place(host, &programs(), None).unwrap();
        assert!(placed.directory().starts_with(below), "{}", placed.directory());
        let seen_here = root.join(placed.directory().trim_start_matches('/'));
        assert_eq!(fs::metadata(&seen_here).unwrap().permissions().mode() & 0o777, 0o700);
        use_it(&placed);
        placed.remove().unwrap();
        assert!(!seen_here.exists());
    }
}

/// Also between two measurements, when only its guard runs.
#[test]
fn what_another_run_uses_over_ssh_is_not_removed() {
    let Some(stage) = Stage::enter_or_skip(&NEEDS) else { return };
    let (sshd, dropbear) = hosts(&stage);
    for (url, configuration) in
        [(sshd.url(), sshd.configuration()), (dropbear.url(), dropbear.configuration())]
    {
        let placed = Placed::place(login(&url, configuration.clone()), &programs(), None).unwrap();
        let found = deploy::forgotten(&*login(&url, configuration), &[]);
        let all = || found.removed.iter().chain(&found.kept);
        assert!(all().all(|path| path != placed.directory()), "{found:?}");
        run(&placed, &Request::new("selftest")).1.unwrap();
        placed.remove().unwrap();
    }
}

#[test]
fn a_lost_connection_is_reported_and_leaves_nothing() {
    let Some(stage) = Stage::enter_or_skip(&NEEDS) else { return };
    let (sshd, dropbear) = hosts(&stage);
    for (url, configuration, root) in [
        (sshd.url(), sshd.configuration(), Path::new("/")),
        (dropbear.url(), dropbear.configuration(), dropbear.root()),
    ] {
        let clients = || processes_with(&configuration.display().to_string());
        let placed = Placed::place(login(&url, configuration.clone()), &programs(), None).unwrap();
        let seen_here = root.join(placed.directory().trim_start_matches('/'));
        let mut sampler = placed.sampler().unwrap();
        let request = Request::new("cpu").set("duration_ms", 60000).within(LONG);
        let mut cut = |_| clients().into_iter().for_each(kill);
        let failure = placed.run(&request, &mut cut, &AtomicBool::new(false)).unwrap_err();
        assert_eq!(failure.cause, Cause::Unreachable, "{failure}");
        let asked = sampler.ask().and_then(|()| sampler.sample(Instant::now() + LONG));
        assert_eq!(asked.unwrap_err().cause, Cause::Unreachable);
        soon("the directory is gone", || !seen_here.exists());
        // It cannot be removed any more, and who asks gets a failure; or it is gone, which is as well.
        drop(placed);
    }
    soon("the probes have ended", || {
        let all = [sshd.processes(), dropbear.processes()].concat();
        !all.iter().any(|number| {
            fs::read_to_string(format!("/proc/{number}/comm"))
                .is_ok_and(|name| name.starts_with("plimsoll"))
        })
    });
}

/// Not a test: the program that [`a_killed_program_leaves_nothing_over_there`] kills.
#[test]
fn inner_program_with_a_probe_over_there() {
    let Ok(url) = std::env::var("PLIMSOLL_TEST_INNER_URL") else { return };
    let placed = Placed::place(open(&url.parse().unwrap(), false).unwrap(), &programs(), None);
    let placed = placed.unwrap();
    let mut sampler = placed.sampler().unwrap();
    sampler.ask().unwrap();
    println!("placed in {}", placed.directory());
    std::thread::sleep(LONG);
}

#[test]
fn a_killed_program_leaves_nothing_over_there() {
    let Some(stage) = Stage::enter_or_skip(&NEEDS) else { return };
    let (sshd, dropbear) = hosts(&stage);
    for (url, configuration, root) in [
        (sshd.url(), sshd.configuration(), Path::new("/")),
        (dropbear.url(), dropbear.configuration(), dropbear.root()),
    ] {
        let mut inner = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "inner_program_with_a_probe_over_there", "--nocapture"])
            .env("PLIMSOLL_TEST_INNER_URL", url)
            .env("PLIMSOLL_SSH_CONFIG", configuration)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = std::io::BufReader::new(inner.stdout.take().unwrap());
        let directory = std::io::BufRead::lines(output)
            .map_while(Result::ok)
            .find_map(|line| line.split("placed in ").nth(1).map(String::from))
            .unwrap();
        let seen_here = root.join(directory.trim_start_matches('/'));
        assert!(seen_here.exists());
        inner.kill().unwrap();
        inner.wait().unwrap();
        soon("the directory is gone", || !seen_here.exists());
    }
}

#[test]
fn a_router_whose_memory_executes_nothing_gets_it_at_home() {
    let Some(stage) = Stage::enter_or_skip(&NEEDS) else { return };
    let dropbear = Dropbear::start(&stage, Dropbear::PORT).unwrap();
    let host = || login(&dropbear.url(), dropbear.configuration());
    let noexec = |place: &str| {
        let flags = nix::mount::MsFlags::MS_NOEXEC;
        let place = dropbear.root().join(place);
        nix::mount::mount(Some("tmpfs"), &place, Some("tmpfs"), flags, None::<&str>).unwrap();
    };
    noexec("tmp");
    let placed = Placed::place(host(), &programs(), None).unwrap();
    assert!(placed.directory().starts_with("/root/"), "{}", placed.directory());
    placed.remove().unwrap();
    let _full = stage.tmpfs(dropbear.root().join("var"), 16384).unwrap();
    let failure = Placed::place(host(), &programs(), Some("/var")).err().unwrap();
    assert_eq!(failure.cause, Cause::NoSpace, "{failure}");
    let failure = Placed::place(host(), &programs(), Some("/tmp")).err().unwrap();
    assert_eq!(failure.cause, Cause::NotPermitted, "{failure}");
    assert!(failure.happened.contains("does not permit the program to run"), "{failure}");
    assert_eq!(fs::read_dir(dropbear.root().join("tmp")).unwrap().count(), 0);
    assert_eq!(fs::read_dir(dropbear.root().join("var")).unwrap().count(), 0);
}

/// A probe for a MIPS that BusyBox' shell, on another processor, takes for a script.
#[test]
fn busybox_is_not_fooled_by_another_machines_program() {
    let Some(stage) = Stage::enter_or_skip(&NEEDS) else { return };
    let Some((_kept, mips)) = only(Machine::Mips) else { return };
    let bytes = fs::read(mips.find(Machine::Mips).unwrap()).unwrap();
    let (_kept, wrong) = probe_support::alone(Machine::here().unwrap(), &bytes);
    let dropbear = Dropbear::start(&stage, Dropbear::PORT).unwrap();
    let host = login(&dropbear.url(), dropbear.configuration());
    let failure = Placed::place(host, &wrong, None).err().unwrap();
    assert!(failure.happened.contains("cannot run this program"), "{failure}");
    assert_eq!(fs::read_dir(dropbear.root().join("tmp")).unwrap().count(), 0);
}

/// What must hold on a router, run again where a MIPS' programs can be executed.
#[test]
fn inner_on_a_router() {
    let Some(emulated) = Emulated::inner() else { return };
    let stage = Stage::enter().unwrap();
    let dropbear = Dropbear::start(&stage, Dropbear::PORT).unwrap();
    emulated.bring_into(dropbear.root());
    let (_kept, programs) = only(emulated.machine).unwrap();
    let host = login(&dropbear.url(), dropbear.configuration());
    let placed = Placed::place(host, &programs, None).unwrap();
    assert_eq!(placed.machine(), emulated.machine);
    let seen_here = dropbear.root().join(placed.directory().trim_start_matches('/'));
    assert!(seen_here.exists());
    use_it(&placed);
    placed.remove().unwrap();
    assert!(!seen_here.exists());
}

#[test]
fn the_mips_probe_runs_on_a_router_with_busybox_alone() {
    if NEEDS.iter().all(|need| plimsoll_testkit::available(*need)) && only(Machine::Mips).is_some()
    {
        ALL[0].run_test(0, "inner_on_a_router");
    }
}
