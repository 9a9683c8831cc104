//! A runner on another host. [`BUNDLE`] is the program `plimsoll-runner`, [`RemoteRunner`] deploys
//! it, opens targets from there, and drives; [`Clients`] are several of them that do each trial together.
//! All speak the [`protocol`]. A host is asked for nothing but a shell and a directory for 10 MB, and
//! there must be a build for its machine.
//!
//! [`server`] is what the program does: it knows neither ssh nor store nor web, is small, and cleans up by
//! itself.
#![forbid(unsafe_code)]

mod clients;
mod link;
mod names;
mod program;
pub mod protocol;
mod runner;
pub mod server;

pub use clients::{Begun, Clients, Start};
pub use program::BUNDLE;
pub use runner::RemoteRunner;
