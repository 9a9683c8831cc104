//! Processes of this machine, distinguished from later ones that got the same number.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// A process by its number and the moment it was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessId {
    /// Its number.
    pub pid: u32,
    /// When it was started, in clock ticks since boot (proc(5), stat, field 22).
    pub started: u64,
}

/// What field 3 of stat has for a process that has ended and whose parent has not noticed.
const ENDED: [&str; 3] = ["Z", "X", "x"];

impl ProcessId {
    /// This process.
    pub fn this() -> ProcessId {
        let pid = std::process::id();
        ProcessId::from_pid(pid).unwrap_or(ProcessId { pid, started: 0 })
    }

    /// The process that has this number now.
    pub fn from_pid(pid: u32) -> Option<ProcessId> {
        let fields = stat(&format!("/proc/{pid}/stat"))?;
        Some(ProcessId { pid, started: fields.get(19)?.parse().ok()? })
    }

    /// Whether any of its threads still runs. The first may have ended long before the last, which
    /// holds memory and files until then.
    pub fn alive(self) -> bool {
        self.fields().is_some_and(|fields| !ended(&fields))
            || (self.fields().is_some() && threads(self.pid).any(|fields| !ended(&fields)))
    }

    /// Whether it has ended and the first process of the system, whose child it is now, has yet to
    /// notice.
    fn is_about_to_go(self) -> bool {
        self.fields()
            .is_some_and(|fields| ended(&fields) && fields.get(1).is_some_and(|p| p == "1"))
    }

    /// What `/proc` says of it, while it is there.
    fn fields(self) -> Option<Vec<String>> {
        let fields = stat(&format!("/proc/{}/stat", self.pid))?;
        let started = fields.get(19)?.parse().ok();
        (started == Some(self.started)).then_some(fields)
    }

    /// Kills it; another process of the same number is spared.
    pub fn kill(self) {
        let Ok(number) = i32::try_from(self.pid) else { return };
        if number > 1 && self.alive() {
            let _ = kill(Pid::from_raw(number), Signal::SIGKILL);
        }
    }

    /// The space ([`space`]) in which it runs, while it does.
    pub fn space(self) -> Option<String> {
        let space = space_of(&self.pid.to_string())?;
        self.fields().map(|_| space)
    }

    /// Its children.
    pub fn children(self) -> Vec<ProcessId> {
        let parent = self.pid.to_string();
        all()
            .filter(|pid| {
                stat(&format!("/proc/{pid}/stat")).is_some_and(|f| f.get(1) == Some(&parent))
            })
            .filter_map(ProcessId::from_pid)
            .collect()
    }
}

/// This boot of the machine; empty where that cannot be read.
pub fn boot() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

/// One boot and one process-id namespace: process numbers compare only within.
pub fn space() -> String {
    space_of("self").unwrap_or_else(|| format!("{} ", boot()))
}

fn space_of(process: &str) -> Option<String> {
    let namespace = std::fs::read_link(format!("/proc/{process}/ns/pid")).ok()?;
    Some(format!("{} {}", boot(), namespace.display()))
}

fn ended(fields: &[String]) -> bool {
    fields.first().is_some_and(|state| ENDED.contains(&&**state))
}

/// What `/proc` says of each thread of a process.
fn threads(pid: u32) -> impl Iterator<Item = Vec<String>> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| stat(&entry.path().join("stat").to_string_lossy()))
}

/// The fields of a file `stat` in `/proc` from the third on: the second, a name, may contain
/// anything.
fn stat(path: &str) -> Option<Vec<String>> {
    let text = std::fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let (_, rest) = text.rsplit_once(')')?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}

/// The numbers of all processes that can be seen.
pub fn all() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Every process that has this variable in the environment it was started with: also one that was
/// started in the moment before it could be written down.
pub fn marked(name: &str, value: &str) -> Vec<ProcessId> {
    let has = |pid: &u32| variable(*pid, name).is_some_and(|found| found == value);
    all().filter(has).filter_map(ProcessId::from_pid).collect()
}

/// What a variable had in the environment that a process was started with.
pub fn variable(pid: u32, name: &str) -> Option<String> {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let value_of = |one: &[u8]| {
        let value = one.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
        String::from_utf8(value.to_vec()).ok()
    };
    environment.split(|byte| *byte == 0).find_map(value_of)
}

/// What has ended is noticed by the first process of the system at once, or never where that is
/// none that cares, as in some containers.
const NOTICED: Duration = Duration::from_secs(2);

/// Kills processes and waits until they are gone; whether they are.
pub fn kill_all(processes: &[ProcessId], patience: Duration) -> bool {
    let deadline = Instant::now() + patience;
    processes.iter().for_each(|process| process.kill());
    while processes.iter().any(|process| process.alive()) {
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let noticed = Instant::now() + NOTICED;
    while processes.iter().any(|process| process.is_about_to_go()) && Instant::now() < noticed {
        std::thread::sleep(Duration::from_millis(2));
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_stranger_with_the_same_number_is_spared() {
        let mut child =
            Command::new("sleep").arg("60").env("PLIMSOLL_TEST_MARK", "a").spawn().unwrap();
        let here = ProcessId::from_pid(child.id()).unwrap();
        assert!(ProcessId::this().alive() && here != ProcessId::this());
        let stranger = ProcessId { started: here.started - 1, ..here };
        assert!(here.alive() && !stranger.alive());
        stranger.kill();
        assert!(kill_all(&[stranger], Duration::ZERO));
        assert!(here.alive(), "another one of that number was killed");
        assert!(kill_all(&[here], Duration::from_secs(10)));
        assert!(!here.alive(), "it waits to be noticed, and counts as gone");
        child.wait().unwrap();
        assert_eq!(ProcessId::from_pid(child.id()), None);
    }

    /// As QEMU ends: its first thread before those that run the machine.
    #[test]
    fn a_process_lives_as_long_as_its_last_thread() {
        let script = "import ctypes, threading, time\n\
                      threading.Thread(target=time.sleep, args=(600,)).start()\n\
                      ctypes.CDLL(None).pthread_exit(None)";
        let Ok(mut child) = Command::new("python3").args(["-c", script]).spawn() else { return };
        let process = ProcessId::from_pid(child.id()).unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        while !process.fields().is_some_and(|fields| ended(&fields)) {
            assert!(Instant::now() < deadline, "its first thread has not ended");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(process.alive(), "another thread of it runs");
        assert!(kill_all(&[process], Duration::from_secs(60)));
        assert!(threads(child.id()).all(|fields| ended(&fields)));
        child.wait().unwrap();
    }

    #[test]
    fn processes_are_found_by_their_mark_and_parent() {
        let mark = format!("test-{}", std::process::id());
        let mut child = Command::new("/bin/sh")
            .args(["-c", "sleep 60 & wait"])
            .env("PLIMSOLL_TEST_MARK", &mark)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let shell = ProcessId::from_pid(child.id()).unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        while shell.children().is_empty() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        let found = marked("PLIMSOLL_TEST_MARK", &mark);
        assert!(found.contains(&shell) && found.contains(&shell.children()[0]), "{found:?}");
        assert_eq!(marked("PLIMSOLL_TEST_MARK", &mark[1..]), vec![]);
        assert!(kill_all(&found, Duration::from_secs(10)));
        child.wait().unwrap();
    }
}
