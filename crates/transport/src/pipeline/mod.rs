//! Many calls in flight on one connection, for any protocol whose replies come in any order.
//!
//! Calls wait in their slots until they are encoded into a buffer, and are sent together. A large
//! payload is not copied: it is asked for when the kernel can take it, and handed over by a vectored
//! write. Replies are received into one buffer and looked at in place, in any order; of long data that
//! nobody looks at the kernel keeps its copy. Sending never
//! waits for the socket without receiving too, so a server that answers before it reads on cannot
//! bring both sides to a halt.
//!
//! Nothing is allocated per call.

mod calling;
mod calls;
mod exchange;
mod frames;
mod outgoing;
mod protocol;
mod spread;

pub use calling::Calling;
pub use calls::{InFlight, Slot};
pub use exchange::{Completion, Exchange, Full, PipelineOptions};
use frames::MARK_BYTES;
pub use frames::{BadFrame, FrameBuffer, Mark};
pub use outgoing::{COPY_MOST, Outgoing, payload};
pub use protocol::{Encoded, Protocol, Received};
pub use spread::Spread;

use crate::socket::Kept;
use crate::{Error, Ready, Socket};
use std::time::Duration;

/// What stands in front of the data of a reply is no longer than this in any protocol: headers, a verifier of
/// ONC RPC of at most 400 bytes, attributes.
const HEAD_BYTES: usize = 1024;
/// Data from this length on are left to the kernel where nobody looks at them; what is shorter is copied faster
/// than it is asked for once more.
pub const UNREAD_LEAST: u32 = 65_536;

/// One connection with many calls in flight.
pub struct Pipeline<P: Protocol> {
    socket: Socket,
    protocol: P,
    outgoing: Outgoing,
    calls: InFlight<P::Call>,
    /// Bytes received since the connection began.
    received: u64,
    dead: Option<P::Error>,
}

impl<P: Protocol> Pipeline<P> {
    /// A pipeline over a connection, with a slot for each of `calls`. `longest` is the longest frame
    /// sent in bytes, without payloads that are not copied.
    pub fn new(
        socket: Socket,
        protocol: P,
        calls: impl ExactSizeIterator<Item = P::Call>,
        longest: usize,
    ) -> Self {
        let (outgoing, calls) = (Outgoing::new(longest), InFlight::new(calls));
        Pipeline { socket, protocol, outgoing, calls, received: 0, dead: None }
    }

    /// The connection.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// What is spoken on it.
    pub fn protocol(&self) -> &P {
        &self.protocol
    }

    /// What is spoken on it.
    pub fn protocol_mut(&mut self) -> &mut P {
        &mut self.protocol
    }

    /// Calls in flight, sent or not.
    pub fn in_flight(&self) -> usize {
        self.calls.count()
    }

    /// Bytes that the kernel took and gave since the connection began.
    pub(crate) fn moved_bytes(&self) -> u64 {
        self.outgoing.handed() + self.received
    }

    /// Queues a call under the caller's name for it.
    pub fn submit(&mut self, tag: u32, mut request: P::Request<'_>) -> Result<(), Full> {
        let slot = self.calls.begin(tag).ok_or(Full)?;
        self.protocol.begin(&mut request, &mut slot.call);
        Ok(())
    }

    /// Hands queued calls to the kernel, as far as the protocol lets them go and it takes them at
    /// once. Calls that cannot be sent at all end here.
    pub fn flush(&mut self, with: &mut impl Exchange<P>) -> Result<(), P::Error> {
        self.alive()?;
        let result = self.send(with).map(drop);
        self.note(result)
    }

    /// Sends what is queued, waits until at least one call has ended or the caller's clock shows
    /// `until`, and completes every call whose reply is there; returns how many. With nothing in
    /// flight it returns at once. After an error the connection is of no use and the calls in
    /// flight are lost.
    pub fn reap(&mut self, until: u64, with: &mut impl Exchange<P>) -> Result<usize, P::Error> {
        self.alive()?;
        let result = self.reap_inner(until, with);
        self.note(result)
    }

    /// What its socket must be ready for, so that it can go on.
    fn waits_for(&self) -> Ready {
        if self.outgoing.is_empty() { Ready::Receive } else { Ready::Either }
    }

    fn alive(&self) -> Result<(), P::Error> {
        self.dead.clone().map_or(Ok(()), Err)
    }

    fn note<T>(&mut self, result: Result<T, P::Error>) -> Result<T, P::Error> {
        if let Err(error) = &result {
            self.dead = Some(error.clone());
        }
        result
    }

