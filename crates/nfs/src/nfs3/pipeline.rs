//! Many calls in flight on one connection.

use super::PROGRAM;
use super::listing::PAGE_BYTES;
use super::request::{Asked, Done, Request};
use super::types::Procedure;
use crate::Error;
use crate::rpc::{
    Credential, RecordBuffer, RecordMark, begin_call, encode_identity, finish_call, open_reply,
    random_xid,
};
use crate::xdr::{Encode, Encoder, padding};
use plimsoll_transport::{
    COPY_MOST, Encoded, Exchange, Outgoing, PipelineOptions, Protocol, Received, Slot, Socket,
    payload,
};

/// Bytes in a reply around the data: headers, a verifier, attributes.
const REPLY_OVERHEAD: usize = 4096;
/// Bytes of arguments that no call need allocate, without the data of a WRITE.
const ARGUMENTS: usize = 192;
/// Longest call without the data of a WRITE, in bytes: names have 255 bytes at most, credentials 400.
const LONGEST_CALL: usize = 2048;

/// One connection with many calls in flight.
pub type Pipeline = plimsoll_transport::Pipeline<Nfs3>;

/// The end of one call.
pub type Completion<'a> = plimsoll_transport::Completion<Done<'a>, Error>;

/// NFS version 3 as a pipeline speaks it. A WRITE's data are copied if they are few and else handed
/// over as they are.
pub struct Nfs3 {
    options: PipelineOptions,
    identity: Vec<u8>,
    replies: RecordBuffer,
    /// A call's slot is in these low bits of its transaction number, so a reply finds it at once.
    mask: u32,
    surplus: Option<(Procedure, usize)>,
}

/// A call in flight.
#[derive(Debug)]
pub struct Call {
    xid: u32,
    asked: Asked,
    /// What it asks for, as it is sent.
    arguments: Vec<u8>,
}

impl Nfs3 {
    /// A pipeline over a connection.
    pub fn pipeline(socket: Socket, credential: &Credential, options: PipelineOptions) -> Pipeline {
        let depth = options.depth.get();
        let mask = u32::from(depth).next_power_of_two() - 1;
        let base = random_xid() & !mask;
        let call = |index| Call {
            xid: base | u32::from(index),
            asked: Asked::Nothing,
            arguments: Vec::with_capacity(ARGUMENTS),
        };
        let protocol = Nfs3 {
            options,
            identity: encode_identity(credential),
            replies: RecordBuffer::new(options.read_most.max(PAGE_BYTES) as usize + REPLY_OVERHEAD),
            mask,
            surplus: None,
        };
        let calls = (0..depth).map(call);
        Pipeline::new(socket, protocol, calls, LONGEST_CALL + COPY_MOST as usize)
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
        request.cut(self.options.read_most, self.options.write_most, PAGE_BYTES);
        call.xid = call.xid.wrapping_add(self.mask + 1);
        call.asked = request.asked();
        call.arguments.clear();
        request.encode(&mut Encoder::new(&mut call.arguments));
    }

    fn encode(
        &mut self,
        _: u16,
        slot: &mut Slot<Call>,
        to: &mut Outgoing,
        with: &mut impl Exchange<Self>,
    ) -> Result<Encoded<Error>, Error> {
        let Call { xid, asked, ref arguments } = slot.call;
        let count = match asked {
            Asked::Write { count, .. } => count,
            _ => 0,
        };
        let fill = &[0; 3][..padding(count as usize)];
        let copied = if count > COPY_MOST { 0 } else { count as usize };
        to.append(|bytes| {
            let procedure = asked.procedure() as u32;
            let at = begin_call(bytes, xid, PROGRAM, procedure, &self.identity);
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

    fn complete<X: Exchange<Self>>(&mut self, of: Received<'_, Call, X>) -> Result<usize, Error> {
        let Received { place, done, calls, with } = of;
        let (xid, outcome) = open_reply(self.replies.frame(place))?;
        let index = (xid & self.mask) as u16;
        let slot = calls.sent(index).filter(|slot| slot.call.xid == xid);
        let slot = slot.ok_or(Error::UnknownTransaction(xid))?;
        let result = slot.call.asked.results(outcome, &mut self.surplus);
        with.complete(Completion { tag: slot.tag, sent: slot.sent, done, result });
        calls.finish(index);
        Ok(1)
    }
}
