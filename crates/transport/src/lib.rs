//! TCP and UDP with time limits: names resolved, connections made, bytes moved, and nothing that
//! waits for ever or does not see a request to stop; and many calls in flight on one connection, or
//! in datagrams. What the protocol clients share.
#![forbid(unsafe_code)]

mod byte_range;
mod channel;
mod clock;
mod datagram;
mod error;
mod pipeline;
mod resolve;
mod socket;

pub use byte_range::{ByteRange, LockMode};
pub use channel::Channel;
pub use clock::SystemClock;
pub use datagram::{
    Attempts, DatagramCounts, DatagramPipeline, DatagramProtocol, DatagramSocket, Heard,
    LONGEST_DATAGRAM, RoundTrip,
};
pub use error::Error;
pub use pipeline::{
    BadFrame, COPY_MOST, Calling, Completion, Encoded, Exchange, FrameBuffer, Full, InFlight, Mark,
    Outgoing, Pipeline, PipelineOptions, Protocol, Received, Slot, Spread, UNREAD_LEAST, payload,
};
pub use plimsoll_model::{Deadline, Nanos, Over};
pub use resolve::{Resolver, by_library, resolve};
pub use socket::{Ready, Socket, SourcePort, connect};
