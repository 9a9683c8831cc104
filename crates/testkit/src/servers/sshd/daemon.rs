//! One run of an ssh server, with everything its users start.

use crate::{Error, program};
use nix::mount::{MsFlags, mount};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use plimsoll_host::child;
use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// How long a start may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A started server; dropping it kills it with every process it and its users started.
///
/// It is the first process of a process namespace of its own: the kernel ends the others with it,
/// they can be found, and its `/proc` shows no others, as on a machine of its own. File systems
/// that the stage mounts later are seen in it too.
#[derive(Debug)]
pub(in crate::servers) struct Daemon {
    /// `unshare`, which waits for the namespace's first process.
    child: Child,
    log: PathBuf,
}

impl Daemon {
    /// Starts a command line, with `root` as its file system's root, and waits until this port of
    /// it takes connections. What it says goes to the log.
    pub(in crate::servers) fn start(
        words: &[&str],
        root: &Path,
        environment: &[(&str, &str)],
        log: &Path,
        port: u16,
    ) -> Result<Self, Error> {
        let shared = MsFlags::MS_REC | MsFlags::MS_SHARED;
        mount(None::<&str>, root, None::<&str>, shared, None::<&str>)
            .map_err(Error::when(format_args!("cannot share the mounts of {}", root.display())))?;
        let output = File::options()
            .create(true)
            .append(true)
            .open(log)
            .map_err(Error::when(format_args!("cannot create {}", log.display())))?;
        let errors = output.try_clone().map_err(Error::when("cannot share a log"))?;
        // `setpriv` has the kernel kill `unshare` if the thread that started it ends without
        // having done so, as it does when a test is killed, and `--kill-child` hands that on.
        let child = child::command(program::locate("setpriv")?)
            .args(["--pdeathsig", "KILL"])
            .arg(program::locate("unshare")?)
            .args(["--pid", "--fork", "--kill-child=KILL", "--mount", "--propagation", "slave"])
            .arg("--root")
            .arg(root)
            .arg("--mount-proc=/proc")
            .args(words)
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .process_group(0)
            .spawn()
            .map_err(Error::when(format_args!("cannot start {}", words.join(" "))))?;
        let mut daemon = Self { child, log: log.into() };
        daemon.ready(port)?;
        Ok(daemon)
    }

    fn ready(&mut self, port: u16) -> Result<(), Error> {
        let deadline = Instant::now() + PATIENCE;
        while let Err(error) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) {
            let ended = self.child.try_wait().map_err(Error::when("cannot wait for a server"))?;
            if ended.is_some() || Instant::now() > deadline {
                let log = log_tail(&self.log);
                return Err(Error::new(format!("port {port} does not serve: {error}\n{log}")));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// The processes of the server and its users, its own first one first.
    pub(in crate::servers) fn processes(&self) -> Vec<u32> {
        let Some(first) = self.first() else { return Vec::new() };
        let namespace = |pid: u32| fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
        let Some(own) = namespace(first) else { return Vec::new() };
        let mut all: Vec<_> =
            numbers().filter(|pid| namespace(*pid).is_some_and(|n| n == own)).collect();
        all.sort_unstable_by_key(|pid| (*pid != first, *pid));
        all
    }

    /// The only child of `unshare`, while it runs.
    fn first(&self) -> Option<u32> {
        let parent = format!("PPid:\t{}\n", self.child.id());
        numbers().find(|pid| {
            fs::read_to_string(format!("/proc/{pid}/status")).is_ok_and(|s| s.contains(&parent))
        })
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // `unshare` outlives the first process, and that all others. Killed first, it could not
        // tell when they are gone.
        match self.first() {
            Some(first) => drop(kill(Pid::from_raw(first.cast_signed()), Signal::SIGKILL)),
            None => drop(self.child.kill()),
        }
        let _ = self.child.wait();
    }
}

fn numbers() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The last lines of what a server said.
pub(in crate::servers) fn log_tail(log: &Path) -> String {
    let log = fs::read(log).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    let lines: Vec<_> = log.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}
