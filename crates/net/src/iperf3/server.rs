//! The far end of the path: a server that the user named.

use plimsoll_model::{Address, HostName, Zone};
use std::fmt;
use std::net::SocketAddr;

/// An iperf3 server.
#[derive(Clone, Debug)]
pub(super) struct Iperf3Server {
    /// As the user named it.
    pub name: HostName,
    /// Where it listens, TCP and UDP.
    pub address: SocketAddr,
    /// The interface of A that leads there, if the user named one.
    pub zone: Option<Zone>,
}

impl Iperf3Server {
    /// Its address for the probe at A.
    pub fn peer(&self) -> Address {
        Address { ip: self.address.ip().to_canonical(), zone: self.zone }
    }
}

impl fmt::Display for Iperf3Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "B ({}, {})", self.name, self.address)
    }
}
