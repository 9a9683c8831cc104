//! Paths whose far end is an iperf3 server. The data takes the same way as between two probes: the probe at A sends or
//! receives it, with iperf3's cookie and header. Here is the control connection: `protocol` and `results` decode it,
//! `control` has the conversation, `carrier` takes it from this machine or, by the probe there, from another host, and
//! `runner` measures points.

mod carrier;
mod complaints;
mod control;
pub(crate) mod protocol;
pub(crate) mod results;
mod runner;
mod server;

pub use protocol::PORT;
pub use runner::{Iperf3Runner, Totals};
