//! The protocol that is spoken on a pipeline.

use super::calls::{InFlight, Slot};
use super::exchange::Exchange;
use super::frames::{BadFrame, FrameBuffer, Mark};
use super::outgoing::Outgoing;
use crate::Error;
use std::ops::Range;

/// What a pipeline needs to know of the protocol spoken on it.
pub trait Protocol: Sized {
    /// What is asked for.
    type Request<'a>;
    /// A call in flight: what it asks for, and what its replies have said so far.
    type Call;
    /// What a call did; it may borrow from the receive buffer.
    type Done<'a>;
    /// Why a call failed, or the connection.
    type Error: Clone + From<Error> + From<BadFrame>;
    /// How frames are marked.
    type Mark: Mark<Error = Self::Error>;

    /// Where replies are received.
    fn replies(&mut self) -> &mut FrameBuffer<Self::Mark>;
    /// Notes a request in a slot's call, which may have served another one before. What is too long
    /// is cut here, in place: a copy of what was just made would wait for its stores.
    fn begin(&mut self, request: &mut Self::Request<'_>, call: &mut Self::Call);
    /// Encodes a call that waits. An error ends the connection.
    fn encode(
        &mut self,
        index: u16,
        slot: &mut Slot<Self::Call>,
        to: &mut Outgoing,
        with: &mut impl Exchange<Self>,
    ) -> Result<Encoded<Self::Error>, Self::Error>;
    /// Whether replies are under way, long ones, of whose data nobody looks at most.
    fn expects_unread(&self) -> bool {
        false
    }
    /// Whether all that is missing of the reply that begins at this place, 1,024 bytes of it at least, is data
    /// that nobody looks at.
    fn is_unread(&mut self, head: Range<usize>, calls: &mut InFlight<Self::Call>) -> bool {
        let _ = (head, calls);
        false
    }
    /// Looks at a frame and ends the calls that it answers; how many. An error ends the connection.
    fn complete<X: Exchange<Self>>(
        &mut self,
        frame: Received<'_, Self::Call, X>,
    ) -> Result<usize, Self::Error>;
}

/// A frame that has been received.
pub struct Received<'a, C, X> {
    /// Where it is in the buffer of replies.
    pub place: Range<usize>,
    /// When it was there.
    pub done: u64,
    /// The calls that it may answer.
    pub calls: &'a mut InFlight<C>,
    /// To whom those are completed.
    pub with: &'a mut X,
}

/// What became of a call that was to be encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Encoded<E> {
    /// It is on its way.
    Queued,
    /// It must wait for replies to those before it.
    Waits,
    /// It cannot be sent at all, and ends here.
    Refused(E),
}
