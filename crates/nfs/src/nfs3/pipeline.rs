//! Many READ, WRITE and COMMIT calls in flight on one connection.
//!
//! Calls are batched in a buffer and sent together. The payload of a WRITE is either copied there
//! (small ones, so that many go in one system call) or asked for when the kernel can take it, and
//! then handed over by a vectored write without a copy. Replies are received into one buffer and
//! decoded in place, in any order. Sending never waits for the socket without receiving too, so a
//! server that answers before it reads on cannot bring both sides to a halt.
//!
//! Nothing is allocated per call.

use super::PROGRAM;
use super::arguments::{CommitArguments, ReadArguments, WriteArguments, encode_write};
use super::in_flight::{Asked, Slot, results};
use super::transmit::Outgoing;
use super::types::{FileHandle, Procedure, Stability, Verifier};
use crate::Error;
use crate::rpc::{
    Credential, RecordBuffer, begin_call, encode_identity, finish_call, open_reply, random_xid,
};
use crate::xdr::{Encoder, padding};
use plimsoll_transport::{Ready, Socket};
use std::collections::VecDeque;
use std::num::NonZeroU16;
use std::time::Duration;

/// Room in a reply for what stands around the data, in bytes: headers, a verifier, attributes.
const REPLY_OVERHEAD: usize = 1024;
/// Room in a call for what stands around the data, in bytes, without the credential.
const CALL_OVERHEAD: usize = 256;
/// Small payloads that are copied into the buffer before it first grows, in bytes.
const COPIES: usize = 256 * 1024;

/// What a pipeline needs of its user while it moves bytes.
pub trait Exchange {
    /// Now, in nanoseconds of a monotonic clock with any zero.
    fn now(&mut self) -> u64;
    /// The bytes of a WRITE submitted with [`Payload::Later`]: exactly as many as announced, the
    /// same each time. May be asked several times, until the kernel has taken them all.
    fn payload(&mut self, tag: u32) -> &[u8];
    /// A call has ended. Its tag may be used again.
    fn complete(&mut self, completion: Completion<'_>);
}

/// Where the bytes of a WRITE come from.
#[derive(Clone, Copy, Debug)]
pub enum Payload<'a> {
    /// Copied now: best for small ones.
    Now(&'a [u8]),
    /// This many bytes, asked for by [`Exchange::payload`].
    Later(u32),
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
    /// READ: never more than asked for, perhaps less.
    Read {
        /// The bytes, in the receive buffer.
        data: &'a [u8],
        /// Whether the file ends after them.
        end_of_file: bool,
    },
    /// WRITE: never more than sent, perhaps less; never less safe than asked for.
    Write {
        /// Bytes written.
        count: u32,
        /// How safe they are.
        committed: Stability,
        /// Changes when the server restarts.
        verifier: Verifier,
    },
    /// COMMIT.
    Commit {
        /// Changes when the server restarts.
        verifier: Verifier,
    },
}

/// As many calls are in flight as the pipeline has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// Size of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipelineOptions {
    /// Most calls in flight.
    pub depth: NonZeroU16,
    /// Longest READ in bytes; longer ones are cut.
    pub read_most: u32,
    /// Longest WRITE in bytes; longer ones are cut.
    pub write_most: u32,
}

/// One connection with many calls in flight.
pub struct Pipeline {
    socket: Socket,
    options: PipelineOptions,
    identity: Vec<u8>,
    outgoing: Outgoing,
    replies: RecordBuffer,
    /// A call's slot is in the low bits of its transaction number, so a reply finds it at once.
    slots: Box<[Slot]>,
    free: Vec<u16>,
    /// Slots whose calls the kernel does not have in full, in order.
    unsent: VecDeque<u16>,
    dead: Option<Error>,
    surplus: Option<(Procedure, usize)>,
}

impl Pipeline {
    /// A pipeline over a connection.
    pub fn new(socket: Socket, credential: &Credential, options: PipelineOptions) -> Self {
        let depth = usize::from(options.depth.get());
        let slots = depth.next_power_of_two();
        let base = random_xid() & !(slots as u32 - 1);
        let identity = encode_identity(credential);
        let slot = |i: usize| Slot {
            xid: base | i as u32,
            tag: 0,
            asked: Asked::Nothing,
            end: 0,
            sent: 0,
        };
        Pipeline {
            outgoing: Outgoing::new(depth, depth * (CALL_OVERHEAD + identity.len()) + COPIES),
            replies: RecordBuffer::new(options.read_most as usize + REPLY_OVERHEAD),
            slots: (0..slots).map(slot).collect(),
            free: (0..options.depth.get()).rev().collect(),
            unsent: VecDeque::with_capacity(depth),
            dead: None,
            surplus: None,
            socket,
            options,
            identity,
        }
    }

    /// The connection.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// The first procedure whose reply went on beyond its end, and by how many bytes; once.
    pub fn take_surplus(&mut self) -> Option<(Procedure, usize)> {
        self.surplus.take()
    }

    /// Calls in flight, sent or not.
    pub fn in_flight(&self) -> usize {
        usize::from(self.options.depth.get()) - self.free.len()
    }

    /// Queues a READ of `count` bytes.
    pub fn read(
        &mut self,
        tag: u32,
        file: &FileHandle,
        offset: u64,
        count: u32,
    ) -> Result<(), Full> {
        let count = count.min(self.options.read_most);
        let arguments = ReadArguments { file: *file, offset, count };
        self.submit(tag, Asked::Read { count }, Procedure::Read, 0, |to| to.value(&arguments))
    }

