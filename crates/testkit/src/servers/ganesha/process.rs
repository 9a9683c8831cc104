//! One run of the server's program.

use crate::{Error, program};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use plimsoll_host::child;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// A started server; dropping it kills it.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    directory: PathBuf,
}

impl Process {
    /// Starts it with `ganesha.conf` of the directory, where its log goes too.
    pub(super) fn start(program: &Path, directory: &Path) -> Result<Self, Error> {
        // The log of an earlier run would announce readiness at once.
        let _ = fs::remove_file(log_path(directory));
        // `setpriv` becomes the server and has the kernel kill it if the thread that started it
        // ends without having done so, as it does when a test is killed.
        let child = child::command(program::locate("setpriv")?)
            .args(["--pdeathsig", "KILL"])
            .arg(program)
            .args(["-F", "-N", "EVENT", "-f"])
            .arg(directory.join("ganesha.conf"))
            .arg("-L")
            .arg(log_path(directory))
            .arg("-p")
            .arg(directory.join("ganesha.pid"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(Error::when("cannot start ganesha.nfsd"))?;
        Ok(Self { child, directory: directory.into() })
    }

    /// Waits until it serves.
    pub(super) fn ready(mut self, patience: Duration) -> Result<Self, Error> {
        let deadline = Instant::now() + patience;
        loop {
            let log = fs::read_to_string(log_path(&self.directory)).unwrap_or_default();
            if log.contains("NFS SERVER INITIALIZED") {
                return Ok(self);
            }
            let ended = self.child.try_wait().map_err(Error::when("cannot wait for ganesha"))?;
            if let Some(status) = ended {
                return Err(self.complaint(&format!("ended at once ({status})")));
            }
            if Instant::now() > deadline {
                let waited = format!("did not serve within {} s", patience.as_secs());
                return Err(self.complaint(&waited));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Asks it to end, and waits.
    pub(super) fn terminate(mut self, patience: Duration) -> Result<(), Error> {
        self.signal(Signal::SIGTERM)?;
        let deadline = Instant::now() + patience;
        loop {
            let ended = self.child.try_wait().map_err(Error::when("cannot wait for ganesha"))?;
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

    /// Stops it, and waits until all its threads stand still.
    pub(super) fn freeze(&self) -> Result<(), Error> {
        self.signal(Signal::SIGSTOP)?;
        let deadline = Instant::now() + Duration::from_secs(10);
        while Instant::now() < deadline {
            let flags = WaitPidFlag::WSTOPPED | WaitPidFlag::WNOHANG;
            let status = waitid(Id::Pid(self.pid()), flags);
            if let Ok(WaitStatus::Stopped(..)) = status {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Err(self.complaint("did not stop on SIGSTOP"))
    }

    pub(super) fn thaw(&self) -> Result<(), Error> {
        self.signal(Signal::SIGCONT)
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    fn signal(&self, signal: Signal) -> Result<(), Error> {
        kill(self.pid(), signal).map_err(Error::when(format_args!("cannot send {signal}")))
    }

    /// Not yet waited for, so the number still is the server's.
    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    fn complaint(&self, what: &str) -> Error {
        Error::new(format!("ganesha.nfsd {what}; its log ends:\n{}", log_tail(&self.directory)))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn log_path(directory: &Path) -> PathBuf {
    directory.join("ganesha.log")
}

/// The last lines of a server's log.
pub(super) fn log_tail(directory: &Path) -> String {
    let log = fs::read(log_path(directory)).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    let lines: Vec<_> = log.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}
