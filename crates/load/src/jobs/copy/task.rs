//! What is done for one file, or one directory, of a copy: its operations in order.

use super::rounds::{Copies, Round};
use crate::op::{FileId, Found, NewAttribute, Node, Op, Span, Whole};
use plimsoll_model::{Method, Stability, Transfer};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The time that files are given: any that is not now.
pub(super) const MODIFIED_SECONDS: u32 = 1_500_000_000;
const MODIFIED: NewAttribute = NewAttribute::Modified(MODIFIED_SECONDS);
/// The mode that files are given: other than that of what is made, as with most files of users. Until
/// then rsync gives them one that keeps others out.
const MODE: NewAttribute = NewAttribute::Mode(0o644);
const OWN_MODE: NewAttribute = NewAttribute::Mode(0o600);

/// What a task is about. Places of directories: the tree is 0, its directory `n` is `n + 1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// A directory is made.
    Make(usize),
    /// A directory is listed, before files are read.
    List(usize),
    /// A directory gets its time, after all that is in it.
    Touch(usize),
    /// A file is copied.
    File(usize),
}

/// How far a task is. Stages that it does not need are passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Lookup,
    /// Whatever makes, opens or lists; of small files all of it.
    Open,
    OwnMode,
    Blocks,
    Flush,
    Close,
    Modified,
    Mode,
    Rename,
    End,
}

impl Stage {
    fn next(self) -> Stage {
        match self {
            Stage::Lookup => Stage::Open,
            Stage::Open => Stage::OwnMode,
            Stage::OwnMode => Stage::Blocks,
            Stage::Blocks => Stage::Flush,
            Stage::Flush => Stage::Close,
            Stage::Close => Stage::Modified,
            Stage::Modified => Stage::Mode,
            Stage::Mode => Stage::Rename,
            Stage::Rename | Stage::End => Stage::End,
        }
    }
}

/// Two of rsync's processes work on what is written to at the same time: one looks for what is there and makes
/// directories, ahead of the other, which writes one file after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Process {
    Generator,
    Receiver,
    /// It is done.
    None,
}

/// What a lane offers a task.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offers {
    /// Largest operation in bytes.
    pub block: u32,
    /// Whether it does small files whole.
    pub whole: bool,
    /// Whether closing a file makes it stable.
    pub commits_at_close: bool,
}

/// What comes next of a task.
pub(super) enum Next {
    Issue(Op),
    /// Something of it is in flight.
    Waits,
    /// A directory that it needs is not there yet.
    Blocked,
    End,
}

/// A file or a directory that is being copied.
pub(super) struct Task {
    item: Item,
    copies: Arc<Copies>,
    round: Arc<Round>,
    offers: Offers,
    stage: Stage,
    /// Whether the operation of this stage has been issued.
    issued: bool,
    in_flight: u32,
    file: Option<FileId>,
    /// Of the bytes: where the next block begins.
    next: u64,
}

impl Task {
    pub fn new(item: Item, copies: &Arc<Copies>, round: &Arc<Round>, offers: Offers) -> Task {
        Task {
            item,
            copies: copies.clone(),
            round: round.clone(),
            offers,
            stage: Stage::Lookup,
            issued: false,
            in_flight: 0,
            file: None,
            next: 0,
        }
    }

    fn is_rsync(&self) -> bool {
        self.copies.method == Method::Rsync
    }

    fn is_written(&self) -> bool {
        self.copies.transfer != Transfer::Down
    }

    fn size(&self) -> u64 {
        if let Item::File(file) = self.item { self.copies.files.size(file) } else { 0 }
    }

    /// Whether the file goes as one operation.
    fn is_whole(&self) -> bool {
        !self.is_rsync() && self.offers.whole && self.size() <= u64::from(self.offers.block)
    }

    /// Whether the file has another name while it is written.
    fn is_renamed(&self) -> bool {
        self.is_written() && (self.is_rsync() || self.copies.transfer == Transfer::Update)
    }

    /// How its blocks are written: a file of one block is stable at once where closing it would make it
    /// so, for that is what clients do.
    fn stability(&self) -> Stability {
        let stable = self.offers.commits_at_close && self.size() <= u64::from(self.offers.block);
        if stable { Stability::FileSync } else { Stability::Unstable }
    }

    /// Whether a stage is passed over.
    fn skips(&self) -> bool {
        let (rsync, written, opened) = (self.is_rsync(), self.is_written(), self.file.is_some());
        match (self.stage, self.item) {
            (Stage::Lookup, Item::List(_) | Item::Touch(_)) => true,
            (Stage::Lookup, Item::Make(_)) => !rsync,
            (Stage::Lookup, Item::File(_)) => {
                !written || !(rsync || self.copies.transfer == Transfer::Update)
            }
            (Stage::Open, Item::Touch(_)) => true,
            // Directories are there when a copy is brought up to date.
            (Stage::Open, Item::Make(_)) => self.copies.transfer == Transfer::Update,
            (Stage::Open, _) => false,
            (Stage::Modified, Item::Make(_)) => !rsync || self.copies.transfer == Transfer::Update,
            (Stage::Modified, Item::Touch(_)) => false,
            (Stage::Blocks, _) => !opened,
            (Stage::Flush, _) => {
                let unstable = self.stability() == Stability::Unstable && self.size() > 0;
                !(opened && written && unstable && self.offers.commits_at_close)
            }
            (Stage::OwnMode | Stage::Modified | Stage::Mode, _) => !(opened && rsync && written),
            (Stage::Close, _) => !opened,
            (Stage::Rename, Item::File(_)) => !self.is_renamed(),
            (Stage::Rename, _) => true,
            (Stage::End, _) => false,
        }
    }

