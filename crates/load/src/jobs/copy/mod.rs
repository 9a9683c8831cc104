//! Files of the client's copied to storage and back, with their real bytes.
//!
//! Names on the storage are ours, `copy-0-1/d000002/f000345`: sizes, order and bytes are the user's,
//! and what is left there is distinguishable from everything else. Directories lie side by side however deep
//! theirs are. Every worker copies one file after the other: created, written with as many blocks in
//! flight as it has, flushed, closed; or whole where it is no longer than a block and the lane does that.

mod source;

use super::tree::{self, COPY};
use super::{Asks, Counted, NotGood, Point, StorageJob, Workspace, can_do};
use crate::content::{Content, LocalFiles};
use crate::op::PathId;
use crate::paths::Paths;
use crate::prepare::{Means, Pass};
use crate::share::Lane;
use plimsoll_model::{Cause, CopyJob, Event, Failure, Flag, Measure, OpKind, Phase, Transfer};
use source::{CopySource, Uploading};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize};
use std::sync::{Arc, Mutex, PoisonError};

const UP: &[OpKind] = &[
    OpKind::MAKE_DIRECTORY,
    OpKind::CREATE,
    OpKind::WRITE,
    OpKind::FLUSH,
    OpKind::CLOSE,
    OpKind::PUT,
];
const DOWN: &[OpKind] = &[OpKind::OPEN, OpKind::READ, OpKind::CLOSE, OpKind::GET];

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
        let pass = Pass { share, means: &means, block, verify: false };
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
        Asks { block: self.block, verify: down && self.job.verify, kinds }
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
