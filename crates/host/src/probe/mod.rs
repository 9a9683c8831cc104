//! The probe, a small program that is deployed on a host and measures there: finding it, deploying
//! it, and talking with it (probe/README.md has the program, its protocol and its verbs).
//!
//! [`Programs`] finds the builds, [`Placed`] puts the one that fits on a host, [`Request`] says
//! what is wanted, and [`Sampler`] gives the host's counters when asked. One process does one verb
//! over one channel. What the host sends is untrusted: lengths, depth and number are bounded, texts
//! are freed of control characters, and what contradicts the protocol ends the session with a
//! [`plimsoll_model::Failure`].

mod frame;
#[doc(hidden)]
pub mod fuzzing;
mod message;
mod place;
mod programs;
mod request;
mod sampler;
mod session;

pub use crate::clock::Moment;
pub use crate::deploy::Machine;
pub use message::{Done, FileKind, SampledFile, Status};
pub use place::Placed;
pub use programs::{Programs, VARIABLE};
pub use request::Request;
pub use sampler::{Sample, Sampler, SamplerFacts};
