//! Made-up bytes that can be checked.
//!
//! Content is a pure function of (study, file, generation, offset), defined byte by byte, so any
//! range of it can be made and checked alone. It is a pool of 1 MiB of random bytes, repeated,
//! with marks that make every piece of 512 bytes unique:
//!
//! - Each page of 4096 bytes begins with a *stamp* of 32 bytes, all little-endian: study (8),
//!   file (4), generation (4), offset (8), checksum of these (8).
//! - Each other piece of 512 bytes begins with a *mark* of 8 bytes, a bijection of its number
//!   under a key of study, file and generation. It finds pages of which only a part was written,
//!   and blocks smaller than a page that went to a wrong place.
//!
//! The byte at `offset` stands in the pool at `(shift + offset) mod 1 MiB`; the shift is a number
//! of pages that depends on study, file and generation. So a span is one slice of the pool: a
//! [`GeneratedWriter`] patches stamps and marks in place and hands it out, without copying. Nothing
//! repeats within 1 MiB, which is more than file systems compress at a time, and no two pages are
//! equal, so there is nothing to deduplicate.

use super::{ContentError, text};
use crate::aligned::AlignedBuffer;
use crate::op::{FileId, Span};
use crate::random::{SPREAD, mix};
use plimsoll_model::ErrorKind;
use rand_pcg::Pcg64;
use rand_pcg::rand_core::Rng;
use std::sync::Arc;

const PAGE: u64 = 4096;
const PIECE: usize = 512;
const PIECES_PER_PAGE: u64 = PAGE / PIECE as u64;
const POOL: usize = 1 << 20;
const POOL_PAGES: u64 = POOL as u64 / PAGE;
const STAMP: usize = 32;
const MARK: usize = 8;

/// The inverse of [`SPREAD`] modulo 2^64: multiplying is a bijection that can be undone.
const UNSPREAD: u64 = 0xf1de_83e1_9937_733d;

/// How many older generations a piece without a stamp is compared with.
const GENERATIONS_BACK: u32 = 16;

/// Content of one study.
pub(super) struct Generated {
    study: u64,
    pool: Arc<[u8]>,
}

/// What of the pool a buffer holds, apart from stamps and marks, whose places in it are fixed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct PartOfPool {
    position: usize,
    length: usize,
}

/// Makes content, one span at a time, in a private copy of the pool.
pub(super) struct GeneratedWriter {
    study: u64,
    block: usize,
    pool: AlignedBuffer,
}

impl Generated {
    /// The content of a study. Costs 1 MiB of memory and about a millisecond.
    pub fn new(study: u64) -> Generated {
        let mut pool = vec![0; POOL];
        Pcg64::new(u128::from(study), STREAM).fill_bytes(&mut pool);
        Generated { study, pool: pool.into() }
    }

    /// The same with a pool of text, which can be compressed like a program's source: but for the
    /// marks, of which a page has 88 bytes.
    pub fn text(study: u64) -> Generated {
        let mut pool = vec![0; POOL];
        text::fill(&mut pool, &mut Pcg64::new(u128::from(study), STREAM));
        Generated { study, pool: pool.into() }
    }

    /// A writer of spans of at most `block` bytes. Costs 1 MiB + `block` of memory, page-aligned:
    /// spans at multiples of 512 bytes are as aligned in memory as in the file.
    pub fn writer(&self, block: u32) -> GeneratedWriter {
        let mut pool = AlignedBuffer::new(POOL + block as usize);
        for part in pool.chunks_mut(POOL) {
            part.copy_from_slice(&self.pool[..part.len()]);
        }
        GeneratedWriter { study: self.study, block: block as usize, pool }
    }

    /// Makes the bytes of `span` at the start of a buffer of the caller's; a longer span is cut to
    /// it. `holds` remembers what the buffer holds, so that only stamps and marks are written
    /// where it was last made for the same part of the pool; it is `None` for other bytes.
    pub(crate) fn fill(&self, span: &Span, buffer: &mut [u8], holds: &mut Option<PartOfPool>) {
        let edition = Edition::new(self.study, span.file.0, span.generation);
        let length = buffer.len().min(span.length as usize);
        let bytes = &mut buffer[..length];
        let part = PartOfPool { position: edition.position(span.offset), length };
        if *holds != Some(part) {
            let first = bytes.len().min(POOL - part.position);
            let (to_the_end, again) = bytes.split_at_mut(first);
            to_the_end.copy_from_slice(&self.pool[part.position..][..first]);
            for round in again.chunks_mut(POOL) {
                round.copy_from_slice(&self.pool[..round.len()]);
            }
            *holds = Some(part);
        }
        edition.put_heads(span.offset, bytes);
    }

