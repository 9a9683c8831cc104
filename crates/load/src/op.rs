//! What goes into a lane and what comes out.

use crate::entry::Entry;
use plimsoll_model::{ErrorKind, Nanos, OpKind, Stability};
use std::sync::Arc;

pub use plimsoll_transport::{ByteRange, LockMode};

/// A file that is open on a share, made or opened by a namespace or by an operation. Numbers are not
/// used twice in one share, and every lane of it knows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// A path in the table of paths of a share (see [`Paths`](crate::Paths)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PathId(pub u32);

/// The driver's name for an operation in flight: a slot below the lane's depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tag(pub u16);

/// A piece of a file at one generation of its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// Offset in bytes; a multiple of 4096 for patterns.
    pub offset: u64,
    /// Length in bytes, at most the lane's block.
    pub length: u32,
    /// Generation of the content: what is written, or what is expected when verifying.
    pub generation: u32,
}

/// A small file as a whole: at most the lane's block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole {
    /// Its path.
    pub path: PathId,
    /// Its length in bytes.
    pub length: u32,
    /// Which file's content it has, and the generation of it.
    pub content: FileId,
    /// Generation of the content.
    pub generation: u32,
}

/// What is to have other attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// An open file.
    File(FileId),
    /// A directory.
    Directory(PathId),
    /// A file that is not open.
    Closed(PathId),
}

/// An attribute to set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewAttribute {
    /// Permission bits.
    Mode(u16),
    /// Time of the last change of the content, in seconds since 1970-01-01 UTC.
    Modified(u32),
}

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Read a span; the bytes are dropped, after a check where the lane verifies.
    Read(Span),
    /// Write a span's content.
    Write(Span, Stability),
    /// Make everything written to the file so far stable.
    Flush(FileId),
    /// Make a file that must not exist, for reading and writing; [`Found::File`].
    Create(PathId),
    /// Open an existing file for reading; [`Found::File`].
    Open(PathId),
    /// Close an open file.
    Close(FileId),
    /// Remove a file, or a link itself.
    Remove(PathId),
    /// Find a name and its attributes; [`Found::Attributes`].
    Lookup(PathId),
    /// The same of a name that need not be there; then it finds nothing.
    LookupIfThere(PathId),
    /// List a directory; [`Found::Entries`].
    ReadDirectory(PathId),
    /// Make one directory that must not exist.
    MakeDirectory(PathId),
    /// Remove an empty directory.
    RemoveDirectory(PathId),
    /// Give a file another name in the same directory, in place of what has it.
    Rename(PathId, PathId),
    /// Set an attribute.
    SetAttribute(Node, NewAttribute),
    /// Make a small file that must not exist, whole.
    Put(Whole, Stability),
    /// Read a small file whole.
    Get(Whole),
    /// Get the attributes of an open file; [`Found::Attributes`].
    GetAttributes(FileId),
    /// Ask what may be done with a directory; the answer is not passed on.
    Access(PathId),
    /// Lock bytes of an open file; nothing is waited for. Bytes that the same open file has locked as shared can be
    /// locked again as exclusive, where the target can do that.
    Lock(FileId, ByteRange, LockMode),
    /// Give such a lock back, of the same bytes.
    Unlock(FileId, ByteRange),
}

/// Every kind of operation that lanes know, by [`Op::index`].
pub const KINDS: [OpKind; 19] = [
    OpKind::READ,
    OpKind::WRITE,
    OpKind::FLUSH,
    OpKind::CREATE,
    OpKind::OPEN,
    OpKind::CLOSE,
    OpKind::REMOVE,
    OpKind::LOOKUP,
    OpKind::READ_DIRECTORY,
    OpKind::MAKE_DIRECTORY,
    OpKind::REMOVE_DIRECTORY,
    OpKind::RENAME,
    OpKind::SET_ATTRIBUTES,
    OpKind::PUT,
    OpKind::GET,
    OpKind::GET_ATTRIBUTES,
    OpKind::ACCESS,
    OpKind::LOCK,
    OpKind::UNLOCK,
];

impl Op {
    /// The place of its kind in [`KINDS`].
    #[inline]
    pub const fn index(&self) -> usize {
        match self {
            Op::Read(_) => 0,
            Op::Write(..) => 1,
            Op::Flush(_) => 2,
            Op::Create(_) => 3,
            Op::Open(_) => 4,
            Op::Close(_) => 5,
            Op::Remove(_) => 6,
            Op::Lookup(_) | Op::LookupIfThere(_) => 7,
            Op::ReadDirectory(_) => 8,
            Op::MakeDirectory(_) => 9,
            Op::RemoveDirectory(_) => 10,
            Op::Rename(..) => 11,
            Op::SetAttribute(..) => 12,
            Op::Put(..) => 13,
            Op::Get(_) => 14,
            Op::GetAttributes(_) => 15,
            Op::Access(_) => 16,
            Op::Lock(..) => 17,
            Op::Unlock(..) => 18,
        }
    }

    /// Its kind.
    #[inline]
    pub const fn kind(&self) -> OpKind {
        KINDS[self.index()]
    }

    /// The open file it is about; `None` where it is about a name.
    #[inline]
    pub const fn file(&self) -> Option<FileId> {
        match self {
            Op::Read(span) | Op::Write(span, _) => Some(span.file),
            Op::Flush(file) | Op::Close(file) | Op::SetAttribute(Node::File(file), _) => {
                Some(*file)
            }
            Op::GetAttributes(file) | Op::Lock(file, ..) | Op::Unlock(file, _) => Some(*file),
            _ => None,
        }
    }
}

/// What an operation on a name found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// The file is open under this number, for every lane of the share.
    File(FileId),
    /// What a name is.
    Attributes(Attributes),
    /// What a directory holds, without `.` and `..`.
    Entries(Arc<[Entry]>),
}

/// What a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// File, directory or another thing, not following links.
    pub kind: crate::entry::EntryKind,
    /// In bytes; of a file.
    pub size: u64,
}

/// One completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// Which operation.
    pub tag: Tag,
    /// When the driver handed it over (as given to `submit`).
    pub issued: Nanos,
    /// When its last byte was handed to the kernel. For lanes without a wire: `issued`.
    pub sent: Nanos,
    /// When its reply was complete.
    pub done: Nanos,
    /// Payload bytes transferred.
    pub bytes: u32,
    /// Whether it worked, and what it found: boxed, for most operations find nothing. An error of one
    /// operation leaves the lane usable.
    pub result: Result<Option<Box<Found>>, OpError>,
}

/// Why one operation failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpError {
    /// The kind that is counted.
    pub kind: ErrorKind,
    /// In words, with the server's or system's own name of the error.
    pub detail: Box<str>,
}

/// The error of an operation that a lane does not do.
#[cold]
pub(crate) fn not_done_here(op: &Op) -> OpError {
    let detail = format!("the target does not support operations of the kind {}", op.kind());
    OpError { kind: ErrorKind::Protocol, detail: detail.into() }
}

/// The error of an operation on a file that is not open.
#[cold]
pub(crate) fn not_open(file: FileId) -> OpError {
    OpError { kind: ErrorKind::Gone, detail: format!("file {} is not open", file.0).into() }
}
