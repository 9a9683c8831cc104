//! Many compounds in flight on one connection, each in a slot of its session.

use super::client::{Client, ClientParts, LONGEST_WAIT, OVERHEAD, WAIT, end_session};
use super::compound::{Compound, Results};
use super::identity::Identity;
use super::request::{Building, Done, ExpectedReply, KeptPlace, Request, Rest, Step};
use super::revoked::Revoked;
use super::sessions::Sequence;
use super::slots::{Slots, Taken};
use super::types::SessionId;
use super::{COMPOUND, PROGRAM};
use crate::Error;
use crate::nfs3::PAGE_BYTES;
use crate::rpc::{
    Credential, RecordBuffer, RecordMark, answered_call, begin_call, encode_identity, finish_call,
    open_reply, random_xid,
};
use crate::xdr::padding;
use plimsoll_transport::{
    COPY_MOST, Completion as Ended, Encoded, Exchange, InFlight, Outgoing, PipelineOptions,
    Protocol, Received, Slot, Socket, UNREAD_LEAST, payload,
};
use std::ops::Range;
use std::sync::Arc;

/// Bytes of a compound that no call need allocate, without the data of a WRITE.
const ARGUMENTS: usize = 512;
/// Longest call without the data of a WRITE, in bytes: two names and handles, a credential.
const LONGEST_CALL: usize = 2048;
/// Where SEQUENCE's number, slot and highest slot stand in a compound: after the tag, the minor version, the
/// count of operations, and SEQUENCE's own number and session.
const SEQUENCE_AT: usize = 12 + 4 + 16;

/// One connection with many compounds in flight.
pub type Pipeline = plimsoll_transport::Pipeline<Nfs4>;

/// The end of one call.
pub type Completion<'a> = Ended<Done<'a>, Error>;

/// NFS version 4 as a pipeline speaks it. A WRITE's data are copied if they are few and else handed
/// over as they are. A session that the server forgets ends the pipeline, and so do open files that it
/// [revokes](Revoked), and in 4.0 a registration that it forgets.
pub struct Nfs4 {
    options: PipelineOptions,
    credential: Credential,
    encoded_credential: Vec<u8>,
    identity: Arc<Identity>,
    /// The registration.
    client: u64,
    /// Longest page of names in bytes.
    page_most: u32,
    /// None in 4.0.
    slots: Option<Slots>,
    /// The bits of SEQUENCE by which the server says that it has revoked open files.
    watched: u32,
    replies: RecordBuffer,
    /// A call's slot in the pipeline is in these low bits of its transaction number, so a reply finds
    /// it at once.
    mask: u32,
    /// Whether the latest READ is a long one whose data nobody looks at.
    unread: bool,
    surplus: usize,
    /// To end the session when all is over.
    socket: Socket,
}

/// A call in flight.
#[derive(Debug)]
pub struct Call {
    xid: u32,
    taken: Taken,
    expected: ExpectedReply,
    /// The compound, but for the number of its slot and the data of a WRITE.
    compound: Vec<u8>,
    /// Where the data belong, and their bytes.
    data: Option<(usize, u32)>,
    /// What is left to be done with a file, where that is more than one compound.
    rest: Option<Rest>,
    /// Where the file is that it opens.
    place: KeptPlace,
    /// How often the server has asked for a compound of it later.
    waits: u32,
}

impl Call {
    /// A compound of it is made again, under another number, when the server has been left alone: each time for
    /// longer. When that is.
    fn put_off(&mut self, mask: u32, now: u64) -> u64 {
        self.xid = self.xid.wrapping_add(mask + 1);
        let wait = WAIT.saturating_mul(1 << self.waits.min(16)).min(LONGEST_WAIT);
        self.waits = self.waits.saturating_add(1);
        now.saturating_add(wait.as_nanos() as u64)
    }
}

impl Nfs4 {
    /// A pipeline over a client's connection, with as many calls in flight as there are slots in its
    /// session, and no more than `options` says. Reads and writes are cut to what the session takes.
    pub fn pipeline(client: Client, mut options: PipelineOptions) -> Result<Pipeline, Error> {
        let ClientParts { socket, credential, identity, client, session } = client.into_parts()?;
        if let Some(session) = session {
            options.read_most = options.read_most.min(session.fore.largest_read());
            options.write_most = options.write_most.min(session.fore.largest_write());
        }
        let depth = options.depth.get();
        let mask = u32::from(depth).next_power_of_two() - 1;
        let base = random_xid() & !mask;
        let call = |index| Call {
            xid: base | u32::from(index),
            taken: Taken::default(),
            expected: ExpectedReply::Nothing,
            compound: Vec::with_capacity(ARGUMENTS),
            data: None,
            rest: None,
            place: KeptPlace::with_room(),
            waits: 0,
        };
        let reply_most = options.read_most.max(PAGE_BYTES) + OVERHEAD;
        let protocol = Nfs4 {
            options,
            encoded_credential: encode_identity(&credential),
            credential,
            identity,
            client,
            page_most: session.map_or(PAGE_BYTES, |of| of.fore.largest_read().min(PAGE_BYTES)),
            slots: session.map(|of| Slots::new(of.id, of.fore.slots, of.sequence)),
            watched: session.map_or(0, |of| of.watched),
            replies: RecordBuffer::new(reply_most as usize),
            mask,
            unread: false,
            surplus: 0,
            socket: socket.try_clone()?,
        };
        let longest = LONGEST_CALL + COPY_MOST as usize;
        Ok(Pipeline::new(socket, protocol, (0..depth).map(call), longest))
    }

