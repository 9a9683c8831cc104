//! NFS targets of version 4 as a [`Share`](crate::Share). What is the same as in versions 2 and 3
//! (who the server is, what its refusals mean, how names below a target are worked with) is in [`nfs`](crate::nfs).

mod calls;
mod exports;
mod keeper;
mod lane;
mod share;

pub use share::Nfs4Share;
pub(crate) use share::{Older, Refused};

use plimsoll_nfs::nfs3::UnstableData;
use plimsoll_nfs::nfs4::{FileHandle, OpenFile, StateId};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A file that is open: at the server, and what is not yet stable of it.
#[derive(Debug)]
pub(crate) struct Nfs4File {
    open: Arc<OpenFile>,
    unstable: UnstableData,
    /// What it is unlocked by, while it is locked.
    lock: Mutex<Option<StateId>>,
}

impl Nfs4File {
    fn new(open: Arc<OpenFile>) -> Self {
        Nfs4File { open, unstable: UnstableData::new(), lock: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Option<StateId>> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The open files of a share.
type OpenFiles = crate::open_files::OpenFiles<Nfs4File>;

/// The directories of a share.
type Held = crate::nfs::held::Held<FileHandle>;
