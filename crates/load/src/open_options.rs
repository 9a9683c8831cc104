//! How targets are opened: an input of every kind of share.

use crate::connection::TimeLimits;
use crate::names::Names;
use crate::smb::Passwords;
use plimsoll_model::{Deadline, Engine, PageCache};

/// How targets are opened.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// The engine of directories; `None`: chosen by what the kernel allows and the depth.
    pub engine: Option<Engine>,
    /// Whether directories are read and written through the page cache.
    pub cache: PageCache,
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
            cache: PageCache::Direct,
            limits: TimeLimits::default(),
            passwords: Passwords::default(),
            names: Names::default(),
            file: None,
            write_again: true,
            deadline: plimsoll_transport::SystemClock::no_deadline(),
        }
    }
}
