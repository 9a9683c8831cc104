//! Files of the client's copied to storage and back, with their real bytes.
//!
//! Names on the storage are ours, `copy-0-1/d000002/f000345`: sizes, order and bytes are the user's,
//! and what is left there can be told from everything else. Directories lie side by side however deep
//! theirs are. Every worker copies one file after the other: created, written with as many blocks in
//! flight as it has, flushed, closed; or whole where it is no longer than a block and the lane does that.

use super::tree::{self, COPY};
use super::{Asks, Counted, NotGood, OperationSource, Point, Step, StorageJob, Workspace, can_do};
use crate::content::{Content, LocalFiles};
use crate::op::{Done, FileId, Found, Op, PathId, Span, Whole};
use crate::paths::Paths;
use crate::prepare::{Means, Pass};
use crate::share::Lane;
use plimsoll_model::{
    Cause, CopyJob, Event, Failure, Flag, Measure, Nanos, OpKind, Phase, Stability, Transfer,
};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

const UP: &[OpKind] = &[
    OpKind::MAKE_DIRECTORY,
    OpKind::CREATE,
    OpKind::WRITE,
    OpKind::FLUSH,
    OpKind::CLOSE,
    OpKind::PUT,
];
const DOWN: &[OpKind] = &[OpKind::OPEN, OpKind::READ, OpKind::CLOSE, OpKind::GET];
/// How long a worker waits before it looks again whether another has made a directory.
const PAUSE: Duration = Duration::from_micros(100);

/// A copy of one directory, one way.
pub(crate) struct CopyRun {
    job: CopyJob,
    block: u32,
    number: usize,
    /// Listed once.
    files: Option<Arc<LocalFiles>>,
    content: Option<Arc<Content>>,
    /// What is read where files are copied from the storage.
    uploaded: Option<Arc<Names>>,
    /// Of the point that is measured.
    copies: Option<Arc<Copies>>,
    /// Number of the next tree.
    next: usize,
}

/// The paths of one copy.
struct Names {
    tree: PathId,
    directories: Vec<PathId>,
    files: Vec<PathId>,
}

impl Names {
    fn new(paths: &Paths, tree: &str, files: &LocalFiles) -> Names {
        let directory = |number| format!("{tree}/{}", tree::directory(number));
        let file = |number| {
            paths.add(format!("{}/{}", directory(files.directory_of(number)), tree::file(number)))
        };
        Names {
            tree: paths.add(tree),
            directories: (0..files.directories()).map(|d| paths.add(directory(d))).collect(),
            files: (0..files.files()).map(file).collect(),
        }
    }
}

/// The copies of one point, for all workers: one, or one after the other until the time is over.
struct Copies {
    files: Arc<LocalFiles>,
    paths: Arc<Paths>,
    /// Where trees are made, but for the number of each.
    prefix: String,
    transfer: Transfer,
    once: bool,
    /// Set when a worker met an error: nobody waits for it.
    failed: AtomicBool,
    round: Mutex<(usize, Arc<Round>)>,
}

/// One copy of all files.
struct Round {
    names: Arc<Names>,
    /// How far the tree and each of its directories are.
    tree: AtomicU8,
    directories: Vec<AtomicU8>,
    /// The next of what is to be done: first directories, then files.
    next: AtomicUsize,
}

const MISSING: u8 = 0;
const IN_THE_MAKING: u8 = 1;
const MADE: u8 = 2;

impl Round {
    fn new(names: Arc<Names>, begin_with: usize) -> Arc<Round> {
        let directories = names.directories.iter().map(|_| AtomicU8::new(MISSING)).collect();
        let (tree, next) = (AtomicU8::new(MISSING), AtomicUsize::new(begin_with));
        Arc::new(Round { names, tree, directories, next })
    }
}

impl Copies {
    /// The round after this one, made by whoever needs it first.
    fn after(&self, done: &Arc<Round>) -> Arc<Round> {
        let mut round = self.round.lock().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&round.1, done) {
            round.0 += 1;
            let names = match self.transfer {
                Transfer::Down => done.names.clone(),
                Transfer::Up => {
                    let tree = format!("{}{}", self.prefix, round.0);
                    Arc::new(Names::new(&self.paths, &tree, &self.files))
                }
            };
            round.1 = Round::new(names, first(self.transfer, &self.files));
        }
        round.1.clone()
    }
}

/// Where a round begins: nothing is made where files are only read.
fn first(transfer: Transfer, files: &LocalFiles) -> usize {
    if transfer == Transfer::Up { 0 } else { files.directories() }
}

