//! Labs of machines that are saved, and killed at any moment.

use super::super::support::Plimsoll;
use super::super::support::beds::{Beds, machines_in, of_this_machine};
use plimsoll_testkit::Need;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

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
pub struct Machines {
    pub beds: Beds,
    cache: tempfile::TempDir,
}

impl Machines {
    pub fn new() -> Machines {
        Machines::with_program(Plimsoll::new().with_runner())
    }

    /// For tests that drive no load there.
    pub fn without_runner() -> Machines {
        Machines::with_program(Plimsoll::new())
    }

    /// By a program with other things in its environment.
    pub fn with(program: Plimsoll) -> Machines {
        Machines::with_program(program)
    }

    fn with_program(program: Plimsoll) -> Machines {
        let cache = tempfile::tempdir().unwrap();
        let images = plimsoll_lab::vm::Images::from_environment();
        let mut made = |_: &str| ();
        images.get(plimsoll_lab::vm::Image::Debian, &mut made).unwrap();
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
        let program = program.with("PLIMSOLL_LAB_CACHE", cache.path().to_str().unwrap());
        let beds = Beds::with_program(program);
        Machines { beds, cache }
    }

    fn saved(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.cache.path()).unwrap().flatten();
        let named =
            |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with("saved-");
        entries.filter(named).map(|entry| entry.path()).collect()
    }
}

/// Which start of a machine this is: what its kernel did has its moments by the microsecond.
fn boot(beds: &Beds, host: &str) -> String {
    beds.on(host, "dmesg | head -n 150 | sha256sum")
}

#[test]
#[ignore = "machines take minutes: make check-machines"]
fn a_lab_of_machines_is_saved_and_goes_on_from_there() {
    if !plimsoll_testkit::available(Need::Machines) {
        return;
    }
    let machines = Machines::new();
    let beds = &machines.beds;
    let file = beds.file("alone", ALONE);
    beds.lab(&["up", &file]).expect(0);
    let first = boot(beds, "alone/alone");
    beds.on("alone/alone", "echo later >/srv/data/later; sync; echo later >/etc/later");
    beds.lab(&["down", "alone"]).expect(0);
    assert_eq!(machines.saved().len(), 1);
    // All that was in its memory and on its disks.
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(&machines.saved()[0]), 0o700);
    for entry in fs::read_dir(&machines.saved()[0]).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
    }

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
    // It cannot be saved, which is reported; it is up all the same.
    fs::write(machines.cache.path().join("saving"), "in the way").unwrap();
    let up = beds.lab(&["up", &file, "--afresh"]).expect(0);
    assert!(
        up.err.contains("the next start boots the machines again: could not save a lab"),
        "{}",
        up.err
    );
    let fourth = boot(beds, "alone/alone");
    assert!(fourth != second && fourth != third);
    assert!(beds.lab(&["reset", "alone/lone"]).expect(2).err.contains("`alone`"));
    beds.lab(&["reset", "lone/alone"]).expect(2);
    beds.lab(&["down", "alone"]).expect(0);
}

#[test]
#[ignore = "machines take minutes: make check-machines"]
fn whatever_is_killed_of_machines_goes_down_without_a_trace() {
    if !plimsoll_testkit::available(Need::Machines) {
        return;
    }
    let machines = Machines::new();
    let beds = &machines.beds;
    let before = of_this_machine();
    let file = beds.file("alone", ALONE);
    let directory = beds.directory("alone");
    // While it boots, while it is configured and saved, and when it is resumed.
    let moments = [0, 50, 300, 2000, 6000, 10_000, 14_000];
    let mut seen = 0;
    for (n, milliseconds) in moments.into_iter().cycle().take(10).enumerate() {
        let mut up = beds.program.start(&["lab", "up", &file, "--quiet"]);
        std::thread::sleep(Duration::from_millis(milliseconds));
        up.kill().unwrap();
        up.wait().unwrap();
        let running = machines_in(&directory);
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
        assert_eq!(machines_in(&directory), Vec::<u32>::new());
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
}
