//! One SMB2 message: its header (MS-SMB2, section 2.2.1), and how messages are strung together.

use crate::Error;
use crate::ms_smb2::pack::{Pack, WriteCursor};
use crate::ms_smb2::types::{Command, status::NtStatus};
use crate::wire::Reader;
use std::ops::Range;

/// Length of the header in front of every message.
pub(crate) const HEADER_BYTES: usize = 64;
/// The message id of messages that answer no request.
pub(crate) const UNASKED: u64 = u64::MAX;

const PROTOCOL: [u8; 4] = *b"\xfeSMB";
const FLAG_REPLY: u32 = 0x1;
const FLAG_ASYNC: u32 = 0x2;
const FLAG_RELATED: u32 = 0x4;
pub(crate) const FLAG_SIGNED: u32 = 0x8;

/// A request whose header is still blank.
pub(crate) struct Request {
    pub command: Command,
    /// Space for the header, then the body.
    pub message: Vec<u8>,
    /// Bytes of payload, the larger of both directions: what is charged for.
    pub payload: u32,
}

impl Request {
    pub fn new(command: Command, body: &impl Pack) -> Self {
        let mut cursor = WriteCursor::with_capacity(HEADER_BYTES + 64);
        cursor.write_zeros(HEADER_BYTES);
        body.pack(&mut cursor);
        Request { command, message: cursor.into_inner(), payload: 0 }
    }

    /// With a body that is appended by a function of [`requests`](crate::requests).
    pub fn encoded(command: Command, body: impl FnOnce(&mut Vec<u8>)) -> Self {
        let mut message = vec![0; HEADER_BYTES];
        body(&mut message);
        Request { command, message, payload: 0 }
    }

    /// Appends what follows the header to a buffer.
    pub fn append_body(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(self.message.get(HEADER_BYTES..).unwrap_or(&[]));
    }

    pub fn with_payload(mut self, bytes: usize) -> Self {
        self.payload = u32::try_from(bytes).unwrap_or(u32::MAX);
        self
    }
}

/// What the connection puts into a request's header.
pub(crate) struct RequestHeader {
    pub command: Command,
    pub credit_charge: u16,
    pub credits_wanted: u16,
    /// Whether the request goes on with the file of the one before it.
    pub related: bool,
    /// Distance to the next request of a compound, 0 for the last.
    pub next: u32,
    pub message_id: u64,
    pub tree_id: u32,
    pub session_id: u64,
}

impl RequestHeader {
    /// Fills the first 64 bytes of a message.
    pub fn put(&self, message: &mut [u8]) {
        let Some(header) = message.first_chunk_mut::<HEADER_BYTES>() else { return };
        *header = [0; HEADER_BYTES];
        header[..4].copy_from_slice(&PROTOCOL);
        header[4..6].copy_from_slice(&(HEADER_BYTES as u16).to_le_bytes());
        header[6..8].copy_from_slice(&self.credit_charge.to_le_bytes());
        header[12..14].copy_from_slice(&u16::from(self.command).to_le_bytes());
        header[14..16].copy_from_slice(&self.credits_wanted.to_le_bytes());
        let flags = if self.related { FLAG_RELATED } else { 0 };
        header[16..20].copy_from_slice(&flags.to_le_bytes());
        header[20..24].copy_from_slice(&self.next.to_le_bytes());
        header[24..32].copy_from_slice(&self.message_id.to_le_bytes());
        header[36..40].copy_from_slice(&self.tree_id.to_le_bytes());
        header[40..48].copy_from_slice(&self.session_id.to_le_bytes());
    }
}

/// What a reply's header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReplyHeader {
    pub status: NtStatus,
    pub command: u16,
    pub credits: u16,
    flags: u32,
    next: u32,
    pub message_id: u64,
    /// Absent from the final reply to a request that was answered by an interim reply first.
    pub tree_id: Option<u32>,
    pub session_id: u64,
}

