//! Page-aligned memory, as O_DIRECT asks for, without unsafe code.

use std::ops::{Deref, DerefMut};

/// Bytes that start on a 4 KiB boundary in memory. The length is fixed.
pub(crate) struct AlignedBuffer {
    bytes: Vec<u8>,
    start: usize,
    length: usize,
}

const ALIGNMENT: usize = 4096;

impl AlignedBuffer {
    /// `length` zero bytes.
    pub(crate) fn new(length: usize) -> Self {
        // One page more than asked for, and a slice of it that begins where a page does. The
        // vector never grows, so its memory stays where it is.
        let bytes = vec![0u8; length + ALIGNMENT];
        let start = bytes.as_ptr().addr().wrapping_neg() % ALIGNMENT;
        AlignedBuffer { bytes, start, length }
    }
}

impl Deref for AlignedBuffer {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.length]
    }
}

impl DerefMut for AlignedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.length]
    }
}
