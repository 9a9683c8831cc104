//! Many requests in flight on one connection.
//!
//! Calls wait in their slots until the server's credits suffice, are encoded into a buffer, signed
//! or encrypted there, and sent together. The payload of a large WRITE that needs no protection is
//! not copied: it is asked for when the kernel can take it. Replies are received into one buffer,
//! verified or decrypted in place, and looked at in any order. Sending never waits for the socket
//! without receiving too, so a server that answers before it reads on cannot bring both sides to a
//! halt.
//!
//! Nothing is allocated per call.

mod call;
mod encode;
mod exchange;
mod frames;
mod ids;
mod outgoing;
mod requests;

pub use exchange::{Completion, Done, Exchange, Full, PipelineOptions};

use crate::link::Link;
use crate::message::{UNASKED, next_message};
use crate::{Access, CreateHow, Error, FileId};
use call::{Asked, Slot, Through};
pub(crate) use frames::FrameBuffer;
use ids::Guesses;
use outgoing::Outgoing;
use plimsoll_transport::{Ready, Socket};
use smb2::types::{Command, Dialect};
use std::collections::VecDeque;
use std::time::Duration;

/// Room in a frame for what stands around the data, in bytes.
const OVERHEAD: usize = 2048;
/// Longest payload in bytes: the most that servers allow, far below what a frame's length can name.
const MOST: u32 = 8 << 20;
/// Credits above which no more are asked for: what the usual servers grant at most.
const CREDITS_MOST: u32 = 8192;

/// One connection with many calls in flight.
pub struct Pipeline {
    link: Link,
    options: PipelineOptions,
    outgoing: Outgoing,
    replies: FrameBuffer,
    slots: Box<[Slot]>,
    free: Vec<u16>,
    /// Slots whose calls are not encoded yet, in order.
    waiting: VecDeque<u16>,
    /// Slots whose calls the kernel does not have in full, in order.
    unsent: VecDeque<u16>,
    guesses: Guesses,
    /// Credits that keep the pipeline full, and credits that its calls in flight have cost.
    credits_wanted: u32,
    credits_spent: u32,
    dead: Option<Error>,
}

impl Pipeline {
    /// A pipeline over a connection.
    pub fn new(link: Link, mut options: PipelineOptions) -> Self {
        options.read_most = options.read_most.min(link.facts.read_most).clamp(1, MOST);
        options.write_most = options.write_most.min(link.facts.write_most).clamp(1, MOST);
        let depth = u32::from(options.depth.get());
        let largest = link.facts.charge(options.read_most.max(options.write_most));
        // A call is at most one large request, one CREATE and one CLOSE.
        let credits_wanted = (depth * (u32::from(largest) + 2)).min(CREDITS_MOST);
        let entries = depth as usize;
        Pipeline {
            outgoing: Outgoing::new(options.write_most as usize + OVERHEAD),
            replies: FrameBuffer::new(options.read_most as usize + OVERHEAD),
            slots: (0..depth).map(|_| Slot::new()).collect(),
            free: (0..options.depth.get()).rev().collect(),
            waiting: VecDeque::with_capacity(entries),
            unsent: VecDeque::with_capacity(entries),
            guesses: Guesses::new(credits_wanted),
            credits_wanted,
            credits_spent: 0,
            dead: None,
            link,
            options,
        }
    }

    /// The connection.
    pub fn socket(&self) -> &Socket {
        &self.link.socket
    }

    /// Its size, as far as the server allows.
    pub fn options(&self) -> PipelineOptions {
        self.options
    }

