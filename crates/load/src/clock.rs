//! A clock that only moves when it is waited for.

use plimsoll_model::{Clock, Nanos};
use std::sync::atomic::{AtomicU64, Ordering};

/// A clock for exact tests: waiting moves it on at once. It never goes back; several threads may
/// move it, each at least to where it wants to be.
#[derive(Debug, Default)]
pub struct VirtualClock {
    now: AtomicU64,
}

impl VirtualClock {
    /// A clock that stands at zero.
    pub fn new() -> VirtualClock {
        VirtualClock::default()
    }
}

impl Clock for VirtualClock {
    #[inline]
    fn now(&self) -> Nanos {
        Nanos(self.now.load(Ordering::Relaxed))
    }

    fn sleep_until(&self, until: Nanos) {
        self.now.fetch_max(until.0, Ordering::Relaxed);
    }
}
