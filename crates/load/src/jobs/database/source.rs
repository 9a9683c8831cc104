//! Operations of a commit, in the order of SQLite's default journal (`journal_mode=DELETE`, `synchronous=FULL`): locks,
//! the journal and its head, the database, and the end of the journal, at which the transaction is committed.

use super::HEAD;
use super::commits::Commits;
use crate::op::{ByteRange, Done, FileId, Found, LockMode, Op, PathId, Span};
use crate::random::mix;
use crate::source::{OperationSource, Step};
use plimsoll_model::{Nanos, Stability};

/// Bytes that SQLite locks, beyond all content (its file format, section 1.3.2: the lock-byte page): one that who waits
/// to write holds, one that who will write holds, and those that whoever reads has a part of.
const PENDING: ByteRange = ByteRange { offset: 1 << 30, length: 1 };
const RESERVED: ByteRange = ByteRange { offset: PENDING.offset + 1, length: 1 };
const SHARED: ByteRange = ByteRange { offset: PENDING.offset + 2, length: 510 };

/// A step of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Lock(ByteRange, LockMode),
    Unlock(ByteRange),
    CreateJournal,
    /// Old content of both pages.
    WriteJournal,
    /// How many pages there are.
    WriteHead,
    FlushJournal,
    /// The page with the number of changes.
    WriteFirstPage,
    WriteDrawnPage,
    FlushDatabase,
    CloseJournal,
    RemoveJournal,
}

const COMMIT: [Act; 19] = [
    Act::Lock(PENDING, LockMode::Shared),
    Act::Lock(SHARED, LockMode::Shared),
    Act::Unlock(PENDING),
    Act::Lock(RESERVED, LockMode::Exclusive),
    Act::CreateJournal,
    Act::WriteJournal,
    Act::FlushJournal,
    Act::WriteHead,
    Act::FlushJournal,
    Act::Lock(PENDING, LockMode::Exclusive),
    UPGRADE,
    Act::WriteFirstPage,
    Act::WriteDrawnPage,
    Act::FlushDatabase,
    Act::CloseJournal,
    Act::RemoveJournal,
    Act::Unlock(PENDING),
    Act::Unlock(RESERVED),
    Act::Unlock(SHARED),
];

/// Who reads becomes who writes.
const UPGRADE: Act = Act::Lock(SHARED, LockMode::Exclusive);

/// How a commit locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Locking {
    /// A shared lock becomes an exclusive one, as on Unix.
    Upgrade,
    /// A shared lock is given back before the exclusive one, as on Windows.
    Anew,
    /// Not at all.
    None,
}

impl Locking {
    fn acts(self) -> Vec<Act> {
        let is_lock = |act: &Act| matches!(act, Act::Lock(..) | Act::Unlock(_));
        let steps = |act: Act| match self {
            Locking::Anew if act == UPGRADE => vec![Act::Unlock(SHARED), act],
            Locking::None if is_lock(&act) => Vec::new(),
            _ => vec![act],
        };
        COMMIT.into_iter().flat_map(steps).collect()
    }
}

/// One worker, one operation at a time whatever its depth.
pub(crate) struct DatabaseSource {
    database: FileId,
    path: PathId,
    page: u32,
    pages: u64,
    seed: u64,
    /// Steps of a commit; those of locks are left out where none are taken.
    acts: Vec<Act>,
    stage: usize,
    in_flight: bool,
    journal: Option<FileId>,
    held: Vec<ByteRange>,
    /// Commits that began.
    number: u32,
    commits: Commits,
}

/// What a worker commits to.
pub(super) struct Database {
    pub file: FileId,
    /// Path of its journal.
    pub journal: PathId,
    /// Bytes of a page, and how many it has.
    pub page: u32,
    pub pages: u64,
    /// Seed of the pages that are written.
    pub seed: u64,
}

impl DatabaseSource {
    pub(super) fn new(of: Database, locking: Locking, commits: Commits) -> DatabaseSource {
        DatabaseSource {
            database: of.file,
            path: of.journal,
            page: of.page,
            pages: of.pages,
            seed: of.seed,
            acts: locking.acts(),
            stage: 0,
            in_flight: false,
            journal: None,
            held: Vec::new(),
            number: 0,
            commits,
        }
    }

