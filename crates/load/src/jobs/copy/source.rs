//! What a worker of a copy does: one file after the other.

use super::{Copies, IN_THE_MAKING, MADE, MISSING, Round};
use crate::jobs::{OperationSource, Step};
use crate::op::{Done, FileId, Found, Op, Span, Whole};
use crate::share::Lane;
use plimsoll_model::{Nanos, OpKind, Stability, Transfer};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// How long a worker waits before it looks again whether another has made a directory.
const PAUSE: Duration = Duration::from_micros(100);

/// One worker of a copy.
pub(crate) struct CopySource {
    copies: Arc<Copies>,
    round: Arc<Round>,
    block: u32,
    /// Whether the lane does files of a block at most whole.
    whole: bool,
    doing: Doing,
    /// The directory that it makes, as a place in what the round has made.
    making: usize,
    in_flight: usize,
}

/// What a worker is at.
#[derive(Clone, Copy, Debug)]
enum Doing {
    Nothing,
    /// The next of the round; perhaps after the directory that it is in.
    Item(usize),
    /// An operation that has nothing beside it.
    Single(usize),
    /// The blocks of an open file.
    Blocks {
        index: usize,
        file: FileId,
        next: u64,
        flushed: bool,
    },
    /// The end of a file.
    Closing,
}

impl CopySource {
    pub(super) fn new(copies: &Arc<Copies>, block: u32, lane: &dyn Lane) -> Self {
        let kind = if copies.transfer == Transfer::Up { OpKind::PUT } else { OpKind::GET };
        let round = copies.round.lock().unwrap_or_else(PoisonError::into_inner).1.clone();
        CopySource {
            copies: copies.clone(),
            round,
            block,
            whole: lane.does(kind),
            doing: Doing::Nothing,
            making: 0,
            in_flight: 0,
        }
    }

    fn is_up(&self) -> bool {
        self.copies.transfer == Transfer::Up
    }

    fn issue(&mut self, op: Op) -> Step {
        self.in_flight += 1;
        Step::Issue(op)
    }

    /// Takes the next of the round, or begins the next round.
    fn take(&mut self) -> Option<usize> {
        let files = &self.copies.files;
        let all = files.directories() + files.files();
        let item = self.round.next.fetch_add(1, Ordering::Relaxed);
        if item < all {
            return Some(item);
        }
        if self.copies.once {
            return None;
        }
        self.round = self.copies.after(&self.round);
        Some(self.round.next.fetch_add(1, Ordering::Relaxed)).filter(|item| *item < all)
    }

    /// The directory that an item is, or is in.
    fn directory(&self, item: usize) -> usize {
        let files = &self.copies.files;
        item.checked_sub(files.directories()).map_or(item, |file| files.directory_of(file))
    }

    /// What has to be made before a directory's files can be: the tree, the directories that it is in,
    /// itself.
    fn make(&mut self, directory: usize, now: Nanos) -> Option<Step> {
        let Round { names, made, .. } = &*self.round;
        if made[1 + directory].load(Ordering::Acquire) == MADE {
            return None;
        }
        // The uppermost that is missing: all below it are, too.
        let is_missing = |number: &usize| made[1 + number].load(Ordering::Acquire) != MADE;
        let files = &self.copies.files;
        let above = std::iter::successors(Some(directory), |number| files.parent(*number));
        let (place, path) = match made[0].load(Ordering::Acquire) {
            MADE => {
                let number = above.take_while(is_missing).last()?;
                (1 + number, names.directory(number))
            }
            _ => (0, names.tree()),
        };
        let (before, after) = (Ordering::AcqRel, Ordering::Acquire);
        match made[place].compare_exchange(MISSING, IN_THE_MAKING, before, after) {
            Ok(_) => {
                self.making = place;
                Some(self.issue(Op::MakeDirectory(path)))
            }
            Err(MADE) => self.make(directory, now),
            Err(_) => Some(Step::WaitUntil(now + PAUSE)),
        }
    }

