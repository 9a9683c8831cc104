//! Many calls in flight, whatever they are sent over.

use super::{Exchange, Full, Protocol};
use crate::DatagramCounts;

/// Calls in flight to one peer.
pub trait Calling<P: Protocol> {
    /// What is spoken.
    fn protocol_mut(&mut self) -> &mut P;

    /// Calls in flight, sent or not.
    fn in_flight(&self) -> usize;

    /// Queues a call under the caller's name for it.
    fn submit(&mut self, tag: u32, request: P::Request<'_>) -> Result<(), Full>;

    /// Hands queued calls to the kernel, as far as the protocol lets them go and it takes them at
    /// once. Calls that cannot be sent at all end here.
    fn flush(&mut self, with: &mut impl Exchange<P>) -> Result<(), P::Error>;

    /// Sends what is queued, waits until at least one call has ended or the caller's clock shows
    /// `until`, and completes every call whose reply is there; returns how many. With nothing in
    /// flight it returns at once. After an error the connection is of no use and the calls in
    /// flight are lost.
    fn reap(&mut self, until: u64, with: &mut impl Exchange<P>) -> Result<usize, P::Error>;

    /// Bytes that the kernel took and gave since the connections began, those of calls and replies under way
    /// included; `None` where they are not counted.
    fn moved_bytes(&self) -> Option<u64> {
        None
    }

    /// What became of datagrams, where there are any.
    fn datagrams(&self) -> DatagramCounts {
        DatagramCounts::default()
    }
}
