//! What calls are made over, where both kinds do.

use crate::{DatagramSocket, Deadline, Socket};
use std::net::SocketAddr;
use std::time::Duration;

/// A connection, or a socket for datagrams.
#[derive(Debug)]
pub enum Channel {
    /// TCP.
    Stream(Socket),
    /// UDP.
    Datagrams(DatagramSocket),
}

impl From<Socket> for Channel {
    fn from(socket: Socket) -> Self {
        Channel::Stream(socket)
    }
}

impl From<DatagramSocket> for Channel {
    fn from(socket: DatagramSocket) -> Self {
        Channel::Datagrams(socket)
    }
}

impl Channel {
    /// The connection, where it is one.
    pub fn stream(&self) -> Option<&Socket> {
        match self {
            Channel::Stream(socket) => Some(socket),
            Channel::Datagrams(_) => None,
        }
    }

    /// The peer's address.
    pub fn peer(&self) -> SocketAddr {
        match self {
            Channel::Stream(socket) => socket.peer(),
            Channel::Datagrams(socket) => socket.peer(),
        }
    }

    /// Whether it comes from a port below 1024.
    pub fn is_privileged(&self) -> bool {
        match self {
            Channel::Stream(socket) => socket.is_privileged(),
            Channel::Datagrams(socket) => socket.is_privileged(),
        }
    }

    /// What bounds the waits from now on: an end for several calls together, for one.
    pub fn set_deadline(&mut self, deadline: Deadline) {
        match self {
            Channel::Stream(socket) => socket.set_deadline(deadline),
            Channel::Datagrams(socket) => socket.set_deadline(deadline),
        }
    }

    /// The end of a step that may take at most `limit` from now on.
    pub fn within(&self, limit: Duration) -> Deadline {
        match self {
            Channel::Stream(socket) => socket.within(limit),
            Channel::Datagrams(socket) => socket.within(limit),
        }
    }
}
