//! The SMB server of impacket, a Python library: small, written independently of Samba, dialect
//! 2.0.2 only, without signing of its own accord. Needs [`crate::Need::Impacket`].

use super::files::{make_directory, open_log, own_directory, tail};
use super::process::takes_connections;
use super::samba::smbclient;
use crate::program::PYTHON;
use crate::stage::Stage;
use crate::{Error, program};
use plimsoll_process::child;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SCRIPT: &str = include_str!("impacket.py");

/// A running server with one share on a stage; dropping it kills the server.
#[derive(Debug)]
pub struct ImpacketServer {
    child: Child,
    directory: PathBuf,
    share: String,
    port: u16,
}

impl ImpacketServer {
    /// The one user.
    pub const USER: &str = "tester";
    /// That user's password.
    pub const PASSWORD: &str = "open sesame";
    const PATIENCE: Duration = Duration::from_secs(30);

    /// Starts a server of one share, a fresh directory on the stage, and waits until it serves.
    ///
    /// # Errors
    /// What failed, with the end of the server's log.
    pub fn start(_stage: &Stage, share: &str, port: u16) -> Result<Self, Error> {
        let directory = own_directory("impacket")?;
        let shared = directory.join("share");
        make_directory(&shared)?;
        let log = open_log(&log_path(&directory))?;
        let errors = log.try_clone().map_err(Error::when("cannot share a log"))?;
        let child = child::command(program::locate("setpriv")?)
            .args(["--pdeathsig", "KILL", PYTHON, "-c", SCRIPT])
            .args([&port.to_string(), share])
            .arg(&shared)
            .arg(Self::USER)
            .stdin(Stdio::piped())
            .stdout(log)
            .stderr(errors)
            .spawn()
            .map_err(Error::when("cannot start impacket's server"))?;
        let mut server = Self { child, directory, share: share.into(), port };
        if let Some(input) = &mut server.child.stdin {
            writeln!(input, "{}", Self::PASSWORD)
                .map_err(Error::when("cannot hand impacket's server the password"))?;
        }
        server.ready()?;
        Ok(server)
    }

    fn ready(&mut self) -> Result<(), Error> {
        let deadline = Instant::now() + Self::PATIENCE;
        while !takes_connections(self.port) {
            let ended = self.child.try_wait().map_err(Error::when("cannot wait for impacket"))?;
            if ended.is_some() || Instant::now() > deadline {
                let log = self.log_tail();
                return Err(Error::new(format!("impacket's server does not serve:\n{log}")));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Where the files of the share lie.
    pub fn directory(&self) -> PathBuf {
        self.directory.join("share")
    }

    /// The port of SMB.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The URL of the share for plimsoll; the password is not in it.
    pub fn url(&self) -> String {
        format!("smb://{}@127.0.0.1:{}/{}", Self::USER, self.port, self.share)
    }

    /// Samba's client on the share, ready for options and commands (`-c`). Needs
    /// [`crate::Need::Smbclient`].
    pub fn smbclient(&self) -> Result<Command, Error> {
        let mut command = smbclient(self.port, &self.share)?;
        command.args(["-U", Self::USER]).env("PASSWD", Self::PASSWORD);
        Ok(command)
    }

    /// The last lines of its log.
    pub fn log_tail(&self) -> String {
        tail(&[log_path(&self.directory)])
    }
}

impl Drop for ImpacketServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn log_path(directory: &Path) -> PathBuf {
    directory.join("impacket.log")
}
