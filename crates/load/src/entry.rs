//! What a target tells of the names in its directories, and of its space.

/// What kind of thing a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A link, socket, device or anything else.
    Other,
}

/// One name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name; bytes that are not UTF-8 are replaced, and such names are never ours.
    pub name: String,
    /// What it is, not following links.
    pub kind: EntryKind,
}

/// Space on a file system, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Space {
    /// All of it.
    pub total: u64,
    /// What the caller may still use.
    pub available: u64,
}
