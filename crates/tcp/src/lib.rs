//! TCP with time limits: names resolved, connections made, bytes moved, and nothing that waits
//! for ever. What the protocol clients share.
#![forbid(unsafe_code)]

mod error;
mod socket;

pub use error::Error;
pub use socket::{Ready, Socket, SourcePort, connect, resolve};
