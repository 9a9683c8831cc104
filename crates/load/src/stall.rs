//! Times in which a target completed nothing although it was asked.

use crate::tally::Silence;
use plimsoll_model::{Nanos, Stall, StallPhase};
use std::time::Duration;

/// A stall under load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stalled {
    /// From the start of the load to the last completion before it, or to the first operation after that.
    pub start: Duration,
    /// From then to the completion that ended it, which may be after the end of the trial.
    pub length: Duration,
}

impl Stalled {
    /// How much of it lies between two instants of the load.
    pub fn within(&self, from: Duration, until: Duration) -> Duration {
        (self.start + self.length).min(until).saturating_sub(self.start.max(from))
    }

    /// As a trial keeps it, of which the part from `from` to `until` is measured.
    pub fn stall(&self, from: Duration, until: Duration) -> Stall {
        let phase = match self.start {
            early if early < from => StallPhase::WarmUp,
            late if late >= until => StallPhase::Drain,
            _ => StallPhase::Measured,
        };
        let (start_seconds, seconds) = (self.start.as_secs_f64(), self.length.as_secs_f64());
        Stall { phase, start_seconds, seconds }
    }
}

/// The stalls of a team: the times in which all its workers were silent, of a second and of
/// `least_seconds` at least. A worker that has nothing in flight does not end a stall.
pub(crate) fn stalls(
    start: Nanos,
    workers: &[Vec<Silence>],
    least_seconds: impl FnOnce() -> f64,
) -> Vec<Stalled> {
    let Some((first, others)) = workers.split_first() else { return Vec::new() };
    let together = others.iter().fold(first.clone(), |all, own| overlaps(&all, own));
    let stalled = |silence: &Silence| {
        let from = silence.from.max(silence.waiting_from);
        Stalled { start: from.since(start), length: silence.until.since(from) }
    };
    let mut stalls: Vec<Stalled> =
        together.iter().filter(|silence| silence.is_stall()).map(stalled).collect();
    if !stalls.is_empty() {
        let least = Duration::try_from_secs_f64(least_seconds()).unwrap_or(Duration::MAX);
        stalls.retain(|stall| stall.length >= least);
    }
    stalls
}

/// The times in which two were silent; each is in the order of time.
fn overlaps(one: &[Silence], other: &[Silence]) -> Vec<Silence> {
    let mut both = Vec::new();
    let (mut ones, mut others) = (one.iter().peekable(), other.iter().peekable());
    while let (Some(a), Some(b)) = (ones.peek(), others.peek()) {
        let (from, until) = (a.from.max(b.from), a.until.min(b.until));
        if from < until {
            let waiting_from = a.waiting_from.min(b.waiting_from);
            both.push(Silence { from, waiting_from, until });
        }
        if a.until <= b.until {
            ones.next();
        } else {
            others.next();
        }
    }
    both
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEVER: u64 = u64::MAX;

    fn silences(of: &[[u64; 3]]) -> Vec<Silence> {
        let at = |ms: u64| Nanos(ms.saturating_mul(1_000_000));
        let silence = |[from, waiting, until]: &[u64; 3]| Silence {
            from: at(*from),
            waiting_from: at(*waiting),
            until: at(*until),
        };
        of.iter().map(silence).collect()
    }

    fn of_team(workers: &[&[[u64; 3]]], least_seconds: f64) -> Vec<(u128, u128)> {
        let workers: Vec<_> = workers.iter().map(|own| silences(own)).collect();
        let stalls = stalls(Nanos(0), &workers, || least_seconds);
        stalls.iter().map(|s| (s.start.as_millis(), s.length.as_millis())).collect()
    }

    #[test]
    fn a_team_stalls_while_all_that_wait_are_silent() {
        let silent = [1000, 1000, 6000];
        let done = [8000, NEVER, NEVER];
        assert_eq!(of_team(&[&[silent, done]], 0.0), [(1000, 5000)]);
        let other = [1500, 1500, 6100];
        assert_eq!(of_team(&[&[silent, done], &[other, done]], 0.0), [(1500, 4500)]);
        let answers = [[1000, 1000, 3400], [3400, 3400, 4200], [5300, 5300, 6000]];
        assert_eq!(of_team(&[&[silent, done], &answers], 0.0), [(1000, 2400)]);
        assert_eq!(of_team(&[&[silent, done], &[done]], 0.0), [], "the other one completes some");
        let idle = [500, NEVER, NEVER];
        assert_eq!(of_team(&[&[silent, done], &[idle]], 0.0), [(1000, 5000)], "it is done");
        assert_eq!(of_team(&[&[silent, done]], 5.001), []);
        assert_eq!(of_team(&[], 0.0), []);
    }

    #[test]
    fn time_without_anything_in_flight_is_no_stall() {
        let later = [1000, 4000, 6000];
        let done = [8000, NEVER, NEVER];
        assert_eq!(of_team(&[&[later, done]], 0.0), [(4000, 2000)]);
        assert_eq!(of_team(&[&[done], &[done]], 0.0), []);
        // A server that stands still for a second, and is asked every 10 ms.
        assert_eq!(of_team(&[&[[995, 1005, 2000], done]], 0.0), [(1005, 995)]);
        assert_eq!(of_team(&[&[[995, 1200, 2000], done]], 0.0), []);
    }

    #[test]
    fn a_stall_belongs_to_the_phase_in_which_it_begins() {
        let ms = Duration::from_millis;
        let stalled = Stalled { start: ms(900), length: ms(5000) };
        for (from, until, phase, within) in [
            (0, 1000, StallPhase::Measured, 100),
            (900, 8000, StallPhase::Measured, 5000),
            (1000, 2000, StallPhase::WarmUp, 1000),
            (0, 900, StallPhase::Drain, 0),
        ] {
            assert_eq!(stalled.stall(ms(from), ms(until)).phase, phase);
            assert_eq!(stalled.within(ms(from), ms(until)), ms(within));
        }
    }
}
