//! The probe on this machine: deployed, used, and gone.

mod probe_support;

use plimsoll_model::Cause;
use plimsoll_reach::probe::{FileKind, Machine, Placed, Request, Status};
use probe_support::{LONG, alone, kill, local, processes_with, programs, run, soon};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn placed() -> Placed {
    Placed::place(local(), &programs(), None).unwrap()
}

#[test]
fn it_is_carried_in_for_its_user_alone_and_leaves_nothing() {
    let placed = placed();
    let directory = placed.directory().to_owned();
    assert!(directory.starts_with("/dev/shm/plimsoll-"), "in memory: {directory}");
    assert_eq!(fs::metadata(&directory).unwrap().permissions().mode() & 0o7777, 0o700);
    assert_eq!(placed.machine(), Machine::here().unwrap());

    let (sections, done) = run(&placed, &Request::new("selftest"));
    assert_eq!(done.unwrap().status, Status::Done);
    assert_eq!(sections[0]["crypto_vectors_good"], true);
    let (sections, done) = run(&placed, &Request::new("inventory").set("path", "/"));
    assert!(done.unwrap().resident_peak_bytes > 0);
    let kernel = sections.iter().find(|section| section["section"] == "kernel").unwrap();
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_eq!(kernel["release"], release.trim());

    placed.remove().unwrap();
    assert!(!Path::new(&directory).exists());
}

#[test]
fn a_named_directory_is_used_whatever_its_name() {
    let below = tempfile::tempdir().unwrap();
    let odd = below.path().join("it's $(odd) \"quite\"");
    fs::create_dir(&odd).unwrap();
    let placed = Placed::place(local(), &programs(), odd.to_str()).unwrap();
    assert!(Path::new(placed.directory()).starts_with(&odd));
    let (_, done) = run(&placed, &Request::new("selftest"));
    done.unwrap();
    drop(placed);
    assert_eq!(fs::read_dir(&odd).unwrap().count(), 0);
}

#[test]
fn samples_come_when_asked_and_tell_when_they_were_taken() {
    let placed = placed();
    let mut sampler = placed.sampler().unwrap();
    assert_eq!(sampler.facts().files[0], (Some(FileKind::Stat), "/proc/stat".into()));
    assert!(sampler.facts().ticks_per_second >= 24);
    assert_eq!(sampler.sample(Instant::now() + LONG).unwrap(), None, "nothing was asked for");
    let mut last = None;
    for _ in 0..3 {
        let before = Instant::now();
        sampler.ask().unwrap();
        let sample = sampler.sample(Instant::now() + LONG).unwrap().unwrap();
        assert!(before <= sample.moment.at && sample.moment.at <= Instant::now());
        // Half of a round trip, which is within what passed.
        assert!(sample.moment.error <= before.elapsed() / 2, "{:?}", sample.moment);
        assert!(sample.begin <= sample.end && Some(sample.at()) > last);
        last = Some(sample.at());
        let text = |kind| &sample.files.iter().find(|file| file.kind == kind).unwrap().text;
        assert!(text(FileKind::Stat).starts_with("cpu  "));
        assert!(text(FileKind::Meminfo).contains("MemTotal:"));
        for file in &sample.files {
            assert_eq!(sampler.facts().files[file.index].0, Some(file.kind));
        }
    }
    // Asked several times before the first is taken.
    for _ in 0..5 {
        sampler.ask().unwrap();
    }
    sampler.relate_clocks().unwrap();
    assert_eq!(sampler.waiting(), 5);
    for _ in 0..5 {
        let sample = sampler.sample(Instant::now() + LONG).unwrap().unwrap();
        assert!(Some(sample.at()) > last);
        last = Some(sample.at());
    }
    assert_eq!(sampler.sample(Instant::now() + LONG).unwrap(), None);
}

/// This machine's clock is the probe's too: the relation found must be that they are the same.
#[test]
fn the_clocks_of_one_machine_are_found_to_be_one() {
    let now = || nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC).unwrap();
    let placed = placed();
    let mut sampler = placed.sampler().unwrap();
    for _ in 0..20 {
        let (here, clock) = (Instant::now(), Duration::from(now()));
        let between = here.elapsed();
        sampler.ask().unwrap();
        let sample = sampler.sample(Instant::now() + LONG).unwrap().unwrap();
        let truth = here + Duration::from_nanos(sample.at().0).saturating_sub(clock);
        let found = sample.moment;
        let off = found.at.max(truth) - found.at.min(truth);
        // What passed between the two readings above is no fault of the sampler, however long the
        // machine was busy with something else.
        let fault = Duration::from_millis(20) + between;
        assert!(off <= found.error + fault, "{off:?} off, {found:?}");
    }
}

