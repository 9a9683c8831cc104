//! Many requests in flight on one connection.
//!
//! Calls wait in their slots until the server's credits suffice, are encoded into a buffer and signed
//! or encrypted there. The payload of a large WRITE that needs no protection is not copied. Replies
//! are verified or decrypted in the buffer where they were received.

mod call;
mod ids;
mod request;

pub use call::Call;
pub use request::{Done, Request};

use crate::guard::{Guard, TRANSFORM_HEADER, unprotected};
use crate::link::{Link, SessionFacts};
use crate::message::{HEADER_BYTES, ReplyHeader, RequestHeader, UNASKED, next_message};
use crate::ms_smb2::types::Command;
use crate::requests::OpenKind;
use crate::tree::Tree;
use crate::{Error, names};
use ids::Guesses;
use plimsoll_transport::{
    BadFrame, COPY_MOST, Encoded, Exchange, FrameBuffer, InFlight, Mark, Outgoing, PipelineOptions,
    Protocol, Received, Slot, UNREAD_LEAST, payload,
};
use request::{Action, Through};
use std::ops::Range;

/// Bytes in a frame around the data.
const OVERHEAD: usize = 2048;
/// Longest payload in bytes: the most that servers allow, far below what a frame's length can name.
const MOST: u32 = 8 << 20;
/// Credits above which no more are asked for: what the usual servers grant at most.
const CREDITS_MOST: u32 = 8192;
/// Bytes of names asked for at once: what one credit pays for.
const PAGE_BYTES: u32 = 64 << 10;
/// Length in front of each frame in bytes (MS-SMB2, section 2.1).
const PREFIX: usize = 4;

/// One connection with many calls in flight.
pub type Pipeline = plimsoll_transport::Pipeline<Smb2>;

/// The end of one call.
pub type Completion<'a> = plimsoll_transport::Completion<Done<'a>, Error>;

/// A frame's prefix: a zero, and 24 bits of its length (MS-SMB2, section 2.1).
#[derive(Clone, Copy, Debug)]
pub struct Prefix;

impl Mark for Prefix {
    type Error = Error;

    #[inline]
    fn parse(mark: [u8; PREFIX]) -> Result<(usize, bool), Error> {
        if mark[0] != 0 {
            return Err(Error::Malformed("a frame does not begin with a zero byte".into()));
        }
        Ok((u32::from_be_bytes(mark) as usize, true))
    }
}

impl From<BadFrame> for Error {
    fn from(bad: BadFrame) -> Self {
        match bad {
            BadFrame::TooLong { length, limit } => Error::TooLong { length, limit },
            BadFrame::EmptyFragments => Error::Malformed("a frame without an end".into()),
            BadFrame::Payload { length, announced } => Error::Malformed(format!(
                "a payload of {length} bytes instead of the announced {announced}"
            )),
        }
    }
}

/// SMB as a pipeline speaks it.
pub struct Smb2 {
    guard: Guard,
    session_id: u64,
    tree_id: u32,
    next_message_id: u64,
    /// Credits that the server has granted and no request has used.
    credits: u32,
    facts: SessionFacts,
    compounds: bool,
    options: PipelineOptions,
    /// Whether the latest READ is a long one whose data nobody looks at.
    unread: bool,
    replies: FrameBuffer<Prefix>,
    guesses: Guesses,
    /// Credits that keep the pipeline full, and credits that its calls in flight have cost.
    credits_wanted: u32,
    credits_spent: u32,
}

