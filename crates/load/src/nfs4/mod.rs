//! NFS targets of version 4 as a [`Share`](crate::Share). What is the same as in versions 2 and 3
//! (who the server is, what its refusals mean, how paths are cut) is in [`nfs`](crate::nfs).

mod keeper;
mod lane;
mod namespace;
mod share;

pub use share::Nfs4Share;

use plimsoll_nfs::nfs3::UnstableData;
use plimsoll_nfs::nfs4::{FileHandle, OpenFile};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// A file that is open: at the server, and what is not yet stable of it.
#[derive(Debug)]
struct Nfs4File {
    open: Arc<OpenFile>,
    unstable: UnstableData,
}

impl Nfs4File {
    fn new(open: Arc<OpenFile>) -> Self {
        Nfs4File { open, unstable: UnstableData::new() }
    }
}

/// The open files of a share.
type OpenFiles = crate::open_files::OpenFiles<Nfs4File>;

/// Handles of the directories below a target that were made or looked up, by their paths: one stays
/// what it was, whatever its name stands for later.
type Held = Mutex<BTreeMap<String, FileHandle>>;
