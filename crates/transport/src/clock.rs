//! The system's clock.

use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use plimsoll_model::{Clock, Deadline, Nanos};
use std::sync::Arc;

/// The system's monotonic clock; its zero is the moment it was made, or the kernel's own. Read as
/// plain nanoseconds: a difference of two `Instant`s costs a third more, and it is read twice an
/// operation.
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

    /// The kernel's own (CLOCK_MONOTONIC), the same for every process of a machine.
    pub fn of_the_kernel() -> SystemClock {
        SystemClock { zero: 0 }
    }
}

impl SystemClock {
    /// No end and no request to stop, by a clock that starts now.
    pub fn no_deadline() -> Deadline {
        Deadline::new(Arc::new(SystemClock::new()), Arc::default())
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
