//! A stage: network and mount namespaces of one test's own.
//!
//! The calling thread moves into them, and everything it starts from then on inherits them: its
//! threads, so that clients inside the test run there, and its child processes, so that the built
//! program and servers do. Other threads of the process notice nothing, so tests may run in
//! parallel.

use crate::{Error, Need, program};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, setns, unshare};
use plimsoll_process::child;
use std::fs::{self, File};
use std::marker::PhantomData;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// An address of the stage that is not loopback (TEST-NET-2, RFC 5737); servers that insist on
/// one find it.
pub const ADDRESS: &str = "198.51.100.1";

/// The calling thread's own stage. Dropping it puts the thread back where it was and ends what
/// the stage started; what was written below `/run` is gone with it.
///
/// Inside: `/run` is an empty tmpfs, `lo` is up with 127.0.0.1 and [`ADDRESS`], a portmapper
/// answers on port 111, and there is no way out to any other network.
///
/// It belongs to its thread: it can be neither sent nor shared.
#[derive(Debug)]
pub struct Stage {
    _portmapper: Portmapper,
    _way_back: WayBack,
    _belongs_to_its_thread: PhantomData<*const ()>,
}

impl Stage {
    /// Moves the calling thread onto a stage of its own. Takes root.
    ///
    /// # Errors
    /// What could not be set up; the thread is then back where it was.
    pub fn enter() -> Result<Self, Error> {
        let way_back = WayBack::remember()?;
        separate_thread()?;
        let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
        mount(None::<&str>, "/", None::<&str>, private, None::<&str>)
            .map_err(Error::when("cannot make the mounts of the stage private"))?;
        mount_tmpfs(Path::new("/run"), None)?;
        program::run("ip", &["link", "set", "lo", "up"])?;
        program::run("ip", &["addr", "add", &format!("{ADDRESS}/32"), "dev", "lo"])?;
        let portmapper = Portmapper::start()?;
        Ok(Self {
            _portmapper: portmapper,
            _way_back: way_back,
            _belongs_to_its_thread: PhantomData,
        })
    }

    /// [`Stage::enter`] where the machine allows it; `None`, said on standard error, where it
    /// lacks namespaces or one of the further needs. See [`crate::enter_or_skip`].
    ///
    /// # Panics
    /// If a need that `PLIMSOLL_REQUIRE` names is missing, or if the stage cannot be set up
    /// although everything is there.
    #[track_caller]
    pub fn enter_or_skip(needs: &[Need]) -> Option<Self> {
        let met =
            crate::available(Need::Namespaces) && needs.iter().all(|need| crate::available(*need));
        met.then(|| Self::enter().unwrap_or_else(|error| panic!("cannot enter a stage: {error}")))
    }

    /// Mounts a tmpfs of so many bytes on a directory, which is made if need be. Seen on this
    /// stage alone, and unmounted when the returned value is dropped.
    pub fn tmpfs(&self, path: impl Into<PathBuf>, bytes: u64) -> Result<Mount, Error> {
        let path = path.into();
        fs::create_dir_all(&path)
            .map_err(Error::when(format_args!("cannot make {}", path.display())))?;
        mount_tmpfs(&path, Some(bytes))?;
        Ok(Mount { path })
    }

    /// From now on drops every packet to this TCP port, as a firewall does: connections to it
    /// time out, and those already open fall silent. Needs [`Need::Nftables`].
    pub fn drop_port(&self, port: u16) -> Result<(), Error> {
        program::run("nft", &["add", "table", "inet", "stage"])?;
        let chain = "{ type filter hook input priority 0; }";
        program::run("nft", &["add", "chain", "inet", "stage", "input", chain])?;
        let port = port.to_string();
        program::run(
            "nft",
            &["add", "rule", "inet", "stage", "input", "tcp", "dport", &port, "drop"],
        )
        .map(drop)
    }

    /// Lets every port through again.
    pub fn open_ports(&self) -> Result<(), Error> {
        program::run("nft", &["flush", "ruleset"]).map(drop)
    }
}

/// Enters a [`Stage`], or returns from the test where the machine lacks what it takes.
///
/// `let stage = plimsoll_testkit::enter_or_skip!(plimsoll_testkit::Need::Ganesha, plimsoll_testkit::Need::Libnfs);`
#[macro_export]
macro_rules! enter_or_skip {
    ($($need:expr),* $(,)?) => {
        match $crate::Stage::enter_or_skip(&[$($need),*]) {
            Some(stage) => stage,
            None => return,
        }
    };
}

