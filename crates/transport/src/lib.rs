//! TCP with time limits: names resolved, connections made, bytes moved, and nothing that waits
//! for ever or does not see a request to stop. What the protocol clients share.
#![forbid(unsafe_code)]

mod clock;
mod error;
mod resolve;
mod socket;

pub use clock::SystemClock;
pub use error::Error;
pub use plimsoll_model::{Deadline, Over};
pub use resolve::resolve;
pub use socket::{Ready, Socket, SourcePort, connect};
