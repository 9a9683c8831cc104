//! The start gate, on the client: the load waits for an instant that several clients agreed on.

use super::connection::Connection;
use super::serve::refused;
use crate::protocol::{Reply, Request};
use plimsoll_model::{Cause, Clock, Failure, Nanos};
use std::time::Duration;

/// A start further away is none: nothing interrupts the wait for it.
const FURTHEST: Duration = Duration::from_secs(60);

/// What the clock shows.
pub fn clock(connection: &Connection) -> Reply {
    Reply::Clock { now: connection.clock.now() }
}

/// Says that everything is ready, and waits to hear when the load begins.
///
/// # Errors
/// [`Cause::Interrupted`] where it does not begin; [`Cause::Trial`] where the instant has passed.
pub fn open(connection: &Connection) -> Result<Nanos, Failure> {
    connection.say(&Reply::Ready);
    loop {
        match connection.next() {
            Some(Ok(Request::Clock)) => connection.say(&clock(connection)),
            Some(Ok(Request::Start { at: Some(at) })) => {
                return in_time(at, connection.clock.now());
            }
            Some(Ok(Request::Start { at: None })) | None => {
                let happened = "not all clients are ready";
                return Err(Failure::new(Cause::Interrupted, "start the load")
                    .on("this client")
                    .happened(happened));
            }
            Some(_) => return Err(refused("another trial is waiting for its start")),
        }
    }
}

fn in_time(at: Nanos, now: Nanos) -> Result<Nanos, Failure> {
    if at > now + FURTHEST {
        return Err(refused("the start time is too far in the future"));
    }
    if now < at {
        return Ok(at);
    }
    let late = now.since(at).as_secs_f64() * 1e3;
    let happened = format!("this client learned it {late:.0} ms too late");
    let next = "Reduce the load on the client and on the network to it, and try again.";
    Err(Failure::new(Cause::Trial, "start the load")
        .on("the agreed start time")
        .happened(happened)
        .next(next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_that_has_passed_is_no_start() {
        assert_eq!(in_time(Nanos(2), Nanos(1)).unwrap(), Nanos(2));
        assert!(in_time(Nanos(u64::MAX), Nanos(1)).is_err(), "nobody waits for ever");
        for now in [Nanos(2_000_000), Nanos(90_000_000)] {
            let failure = in_time(Nanos(2_000_000), now).unwrap_err();
            assert_eq!(failure.cause, Cause::Trial);
            let ms = (now.0 - 2_000_000) / 1_000_000;
            assert!(failure.happened.contains(&format!("{ms} ms too late")), "{failure}");
        }
    }
}
