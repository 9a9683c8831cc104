//! A server of willscott/go-nfs, a library in Go: version 3 over TCP, written independently of all others here.
//! It ends its FSSTAT replies with four bytes too many. Needs [`crate::Need::GoNfs`].

use super::files::{make_directory, own_directory, tail};
use super::process::{Process, takes_connections};
use crate::Error;
use crate::program::GO_NFS;
use crate::stage::Stage;
use std::path::{Path, PathBuf};

/// A running server of one directory on a stage; dropping it kills the server.
#[derive(Debug)]
pub struct GoNfs {
    directory: PathBuf,
    port: u16,
    _process: Process,
}

impl GoNfs {
    /// Starts a server of a fresh directory on the stage, and waits until it serves.
    ///
    /// # Errors
    /// What failed, with the end of the server's log.
    pub fn start(_stage: &Stage, port: u16) -> Result<Self, Error> {
        let directory = own_directory("go-nfs")?;
        let served = directory.join("served");
        make_directory(&served)?;
        let served = served.display().to_string();
        let words = [GO_NFS, &port.to_string(), &served];
        let process = Process::start("go-nfs", &[], &words, &[], vec![log(&directory)])?;
        let process = process.ready(|| takes_connections(port))?;
        Ok(Self { directory, port, _process: process })
    }

    /// Where its files lie.
    pub fn directory(&self) -> PathBuf {
        self.directory.join("served")
    }

    /// The URL for plimsoll.
    pub fn url(&self) -> String {
        format!("nfs://127.0.0.1:{}/mount", self.port)
    }

    /// The URL of a file for the tools of libnfs, which are not to ask for other exports: the server's refusal of
    /// EXPORT cannot be decoded.
    pub fn libnfs_url(&self, file: &str) -> String {
        let ports = format!("nfsport={0}&mountport={0}", self.port);
        format!("nfs://127.0.0.1/mount/{file}?version=3&{ports}&auto-traverse-mounts=0")
    }

    /// The last lines of its log.
    pub fn log_tail(&self) -> String {
        tail(&[log(&self.directory)])
    }
}

fn log(directory: &Path) -> PathBuf {
    directory.join("go-nfs.log")
}
