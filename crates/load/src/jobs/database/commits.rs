//! Commits of one worker: how many a second, and how long each took.

use crate::tally::histogram;
use hdrhistogram::Histogram;
use plimsoll_model::Nanos;
use std::time::Duration;

/// Commits that began after the warm-up.
pub(crate) struct Commits {
    warm_up: Duration,
    /// When the first commit of all began, the first that counts, and the one that is under way.
    begun: Option<Nanos>,
    first: Option<Nanos>,
    current: Option<Nanos>,
    count: u64,
    times: Histogram<u32>,
    /// When the last operation ended, and the share of the commit under way that was done by then.
    last: Nanos,
    share: f64,
}

impl Commits {
    pub(super) fn new(warm_up: Duration) -> Commits {
        Commits {
            warm_up,
            begun: None,
            first: None,
            current: None,
            count: 0,
            times: histogram(),
            last: Nanos(0),
            share: 0.0,
        }
    }

    /// A commit begins.
    pub(super) fn begin(&mut self, now: Nanos) {
        let begun = *self.begun.get_or_insert(now);
        if now.since(begun) >= self.warm_up {
            self.first.get_or_insert(now);
        }
        self.current = Some(now);
    }

    /// An operation of a commit has ended, and this share of the commit is done.
    pub(super) fn progress(&mut self, share: f64, now: Nanos) {
        (self.share, self.last) = (share, now);
    }

    /// A commit has ended.
    pub(super) fn end(&mut self, now: Nanos) {
        self.progress(0.0, now);
        if let Some(begun) = self.current.take().filter(|_| self.first.is_some()) {
            self.count += 1;
            let nanos = u64::try_from(now.since(begun).as_nanos()).unwrap_or(u64::MAX);
            self.times.saturating_record(nanos);
        }
    }

    /// Commits per second, of which the one that is cut off counts by its share. `None` if there is none.
    pub(super) fn per_second(&self) -> Option<f64> {
        let seconds = self.last.since(self.first?).as_secs_f64();
        let count = self.count as f64 + self.share;
        (count > 0.0 && seconds > 0.0).then(|| count / seconds)
    }

    /// How long each took, in nanoseconds.
    pub(super) fn times(&self) -> &Histogram<u32> {
        &self.times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Nanos {
        Nanos(ms * 1_000_000)
    }

    #[test]
    fn commits_after_the_warm_up_count_and_the_last_by_its_share() {
        let mut commits = Commits::new(Duration::from_millis(100));
        assert_eq!(commits.per_second(), None);
        // The first begins in the warm-up.
        for (begin, end) in [(1000, 1150), (1150, 1250), (1250, 1450)] {
            commits.begin(at(begin));
            commits.progress(0.5, at((begin + end) / 2));
            commits.end(at(end));
        }
        assert_eq!(commits.times().len(), 2);
        assert!((commits.per_second().unwrap() - 2.0 / 0.3).abs() < 1e-9);
        commits.begin(at(1450));
        commits.progress(0.25, at(1550));
        assert!((commits.per_second().unwrap() - 2.25 / 0.4).abs() < 1e-9);
    }

    #[test]
    fn a_single_commit_that_is_cut_off_counts_by_its_share() {
        let mut commits = Commits::new(Duration::ZERO);
        commits.begin(at(0));
        assert_eq!(commits.per_second(), None);
        commits.progress(0.5, at(500));
        assert_eq!(commits.per_second(), Some(1.0));
        assert_eq!(commits.times().len(), 0);
    }
}
