//! Many calls in flight, on one connection or in datagrams.

use super::listing::PAGE_BYTES;
use super::request::{Done, ExpectedReply, Request};
use super::types::Procedure;
use crate::rpc::{
    Credential, RecordBuffer, RecordMark, answered_call, begin_call, encode_identity, finish_call,
    open_reply, random_xid,
};
use crate::xdr::{Encoder, padding};
use crate::{Error, Version};
use plimsoll_transport::{
    COPY_MOST, DatagramPipeline, DatagramProtocol, DatagramSocket, Encoded, Exchange, InFlight,
    LONGEST_DATAGRAM, Outgoing, PipelineOptions, Protocol, Received, Slot, Socket, UNREAD_LEAST,
    payload,
};
use std::ops::Range;

/// Bytes in a reply around the data: headers, a verifier, attributes.
const REPLY_OVERHEAD: usize = 4096;
/// Bytes of arguments that no call need allocate, without the data of a WRITE.
const ARGUMENTS: usize = 192;
/// Longest call without the data of a WRITE, in bytes: names have 255 bytes at most, credentials 400.
const LONGEST_CALL: usize = 2048;

/// Longest READ and WRITE in a datagram in bytes: with what stands around them they just fit.
pub const DATAGRAM_TRANSFER: u32 = 56 * 1024;
/// Longest page of names in a datagram in bytes.
pub(super) const DATAGRAM_PAGE: u32 = 32 * 1024;
const _: () = assert!(DATAGRAM_TRANSFER as usize + REPLY_OVERHEAD <= LONGEST_DATAGRAM);
const _: () = assert!(DATAGRAM_TRANSFER as usize + LONGEST_CALL <= LONGEST_DATAGRAM);

/// One connection with many calls in flight.
pub type Pipeline = plimsoll_transport::Pipeline<Nfs3>;

/// Many calls in flight in datagrams.
pub type Datagrams = DatagramPipeline<Nfs3>;

/// The end of one call.
pub type Completion<'a> = plimsoll_transport::Completion<Done<'a>, Error>;

/// NFS version 3 as a pipeline speaks it, and version 2 in its words. A WRITE's data are copied if they
/// are few and else handed over as they are.
pub struct Nfs3 {
    version: Version,
    options: PipelineOptions,
    page_most: u32,
    identity: Vec<u8>,
    replies: RecordBuffer,
    /// A call's slot is in these low bits of its transaction number, so a reply finds it at once.
    mask: u32,
    /// Whether the latest READ is a long one whose data nobody looks at.
    unread: bool,
    surplus: Option<(Procedure, usize)>,
}

/// A call in flight.
#[derive(Debug)]
pub struct Call {
    xid: u32,
    expected: ExpectedReply,
    /// What it asks for, as it is sent.
    arguments: Vec<u8>,
    /// Why it is not sent. Boxed, as it is looked at for each call.
    refusal: Option<Box<Error>>,
    /// Whether it was sent more than once.
    repeated: bool,
}

impl Nfs3 {
    /// A pipeline of version 3 over a connection.
    pub fn pipeline(socket: Socket, credential: &Credential, options: PipelineOptions) -> Pipeline {
        Self::pipeline_of(Version::V3, socket, credential, options)
    }

    /// A pipeline over a connection.
    pub fn pipeline_of(
        version: Version,
        socket: Socket,
        credential: &Credential,
        options: PipelineOptions,
    ) -> Pipeline {
        let (protocol, calls) = Self::new(version, credential, options, PAGE_BYTES);
        Pipeline::new(socket, protocol, calls, LONGEST_CALL + COPY_MOST as usize)
    }

    /// A pipeline in datagrams, whose transfers and pages are no longer than those can be.
    pub fn datagrams(
        version: Version,
        socket: DatagramSocket,
        credential: &Credential,
        options: PipelineOptions,
    ) -> Datagrams {
        let read_most = options.read_most.min(DATAGRAM_TRANSFER);
        let write_most = options.write_most.min(DATAGRAM_TRANSFER);
        let options = PipelineOptions { read_most, write_most, ..options };
        let (protocol, calls) = Self::new(version, credential, options, DATAGRAM_PAGE);
        Datagrams::new(socket, protocol, calls, LONGEST_CALL + COPY_MOST as usize)
    }

    fn new(
        version: Version,
        credential: &Credential,
        options: PipelineOptions,
        page_most: u32,
    ) -> (Self, impl ExactSizeIterator<Item = Call>) {
        let own = version.longest_transfer().unwrap_or(u32::MAX);
        let (read_most, write_most) = (options.read_most.min(own), options.write_most.min(own));
        let options = PipelineOptions { read_most, write_most, ..options };
        let depth = options.depth.get();
        let mask = u32::from(depth).next_power_of_two() - 1;
        let base = random_xid() & !mask;
        let call = move |index| Call {
            xid: base | u32::from(index),
            expected: ExpectedReply::Nothing,
            arguments: Vec::with_capacity(ARGUMENTS),
            refusal: None,
            repeated: false,
        };
        let protocol = Nfs3 {
            version,
            options,
            page_most,
            identity: encode_identity(credential),
            replies: RecordBuffer::new(options.read_most.max(page_most) as usize + REPLY_OVERHEAD),
            mask,
            unread: false,
            surplus: None,
        };
        (protocol, (0..depth).map(call))
    }

