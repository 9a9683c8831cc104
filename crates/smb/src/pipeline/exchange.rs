//! What a pipeline and its user say to each other.

use crate::{Error, FileId};
use std::num::NonZeroU16;

/// What a pipeline needs of its user while it moves bytes.
pub trait Exchange {
    /// Now, in nanoseconds of a monotonic clock with any zero.
    fn now(&mut self) -> u64;
    /// The bytes of a WRITE or of a small file: exactly as many as announced, the same each time.
    /// May be asked several times, until the kernel has taken them all.
    fn payload(&mut self, tag: u32) -> &[u8];
    /// A call has ended. Its tag may be used again.
    fn complete(&mut self, completion: Completion<'_>);
}

/// The end of one call.
#[derive(Debug)]
pub struct Completion<'a> {
    /// The caller's name for it.
    pub tag: u32,
    /// When its last byte had been handed to the kernel, in the caller's nanoseconds.
    pub sent: u64,
    /// When its reply was complete.
    pub done: u64,
    /// What came of it. After an error here the connection goes on.
    pub result: Result<Done<'a>, Error>,
}

/// What a call did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done<'a> {
    /// READ: never more than asked for; less, or nothing, at the end of the file.
    Read {
        /// The bytes, in the receive buffer.
        data: &'a [u8],
    },
    /// WRITE: never more than sent, perhaps less.
    Write {
        /// Bytes written.
        count: u32,
    },
    /// FLUSH.
    Flush,
    /// A small file was made, written and closed.
    Put {
        /// Bytes written: never more than sent, perhaps less.
        count: u32,
    },
    /// A small file was opened, read and closed.
    Get {
        /// Its first bytes, never more than asked for.
        data: &'a [u8],
        /// Its size in bytes.
        size: u64,
    },
    /// A file was opened.
    Open {
        /// Valid on this connection alone.
        file: FileId,
        /// Its size in bytes.
        size: u64,
    },
    /// A file was closed.
    Close,
}

/// As many calls are in flight as the pipeline has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// Size of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipelineOptions {
    /// Most calls in flight.
    pub depth: NonZeroU16,
    /// Longest READ in bytes; longer ones are cut. The server's limit holds as well.
    pub read_most: u32,
    /// Longest WRITE in bytes; longer ones are cut. The server's limit holds as well.
    pub write_most: u32,
}
