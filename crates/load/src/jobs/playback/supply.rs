//! Bytes that one stream got in the measured part of a trial, and how long it waited at most.

use crate::op::Done;
use crate::stall::SILENCE;
use plimsoll_model::Nanos;
use std::time::Duration;

/// Supply of one stream. An operation that crosses an end of the measured part counts by its share. A silence of a
/// second and more that outlasts the part is measured to its end: else trials that end while a server stands still would
/// not have it (method, section 4).
#[derive(Clone, Copy, Debug)]
pub(super) struct Supply {
    from: Duration,
    until: Duration,
    start: Nanos,
    bytes: f64,
    /// Since when the stream waits: the last completion, or the request that it began with.
    waits_from: Nanos,
    in_flight: u32,
    longest: Duration,
}

impl Supply {
    /// Of what is measured from and until these times after the start.
    pub(super) fn new(from: Duration, until: Duration) -> Supply {
        Supply {
            from,
            until,
            start: Nanos(0),
            bytes: 0.0,
            waits_from: Nanos(0),
            in_flight: 0,
            longest: Duration::ZERO,
        }
    }

    pub(super) fn begin(&mut self, start: Nanos) {
        self.start = start;
    }

    pub(super) fn issued(&mut self, now: Nanos) {
        if self.in_flight == 0 {
            self.waits_from = now;
        }
        self.in_flight += 1;
    }

    /// A request completed; whether in the measured part.
    pub(super) fn completed(&mut self, done: &Done) -> bool {
        let [issued, end] = [done.issued, done.done].map(|at| at.since(self.start));
        let waited = done.done.since(self.waits_from);
        let waited_from = self.waits_from.since(self.start);
        if waited_from < self.until {
            self.longest = self.longest.max(waited);
            if end > self.until && waited >= SILENCE {
                self.until = end;
            }
        }
        self.waits_from = done.done.max(self.waits_from);
        self.in_flight = self.in_flight.saturating_sub(1);
        let counts = end <= self.until;
        if done.result.is_err() {
            return counts;
        }
        let within = end.min(self.until).saturating_sub(issued.max(self.from));
        let whole = end.saturating_sub(issued);
        self.bytes += match whole.is_zero() {
            true if issued >= self.from && end <= self.until => f64::from(done.bytes),
            true => 0.0,
            false => f64::from(done.bytes) * within.as_secs_f64() / whole.as_secs_f64(),
        };
        counts
    }

    /// End of the measured part.
    pub(super) fn end(&self) -> Nanos {
        self.start + self.until
    }

    /// Bytes per second.
    pub(super) fn rate(&self) -> f64 {
        self.bytes / self.until.saturating_sub(self.from).as_secs_f64().max(1e-9)
    }

    /// Longest time between completions, while it waited for one.
    pub(super) fn longest_pause(&self) -> Duration {
        self.longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Tag;

    fn at(ms: u64) -> Nanos {
        Nanos(ms * 1_000_000)
    }

    fn done(issued: u64, done: u64) -> Done {
        let (tag, bytes, result) = (Tag(0), 1000, Ok(None));
        Done { tag, issued: at(issued), sent: at(issued), done: at(done), bytes, result }
    }

    fn supply(of: &[(u64, u64)]) -> Supply {
        let mut supply = Supply::new(Duration::from_secs(1), Duration::from_secs(3));
        supply.begin(at(0));
        for (issued, completed) in of {
            supply.issued(at(*issued));
            supply.completed(&done(*issued, *completed));
        }
        supply
    }

    #[test]
    fn operations_that_cross_an_end_count_by_their_share() {
        // Half of the first, all of two, a quarter of the last.
        let supply = supply(&[(500, 1500), (1500, 2000), (2000, 2900), (2900, 3300)]);
        assert!((supply.rate() - 2750.0 / 2.0).abs() < 1e-9, "{}", supply.rate());
        assert_eq!(supply.longest_pause(), Duration::from_millis(1000));
    }

    #[test]
    fn a_silence_that_outlasts_the_part_is_measured_to_its_end() {
        let supply = supply(&[(1000, 2000), (2000, 9000), (9000, 9001)]);
        assert!((supply.rate() - 2000.0 / 8.0).abs() < 1e-9, "{}", supply.rate());
        assert_eq!(supply.longest_pause(), Duration::from_secs(7));
    }

    #[test]
    fn a_stream_that_asks_for_nothing_does_not_wait() {
        let supply = supply(&[(1000, 1100), (2900, 2950)]);
        assert_eq!(supply.longest_pause(), Duration::from_millis(100));
    }
}