#[test]
fn a_verb_is_stopped_and_keeps_what_it_had() {
    let placed = placed();
    let stop = AtomicBool::new(false);
    let mut sections = 0;
    let request = Request::new("cpu").set("duration_ms", 60000).within(LONG);
    let done = placed
        .run(
            &request,
            &mut |_| {
                sections += 1;
                stop.store(true, Ordering::Relaxed);
            },
            &stop,
        )
        .unwrap();
    assert_eq!((done.status, sections), (Status::Stopped, 1));
    let short = Request::new("cpu").set("duration_ms", 60000).within(Duration::from_secs(1));
    assert_eq!(run(&placed, &short).1.unwrap().status, Status::Limit);
}

#[test]
fn what_the_probe_refuses_is_reported_in_its_words() {
    let placed = placed();
    for (request, cause, word) in [
        (Request::new("dance"), Cause::Usage, "no verb of this name"),
        (Request::new("cpu").set("speed", 1), Cause::Usage, "no such key"),
        (Request::new("disk").set("path", "/no/such"), Cause::NotPermitted, "does not exist"),
        (
            Request::new("disk").set("path", "/dev/shm").set("size_bytes", 1_u64 << 40),
            Cause::NoSpace,
            "",
        ),
        (Request::new("disk").set("path", "/a\nb"), Cause::Usage, "line break"),
    ] {
        let failure = run(&placed, &request).1.unwrap_err();
        assert_eq!(failure.cause, cause, "{failure}");
        assert!(failure.happened.contains(word), "{failure}");
    }
}

#[test]
fn a_killed_probe_is_reported_and_its_directory_removed() {
    let placed = placed();
    let directory = placed.directory().to_owned();
    let mut killed = false;
    let request = Request::new("cpu").set("duration_ms", 60000).within(LONG);
    let program = format!("{directory}/plimsoll-probe");
    let mut kill_it = |_| {
        for number in processes_with(&program) {
            let name = fs::read_to_string(format!("/proc/{number}/comm")).unwrap_or_default();
            if name.starts_with("plimsoll-probe") {
                kill(number);
                killed = true;
            }
        }
    };
    let failure = placed.run(&request, &mut kill_it, &AtomicBool::new(false)).unwrap_err();
    assert!(killed);
    assert!(failure.happened.contains("killed (signal 9)"), "{failure}");
    assert!(failure.next.contains("memory"), "{failure}");
    // Another one starts all the same.
    run(&placed, &Request::new("selftest")).1.unwrap();
    drop(placed);
    assert!(!Path::new(&directory).exists());
}

#[test]
fn without_its_guard_the_directory_is_removed_all_the_same() {
    // Where no other run looks for what was left.
    let below = tempfile::tempdir().unwrap();
    let placed = Placed::place(local(), &programs(), below.path().to_str()).unwrap();
    let directory = placed.directory().to_owned();
    let name = Path::new(&directory).file_name().unwrap().to_str().unwrap();
    let guards = processes_with(name);
    assert_eq!(guards.len(), 1, "one guard");
    kill(guards[0]);
    assert!(Path::new(&directory).exists(), "killed outright, it removes nothing");
    placed.remove().unwrap();
    assert!(!Path::new(&directory).exists());
}

#[test]
fn a_guard_that_is_asked_to_end_removes_the_directory() {
    let placed = placed();
    let directory = placed.directory().to_owned();
    let name = Path::new(&directory).file_name().unwrap().to_str().unwrap();
    let guard = nix::unistd::Pid::from_raw(processes_with(name)[0].cast_signed());
    nix::sys::signal::kill(guard, nix::sys::signal::Signal::SIGTERM).unwrap();
    soon("the directory is gone", || !Path::new(&directory).exists());
    let failure = run(&placed, &Request::new("selftest")).1.unwrap_err();
    assert!(failure.happened.contains("its file was removed"), "{failure}");
}

/// Not a test: the program that [`a_killed_program_leaves_nothing`] kills.
#[test]
fn inner_program_with_a_probe() {
    if std::env::var_os("PLIMSOLL_TEST_INNER").is_none() {
        return;
    }
    let placed = placed();
    let mut sampler = placed.sampler().unwrap();
    sampler.ask().unwrap();
    println!("placed in {}", placed.directory());
    std::thread::sleep(LONG);
}

