//! Connections, whatever is spoken over them: how long they may take, and what a broken or
//! impossible one means for the user.

use plimsoll_model::{Cause, Deadline, ErrorKind, Failure};
use plimsoll_transport::{Error, Pipeline, Protocol, Spread};
use std::io;
use std::time::Duration;

/// Time limits of a share that is reached over the network. No call waits longer; the hot path's
/// limit is the driver's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeLimits {
    /// Longest wait for a name to be resolved and a connection to be made.
    pub connect: Duration,
    /// Longest wait for the answer to one call outside of measurements.
    pub call: Duration,
}

impl TimeLimits {
    /// No call takes longer than `call`, nor does a connection.
    pub fn of_calls(call: Duration) -> Self {
        TimeLimits { connect: call.min(TimeLimits::default().connect), call }
    }
}

impl Default for TimeLimits {
    fn default() -> Self {
        TimeLimits { connect: Duration::from_secs(5), call: Duration::from_secs(30) }
    }
}

/// What to do after an interruption.
pub(crate) const AGAIN: &str = "Run it again.";
/// What to do where the time was over.
pub(crate) const LONGER: &str = "Give a longer --max-time, or find out why the target is slow.";

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
            "Run as root or with CAP_NET_BIND_SERVICE, or omit sourceport=privileged.".into(),
        ),
        Error::Connect { .. } => (
            Cause::Unreachable,
            "Check that this machine has a network connection and a route to the server.".into(),
        ),
        Error::Stopped => (Cause::Interrupted, AGAIN.into()),
        Error::OutOfTime => (Cause::Trial, LONGER.into()),
        Error::Closed | Error::Connection(_) => {
            (Cause::Unreachable, "Check that the server is running, and read its log.".into())
        }
    }
}

/// How long is waited between two tries to reach a server, at first and at most: each time twice as long.
pub(crate) const WAIT: Duration = Duration::from_millis(50);
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// Makes so many connections that take calls in turn.
pub(crate) fn spread<P: Protocol>(
    several: u8,
    connect: impl Fn() -> Result<Pipeline<P>, Failure>,
) -> impl Fn() -> Result<Spread<P>, Failure> {
    move || {
        let mut spread = Spread::new(connect()?);
        (1..several).try_for_each(|_| connect().map(|one| spread.add(one)))?;
        Ok(spread)
    }
}

/// Connects to a server that was there before, and may be restarting: tries again for so long.
pub(crate) fn patiently<T>(
    deadline: &Deadline,
    limit: Duration,
    mut connect: impl FnMut() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let end = deadline.within(limit);
    let mut wait = WAIT;
    loop {
        match connect() {
            Err(failure) if failure.cause == Cause::Unreachable && end.remaining().is_ok() => {
                end.clock().sleep_until(end.now() + wait.min(end.remaining().unwrap_or_default()));
                wait = (2 * wait).min(LONGEST_WAIT);
            }
            other => return other,
        }
    }
}

/// The kind under which an operation's error is counted.
pub(crate) fn kind(error: &Error) -> ErrorKind {
    match error {
        Error::ResolveTimedOut { .. }
        | Error::TimedOut { .. }
        | Error::Stopped
        | Error::OutOfTime => ErrorKind::TimedOut,
        _ => ErrorKind::ConnectionLost,
    }
}
