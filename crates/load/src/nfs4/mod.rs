//! NFS targets of version 4 as a [`Share`](crate::Share). What is the same as in versions 2 and 3
//! (who the server is, what its refusals mean, how names below a target are worked with) is in [`nfs`](crate::nfs).

mod calls;
mod exports;
mod keeper;
mod lane;
mod share;

pub use share::Nfs4Share;
pub(crate) use share::{Older, Refused};

use crate::op::{ByteRange, LockMode, Op};
use plimsoll_nfs::nfs3::UnstableData;
use plimsoll_nfs::nfs4::{FileHandle, LockOwner, OpenFile, StateId};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A file that is open: at the server, and what is not yet stable of it.
#[derive(Debug)]
pub(crate) struct Nfs4File {
    open: Arc<OpenFile>,
    unstable: UnstableData,
    locks: Mutex<Locks>,
}

impl Nfs4File {
    fn new(open: Arc<OpenFile>) -> Self {
        Nfs4File { open, unstable: UnstableData::new(), locks: Mutex::default() }
    }

    fn locks(&self) -> MutexGuard<'_, Locks> {
        self.locks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Locks on an open file. They have one owner: with an owner for each a server would keep all of them until the file is
/// closed.
#[derive(Debug, Default)]
struct Locks {
    owner: Option<LockOwner>,
    held: Vec<(ByteRange, LockMode)>,
}

impl Locks {
    /// Whether these bytes can be locked. Where this owner has locked some of them, the server would take the call for a
    /// change of that lock: that is meant only where a shared lock of the same bytes becomes exclusive.
    fn can_lock(&self, bytes: &ByteRange, mode: LockMode) -> bool {
        let is_upgrade = |held: &(ByteRange, LockMode)| {
            mode == LockMode::Exclusive && *held == (*bytes, LockMode::Shared)
        };
        !self.held.iter().any(|held| held.0.overlaps(bytes) && !is_upgrade(held))
    }

    fn has(&self, bytes: &ByteRange) -> bool {
        self.held.iter().any(|(held, _)| held == bytes)
    }

    /// The server has done what was asked: the owner's locks have this state.
    fn changed(&mut self, op: &Op, state: StateId) {
        let calls = self.owner.map_or(0, |owner| owner.sequence);
        self.owner = Some(LockOwner { state, sequence: calls.wrapping_add(1) });
        match op {
            Op::Lock(_, bytes, mode) => {
                self.held.retain(|(held, _)| held != bytes);
                self.held.push((*bytes, *mode));
            }
            Op::Unlock(_, bytes) => self.held.retain(|(held, _)| held != bytes),
            _ => {}
        }
    }

    /// The server has refused it, for now or for good. Whatever it thinks of an owner without locks then, another one
    /// begins anew.
    fn refused(&mut self, is_later: bool) {
        if self.held.is_empty() && !is_later {
            self.owner = None;
        } else if let Some(owner) = &mut self.owner {
            owner.sequence = owner.sequence.wrapping_add(1);
        }
    }
}

/// The open files of a share.
type OpenFiles = crate::open_files::OpenFiles<Nfs4File>;

/// The directories of a share.
type Directories = crate::nfs::directories::Directories<FileHandle>;
