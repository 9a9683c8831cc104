//! When the workers of a load issue operations.

use plimsoll_model::Nanos;
use std::num::{NonZeroU16, NonZeroU32};

/// When a worker issues operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Issue {
    /// As soon as there are fewer in flight than there may be.
    Closed,
    /// As many as there may be in flight together, and the next when all of them have ended.
    Rounds,
    /// When they are due; later where as many are in flight as there may be.
    Paced(Schedule),
}

/// When the operations of one of several workers are due that take turns at a fixed rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Schedule {
    pub start: Nanos,
    /// Of all workers together.
    pub per_second: NonZeroU32,
    pub workers: NonZeroU16,
    /// Its number, from 0.
    pub worker: u16,
}

impl Schedule {
    /// When the worker's n-th operation is due, the first at n = 0.
    pub(crate) fn due(&self, number: u64) -> Nanos {
        let before = u128::from(number) * u128::from(self.workers.get()) + u128::from(self.worker);
        let after = before * 1_000_000_000 / u128::from(self.per_second.get());
        Nanos(self.start.0.saturating_add(u64::try_from(after).unwrap_or(u64::MAX)))
    }

    /// The first operation, from this number on, that is due when `takes` no longer holds.
    pub(crate) fn first_after(&self, number: u64, takes: impl Fn(Nanos) -> bool) -> u64 {
        let (mut from, mut to) = (number, u64::MAX);
        while from < to {
            let middle = from + (to - from) / 2;
            match takes(self.due(middle)) {
                true => from = middle + 1,
                false => to = middle,
            }
        }
        from
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_take_turns_at_equal_intervals_without_drift() {
        let [three, seven] = [3, 7].map(|n| NonZeroU32::new(n).unwrap());
        let workers = NonZeroU16::new(2).unwrap();
        let schedule =
            |worker, per_second| Schedule { start: Nanos(5), per_second, workers, worker };
        let turns = [(0, 0), (1, 0), (0, 1), (1, 1)];
        let due = turns.map(|(worker, number)| schedule(worker, three).due(number));
        assert_eq!(due, [0, 333_333_333, 666_666_666, 1_000_000_000].map(|at| Nanos(at + 5)));
        assert_eq!(schedule(1, seven).due(3_500_000_003), Nanos(1_000_000_001_000_000_005));
        assert_eq!(schedule(1, three).due(u64::MAX), Nanos(u64::MAX));
        let before = |end| schedule(1, three).first_after(0, |due| due < Nanos(end));
        assert_eq!([0, 333_333_338, 333_333_339, 1_000_000_006].map(before), [0, 0, 1, 2]);
        assert_eq!(schedule(0, three).first_after(7, |due| due < Nanos(5)), 7);
    }
}