impl CopyRun {
    pub fn new(job: &CopyJob, number: usize) -> Result<Self, Failure> {
        let block = u32::try_from(job.block.0).ok().filter(|block| *block > 0);
        let block = block.ok_or_else(|| {
            let happened = format!("a block of {} cannot be driven", job.block);
            Failure::new(Cause::Usage, "copy files", &job.data, happened, "Give another --block.")
        })?;
        let job = job.clone();
        Ok(CopyRun {
            job,
            block,
            number,
            files: None,
            content: None,
            uploaded: None,
            copies: None,
            next: 0,
        })
    }

    /// What the names of its trees begin with.
    fn prefix(&self) -> String {
        format!("{COPY}{}-", self.number)
    }

    fn copies(
        &self,
        at: &mut Workspace<'_>,
        files: &Arc<LocalFiles>,
        transfer: Transfer,
        once: bool,
    ) -> Result<Arc<Copies>, Failure> {
        let prefix = format!("{}/{}", at.run.names()?.1, self.prefix());
        let names = match (&self.uploaded, transfer) {
            (Some(uploaded), Transfer::Down) => uploaded.clone(),
            _ => {
                let tree = format!("{prefix}{}", self.next);
                Arc::new(Names::new(&at.means.paths, &tree, files))
            }
        };
        let round = Round::new(names, first(transfer, files));
        Ok(Arc::new(Copies {
            files: files.clone(),
            paths: at.means.paths.clone(),
            prefix,
            transfer,
            once,
            failed: AtomicBool::new(false),
            round: Mutex::new((self.next, round)),
        }))
    }

    /// Lists the files; they must be those that the study was planned with.
    fn list(&mut self) -> Result<Arc<LocalFiles>, Failure> {
        if let Some(files) = &self.files {
            files.check_unchanged()?;
            return Ok(files.clone());
        }
        let files = Arc::new(LocalFiles::list(&self.job.data)?);
        let (planned, found) = ((self.job.files, self.job.bytes), (files.files(), files.bytes()));
        if planned != (found.0 as u64, found.1) {
            let happened = format!(
                "the study was planned with {} files of {}, and there are {} of {}",
                planned.0, planned.1, found.0, found.1
            );
            let next = "Keep the files as they are, and run it again.";
            return Err(Failure::new(Cause::Trial, "copy files", &self.job.data, happened, next));
        }
        self.content = Some(Arc::new(Content::of_files(files.clone())));
        Ok(self.files.insert(files).clone())
    }

    /// Copies everything to the storage, where it stays.
    fn upload(&mut self, at: &mut Workspace<'_>, files: &Arc<LocalFiles>) -> Result<(), Failure> {
        let total_bytes = files.bytes().0;
        at.run.event(Event::Phase { phase: Phase::LayOut, total_bytes });
        let copies = self.copies(at, files, Transfer::Up, true)?;
        let means = self.means(at.means);
        let (share, block) = (at.share, self.block);
        let pass = Pass { share, means: &means, block, verify: false, flush: None };
        let mut progress = |bytes| at.run.event(Event::Progress { bytes });
        let progress: &mut dyn FnMut(u64) = &mut progress;
        pass.over("copy the files that will be read", |lane| Uploading {
            source: CopySource::new(&copies, block, lane),
            progress,
        })?;
        files.check_unchanged()?;
        let round = copies.round.lock().unwrap_or_else(PoisonError::into_inner);
        self.uploaded = Some(round.1.names.clone());
        self.next += 1;
        Ok(())
    }

    /// Removes what earlier points copied.
    fn remove_copies(&self, at: &mut Workspace<'_>) -> Result<(), Failure> {
        let prefix = self.prefix();
        let (names, directory) = at.run.names()?;
        let directory = directory.to_owned();
        let of_ours = |entry: &crate::share::Entry| entry.name.starts_with(&prefix);
        let left: Vec<_> = names.list(&directory)?.into_iter().filter(of_ours).collect();
        for tree in left.iter().filter(|entry| tree::is_tree(entry)) {
            let path = format!("{directory}/{}", tree.name);
            let foreign = tree::remove_tree(at.run.names()?.0, &path, &mut || {})?;
            if !foreign.is_empty() {
                let happened =
                    format!("it holds what plimsoll did not make: {}", foreign.join(", "));
                let (tried, next) = ("remove an earlier copy", "Move these files away.");
                return Err(Failure::new(Cause::Trial, tried, path, happened, next));
            }
            at.run.event(Event::Progress { bytes: 0 });
        }
        Ok(())
    }
}

