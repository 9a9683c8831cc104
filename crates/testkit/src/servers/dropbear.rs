//! A host as small as a router: dropbear for ssh, and BusyBox for everything else. Needs
//! [`crate::Need::Dropbear`] and [`crate::Need::Busybox`].

mod tree;

use super::files::{own_directory, tail, write};
use super::process::Process;
use super::sshd::{self, client::Client};
use crate::stage::{Mount, Stage};
use crate::{Error, program};
use std::path::{Path, PathBuf};

/// A running host. Its file system is its own, a tmpfs of 64 MB: `/bin` and `/sbin` hold BusyBox
/// alone, there is no C library, and `/proc` shows its own processes. Dropping it kills it with
/// everything that runs there.
#[derive(Debug)]
pub struct Dropbear {
    port: u16,
    directory: PathBuf,
    client: Client,
    daemon: Option<Process>,
    root: Mount,
}

impl Dropbear {
    /// The port it listens on if no other is asked for.
    pub const PORT: u16 = 20_023;
    const BYTES: u64 = 64 << 20;
    /// Of its root directory: where dropbear is, with its libraries, and its key.
    const OWN: &str = "/.dropbear";

    /// Starts a host on a stage and waits until it serves. Its one user is root.
    ///
    /// # Errors
    /// What failed, with the end of the server's log.
    pub fn start(stage: &Stage, port: u16) -> Result<Self, Error> {
        let directory = own_directory("dropbear")?;
        let client = Client::make(&directory)?;
        let root = stage.tmpfs(directory.join("root"), Self::BYTES)?;
        tree::fill(root.path())?;
        tree::bring_program(&program::locate("dropbear")?, root.path(), Self::OWN)?;
        let keys = root.path().join("root/.ssh/authorized_keys");
        write(&keys, &client.public_key()?)?;
        tree::set_mode(&keys, 0o600)?;
        let host_key = host_key(&root.path().join(Self::OWN.trim_start_matches('/')))?;
        client.knows(port, &host_key)?;
        let mut host = Self { port, directory, client, daemon: None, root };
        host.restart()?;
        Ok(host)
    }

    /// Kills it if it runs, and starts it again. Files stay.
    pub fn restart(&mut self) -> Result<(), Error> {
        self.kill();
        let place = |name: &str| format!("{}/{name}", Self::OWN);
        let (program, key) = (place("dropbear"), place("host_key"));
        let address = format!("127.0.0.1:{}", self.port);
        let words = [&program, "-F", "-E", "-s", "-p", &address, "-r", &key];
        let libraries = [("LD_LIBRARY_PATH", Self::OWN)];
        let (root, log) = (self.root.path(), self.log_path());
        self.daemon = Some(sshd::host("dropbear", &words, root, &libraries, log, self.port)?);
        Ok(())
    }

    /// Kills it and everything that runs there, as a power cut would.
    pub fn kill(&mut self) {
        self.daemon = None;
    }

    /// The host, for plimsoll.
    pub fn url(&self) -> String {
        format!("ssh://root@127.0.0.1:{}", self.port)
    }

    /// The file for `ssh -F` with which it lets one in.
    pub fn configuration(&self) -> PathBuf {
        self.client.configuration()
    }

    /// One for `ssh -F` with a key that it does not know.
    pub fn configuration_of_a_stranger(&self) -> PathBuf {
        self.client.stranger()
    }

    /// Its root directory, as the stage sees it. What is mounted below it is seen there too.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// The process ids of all that runs there, the server's own first.
    pub fn processes(&self) -> Vec<u32> {
        self.daemon.as_ref().map(Process::processes).unwrap_or_default()
    }

    /// The last lines of its log.
    pub fn log_tail(&self) -> String {
        tail(&[self.log_path()])
    }

    fn log_path(&self) -> PathBuf {
        self.directory.join("dropbear.log")
    }
}

/// Makes a host key in a directory, and returns the public one.
fn host_key(directory: &Path) -> Result<String, Error> {
    let path = directory.join("host_key");
    let said = program::run("dropbearkey", &["-t", "ed25519", "-f", &path.to_string_lossy()])?;
    said.lines()
        .find(|line| line.starts_with("ssh-ed25519 "))
        .map(str::to_owned)
        .ok_or_else(|| Error::new(format!("dropbearkey tells no public key: {said}")))
}
