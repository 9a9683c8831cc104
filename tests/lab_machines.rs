//! `plimsoll lab` with virtual machines, as a user sees them. They take minutes where machines are
//! emulated: `make check-machines`.

mod support;

use model::{Outcome, Study};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use support::beds::{Beds, of_this_machine};
use support::carried::runner;
use support::{Plimsoll, ended, signal};

/// A server with a disk of which one half is exported with `async`, and a client that mounts both.
const CUT: &str = r#"
[host.server]
kind = "vm"
memory = "256MiB"
[host.server.disk.data]
size = "256MiB"
at = "/srv/data"
[host.server.nfsd]
threads = 4
versions = ["3"]
[[host.server.nfsd.export]]
path = "/srv/data/sync"
options = "rw,sync,no_root_squash"
[[host.server.nfsd.export]]
path = "/srv/data/async"
options = "rw,async,no_root_squash"
[host.client]
kind = "vm"
memory = "256MiB"
[[host.client.mount]]
at = "/mnt/sync"
from = "server:/srv/data/sync"
type = "nfs"
options = "vers=3"
[[host.client.mount]]
at = "/mnt/async"
from = "server:/srv/data/async"
type = "nfs"
options = "vers=3"
[link.lan]
between = ["server", "client"]
rate = "1Gbit/s"
"#;

/// A machine and nothing else.
const ALONE: &str = r#"
[host.alone]
kind = "vm"
memory = "256MiB"
[host.alone.disk.data]
size = "64MiB"
at = "/srv/data"
"#;

/// A place for labs, with the images of this machine's user and saved labs of its own.
struct Machines {
    beds: Beds,
    cache: tempfile::TempDir,
}

impl Machines {
    fn new() -> Machines {
        let cache = tempfile::tempdir().unwrap();
        let images = lab::bed::vm::Images::from_environment();
        let mut made = |_: &str| ();
        images.get(lab::bed::vm::Image::Debian, &mut made).unwrap();
        // The images themselves are only read.
        for entry in fs::read_dir(images.cache()).unwrap().flatten() {
            let (from, name) = (entry.path(), entry.file_name());
            let to = cache.path().join(&name);
            let name = name.to_string_lossy();
            if name.starts_with("debian") && from.is_dir() {
                std::os::unix::fs::symlink(from, to).unwrap();
            } else if name == "kvm" || name == "debian.current" {
                fs::copy(from, to).unwrap();
            }
        }
        let program = Plimsoll::new()
            .with("PLIMSOLL_LAB_CACHE", cache.path().to_str().unwrap())
            .with("PLIMSOLL_RUNNER", runner().to_str().unwrap());
        let beds = Beds::of(program);
        Machines { beds, cache }
    }

    fn saved(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.cache.path()).unwrap().flatten();
        let named =
            |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with("saved-");
        entries.filter(named).map(|entry| entry.path()).collect()
    }
}