impl ReplyHeader {
    pub fn parse(message: &[u8]) -> Result<ReplyHeader, Error> {
        let mut reader = Reader::new(message, "a header");
        if reader.array()? != PROTOCOL || reader.u16()? as usize != HEADER_BYTES {
            return Err(reader.malformed("it is not an SMB 2 or 3 message"));
        }
        reader.skip(2)?;
        let status = NtStatus(reader.u32()?);
        let (command, credits) = (reader.u16()?, reader.u16()?);
        let (flags, next) = (reader.u32()?, reader.u32()?);
        if flags & FLAG_REPLY == 0 {
            return Err(reader.malformed("it is a request, not a reply"));
        }
        let message_id = reader.u64()?;
        reader.skip(4)?;
        let tree_id = reader.u32()?;
        let tree_id = (flags & FLAG_ASYNC == 0).then_some(tree_id);
        let session_id = reader.u64()?;
        reader.skip(16)?;
        Ok(ReplyHeader { status, command, credits, flags, next, message_id, tree_id, session_id })
    }

    /// Whether it says only that the answer takes longer.
    pub fn is_interim(&self) -> bool {
        self.status == NtStatus::PENDING && self.flags & FLAG_ASYNC != 0
    }

    /// Whether no other one follows in its frame.
    pub fn is_alone(&self) -> bool {
        self.next == 0
    }

    pub fn is_signed(&self) -> bool {
        self.flags & FLAG_SIGNED != 0
    }

    /// The credits of an interim reply that should be signed and is not. Servers sign none of them
    /// (MS-SMB2, section 3.3.4.1.1) and grant in them what the request asked for (section
    /// 3.3.1.2), so they cannot be refused as such; but anybody on the way can make one. So it
    /// counts once a request, for that request's command and session and for no more credits than
    /// it wanted, and says nothing else.
    pub fn unsigned_interim(&self, expected: &Expected) -> Result<u32, Error> {
        let Expected { command, session_id, credits_wanted, answered } = *expected;
        if answered || self.command != u16::from(command) || self.session_id != session_id {
            return Err(Error::NotSigned);
        }
        Ok(self.credits.min(credits_wanted).into())
    }
}

/// What is known of the request that an unsigned interim reply names.
pub(crate) struct Expected {
    pub command: Command,
    pub session_id: u64,
    pub credits_wanted: u16,
    /// Whether it has been answered already, finally or not.
    pub answered: bool,
}

/// One reply, its status not yet judged.
#[derive(Debug)]
pub(crate) struct Reply {
    pub command: Command,
    pub header: ReplyHeader,
    /// The message from its header on.
    pub message: Vec<u8>,
}

impl Reply {
    /// The reply, if the server did what was asked.
    pub fn success(self) -> Result<Reply, Error> {
        self.success_or(&[])
    }

    /// The reply, if the server did what was asked or answered one of these.
    pub fn success_or(self, also: &[NtStatus]) -> Result<Reply, Error> {
        let status = self.header.status;
        if status == NtStatus::SUCCESS || also.contains(&status) {
            return Ok(self);
        }
        Err(Error::Status { command: self.command, status })
    }
}

/// The body of a reply after its structure size, which must be as given.
pub(crate) fn body<'a>(
    message: &'a [u8],
    size: u16,
    what: &'static str,
) -> Result<Reader<'a>, Error> {
    let mut reader = Reader::new(message, what);
    reader.skip(HEADER_BYTES)?;
    if reader.u16()? != size {
        return Err(reader.malformed("its structure has the wrong size"));
    }
    Ok(reader)
}