    /// Queues a WRITE.
    pub fn write(
        &mut self,
        tag: u32,
        file: &FileHandle,
        offset: u64,
        stability: Stability,
        payload: Payload<'_>,
    ) -> Result<(), Full> {
        let most = self.options.write_most;
        let count = match payload {
            Payload::Now(data) => data.len().min(most as usize) as u32,
            Payload::Later(count) => count.min(most),
        };
        let fill = padding(count as usize);
        let arguments = WriteArguments { file: *file, offset, count, stability };
        self.submit(
            tag,
            Asked::Write { count, stability },
            Procedure::Write,
            count as usize + fill,
            |to| encode_write(&arguments, to),
        )?;
        match payload {
            Payload::Now(data) => {
                self.outgoing.append(|bytes| bytes.extend_from_slice(&data[..count as usize]));
            }
            Payload::Later(_) => self.outgoing.append_hole(tag, count),
        }
        self.outgoing.append(|bytes| bytes.extend_from_slice(&[0; 3][..fill]));
        if let Some(&slot) = self.unsent.back() {
            self.slots[usize::from(slot)].end = self.outgoing.queued();
        }
        Ok(())
    }

    /// Queues a COMMIT of the whole file.
    pub fn commit(&mut self, tag: u32, file: &FileHandle) -> Result<(), Full> {
        let arguments = CommitArguments { file: *file, offset: 0, count: 0 };
        self.submit(tag, Asked::Commit, Procedure::Commit, 0, |to| to.value(&arguments))
    }

    /// Queues a call that `further` bytes will follow.
    fn submit(
        &mut self,
        tag: u32,
        asked: Asked,
        procedure: Procedure,
        further: usize,
        arguments: impl FnOnce(&mut Encoder<'_>),
    ) -> Result<(), Full> {
        let index = self.free.pop().ok_or(Full)?;
        let step = self.slots.len() as u32;
        let slot = &mut self.slots[usize::from(index)];
        (slot.xid, slot.tag, slot.asked) = (slot.xid.wrapping_add(step), tag, asked);
        let (xid, identity) = (slot.xid, &self.identity);
        self.outgoing.append(|bytes| {
            let at = begin_call(bytes, xid, PROGRAM, procedure as u32, identity);
            arguments(&mut Encoder::new(bytes));
            let fits = finish_call(bytes, at, further);
            debug_assert!(fits, "lengths are limited well below a fragment's");
        });
        slot.end = self.outgoing.queued();
        self.unsent.push_back(index);
        Ok(())
    }

    /// Hands queued calls to the kernel, as far as it takes them at once.
    pub fn flush(&mut self, with: &mut impl Exchange) -> Result<(), Error> {
        self.alive()?;
        let result = self.send(with);
        self.note(result)
    }

    /// Sends what is queued, waits until at least one call has ended or the caller's clock shows
    /// `until`, and completes every call whose reply is there; returns how many. With nothing in
    /// flight it returns at once. After an error the connection is of no use and the calls in
    /// flight are lost.
    pub fn reap(&mut self, until: u64, with: &mut impl Exchange) -> Result<usize, Error> {
        self.alive()?;
        let result = self.reap_inner(until, with);
        self.note(result)
    }

    fn alive(&self) -> Result<(), Error> {
        self.dead.clone().map_or(Ok(()), Err)
    }

    fn note<T>(&mut self, result: Result<T, Error>) -> Result<T, Error> {
        if let Err(error) = &result {
            self.dead = Some(error.clone());
        }
        result
    }

    fn send(&mut self, with: &mut impl Exchange) -> Result<(), Error> {
        if self.outgoing.is_empty() || !self.outgoing.send(&self.socket, with)? {
            return Ok(());
        }
        let now = with.now();
        while let Some(&index) = self.unsent.front() {
            let slot = &mut self.slots[usize::from(index)];
            if slot.end > self.outgoing.handed() {
                break;
            }
            slot.sent = now;
            self.unsent.pop_front();
        }
        Ok(())
    }

    fn reap_inner(&mut self, until: u64, with: &mut impl Exchange) -> Result<usize, Error> {
        loop {
            self.send(with)?;
            if self.in_flight() == 0 {
                return Ok(0);
            }
            let left = Duration::from_nanos(until.saturating_sub(with.now()));
            if let Some(count) = self.receive(left)? {
                let done = with.now();
                self.replies.filled(count);
                let completed = self.complete(done, with)?;
                if completed > 0 {
                    return Ok(completed);
                }
            }
            if left.is_zero() {
                return Ok(0);
            }
        }
    }

    fn receive(&mut self, limit: Duration) -> Result<Option<usize>, Error> {
        let room = self.replies.room();
        Ok(if limit.is_zero() {
            self.socket.receive(room)?
        } else if self.outgoing.is_empty() {
            self.socket.receive_within(room, limit)?
        } else {
            self.socket.wait(Ready::Either, limit)?;
            self.socket.receive(room)?
        })
    }

    /// Completes every call whose reply is in the buffer.
    fn complete(&mut self, done: u64, with: &mut impl Exchange) -> Result<usize, Error> {
        let mut completed = 0;
        while let Some(place) = self.replies.next_record()? {
            let (xid, outcome) = open_reply(self.replies.record(place))?;
            let index = xid & (self.slots.len() as u32 - 1);
            let slot = &mut self.slots[index as usize];
            let expected = slot.xid == xid
                && !matches!(slot.asked, Asked::Nothing)
                && slot.end <= self.outgoing.handed();
            if !expected {
                return Err(Error::UnknownTransaction(xid));
            }
            let Slot { tag, sent, asked, .. } = *slot;
            slot.asked = Asked::Nothing;
            self.free.push(index as u16);
            let result = results(asked, outcome, &mut self.surplus);
            with.complete(Completion { tag, sent, done, result });
            completed += 1;
        }
        Ok(completed)
    }
}
