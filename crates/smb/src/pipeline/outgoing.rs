//! What is on its way to the kernel: frames in a buffer, and perhaps the payload of the last one
//! that is not in it.

use super::Exchange;
use crate::Error;
use crate::guard::{Guard, TRANSFORM_HEADER};
use plimsoll_transport::Socket;
use std::io::IoSlice;

/// Length in front of each frame in bytes (MS-SMB2, section 2.1).
const PREFIX: usize = 4;
/// Bytes that are gathered for one system call. More would leave the processor's cache before the
/// kernel copies them.
const BATCH: usize = 128 * 1024;

/// A payload that is asked for when the kernel can take it. It follows all bytes in the buffer.
struct Hole {
    tag: u32,
    length: usize,
    sent: usize,
}

/// A frame being written.
pub(super) struct Frame {
    start: usize,
    /// Where its first message begins.
    pub messages: usize,
}

/// Frames to be sent, in order.
pub(super) struct Outgoing {
    bytes: Vec<u8>,
    sent: usize,
    hole: Option<Hole>,
    /// Bytes queued, and bytes handed to the kernel, since the pipeline began.
    queued: u64,
    handed: u64,
}

impl Outgoing {
    /// Room for a full batch and one more frame of `longest` bytes without a further allocation.
    pub fn new(longest: usize) -> Self {
        let bytes = Vec::with_capacity(2 * BATCH + longest + TRANSFORM_HEADER + PREFIX);
        Outgoing { bytes, sent: 0, hole: None, queued: 0, handed: 0 }
    }

    /// Whether another frame may be begun now.
    pub fn has_room(&self) -> bool {
        self.hole.is_none() && self.bytes.len() - self.sent < BATCH
    }

    /// Begins a frame: what is appended to [`bytes`](Self::bytes) up to `finish` belongs to it.
    pub fn begin(&mut self, guard: &Guard) -> Frame {
        if self.sent >= BATCH {
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
        let start = self.bytes.len();
        let messages = start + PREFIX + if guard.seal { TRANSFORM_HEADER } else { 0 };
        self.bytes.resize(messages, 0);
        Frame { start, messages }
    }

    /// The buffer.
    pub fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Ends a frame: encrypts it, if so agreed, and notes its length. A payload that follows it is
    /// its last part, and only for frames without protection.
    pub fn finish(&mut self, frame: Frame, guard: &mut Guard, payload: Option<(u32, u32)>) {
        let content = &mut self.bytes[frame.start + PREFIX..];
        if let Some(sealer) = guard.sealing() {
            sealer.seal(content);
        }
        let further = payload.map_or(0, |(_, length)| length as usize);
        // Both limits of a pipeline are far below the 16 MiB that 24 bits can name.
        let length = (content.len() + further) as u32;
        self.bytes[frame.start..frame.start + PREFIX].copy_from_slice(&length.to_be_bytes());
        self.queued += PREFIX as u64 + u64::from(length);
        self.hole = payload.map(|(tag, _)| Hole { tag, length: further, sent: 0 });
    }

    /// Position in the stream after everything queued.
    pub fn queued(&self) -> u64 {
        self.queued
    }

    /// Position in the stream after everything handed to the kernel.
    pub fn handed(&self) -> u64 {
        self.handed
    }

    /// Whether the kernel has it all.
    pub fn is_empty(&self) -> bool {
        self.handed == self.queued
    }

    /// Hands over as much as the kernel takes at once; whether any.
    pub fn send(&mut self, socket: &Socket, payloads: &mut impl Exchange) -> Result<bool, Error> {
        let before = self.handed;
        while !self.is_empty() {
            let waiting = IoSlice::new(&self.bytes[self.sent..]);
            let taken = match &self.hole {
                None => socket.send(&[waiting])?,
                Some(hole) => {
                    let payload = payload(payloads, hole.tag, hole.length)?;
                    socket.send(&[waiting, IoSlice::new(&payload[hole.sent..])])?
                }
            };
            match taken {
                Some(count) => self.advance(count),
                None => break,
            }
        }
        Ok(self.handed != before)
    }

    fn advance(&mut self, count: usize) {
        self.handed += count as u64;
        let of_bytes = count.min(self.bytes.len() - self.sent);
        self.sent += of_bytes;
        if let Some(hole) = &mut self.hole {
            hole.sent += count - of_bytes;
        }
        if self.is_empty() {
            self.bytes.clear();
            (self.sent, self.hole) = (0, None);
        }
    }
}

/// The payload of a call, which must be as long as was announced.
pub(super) fn payload(with: &mut impl Exchange, tag: u32, length: usize) -> Result<&[u8], Error> {
    let payload = with.payload(tag);
    if payload.len() != length {
        let why = format!("a payload of {} bytes where {length} were announced", payload.len());
        return Err(Error::Malformed(why));
    }
    Ok(payload)
}
