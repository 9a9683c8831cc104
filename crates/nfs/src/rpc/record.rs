//! Record marking (RFC 5531, section 11): replies put together from fragments, in place.

use super::message::{LAST_FRAGMENT, MARK_BYTES};
use crate::Error;
use std::ops::Range;

/// Bytes asked for in one receive unless the record under way needs more. Small replies arrive
/// many at a time; and no more than this of a *next* record comes with the end of a large one, so
/// little is ever moved to make room.
const CHUNK: usize = 128 * 1024;
/// Empty fragments taken in one record. The format allows them; an endless row of them does not
/// keep us.
const MOST_EMPTY: u32 = 16;

/// A buffer of fixed size that received bytes are put into and whole records are read from.
///
/// A record of one fragment, which is what servers send, is never copied, apart from the few
/// bytes of it (at most one `CHUNK`) that may have come with its predecessor. Later fragments
/// are moved together over their marks.
///
/// Order in `bytes`: the record being put together `[start, assembled)`, a gap where marks have
/// been, bytes not looked at `[unread, end)`, room.
#[derive(Debug)]
pub struct RecordBuffer {
    bytes: Box<[u8]>,
    limit: usize,
    start: usize,
    assembled: usize,
    unread: usize,
    end: usize,
    in_record: bool,
    empty_fragments: u32,
}

impl RecordBuffer {
    /// A buffer for records of at most `limit` bytes. It never grows.
    pub fn new(limit: usize) -> Self {
        let size = limit.saturating_add(CHUNK).saturating_add(MARK_BYTES);
        RecordBuffer {
            bytes: vec![0; size].into_boxed_slice(),
            limit,
            start: 0,
            assembled: 0,
            unread: 0,
            end: 0,
            in_record: false,
            empty_fragments: 0,
        }
    }