    /// A file's first operation.
    fn begin(&mut self, index: usize) -> Step {
        self.doing = Doing::Single(index);
        let path = self.round.names.file(index);
        let small = u32::try_from(self.copies.files.size(index)).ok().filter(|s| *s <= self.block);
        let op = match (small.filter(|_| self.whole), self.is_up()) {
            (Some(length), up) => {
                // The file's own number is all that its content needs.
                let whole = Whole { path, length, content: FileId(0), generation: index as u32 };
                if up { Op::Put(whole) } else { Op::Get(whole) }
            }
            (None, true) => Op::Create(path),
            (None, false) => Op::Open(path),
        };
        self.issue(op)
    }

    /// The next operation on an open file.
    fn on_blocks(&mut self, index: usize, file: FileId, next: u64, flushed: bool) -> Step {
        let size = self.copies.files.size(index);
        if next < size {
            let length = (size - next).min(u64::from(self.block)) as u32;
            let span = Span { file, offset: next, length, generation: index as u32 };
            let next = next + u64::from(length);
            self.doing = Doing::Blocks { index, file, next, flushed };
            let op =
                if self.is_up() { Op::Write(span, Stability::Unstable) } else { Op::Read(span) };
            return self.issue(op);
        }
        if self.in_flight > 0 {
            return Step::WaitUntil(Nanos(u64::MAX));
        }
        if self.is_up() && !flushed {
            self.doing = Doing::Blocks { index, file, next, flushed: true };
            return self.issue(Op::Flush(file));
        }
        self.doing = Doing::Closing;
        self.issue(Op::Close(file))
    }
}

impl OperationSource for CopySource {
    fn next(&mut self, now: Nanos) -> Step {
        if self.copies.failed.load(Ordering::Relaxed) {
            return Step::End;
        }
        loop {
            match self.doing {
                Doing::Blocks { index, file, next, flushed } => {
                    return self.on_blocks(index, file, next, flushed);
                }
                _ if self.in_flight > 0 => return Step::WaitUntil(Nanos(u64::MAX)),
                Doing::Nothing | Doing::Single(_) | Doing::Closing => {
                    if self.copies.files.failed() {
                        return Step::End;
                    }
                    match self.take() {
                        Some(item) => self.doing = Doing::Item(item),
                        None => return Step::End,
                    }
                }
                Doing::Item(item) => {
                    if self.is_up()
                        && let Some(step) = self.make(self.directory(item), now)
                    {
                        return step;
                    }
                    match item.checked_sub(self.copies.files.directories()) {
                        Some(file) => return self.begin(file),
                        None => self.doing = Doing::Nothing,
                    }
                }
            }
        }
    }

    fn completed(&mut self, op: &Op, done: &Done) {
        self.in_flight -= 1;
        match (op, done.result.as_ref().map(|found| found.as_deref())) {
            (_, Err(_)) => self.copies.failed.store(true, Ordering::Relaxed),
            (Op::MakeDirectory(_), Ok(_)) => {
                self.round.made[self.making].store(MADE, Ordering::Release);
            }
            (Op::Create(_) | Op::Open(_), Ok(Some(Found::File(file)))) => {
                if let Doing::Single(index) = self.doing {
                    self.doing = Doing::Blocks { index, file: *file, next: 0, flushed: false };
                }
            }
            _ => {}
        }
    }
}

/// A copy that is not measured, with its progress.
pub(super) struct Uploading<'a> {
    pub source: CopySource,
    pub progress: &'a mut dyn FnMut(u64),
}

impl OperationSource for Uploading<'_> {
    fn next(&mut self, now: Nanos) -> Step {
        self.source.next(now)
    }

    fn completed(&mut self, op: &Op, done: &Done) {
        self.source.completed(op, done);
        (self.progress)(u64::from(done.bytes));
    }
}