    /// The first procedure whose reply went on beyond its end, and by how many bytes; once.
    pub fn take_surplus(&mut self) -> Option<(Procedure, usize)> {
        self.surplus.take()
    }
}

impl Protocol for Nfs3 {
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
        request.cut(self.options.read_most, self.options.write_most, self.page_most);
        call.xid = call.xid.wrapping_add(self.mask + 1);
        call.repeated = false;
        if self.version != Version::V3 {
            call.refusal = self.version.refusal(request).map(Box::new);
        }
        call.expected = request.expected_reply();
        if let ExpectedReply::Read { count } = call.expected {
            self.unread = self.options.unread && count >= UNREAD_LEAST;
        }
        call.arguments.clear();
        self.version.encode(request, &mut Encoder::new(&mut call.arguments));
    }

    fn encode(
        &mut self,
        _: u16,
        slot: &mut Slot<Call>,
        to: &mut Outgoing,
        with: &mut impl Exchange<Self>,
    ) -> Result<Encoded<Error>, Error> {
        if slot.call.refusal.is_some()
            && let Some(refusal) = slot.call.refusal.take()
        {
            return Ok(Encoded::Refused(*refusal));
        }
        let Call { xid, expected, ref arguments, .. } = slot.call;
        let count = match expected {
            ExpectedReply::Write { count, .. } => count,
            _ => 0,
        };
        let fill = &[0; 3][..padding(count as usize)];
        let copied = if count > COPY_MOST { 0 } else { count as usize };
        to.append(|bytes| {
            let (program, number) =
                (self.version.program(), self.version.number(expected.procedure()));
            let at = begin_call(bytes, xid, program, number, &self.identity);
            bytes.extend_from_slice(arguments);
            let fits = finish_call(bytes, at, count as usize + fill.len());
            debug_assert!(fits, "lengths are limited well below a fragment's");
            if copied > 0 {
                bytes.extend_from_slice(payload::<Self>(with, slot.tag, copied)?);
                bytes.extend_from_slice(fill);
            }
            Ok::<_, Error>(())
        })?;
        if copied < count as usize {
            to.append_later(slot.tag, count);
            to.append(|bytes| bytes.extend_from_slice(fill));
        }
        Ok(Encoded::Queued)
    }

    #[inline]
    fn expects_unread(&self) -> bool {
        self.unread
    }

    /// READ's data end its reply (RFC 1813, section 3.3.6).
    fn is_unread(&mut self, head: Range<usize>, calls: &mut InFlight<Call>) -> bool {
        let call = answered_call(self.replies.frame(head), calls, self.mask, |call| call.xid);
        call.is_some_and(|call| matches!(call.expected, ExpectedReply::Read { .. }))
    }

    fn complete<X: Exchange<Self>>(&mut self, of: Received<'_, Call, X>) -> Result<usize, Error> {
        let Received { place, done, calls, with } = of;
        let (xid, outcome) = open_reply(self.replies.frame(place))?;
        let index = (xid & self.mask) as u16;
        let slot = calls.sent(index).filter(|slot| slot.call.xid == xid);
        let slot = slot.ok_or(Error::UnknownTransaction(xid))?;
        let Call { expected, ref arguments, repeated, .. } = slot.call;
        // In place: a result is large, and is not to be moved for what is rare.
        let mut result = expected.results(self.version, arguments, outcome, &mut self.surplus);
        if repeated
            && let Err(error) = &result
            && let Some(done) = expected.done_before(error)
        {
            result = Ok(done);
        }
        with.complete(Completion { tag: slot.tag, sent: slot.sent, done, result });
        calls.finish(index);
        Ok(1)
    }
}

/// Round trips are estimated for reads, for what the server writes to its disk, and for all else.
impl DatagramProtocol for Nfs3 {
    const CLASSES: usize = 3;

    fn number(call: &Call) -> u32 {
        call.xid
    }

    fn step(&self) -> u32 {
        self.mask + 1
    }

    fn answered(&mut self, reply: Range<usize>) -> Option<(u32, u16)> {
        let xid = u32::from_be_bytes(*self.replies.frame(reply).first_chunk()?);
        Some((xid, (xid & self.mask) as u16))
    }

    fn again(&mut self, call: &mut Call) {
        call.xid = call.xid.wrapping_add(self.mask + 1);
        call.repeated = true;
    }

    fn class(call: &Call) -> usize {
        match call.expected.procedure() {
            Procedure::Read => 0,
            Procedure::Write | Procedure::Commit => 1,
            _ => 2,
        }
    }
}
