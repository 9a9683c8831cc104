//! What tests stand on: stages of their own with real servers, what a test needs of the machine,
//! and the clients of others. For tests, benches and fuzz targets alone.
//!
//! A server test reads:
//! ```no_run
//! # fn test() {
//! use plimsoll_testkit::servers::{Export, Ganesha, GaneshaConfig};
//! let stage = plimsoll_testkit::enter_or_skip!(plimsoll_testkit::Need::Ganesha);
//! let server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("data"))).unwrap();
//! let url = server.url("data");
//! # }
//! ```
#![forbid(unsafe_code)]

pub mod capture;
pub mod clients;
mod error;
pub mod iperf3;
pub mod path;
pub mod points;
mod program;
pub mod proxy;
pub mod require;
pub mod responder;
pub mod servers;
pub mod stage;
pub mod thorough;

pub use error::Error;
pub use require::{Need, available};
pub use stage::Stage;
