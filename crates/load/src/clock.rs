//! A clock that only moves when it is waited for.

use plimsoll_model::{Clock, Nanos};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread, ThreadId};

/// A clock for exact tests: waiting moves it on at once, and it never goes back. Threads that share it
/// ([`Clock::share`]) move it together: when all of them wait, to the earliest instant that one of them waits
/// for. Otherwise a thread that the system runs late would begin later than the others by the clock, too.
#[derive(Debug, Default)]
pub struct VirtualClock {
    now: AtomicU64,
    sharing: Mutex<Sharing>,
}

#[derive(Debug, Default)]
struct Sharing {
    threads: Vec<ThreadId>,
    /// Those of them that wait, with the instant.
    waiting: Vec<(Nanos, Thread)>,
}

impl VirtualClock {
    /// A clock that stands at zero.
    pub fn new() -> VirtualClock {
        VirtualClock::default()
    }

    fn sharing(&self) -> MutexGuard<'_, Sharing> {
        self.sharing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn move_to(&self, at: Nanos, sharing: &mut Sharing) {
        let before = self.now.fetch_max(at.0, Ordering::Relaxed);
        let now = Nanos(before.max(at.0));
        for (_, thread) in sharing.waiting.extract_if(.., |(until, _)| *until <= now) {
            thread.unpark();
        }
    }

    /// Moves it if nobody else would.
    fn move_if_all_wait(&self, sharing: &mut Sharing) {
        if sharing.waiting.len() == sharing.threads.len()
            && let Some(first) = sharing.waiting.iter().map(|(until, _)| *until).min()
        {
            self.move_to(first, sharing);
        }
    }
}

impl Clock for VirtualClock {
    #[inline]
    fn now(&self) -> Nanos {
        Nanos(self.now.load(Ordering::Relaxed))
    }

    fn sleep_until(&self, until: Nanos) {
        let mut sharing = self.sharing();
        if sharing.threads.is_empty() || !sharing.threads.contains(&thread::current().id()) {
            self.move_to(until, &mut sharing);
            return;
        }
        if until <= self.now() {
            return;
        }
        sharing.waiting.push((until, thread::current()));
        self.move_if_all_wait(&mut sharing);
        drop(sharing);
        while self.now() < until {
            thread::park();
        }
    }

    fn share(&self) {
        self.sharing().threads.push(thread::current().id());
    }

    fn leave(&self) {
        let (mut sharing, own) = (self.sharing(), thread::current().id());
        if let Some(place) = sharing.threads.iter().position(|thread| *thread == own) {
            sharing.threads.swap_remove(place);
        }
        self.move_if_all_wait(&mut sharing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::time::Duration;

    /// Each thread waits in steps of its own; the late one is late by the system's clock alone.
    #[test]
    fn threads_that_share_it_see_each_instant_that_they_wait_for() {
        let (clock, all) = (VirtualClock::new(), Barrier::new(3));
        let steps = |step: u64, late: Duration| {
            clock.share();
            all.wait();
            thread::sleep(late);
            let seen: Vec<u64> = (1..=6)
                .map(|number| {
                    clock.sleep_until(Nanos(number * step));
                    clock.now().0
                })
                .collect();
            clock.leave();
            assert_eq!(seen, (1..=6).map(|number| number * step).collect::<Vec<_>>());
        };
        thread::scope(|scope| {
            for (step, late) in [(10, 0), (15, 50), (4, 20)] {
                scope.spawn(move || steps(step, Duration::from_millis(late)));
            }
        });
        assert_eq!(clock.now(), Nanos(90));
        clock.sleep_until(Nanos(100));
        assert_eq!(clock.now(), Nanos(100), "nobody shares it any more");
    }

    #[test]
    fn threads_that_end_and_threads_that_do_not_share_it_hold_nobody_up() {
        let (clock, all) = (VirtualClock::new(), Barrier::new(2));
        thread::scope(|scope| {
            scope.spawn(|| {
                clock.share();
                all.wait();
                clock.sleep_until(Nanos(20));
                assert_eq!(clock.now(), Nanos(20));
                clock.leave();
            });
            scope.spawn(|| {
                clock.share();
                all.wait();
                clock.sleep_until(Nanos(5));
                clock.leave();
            });
        });
        thread::scope(|scope| {
            clock.share();
            scope.spawn(|| clock.sleep_until(Nanos(50)));
        });
        assert_eq!(clock.now(), Nanos(50), "a thread beside those that share it");
        clock.leave();
    }
}
