//! What all techniques have in common: the lane below with what is in flight there, and what they are as lanes.

use crate::op::{Done, Op, Tag};
use crate::share::{Full, Lane, LaneDead};
use plimsoll_model::{Nanos, OpKind};
use std::collections::VecDeque;
use std::num::NonZeroU16;
use std::time::Duration;

/// The lane below a technique, and what each operation in flight there is for.
pub(super) struct InnerLane<T> {
    lane: Box<dyn Lane>,
    /// By the tags used there, which are the technique's own.
    slots: Vec<Option<T>>,
    free: Vec<u16>,
    done: Vec<Done>,
    ended: VecDeque<(T, Done)>,
}

impl<T> InnerLane<T> {
    /// `depth`: what the lane takes at a time.
    pub fn new(lane: Box<dyn Lane>, depth: NonZeroU16) -> Self {
        let (depth, done, ended) = (depth.get(), Vec::new(), VecDeque::new());
        let slots = (0..depth).map(|_| None).collect();
        InnerLane { lane, slots, free: (0..depth).rev().collect(), done, ended }
    }

    pub fn lane(&self) -> &dyn Lane {
        &*self.lane
    }

    /// Whether nothing is in flight.
    pub fn is_idle(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    /// What each operation in flight is for.
    pub fn in_flight(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.iter_mut().flatten()
    }

    /// Hands an operation on; the tag that it has there.
    pub fn submit(&mut self, of: T, op: &Op, issued: Nanos) -> Result<u16, Full> {
        let tag = *self.free.last().ok_or(Full)?;
        self.lane.submit(Tag(tag), op, issued)?;
        self.free.pop();
        self.slots[usize::from(tag)] = Some(of);
        Ok(tag)
    }

    /// Reaps: what has ended is then [`ended`](InnerLane::ended).
    pub fn reap(&mut self, until: Nanos) -> Result<(), LaneDead> {
        let InnerLane { lane, slots, free, done, ended } = self;
        lane.reap(until, done)?;
        ended.extend(done.drain(..).filter_map(|done| {
            let purpose = slots.get_mut(usize::from(done.tag.0))?.take()?;
            free.push(done.tag.0);
            Some((purpose, done))
        }));
        Ok(())
    }

    /// The next operation that has ended, and what it was for; its tag is the one it had there.
    pub fn ended(&mut self) -> Option<(T, Done)> {
        self.ended.pop_front()
    }
}

/// What a technique does with operations: as [`Lane`] has it.
pub(super) trait Wrapper: Send {
    fn inner(&self) -> &dyn Lane;
    fn submit(&mut self, tag: Tag, op: &Op, issued: Nanos) -> Result<(), Full>;
    fn reap(&mut self, until: Nanos, out: &mut Vec<Done>) -> Result<(), LaneDead>;
}

/// A technique as a lane: in all else it is what the lane below is.
pub(super) struct Wrapped<W>(pub W);

impl<W: Wrapper> Lane for Wrapped<W> {
    fn does(&self, kind: OpKind) -> bool {
        self.0.inner().does(kind)
    }

    fn commits_at_close(&self) -> bool {
        self.0.inner().commits_at_close()
    }

    fn moved_bytes(&self) -> Option<u64> {
        self.0.inner().moved_bytes()
    }

    fn helper_cpu(&self) -> Duration {
        self.0.inner().helper_cpu()
    }

    #[inline]
    fn submit(&mut self, tag: Tag, op: &Op, issued: Nanos) -> Result<(), Full> {
        self.0.submit(tag, op, issued)
    }

    #[inline]
    fn reap(&mut self, until: Nanos, out: &mut Vec<Done>) -> Result<(), LaneDead> {
        self.0.reap(until, out)
    }
}