    /// Checks bytes read at `offset` of a file against its content at `generation`. The first
    /// wrong piece of 512 bytes decides the error.
    pub fn check(
        &self,
        file: FileId,
        generation: u32,
        offset: u64,
        data: &[u8],
    ) -> Result<(), ContentError> {
        let edition = Edition::new(self.study, file.0, generation);
        let mut at = 0;
        while at < data.len() {
            let here = offset + at as u64;
            let length = (PIECE - (here % PIECE as u64) as usize).min(data.len() - at);
            if !self.matches(&edition, here, &data[at..at + length]) {
                return Err(self.explain(&edition, offset, data, at, length));
            }
            at += length;
        }
        Ok(())
    }

    /// Whether `piece`, which lies within one 512-byte piece of the file, is as it should be.
    fn matches(&self, edition: &Edition, offset: u64, piece: &[u8]) -> bool {
        let within = (offset % PIECE as u64) as usize;
        let (head, head_length) = edition.head(offset / PIECE as u64);
        let marked = head_length.saturating_sub(within).min(piece.len());
        let position = edition.position(offset);
        piece[..marked] == head[within.min(head_length)..][..marked]
            && piece[marked..] == self.pool[position + marked..position + piece.len()]
    }

    /// Tells what the wrong piece `data[at..at + length]` is instead.
    fn explain(
        &self,
        expected: &Edition,
        offset: u64,
        data: &[u8],
        at: usize,
        length: usize,
    ) -> ContentError {
        let here = offset + at as u64;
        let error = |kind, found: String| ContentError {
            kind,
            detail: format!(
                "file {} generation {} at byte {here}: found {found}",
                expected.file, expected.generation
            ),
        };
        // A stamp where this page begins, or (content of another place) where this piece does.
        let piece = &data[at..at + length];
        let page = here - here % PAGE;
        let of_page = page.checked_sub(offset).and_then(|from| data.get(from as usize..));
        let stamp = of_page.and_then(Stamp::read).or_else(|| Stamp::read(piece));
        if let Some(stamp) = stamp {
            if stamp.study != self.study {
                return error(ErrorKind::StaleContent, "content of another study".into());
            }
            if (stamp.file, stamp.offset) != (expected.file, page) {
                let found = format!("content of file {} at offset {}", stamp.file, stamp.offset);
                return error(ErrorKind::MisplacedContent, found);
            }
            if stamp.generation != expected.generation {
                let found = format!("generation {}", stamp.generation);
                return error(ErrorKind::StaleContent, found);
            }
        }
        for back in 1..=GENERATIONS_BACK.min(expected.generation) {
            let generation = expected.generation - back;
            let older = Edition::new(self.study, expected.file, generation);
            if self.matches(&older, here, piece) {
                return error(ErrorKind::StaleContent, format!("generation {generation}"));
            }
        }
        if here.is_multiple_of(PIECE as u64)
            && let Some(mark) = piece.first_chunk::<MARK>()
            && let Some(place) = expected.place_of(u64::from_le_bytes(*mark))
            && self.matches(expected, place, piece)
        {
            return error(ErrorKind::MisplacedContent, format!("content of offset {place}"));
        }
        let found = if piece.iter().all(|b| *b == 0) {
            "zeros (never written, or lost)"
        } else {
            "content that plimsoll never wrote"
        };
        error(ErrorKind::CorruptContent, found.into())
    }
}

impl GeneratedWriter {
    /// The bytes of `span`, valid until the next call. A span longer than the writer's block is
    /// cut to it.
    pub fn fill(&mut self, span: &Span) -> &[u8] {
        let edition = Edition::new(self.study, span.file.0, span.generation);
        let position = edition.position(span.offset);
        let length = (span.length as usize).min(self.block);
        let bytes = &mut self.pool[position..position + length];
        edition.put_heads(span.offset, bytes);
        bytes
    }
}

/// One generation of one file's content.
struct Edition {
    study: u64,
    file: u32,
    generation: u32,
    shift: u64,
    key: u64,
}