/// A file system mounted on a stage; dropping it unmounts.
#[derive(Debug)]
#[must_use = "dropping it unmounts the file system"]
pub struct Mount {
    path: PathBuf,
}

impl Mount {
    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Detached, so that a process that still holds a file there does not keep it in sight.
        let _ = umount2(&self.path, MntFlags::MNT_DETACH);
    }
}

fn mount_tmpfs(path: &Path, bytes: Option<u64>) -> Result<(), Error> {
    let options = match bytes {
        Some(bytes) => format!("mode=0755,size={bytes}"),
        None => "mode=0755".into(),
    };
    mount(Some("tmpfs"), path, Some("tmpfs"), MsFlags::empty(), Some(options.as_str()))
        .map_err(Error::when(format_args!("cannot mount a tmpfs on {}", path.display())))
}

/// Gives the calling thread namespaces of its own. `CLONE_FS` parts its working directory from
/// the other threads', without which a mount namespace cannot be entered or left.
pub(crate) fn separate_thread() -> Result<(), Error> {
    unshare(CloneFlags::CLONE_FS | CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWNET)
        .map_err(Error::when("cannot unshare the network and mount namespaces"))
}

/// The namespaces and the working directory a thread came from; dropping it goes back.
///
/// A test thread mostly ends with its stage, but with one test thread the harness runs every test
/// on its main thread.
#[derive(Debug)]
struct WayBack {
    network: File,
    mounts: File,
    directory: PathBuf,
}

impl WayBack {
    fn remember() -> Result<Self, Error> {
        let namespace = |kind: &str| {
            let path = format!("/proc/thread-self/ns/{kind}");
            File::open(&path).map_err(Error::when(format_args!("cannot open {path}")))
        };
        let directory = std::env::current_dir()
            .map_err(Error::when("cannot tell the working directory to come back to"))?;
        Ok(Self { network: namespace("net")?, mounts: namespace("mnt")?, directory })
    }
}

impl Drop for WayBack {
    fn drop(&mut self) {
        let back = setns(&self.network, CloneFlags::CLONE_NEWNET)
            .and_then(|()| setns(&self.mounts, CloneFlags::CLONE_NEWNS));
        if let Err(error) = back {
            eprintln!("a stage could not be left, later tests on this thread may fail: {error}");
        }
        // Entering a mount namespace puts the thread at its root.
        let _ = std::env::set_current_dir(&self.directory);
    }
}

/// `rpcbind` of one stage.
///
/// It changes its user, which undoes a parent-death signal; so a shell stands by and ends it as
/// soon as its standard input closes, which it does however this process ends.
#[derive(Debug)]
struct Portmapper {
    guard: Child,
}

impl Portmapper {
    const LOG: &str = "/run/rpcbind.log";
    const PATIENCE: Duration = Duration::from_secs(10);

    fn start() -> Result<Self, Error> {
        let log = File::create(Self::LOG)
            .map_err(Error::when(format_args!("cannot create {}", Self::LOG)))?;
        let guard = child::command("/bin/sh")
            .args(["-c", r#""$0" -w -f & read -r nothing; kill -KILL $!; wait"#])
            .arg(program::locate("rpcbind")?)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .map_err(Error::when("cannot start rpcbind"))?;
        let portmapper = Self { guard };
        wait_for_port(111, Self::PATIENCE).map_err(|error| {
            let log = fs::read_to_string(Self::LOG).unwrap_or_default();
            Error::new(format!("rpcbind does not answer: {error}\n{log}"))
        })?;
        Ok(portmapper)
    }
}

impl Drop for Portmapper {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
    }
}

/// Waits until a port of this machine takes connections.
fn wait_for_port(port: u16, patience: Duration) -> Result<(), Error> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let deadline = Instant::now() + patience;
    loop {
        match TcpStream::connect_timeout(&address, Duration::from_millis(200)) {
            Ok(_) => return Ok(()),
            Err(error) if Instant::now() > deadline => {
                return Err(Error::new(format!(
                    "no connection to {address} for {} s: {error}",
                    patience.as_secs()
                )));
            }
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}
