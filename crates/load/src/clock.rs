//! The clocks: the system's, and one that only moves when told to.

use model::{Clock, Nanos};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use std::sync::atomic::{AtomicU64, Ordering};

/// The system's monotonic clock; its zero is the moment it was made. Read as plain nanoseconds: a
/// difference of two `Instant`s costs a third more, and it is read twice an operation.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    zero: u64,
}

#[inline]
fn monotonic() -> u64 {
    // CLOCK_MONOTONIC is there on every Linux and its address is ours: this cannot fail.
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap_or_else(|_| TimeSpec::new(0, 0));
    time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
}

impl SystemClock {
    /// A clock that starts at zero now.
    pub fn new() -> SystemClock {
        SystemClock { zero: monotonic() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        SystemClock::new()
    }
}

impl Clock for SystemClock {
    #[inline]
    fn now(&self) -> Nanos {
        Nanos(monotonic() - self.zero)
    }

    fn sleep_until(&self, until: Nanos) {
        let left = until - self.now();
        if !left.is_zero() {
            std::thread::sleep(left);
        }
    }
}

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
