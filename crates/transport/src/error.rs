//! Everything that can go wrong with a connection.

use plimsoll_model::Over;
use plimsoll_model::units::chosen_time;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// Why something failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The host's name could not be turned into an address.
    #[error("the name '{host}' is unknown ({detail})")]
    UnknownHost {
        /// The name.
        host: String,
        /// The resolver's own word.
        detail: String,
    },
    /// The name service did not answer in time.
    #[error("the name '{host}' was not resolved within {}", limit(.after))]
    ResolveTimedOut {
        /// The name.
        host: String,
        /// How long was waited.
        after: Duration,
    },
    /// No connection could be made.
    #[error("cannot connect to {address}: {kind}")]
    Connect {
        /// The address tried last.
        address: SocketAddr,
        /// What the system said.
        kind: io::ErrorKind,
    },
    /// No privileged source port could be bound, and one was asked for.
    #[error("no source port below 1024 could be bound: {0}")]
    PrivilegedPort(io::ErrorKind),
    /// Nothing answered in time: a frozen server, or a firewall that drops packets.
    #[error("no answer from {address} within {}", limit(.after))]
    TimedOut {
        /// The peer.
        address: SocketAddr,
        /// How long was waited.
        after: Duration,
    },
    /// A request to stop came while it was waited for.
    #[error("it was interrupted")]
    Stopped,
    /// The time for all of the work is over.
    #[error("the time limit was reached")]
    OutOfTime,
    /// The server closed the connection.
    #[error("the server closed the connection")]
    Closed,
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Connection(io::ErrorKind),
}

/// A limit for people: "30 s".
fn limit(after: &Duration) -> String {
    chosen_time((after.as_secs_f64() * 1e3).round() / 1e3)
}

impl Error {
    /// Why waiting for a peer came to an end.
    pub(crate) fn over(address: SocketAddr, over: Over) -> Self {
        match over {
            Over::Stopped => Error::Stopped,
            Over::Whole => Error::OutOfTime,
            Over::Step(after) => Error::TimedOut { address, after },
        }
    }
}

/// Where no peer was waited for.
impl From<Over> for Error {
    fn from(over: Over) -> Self {
        match over {
            Over::Stopped => Error::Stopped,
            Over::Whole | Over::Step(_) => Error::OutOfTime,
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Error::Closed,
            kind => Error::Connection(kind),
        }
    }
}

impl From<nix::Error> for Error {
    fn from(error: nix::Error) -> Self {
        Error::from(io::Error::from(error))
    }
}
