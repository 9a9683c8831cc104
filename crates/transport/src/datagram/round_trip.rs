//! How long an answer is waited for (RFC 6298; V. Jacobson, "Congestion Avoidance and Control").

use std::time::Duration;

/// Before anything was measured (RFC 6298, section 2).
const FIRST: Duration = Duration::from_secs(1);
/// At least, as with the Linux kernel's client: a server's disk may be away for some milliseconds.
const SHORTEST: Duration = Duration::from_millis(100);
/// At most, however often it was doubled: a server that is back is to be asked soon.
const LONGEST: Duration = Duration::from_secs(10);

/// An estimate of the round trip. Every attempt has a number of its own, so each reply is known to be
/// that of one attempt: what Karn's rule leaves out can be measured.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundTrip {
    /// Smoothed round trip and its mean deviation.
    measured: Option<(Duration, Duration)>,
}

impl RoundTrip {
    /// A reply came so long after its call.
    pub fn measured(&mut self, sample: Duration) {
        self.measured = Some(match self.measured {
            None => (sample, sample / 2),
            Some((smoothed, deviation)) => {
                let error = smoothed.abs_diff(sample);
                ((7 * smoothed + sample) / 8, (3 * deviation + error) / 4)
            }
        });
    }

    /// How long an answer is waited for, after so many attempts that had none.
    pub fn timeout(&self, unanswered: u32) -> Duration {
        let first = self.measured.map_or(FIRST, |(smoothed, deviation)| smoothed + 4 * deviation);
        first.max(SHORTEST).saturating_mul(1 << unanswered.min(16)).min(LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn waits_follow_what_was_measured_and_double() {
        let mut trip = RoundTrip::default();
        assert_eq!([0, 1, 2, 3, 4, 99].map(|n| trip.timeout(n).as_secs()), [1, 2, 4, 8, 10, 10]);
        trip.measured(200 * MS);
        assert_eq!(trip.timeout(0), 600 * MS, "200 + 4 x 100");
        trip.measured(200 * MS);
        assert_eq!(trip.timeout(0), 500 * MS, "200 + 4 x 75");
        trip.measured(1000 * MS);
        // 300 and (3 x 75 + 800) / 4.
        assert_eq!(trip.timeout(0), 1325 * MS);
        for _ in 0..200 {
            trip.measured(MS / 10);
        }
        assert_eq!((trip.timeout(0), trip.timeout(2)), (SHORTEST, 4 * SHORTEST));
        trip.measured(Duration::MAX / 100);
        assert_eq!(trip.timeout(0), LONGEST);
    }
}
