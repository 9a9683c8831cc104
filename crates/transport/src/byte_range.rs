/// Bytes of a file that are locked, whether or not it has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteRange {
    /// Offset in bytes.
    pub offset: u64,
    /// Length in bytes.
    pub length: u64,
}

/// How bytes are locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// Against those who write. Others can lock them the same way.
    Shared,
    /// Against all others.
    Exclusive,
}

impl ByteRange {
    /// All bytes that a file can have.
    pub const WHOLE: ByteRange = ByteRange { offset: 0, length: u64::MAX };

    /// Whether both have a byte in common.
    pub fn overlaps(&self, other: &ByteRange) -> bool {
        self.offset < other.offset.saturating_add(other.length)
            && other.offset < self.offset.saturating_add(self.length)
    }
}
