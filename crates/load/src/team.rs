//! What the workers of a load have in common: why they stop, and how far each is.

use crate::op::KINDS;
use crate::tally::Counts;
use plimsoll_model::{Count, OpKind};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

/// How the workers of a load stand together.
#[derive(Default)]
pub(crate) struct Team(AtomicU8);

const ENDED: u8 = 1;
const FAILED: u8 = 2;

impl Team {
    /// The main part is done: everybody ends.
    pub fn end(&self) {
        let _ = self.0.compare_exchange(0, ENDED, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// A worker failed: everybody stops.
    pub fn fail(&self) {
        self.0.store(FAILED, Ordering::Relaxed);
    }
}

/// Reasons to stop early: the user, and how the team stands.
#[derive(Clone, Copy)]
pub(crate) struct Stop<'a> {
    pub user: &'a AtomicBool,
    pub team: &'a Team,
}

impl Stop<'_> {
    /// Whether there is any.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.user.load(Ordering::Relaxed) || self.team.0.load(Ordering::Relaxed) != 0
    }

    /// Whether it is not the end of the main part.
    pub(crate) fn is_requested(&self) -> bool {
        self.user.load(Ordering::Relaxed) || self.team.0.load(Ordering::Relaxed) == FAILED
    }
}

/// What a worker has done so far of the kinds that it is expected to do, for observers. Only the
/// worker writes.
#[derive(Default)]
pub(crate) struct Progress {
    counters: Box<[Counter]>,
}

struct Counter {
    kind: usize,
    operations: AtomicU64,
    bytes: AtomicU64,
}

impl Progress {
    pub(crate) fn new(kinds: &[OpKind]) -> Self {
        let counter = |(kind, _)| Counter { kind, operations: 0.into(), bytes: 0.into() };
        let used = KINDS.iter().enumerate().filter(|(_, kind)| kinds.contains(kind));
        Progress { counters: used.map(counter).collect() }
    }

    pub(crate) fn publish(&self, total: &Counts) {
        for counter in &self.counters {
            let count = &total[counter.kind];
            counter.operations.store(count.operations, Ordering::Relaxed);
            counter.bytes.store(count.bytes, Ordering::Relaxed);
        }
    }

    /// Adds what it has done so far.
    pub(crate) fn add_to(&self, total: &mut Counts) {
        for counter in &self.counters {
            total[counter.kind].add(Count {
                operations: counter.operations.load(Ordering::Relaxed),
                bytes: counter.bytes.load(Ordering::Relaxed),
            });
        }
    }
}
