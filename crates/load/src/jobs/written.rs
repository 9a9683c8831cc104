//! Which blocks of a file were written, so that they can be read back.

use std::num::NonZeroU32;

/// Which blocks of a file were rewritten during a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    block: NonZeroU32,
    acknowledged: Vec<u64>,
    issued: Vec<u64>,
}

/// What is known of a range of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RangeState {
    /// Untouched since it was laid out.
    LaidOut,
    /// Rewritten, and the write was acknowledged.
    Rewritten,
    /// A write was issued but not acknowledged.
    Unsure,
}

impl Written {
    /// Nothing written yet in a file of `size` bytes that is written in blocks of `block`.
    pub fn new(size: u64, block: NonZeroU32) -> Written {
        let words = size.div_ceil(u64::from(block.get())).div_ceil(64) as usize;
        Written { block, acknowledged: vec![0; words], issued: vec![0; words] }
    }

    /// Nothing to keep: for workers that only read.
    pub(crate) fn nothing() -> Written {
        Written::new(0, NonZeroU32::MIN)
    }

    /// Number of blocks whose write was acknowledged.
    pub fn blocks(&self) -> u64 {
        self.acknowledged.iter().map(|w| u64::from(w.count_ones())).sum()
    }

    /// Whether a write was issued, acknowledged or not.
    pub(crate) fn any(&self) -> bool {
        self.issued.iter().any(|word| *word != 0)
    }

    /// Adds what another worker wrote to the same file.
    pub fn add(&mut self, other: &Written) {
        if self.issued.is_empty() {
            self.block = other.block;
        }
        for (mine, theirs) in
            [(&mut self.acknowledged, &other.acknowledged), (&mut self.issued, &other.issued)]
        {
            mine.resize(mine.len().max(theirs.len()), 0);
            for (word, more) in mine.iter_mut().zip(theirs) {
                *word |= more;
            }
        }
    }

    #[inline]
    pub(crate) fn issue(&mut self, offset: u64) {
        set(&mut self.issued, offset / u64::from(self.block.get()));
    }

    #[inline]
    pub(crate) fn acknowledge(&mut self, offset: u64) {
        set(&mut self.acknowledged, offset / u64::from(self.block.get()));
    }

    /// The longest range from `offset`, at most `length` long, of which one thing is known.
    pub(crate) fn state(&self, offset: u64, length: u64) -> (RangeState, u64) {
        let block = u64::from(self.block.get());
        let state = self.block_state(offset / block);
        let end = offset + length;
        let mut next = offset - offset % block + block;
        while next < end && self.block_state(next / block) == state {
            next += block;
        }
        (state, next.min(end) - offset)
    }

    fn block_state(&self, block: u64) -> RangeState {
        // Every rewrite of a block in a trial writes the same bytes: one acknowledged is enough.
        match (get(&self.acknowledged, block), get(&self.issued, block)) {
            (true, _) => RangeState::Rewritten,
            (false, true) => RangeState::Unsure,
            (false, false) => RangeState::LaidOut,
        }
    }
}

#[inline]
fn set(words: &mut [u64], bit: u64) {
    if let Some(word) = words.get_mut((bit / 64) as usize) {
        *word |= 1 << (bit % 64);
    }
}

fn get(words: &[u64], bit: u64) -> bool {
    words.get((bit / 64) as usize).is_some_and(|word| word >> (bit % 64) & 1 == 1)
}
