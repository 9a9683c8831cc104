//! The slots of calls in flight.

use std::collections::VecDeque;

/// A place for one call.
#[derive(Clone, Debug)]
pub struct Slot<C> {
    /// The caller's name for it.
    pub tag: u32,
    /// When its last byte had been handed to the kernel.
    pub sent: u64,
    /// The call.
    pub call: C,
    /// Position of its end in the stream; none before it is encoded.
    end: u64,
}

/// Position of what is not in the stream.
const NOWHERE: u64 = u64::MAX;

/// The calls of a pipeline: those that wait to be encoded, those the kernel does not have in full,
/// those that await replies, and those that wait for a time.
#[derive(Debug)]
pub struct InFlight<C> {
    slots: Box<[Slot<C>]>,
    free: Vec<u16>,
    /// Slots whose calls are not encoded yet, in order.
    waiting: VecDeque<u16>,
    /// Slots whose calls the kernel does not have in full, in order.
    unsent: VecDeque<u16>,
    /// Slots whose calls wait for a time, and when that is; seldom any.
    later: Vec<(u64, u16)>,
    /// Position in the stream after everything handed to the kernel.
    handed: u64,
}

impl<C> InFlight<C> {
    /// Slots for these calls, all free: at most 65,535.
    pub(crate) fn new(calls: impl ExactSizeIterator<Item = C>) -> Self {
        let slot = |call| Slot { tag: 0, sent: 0, call, end: NOWHERE };
        let slots: Box<[_]> = calls.take(u16::MAX.into()).map(slot).collect();
        InFlight {
            free: (0..slots.len() as u16).rev().collect(),
            waiting: VecDeque::with_capacity(slots.len()),
            unsent: VecDeque::with_capacity(slots.len()),
            later: Vec::new(),
            handed: 0,
            slots,
        }
    }

    /// Calls in flight.
    pub fn count(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Takes a slot for a call that waits, if one is free.
    pub(crate) fn begin(&mut self, tag: u32) -> Option<&mut Slot<C>> {
        let index = self.free.pop()?;
        self.waiting.push_back(index);
        let slot = &mut self.slots[usize::from(index)];
        (slot.tag, slot.end) = (tag, NOWHERE);
        Some(slot)
    }

    /// The first call that waits.
    pub(crate) fn waiting(&mut self) -> Option<(u16, &mut Slot<C>)> {
        let index = *self.waiting.front()?;
        Some((index, &mut self.slots[usize::from(index)]))
    }

    /// The first call that waited is encoded, up to this position in the stream.
    pub(crate) fn encoded(&mut self, end: u64) {
        let Some(index) = self.waiting.pop_front() else { return };
        self.slots[usize::from(index)].end = end;
        self.unsent.push_back(index);
    }

    /// The first call that waited has ended.
    pub(crate) fn refused(&mut self) {
        self.free.extend(self.waiting.pop_front());
    }

    /// The kernel has everything up to this position.
    pub(crate) fn handed(&mut self, handed: u64, now: u64) {
        self.handed = handed;
        while let Some(&index) = self.unsent.front() {
            let slot = &mut self.slots[usize::from(index)];
            if slot.end > handed {
                break;
            }
            slot.sent = now;
            self.unsent.pop_front();
        }
    }

    /// The slots, free or not.
    pub fn indices(&self) -> std::ops::Range<u16> {
        0..self.slots.len() as u16
    }

    /// A call that awaits replies: one that the kernel has in full.
    pub fn sent(&mut self, index: u16) -> Option<&mut Slot<C>> {
        let handed = self.handed;
        self.slots.get_mut(usize::from(index)).filter(|slot| slot.end <= handed)
    }

    /// A call that awaited replies waits again, to be encoded further.
    pub fn go_on(&mut self, index: u16) {
        if let Some(slot) = self.sent(index) {
            slot.end = NOWHERE;
            self.waiting.push_back(index);
        }
    }

    /// A call that awaited replies waits until the user's clock shows `when`, to be encoded once more.
    /// For pipelines over a stream.
    pub fn go_on_at(&mut self, index: u16, when: u64) {
        if let Some(slot) = self.sent(index) {
            slot.end = NOWHERE;
            self.later.push((when, index));
        }
    }

    /// When the first of those that wait for a time goes on.
    pub(crate) fn next_later(&self) -> Option<u64> {
        self.later.iter().map(|(when, _)| *when).min()
    }

    /// Those whose time has come wait to be encoded.
    pub(crate) fn wake(&mut self, now: u64) {
        let waiting = &mut self.waiting;
        self.later.retain(|(when, index)| {
            let stays = *when > now;
            if !stays {
                waiting.push_back(*index);
            }
            stays
        });
    }

    /// Ends a call that awaited replies.
    pub fn finish(&mut self, index: u16) {
        if let Some(slot) = self.sent(index) {
            slot.end = NOWHERE;
            self.free.push(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_for_calls_that_the_kernel_has() {
        let mut calls = InFlight::new(["a", "b"].into_iter());
        assert_eq!(calls.begin(7).unwrap().tag, 7);
        assert!(calls.begin(8).is_some() && calls.begin(9).is_none());
        calls.encoded(100);
        assert!(calls.sent(0).is_none() && calls.sent(1).is_none(), "not handed over yet");
        calls.handed(99, 1);
        assert!(calls.sent(0).is_none());
        calls.handed(100, 2);
        assert_eq!(calls.sent(0).map(|slot| (slot.tag, slot.sent)), Some((7, 2)));
        assert!(calls.sent(1).is_none() && calls.sent(2).is_none());
        calls.go_on(0);
        assert!(calls.sent(0).is_none(), "it waits");
        calls.finish(0);
        assert_eq!(calls.count(), 2, "what waits is not ended by a reply");
        assert_eq!(calls.waiting().map(|(index, _)| index), Some(1));
        calls.refused();
        assert_eq!(calls.waiting().map(|(index, _)| index), Some(0));
        calls.encoded(150);
        calls.handed(150, 3);
        calls.finish(0);
        calls.finish(0);
        assert_eq!(calls.count(), 0);
    }

    #[test]
    fn calls_that_wait_for_a_time_wait_in_nobodys_way() {
        let mut calls = InFlight::new(["a", "b", "c"].into_iter());
        for tag in 0..3 {
            calls.begin(tag).unwrap();
            calls.encoded(u64::from(tag) + 1);
        }
        calls.handed(3, 1);
        calls.go_on_at(0, 70);
        calls.go_on_at(1, 50);
        calls.go_on(2);
        assert!(calls.sent(0).is_none() && calls.count() == 3, "it is in flight, and not sent");
        let order = |calls: &mut InFlight<_>| {
            let next = calls.waiting().map(|(index, _)| index);
            calls.encoded(4);
            next
        };
        assert_eq!((order(&mut calls), order(&mut calls)), (Some(2), None));
        calls.wake(49);
        assert_eq!((order(&mut calls), calls.next_later()), (None, Some(50)));
        calls.wake(50);
        assert_eq!((order(&mut calls), calls.next_later()), (Some(1), Some(70)));
        calls.wake(1000);
        assert_eq!((order(&mut calls), calls.next_later()), (Some(0), None));
    }
}
