//! Bounds of waiting: a deadline, a request to stop, and the clock that measures both.

use crate::{Clock, Nanos};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Longest uninterrupted wait: a stop is seen within this time.
const SLICE: Duration = Duration::from_millis(100);
/// No end.
const NEVER: u64 = u64::MAX;

/// Until when work may go on. One value goes from the command line to every step that can block;
/// clones share the end of the whole and the request to stop, and [`Deadline::within`] gives one
/// step an end of its own.
#[derive(Clone)]
pub struct Deadline {
    whole: Arc<Whole>,
    /// The step's own end, and the time that it was given.
    step: Option<(Nanos, Duration)>,
}

struct Whole {
    clock: Arc<dyn Clock>,
    stop: Arc<AtomicBool>,
    end: AtomicU64,
    /// Set once what was made is being removed, which a request to stop does not end.
    finishing: AtomicBool,
}

/// Why work may not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// It was asked to stop.
    Stopped,
    /// The time for the whole is over.
    Whole,
    /// The time for this step is over, which was so long.
    Step(Duration),
}

impl Deadline {
    /// No end, until `stop` is set.
    pub fn new(clock: Arc<dyn Clock>, stop: Arc<AtomicBool>) -> Self {
        let (end, finishing) = (AtomicU64::new(NEVER), AtomicBool::new(false));
        Deadline { whole: Arc::new(Whole { clock, stop, end, finishing }), step: None }
    }

    /// The clock.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.whole.clock
    }

    /// Now.
    pub fn now(&self) -> Nanos {
        self.whole.clock.now()
    }

    /// The request to stop.
    pub fn stop(&self) -> &Arc<AtomicBool> {
        &self.whole.stop
    }

    /// Gives the whole, and all clones with it, so much time from now on.
    pub fn give(&self, time: Duration) {
        self.whole.end.store((self.now() + time).0, Ordering::Relaxed);
    }

    /// From now on what was made is removed: the request to stop is not heeded any more, so that
    /// it can be, and the whole ends after `time`, so that it does not take for ever.
    pub fn finish_within(&self, time: Duration) {
        self.give(time);
        self.whole.finishing.store(true, Ordering::Relaxed);
    }

    /// One step of the whole, which may take at most `time` from now on; never longer than this
    /// step.
    pub fn within(&self, time: Duration) -> Deadline {
        let own = (self.now() + time, time);
        let step = self.step.filter(|step| step.0 <= own.0).unwrap_or(own);
        Deadline { whole: self.whole.clone(), step: Some(step) }
    }

    /// When the whole ends.
    pub fn end(&self) -> Nanos {
        Nanos(self.whole.end.load(Ordering::Relaxed))
    }

    /// Remaining time, never zero; or the reason why no time is left.
    pub fn remaining(&self) -> Result<Duration, Over> {
        if self.whole.stop.load(Ordering::Relaxed) && !self.whole.finishing.load(Ordering::Relaxed)
        {
            return Err(Over::Stopped);
        }
        let now = self.now();
        let whole = self.end().since(now);
        let step = self.step.map_or(whole, |(end, _)| end.since(now));
        match self.step {
            Some((_, time)) if step.is_zero() => Err(Over::Step(time)),
            _ if whole.is_zero() => Err(Over::Whole),
            _ => Ok(whole.min(step)),
        }
    }

    /// The next piece of a long wait: short enough for a request to stop to be seen in time.
    pub fn slice(&self) -> Result<Duration, Over> {
        self.remaining().map(|left| left.min(SLICE))
    }

    /// Waits for `time`, or for the remaining time if that is shorter.
    pub fn sleep(&self, time: Duration) -> Result<(), Over> {
        let end = self.now() + time;
        while self.now() < end {
            let piece = self.slice()?.min(end.since(self.now()));
            self.whole.clock.sleep_until(self.now() + piece);
        }
        Ok(())
    }
}

impl fmt::Debug for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Deadline").field(&self.remaining()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock that moves when it is waited for, and may set a flag on its way.
    #[derive(Default)]
    struct Scripted {
        now: AtomicU64,
        stop_at: Option<(u64, Arc<AtomicBool>)>,
    }

    impl Clock for Scripted {
        fn now(&self) -> Nanos {
            Nanos(self.now.load(Ordering::Relaxed))
        }

        fn sleep_until(&self, until: Nanos) {
            self.now.fetch_max(until.0, Ordering::Relaxed);
            if let Some((at, stop)) = &self.stop_at {
                stop.fetch_or(until.0 >= *at, Ordering::Relaxed);
            }
        }
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn the_nearest_end_counts_and_is_named() {
        let whole = Deadline::new(Arc::new(Scripted::default()), Arc::default());
        assert_eq!(whole.remaining(), Ok(Duration::from_nanos(NEVER)));
        let step = whole.within(3 * SECOND);
        assert_eq!(step.remaining(), Ok(3 * SECOND));
        assert_eq!(step.within(9 * SECOND).remaining(), Ok(3 * SECOND), "a step of a step");
        whole.give(2 * SECOND);
        assert_eq!(step.remaining(), Ok(2 * SECOND), "clones share the end of the whole");
        assert_eq!(step.sleep(5 * SECOND), Err(Over::Whole));
        assert_eq!(whole.now(), Nanos(2_000_000_000));
        whole.give(9 * SECOND);
        assert_eq!(step.sleep(5 * SECOND), Err(Over::Step(3 * SECOND)));
        assert_eq!(whole.sleep(SECOND), Ok(()));
    }

    #[test]
    fn a_request_to_stop_is_seen_while_waiting_and_not_while_cleaning_up() {
        let stop = Arc::new(AtomicBool::new(false));
        let script = Scripted {
            stop_at: Some((SECOND.as_nanos() as u64, stop.clone())),
            ..Default::default()
        };
        let whole = Deadline::new(Arc::new(script), stop);
        assert_eq!(whole.within(60 * SECOND).sleep(30 * SECOND), Err(Over::Stopped));
        assert!(whole.now() < Nanos(0) + SECOND + SLICE + SLICE, "{:?}", whole.now());
        assert_eq!(whole.remaining(), Err(Over::Stopped));
        whole.finish_within(20 * SECOND);
        assert_eq!(whole.within(5 * SECOND).remaining(), Ok(5 * SECOND));
        assert_eq!(whole.sleep(30 * SECOND), Err(Over::Whole));
    }
}
