//! Relating another host's clock to this machine's, by round trips.
//!
//! The answer was given somewhere between question and reply, so half a round trip bounds the error
//! (F. Cristian, Probabilistic clock synchronization, 1989; D. Mills, RFC 5905, section 8); the
//! shortest round trip tells most. It ages, as two clocks drift apart.

use plimsoll_model::Nanos;
use std::time::{Duration, Instant};

/// What two undisciplined quartz clocks drift apart at most, in parts per million.
const DRIFT_PPM: u32 = 100;

/// One question to the other clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// When the question was sent, here.
    pub sent: Instant,
    /// When the reply was there, here.
    pub received: Instant,
    /// The other clock when the question had come.
    pub begin: Nanos,
    /// The other clock when the reply left.
    pub end: Nanos,
}

impl RoundTrip {
    /// The time on the way, there and back.
    pub fn length(&self) -> Duration {
        self.received.saturating_duration_since(self.sent).saturating_sub(self.end - self.begin)
    }

    /// The moment in the middle on the other clock.
    fn theirs(&self) -> Nanos {
        self.begin + (self.end - self.begin) / 2
    }

    /// The moment in the middle on this machine.
    fn ours(&self) -> Instant {
        self.sent + self.received.saturating_duration_since(self.sent) / 2
    }

    /// How far off the relation of the two may be at that moment.
    fn error_at(&self, now: Instant) -> Duration {
        let ours = self.ours();
        let age = now.saturating_duration_since(ours).max(ours.saturating_duration_since(now));
        self.length() / 2 + age / (1_000_000 / DRIFT_PPM)
    }
}

/// A moment of the other clock as this machine sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// When it was, here.
    pub at: Instant,
    /// How far off that may be, to either side.
    pub error: Duration,
}

/// What is known of the other clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clocks {
    best: Option<RoundTrip>,
}

impl Clocks {
    /// Takes in a round trip, which counts if it tells more than the best one before.
    pub fn learn(&mut self, trip: RoundTrip) {
        let now = trip.received;
        if self.best.is_none_or(|best| trip.error_at(now) <= best.error_at(now)) {
            self.best = Some(trip);
        }
    }

    /// The shortest time there and back, as far as it counts still.
    pub fn round_trip(&self) -> Option<Duration> {
        self.best.map(|best| best.length())
    }

    /// What the other clock shows at a moment of this machine, and how far off that may be, to
    /// either side; `None` where nothing is known of it.
    pub fn there(&self, at: Instant) -> Option<(Nanos, Duration)> {
        let best = self.best?;
        let (ours, theirs) = (best.ours(), best.theirs());
        let shown = match at.checked_duration_since(ours) {
            Some(later) => theirs + later,
            None => Nanos(theirs.0.saturating_sub((ours - at).as_nanos() as u64)),
        };
        Some((shown, best.error_at(at)))
    }

