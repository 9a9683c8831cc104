//! Lies of a server: changes of a transcript, the same ones for the same seed.

use super::transcript::{
    CLOSED, FIRST, LATER, MORE, PIECES, RAW, STALE, Step, TWICE, Transcript, WITHHELD,
};

/// A sequence of numbers by chance (SplitMix64).
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Chance {
        Chance(seed)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % end.max(1) as u64) as usize
    }
}

/// Numbers at which programs trip.
const CORNERS: [u32; 12] =
    [0, 1, 2, 63, 64, 255, 0x7fff, 0xffff, 0x1_0001, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];

impl Transcript {
    /// Changes when and how often a frame comes, but no content: what a client then still takes
    /// for an answer is the true one.
    pub fn disturb(&mut self, chance: &mut Chance) {
        if self.0.is_empty() {
            return;
        }
        let how = [TWICE, WITHHELD, LATER, CLOSED, PIECES, LATER | PIECES, LATER | TWICE];
        let at = chance.below(self.0.len());
        self.0[at].flags ^= how[chance.below(how.len())];
    }

    /// Changes a message.
    pub fn distort(&mut self, chance: &mut Chance) {
        if self.0.is_empty() {
            return;
        }
        let (at, other) = (chance.below(self.0.len()), chance.below(self.0.len()));
        let kind = chance.below(14);
        let elsewhere = self.0[other].clone();
        let step = &mut self.0[at];
        let length = step.frame.len();
        let place = chance.below(length);
        match kind {
            0..3 if length > 0 => step.frame[place] ^= 1 << chance.below(8),
            3..7 if length > 4 => {
                // Numbers stand at multiples of four, or of two.
                let place = place.min(length - 4) & if kind < 5 { !3 } else { !1 };
                let number = CORNERS[chance.below(CORNERS.len())];
                let bytes = if kind.is_multiple_of(2) {
                    number.to_be_bytes()
                } else {
                    number.to_le_bytes()
                };
                step.frame[place..place + 4].copy_from_slice(&bytes);
            }
            7 => step.frame.truncate(place),
            8 => {
                let count = 1 + chance.below(64);
                step.frame.extend((0..count).map(|_| chance.below(256) as u8));
            }
            9 => {
                let count = (1 + chance.below(32)).min(length - place.min(length));
                let from = chance.below(elsewhere.frame.len());
                let taken = elsewhere.frame.iter().skip(from);
                for (to, byte) in step.frame[place.min(length)..][..count].iter_mut().zip(taken) {
                    *to = *byte;
                }
            }
            10 => step.flags ^= [RAW, STALE, MORE, FIRST][chance.below(4)],
            11 => self.0.swap(at, other),
            12 => drop(self.0.remove(at)),
            _ => self.0.insert(at, Step { flags: self.0[at].flags & !FIRST, ..elsewhere }),
        }
    }
}
