//! What lanes need to know of an open file.

use plimsoll_nfs::nfs3::{FileHandle, UnstableData};

/// A file that is open: its handle, and what is not yet stable of it.
#[derive(Debug)]
pub(crate) struct NfsFile {
    pub handle: FileHandle,
    pub unstable: UnstableData,
}

impl NfsFile {
    pub fn new(handle: FileHandle) -> Self {
        NfsFile { handle, unstable: UnstableData::new() }
    }
}

/// The open files of a share.
pub(super) type OpenFiles = crate::open_files::OpenFiles<NfsFile>;