impl Smb2 {
    /// A pipeline over a connection.
    pub fn pipeline(link: Link, mut options: PipelineOptions) -> Pipeline {
        let Link { socket, guard, session_id, tree_id, next_message_id, credits, facts, compounds } =
            link;
        options.read_most = options.read_most.min(facts.read_most).clamp(1, MOST);
        options.write_most = options.write_most.min(facts.write_most).clamp(1, MOST);
        let depth = u32::from(options.depth.get());
        let largest = facts.charge(options.read_most.max(options.write_most));
        // A call is at most one large request and three small ones.
        let credits_wanted = (depth * (u32::from(largest) + 3)).min(CREDITS_MOST);
        let protocol = Smb2 {
            replies: FrameBuffer::new(options.read_most.max(PAGE_BYTES) as usize + OVERHEAD),
            guesses: Guesses::new(credits_wanted),
            credits_wanted,
            credits_spent: 0,
            guard,
            session_id,
            tree_id,
            next_message_id,
            credits,
            facts,
            compounds,
            options,
            unread: false,
        };
        let calls = (0..options.depth.get()).map(|_| Call::new());
        let longest = PREFIX + TRANSFORM_HEADER + OVERHEAD + options.write_most as usize;
        Pipeline::new(socket, protocol, calls, longest)
    }

    /// Its size, as far as the server allows.
    pub fn options(&self) -> PipelineOptions {
        self.options
    }

    /// Whether requests about one name go as one compound from now on. At first they do unless they
    /// are signed, for some servers sign those replies wrongly; and they do no more once the server
    /// has not followed one.
    pub fn use_compounds(&mut self, compounds: bool) {
        self.compounds = compounds;
    }

    /// What is asked for, no longer than the server and the memory allow, and its path.
    fn action<'a>(&self, request: Request<'a>) -> (Action, &'a str) {
        let (read_most, write_most) = (self.options.read_most, self.options.write_most);
        match request {
            Request::Read { file, offset, count } => {
                (Action::Read { file, offset, count: count.min(read_most) }, "")
            }
            Request::Write { file, offset, count, through } => {
                let through = Through::in_dialect(through, self.facts.dialect);
                (Action::Write { file, offset, count: count.min(write_most), through }, "")
            }
            Request::Flush { file } => (Action::Flush { file }, ""),
            Request::Put { path, how, count, through } => {
                let through = Through::in_dialect(through, self.facts.dialect);
                (Action::Put { how, count: count.min(write_most), through }, path)
            }
            Request::Get { path, most } => (Action::Get { most: most.min(read_most) }, path),
            Request::Open { path, how, access } => (Action::Open { how, access }, path),
            Request::Close { file } => (Action::Close { file }, ""),
            Request::Lookup { path } => (Action::Lookup, path),
            Request::OpenDirectory { path } => (Action::OpenDirectory, path),
            Request::List { directory } => {
                let buffer = PAGE_BYTES.min(self.facts.transact_most);
                (Action::List { directory, buffer }, "")
            }
            Request::MakeDirectory { path } => (Action::MakeDirectory, path),
            Request::Rename { path, .. } => (Action::Rename, path),
            Request::Attributes { file } => (Action::Attributes { file }, ""),
            Request::Lock { file, bytes, mode } => (Action::Lock { file, bytes, mode }, ""),
            Request::SetTimes { file, written } => (Action::SetTimes { file, written }, ""),
            Request::SetTimesOf { path, written } => (Action::SetTimesOf { written }, path),
            Request::Remove { path } => (Action::Remove(OpenKind::File), path),
            Request::RemoveDirectory { path } => (Action::Remove(OpenKind::Directory), path),
        }
    }

    /// Whether nothing is signed or encrypted.
    fn is_plain(&self) -> bool {
        !self.guard.seal && self.guard.signing().is_none()
    }

    /// Encodes the requests of a call that are to go now as one frame, and protects it.
    fn encode_frame(
        &mut self,
        index: u16,
        tag: u32,
        call: &mut Call,
        bytes: &mut Vec<u8>,
        with: &mut impl Exchange<Self>,
    ) -> Result<Option<u32>, Error> {
        // Each call asks for what it cost; the first ones for what is missing as well.
        let held = self.credits.saturating_add(self.credits_spent);
        let mut missing = self.credits_wanted.saturating_sub(held);
        let plain = self.is_plain();
        let mut later = None;

        let start = bytes.len();
        let messages = start + PREFIX + if self.guard.seal { TRANSFORM_HEADER } else { 0 };
        bytes.resize(messages, 0);
        let parts = call.under_way();
        for part in parts.clone() {
            let command = call.action.commands()[part];
            let last = part + 1 == parts.end;
            let begin = bytes.len();
            bytes.resize(begin + HEADER_BYTES, 0);
            call.action.encode(part, &call.path, &call.to, call.file(part), bytes);
            let count = call.action.payload(command);
            if command == Command::Write {
                if plain && last && count > COPY_MOST {
                    later = Some(count);
                } else {
                    bytes.extend_from_slice(payload::<Self>(with, tag, count as usize)?);
                }
            }
            if !last {
                let length = bytes.len() - messages;
                bytes.resize(messages + length.next_multiple_of(8), 0);
            }
            let message = &mut bytes[begin..];
            let charge = self.facts.charge(count);
            let wanted = u32::from(charge) + std::mem::take(&mut missing);
            let wanted = u16::try_from(wanted).unwrap_or(u16::MAX);
            call.send(part, self.next_message_id, wanted);
            self.guesses.note(self.next_message_id, index);
            RequestHeader {
                command,
                // Connections without large transfers do not know the field.
                credit_charge: if self.facts.large_transfers { charge } else { 0 },
                credits_wanted: wanted,
                related: part > parts.start,
                next: if last { 0 } else { message.len() as u32 },
                message_id: self.next_message_id,
                tree_id: self.tree_id,
                session_id: self.session_id,
            }
            .put(message);
            self.next_message_id += u64::from(charge);
            if let Some(signer) = self.guard.signing() {
                signer.sign(message);
            }
        }
        if let Some(sealer) = self.guard.sealing() {
            sealer.seal(&mut bytes[start + PREFIX..]);
        }
        // Both limits of a pipeline are far below the 16 MiB that 24 bits can name.
        let length = (bytes.len() - start - PREFIX) as u32 + later.unwrap_or(0);
        bytes[start..start + PREFIX].copy_from_slice(&length.to_be_bytes());
        Ok(later)
    }
}