    /// Longest read and write of one call, in bytes.
    pub fn sizes(&self) -> (u32, u32) {
        (self.options.read_most, self.options.write_most)
    }

    /// Bytes that replies had beyond their ends, since this was last asked.
    pub fn take_surplus(&mut self) -> usize {
        std::mem::take(&mut self.surplus)
    }
}

impl Drop for Nfs4 {
    fn drop(&mut self) {
        if let Some(slots) = &self.slots {
            let minor = self.identity.minor();
            end_session(&self.socket, &self.credential, minor, slots.session());
        }
    }
}

/// Begins a compound in a call's buffer.
fn building<'c, 'b>(
    identity: &'c Identity,
    client: u64,
    page_most: u32,
    session: Option<SessionId>,
    bytes: &'b mut Vec<u8>,
    (rest, place): (&'b mut Option<Rest>, &'b mut KeptPlace),
) -> Building<'c, 'b> {
    bytes.clear();
    let mut compound = Compound::new(bytes, identity.minor());
    if let Some(session) = session {
        // What is not known yet is filled in when it is sent.
        let (sequence, slot, highest_slot) = (0, 0, 0);
        compound.add(&Sequence { session, sequence, slot, highest_slot, keep: false });
    }
    Building { identity, client, compound, page_most, data_at: None, rest, place }
}

impl Protocol for Nfs4 {
    type Request<'a> = Request<'a>;
    type Call = Call;
    type Done<'a> = Done<'a>;
    type Error = Error;
    type Mark = RecordMark;

    #[inline]
    fn replies(&mut self) -> &mut RecordBuffer {
        &mut self.replies
    }

    #[inline]
    fn begin(&mut self, request: &mut Request<'_>, call: &mut Call) {
        let PipelineOptions { read_most, write_most, .. } = self.options;
        match request {
            Request::Read { count, .. } | Request::Get { count, .. } => {
                *count = (*count).min(read_most);
            }
            Request::Write { count, .. } | Request::Put { count, .. } => {
                *count = (*count).min(write_most);
            }
            _ => {}
        }
        call.xid = call.xid.wrapping_add(self.mask + 1);
        call.waits = 0;
        let session = self.slots.as_ref().map(Slots::session);
        let (identity, bytes) = (&self.identity, &mut call.compound);
        let file = (&mut call.rest, &mut call.place);
        let mut building = building(identity, self.client, self.page_most, session, bytes, file);
        call.expected = building.request(request);
        call.data = building.data_at;
        if let ExpectedReply::Read(count) = call.expected {
            self.unread = self.options.unread && count >= UNREAD_LEAST;
        }
    }

    fn encode(
        &mut self,
        _: u16,
        slot: &mut Slot<Call>,
        to: &mut Outgoing,
        with: &mut impl Exchange<Self>,
    ) -> Result<Encoded<Error>, Error> {
        let call = &mut slot.call;
        if let Some(slots) = &mut self.slots {
            let Some(taken) = slots.take() else { return Ok(Encoded::Waits) };
            let words = [taken.sequence, taken.slot, taken.highest].map(u32::to_be_bytes);
            call.compound[SEQUENCE_AT..SEQUENCE_AT + 12].copy_from_slice(words.as_flattened());
            call.taken = taken;
        }
        let (data_at, count) = call.data.unwrap_or((call.compound.len(), 0));
        let (before, after) = call.compound.split_at(data_at);
        let fill = &[0; 3][..padding(count as usize)];
        let copied = if count > COPY_MOST { 0 } else { count as usize };
        to.append(|bytes| {
            let credential = &self.encoded_credential;
            let at = begin_call(bytes, call.xid, PROGRAM, COMPOUND, credential);
            bytes.extend_from_slice(before);
            let fits = finish_call(bytes, at, count as usize + fill.len() + after.len());
            debug_assert!(fits, "lengths are limited well below a fragment's");
            if copied > 0 {
                bytes.extend_from_slice(payload::<Self>(with, slot.tag, copied)?);
            }
            Ok::<_, Error>(())
        })?;
        if copied < count as usize {
            to.append_later(slot.tag, count);
        }
        to.append(|bytes| {
            bytes.extend_from_slice(fill);
            bytes.extend_from_slice(after);
        });
        Ok(Encoded::Queued)
    }

