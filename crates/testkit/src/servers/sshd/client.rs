//! What a client needs for a server of the stage: keys, known hosts, and configuration files for
//! `ssh -F` that use these alone.

use crate::servers::files::write;
use crate::{Error, program};
use std::fs;
use std::path::{Path, PathBuf};

/// Keys and configuration files, in a directory of the stage.
#[derive(Debug)]
pub(in crate::servers) struct Client {
    directory: PathBuf,
}

impl Client {
    /// Makes two keys: one for the server to know, and a stranger's.
    pub(in crate::servers) fn make(directory: &Path) -> Result<Self, Error> {
        let client = Self { directory: directory.into() };
        for key in ["key", "stranger"] {
            make_key(&client.path(key))?;
        }
        client.configure("config", "key", "known_hosts")?;
        client.configure("config.stranger", "stranger", "known_hosts")?;
        client.configure("config.newcomer", "key", "nothing")?;
        client.knows_none()?;
        Ok(client)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn configure(&self, name: &str, key: &str, known_hosts: &str) -> Result<(), Error> {
        let text = format!(
            "IdentityFile {key}\nIdentitiesOnly yes\nIdentityAgent none\n\
             UserKnownHostsFile {known}\nGlobalKnownHostsFile none\n\
             UpdateHostKeys no\nStrictHostKeyChecking ask\n",
            key = self.path(key).display(),
            known = self.path(known_hosts).display(),
        );
        write(&self.path(name), &text)
    }

    /// The public key that the server should know, as a line of `authorized_keys`.
    pub(in crate::servers) fn public_key(&self) -> Result<String, Error> {
        let path = self.path("key.pub");
        fs::read_to_string(&path)
            .map_err(Error::when(format_args!("cannot read {}", path.display())))
    }

    /// Lets it know the server of this port by its public key.
    pub(in crate::servers) fn knows(&self, port: u16, public_key: &str) -> Result<(), Error> {
        write(&self.path("known_hosts"), &format!("[127.0.0.1]:{port} {public_key}\n"))
    }

    fn knows_none(&self) -> Result<(), Error> {
        write(&self.path("known_hosts"), "")
    }

    /// The file for `ssh -F` with which the server lets it in.
    pub(in crate::servers) fn configuration(&self) -> PathBuf {
        self.path("config")
    }

    /// One with a key that the server does not know.
    pub(in crate::servers) fn stranger(&self) -> PathBuf {
        self.path("config.stranger")
    }

    /// One that does not know the server.
    pub(in crate::servers) fn newcomer(&self) -> PathBuf {
        self.path("config.newcomer")
    }
}

/// Makes a key pair without a passphrase.
pub(in crate::servers) fn make_key(path: &Path) -> Result<(), Error> {
    let text = path.to_string_lossy();
    program::run("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-C", "lab", "-f", &text])
        .map(drop)
}