    /// Whether a directory is missing that it needs.
    fn is_blocked(&self) -> bool {
        let needed = match self.item {
            _ if !self.is_written() || self.stage > Stage::Open => None,
            Item::Make(place) => self.copies.above(place),
            Item::File(file) => Some(self.copies.place_of(file)),
            Item::List(_) | Item::Touch(_) => None,
        };
        needed.is_some_and(|place| !self.round.is_made(place))
    }

    /// The operation of its stage.
    fn op(&self) -> Option<Op> {
        let Round { names, .. } = &*self.round;
        let path = match self.item {
            Item::Make(0) | Item::List(0) | Item::Touch(0) => names.tree(),
            Item::Make(place) | Item::List(place) | Item::Touch(place) => {
                names.directory(place - 1)
            }
            Item::File(file) if self.is_renamed() && self.stage != Stage::Lookup => {
                names.temporary(file)
            }
            Item::File(file) => names.file(file),
        };
        let file = self.file.unwrap_or(FileId(0));
        Some(match (self.stage, self.item) {
            (Stage::Lookup, _) => Op::LookupIfThere(path),
            (Stage::Open, Item::Make(_)) => Op::MakeDirectory(path),
            (Stage::Open, Item::List(_)) => Op::ReadDirectory(path),
            (Stage::Open, Item::File(number)) => {
                let (length, generation) = (self.size() as u32, number as u32);
                // The file's own number is all that its content needs.
                let whole = Whole { path, length, content: FileId(0), generation };
                match (self.is_whole(), self.is_written()) {
                    (true, true) => Op::Put(whole, Stability::Unstable),
                    (true, false) => Op::Get(whole),
                    (false, true) => Op::Create(path),
                    (false, false) => Op::Open(path),
                }
            }
            (Stage::Flush, _) => Op::Flush(file),
            (Stage::OwnMode, _) => Op::SetAttribute(Node::File(file), OWN_MODE),
            (Stage::Modified, Item::File(_)) => Op::SetAttribute(Node::Closed(path), MODIFIED),
            (Stage::Modified, _) => Op::SetAttribute(Node::Directory(path), MODIFIED),
            (Stage::Mode, _) => Op::SetAttribute(Node::Closed(path), MODE),
            (Stage::Close, _) => Op::Close(file),
            (Stage::Rename, Item::File(number)) => Op::Rename(path, names.file(number)),
            // Nothing else is left of these, see `skips`.
            (Stage::Open | Stage::Blocks | Stage::Rename | Stage::End, _) => return None,
        })
    }

    fn block(&mut self) -> Option<Op> {
        let (size, Item::File(number)) = (self.size(), self.item) else { return None };
        let (offset, left) = (self.next, size.saturating_sub(self.next));
        let length = left.min(u64::from(self.offers.block)) as u32;
        self.next += u64::from(length);
        let span = Span {
            file: self.file.filter(|_| left > 0)?,
            offset,
            length,
            generation: number as u32,
        };
        Some(if self.is_written() { Op::Write(span, self.stability()) } else { Op::Read(span) })
    }

    /// Whose turn it is, of rsync's processes.
    pub fn process(&self) -> Process {
        let looked_up = self.stage > Stage::Lookup || self.issued && self.in_flight == 0;
        match self.item {
            _ if self.stage == Stage::End => Process::None,
            Item::Make(_) => Process::Generator,
            Item::File(_) if !looked_up => Process::Generator,
            _ => Process::Receiver,
        }
    }

    /// Whether the receiver has something to do with it, now or later.
    pub fn is_received(&self) -> bool {
        !matches!(self.item, Item::Make(_))
    }

    /// What comes next.
    pub fn next(&mut self) -> Next {
        loop {
            if self.stage == Stage::End {
                return if self.in_flight > 0 { Next::Waits } else { Next::End };
            }
            let done = if self.skips() {
                true
            } else if self.stage == Stage::Blocks {
                match self.block() {
                    Some(op) => {
                        self.in_flight += 1;
                        return Next::Issue(op);
                    }
                    None => self.in_flight == 0,
                }
            } else if !self.issued {
                if self.is_blocked() {
                    return Next::Blocked;
                }
                let Some(op) = self.op() else { return Next::End };
                (self.issued, self.in_flight) = (true, 1);
                return Next::Issue(op);
            } else {
                self.in_flight == 0
            };
            if !done {
                return Next::Waits;
            }
            self.advance();
        }
    }

    fn advance(&mut self) {
        (self.stage, self.issued) = (self.stage.next(), false);
    }

    /// Whether it is a file that has not changed since it was copied: it stays as it is.
    fn is_unchanged(&self) -> bool {
        match self.item {
            Item::File(file) => {
                self.copies.transfer == Transfer::Update && !self.copies.has_changed(file)
            }
            _ => false,
        }
    }

    /// Whether an operation in flight is one of its.
    pub fn owns(&self, op: &Op) -> bool {
        if self.in_flight == 0 {
            return false;
        }
        match op {
            Op::Read(span) | Op::Write(span, _) => Some(span.file) == self.file,
            Op::Flush(file) | Op::Close(file) | Op::SetAttribute(Node::File(file), _) => {
                Some(*file) == self.file
            }
            _ => self.issued && self.op().as_ref() == Some(op),
        }
    }

    /// One of its operations has succeeded.
    pub fn completed(&mut self, op: &Op, found: Option<&Found>) {
        self.in_flight -= 1;
        match (op, found, self.item) {
            (Op::MakeDirectory(_), _, Item::Make(place)) => {
                self.round.made[place].store(true, Ordering::Release);
            }
            (Op::Create(_) | Op::Open(_), Some(Found::File(file)), _) => self.file = Some(*file),
            (Op::LookupIfThere(_), ..) if self.is_unchanged() => self.stage = Stage::End,
            _ => {}
        }
    }
}
