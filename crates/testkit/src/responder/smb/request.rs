//! Fields of requests, which may be anybody's: what lies outside is not there.

use super::Status;

/// Length of the header in bytes.
pub(super) const HEADER: usize = 64;

/// Bytes at a place.
pub(super) fn bytes(message: &[u8], at: usize, length: usize) -> Option<&[u8]> {
    message.get(at..)?.get(..length)
}

fn array<const N: usize>(message: &[u8], at: usize) -> Option<[u8; N]> {
    message.get(at..)?.first_chunk().copied()
}

pub(super) fn u16_at(message: &[u8], at: usize) -> Option<u16> {
    array(message, at).map(u16::from_le_bytes)
}

pub(super) fn u32_at(message: &[u8], at: usize) -> Option<u32> {
    array(message, at).map(u32::from_le_bytes)
}

pub(super) fn u64_at(message: &[u8], at: usize) -> Option<u64> {
    array(message, at).map(u64::from_le_bytes)
}

/// UTF-16 in bytes as text; what is none is replaced.
pub(super) fn text(utf16: &[u8]) -> String {
    let units: Vec<u16> =
        utf16.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    String::from_utf16_lossy(&units)
}

/// A request, which has a header.
#[derive(Clone, Copy)]
pub(super) struct Request<'a>(pub &'a [u8]);

impl<'a> Request<'a> {
    pub fn u8(self, at: usize) -> Result<u8, Status> {
        self.0.get(at).copied().ok_or(Status::INVALID)
    }
    pub fn u16(self, at: usize) -> Result<u16, Status> {
        u16_at(self.0, at).ok_or(Status::INVALID)
    }
    pub fn u32(self, at: usize) -> Result<u32, Status> {
        u32_at(self.0, at).ok_or(Status::INVALID)
    }
    pub fn u64(self, at: usize) -> Result<u64, Status> {
        u64_at(self.0, at).ok_or(Status::INVALID)
    }
    /// The bytes at an offset that the message names itself.
    pub fn part(self, offset: u16, length: u32) -> Result<&'a [u8], Status> {
        bytes(self.0, offset.into(), length as usize).ok_or(Status::INVALID)
    }
}
