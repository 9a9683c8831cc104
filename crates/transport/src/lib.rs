//! TCP with time limits: names resolved, connections made, bytes moved, and nothing that waits
//! for ever or does not see a request to stop; and many calls in flight on one connection. What the
//! protocol clients share.
#![forbid(unsafe_code)]

mod clock;
mod error;
mod pipeline;
mod resolve;
mod socket;

pub use clock::SystemClock;
pub use error::Error;
pub use pipeline::{
    BadFrame, COPY_MOST, Completion, Encoded, Exchange, FrameBuffer, Full, InFlight, Mark,
    Outgoing, Pipeline, PipelineOptions, Protocol, Received, Slot, payload,
};
pub use plimsoll_model::{Deadline, Over};
pub use resolve::{Resolver, by_library, resolve};
pub use socket::{Ready, Socket, SourcePort, connect};
