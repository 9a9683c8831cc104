//! Record marking (RFC 5531, section 11).

use super::message::{LAST_FRAGMENT, MARK_BYTES};
use crate::Error;
use plimsoll_transport::{BadFrame, FrameBuffer, InFlight, Mark};

/// The mark of a fragment: its length, and in the highest bit whether it is the record's last.
#[derive(Clone, Copy, Debug)]
pub struct RecordMark;

impl Mark for RecordMark {
    type Error = Error;

    #[inline]
    fn parse(mark: [u8; MARK_BYTES]) -> Result<(usize, bool), Error> {
        let mark = u32::from_be_bytes(mark);
        Ok(((mark & !LAST_FRAGMENT) as usize, mark & LAST_FRAGMENT != 0))
    }
}

/// Where replies are received.
pub type RecordBuffer = FrameBuffer<RecordMark>;

impl From<BadFrame> for Error {
    fn from(bad: BadFrame) -> Self {
        match bad {
            BadFrame::TooLong { length, limit } => Error::RecordTooLong { length, limit },
            BadFrame::EmptyFragments => Error::EmptyFragments,
            BadFrame::Payload { .. } => crate::xdr::Error::Invalid("payload: its length").into(),
        }
    }
}

/// The call that a record answers, by the transaction number that it begins with; a call's slot is in the low bits
/// of its own.
pub(crate) fn answered_call<'c, C>(
    record: &[u8],
    calls: &'c mut InFlight<C>,
    mask: u32,
    xid: impl Fn(&C) -> u32,
) -> Option<&'c C> {
    let answers = u32::from_be_bytes(*record.first_chunk()?);
    let call = &calls.sent((answers & mask) as u16)?.call;
    (xid(call) == answers).then_some(call)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_as_the_rfc_says() {
        assert_eq!(RecordMark::parse([0x80, 0, 1, 2]), Ok((258, true)));
        assert_eq!(RecordMark::parse([0x7f, 0xff, 0xff, 0xff]), Ok((0x7fff_ffff, false)));
        let mut buffer = RecordBuffer::new(100);
        buffer.remaining()[..4].copy_from_slice(&[0xff; 4]);
        buffer.filled(4);
        let refused = Error::RecordTooLong { length: 0x7fff_ffff, limit: 100 };
        assert_eq!(buffer.next_frame(), Err(refused));
    }
}