    #[inline]
    fn expects_unread(&self) -> bool {
        self.unread
    }

    /// READ is the last of its compound, and its data end its result (RFC 8881, section 18.22.2).
    fn is_unread(&mut self, head: Range<usize>, calls: &mut InFlight<Call>) -> bool {
        let call = answered_call(self.replies.frame(head), calls, self.mask, |call| call.xid);
        call.is_some_and(|call| matches!(call.expected, ExpectedReply::Read(_)))
    }

    fn complete<X: Exchange<Self>>(&mut self, of: Received<'_, Call, X>) -> Result<usize, Error> {
        let Received { place, done, calls, with } = of;
        let (xid, outcome) = open_reply(self.replies.frame(place))?;
        let index = (xid & self.mask) as u16;
        let slot = calls.sent(index).filter(|slot| slot.call.xid == xid);
        let slot = slot.ok_or(Error::UnknownTransaction(xid))?;
        let call = &mut slot.call;
        let expected = std::mem::take(&mut call.expected);
        let result = match outcome {
            Err(rejection) => {
                if let Some(slots) = &mut self.slots {
                    slots.give_back(call.taken, None)?;
                }
                call.rest = None;
                Err(rejection.into())
            }
            Ok(mut from) => {
                let mut results: Results<'_> = from.value()?;
                let (identity, client, watched) = (&self.identity, self.client, self.watched);
                let look = |status| match Revoked::of(status, watched) {
                    None => Ok(()),
                    Some(revoked) => {
                        identity.revoked(client, revoked);
                        Err(Error::Revoked(revoked))
                    }
                };
                match begin_results(&mut self.slots, call.taken, &mut results, look)? {
                    // Nothing of it was done: it is made again as it is.
                    Err(_) if expected.follows_an_open() => {
                        call.expected = expected;
                        let when = call.put_off(self.mask, done);
                        with.postponed(done);
                        calls.go_on_at(index, when);
                        return Ok(0);
                    }
                    Err(later) => Err(later),
                    Ok(()) => {
                        let session = self.slots.as_ref().map(Slots::session);
                        let (identity, bytes) = (&self.identity, &mut call.compound);
                        let (client, page_most) = (self.client, self.page_most);
                        let file = (&mut call.rest, &mut call.place);
                        let mut building =
                            building(identity, client, page_most, session, bytes, file);
                        match building.reply(expected, &mut results) {
                            Ok(Step::Next(expected)) => {
                                (call.data, call.expected) = (building.data_at, expected);
                                call.xid = call.xid.wrapping_add(self.mask + 1);
                                calls.go_on(index);
                                return Ok(0);
                            }
                            Ok(Step::Later(expected)) => {
                                (call.data, call.expected) = (building.data_at, expected);
                                let when = call.put_off(self.mask, done);
                                with.postponed(done);
                                calls.go_on_at(index, when);
                                return Ok(0);
                            }
                            Ok(Step::Done(done)) => results.finish().map(|surplus| {
                                self.surplus += surplus;
                                done
                            }),
                            // Without a session, what is open shows that the registration is lost.
                            Err(error @ Error::Nfs4 { status, .. })
                                if self.slots.is_none() && status.is_session_lost() =>
                            {
                                return Err(error);
                            }
                            Err(error) => Err(error),
                        }
                    }
                }
            }
        };
        with.complete(Completion { tag: slot.tag, sent: slot.sent, done, result });
        calls.finish(index);
        Ok(1)
    }
}

/// SEQUENCE's part of a reply, which gives the slot back, and what is made of its status. The inner error: the
/// server asks for the call to be made again later. Any other refusal is the end of the session.
#[inline]
fn begin_results(
    slots: &mut Option<Slots>,
    taken: Taken,
    results: &mut Results<'_>,
    look: impl FnOnce(u32) -> Result<(), Error>,
) -> Result<Result<(), Error>, Error> {
    let Some(slots) = slots else { return Ok(Ok(())) };
    match results.take::<Sequence>() {
        Ok(ok) => {
            slots.give_back(taken, Some(&ok))?;
            look(ok.status).map(Ok)
        }
        Err(error @ Error::Nfs4 { status, .. }) if status.is_later() => {
            slots.give_back(taken, None)?;
            Ok(Err(error))
        }
        Err(error) => Err(error),
    }
}
