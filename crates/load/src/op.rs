//! What goes into a lane and what comes out.

use plimsoll_model::{ErrorKind, Nanos, OpKind, Stability};

/// A file that a namespace opened on its share. Numbers are not used twice in one share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u32);

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

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Read a span; the bytes are dropped, after a check where the lane verifies.
    Read(Span),
    /// Write a span's content.
    Write(Span, Stability),
    /// Make everything written to the file so far stable.
    Flush(FileId),
}

impl Op {
    /// The file it is about.
    pub fn file(&self) -> FileId {
        match self {
            Op::Read(span) | Op::Write(span, _) => span.file,
            Op::Flush(file) => *file,
        }
    }

    /// Its kind.
    pub fn kind(&self) -> OpKind {
        match self {
            Op::Read(_) => OpKind::Read,
            Op::Write(..) => OpKind::Write,
            Op::Flush(_) => OpKind::Flush,
        }
    }
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
    /// Whether it worked. An error of one operation leaves the lane usable.
    pub result: Result<(), OpError>,
}

/// Why one operation failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpError {
    /// The kind that is counted.
    pub kind: ErrorKind,
    /// In words, with the server's or system's own name of the error.
    pub detail: Box<str>,
}
