//! Points on storage, measured from this process: prepare, drive, summarize, clean up. A
//! [`PointSpec`](plimsoll_model::PointSpec) goes in, a [`PointResult`](plimsoll_model::PointResult) comes
//! out; the runner knows nothing of blocks, intervals or stores.
#![forbid(unsafe_code)]

mod cache_test;
mod context;
mod directory;
mod figures;
#[doc(hidden)]
pub mod fuzzing;
mod lease;
mod options;
mod runner;
mod session;
mod summarize;
mod timed;

pub use directory::{Cleaned, Found, clean};
pub use figures::{counts, figures};
pub use lease::LeaseState;
pub use options::RunnerOptions;
pub use plimsoll_load::{OpenOptions, Share, StartGate, read_file_name, write_file_name};
pub use runner::Runner;
