//! Frames put together from received bytes, in place.

use std::marker::PhantomData;
use std::ops::Range;

/// Length of the mark in front of each fragment, in bytes.
pub(super) const MARK_BYTES: usize = 4;
/// Bytes asked for in one receive unless the frame under way needs more. Small replies arrive many
/// at a time; and no more than this of a *next* frame comes with the end of a large one, so little
/// is ever moved to make space.
const CHUNK: usize = 128 * 1024;
/// Most bytes of a long frame asked for in one receive. Reading on while the rest is under way took
/// no more CPU time than waiting for more of it, and seemed to take less.
const PIECE: usize = 256 * 1024;
/// Most bytes that fill data up to the end of a frame.
const PADDING_MOST: usize = 8;
/// Empty fragments taken in one frame. Some formats allow them; an endless row of them does not
/// keep us.
const MOST_EMPTY: u32 = 16;

/// How frames are marked in a stream: four bytes in front of each fragment.
pub trait Mark {
    /// What is wrong with a mark.
    type Error: From<BadFrame>;
    /// The length in bytes of the fragment that follows, and whether it is the last of its frame.
    fn parse(mark: [u8; MARK_BYTES]) -> Result<(usize, bool), Self::Error>;
}

/// What is wrong with a frame, whatever is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadFrame {
    /// It is longer than any that was asked for.
    TooLong {
        /// Length claimed so far.
        length: usize,
        /// The most that is taken.
        limit: usize,
    },
    /// It has too many empty fragments: nobody has a reason to send them.
    EmptyFragments,
    /// One to be sent: the payload is not as long as was announced.
    Payload {
        /// Its length.
        length: usize,
        /// The length announced.
        announced: usize,
    },
}

/// A buffer of fixed size that received bytes are put into and whole frames are read from.
///
/// A frame of one fragment, which is what servers send, is never copied, apart from the few
/// bytes of it (at most one `CHUNK`) that may have come with its predecessor. Later fragments
/// are moved together over their marks.
///
/// Order in `bytes`: the frame being put together `[start, assembled)`, a gap where marks have
/// been, bytes not looked at `[unread, end)`, what remains.
#[derive(Debug)]
pub struct FrameBuffer<M> {
    mark: PhantomData<M>,
    bytes: Box<[u8]>,
    limit: usize,
    start: usize,
    assembled: usize,
    unread: usize,
    end: usize,
    in_frame: bool,
    empty_fragments: u32,
}

impl<M: Mark> FrameBuffer<M> {
    /// A buffer for frames of at most `limit` bytes. It never grows.
    pub fn new(limit: usize) -> Self {
        let size = limit.saturating_add(CHUNK).saturating_add(MARK_BYTES);
        FrameBuffer {
            mark: PhantomData,
            bytes: vec![0; size].into_boxed_slice(),
            limit,
            start: 0,
            assembled: 0,
            unread: 0,
            end: 0,
            in_frame: false,
            empty_fragments: 0,
        }
    }

    /// The next whole frame, as a place for [`frame`](Self::frame), or `None` until more
    /// bytes have come. The place is good until the next call of `next_frame` or `remaining`.
    pub fn next_frame(&mut self) -> Result<Option<Range<usize>>, M::Error> {
        while let Some((length, last)) = self.mark()? {
            if !self.in_frame {
                (self.start, self.assembled) = (self.unread + MARK_BYTES, self.unread + MARK_BYTES);
            }
            let total = self.assembled - self.start + length;
            if total > self.limit {
                return Err(BadFrame::TooLong { length: total, limit: self.limit }.into());
            }
            if self.end - self.unread < MARK_BYTES + length {
                if !self.in_frame {
                    (self.start, self.assembled) = (self.unread, self.unread);
                }
                return Ok(None);
            }
            let fragment = self.unread + MARK_BYTES..self.unread + MARK_BYTES + length;
            self.unread = fragment.end;
            if fragment.start != self.assembled {
                self.bytes.copy_within(fragment, self.assembled);
            }
            self.assembled += length;
            self.in_frame = !last;
            if last {
                self.empty_fragments = 0;
                return Ok(Some(self.start..self.assembled));
            }
            self.empty_fragments += u32::from(length == 0);
            if self.empty_fragments > MOST_EMPTY {
                return Err(BadFrame::EmptyFragments.into());
            }
        }
        Ok(None)
    }

