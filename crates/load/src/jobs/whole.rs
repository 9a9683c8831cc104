//! Going over a whole file once: writing it out, and reading it back.

use super::Written;
use super::written::RangeState;
use crate::op::{Done, FileId, Op, Span};
use crate::source::{OperationSource, Step};
use plimsoll_model::{Nanos, Stability};
use std::ops::Range;

/// Writes a whole file once, in order, and has it flushed.
pub struct WriteOnce<'a> {
    file: FileId,
    size: u64,
    generation: u32,
    block: u32,
    next: u64,
    progress: &'a mut dyn FnMut(u64),
}

impl<'a> WriteOnce<'a> {
    /// Writes `size` bytes in operations of `block` (the last may be shorter); calls `progress`
    /// with the bytes of each write that completed.
    pub fn new(
        file: FileId,
        size: u64,
        generation: u32,
        block: u32,
        progress: &'a mut dyn FnMut(u64),
    ) -> Self {
        WriteOnce { file, size, generation, block: block.max(1), next: 0, progress }
    }
}

impl OperationSource for WriteOnce<'_> {
    fn next(&mut self, _now: Nanos) -> Step {
        let left = self.size - self.next;
        if left == 0 {
            return Step::End;
        }
        let length = left.min(u64::from(self.block)) as u32;
        let (file, offset, generation) = (self.file, self.next, self.generation);
        self.next += u64::from(length);
        Step::Issue(Op::Write(Span { file, offset, length, generation }, Stability::Unstable))
    }

    fn completed(&mut self, _op: &Op, done: &Done) {
        if done.result.is_ok() {
            (self.progress)(u64::from(done.bytes));
        }
    }

    fn to_flush(&self) -> Vec<FileId> {
        vec![self.file]
    }
}

/// Reads ranges of a file once, expecting of each block the generation it was written with last.
pub struct ReadBack<'a> {
    file: FileId,
    generation: u32,
    written: Option<&'a Written>,
    block: u32,
    range: Range<u64>,
    skipped: u64,
    /// Called with every read that completed.
    seen: &'a mut dyn FnMut(&Span, &Done),
}

impl<'a> ReadBack<'a> {
    /// Reads `range` in operations of at most `block` bytes. Blocks that `written` says were
    /// rewritten are expected at `generation + 1`, the others at `generation`; blocks with an
    /// unacknowledged write are skipped, for they may be either.
    pub fn new(
        file: FileId,
        range: Range<u64>,
        generation: u32,
        written: Option<&'a Written>,
        block: u32,
        seen: &'a mut dyn FnMut(&Span, &Done),
    ) -> Self {
        ReadBack { file, generation, written, block: block.max(1), range, skipped: 0, seen }
    }

    /// Bytes skipped because it is not known what they should be.
    pub fn skipped_bytes(&self) -> u64 {
        self.skipped
    }
}

impl OperationSource for ReadBack<'_> {
    fn next(&mut self, _now: Nanos) -> Step {
        while self.range.start < self.range.end {
            let offset = self.range.start;
            let length = (self.range.end - offset).min(u64::from(self.block));
            let (state, length) =
                self.written.map_or((RangeState::LaidOut, length), |w| w.state(offset, length));
            self.range.start += length;
            let generation = match state {
                RangeState::LaidOut => self.generation,
                RangeState::Rewritten => self.generation.wrapping_add(1),
                RangeState::Unsure => {
                    self.skipped += length;
                    continue;
                }
            };
            let span = Span { file: self.file, offset, length: length as u32, generation };
            return Step::Issue(Op::Read(span));
        }
        Step::End
    }

    fn completed(&mut self, op: &Op, done: &Done) {
        if let Op::Read(span) = op {
            (self.seen)(span, done);
        }
    }
}