impl Tree {
    /// Many requests in flight on this connection.
    pub fn into_pipeline(self, options: PipelineOptions) -> Pipeline {
        Smb2::pipeline(self.into_link(), options)
    }
}

impl Protocol for Smb2 {
    type Request<'a> = Request<'a>;
    type Call = Call;
    type Done<'a> = Done<'a>;
    type Error = Error;
    type Mark = Prefix;

    fn replies(&mut self) -> &mut FrameBuffer<Prefix> {
        &mut self.replies
    }

    fn begin(&mut self, request: &mut Request<'_>, call: &mut Call) {
        let (action, path) = self.action(*request);
        let to = if let Request::Rename { to, .. } = request { *to } else { "" };
        call.begin(action, path, to, !self.compounds);
        if let Action::Read { count, .. } = action {
            self.unread = self.options.unread && count >= UNREAD_LEAST && self.is_plain();
        }
    }

    fn encode(
        &mut self,
        index: u16,
        slot: &mut Slot<Call>,
        to: &mut Outgoing,
        with: &mut impl Exchange<Self>,
    ) -> Result<Encoded<Error>, Error> {
        let (tag, call) = (slot.tag, &mut slot.call);
        if call.opens_a_path()
            && let Err(error) =
                names::check_path(&call.path).and_then(|()| names::check_path(&call.to))
        {
            call.action = Action::Nothing;
            return Ok(Encoded::Refused(error));
        }
        let charge = |part: usize| {
            u32::from(self.facts.charge(call.action.payload(call.action.commands()[part])))
        };
        call.charge = call.under_way().map(charge).sum();
        if call.charge > self.credits {
            // With nothing under way nobody grants any more.
            let waits = self.credits_spent > 0;
            return if waits { Ok(Encoded::Waits) } else { Err(Error::NoCredits) };
        }
        self.credits -= call.charge;
        self.credits_spent += call.charge;
        let later = to.append(|bytes| self.encode_frame(index, tag, call, bytes, with))?;
        if let Some(count) = later {
            to.append_later(tag, count);
        }
        Ok(Encoded::Queued)
    }