    /// Calls in flight, sent or not.
    pub fn in_flight(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Queues a READ of `count` bytes.
    pub fn read(&mut self, tag: u32, file: FileId, offset: u64, count: u32) -> Result<(), Full> {
        let count = count.min(self.options.read_most);
        self.submit(tag, Asked::Read { file, offset, count }, "")
    }

    /// Queues a WRITE of `count` bytes; with `write_through` it is stable when it is done.
    pub fn write(
        &mut self,
        tag: u32,
        file: FileId,
        offset: u64,
        count: u32,
        write_through: bool,
    ) -> Result<(), Full> {
        let count = count.min(self.options.write_most);
        let through = match (write_through, self.link.facts.dialect) {
            (false, _) => Through::No,
            (true, Dialect::Smb2_0_2) => Through::Flush,
            (true, _) => Through::Flag,
        };
        self.submit(tag, Asked::Write { file, offset, count, through }, "")
    }

    /// Queues a FLUSH of the whole file.
    pub fn flush(&mut self, tag: u32, file: FileId) -> Result<(), Full> {
        self.submit(tag, Asked::Flush { file }, "")
    }

    /// Queues a small file of `count` bytes: CREATE, WRITE and CLOSE in one compound.
    pub fn put(&mut self, tag: u32, path: &str, how: CreateHow, count: u32) -> Result<(), Full> {
        let count = count.min(self.options.write_most);
        self.submit(tag, Asked::Put { how, count }, path)
    }

    /// Queues the first `most` bytes of a file: CREATE, READ and CLOSE in one compound.
    pub fn get(&mut self, tag: u32, path: &str, most: u32) -> Result<(), Full> {
        let most = most.min(self.options.read_most);
        self.submit(tag, Asked::Get { most }, path)
    }

    /// Queues the opening of a file.
    pub fn open(
        &mut self,
        tag: u32,
        path: &str,
        how: CreateHow,
        access: Access,
    ) -> Result<(), Full> {
        self.submit(tag, Asked::Open { how, access }, path)
    }

    /// Queues the closing of a file.
    pub fn close(&mut self, tag: u32, file: FileId) -> Result<(), Full> {
        self.submit(tag, Asked::Close { file }, "")
    }

    fn submit(&mut self, tag: u32, asked: Asked, path: &str) -> Result<(), Full> {
        let index = self.free.pop().ok_or(Full)?;
        let slot = &mut self.slots[usize::from(index)];
        slot.begin(tag, asked, path);
        let facts = &self.link.facts;
        let charge = |part: &Command| u32::from(facts.charge(asked.payload(*part)));
        slot.charge = asked.parts().iter().map(charge).sum();
        self.waiting.push_back(index);
        Ok(())
    }

    /// Hands queued calls to the kernel, as far as the credits last and it takes them at once.
    /// Calls whose path SMB cannot carry end here.
    pub fn flush_out(&mut self, with: &mut impl Exchange) -> Result<(), Error> {
        self.alive()?;
        let result = self.send(with).map(drop);
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

    fn reap_inner(&mut self, until: u64, with: &mut impl Exchange) -> Result<usize, Error> {
        loop {
            let mut completed = self.send(with)?;
            if self.in_flight() == 0 {
                return Ok(completed);
            }
            let until = if completed > 0 { 0 } else { until };
            let left = Duration::from_nanos(until.saturating_sub(with.now()));
            if let Some(count) = self.receive(left)? {
                let done = with.now();
                self.replies.filled(count);
                completed += self.complete(done, with)?;
            }
            if completed > 0 || left.is_zero() {
                return Ok(completed);
            }
        }
    }

    /// Encodes and sends until nothing more can be; how many calls have ended by that.
    fn send(&mut self, with: &mut impl Exchange) -> Result<usize, Error> {
        let mut ended = 0;
        loop {
            ended += self.encode(with)?;
            if self.outgoing.is_empty() || !self.outgoing.send(&self.link.socket, with)? {
                break;
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
        }
        if !self.waiting.is_empty() && self.waiting.len() == self.in_flight() {
            return Err(Error::NoCredits);
        }
        Ok(ended)
    }

    fn receive(&mut self, limit: Duration) -> Result<Option<usize>, Error> {
        let (socket, room) = (&self.link.socket, self.replies.room());
        Ok(if limit.is_zero() {
            socket.receive(room)?
        } else if self.outgoing.is_empty() {
            socket.receive_within(room, limit)?
        } else {
            socket.wait(Ready::Either, limit)?;
            socket.receive(room)?
        })
    }

    /// Completes every call whose replies are all in the buffer.
    fn complete(&mut self, done: u64, with: &mut impl Exchange) -> Result<usize, Error> {
        let mut completed = 0;
        while let Some(frame) = self.replies.next_frame()? {
            let sealed = frame.starts_with(b"\xfdSMB");
            let frame = match (&self.link.guard.sealer, sealed) {
                (Some(sealer), true) => sealer.open(frame)?,
                (None, true) => return Err(Error::NotDecrypted),
                (_, false) if self.link.guard.seal => return Err(Error::NotEncrypted),
                (_, false) => frame,
            };
            // A call of which a part has been answered in this frame.
            let mut begun: Option<u16> = None;
            let mut at = 0;
            while let Some((place, header)) = next_message(frame, at)? {
                at = place.end;
                if header.message_id == UNASKED && header.command == u16::from(Command::OplockBreak)
                {
                    // No file is opened with an oplock, so nothing is to be done about it.
                    continue;
                }
                let id = header.message_id;
                let found = find(&self.slots, &self.guesses, id, self.outgoing.handed());
                let (index, part) = found.ok_or(Error::UnknownMessage(id))?;
                let slot = &mut self.slots[usize::from(index)];
                let mut credits = header.credits.into();
                if !sealed {
                    self.link.guard.verify(&mut frame[place.clone()], &header)?;
                    if self.link.guard.lacks_signature(&header) {
                        let expected = slot.expected(part, self.link.session_id);
                        credits = header.unsigned_interim(&expected)?;
                    }
                }
                self.link.credits = self.link.credits.saturating_add(credits);
                if header.is_interim() {
                    slot.postpone(part);
                    continue;
                }
                if let Some(other) = begun.replace(index).filter(|other| *other != index) {
                    self.slots[usize::from(other)].hold(frame);
                }
                let slot = &mut self.slots[usize::from(index)];
                slot.take(part, &header, frame, place)?;
                if slot.is_answered() {
                    self.credits_spent -= slot.charge;
                    with.complete(slot.completion(frame, done));
                    self.free.push(index);
                    begun = None;
                    completed += 1;
                }
            }
            if let Some(index) = begun {
                self.slots[usize::from(index)].hold(frame);
            }
        }
        Ok(completed)
    }
}

/// The call that a number belongs to, and which of its requests; only of calls that are sent.
fn find(slots: &[Slot], guesses: &Guesses, id: u64, handed: u64) -> Option<(u16, usize)> {
    let matches = |index: u16| {
        let slot = slots.get(usize::from(index)).filter(|slot| slot.end <= handed)?;
        Some((index, slot.part_of(id)?))
    };
    matches(guesses.guess(id)).or_else(|| (0..slots.len() as u16).find_map(matches))
}
