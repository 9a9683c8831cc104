//! What a pipeline and its user say to each other.

use super::Protocol;
use std::num::NonZeroU16;

/// What a pipeline needs of its user while it moves bytes.
pub trait Exchange<P: Protocol> {
    /// Now, in nanoseconds of a monotonic clock with any zero.
    fn now(&mut self) -> u64;
    /// The bytes of a write or of a small file: exactly as many as announced, the same each time.
    /// May be asked several times, until the kernel has taken them all.
    fn payload(&mut self, tag: u32) -> &[u8];
    /// The server has asked for a call to be made again later, by a reply that was complete at this time. The
    /// pipeline makes it again.
    fn postponed(&mut self, done: u64) {
        let _ = done;
    }
    /// A call has ended. Its tag may be used again.
    fn complete(&mut self, completion: Completion<P::Done<'_>, P::Error>);
}

/// The end of one call: what it did, or why it failed.
#[derive(Debug)]
pub struct Completion<D, E> {
    /// The caller's name for it.
    pub tag: u32,
    /// When its last byte had been handed to the kernel, in the caller's nanoseconds.
    pub sent: u64,
    /// When its reply was complete.
    pub done: u64,
    /// What came of it. After an error here the connection goes on.
    pub result: Result<D, E>,
}

/// As many calls are in flight as the pipeline has slots for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// Size of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipelineOptions {
    /// Most calls in flight.
    pub depth: NonZeroU16,
    /// Longest read in bytes; longer ones are cut. The server's limit may be lower.
    pub read_most: u32,
    /// Longest write in bytes; longer ones are cut. The server's limit may be lower.
    pub write_most: u32,
    /// Whether nobody looks at what reads bring: then only the length of `data` is right, and of long ones no byte
    /// need be what the server sent.
    pub unread: bool,
}
