//! Measured storage: a directory, an NFS export or an SMB share, as the user writes it.

pub(crate) mod authority;
mod facts;
mod letters;
mod nfs;
mod options;
mod protocol;
mod smb;
mod suggestion;
#[cfg(test)]
mod tests;
mod url;

pub use authority::without_password;
pub use facts::{AdvertisedSizes, InPlace, Protection, TargetFacts, WriteState};
pub use letters::with_letters;
pub use nfs::{NfsTarget, NfsTransport, NfsVersion, SourcePort};
pub use protocol::Protocol;
pub use smb::{SmbDialect, SmbProtection, SmbTarget};
pub use suggestion::suggested_url;

use crate::Failure;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use url::{PATH_ESCAPES, decode, usage, without_parents};

/// A storage target.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Target {
    /// A directory on any mounted file system.
    Directory(DirectoryTarget),
    /// An NFS export, reached without a mount.
    Nfs(NfsTarget),
    /// An SMB share, reached without a mount.
    Smb(SmbTarget),
}

/// A directory on any mounted file system.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DirectoryTarget {
    /// Its path.
    pub path: PathBuf,
}

/// How a directory target is driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// One io_uring per worker.
    IoUring,
    /// Threads of pread and pwrite.
    Psync,
}

/// Whether reads and writes of a directory target go through the page cache of the machine that it is driven on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageCache {
    /// They bypass it by O_DIRECT, where the file system takes that.
    #[default]
    Direct,
    /// Calls go through it, as in most programs: the kernel reads ahead and delays writes. Before
    /// each trial it drops its pages of the files.
    Page,
}

impl PageCache {
    /// Whether it is the default.
    pub fn is_direct(&self) -> bool {
        *self == PageCache::Direct
    }
}

const KINDS: &str = "Give a directory, nfs://host/export or smb://user@host/share.";

impl FromStr for Target {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        if text.is_empty() {
            return Err(usage("''", "it is empty", KINDS));
        }
        let Some((scheme, rest)) = text.split_once("://") else {
            return Ok(Target::Directory(DirectoryTarget { path: PathBuf::from(text) }));
        };
        match scheme.to_ascii_lowercase().as_str() {
            "nfs" => NfsTarget::parse(text, rest).map(Target::Nfs),
            "smb" => SmbTarget::parse(text, rest).map(Target::Smb),
            "file" => {
                let path = decode(text, rest)?;
                Ok(Target::Directory(DirectoryTarget { path: PathBuf::from(path) }))
            }
            "cifs" => {
                let url = suggestion::smb(rest);
                let next =
                    url.map_or("Write it with smb://.".into(), |u| format!("Write it as {u}."));
                Err(usage(text, "cifs:// is not supported", &next))
            }
            other => Err(usage(text, format!("'{other}://' is not supported"), KINDS)),
        }
    }
}

impl Target {
    /// The name or address of the server that is connected to; `None` of a directory.
    pub fn host(&self) -> Option<&str> {
        match self {
            Target::Directory(_) => None,
            Target::Nfs(export) => Some(&export.host),
            Target::Smb(share) => Some(&share.host),
        }
    }

    /// The directory of a file on a server, as a target, and the name of the file; `None` of a directory of a machine,
    /// and where no name follows the host or the share.
    pub fn file(&self) -> Option<(Target, String)> {
        let path = match self {
            Target::Directory(_) => return None,
            Target::Nfs(export) => export.path.trim_end_matches('/'),
            Target::Smb(share) => share.path.trim_end_matches('/'),
        };
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        if name.is_empty() {
            return None;
        }
        let mut target = self.clone();
        match &mut target {
            Target::Directory(_) => {}
            Target::Nfs(export) if directory.is_empty() => export.path = "/".to_owned(),
            Target::Nfs(export) => export.path = directory.to_owned(),
            Target::Smb(share) => share.path = directory.to_owned(),
        }
        Some((target, name.to_owned()))
    }

    /// Whether the server is the machine that connects to it: its address is one of the loopback.
    pub fn is_on_loopback(&self) -> bool {
        self.host().is_some_and(|host| {
            let host = host.trim_end_matches('.');
            let mapped = |ip: IpAddr| ip.to_canonical().is_loopback();
            host.eq_ignore_ascii_case("localhost") || host.parse().is_ok_and(mapped)
        })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Directory(d) => write!(f, "{}", d.path.display()),
            Target::Nfs(n) => n.fmt(f),
            Target::Smb(s) => s.fmt(f),
        }
    }
}