    fn reap_inner(&mut self, until: u64, with: &mut impl Exchange<P>) -> Result<usize, P::Error> {
        loop {
            let mut completed = self.send(with)?;
            if self.in_flight() == 0 {
                return Ok(completed);
            }
            let until = if completed > 0 { 0 } else { until };
            let now = with.now();
            let left = Duration::from_nanos(until.saturating_sub(now));
            let due = self.calls.next_later().map_or(until, |when| when.min(until));
            if let Some(count) = self.receive(Duration::from_nanos(due.saturating_sub(now)))? {
                let done = with.now();
                self.received += count as u64;
                self.protocol.replies().filled(count);
                while let Some(place) = self.protocol.replies().next_frame()? {
                    let calls = &mut self.calls;
                    completed += self.protocol.complete(Received { place, done, calls, with })?;
                }
            }
            if completed > 0 || left.is_zero() {
                return Ok(completed);
            }
        }
    }

    /// Encodes and sends until nothing more can be; how many calls have ended by that.
    fn send(&mut self, with: &mut impl Exchange<P>) -> Result<usize, P::Error> {
        let mut ended = 0;
        if self.calls.next_later().is_some() {
            self.calls.wake(with.now());
        }
        loop {
            ended += self.encode(with)?;
            if self.outgoing.is_empty() || !self.outgoing.send(&self.socket, with)? {
                return Ok(ended);
            }
            self.calls.handed(self.outgoing.handed(), with.now());
        }
    }

    /// Encodes calls as far as the protocol and the buffer allow.
    fn encode(&mut self, with: &mut impl Exchange<P>) -> Result<usize, P::Error> {
        let mut ended = 0;
        while self.outgoing.has_room()
            && let Some((index, slot)) = self.calls.waiting()
        {
            match self.protocol.encode(index, slot, &mut self.outgoing, with)? {
                Encoded::Queued => self.calls.encoded(self.outgoing.queued()),
                Encoded::Waits => break,
                Encoded::Refused(error) => {
                    let (tag, now) = (slot.tag, with.now());
                    self.calls.refused();
                    with.complete(Completion { tag, sent: now, done: now, result: Err(error) });
                    ended += 1;
                }
            }
        }
        Ok(ended)
    }

    fn receive(&mut self, limit: Duration) -> Result<Option<usize>, Error> {
        let (buffer, kept) = match self.protocol.expects_unread() {
            false => (self.protocol.replies().remaining(), Kept::All),
            true => sparing(&mut self.protocol, &mut self.calls),
        };
        let limit = match self.outgoing.is_empty() {
            true => limit,
            false => {
                if !limit.is_zero() {
                    self.socket.wait(Ready::Either, limit)?;
                }
                Duration::ZERO
            }
        };
        self.socket.receive_within(buffer, kept, limit)
    }
}

/// Where to receive to when long replies are expected whose data nobody looks at: first their heads, then nothing,
/// as the kernel drops the rest.
fn sparing<'a, P: Protocol>(
    protocol: &'a mut P,
    calls: &mut InFlight<P::Call>,
) -> (&'a mut [u8], Kept) {
    let head = protocol.replies().under_way().filter(|head| head.len() >= HEAD_BYTES);
    match head {
        Some(head) if protocol.is_unread(head.clone(), calls) => {
            (protocol.replies().rest(), Kept::Nothing)
        }
        Some(_) => (protocol.replies().remaining(), Kept::All),
        None => {
            let buffer = protocol.replies().remaining();
            let most = buffer.len().min(HEAD_BYTES + MARK_BYTES);
            (&mut buffer[..most], Kept::All)
        }
    }
}

impl<P: Protocol> Calling<P> for Pipeline<P> {
    fn protocol_mut(&mut self) -> &mut P {
        self.protocol_mut()
    }

    fn in_flight(&self) -> usize {
        self.in_flight()
    }

    #[inline]
    fn submit(&mut self, tag: u32, request: P::Request<'_>) -> Result<(), Full> {
        self.submit(tag, request)
    }

    #[inline]
    fn flush(&mut self, with: &mut impl Exchange<P>) -> Result<(), P::Error> {
        self.flush(with)
    }

    #[inline]
    fn reap(&mut self, until: u64, with: &mut impl Exchange<P>) -> Result<usize, P::Error> {
        self.reap(until, with)
    }

    fn moved_bytes(&self) -> Option<u64> {
        Some(self.moved_bytes())
    }
}

#[cfg(test)]
mod tests;
