//! Files and directories of a share.

mod create;
mod info;
mod list;
mod small;
mod transfer;

pub(crate) use create::{close_request, parse as parse_create, request_pipe};
pub(crate) use info::{
    disposition, network_open, parse_network_open, parse_output, renaming, times,
};
pub use list::Listing;
pub(crate) use list::{parse as parse_listing, parse_entries, request as listing};
pub(crate) use small::compound_not_followed;
pub(crate) use transfer::{parse_read, parse_write, place_of_read, read_request, write_request};

use crate::link::FileId;
use crate::ms_smb2::types::flags::FileAttributes;
use crate::requests::Rights;
use std::time::SystemTime;

/// What is done if the file exists, and if it does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateHow {
    /// It must not exist, and is made.
    New,
    /// It is opened, or made.
    OpenOrCreate,
    /// It is emptied, or made.
    Replace,
    /// It must exist.
    Open,
}

/// What may be done with an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reading.
    Read,
    /// Reading and writing.
    ReadWrite,
}

impl Access {
    pub(crate) fn rights(self) -> Rights {
        match self {
            Access::Read => Rights::READ,
            Access::ReadWrite => Rights::READ_WRITE,
        }
    }
}

/// What kind of thing a name stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A link or another reparse point.
    #[default]
    Other,
}

impl EntryKind {
    pub(crate) fn from_attributes(attributes: u32) -> Self {
        if attributes & FileAttributes::REPARSE_POINT != 0 {
            EntryKind::Other
        } else if attributes & FileAttributes::DIRECTORY != 0 {
            EntryKind::Directory
        } else {
            EntryKind::File
        }
    }
}

/// What the server says of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileInfo {
    /// What it is.
    pub kind: EntryKind,
    /// Its size in bytes.
    pub size: u64,
    /// When it was written last, where the server knows.
    pub written: Option<SystemTime>,
}

/// One name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name; what is not Unicode in it, or could be taken for a path, is replaced.
    pub name: String,
    /// What it is.
    pub kind: EntryKind,
    /// Its size in bytes.
    pub size: u64,
}

/// Space on a share, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Space {
    /// All of it.
    pub total: u64,
    /// What this user may still use.
    pub available: u64,
}

impl From<FileId> for crate::ms_smb2::types::FileId {
    fn from(file: FileId) -> Self {
        crate::ms_smb2::types::FileId { persistent: file.persistent, volatile: file.volatile }
    }
}