    /// Gives back what it has locked.
    pub(super) fn to_unlock(&self) -> impl Iterator<Item = Op> {
        self.held.iter().map(|bytes| Op::Unlock(self.database, *bytes))
    }

    /// The journal, if it is open.
    pub(super) fn journal(&self) -> Option<FileId> {
        self.journal
    }

    pub(super) fn commits(&self) -> &Commits {
        &self.commits
    }

    /// The operation of a step; `None` if its journal is missing, as the server did not create it.
    fn op(&self, act: Act) -> Option<Op> {
        let write = |file, offset, length| {
            let span = Span { file, offset, length, generation: self.number };
            Op::Write(span, Stability::Unstable)
        };
        Some(match act {
            Act::Lock(bytes, mode) => Op::Lock(self.database, bytes, mode),
            Act::Unlock(bytes) => Op::Unlock(self.database, bytes),
            Act::CreateJournal => Op::Create(self.path),
            Act::WriteJournal => write(self.journal?, 0, 2 * self.page),
            Act::WriteHead => write(self.journal?, 0, HEAD),
            Act::FlushJournal => Op::Flush(self.journal?),
            Act::WriteFirstPage => write(self.database, 0, self.page),
            Act::WriteDrawnPage => {
                let drawn = mix(self.seed ^ u64::from(self.number)) % (self.pages - 1);
                write(self.database, (1 + drawn) * u64::from(self.page), self.page)
            }
            Act::FlushDatabase => Op::Flush(self.database),
            Act::CloseJournal => Op::Close(self.journal?),
            Act::RemoveJournal => Op::Remove(self.path),
        })
    }
}

impl OperationSource for DatabaseSource {
    fn next(&mut self, now: Nanos) -> Step {
        if self.in_flight {
            return Step::WaitUntil(Nanos(u64::MAX));
        }
        if self.stage == 0 {
            self.number = self.number.wrapping_add(1);
            self.commits.begin(now);
        }
        match self.op(self.acts[self.stage]) {
            Some(op) => {
                self.in_flight = true;
                Step::Issue(op)
            }
            None => Step::End,
        }
    }

