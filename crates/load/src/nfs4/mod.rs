//! NFS targets of version 4 as a [`Share`](crate::Share). What is the same as in versions 2 and 3
//! (who the server is, what its refusals mean, how names below a target are worked with) is in [`nfs`](crate::nfs).

mod calls;
mod keeper;
mod lane;
mod share;

pub use share::Nfs4Share;

use plimsoll_nfs::nfs3::UnstableData;
use plimsoll_nfs::nfs4::{FileHandle, OpenFile};
use std::sync::Arc;

/// A file that is open: at the server, and what is not yet stable of it.
#[derive(Debug)]
pub(crate) struct Nfs4File {
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

/// The directories of a share.
type Held = crate::nfs::held::Held<FileHandle>;
