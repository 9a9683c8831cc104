//! Network paths as subjects of a study. The probe is deployed at both ends and puts the load on the path: one data
//! path at both ends, so that the network is compared and not two programs (probe/README.md, verb `net`).
//!
//! [`Ends`] are the two hosts with their addresses, [`PathRunner`] measures points on them. A point is a trial of the
//! probes for each part of its workload: `order` writes it down, `drive` starts it at both ends, `session` carries it out
//! at one, `report` decodes what that end says, and `figures` makes figures of both. What a host sends is untrusted: its
//! frames are bounded, and each section is read key by key.
//!
//! An iperf3 server may stand at the far end instead: [`Iperf3Runner`] has the control connection to it, and the probe
//! at A moves the data as ever.
#![forbid(unsafe_code)]

mod address;
mod buffers;
mod complaints;
mod drive;
mod ends;
mod figures;
mod fit;
mod forwarded;
#[doc(hidden)]
pub mod fuzzing;
mod interface;
mod iperf3;
mod order;
mod report;
mod rights;
mod runner;
mod session;
mod stalls;

pub use address::{Addresses, Wanted};
pub use ends::{End, Ends, Side};
pub use interface::{interfaces, routers};
pub use iperf3::{Iperf3Runner, PORT as IPERF3_PORT, Totals as Iperf3Totals};
pub use order::MOST_PACKETS_PER_SECOND;
pub use runner::{PathRunner, Token};
