//! What is on its way to the kernel: calls in a buffer, and perhaps one payload that is not in it.

use super::frames::MARK_BYTES;
use super::{BadFrame, Exchange, Protocol};
use crate::Socket;
use std::io::IoSlice;

/// Payloads up to this many bytes are best copied, to go out with others in one system call; for
/// longer ones the copy would cost more than the call.
pub const COPY_MOST: u32 = 16 * 1024;
/// Bytes that are gathered for one system call. More would leave the processor's cache before the
/// kernel copies them.
const BATCH: usize = 128 * 1024;
/// Bytes already sent that are tolerated at the front of the buffer before the rest is moved.
const SENT_KEPT: usize = 256 * 1024;

/// A payload that is asked for when the kernel can take it.
struct Later {
    /// Where in the buffer it belongs.
    at: usize,
    tag: u32,
    length: usize,
    sent: usize,
}

/// Calls to be sent, in order.
pub struct Outgoing {
    bytes: Vec<u8>,
    sent: usize,
    later: Option<Later>,
    /// Bytes queued, and bytes handed to the kernel, since the connection began.
    queued: u64,
    handed: u64,
}

impl Outgoing {
    /// Space for a full batch and one more frame of `longest` bytes without a further allocation.
    pub(crate) fn new(longest: usize) -> Self {
        let bytes = Vec::with_capacity(SENT_KEPT + BATCH + longest);
        Outgoing { bytes, sent: 0, later: None, queued: 0, handed: 0 }
    }

    /// Whether another call may be encoded now.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.later.is_none() && self.bytes.len() - self.sent < BATCH
    }

    /// Lets `write` append to the buffer. What is in it already is not to be changed.
    #[inline]
    pub fn append<T>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let before = self.bytes.len();
        let result = write(&mut self.bytes);
        self.queued += (self.bytes.len() - before) as u64;
        result
    }

    /// Appends the payload of a call that is asked for when the kernel can take it; at most one to a
    /// call.
    pub fn append_later(&mut self, tag: u32, length: u32) {
        let length = length as usize;
        self.later = Some(Later { at: self.bytes.len(), tag, length, sent: 0 });
        self.queued += length as u64;
    }

    /// Position in the stream after everything queued.
    #[inline]
    pub(crate) fn queued(&self) -> u64 {
        self.queued
    }

    /// Position in the stream after everything handed to the kernel.
    #[inline]
    pub(crate) fn handed(&self) -> u64 {
        self.handed
    }

    /// Whether the kernel has it all.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.handed == self.queued
    }

    /// Hands over as much as the kernel takes at once; whether any.
    pub(super) fn send<P: Protocol>(
        &mut self,
        socket: &Socket,
        with: &mut impl Exchange<P>,
    ) -> Result<bool, P::Error> {
        let before = self.handed;
        while !self.is_empty() {
            match self.send_once(socket, with)? {
                Some(count) => self.advance(count),
                None => break,
            }
        }
        Ok(self.handed != before)
    }

    /// One system call: bytes up to the payload, the payload, bytes after it.
    fn send_once<P: Protocol>(
        &self,
        socket: &Socket,
        with: &mut impl Exchange<P>,
    ) -> Result<Option<usize>, P::Error> {
        let Some(later) = &self.later else {
            return Ok(socket.send(&[IoSlice::new(&self.bytes[self.sent..])])?);
        };
        let payload = payload::<P>(with, later.tag, later.length)?;
        Ok(socket.send(&[
            IoSlice::new(&self.bytes[self.sent..later.at]),
            IoSlice::new(&payload[later.sent..]),
            IoSlice::new(&self.bytes[later.at..]),
        ])?)
    }

    /// Hands over the one frame that is in it, without its mark, as the parts of a datagram.
    pub(crate) fn datagram<P: Protocol, T>(
        &mut self,
        with: &mut impl Exchange<P>,
        send: impl FnOnce(&[IoSlice<'_>]) -> T,
    ) -> Result<T, P::Error> {
        let frame = self.bytes.get(MARK_BYTES..).unwrap_or(&[]);
        let result = match &self.later {
            None => send(&[IoSlice::new(frame)]),
            Some(later) => {
                let (before, after) = frame.split_at(later.at - MARK_BYTES);
                let payload = payload::<P>(with, later.tag, later.length)?;
                send(&[IoSlice::new(before), IoSlice::new(payload), IoSlice::new(after)])
            }
        };
        self.bytes.clear();
        (self.later, self.handed) = (None, self.queued);
        Ok(result)
    }

    fn advance(&mut self, mut count: usize) {
        self.handed += count as u64;
        if let Some(later) = &mut self.later {
            let before = count.min(later.at - self.sent);
            let inside = (count - before).min(later.length - later.sent);
            self.sent += before;
            later.sent += inside;
            count -= before + inside;
            if self.sent == later.at && later.sent == later.length {
                self.later = None;
            }
        }
        self.sent += count;
        if self.is_empty() {
            self.bytes.clear();
            (self.sent, self.later) = (0, None);
        } else if self.sent > SENT_KEPT {
            self.bytes.drain(..self.sent);
            if let Some(later) = &mut self.later {
                later.at -= self.sent;
            }
            self.sent = 0;
        }
    }
}

/// The payload of a call, which must be as long as was announced.
pub fn payload<P: Protocol>(
    with: &mut impl Exchange<P>,
    tag: u32,
    announced: usize,
) -> Result<&[u8], P::Error> {
    let payload = with.payload(tag);
    let length = payload.len();
    if length != announced {
        return Err(BadFrame::Payload { length, announced }.into());
    }
    Ok(payload)
}

#[cfg(test)]
mod tests;