#[test]
fn a_killed_program_leaves_nothing() {
    let mut inner = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "inner_program_with_a_probe", "--nocapture"])
        .env("PLIMSOLL_TEST_INNER", "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = std::io::BufReader::new(inner.stdout.take().unwrap());
    let directory = std::io::BufRead::lines(output)
        .map_while(Result::ok)
        .find_map(|line| line.split("placed in ").nth(1).map(String::from))
        .unwrap();
    assert!(!processes_with(&directory).is_empty());
    inner.kill().unwrap();
    inner.wait().unwrap();
    soon("the directory is gone", || !Path::new(&directory).exists());
    soon("the processes are gone", || processes_with(&directory).is_empty());
}

/// The header of a program for a big-endian MIPS, which is all that a kernel reads of it.
#[test]
fn a_program_of_another_machine_is_distinguished_from_other_failures() {
    let mut mips = b"\x7fELF\x01\x02\x01\0\0\0\0\0\0\0\0\0\0\x02\0\x08\0\0\0\x01".to_vec();
    mips.resize(4096, 0);
    let (_kept, wrong) = alone(Machine::here().unwrap(), &mips);
    let below = tempfile::tempdir().unwrap();
    let failure = Placed::place(local(), &wrong, below.path().to_str()).err().unwrap();
    assert_eq!(failure.cause, Cause::Usage);
    assert!(failure.happened.contains("cannot run this program (exec format error)"), "{failure}");
    assert_eq!(fs::read_dir(below.path()).unwrap().count(), 0, "nothing is left");
}

#[test]
fn a_machine_without_a_probe_is_reported_with_those_that_have_one() {
    let other = if Machine::here() == Some(Machine::Mips) { Machine::I686 } else { Machine::Mips };
    let (_kept, programs) = alone(other, b"\x7fELF");
    let failure = Placed::place(local(), &programs, None).err().unwrap();
    assert!(failure.happened.contains(&format!("those for {other}")), "{failure}");
    assert!(failure.next.contains("make probes"), "{failure}");
}

/// Mounts a directory anew, in sight of this stage alone, so that nothing there may be executed.
fn forbid_programs(path: &str) {
    use nix::mount::{MsFlags, mount};
    if Path::new(path).is_dir() && path != "/" {
        mount(Some(path), path, None::<&str>, MsFlags::MS_BIND, None::<&str>).unwrap();
        let flags = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_NOEXEC;
        mount(None::<&str>, path, None::<&str>, flags, None::<&str>).unwrap();
    }
}

#[test]
fn directories_that_will_not_do_are_passed_over_and_named() {
    let stage = plimsoll_testkit::enter_or_skip!();
    let programs = programs();
    // Of this stage's own, since other tests use the one that all see.
    let _shared = stage.tmpfs("/dev/shm", 4 << 20).unwrap();
    forbid_programs("/dev/shm");
    let full = stage.tmpfs("/run", 8192).unwrap();
    let placed = Placed::place(local(), &programs, None).unwrap();
    assert!(placed.directory().starts_with("/tmp/plimsoll-"), "{}", placed.directory());
    drop(placed);
    let probes_in = |path: &str| {
        let names = fs::read_dir(path).unwrap().flatten().map(|entry| entry.file_name());
        names.filter(|name| name.to_string_lossy().starts_with("plimsoll-")).count()
    };
    assert_eq!((probes_in("/dev/shm"), probes_in("/run")), (0, 0));

    let place = |directory: &str| Placed::place(local(), &programs, Some(directory)).err().unwrap();
    let failure = place("/dev/shm");
    assert_eq!(failure.cause, Cause::NotPermitted);
    assert!(
        failure.happened.contains("/dev/shm: the host does not permit the program to run"),
        "{failure}"
    );
    assert!(failure.next.contains("--probe-dir"), "{failure}");
    let failure = place("/run");
    assert_eq!(failure.cause, Cause::NoSpace);
    assert!(
        failure.happened.contains("/run: ") && failure.happened.contains("No space left"),
        "{failure}"
    );
    let failure = place("/run/none");
    assert_eq!(failure.cause, Cause::NotPermitted);
    assert!(failure.happened.contains("No such file"), "{failure}");
    assert_eq!((probes_in("/dev/shm"), probes_in("/run")), (0, 0));

    // None is left: all are named.
    let home = std::env::var("HOME").unwrap_or_default();
    for path in ["/tmp", "/var/tmp", &home] {
        forbid_programs(path);
    }
    let failure = Placed::place(local(), &programs, None).err().unwrap();
    for path in ["/dev/shm", "/run", "/tmp", "/var/tmp"] {
        assert!(failure.happened.contains(path), "{path} in {failure}");
    }
    drop(full);
}
