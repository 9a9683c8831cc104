//! Files copied to storage and back: the client's own with their real bytes, or such as are generated.
//!
//! Names on the storage are ours, `copy-0-1/d000002/f000345`: sizes, order and bytes are the dataset's,
//! and what is left there is distinguishable from everything else. Directories of the user's lie side by
//! side however deep they are. Every worker copies one file after the other: created, written with as many
//! blocks in flight as it has, flushed, closed; or whole where it is no longer than a block and the lane
//! does that. What is copied back is compared or discarded.

mod ceiling;
mod names;
mod source;

use super::tree::{self, COPY};
use super::{Asks, Counted, NotGood, Point, StorageJob, Workspace, can_do};
use crate::content::Content;
use crate::dataset::{self, FileSet};
use crate::paths::Paths;
use crate::prepare::{Means, Pass};
use crate::share::Lane;
use ceiling::Ceiling;
use names::Names;
use plimsoll_model::{
    Cause, CopyJob, DataSource, Event, Failure, Flag, Measure, OpKind, Phase, Transfer,
};
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

/// A copy of one dataset, one way.
pub(crate) struct CopyRun {
    job: CopyJob,
    block: u32,
    number: usize,
    /// Listed once.
    files: Option<Arc<dyn FileSet>>,
    content: Option<Arc<Content>>,
    /// What is read where files are copied from the storage.
    uploaded: Option<Arc<Names>>,
    /// What the client itself can do, once that was tried.
    ceiling: Option<Option<Ceiling>>,
    /// Of the point that is measured.
    copies: Option<Arc<Copies>>,
    /// Number of the next tree.
    next: usize,
}

/// The copies of one point, for all workers: one, or one after the other until the time is over.
struct Copies {
    files: Arc<dyn FileSet>,
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
    /// How far the tree is, then each of its directories.
    made: Vec<AtomicU8>,
    /// The next of what is to be done: first directories, then files.
    next: AtomicUsize,
}

const MISSING: u8 = 0;
const IN_THE_MAKING: u8 = 1;
const MADE: u8 = 2;

impl Round {
    fn new(names: Arc<Names>, files: &dyn FileSet, transfer: Transfer) -> Arc<Round> {
        // Nothing is made where files are only read.
        let (begin_with, to_make) = match transfer {
            Transfer::Up => (0, 1 + files.directories()),
            Transfer::Down => (files.directories(), 0),
        };
        let made = (0..to_make).map(|_| AtomicU8::new(MISSING)).collect();
        Arc::new(Round { names, made, next: AtomicUsize::new(begin_with) })
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
                    Arc::new(Names::new(&self.paths, tree, &self.files))
                }
            };
            round.1 = Round::new(names, &*self.files, self.transfer);
        }
        round.1.clone()
    }
}

impl CopyRun {
    pub fn new(job: &CopyJob, number: usize) -> Result<Self, Failure> {
        let block = u32::try_from(job.block.0).ok().filter(|block| *block > 0);
        let block = block.ok_or_else(|| {
            let happened = format!("a block of {} cannot be driven", job.block);
            let next = "Give another --block.";
            Failure::new(Cause::Usage, "copy files", on(job), happened, next)
        })?;
        let job = job.clone();
        Ok(CopyRun {
            job,
            block,
            number,
            files: None,
            content: None,
            uploaded: None,
            ceiling: None,
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
        files: &Arc<dyn FileSet>,
        transfer: Transfer,
        once: bool,
    ) -> Result<Arc<Copies>, Failure> {
        let prefix = format!("{}/{}", at.run.names()?.1, self.prefix());
        let names = match (&self.uploaded, transfer) {
            (Some(uploaded), Transfer::Down) => uploaded.clone(),
            _ => {
                let tree = format!("{prefix}{}", self.next);
                Arc::new(Names::new(&at.means.paths, tree, files))
            }
        };
        let round = Round::new(names, &**files, transfer);
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
    fn list(&mut self) -> Result<Arc<dyn FileSet>, Failure> {
        if let Some(files) = &self.files {
            files.check_unchanged()?;
            return Ok(files.clone());
        }
        let dataset = &self.job.dataset;
        let (files, content) = dataset::open(dataset)?;
        let (planned, found) = ((dataset.files, dataset.bytes), (files.files(), files.bytes()));
        if planned != (found.0 as u64, found.1) {
            let happened = format!(
                "the study was planned with {} files of {}, and there are {} of {}",
                planned.0, planned.1, found.0, found.1
            );
            let next = "Keep the files as they are, and run it again.";
            return Err(Failure::new(Cause::Trial, "copy files", on(&self.job), happened, next));
        }
        self.content = Some(Arc::new(content));
        Ok(self.files.insert(files).clone())
    }

    /// Copies everything to the storage, where it stays.
    fn upload(&mut self, at: &mut Workspace<'_>, files: &Arc<dyn FileSet>) -> Result<(), Failure> {
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

    /// What the client itself can do of this copy; `None` where it only discards.
    fn try_ceiling(&self, means: &Means, files: &dyn FileSet, point: &Point) -> Option<Ceiling> {
        let compares = self.asks().verify;
        if self.job.transfer == Transfer::Down && !compares {
            return None;
        }
        let (content, clock) = (self.content.as_deref()?, &**means.deadline.clock());
        let trial = ceiling::Trial { files, content, block: self.block, clock, compares };
        trial.ceiling(point.workers)
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

/// What a failure of a copy is about.
fn on(job: &CopyJob) -> String {
    match &job.dataset.source {
        DataSource::Directory { data } => data.clone(),
        DataSource::Generated(files) => files.class.title().to_owned(),
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
        let flag = Flag::EntriesSkipped { directory: on(&self.job), count: skipped };
        Ok((first && skipped > 0).then_some(flag).into_iter().collect())
    }

    fn begin(&mut self, at: &mut Workspace<'_>, point: &Point) -> Result<(), Failure> {
        self.prepare(at)?;
        let files = self.list()?;
        if self.job.transfer == Transfer::Up {
            self.remove_copies(at)?;
        }
        if self.ceiling.is_none() {
            self.ceiling = Some(self.try_ceiling(at.means, &*files, point));
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
            Failure::new(Cause::Usage, "copy files", on(&self.job), "nothing is prepared", "")
        })?;
        Ok(CopySource::new(copies, self.block, lane))
    }

    fn remove(&mut self, at: &mut Workspace<'_>) -> Result<(), Failure> {
        self.remove_copies(at)
    }

    fn figures(&self) -> Vec<(Measure, f64)> {
        let figures = |found: Ceiling| {
            let Ceiling { bytes_per_second, files_per_second } = found;
            vec![
                (CopyJob::CLIENT_CEILING, bytes_per_second),
                (CopyJob::CLIENT_CEILING_FILES, files_per_second),
            ]
        };
        self.ceiling.flatten().map_or_else(Vec::new, figures)
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
