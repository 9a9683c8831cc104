//! One run of a server's program, with all it starts.

use super::files::{open_log, tail};
use crate::{Error, program};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use plimsoll_process::child;
use plimsoll_process::{ProcessId, all};
use std::ffi::OsStr;
use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// How long a start or an orderly stop may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A started server; dropping it kills it with every process that it and its users started.
///
/// Servers start a process a connection and helpers, some of which leave their process group. So a
/// server is the first process of a process namespace of its own: the kernel ends the others with
/// it, and they can be found.
#[derive(Debug)]
pub(super) struct Process {
    name: &'static str,
    /// `unshare`, which waits for the namespace's first process.
    child: Child,
    logs: Vec<PathBuf>,
}

impl Process {
    /// Starts a command line in further namespaces than that of processes, as options of `unshare`
    /// tell. What it writes is added to the first log.
    pub fn start<S: AsRef<OsStr>>(
        name: &'static str,
        namespaces: &[&OsStr],
        words: &[S],
        environment: &[(&str, &str)],
        logs: Vec<PathBuf>,
    ) -> Result<Self, Error> {
        let log = logs.first().ok_or_else(|| Error::new(format!("{name} has no log")))?;
        let output = open_log(log)?;
        let errors = output.try_clone().map_err(Error::when("cannot share a log"))?;
        // `setpriv` has the kernel kill `unshare` if the thread that started it ends without
        // having done so, as it does when a test is killed, and `--kill-child` hands that on.
        let child = child::command(program::locate("setpriv")?)
            .args(["--pdeathsig", "KILL"])
            .arg(program::locate("unshare")?)
            .args(["--pid", "--fork", "--kill-child=KILL"])
            .args(namespaces)
            .args(words)
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            // Some end their process group on SIGTERM, which must not be this program's.
            .process_group(0)
            .spawn()
            .map_err(Error::when(format_args!("cannot start {name}")))?;
        Ok(Self { name, child, logs })
    }

    /// Waits until it serves.
    pub fn ready(mut self, serves: impl Fn() -> bool) -> Result<Self, Error> {
        let deadline = Instant::now() + PATIENCE;
        while !serves() {
            if let Some(status) = self.ended()? {
                return Err(self.complaint(&format!("ended at once ({status})")));
            }
            if Instant::now() > deadline {
                let waited = format!("did not serve within {} s", PATIENCE.as_secs());
                return Err(self.complaint(&waited));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(self)
    }

    /// Asks it to end (SIGTERM), and waits.
    pub fn terminate(mut self) -> Result<(), Error> {
        if let Some(first) = self.first() {
            let tried = format!("cannot send SIGTERM to {}", self.name);
            kill(first, Signal::SIGTERM).map_err(Error::when(tried))?;
        }
        let deadline = Instant::now() + PATIENCE;
        while self.ended()?.is_none() {
            if Instant::now() > deadline {
                let waited = format!("ignored SIGTERM for {} s, killed", PATIENCE.as_secs());
                return Err(self.complaint(&waited));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Stops it (SIGSTOP), and waits until all its threads stand still.
    pub fn freeze(&self) -> Result<(), Error> {
        let deadline = Instant::now() + Duration::from_secs(10);
        while Instant::now() < deadline {
            let moving: Vec<_> = self.pids().into_iter().filter(|pid| !is_stopped(*pid)).collect();
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

    /// Lets it go on (SIGCONT).
    pub fn thaw(&self) {
        for pid in self.pids() {
            let _ = kill(pid, Signal::SIGCONT);
        }
    }

    /// The process id of the server itself, while it runs.
    pub fn id(&self) -> Option<u32> {
        Some(self.first()?.as_raw().cast_unsigned())
    }

    /// The process ids of the server and of all that it and its users run, its own first.
    pub fn processes(&self) -> Vec<u32> {
        self.pids().into_iter().map(|pid| pid.as_raw().cast_unsigned()).collect()
    }

    fn pids(&self) -> Vec<Pid> {
        let Some(first) = self.first() else { return Vec::new() };
        let namespace = |pid: Pid| fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
        let Some(own) = namespace(first) else { return Vec::new() };
        let mut all: Vec<_> =
            all().map(pid).filter(|pid| namespace(*pid).is_some_and(|n| n == own)).collect();
        all.sort_unstable_by_key(|pid| (*pid != first, *pid));
        all
    }

    /// The only child of `unshare`, while it runs.
    fn first(&self) -> Option<Pid> {
        let children = ProcessId::from_pid(self.child.id())?.children();
        children.first().map(|process| pid(process.pid))
    }

    fn ended(&mut self) -> Result<Option<std::process::ExitStatus>, Error> {
        let name = self.name;
        self.child.try_wait().map_err(Error::when(format_args!("cannot wait for {name}")))
    }

    fn complaint(&self, what: &str) -> Error {
        Error::new(format!("{} {what}; its log ends:\n{}", self.name, tail(&self.logs)))
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

/// Whether this port of 127.0.0.1 takes connections.
pub(super) fn takes_connections(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
}

fn pid(number: u32) -> Pid {
    Pid::from_raw(number.cast_signed())
}

/// All its threads are stopped, or dead and so of no account.
fn is_stopped(pid: Pid) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let state = |status: String| {
        let line = status.lines().find_map(|line| line.strip_prefix("State:"))?;
        line.split_whitespace().next().map(str::to_owned)
    };
    let mut states =
        threads.filter_map(|thread| state(fs::read_to_string(thread.path().join("status")).ok()?));
    states.all(|state| matches!(state.as_str(), "T" | "t" | "Z" | "X"))
}
