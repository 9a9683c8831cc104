//! The start gate: clients on several hosts begin at one instant.
//!
//! Clocks of hosts show different times, so that of each is related to this machine's by round trips
//! ([`plimsoll_reach::clock`]), and each client gets the instant as its own clock will show it. Half
//! of the shortest round trip bounds how far off that is.

use plimsoll_model::{Cause, Failure, Nanos};
use plimsoll_reach::clock::Clocks;
use std::time::{Duration, Instant};

/// A clock that is not known better is further off than the gate can bridge.
pub const MOST_ERROR: Duration = Duration::from_millis(50);
/// Time between the agreement and the start beside the way: for processes that wait for a core.
const MARGIN: Duration = Duration::from_millis(500);
/// How much of that passes before the load is reported to begin: whoever watches the hosts needs some
/// time to look, and should not see much of the time before the start.
pub const QUIET: Duration = Duration::from_millis(300);

/// When a client begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// On its own clock.
    pub at: Nanos,
    /// How far off that may be, to either side.
    pub error: Duration,
}

/// A client whose clock is known too badly, by its number; and how badly, if at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Apart {
    /// Its number.
    pub client: usize,
    /// How far off its clock may be.
    pub error: Option<Duration>,
}

impl Apart {
    /// The failure, with the name of the client's host.
    pub fn failure(&self, host: &str) -> Failure {
        let known = match self.error {
            Some(error) => {
                format!("its clock is known to within {:.0} ms only", error.as_secs_f64() * 1e3)
            }
            None => "its clock is unknown".to_owned(),
        };
        let happened = format!(
            "{known}, but several clients need clocks within {} ms of each other to start \
            together; the round trip to this host is too long",
            MOST_ERROR.as_millis()
        );
        let next = "Remove this host from --on, or reach it over a faster network path.";
        Failure::new(Cause::Usage, "start all clients together")
            .on(host)
            .happened(happened)
            .next(next)
    }
}

/// The instant for each client, soon after `now` but late enough for all to hear of it.
///
/// # Errors
/// The client whose clock is further off than [`MOST_ERROR`].
pub fn agree(clients: &[Clocks], now: Instant) -> Result<Vec<Start>, Apart> {
    let way = clients.iter().filter_map(Clocks::round_trip).max().unwrap_or_default();
    let at = now + MARGIN + 2 * way;
    let start = |(client, clocks): (usize, &Clocks)| match clocks.there(at) {
        Some((at, error)) if error <= MOST_ERROR => Ok(Start { at, error }),
        known => Err(Apart { client, error: known.map(|(_, error)| error) }),
    };
    clients.iter().enumerate().map(start).collect()
}

/// How a client began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begun {
    /// When it was to.
    pub start: Start,
    /// How long after that its first operation was, by its own clock.
    pub late: Duration,
}

/// How far the clients' first operations lay apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// By their own clocks.
    pub measured: Duration,
    /// How far off that may be, as the clocks are not known better.
    pub error: Duration,
}

/// The spread of clients that began so.
pub fn spread(begun: &[Begun]) -> Spread {
    let late = || begun.iter().map(|begun| begun.late);
    let (first, last) = (late().min().unwrap_or_default(), late().max().unwrap_or_default());
    let mut errors: Vec<Duration> = begun.iter().map(|begun| begun.start.error).collect();
    errors.sort();
    let error = errors.iter().rev().take(2).sum();
    Spread { measured: last - first, error: if begun.len() < 2 { Duration::ZERO } else { error } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_reach::clock::RoundTrip;
    use proptest::prelude::*;

    /// A clock that shows `ahead` more than the time since `zero`, asked once.
    fn clocks_after(zero: Instant, ahead: u64, there: Duration, back: Duration) -> Clocks {
        let mut clocks = Clocks::default();
        let theirs = Nanos(ahead) + there;
        let received = zero + there + back;
        clocks.learn(RoundTrip { sent: zero, received, begin: theirs, end: theirs });
        clocks
    }

    proptest! {
        /// Whatever their clocks show and however uneven the ways are, all hear of the instant
        /// before it, and none begins further from another than the errors say.
        #[test]
        fn clients_begin_together_within_the_errors(
            clients in prop::collection::vec((0_u64..1 << 50, 0_u64..49_000, 0_u64..49_000), 1..9),
            late in prop::collection::vec(0_u64..10_000, 9),
        ) {
            let zero = Instant::now();
            let us = Duration::from_micros;
            let known: Vec<Clocks> = clients
                .iter()
                .map(|(ahead, there, back)| clocks_after(zero, *ahead, us(*there), us(*back)))
                .collect();
            let now = zero + us(98_000);
            let starts = agree(&known, now).unwrap();
            let mut truth = Vec::new();
            let mut begun = Vec::new();
            for (i, ((ahead, there, _), start)) in clients.iter().zip(&starts).enumerate() {
                let at = Duration::from_nanos(start.at.0 - ahead);
                prop_assert!(zero + at > now + us(*there) + MARGIN / 2, "it hears of it in time");
                truth.push(at + us(late[i]));
                begun.push(Begun { start: *start, late: us(late[i]) });
            }
            let apart = *truth.iter().max().unwrap() - *truth.iter().min().unwrap();
            let Spread { measured, error } = spread(&begun);
            let slack = Duration::from_nanos(10);
            prop_assert!(apart <= measured + error + slack, "{apart:?} {measured:?} {error:?}");
            prop_assert!(measured <= apart + error + slack, "{apart:?} {measured:?} {error:?}");
        }
    }

    #[test]
    fn clocks_further_apart_than_the_gate_can_bridge_are_refused_by_host() {
        let (zero, ms) = (Instant::now(), Duration::from_millis);
        let near = clocks_after(zero, 5, ms(1), ms(1));
        let far = clocks_after(zero, 5, ms(60), ms(60));
        assert_eq!(agree(&[near, near], zero + ms(130)).map(|all| all.len()), Ok(2));
        let apart = agree(&[near, far], zero + ms(130)).unwrap_err();
        assert_eq!(apart.client, 1);
        assert!(apart.error.is_some_and(|error| error >= ms(60)), "{apart:?}");
        let failure = apart.failure("ssh://nas");
        assert_eq!((failure.cause, &*failure.on), (Cause::Usage, "ssh://nas"));
        assert!(failure.happened.contains("60 ms") && failure.happened.contains("50 ms"));
        let unknown = agree(&[near, Clocks::default()], zero + ms(130)).unwrap_err();
        assert_eq!(unknown, Apart { client: 1, error: None });
    }

    #[test]
    fn the_spread_is_between_the_first_and_the_last() {
        let ms = Duration::from_millis;
        let begun = |late, error| Begun { start: Start { at: Nanos(7), error: ms(error) }, late };
        assert_eq!(spread(&[]), Spread::default());
        assert_eq!(spread(&[begun(ms(9), 1)]), Spread::default());
        let three = spread(&[begun(ms(3), 1), begun(ms(1), 4), begun(ms(8), 2)]);
        assert_eq!(three, Spread { measured: ms(7), error: ms(6) });
    }
}
