//! Connections, whatever is spoken over them: how long they may take, and what a broken or
//! impossible one means for the user.

use model::{Cause, ErrorKind};
use std::io;
use std::time::Duration;
use tcp::Error;

/// Time limits of a share that is reached over the network. No call waits longer; the hot path's
/// limit is the driver's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeLimits {
    /// Longest wait for a name to be resolved and a connection to be made.
    pub connect: Duration,
    /// Longest wait for the answer to one call outside of measurements.
    pub call: Duration,
}

impl Default for TimeLimits {
    fn default() -> Self {
        TimeLimits { connect: Duration::from_secs(5), call: Duration::from_secs(30) }
    }
}

/// What to do when the server cannot be reached: `closed` where its port refuses, `silent` where
/// nothing answers.
pub(crate) fn advice(error: &Error, closed: &str, silent: &str) -> (Cause, String) {
    match error {
        Error::UnknownHost { .. } => (
            Cause::Unreachable,
            "Check the spelling of the host, or give its address instead of its name.".into(),
        ),
        Error::ResolveTimedOut { .. } => {
            (Cause::Unreachable, "Give the host's address instead of its name.".into())
        }
        Error::Connect { kind: io::ErrorKind::ConnectionRefused, .. } => {
            (Cause::Unreachable, closed.into())
        }
        Error::TimedOut { .. } => (Cause::Unreachable, silent.into()),
        Error::PrivilegedPort(_) => (
            Cause::NotPermitted,
            "Run as root or with CAP_NET_BIND_SERVICE, or leave out sourceport=privileged.".into(),
        ),
        Error::Connect { .. } => (
            Cause::Unreachable,
            "Look whether this machine has a network connection and a route to the server.".into(),
        ),
        Error::Closed | Error::Connection(_) => {
            (Cause::Unreachable, "Look whether the server is running, and at its log.".into())
        }
    }
}

/// The kind under which an operation's error is counted.
pub(crate) fn kind(error: &Error) -> ErrorKind {
    match error {
        Error::ResolveTimedOut { .. } | Error::TimedOut { .. } => ErrorKind::TimedOut,
        _ => ErrorKind::ConnectionLost,
    }
}