/// Machines are slow where they are emulated, and slower where others work.
#[track_caller]
fn wait_until(what: &str, mut ready: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !ready() {
        assert!(begun.elapsed() < Duration::from_secs(300), "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Which start of a machine this is: what its kernel did has its moments by the microsecond.
fn boot(beds: &Beds, host: &str) -> String {
    beds.on(host, "dmesg | head -n 150 | sha256sum")
}

/// Processes that were told of something in this directory.
fn processes_of(directory: &Path) -> Vec<u32> {
    let wanted = directory.to_str().unwrap().to_owned();
    let all = fs::read_dir("/proc").unwrap().flatten();
    let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let told = |pid: &u32| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words).into_owned();
        words.contains(&format!("{wanted}/")) && words.contains("qemu")
    };
    numbers.filter(told).collect()
}

#[test]
#[ignore = "virtual machines: make check-machines"]
fn a_lab_of_machines_is_saved_and_goes_on_from_there() {
    let machines = Machines::new();
    let beds = &machines.beds;
    let file = beds.file("alone", ALONE);
    beds.lab(&["up", &file]).expect(0);
    let first = boot(beds, "alone/alone");
    beds.on("alone/alone", "echo later >/srv/data/later; sync; echo later >/etc/later");
    beds.lab(&["down", "alone"]).expect(0);
    assert_eq!(machines.saved().len(), 1);

    // As it was when it had come up, with today's time; two of them at once, too.
    for name in ["alone", "another"] {
        beds.lab(&["up", &file, "--name", name]).expect(0);
        let host = format!("{name}/alone");
        assert_eq!(boot(beds, &host), first, "it has not booted again");
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let there: u64 = beds.on(&host, "date +%s").trim().parse().unwrap();
        assert!(there.abs_diff(now) < 60, "{there} is not {now}");
        let seen = beds
            .on(&host, "ls /srv/data /etc/later 2>/dev/null; echo; grep -c /srv/data /proc/mounts");
        assert!(!seen.contains("later"), "{seen}");
        assert!(seen.ends_with("\n1\n"), "its disk is mounted: {seen}");
        beds.on(&host, "echo new >/srv/data/new; sync");
    }
    beds.lab(&["down", "another"]).expect(0);
    assert_eq!(beds.on("alone/alone", "cat /srv/data/new"), "new\n", "each has its own disk");
    beds.lab(&["down", "alone"]).expect(0);

    // A plan that differs by a byte is another lab.
    let other = beds.file("other", &ALONE.replace("64MiB", "65MiB"));
    beds.lab(&["up", &other]).expect(0);
    assert_ne!(boot(beds, "other/alone"), first);
    beds.lab(&["down", "other"]).expect(0);
    assert_eq!(machines.saved().len(), 2);

    // What was saved is damaged: it boots, and is saved anew.
    for place in machines.saved() {
        let state = fs::File::options().write(true).open(place.join("alone.state")).unwrap();
        state.set_len(20 << 20).unwrap();
    }
    beds.lab(&["up", &file]).expect(0);
    let second = boot(beds, "alone/alone");
    assert_ne!(second, first);
    beds.lab(&["down", "alone"]).expect(0);
    beds.lab(&["up", &file]).expect(0);
    assert_eq!(boot(beds, "alone/alone"), second);

    // The power fails: what was written and not yet on the disk is lost, the rest is there.
    beds.on("alone/alone", "echo kept >/srv/data/kept; sync; echo lost >/srv/data/lost");
    beds.lab(&["reset", "alone/alone"]).expect(0);
    let third = boot(beds, "alone/alone");
    assert_ne!(third, second);
    let seen = beds.on("alone/alone", "cd /srv/data; cat kept lost 2>/dev/null; echo .");
    assert_eq!(seen, "kept\n.\n");
    beds.lab(&["down", "alone"]).expect(0);
    beds.lab(&["up", &file, "--afresh"]).expect(0);
    let fourth = boot(beds, "alone/alone");
    assert!(fourth != second && fourth != third);
    assert!(beds.lab(&["reset", "alone/lone"]).expect(2).err.contains("`alone`"));
    beds.lab(&["reset", "lone/alone"]).expect(2);
    beds.lab(&["down", "alone"]).expect(0);
}

#[test]
#[ignore = "virtual machines: make check-machines"]
fn whatever_is_killed_of_machines_goes_down_without_a_trace() {
    let machines = Machines::new();
    let beds = &machines.beds;
    let before = of_this_machine();
    let file = beds.file("alone", ALONE);
    let directory = beds.directory("alone");
    // While it boots, while it is furnished and saved, and when it is resumed.
    let moments = [0, 50, 300, 2000, 6000, 10_000, 14_000];
    let mut seen = 0;
    for (n, milliseconds) in moments.into_iter().cycle().take(10).enumerate() {
        let mut up = beds.program.start(&["lab", "up", &file, "--quiet"]);
        std::thread::sleep(Duration::from_millis(milliseconds));
        up.kill().unwrap();
        up.wait().unwrap();
        let running = processes_of(&directory);
        seen += running.len();
        if n % 2 == 1 {
            let numbers: Vec<String> = running.iter().map(u32::to_string).collect();
            Command::new("kill")
                .arg("-KILL")
                .args(&numbers)
                .stderr(Stdio::null())
                .status()
                .unwrap();
        }
        if directory.exists() {
            beds.lab(&["down", "alone"]).expect(0);
        }
        assert!(!directory.exists());
        assert_eq!(processes_of(&directory), Vec::<u32>::new());
        assert_eq!(of_this_machine(), before);
    }
    assert!(seen >= 4, "some were killed while a machine ran: {seen}");
    // What was left of savings is in nobody's way.
    beds.lab(&["up", &file]).expect(0);
    beds.lab(&["down", "alone"]).expect(0);
    assert_eq!(machines.saved().len(), 1);
    beds.lab(&["up", &file]).expect(0);
    let up = beds.on("alone/alone", "cat /proc/mounts");
    assert!(up.contains("/srv/data"), "{up}");

    // Ctrl-C while it boots.
    let interrupted =
        beds.program.start(&["lab", "up", &file, "--name", "c", "--afresh", "--quiet"]);
    let its = beds.directory("c");
    wait_until("a machine runs", || !processes_of(&its).is_empty());
    signal(&interrupted, "-INT");
    ended(interrupted).expect(130);
    assert!(!its.exists());
    assert_eq!(processes_of(&its), Vec::<u32>::new());
}

/// A verified write through a mount while the server's power is cut; what came of it.
fn cut(beds: &Beds, what: &str) -> Study {
    let directory = format!("/mnt/{what}");
    let words = [
        "check",
        "--on=lab://cut/client",
        &directory,
        "--verify",
        "--stability=filesync",
        "--pattern=sequential-write",
        "--block=64KiB",
        "--size=8MiB",
        "--workers=1",
        "--repeats=1",
        "--time=300s",
        "--timeout=120s",
        "--baseline=0s",
        "--quiet",
    ];
    let checking = beds.program.start(&words);
    // Each write of the trial is a call of the server's; the file is laid out by others before.
    let writes = || -> u64 {
        let line = beds.on("cut/server", "grep '^proc3 ' /proc/net/rpc/nfsd");
        line.split(' ').nth(9).unwrap().parse().unwrap()
    };
    let laid_out =
        format!("stat -c %s /srv/data/{what}/.plimsoll-*/write.data 2>/dev/null || echo 0");
    wait_until("the file is laid out", || {
        beds.on("cut/server", &laid_out).trim().parse::<u64>() == Ok(8 << 20)
    });
    let begun = writes();
    wait_until("writes are acknowledged", || writes() > begun + 300);
    beds.lab(&["reset", "cut/server"]).expect(0);
    let begun = writes();
    wait_until("it goes on", || writes() > begun + 20);
    ended(checking);
    beds.program.exported("latest").unwrap()
}

#[test]
#[ignore = "virtual machines: make check-machines"]
fn what_a_server_called_stable_is_there_after_a_power_cut() {
    let machines = Machines::new();
    let beds = &machines.beds;
    beds.lab(&["up", &beds.file("cut", CUT)]).expect(0);
    let study = cut(beds, "sync");
    let result = &study.trials[0].result;
    assert_eq!(result.outcome, Outcome::Complete, "{result:?}");
    // A server that says stable of what lies in its memory: this is found out.
    let study = cut(beds, "async");
    let result = &study.trials[0].result;
    assert!(matches!(result.outcome, Outcome::Failed { .. }), "{result:?}");
    let said = serde_json::to_string(&result).unwrap();
    assert!(said.contains("content"), "{said}");
}