impl StorageJob for CopyRun {
    type Source = CopySource;
    const COUNTED: Counted = &[(Measure::FILES, &[OpKind::CLOSE, OpKind::PUT, OpKind::GET])];

    fn prepare(&mut self, at: &mut Workspace<'_>) -> Result<Vec<Flag>, Failure> {
        let first = self.files.is_none();
        let files = self.list()?;
        if self.job.transfer == Transfer::Down && self.uploaded.is_none() {
            self.upload(at, &files)?;
        }
        let skipped = files.skipped();
        let flag = Flag::EntriesSkipped { directory: self.job.data.clone(), count: skipped };
        Ok((first && skipped > 0).then_some(flag).into_iter().collect())
    }

    fn begin(&mut self, at: &mut Workspace<'_>, point: &Point) -> Result<(), Failure> {
        self.prepare(at)?;
        let files = self.list()?;
        if self.job.transfer == Transfer::Up {
            self.remove_copies(at)?;
        }
        self.copies = Some(self.copies(at, &files, self.job.transfer, point.once)?);
        Ok(())
    }

    fn asks(&self) -> Asks {
        let down = self.job.transfer == Transfer::Down;
        let kinds = if down { DOWN } else { UP };
        Asks { block: self.block, verify: down && self.job.verify, kinds, flush: None }
    }

    fn means(&self, of_study: &Means) -> Means {
        let content = self.content.clone().unwrap_or_else(|| of_study.content.clone());
        Means { content, ..of_study.clone() }
    }

    fn source(&self, _point: &Point, _: u16, lane: &dyn Lane) -> Result<CopySource, Failure> {
        let kinds = self.asks().kinds;
        can_do("copy files", lane, &kinds[..kinds.len() - 1])?;
        let copies = self.copies.as_ref().ok_or_else(|| {
            Failure::new(Cause::Usage, "copy files", &self.job.data, "nothing is prepared", "")
        })?;
        Ok(CopySource::new(copies, self.block, lane))
    }

    fn finish(
        &mut self,
        _sources: Vec<CopySource>,
        _at: &mut Workspace<'_>,
        _complete: bool,
    ) -> Result<Vec<Flag>, Box<NotGood>> {
        if let Some(copies) = self.copies.take() {
            // The next tree has a number that none had before.
            let round = copies.round.lock().unwrap_or_else(PoisonError::into_inner);
            self.next = round.0 + 1;
            copies.files.check_unchanged()?;
        }
        Ok(Vec::new())
    }
}

/// One worker of a copy.
pub(crate) struct CopySource {
    copies: Arc<Copies>,
    round: Arc<Round>,
    block: u32,
    /// Whether the lane does files of a block at most whole.
    whole: bool,
    doing: Doing,
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
    fn new(copies: &Arc<Copies>, block: u32, lane: &dyn Lane) -> Self {
        let kind = if copies.transfer == Transfer::Up { OpKind::PUT } else { OpKind::GET };
        let round = copies.round.lock().unwrap_or_else(PoisonError::into_inner).1.clone();
        CopySource {
            copies: copies.clone(),
            round,
            block,
            whole: lane.does(kind),
            doing: Doing::Nothing,
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

    /// What has to be made before a directory's files can be: the tree, then the directory.
    fn make(&mut self, directory: usize, now: Nanos) -> Option<Step> {
        let names = &self.round.names;
        let needed = [
            (&self.round.tree, names.tree),
            (&self.round.directories[directory], names.directories[directory]),
        ];
        for (state, path) in needed {
            let taken =
                state.compare_exchange(MISSING, IN_THE_MAKING, Ordering::AcqRel, Ordering::Acquire);
            match taken {
                Ok(_) => {
                    self.in_flight += 1;
                    return Some(Step::Issue(Op::MakeDirectory(path)));
                }
                Err(MADE) => {}
                Err(_) => return Some(Step::WaitUntil(now + PAUSE)),
            }
        }
        None
    }

    /// A file's first operation.
    fn begin(&mut self, index: usize) -> Step {
        self.doing = Doing::Single(index);
        let path = self.round.names.files[index];
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
            (Op::MakeDirectory(path), Ok(_)) => {
                let Round { names, tree, directories, .. } = &*self.round;
                let state = match self.doing {
                    Doing::Item(item) if *path != names.tree => &directories[self.directory(item)],
                    _ => tree,
                };
                state.store(MADE, Ordering::Release);
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
struct Uploading<'a> {
    source: CopySource,
    progress: &'a mut dyn FnMut(u64),
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
