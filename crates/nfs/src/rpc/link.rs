//! One call and its reply, over a connection or in datagrams.

use super::RecordBuffer;
use super::message::{MARK_BYTES, open_reply, random_xid};
use crate::Error;
use crate::xdr::Error as XdrError;
use plimsoll_transport::{
    Attempts, Channel, DatagramCounts, DatagramSocket, Deadline, Error as TransportError, Heard,
    LONGEST_DATAGRAM, RoundTrip, Socket,
};
use std::io::{ErrorKind, IoSlice};
use std::ops::Range;
use std::time::Duration;

/// Where calls go, one at a time.
#[derive(Debug)]
pub(super) struct Link {
    pub channel: Channel,
    pub replies: RecordBuffer,
    xid: u32,
    limit: Duration,
    dead: Option<Error>,
    attempts: Attempts,
    trip: RoundTrip,
    pub counts: DatagramCounts,
    /// Whether the peer has ever answered.
    answered: bool,
    /// Whether the last call was sent more than once.
    pub repeated: bool,
}

impl Link {
    pub fn new(channel: Channel, reply_limit: usize, limit: Duration) -> Self {
        let xid = random_xid();
        Link {
            channel,
            replies: RecordBuffer::new(reply_limit),
            xid,
            limit,
            dead: None,
            attempts: Attempts::new(xid, 1),
            trip: RoundTrip::default(),
            counts: DatagramCounts::default(),
            answered: false,
            repeated: false,
        }
    }

    /// Sends a call with its record mark, whose transaction number is filled in, and waits for the
    /// reply. After an error of a connection every further call gives that error: a late reply can
    /// never be taken for another call's.
    pub fn exchange(&mut self, call: &mut [u8]) -> Result<Range<usize>, Error> {
        if let Some(error) = &self.dead {
            return Err(error.clone());
        }
        let end = self.channel.within(self.limit);
        let Link { channel, replies, xid, .. } = self;
        match channel {
            Channel::Datagrams(socket) => {
                let mut way = Datagrams {
                    socket,
                    replies,
                    xid,
                    attempts: &mut self.attempts,
                    trip: &mut self.trip,
                    counts: &mut self.counts,
                    answered: &mut self.answered,
                    repeated: &mut self.repeated,
                };
                way.exchange(call, &end)
            }
            Channel::Stream(socket) => {
                let reply = stream(socket, replies, xid, call, &end);
                if let Err(error) = &reply
                    && error.is_fatal()
                {
                    self.dead = Some(error.clone());
                }
                reply
            }
        }
    }
}

/// Gives a call the next transaction number.
fn number(call: &mut [u8], xid: &mut u32) {
    *xid = xid.wrapping_add(1);
    if let Some(place) = call.get_mut(MARK_BYTES..2 * MARK_BYTES) {
        place.copy_from_slice(&xid.to_be_bytes());
    }
}

fn stream(
    socket: &Socket,
    replies: &mut RecordBuffer,
    xid: &mut u32,
    call: &mut [u8],
    end: &Deadline,
) -> Result<Range<usize>, Error> {
    number(call, xid);
    socket.send_all(call, end)?;
    let place = loop {
        if let Some(place) = replies.next_frame()? {
            break place;
        }
        let count = socket.receive_some(replies.remaining(), end)?;
        replies.filled(count);
    };
    match open_reply(replies.frame(place.clone()))? {
        (number, _) if number != *xid => Err(Error::UnknownTransaction(number)),
        _ => Ok(place),
    }
}

struct Datagrams<'a> {
    socket: &'a DatagramSocket,
    replies: &'a mut RecordBuffer,
    xid: &'a mut u32,
    attempts: &'a mut Attempts,
    trip: &'a mut RoundTrip,
    counts: &'a mut DatagramCounts,
    answered: &'a mut bool,
    repeated: &'a mut bool,
}

impl Datagrams<'_> {
    /// Sends the call until it is answered. Each attempt has a number of its own, so a server takes
    /// it for another call; what that means for calls that cannot be made twice is their user's.
    fn exchange(&mut self, call: &mut [u8], end: &Deadline) -> Result<Range<usize>, Error> {
        if call.len() > LONGEST_DATAGRAM {
            return Err(Error::Malformed(XdrError::Invalid("length of a call")));
        }
        for unanswered in 0.. {
            *self.repeated = unanswered > 0;
            self.counts.retransmitted += u64::from(unanswered > 0);
            number(call, self.xid);
            self.attempts.make(*self.xid);
            let sent = end.now();
            self.heeded(self.socket.send(&[IoSlice::new(&call[MARK_BYTES..])]))?;
            let wait = end.within(self.trip.timeout(unanswered));
            match self.receive(&wait) {
                Err(Error::Tcp(TransportError::TimedOut { .. })) if end.remaining().is_ok() => {}
                Err(Error::Tcp(TransportError::TimedOut { .. })) => break,
                reply => {
                    if reply.is_ok() {
                        self.trip.measured(end.now().since(sent));
                        *self.answered = true;
                    }
                    return reply;
                }
            }
        }
        // Its own error says for how long all attempts were waited for.
        Err(self.socket.receive_one(&mut [], end).err().unwrap_or(TransportError::OutOfTime).into())
    }

    /// The reply to the newest attempt; others are dropped and counted.
    fn receive(&mut self, end: &Deadline) -> Result<Range<usize>, Error> {
        loop {
            let buffer = self.replies.datagram();
            let limit = buffer.len();
            let length = match self.socket.receive_one(buffer, end) {
                Ok(length) => length,
                Err(error) => {
                    self.heeded(Err(error))?;
                    continue;
                }
            };
            let place = 0..length.min(limit);
            let number = self.replies.frame(place.clone()).first_chunk().copied();
            let heard = number.map(|n| self.attempts.hear(u32::from_be_bytes(n)));
            match heard {
                Some(Heard::Now) if length > limit => {
                    return Err(Error::RecordTooLong { length, limit });
                }
                Some(Heard::Now) => return Ok(place),
                heard => self.counts.dropped(heard.unwrap_or(Heard::Unknown)),
            }
        }
    }

    /// A peer that has answered before and refuses datagrams now may be starting: they are lost.
    fn heeded(&self, result: Result<(), TransportError>) -> Result<(), Error> {
        match result {
            Err(TransportError::Connect { kind: ErrorKind::ConnectionRefused, .. })
                if *self.answered =>
            {
                Ok(())
            }
            other => Ok(other?),
        }
    }
}