    /// The moment of something that was asked for and answered within a round trip, which it
    /// cannot have left, whatever the other clock says.
    pub fn within(&self, trip: RoundTrip) -> Moment {
        let known = |best: &RoundTrip| best.error_at(trip.ours()) < trip.length() / 2;
        let best = self.best.filter(known).unwrap_or(trip);
        let from = best.theirs();
        let to = trip.theirs();
        let at = if to >= from {
            best.ours().checked_add(to - from).unwrap_or(trip.received)
        } else {
            best.ours().checked_sub(from - to).unwrap_or(trip.sent)
        };
        let at = at.clamp(trip.sent, trip.received.max(trip.sent));
        Moment { at, error: best.error_at(trip.ours()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: Duration = Duration::from_millis(1);

    /// A question sent at `sent` and answered `there` and `back` later by a clock that shows
    /// `ahead` more than the time since `zero`.
    fn trip(
        zero: Instant,
        sent: Duration,
        there: Duration,
        back: Duration,
        ahead: u64,
    ) -> RoundTrip {
        let theirs = Nanos(ahead) + sent + there;
        RoundTrip {
            sent: zero + sent,
            received: zero + sent + there + back,
            begin: theirs,
            end: theirs,
        }
    }

    #[test]
    fn the_least_round_trip_wins_until_it_is_old() {
        let zero = Instant::now();
        let mut clocks = Clocks::default();
        clocks.learn(trip(zero, Duration::ZERO, 20 * MS, 2 * MS, 7));
        let short = trip(zero, 30 * MS, MS, MS, 7);
        clocks.learn(short);
        clocks.learn(trip(zero, 60 * MS, 2 * MS, 30 * MS, 7));
        assert_eq!(clocks.best, Some(short));
        // 100 ppm of 100 s are 10 ms: a round trip of 12 ms tells more by then.
        let late = trip(zero, 100_000 * MS, 6 * MS, 6 * MS, 7);
        clocks.learn(late);
        assert_eq!(clocks.best, Some(late));
    }

    #[test]
    fn a_moment_is_found_through_an_uneven_trip() {
        let zero = Instant::now();
        let mut clocks = Clocks::default();
        clocks.learn(trip(zero, Duration::ZERO, MS, MS, 1 << 40));
        // The reply took long: alone, it would seem taken 25 ms later than it was.
        let moment = clocks.within(trip(zero, 100 * MS, 5 * MS, 55 * MS, 1 << 40));
        assert_eq!(moment.at, zero + 105 * MS);
        assert!(moment.error < 2 * MS, "{moment:?}");
    }

    proptest! {
        /// The true moment lies within the error, whatever the trips were.
        #[test]
        fn the_error_bounds(
            trips in prop::collection::vec((0_u64..50_000, 0_u64..50_000), 1..20),
            ahead in 0_u64..1 << 50,
        ) {
            let zero = Instant::now();
            let mut clocks = Clocks::default();
            for (i, (there, back)) in trips.into_iter().enumerate() {
                let sent = Duration::from_millis(200 * i as u64);
                let there = Duration::from_micros(there);
                let trip = trip(zero, sent, there, Duration::from_micros(back), ahead);
                clocks.learn(trip);
                let moment = clocks.within(trip);
                let truth = zero + sent + there;
                let off = moment.at.max(truth) - moment.at.min(truth);
                prop_assert!(off <= moment.error + Duration::from_nanos(2), "{off:?} {moment:?}");
            }
        }

        /// What the other clock shows at any moment is within the error of the truth.
        #[test]
        fn the_other_clock_is_known_within_the_error(
            trips in prop::collection::vec((0_u64..50_000, 0_u64..50_000), 1..20),
            ahead in 1_u64 << 40..1 << 50,
            at in 0_u64..10_000,
        ) {
            let zero = Instant::now();
            let mut clocks = Clocks::default();
            prop_assert_eq!(clocks.there(zero), None);
            for (i, (there, back)) in trips.into_iter().enumerate() {
                let sent = Duration::from_millis(200 * i as u64);
                let (there, back) = (Duration::from_micros(there), Duration::from_micros(back));
                clocks.learn(trip(zero, sent, there, back, ahead));
            }
            let at = Duration::from_millis(at);
            let (shown, error) = clocks.there(zero + at).unwrap();
            let truth = Nanos(ahead) + at;
            let off = shown.max(truth) - shown.min(truth);
            prop_assert!(off <= error + Duration::from_nanos(2), "{off:?} {error:?}");
        }

        /// A clock that lies moves nothing out of the round trip.
        #[test]
        fn an_absurd_clock_is_harmless(numbers in prop::collection::vec(any::<(u64, u64)>(), 1..8)) {
            let zero = Instant::now();
            let mut clocks = Clocks::default();
            for (begin, end) in numbers {
                let trip = RoundTrip {
                    sent: zero,
                    received: zero + MS,
                    begin: Nanos(begin),
                    end: Nanos(end),
                };
                clocks.learn(trip);
                let moment = clocks.within(trip);
                prop_assert!(moment.at >= trip.sent && moment.at <= trip.received);
            }
        }
    }
}
