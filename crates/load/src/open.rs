//! From a target to its share.

use crate::connection::TimeLimits;
use crate::directory::DirectoryShare;
use crate::names::Names;
use crate::nfs::NfsShare;
use crate::nfs4::Nfs4Share;
use crate::share::Share;
use crate::smb::{Passwords, SmbShare};
use plimsoll_model::{Deadline, Engine, Failure, NfsVersion, Target};
use std::sync::Arc;

/// How targets are opened.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// The engine of directories; `None`: chosen by what the kernel allows and the depth.
    pub engine: Option<Engine>,
    /// Time limits of what is reached over the network.
    pub limits: TimeLimits,
    /// Where the passwords of SMB shares' users come from.
    pub passwords: Passwords,
    /// Addresses that are known already.
    pub names: Names,
    /// A file below each target that is only read, where it is; nothing else is done there then.
    pub file: Option<String>,
    /// Whether data that a server loses in a restart, before they were stable, are written again; else
    /// they are an error of their flush.
    pub write_again: bool,
    /// Until when everything that waits for the target may go on, now and later.
    pub deadline: Deadline,
}

impl Default for OpenOptions {
    fn default() -> Self {
        OpenOptions {
            engine: None,
            limits: TimeLimits::default(),
            passwords: Passwords::default(),
            names: Names::default(),
            file: None,
            write_again: true,
            deadline: plimsoll_transport::SystemClock::no_deadline(),
        }
    }
}

/// Opens a target: connects where there is something to connect to, and finds out what it is.
/// Nothing is left behind on it.
pub fn open(target: &Target, options: &OpenOptions) -> Result<Arc<dyn Share>, Failure> {
    let given = target.to_string();
    Ok(match target {
        Target::Directory(directory) => Arc::new(DirectoryShare::open(directory, &given, options)?),
        Target::Nfs(export) if export.version.is_some_and(NfsVersion::is_4) => {
            Arc::new(Nfs4Share::open(export, &given, options)?)
        }
        Target::Nfs(export) => Arc::new(NfsShare::open(export, &given, options)?),
        Target::Smb(share) => Arc::new(SmbShare::open(share, &given, options)?),
    })
}
