//! One trial: prepare, drive, clean up, emit events. A [`TrialSpec`](plimsoll_model::TrialSpec) goes in,
//! [`Event`](plimsoll_model::Event)s come out; the runner knows nothing of blocks, intervals or stores.
#![forbid(unsafe_code)]

mod directory;
mod drive;
#[doc(hidden)]
pub mod fuzzing;
mod lease;
mod options;
mod probe;
mod reckon;
mod runner;
mod session;

pub use directory::{Cleaned, Found, READ_FILE, WRITE_FILE, clean};
pub use drive::Drive;
pub use lease::LeaseState;

pub use options::RunnerOptions;
pub use plimsoll_load::{OpenOptions, Share};
pub use runner::Runner;