    fn completed(&mut self, op: &Op, done: &Done) {
        self.in_flight = false;
        match (op, &done.result) {
            (Op::Lock(_, bytes, _), Ok(_)) => {
                self.held.retain(|held| held != bytes);
                self.held.push(*bytes);
            }
            (Op::Unlock(_, bytes), Ok(_)) => self.held.retain(|held| held != bytes),
            (Op::Create(_), Ok(Some(found))) => {
                if let Found::File(file) = **found {
                    self.journal = Some(file);
                }
            }
            (Op::Close(_), _) => self.journal = None,
            _ => {}
        }
        self.stage += 1;
        if self.stage < self.acts.len() {
            let share = self.stage as f64 / self.acts.len() as f64;
            self.commits.progress(share, done.done);
        } else {
            self.stage = 0;
            self.commits.end(done.done);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Tag;
    use plimsoll_model::OpKind;
    use std::time::Duration;

    const DATABASE: FileId = FileId(1);

    fn source(locking: Locking) -> DatabaseSource {
        let (journal, page, pages, seed) = (PathId(7), 4096, 100, 3);
        let database = Database { file: DATABASE, journal, page, pages, seed };
        DatabaseSource::new(database, locking, Commits::new(Duration::ZERO))
    }

    /// The next operation, which takes a millisecond.
    fn step(source: &mut DatabaseSource, now: &mut u64) -> Op {
        let Step::Issue(op) = source.next(Nanos(*now)) else { panic!("nothing to do") };
        assert_eq!(source.next(Nanos(*now)), Step::WaitUntil(Nanos(u64::MAX)), "one at a time");
        *now += 1_000_000;
        let found = matches!(op, Op::Create(_)).then(|| Box::new(Found::File(FileId(9))));
        let (issued, done) = (Nanos(*now - 1_000_000), Nanos(*now));
        let done = Done { tag: Tag(0), issued, sent: issued, done, bytes: 0, result: Ok(found) };
        source.completed(&op, &done);
        op
    }

    #[test]
    fn a_commit_flushes_the_journal_before_the_database_and_unlocks_last() {
        let (mut source, mut now) = (source(Locking::Upgrade), 0);
        let commit: Vec<Op> = COMMIT.iter().map(|_| step(&mut source, &mut now)).collect();
        let kinds: Vec<OpKind> = commit.iter().map(Op::kind).collect();
        let place = |wanted: OpKind| kinds.iter().position(|kind| *kind == wanted).unwrap();
        assert!(place(OpKind::LOCK) < place(OpKind::CREATE));
        assert!(place(OpKind::CREATE) < place(OpKind::WRITE));
        let flushed: Vec<Op> =
            commit.iter().filter(|op| matches!(op, Op::Flush(_))).copied().collect();
        assert_eq!(flushed, [FileId(9), FileId(9), DATABASE].map(Op::Flush));
        assert!(place(OpKind::REMOVE) < kinds.iter().rposition(|k| *k == OpKind::UNLOCK).unwrap());
        assert_eq!(source.to_unlock().count(), 0, "all is given back");
        assert_eq!(source.journal(), None);
        assert_eq!(source.commits().times().len(), 1);
        // 19 operations of a millisecond.
        let rate = source.commits().per_second().unwrap();
        assert!((rate - 1.0 / 0.019).abs() < 1e-9, "{rate}");
    }

    /// On Unix a lock of those who read becomes one of the writer, on Windows it is given back first.
    #[test]
    fn a_reader_becomes_a_writer_in_one_step_or_two() {
        let operations = |locking: Locking| {
            let (mut source, mut now) = (source(locking), 0);
            let all =
                locking.acts().iter().map(|_| step(&mut source, &mut now)).collect::<Vec<_>>();
            let is_lock = |op: &Op| matches!(op, Op::Lock(_, SHARED, _) | Op::Unlock(_, SHARED));
            all.into_iter().filter(is_lock).collect::<Vec<_>>()
        };
        let lock = |mode| Op::Lock(DATABASE, SHARED, mode);
        let (shared, exclusive) = (lock(LockMode::Shared), lock(LockMode::Exclusive));
        let unlock = Op::Unlock(DATABASE, SHARED);
        assert_eq!(operations(Locking::Upgrade), [shared, exclusive, unlock]);
        assert_eq!(operations(Locking::Anew), [shared, unlock, exclusive, unlock]);
        assert_eq!(operations(Locking::None), []);
    }

    #[test]
    fn a_commit_that_is_cut_off_says_what_is_to_be_undone() {
        let (mut source, mut now) = (source(Locking::Upgrade), 0);
        for _ in 0..6 {
            step(&mut source, &mut now);
        }
        let unlock: Vec<Op> = source.to_unlock().collect();
        assert_eq!(unlock, [SHARED, RESERVED].map(|bytes| Op::Unlock(DATABASE, bytes)));
        assert_eq!(source.journal(), Some(FileId(9)));
        let rate = source.commits().per_second().unwrap();
        assert!((rate - (6.0 / 19.0) / 0.006).abs() < 1e-9, "{rate}");
    }

    #[test]
    fn pages_are_written_all_over_the_database_and_the_first_always() {
        let (mut source, mut now) = (source(Locking::None), 0);
        let mut offsets = std::collections::BTreeSet::new();
        for _ in 0..2000 {
            match step(&mut source, &mut now) {
                Op::Lock(..) | Op::Unlock(..) => panic!("without locks"),
                Op::Write(span, _) if span.file == DATABASE => {
                    assert!(span.offset < 100 * 4096 && span.offset.is_multiple_of(4096));
                    offsets.insert(span.offset);
                }
                _ => {}
            }
        }
        assert!(offsets.contains(&0) && offsets.len() > 80, "{}", offsets.len());
    }
}