    /// The fragment's mark at the front of what is unread: its length, and whether it is the last.
    fn mark(&self) -> Result<Option<(usize, bool)>, M::Error> {
        let unread = &self.bytes[self.unread..self.end];
        let Some(mark) = unread.first_chunk::<MARK_BYTES>() else { return Ok(None) };
        let (length, last) = M::parse(*mark)?;
        if length > self.limit {
            return Err(BadFrame::TooLong { length, limit: self.limit }.into());
        }
        Ok(Some((length, last)))
    }

    /// The bytes of a frame that `next_frame` gave.
    pub fn frame(&mut self, place: Range<usize>) -> &mut [u8] {
        self.bytes.get_mut(place).unwrap_or(&mut [])
    }

    /// Where to receive to: never empty, and no longer than is good for the frame under way.
    /// Frames given before are gone after it.
    pub fn remaining(&mut self) -> &mut [u8] {
        if !self.in_frame {
            (self.start, self.assembled) = (self.unread, self.unread);
        }
        let have = self.end - self.unread;
        let missing = match self.mark() {
            Ok(Some((length, _))) => (length + MARK_BYTES).saturating_sub(have),
            _ => 0,
        };
        let wanted = missing.clamp(CHUNK, PIECE);
        let free = self.bytes.len() - self.end;
        let nothing_kept = self.start == self.unread && have == 0;
        if nothing_kept || free < wanted {
            self.compact();
        }
        let to = self.bytes.len().min(self.end + wanted);
        &mut self.bytes[self.end..to]
    }

    /// The frame under way, where it is of one fragment: the place of what has come of it, without its mark, for
    /// [`frame`](Self::frame); `None` also where nothing of it is missing.
    pub(super) fn under_way(&self) -> Option<Range<usize>> {
        let (length, last) = self.mark().ok()??;
        let place = self.unread + MARK_BYTES..self.end;
        (!self.in_frame && last && place.len() < length).then_some(place)
    }

    /// Where the rest of the frame under way would be received to: for those who let the kernel drop it. Its last
    /// bytes are zeroes, as the padding of what is dropped has to be.
    pub(super) fn rest(&mut self) -> &mut [u8] {
        let Some(place) = self.under_way() else { return &mut [] };
        let missing = match self.mark() {
            Ok(Some((length, _))) => length - place.len(),
            _ => 0,
        };
        (self.start, self.assembled) = (self.unread, self.unread);
        if self.bytes.len() - self.end < missing {
            self.compact();
        }
        let rest = &mut self.bytes[self.end..self.end + missing];
        let padding = missing.saturating_sub(PADDING_MOST);
        rest[padding..].fill(0);
        rest
    }

    /// Moves what is kept to the front and closes the gap.
    fn compact(&mut self) {
        let kept = self.assembled - self.start;
        self.bytes.copy_within(self.start..self.assembled, 0);
        self.bytes.copy_within(self.unread..self.end, kept);
        self.end = kept + (self.end - self.unread);
        (self.start, self.assembled, self.unread) = (0, kept, kept);
    }

    /// Where a datagram is received to: a whole frame without a mark, whose place begins at 0. All
    /// frames given before are gone after it.
    pub fn datagram(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.limit]
    }

    /// Notes how many bytes were put there.
    pub fn filled(&mut self, count: usize) {
        self.end = self.bytes.len().min(self.end + count);
    }
}

#[cfg(test)]
mod tests;
