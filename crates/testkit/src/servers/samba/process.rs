//! One run of the server's program, with all it starts.

use crate::{Error, program};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use plimsoll_host::child;
use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// A started server; dropping it kills it with every process it started.
///
/// `smbd` starts one process a connection and some helpers, some of which leave its process
/// group. So it is the first process of a process namespace of its own: the kernel ends the
/// others with it, and they can be found.
#[derive(Debug)]
pub(super) struct Process {
    /// `unshare`, which waits for the namespace's first process.
    child: Child,
    directory: PathBuf,
}

impl Process {
    /// Starts it with `smb.conf` of the directory, where its log goes too.
    pub(super) fn start(directory: &Path) -> Result<Self, Error> {
        let output = directory.join("smbd.out");
        let output = File::create(&output)
            .map_err(Error::when(format_args!("cannot create {}", output.display())))?;
        let errors = output.try_clone().map_err(Error::when("cannot share a log"))?;
        // `setpriv` has the kernel kill `unshare` if the thread that started it ends without
        // having done so, as it does when a test is killed, and `--kill-child` hands that on.
        let child = child::command(program::locate("setpriv")?)
            .args(["--pdeathsig", "KILL"])
            .arg(program::locate("unshare")?)
            .args(["--pid", "--fork", "--kill-child=KILL"])
            .arg(program::locate("smbd")?)
            .args(["--foreground", "--no-process-group", "--configfile"])
            .arg(directory.join("smb.conf"))
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            // On SIGTERM smbd ends its process group, which must not be this program's.
            .process_group(0)
            .spawn()
            .map_err(Error::when("cannot start smbd"))?;
        Ok(Self { child, directory: directory.into() })
    }

    /// Waits until it takes connections.
    pub(super) fn ready(mut self, port: u16, patience: Duration) -> Result<Self, Error> {
        let deadline = Instant::now() + patience;
        loop {
            let ended = self.child.try_wait().map_err(Error::when("cannot wait for smbd"))?;
            if let Some(status) = ended {
                return Err(self.complaint(&format!("ended at once ({status})")));
            }
            if TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok() {
                return Ok(self);
            }
            if Instant::now() > deadline {
                let waited = format!("took no connection within {} s", patience.as_secs());
                return Err(self.complaint(&waited));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Asks it to end, and waits.
    pub(super) fn terminate(mut self, patience: Duration) -> Result<(), Error> {
        if let Some(first) = self.first() {
            kill(first, Signal::SIGTERM).map_err(Error::when("cannot send SIGTERM to smbd"))?;
        }
        let deadline = Instant::now() + patience;
        loop {
            let ended = self.child.try_wait().map_err(Error::when("cannot wait for smbd"))?;
            if ended.is_some() {
                return Ok(());
            }
            if Instant::now() > deadline {
                let waited = format!("ignored SIGTERM for {} s, killed", patience.as_secs());
                return Err(self.complaint(&waited));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Stops it, and waits until all its processes stand still.
    pub(super) fn freeze(&self) -> Result<(), Error> {
        let deadline = Instant::now() + Duration::from_secs(10);
        while Instant::now() < deadline {
            let moving: Vec<_> = self.all().into_iter().filter(|pid| !is_stopped(*pid)).collect();
            if moving.is_empty() {
                return Ok(());
            }
            for pid in moving {
                // It may have ended meanwhile.
                let _ = kill(pid, Signal::SIGSTOP);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Err(self.complaint("did not stop on SIGSTOP"))
    }

    pub(super) fn thaw(&self) {
        for pid in self.all() {
            let _ = kill(pid, Signal::SIGCONT);
        }
    }

    /// The processes of the server, the first one first.
    pub(super) fn all(&self) -> Vec<Pid> {
        let Some(first) = self.first() else { return Vec::new() };
        let namespace = |pid: Pid| fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
        let Some(own) = namespace(first) else { return Vec::new() };
        let mut all: Vec<_> =
            processes().filter(|pid| namespace(*pid).is_some_and(|n| n == own)).collect();
        all.sort_unstable_by_key(|pid| (*pid != first, *pid));
        all
    }

    /// `smbd` itself, the only child of `unshare`, while it runs.
    pub(super) fn first(&self) -> Option<Pid> {
        let parent = self.child.id().cast_signed();
        processes().find(|pid| status(*pid, "PPid:").is_some_and(|p| p == parent.to_string()))
    }

    fn complaint(&self, what: &str) -> Error {
        Error::new(format!("smbd {what}; its log ends:\n{}", log_tail(&self.directory)))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // `unshare` outlives the first process, and that all others: when it has ended, no
        // process is left that could write to a share. Killed first, it could not tell.
        match self.first() {
            Some(first) => drop(kill(first, Signal::SIGKILL)),
            None => drop(self.child.kill()),
        }
        let _ = self.child.wait();
    }
}

fn processes() -> impl Iterator<Item = Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok().map(Pid::from_raw))
}

/// The first word of a field of `/proc/<pid>/status`.
fn status(pid: Pid, field: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    line.split_whitespace().next().map(String::from)
}

/// Stopped, or dead and so of no account.
fn is_stopped(pid: Pid) -> bool {
    status(pid, "State:").is_none_or(|state| matches!(state.as_str(), "T" | "t" | "Z" | "X"))
}

/// The last lines of what a server said.
pub(super) fn log_tail(directory: &Path) -> String {
    let read = |name: &str| fs::read(directory.join(name)).unwrap_or_default();
    let log = [read("smbd.out"), read("smbd.log")].concat();
    let log = String::from_utf8_lossy(&log);
    let lines: Vec<_> = log.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}