    fn expects_unread(&self) -> bool {
        self.unread
    }

    /// READ's data end its reply (MS-SMB2, section 2.2.20), where that is the only one of its frame.
    fn is_unread(&mut self, head: Range<usize>, calls: &mut InFlight<Call>) -> bool {
        let header = ReplyHeader::parse(self.replies.frame(head)).ok();
        header.filter(ReplyHeader::is_alone).is_some_and(|header| {
            let found = find(calls, &self.guesses, header.message_id);
            let call = found.and_then(|(index, _)| calls.sent(index)).map(|slot| &slot.call);
            call.is_some_and(|call| matches!(call.action, Action::Read { .. }))
        })
    }

    fn complete<X: Exchange<Self>>(&mut self, of: Received<'_, Call, X>) -> Result<usize, Error> {
        let Received { place, done, calls, with } = of;
        let mut completed = 0;
        let frame = self.replies.frame(place);
        let sealed = frame.starts_with(b"\xfdSMB");
        let frame = match (&self.guard.sealer, sealed) {
            (Some(sealer), true) => sealer.open(frame)?,
            (None, true) => return Err(Error::NotDecrypted),
            (_, false) if self.guard.seal => {
                let lacks = Error::NotEncrypted;
                return Err(match ReplyHeader::parse(frame) {
                    Ok(header) => unprotected(lacks, &header),
                    Err(_) => lacks,
                });
            }
            (_, false) => frame,
        };
        // A call of which a part has been answered in this frame.
        let mut begun: Option<u16> = None;
        let mut at = 0;
        while let Some((place, header)) = next_message(frame, at)? {
            at = place.end;
            if is_oplock_break(&header) {
                // No file is opened with an oplock, so nothing is to be done about it.
                continue;
            }
            let id = header.message_id;
            let (index, part) = find(calls, &self.guesses, id).ok_or(Error::UnknownMessage(id))?;
            let slot = calls.sent(index).ok_or(Error::UnknownMessage(id))?;
            let call = &mut slot.call;
            let mut credits = header.credits.into();
            if !sealed {
                self.guard.verify(&mut frame[place.clone()], &header)?;
                if self.guard.lacks_signature(&header) {
                    let expected = call.expected(part, self.session_id);
                    credits = header.unsigned_interim(&expected)?;
                }
            }
            self.credits = self.credits.saturating_add(credits);
            if header.is_interim() {
                call.postpone(part);
                continue;
            }
            call.take(part, &header, frame, place)?;
            let answered = call.is_answered();
            let ended = answered && {
                self.credits_spent -= call.charge;
                !call.goes_on()
            };
            if ended {
                let (tag, sent, result) = (slot.tag, slot.sent, slot.call.result(frame));
                with.complete(Completion { tag, sent, done, result });
                calls.finish(index);
                completed += 1;
            } else if answered {
                // Compounds that are not followed once are not tried again.
                self.compounds &= call.compounds_are_followed();
                call.hold(frame);
                calls.go_on(index);
            }
            let begins = (!answered).then_some(index);
            if let Some(other) = std::mem::replace(&mut begun, begins)
                && other != index
                && let Some(other) = calls.sent(other)
            {
                other.call.hold(frame);
            }
        }
        if let Some(slot) = begun.and_then(|index| calls.sent(index)) {
            slot.call.hold(frame);
        }
        Ok(completed)
    }
}

fn is_oplock_break(header: &ReplyHeader) -> bool {
    header.message_id == UNASKED && header.command == u16::from(Command::OplockBreak)
}

/// The call that a number belongs to, and which of its requests; only of calls that are sent.
fn find(calls: &mut InFlight<Call>, guesses: &Guesses, id: u64) -> Option<(u16, usize)> {
    let mut all = calls.indices();
    let mut part_of = |index: u16| Some((index, calls.sent(index)?.call.part_of(id)?));
    part_of(guesses.guess(id)).or_else(|| all.find_map(part_of))
}
