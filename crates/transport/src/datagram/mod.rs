//! Calls over datagrams, which may be lost, late, doubled or out of order: each is sent again until
//! it is answered.
//!
//! What sends again is the same for one call at a time and for many: how long an answer is waited
//! for ([`RoundTrip`]), and what a reply is that nobody waits for ([`Attempts`]).

mod attempts;
mod pipeline;
mod round_trip;
mod socket;
mod window;

pub use attempts::{Attempts, DatagramCounts, Heard};
pub use pipeline::{DatagramPipeline, DatagramProtocol};
pub use round_trip::RoundTrip;
pub use socket::{DatagramSocket, LONGEST_DATAGRAM};
