//! The slots of a session: which are free, and how far each has come (RFC 8881, section 2.10.6).

use super::sessions::SequenceOk;
use super::types::SessionId;
use crate::xdr::Error;

/// Most slots of a session that are used.
const MOST: u32 = 4096;

/// The slots of one session, for calls that are in flight at the same time.
#[derive(Debug)]
pub(super) struct Slots {
    session: SessionId,
    /// Number of the next call in each slot.
    sequences: Box<[u32]>,
    /// A bit for each slot in use.
    used: Box<[u64]>,
    /// How many slots the server wants to be used: it may ask for fewer at any time.
    wanted: u32,
}

/// A slot that a call has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Taken {
    pub slot: u32,
    pub sequence: u32,
    /// The highest slot in use.
    pub highest: u32,
}

impl Slots {
    /// The slots of a session whose first one has come to `first`, and of which none is in use.
    pub fn new(session: SessionId, count: u32, first: u32) -> Self {
        let count = count.clamp(1, MOST);
        let mut sequences = vec![1; count as usize].into_boxed_slice();
        sequences[0] = first;
        let used = vec![0; count.div_ceil(64) as usize].into_boxed_slice();
        Slots { session, sequences, used, wanted: count }
    }

    /// The session.
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// Takes the lowest slot that is free, if there is one.
    #[inline]
    pub fn take(&mut self) -> Option<Taken> {
        let word = self.used.iter().position(|word| *word != u64::MAX)?;
        let slot = word as u32 * 64 + self.used[word].trailing_ones();
        if slot >= self.wanted {
            return None;
        }
        self.used[word] |= 1 << (slot % 64);
        let (at, last) = self.used.iter().enumerate().rfind(|(_, word)| **word != 0)?;
        let highest = at as u32 * 64 + 63 - last.leading_zeros();
        Some(Taken { slot, sequence: self.sequences[slot as usize], highest })
    }

    /// The reply to the call in a slot has come: what SEQUENCE gave, or nothing where it was refused;
    /// then the next call in it has the same number.
    #[inline]
    pub fn give_back(&mut self, taken: Taken, ok: Option<&SequenceOk>) -> Result<(), Error> {
        let (word, bit) = ((taken.slot / 64) as usize, 1 << (taken.slot % 64));
        self.used[word] &= !bit;
        let Some(ok) = ok else { return Ok(()) };
        if (ok.session, ok.slot, ok.sequence) != (self.session, taken.slot, taken.sequence) {
            return Err(Error::Invalid("SEQUENCE: the reply belongs to another call"));
        }
        self.sequences[taken.slot as usize] = taken.sequence.wrapping_add(1);
        let target = ok.target_highest_slot.min(ok.highest_slot).saturating_add(1);
        self.wanted = target.min(self.sequences.len() as u32);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nfs4::types::Fixed;

    const ID: SessionId = Fixed([7; 16]);

    fn ok(taken: Taken, target: u32) -> SequenceOk {
        let Taken { slot, sequence, .. } = taken;
        let highest_slot = u32::MAX;
        SequenceOk {
            session: ID,
            sequence,
            slot,
            highest_slot,
            target_highest_slot: target,
            status: 0,
        }
    }

    #[test]
    fn slots_are_taken_from_below_and_counted_each() {
        let mut slots = Slots::new(ID, 70, 5);
        let taken: Vec<_> = std::iter::from_fn(|| slots.take()).collect();
        assert_eq!(taken.len(), 70);
        assert_eq!(taken[0], Taken { slot: 0, sequence: 5, highest: 0 });
        assert_eq!(taken[69], Taken { slot: 69, sequence: 1, highest: 69 });
        slots.give_back(taken[3], Some(&ok(taken[3], 100))).unwrap();
        let again = slots.take().unwrap();
        assert_eq!(again, Taken { slot: 3, sequence: 2, highest: 69 });
        // Refused before it began: the number is used again.
        slots.give_back(again, None).unwrap();
        assert_eq!(slots.take().unwrap().sequence, 2);
        assert_eq!(slots.take(), None);
    }

    #[test]
    fn a_server_may_want_fewer_slots_and_more_again() {
        let mut slots = Slots::new(ID, 8, 1);
        let a = slots.take().unwrap();
        let b = slots.take().unwrap();
        slots.give_back(b, Some(&ok(b, 0))).unwrap();
        assert_eq!(slots.take(), None, "only the first is wanted, and that is in use");
        slots.give_back(a, Some(&ok(a, 1))).unwrap();
        assert_eq!(slots.take().unwrap().slot, 0);
        assert_eq!(slots.take().unwrap().slot, 1);
        assert_eq!(slots.take(), None);
    }

    #[test]
    fn a_reply_must_be_its_slots() {
        let mut slots = Slots::new(ID, 4, 1);
        let a = slots.take().unwrap();
        let wrong = [
            SequenceOk { slot: 1, ..ok(a, 3) },
            SequenceOk { sequence: 2, ..ok(a, 3) },
            SequenceOk { session: Fixed([8; 16]), ..ok(a, 3) },
        ];
        for wrong in wrong {
            assert!(slots.give_back(a, Some(&wrong)).is_err());
        }
    }
}
