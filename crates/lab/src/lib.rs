//! A stage for tests and demonstrations: real servers, namespaces, and a small NFS server inside
//! the program.
//!
//! A server test reads:
//! ```no_run
//! # fn test() {
//! use plimsoll_lab::servers::{Export, Ganesha, GaneshaConfig};
//! let stage = plimsoll_lab::enter_or_skip!(plimsoll_lab::Need::Ganesha);
//! let server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("data"))).unwrap();
//! let url = server.url("data");
//! # }
//! ```
#![forbid(unsafe_code)]

pub mod bed;
mod error;
mod program;
pub mod require;
pub mod servers;
pub mod stage;

pub use error::Error;
pub use require::{Need, available};
pub use stage::Stage;