    /// The next whole record, as a place for [`record`](Self::record), or `None` until more
    /// bytes have come. The place is good until the next call of `next_record` or `room`.
    pub fn next_record(&mut self) -> Result<Option<Range<usize>>, Error> {
        while let Some((length, last)) = self.mark()? {
            if !self.in_record {
                (self.start, self.assembled) = (self.unread + MARK_BYTES, self.unread + MARK_BYTES);
            }
            let total = self.assembled - self.start + length;
            if total > self.limit {
                return Err(Error::RecordTooLong { length: total, limit: self.limit });
            }
            if self.end - self.unread < MARK_BYTES + length {
                if !self.in_record {
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
            self.in_record = !last;
            if last {
                self.empty_fragments = 0;
                return Ok(Some(self.start..self.assembled));
            }
            self.empty_fragments += u32::from(length == 0);
            if self.empty_fragments > MOST_EMPTY {
                return Err(Error::EmptyFragments);
            }
        }
        Ok(None)
    }

    /// The fragment's mark at the front of what is unread: its length, and whether it is the last.
    fn mark(&self) -> Result<Option<(usize, bool)>, Error> {
        let unread = &self.bytes[self.unread..self.end];
        let Some(mark) = unread.first_chunk::<MARK_BYTES>().map(|m| u32::from_be_bytes(*m)) else {
            return Ok(None);
        };
        let length = (mark & !LAST_FRAGMENT) as usize;
        if length > self.limit {
            return Err(Error::RecordTooLong { length, limit: self.limit });
        }
        Ok(Some((length, mark & LAST_FRAGMENT != 0)))
    }

    /// The bytes of a record that `next_record` gave.
    pub fn record(&self, place: Range<usize>) -> &[u8] {
        self.bytes.get(place).unwrap_or(&[])
    }

    /// Where to receive to: never empty, and no longer than is good for the record under way.
    /// Records given before are gone after it.
    pub fn room(&mut self) -> &mut [u8] {
        if !self.in_record {
            (self.start, self.assembled) = (self.unread, self.unread);
        }
        let have = self.end - self.unread;
        let missing = match self.mark() {
            Ok(Some((length, _))) => (length + MARK_BYTES).saturating_sub(have),
            _ => 0,
        };
        let wanted = missing.max(CHUNK);
        let free = self.bytes.len() - self.end;
        let nothing_kept = self.start == self.unread && have == 0;
        if nothing_kept || free < wanted {
            self.compact();
        }
        let to = self.bytes.len().min(self.end + wanted);
        &mut self.bytes[self.end..to]
    }

    /// Moves what is kept to the front and closes the gap.
    fn compact(&mut self) {
        let kept = self.assembled - self.start;
        self.bytes.copy_within(self.start..self.assembled, 0);
        self.bytes.copy_within(self.unread..self.end, kept);
        self.end = kept + (self.end - self.unread);
        (self.start, self.assembled, self.unread) = (0, kept, kept);
    }

    /// Says how many bytes were put into the room.
    pub fn filled(&mut self, count: usize) {
        self.end = self.bytes.len().min(self.end + count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fragment(bytes: &[u8], last: bool) -> Vec<u8> {
        let mark = bytes.len() as u32 | if last { LAST_FRAGMENT } else { 0 };
        [&mark.to_be_bytes()[..], bytes].concat()
    }

    /// Feeds a stream in pieces of the given sizes and collects the records.
    fn feed(
        buffer: &mut RecordBuffer,
        mut stream: &[u8],
        pieces: &[usize],
    ) -> Result<Vec<Vec<u8>>, Error> {
        let mut records = Vec::new();
        let mut sizes = pieces.iter().copied().cycle();
        while !stream.is_empty() {
            let room = buffer.room();
            assert!(!room.is_empty());
            let n = sizes.next().unwrap_or(1).max(1).min(room.len()).min(stream.len());
            room[..n].copy_from_slice(&stream[..n]);
            buffer.filled(n);
            stream = &stream[n..];
            while let Some(place) = buffer.next_record()? {
                records.push(buffer.record(place).to_vec());
            }
        }
        Ok(records)
    }

    #[test]
    fn lengths_are_checked_before_bytes_come() {
        let mut buffer = RecordBuffer::new(100);
        let stream = 0xffff_ffffu32.to_be_bytes();
        assert!(matches!(
            feed(&mut buffer, &stream, &[4]),
            Err(Error::RecordTooLong { length: 0x7fff_ffff, limit: 100 })
        ));
        let mut buffer = RecordBuffer::new(100);
        let stream = [fragment(&[1; 60], false), fragment(&[1; 60], true)].concat();
        assert!(matches!(
            feed(&mut buffer, &stream, &[7]),
            Err(Error::RecordTooLong { length: 120, limit: 100 })
        ));
    }

    #[test]
    fn endless_empty_fragments_are_refused() {
        let mut buffer = RecordBuffer::new(100);
        let few = [vec![0; 4 * MOST_EMPTY as usize], fragment(b"x", true)].concat();
        assert_eq!(feed(&mut buffer, &few, &[3]).unwrap(), [b"x"]);
        assert_eq!(feed(&mut buffer, &[0; 1000], &[64]), Err(Error::EmptyFragments));
    }

    #[test]
    fn large_records_are_not_moved() {
        let limit = 1 << 20;
        let mut buffer = RecordBuffer::new(limit);
        let stream = [fragment(&vec![1; limit], true), fragment(&vec![2; limit], true)].concat();
        let records = feed(&mut buffer, &stream, &[usize::MAX]).unwrap();
        assert_eq!(records, [vec![1; limit], vec![2; limit]]);
        assert!(buffer.bytes.len() <= limit + CHUNK + MARK_BYTES);
    }

    proptest! {
        #[test]
        fn any_cut_into_fragments_and_pieces_gives_the_same_records(
            records in prop::collection::vec(prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..5), 1..8),
            pieces in prop::collection::vec(1usize..90, 1..10),
        ) {
            let mut stream = Vec::new();
            let mut expected = Vec::new();
            for fragments in &records {
                for (i, bytes) in fragments.iter().enumerate() {
                    stream.extend(fragment(bytes, i + 1 == fragments.len()));
                }
                expected.push(fragments.concat());
            }
            let mut buffer = RecordBuffer::new(200);
            prop_assert_eq!(feed(&mut buffer, &stream, &pieces).unwrap(), expected.clone());
            // Once more through the same buffer, shrunk so that it must compact.
            buffer.bytes = vec![0; 200 + 64].into_boxed_slice();
            (buffer.start, buffer.assembled, buffer.unread, buffer.end) = (0, 0, 0, 0);
            prop_assert_eq!(feed(&mut buffer, &stream, &pieces).unwrap(), expected);
        }

        #[test]
        fn any_stream_is_read_or_refused(stream in prop::collection::vec(any::<u8>(), 0..600),
                                         pieces in prop::collection::vec(1usize..90, 1..4)) {
            let _ = feed(&mut RecordBuffer::new(256), &stream, &pieces);
        }
    }
}
