//! Which attempt a reply answers, and what it is if nobody waits for it.

use std::ops::AddAssign;

/// What became of datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramCounts {
    /// Calls sent again, as no answer had come in time.
    pub retransmitted: u64,
    /// First replies to attempts that had been given up by then: dropped.
    pub late: u64,
    /// Further replies to an attempt that had one: dropped.
    pub doubled: u64,
    /// What is a reply to nothing that is remembered, or none at all: dropped.
    pub unknown: u64,
}

impl AddAssign for DatagramCounts {
    fn add_assign(&mut self, more: Self) {
        self.retransmitted += more.retransmitted;
        self.late += more.late;
        self.doubled += more.doubled;
        self.unknown += more.unknown;
    }
}

impl DatagramCounts {
    /// Counts a reply that is dropped.
    pub fn dropped(&mut self, heard: Heard) {
        match heard {
            Heard::Now => {}
            Heard::Late => self.late += 1,
            Heard::Doubled => self.doubled += 1,
            Heard::Unknown => self.unknown += 1,
        }
    }
}

/// What a reply is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// The first to the newest attempt.
    Now,
    /// The first to an attempt before the newest.
    Late,
    /// Not the first to its attempt.
    Doubled,
    /// To none that is remembered.
    Unknown,
}

/// The numbers of the last 64 attempts of one caller, which count up by a constant step, and which of
/// them were answered.
#[derive(Clone, Copy, Debug)]
pub struct Attempts {
    newest: u32,
    step: u32,
    /// Bit n: the n-th before the newest was made, was answered.
    made: u64,
    answered: u64,
}

impl Attempts {
    /// None so far; numbers will follow `number` in steps of `step`, a power of two.
    pub fn new(number: u32, step: u32) -> Self {
        Attempts { newest: number, step: step.max(1), made: 0, answered: 0 }
    }

    /// An attempt is made under this number.
    pub fn make(&mut self, number: u32) {
        let by = number.wrapping_sub(self.newest) / self.step;
        let shifted = |bits: u64| bits.checked_shl(by).unwrap_or(0);
        (self.made, self.answered) = (shifted(self.made) | 1, shifted(self.answered));
        self.newest = number;
    }

    /// A reply has come with this number.
    pub fn hear(&mut self, number: u32) -> Heard {
        let before = self.newest.wrapping_sub(number);
        let bit = 1u64.checked_shl(before / self.step).unwrap_or(0);
        if !before.is_multiple_of(self.step) || self.made & bit == 0 {
            return Heard::Unknown;
        }
        let first = self.answered & bit == 0;
        self.answered |= bit;
        match (first, before) {
            (false, _) => Heard::Doubled,
            (true, 0) => Heard::Now,
            (true, _) => Heard::Late,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reply_is_known_for_what_it_is() {
        let mut attempts = Attempts::new(u32::MAX - 7, 4);
        assert_eq!(attempts.hear(u32::MAX - 7), Heard::Unknown, "nothing was sent yet");
        for number in [u32::MAX - 3, 0, 4] {
            attempts.make(number);
        }
        let heard = [0, 4, 4, 0, u32::MAX - 3, u32::MAX - 7, 8, 3, 5, 4];
        let expected = [
            Heard::Late,
            Heard::Now,
            Heard::Doubled,
            Heard::Doubled,
            Heard::Late,
            Heard::Unknown,
            Heard::Unknown,
            Heard::Unknown,
            Heard::Unknown,
            Heard::Doubled,
        ];
        assert_eq!(heard.map(|number| attempts.hear(number)), expected);
        // A number that was passed over was never sent.
        attempts.make(12);
        assert_eq!(
            [12, 8, 4].map(|n| attempts.hear(n)),
            [Heard::Now, Heard::Unknown, Heard::Doubled]
        );
        // What is too long ago is not remembered.
        attempts.make(12 + 4 * 64);
        assert_eq!(attempts.hear(12), Heard::Unknown);
        attempts.make(12 + 4 * 1000);
        assert_eq!(attempts.hear(12 + 4 * 64), Heard::Unknown);
    }
}