impl Edition {
    fn new(study: u64, file: u32, generation: u32) -> Edition {
        let of_file = mix(study ^ mix(u64::from(file)));
        Edition {
            study,
            file,
            generation,
            // An odd step: 256 generations in a row have different shifts.
            shift: of_file.wrapping_add(u64::from(generation).wrapping_mul(97)) % POOL_PAGES * PAGE,
            key: mix(of_file ^ u64::from(generation)),
        }
    }

    /// Where the byte at `offset` stands in the pool.
    fn position(&self, offset: u64) -> usize {
        (self.shift.wrapping_add(offset) % POOL as u64) as usize
    }

    /// Puts stamps and marks where they belong in `bytes`, which stand at `offset` in the file.
    fn put_heads(&self, offset: u64, bytes: &mut [u8]) {
        let mut at = 0;
        while at < bytes.len() {
            let here = offset + at as u64;
            let (piece, within) = (here / PIECE as u64, (here % PIECE as u64) as usize);
            let rest = &mut bytes[at..];
            if within == 0
                && !piece.is_multiple_of(PIECES_PER_PAGE)
                && let Some(mark) = rest.first_chunk_mut()
            {
                // Seven of eight, so worth a way of their own.
                *mark = self.mark(piece);
            } else {
                let (head, head_length) = self.head(piece);
                let n = head_length.saturating_sub(within).min(rest.len());
                rest[..n].copy_from_slice(&head[within.min(head_length)..][..n]);
            }
            at += PIECE - within;
        }
    }

    /// The mark of a piece.
    #[inline]
    fn mark(&self, piece: u64) -> [u8; MARK] {
        (piece.wrapping_mul(SPREAD) ^ self.key).to_le_bytes()
    }

    /// Stamp or mark at the head of a 512-byte piece, and its length.
    #[inline]
    fn head(&self, piece: u64) -> ([u8; STAMP], usize) {
        let mut head = [0; STAMP];
        if piece.is_multiple_of(PIECES_PER_PAGE) {
            let offset = piece.wrapping_mul(PIECE as u64);
            let sum = Stamp::checksum(self.study, self.file, self.generation, offset);
            head[0..8].copy_from_slice(&self.study.to_le_bytes());
            head[8..12].copy_from_slice(&self.file.to_le_bytes());
            head[12..16].copy_from_slice(&self.generation.to_le_bytes());
            head[16..24].copy_from_slice(&offset.to_le_bytes());
            head[24..32].copy_from_slice(&sum.to_le_bytes());
            (head, STAMP)
        } else {
            head[..MARK].copy_from_slice(&self.mark(piece));
            (head, MARK)
        }
    }

    /// The offset whose mark this would be in this edition.
    fn place_of(&self, mark: u64) -> Option<u64> {
        (mark ^ self.key).wrapping_mul(UNSPREAD).checked_mul(PIECE as u64)
    }
}

/// The stamp at the head of a page, as read.
struct Stamp {
    study: u64,
    file: u32,
    generation: u32,
    offset: u64,
}

impl Stamp {
    /// The stamp that `bytes` begin with; `None` unless it is whole and its checksum is right.
    fn read(bytes: &[u8]) -> Option<Stamp> {
        let (study, rest) = bytes.split_first_chunk()?;
        let (file, rest) = rest.split_first_chunk()?;
        let (generation, rest) = rest.split_first_chunk()?;
        let (offset, rest) = rest.split_first_chunk()?;
        let (sum, _) = rest.split_first_chunk()?;
        let stamp = Stamp {
            study: u64::from_le_bytes(*study),
            file: u32::from_le_bytes(*file),
            generation: u32::from_le_bytes(*generation),
            offset: u64::from_le_bytes(*offset),
        };
        let right = Self::checksum(stamp.study, stamp.file, stamp.generation, stamp.offset);
        (u64::from_le_bytes(*sum) == right).then_some(stamp)
    }

    fn checksum(study: u64, file: u32, generation: u32, offset: u64) -> u64 {
        mix(study ^ mix(offset ^ mix(u64::from(file) << 32 | u64::from(generation))))
    }
}

/// The generator's stream for pools; any fixed number.
const STREAM: u128 = 0x0063_6f6e_7465_6e74;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreading_can_be_undone() {
        assert_eq!(SPREAD.wrapping_mul(UNSPREAD), 1);
    }
}
