//! Frames put together from received bytes, in place (MS-SMB2, section 2.1).

use crate::Error;
use std::ops::Range;

/// Length in front of each frame in bytes: a zero, and 24 bits.
const PREFIX: usize = 4;
/// Bytes asked for in one receive unless the frame under way needs more. Small replies arrive many
/// at a time; and no more than this of a *next* frame comes with the end of a large one, so little
/// is ever moved to make room.
const CHUNK: usize = 128 * 1024;

/// Most bytes of a long frame asked for in one receive. Reading on while the rest is under way took
/// no more CPU time than waiting for more of it, and seemed to take less.
const PIECE: usize = 256 * 1024;

/// A buffer of fixed size that received bytes are put into and whole frames are read from.
pub(crate) struct FrameBuffer {
    bytes: Box<[u8]>,
    limit: usize,
    /// What is not looked at yet.
    unread: Range<usize>,
}

impl FrameBuffer {
    /// A buffer for frames of at most `limit` bytes. It never grows.
    pub fn new(limit: usize) -> Self {
        let bytes = vec![0; limit + CHUNK + PREFIX].into_boxed_slice();
        FrameBuffer { bytes, limit, unread: 0..0 }
    }

    /// Length of the frame at the front, if its prefix is there.
    fn length(&self) -> Result<Option<usize>, Error> {
        let Some(prefix) = self.bytes[self.unread.clone()].first_chunk::<PREFIX>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes(*prefix) as usize;
        if prefix[0] != 0 {
            return Err(Error::Malformed("a frame does not begin with a zero".into()));
        }
        if length > self.limit {
            return Err(Error::TooLong { length, limit: self.limit });
        }
        Ok(Some(length))
    }

    /// The next whole frame, or `None` until more bytes have come.
    pub fn next_frame(&mut self) -> Result<Option<&mut [u8]>, Error> {
        match self.length()? {
            Some(length) if self.unread.len() >= PREFIX + length => {
                let start = self.unread.start + PREFIX;
                self.unread.start = start + length;
                Ok(Some(&mut self.bytes[start..start + length]))
            }
            _ => Ok(None),
        }
    }

    /// Where to receive to: never empty, and no longer than is good for the frame under way.
    pub fn room(&mut self) -> &mut [u8] {
        let missing = match self.length() {
            Ok(Some(length)) => (PREFIX + length).saturating_sub(self.unread.len()),
            _ => 0,
        };
        let wanted = missing.clamp(CHUNK, PIECE);
        if self.unread.is_empty() || self.bytes.len() - self.unread.end < wanted {
            self.bytes.copy_within(self.unread.clone(), 0);
            self.unread = 0..self.unread.len();
        }
        let end = (self.unread.end + wanted).min(self.bytes.len());
        &mut self.bytes[self.unread.end..end]
    }

    /// Notes that so many bytes of the room have been filled.
    pub fn filled(&mut self, count: usize) {
        self.unread.end = (self.unread.end + count).min(self.bytes.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frame(content: &[u8]) -> Vec<u8> {
        [&(content.len() as u32).to_be_bytes(), content].concat()
    }

    #[test]
    fn too_long_and_foreign_frames_are_refused() {
        for (bytes, refused) in [
            ([0, 0, 0, 100], false),
            ([0, 0, 0, 101], true),
            ([0, 0xff, 0xff, 0xff], true),
            ([0x85, 0, 0, 0], true),
        ] {
            let mut buffer = FrameBuffer::new(100);
            buffer.room()[..4].copy_from_slice(&bytes);
            buffer.filled(4);
            assert_eq!(buffer.next_frame().is_err(), refused, "{bytes:?}");
            assert!(!buffer.room().is_empty());
        }
    }

    proptest! {
        /// However the bytes come in, the frames come out.
        #[test]
        fn frames_survive_any_cut(
            contents in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 1..20),
            steps in prop::collection::vec(1usize..200, 1..10),
        ) {
            let stream: Vec<u8> = contents.iter().flat_map(|c| frame(c)).collect();
            let mut buffer = FrameBuffer::new(300);
            let (mut at, mut out) = (0, Vec::new());
            for step in steps.iter().cycle() {
                let room = buffer.room();
                prop_assert!(!room.is_empty());
                let count = (*step).min(room.len()).min(stream.len() - at);
                room[..count].copy_from_slice(&stream[at..at + count]);
                buffer.filled(count);
                at += count;
                while let Some(frame) = buffer.next_frame().unwrap() {
                    out.push(frame.to_vec());
                }
                if at == stream.len() {
                    break;
                }
            }
            prop_assert_eq!(out, contents);
        }
    }
}
