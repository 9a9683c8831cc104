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
mod request;
mod sampler;
mod serving;
mod session;

pub use crate::clock::Moment;
pub use crate::deploy::{Machine, Programs};
pub use message::{Done, FileKind, SampledFile, Status};
pub use place::Placed;
pub use request::Request;
pub use sampler::{Sample, Sampler, SamplerFacts};
pub use serving::Serving;

use crate::deploy::Bundle;
use std::time::Duration;

/// How the probe is found and deployed, and what messages call it.
pub const BUNDLE: Bundle = Bundle {
    file: "plimsoll-probe",
    name: "the probe",
    directory: "probes",
    variable: "PLIMSOLL_PROBES",
    make: "run `make probes` in plimsoll's sources",
    // Builds for other machines have at most 150 kB; one against a large C library has more.
    most_bytes: 8 << 20,
    refuse: |_| None,
    elsewhere: "Name a directory on the host with 1 MB of space where programs may run: --probe-dir DIR.",
    without: "measure without the probe",
    time_limit: Duration::from_secs(60),
};
