//! Time is passed in, never read: a scripted clock makes scheduling exact in tests.

use serde::{Deserialize, Serialize};
use std::ops::{Add, Sub};
use std::time::Duration;

/// An instant in nanoseconds since its clock's own zero. Instants of different clocks do not mix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// Time from `earlier` to `self`; zero when `earlier` is later.
    pub fn since(self, earlier: Nanos) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Nanos {
    type Output = Nanos;
    fn add(self, by: Duration) -> Nanos {
        Nanos(self.0.saturating_add(u64::try_from(by.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl Sub<Nanos> for Nanos {
    type Output = Duration;
    fn sub(self, earlier: Nanos) -> Duration {
        self.since(earlier)
    }
}

/// A monotonic clock. Implemented by the system's clock where plimsoll drives load and by a
/// scripted one in tests.
pub trait Clock: Send + Sync {
    /// Now, in nanoseconds since this clock's zero; never decreases.
    fn now(&self) -> Nanos;
    /// Waits until `until` (or a little later). A scripted clock just moves on.
    fn sleep_until(&self, until: Nanos);
    /// Until it leaves, the calling thread shares the clock with others that do the same: a scripted clock moves
    /// when all of them wait. Real ones move by themselves.
    fn share(&self) {}
    /// The calling thread no longer shares the clock.
    fn leave(&self) {}
}