/// The next message of a frame, from `start` on: where it lies, with its padding, and its header.
/// `None` at the end (MS-SMB2, section 3.2.5.1.9).
pub(crate) fn next_message(
    frame: &[u8],
    start: usize,
) -> Result<Option<(Range<usize>, ReplyHeader)>, Error> {
    let rest = frame.get(start..).unwrap_or(&[]);
    if rest.is_empty() {
        return Ok(None);
    }
    let header = ReplyHeader::parse(rest)?;
    let length = match header.next as usize {
        0 => rest.len(),
        next if next >= HEADER_BYTES && next.is_multiple_of(8) && next < rest.len() => next,
        _ => {
            return Err(Error::Malformed(
                "a compound reply: the offset of its next part is \
        invalid"
                    .into(),
            ));
        }
    };
    Ok(Some((start..start + length, header)))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A reply as a server would send it.
    pub(crate) fn reply(command: Command, message_id: u64, next: u32, body: &[u8]) -> Vec<u8> {
        let header = RequestHeader {
            command,
            credit_charge: 1,
            credits_wanted: 3,
            related: false,
            next,
            message_id,
            tree_id: 5,
            session_id: 7,
        };
        let mut message = vec![0; HEADER_BYTES];
        header.put(&mut message);
        message[16] |= FLAG_REPLY as u8;
        message.extend_from_slice(body);
        message
    }

    #[test]
    fn what_is_put_is_what_is_parsed() {
        let header = ReplyHeader::parse(&reply(Command::Read, 9, 0, &[])).unwrap();
        assert_eq!(header.command, u16::from(Command::Read));
        assert_eq!((header.message_id, header.credits, header.next), (9, 3, 0));
        assert_eq!((header.tree_id, header.session_id), (Some(5), 7));
        assert!(!header.is_interim() && !header.is_signed());
    }

    #[test]
    fn interim_replies_have_no_tree() {
        let mut message = reply(Command::Read, 9, 0, &[]);
        message[8..12].copy_from_slice(&NtStatus::PENDING.0.to_le_bytes());
        assert!(!ReplyHeader::parse(&message).unwrap().is_interim());
        message[16] |= FLAG_ASYNC as u8;
        let header = ReplyHeader::parse(&message).unwrap();
        assert!(header.is_interim());
        assert_eq!(header.tree_id, None);
    }

    #[test]
    fn requests_are_not_taken_for_replies() {
        let mut message = reply(Command::Read, 9, 0, &[]);
        message[16] = 0;
        assert!(matches!(ReplyHeader::parse(&message), Err(Error::Malformed(_))));
        assert!(ReplyHeader::parse(b"\xffSMB").is_err());
    }

    #[test]
    fn compounds_are_taken_apart() {
        let frame = [
            reply(Command::Create, 1, 72, &[1; 8]),
            reply(Command::Read, 2, 64, &[]),
            reply(Command::Close, 3, 0, &[2; 5]),
        ]
        .concat();
        let mut start = 0;
        let mut found = Vec::new();
        while let Some((range, header)) = next_message(&frame, start).unwrap() {
            start = range.end;
            found.push((range, header.message_id));
        }
        assert_eq!(found, [(0..72, 1), (72..136, 2), (136..205, 3)]);
        for next in [8, 65, 66, 72, 80, u32::MAX] {
            assert!(next_message(&reply(Command::Create, 1, next, &[0; 8]), 0).is_err(), "{next}");
        }
    }

    proptest! {
        #[test]
        fn any_frame_is_taken_apart_or_refused(
            mut frame in prop::collection::vec(any::<u8>(), 0..400),
            nexts in prop::collection::vec(0u32..40, 5),
        ) {
            for (i, next) in nexts.iter().enumerate() {
                let part = reply(Command::Read, i as u64, next * 8, &[]);
                if let Some(to) = frame.get_mut(i * 64..i * 64 + 64) {
                    to.copy_from_slice(&part);
                }
            }
            let mut start = 0;
            while let Ok(Some((range, _))) = next_message(&frame, start) {
                prop_assert!(range.start == start && range.end > start && range.end <= frame.len());
                start = range.end;
            }
        }
    }
}
