//! Files copied to storage and back: the client's own with their real bytes, or such as are generated.
//!
//! Names on the storage are ours, `copy-0-1/d000002/f000345`: sizes, order and bytes are the dataset's,
//! and what is left there is distinguishable from everything else. Directories of the user's lie side by
//! side however deep they are. A worker copies so many files at a time ([`CopySource`]), each in operations of
//! its own ([`task`]). What is copied back is compared or discarded.

mod ceiling;
mod local;
mod names;
mod rounds;
mod rsync;
mod source;
mod task;
mod trees;

use super::tree::COPY;
use super::{Asks, Counted, NotGood, Point, StorageJob, Workspace, can_do};
use crate::content::Content;
use crate::dataset::{self, FileSet};
use crate::prepare::{OperationContext, Pass};
use crate::share::{Lane, LaneRequest, Share};
use ceiling::Ceiling;
use local::LocalTree;
use names::Names;
use plimsoll_model::{
    Cause, CopyJob, DataSource, Event, Failure, Flag, Measure, Method, OpKind, Phase, Transfer,
};
use rounds::{Copies, Round, starts, touched};
use rsync::{Copying, RsyncLane, RsyncSource};
use source::{CopySource, OwnSource, Uploading};
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
pub(super) use trees::Trees;

/// Kinds of operations that a lane must do, the last where it does.
const UP: &[OpKind] = &[
    OpKind::LOOKUP,
    OpKind::MAKE_DIRECTORY,
    OpKind::CREATE,
    OpKind::WRITE,
    OpKind::FLUSH,
    OpKind::SET_ATTRIBUTES,
    OpKind::CLOSE,
    OpKind::RENAME,
    OpKind::PUT,
];
const DOWN: &[OpKind] =
    &[OpKind::READ_DIRECTORY, OpKind::OPEN, OpKind::READ, OpKind::CLOSE, OpKind::GET];

/// Files in flight where the copying is not measured.
const UPLOADED_AT_A_TIME: NonZeroU16 = NonZeroU16::new(8).unwrap();

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
    /// What the client itself can do with so many workers, once that was tried.
    ceiling: Option<(NonZeroU16, Option<Ceiling>)>,
    /// Of the point that is measured.
    copies: Option<Arc<Copies>>,
    /// Number of the next tree.
    next: usize,
    /// Where rsync copies from, and to.
    local: Option<LocalTree>,
    /// What rsync copies in the point that is measured.
    copying: Option<Copying>,
    /// How often files were changed.
    updates: u32,
}

impl CopyRun {
    pub fn new(job: &CopyJob, number: usize) -> Result<Self, Failure> {
        let block = u32::try_from(job.block.0).ok().filter(|block| *block > 0);
        let block = block.ok_or_else(|| {
            let happened = format!("a block size of {} is not supported", job.block);
            let next = "Give another --block.";
            Failure::new(Cause::Usage, "copy files").on(on(job)).happened(happened).next(next)
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
            local: None,
            copying: None,
            updates: 0,
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
        method: Method,
        once: bool,
    ) -> Result<Arc<Copies>, Failure> {
        let prefix = format!("{}/{}", at.run.names()?.1, self.prefix());
        let names = match (&self.uploaded, transfer) {
            (Some(uploaded), Transfer::Down | Transfer::Update) => uploaded.clone(),
            _ => {
                let tree = format!("{prefix}{}", self.next);
                Arc::new(Names::new(&at.context.paths, tree, files))
            }
        };
        let round = Round::new(names, &**files, transfer);
        Ok(Arc::new(Copies {
            files: files.clone(),
            paths: at.context.paths.clone(),
            prefix,
            transfer,
            method,
            starts: starts(&**files),
            touched: touched(&**files, transfer, method),
            once,
            failed: AtomicBool::new(false),
            round: Mutex::new((self.next, round)),
        }))
    }

    /// Whether what lies on the storage must have the times of the originals: for rsync a file that has
    /// another time is another file.
    fn needs_times(&self) -> bool {
        self.job.method == Method::ByRsync
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
                "the study was planned with {} files of {}, but the directory now has {} of {}",
                planned.0, planned.1, found.0, found.1
            );
            let next = "Do not change the files, and run it again.";
            return Err(Failure::new(Cause::Trial, "copy files")
                .on(on(&self.job))
                .happened(happened)
                .next(next));
        }
        self.content = Some(Arc::new(content));
        Ok(self.files.insert(files).clone())
    }

    /// Copies everything to the storage, where it stays.
    fn upload(
        &mut self,
        at: &mut Workspace<'_>,
        files: &Arc<dyn FileSet>,
    ) -> Result<Arc<Names>, Failure> {
        let total_bytes = files.bytes().0;
        at.run.event(Event::Phase { phase: Phase::LayOut, total_bytes });
        let pipelined = Method::Pipelined { files: UPLOADED_AT_A_TIME };
        let method = if self.needs_times() { Method::Rsync } else { pipelined };
        let copies = self.copies(at, files, Transfer::Up, method, true)?;
        let context = self.context(at.context);
        let (share, block) = (at.share, self.block);
        let pass = Pass { share, context: &context, block, verify: false };
        let mut progress = |bytes| at.run.event(Event::Progress { bytes });
        let progress: &mut dyn FnMut(u64) = &mut progress;
        pass.over("upload the files for the download", |lane| Uploading {
            source: OwnSource::new(&copies, block, lane),
            progress,
        })?;
        files.check_unchanged()?;
        let names = copies.round.lock().unwrap_or_else(PoisonError::into_inner).1.names.clone();
        at.trees.add(&self.job.dataset, self.needs_times(), &names, self.prefix());
        self.next += 1;
        Ok(names)
    }

    /// What the client itself can do of this copy; `None` where it only discards.
    fn try_ceiling(
        &self,
        context: &OperationContext,
        files: &dyn FileSet,
        point: &Point,
    ) -> Option<Ceiling> {
        let compares = self.asks().verify;
        if self.job.transfer == Transfer::Down && !compares {
            return None;
        }
        let (content, clock) = (self.content.as_deref()?, &**context.deadline.clock());
        let trial = ceiling::Trial { files, content, block: self.block, clock, compares };
        trial.ceiling(point.workers)
    }

    /// Removes what was left under temporary names when the time was over: the next copy makes them again.
    fn remove_temporary(&self, at: &mut Workspace<'_>) {
        let Some(copies) = &self.copies else { return };
        let names = copies.round.lock().unwrap_or_else(PoisonError::into_inner).1.names.clone();
        for file in (0..copies.files.files()).filter(|file| copies.has_changed(*file)) {
            let path = at.context.paths.get(names.temporary(file));
            if let (Some(path), Ok((there, _))) = (path, at.run.names()) {
                // Most of them are not there.
                let _ = there.remove_file(&path);
            }
        }
    }

    /// Whether rsync can copy these files to this target, and where that is mounted.
    fn mounted(&self, share: &dyn Share, files: &dyn FileSet) -> Result<PathBuf, Failure> {
        let refuse = |happened: &str, next: &str| {
            Err(Failure::new(Cause::Usage, "copy by rsync")
                .on(on(&self.job))
                .happened(happened)
                .next(next))
        };
        let Some(target) = share.local_directory() else {
            let next = "Name the directory at which it is mounted, or omit --via.";
            return refuse("the target is not mounted on this machine", next);
        };
        if let DataSource::Directory { .. } = &self.job.dataset.source {
            let next = "Name a --dataset, or omit --via.";
            return refuse("--via rsync copies generated files only", next);
        }
        if (0..files.files()).any(|file| files.size(file) > u64::from(u32::MAX)) {
            return refuse("a file is larger than 4 GiB", "Give a smaller --scale or --mean.");
        }
        match rsync::available() {
            Ok(()) => Ok(target),
            Err(why) => refuse(&why, "Install rsync on the host that copies, or omit --via."),
        }
    }

    /// Makes everything ready for rsync.
    fn prepare_rsync(
        &mut self,
        at: &mut Workspace<'_>,
        copies: &Copies,
        point: &Point,
    ) -> Result<(), Failure> {
        let files = &*copies.files;
        let target = self.mounted(at.share, files)?;
        if !point.once || point.workers > NonZeroU16::MIN {
            let (happened, next) =
                ("--via rsync starts one rsync for all files", "Omit --workers.");
            let on = on(&self.job);
            return Err(Failure::new(Cause::Usage, "copy by rsync")
                .on(on)
                .happened(happened)
                .next(next));
        }
        let Some(local) = &self.local else { return Ok(()) };
        let round = copies.round.lock().unwrap_or_else(PoisonError::into_inner).1.clone();
        let tree = at.context.paths.get(round.names.tree()).unwrap_or_default();
        let tree = target.join(&*tree);
        let changed = || (0..files.files()).filter(|file| copies.has_changed(*file));
        let (from, to, count) = match self.job.transfer {
            Transfer::Up => (local.from(), tree, files.files()),
            Transfer::Update => {
                self.updates += 1;
                local.touch(changed(), self.updates)?;
                (local.from(), tree, changed().count())
            }
            Transfer::Down => {
                local.empty_back()?;
                (tree, local.back(), files.files())
            }
        };
        self.copying = Some(Copying { from, to, files: count as u64 });
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
        if let (Method::ByRsync, None, Some(content)) =
            (self.job.method, &self.local, &self.content)
        {
            self.mounted(at.share, &*files)?;
            let paths = &at.context.paths;
            // Below any tree they have the same names.
            let names = Names::new(paths, self.prefix(), &files);
            let fill = self.job.transfer != Transfer::Down;
            self.local = Some(LocalTree::new(&*files, content, &names, paths, fill)?);
        }
        if self.job.transfer != Transfer::Up {
            let there = at.trees.laid_out(&self.job.dataset, self.needs_times());
            self.uploaded = Some(there.map_or_else(|| self.upload(at, &files), Ok)?);
        }
        Ok(if first { files.oddities() } else { Vec::new() })
    }

    fn begin(&mut self, at: &mut Workspace<'_>, point: &Point) -> Result<(), Failure> {
        trees::remove_over(at)?;
        self.prepare(at)?;
        let files = self.list()?;
        if self.ceiling.as_ref().is_none_or(|(workers, _)| *workers != point.workers) {
            self.ceiling = Some((point.workers, self.try_ceiling(at.context, &*files, point)));
        }
        let copies = self.copies(at, &files, self.job.transfer, self.job.method, point.once)?;
        if self.job.method == Method::ByRsync {
            self.prepare_rsync(at, &copies, point)?;
        }
        self.copies = Some(copies);
        Ok(())
    }

    fn asks(&self) -> Asks {
        let down = self.job.transfer == Transfer::Down;
        let kinds = match (self.job.method, down) {
            (Method::ByRsync, true) => &[OpKind::GET],
            (Method::ByRsync, false) => &[OpKind::PUT],
            (_, true) => DOWN,
            (_, false) => UP,
        };
        Asks { block: self.block, verify: down && self.job.verify, kinds }
    }

    fn context(&self, of_study: &OperationContext) -> OperationContext {
        let content = self.content.clone().unwrap_or_else(|| of_study.content.clone());
        let operation_timeout = match self.job.method {
            // A file takes as long as it takes: what rsync does in between is not seen.
            Method::ByRsync => Duration::from_secs(10_000_000),
            _ => of_study.operation_timeout,
        };
        OperationContext { content, operation_timeout, ..of_study.clone() }
    }

    fn lane(&self, share: &dyn Share, request: LaneRequest) -> Result<Box<dyn Lane>, Failure> {
        match &self.copying {
            None => {
                // rsync's generator looks for names while its receiver writes.
                let concurrent_names =
                    self.job.method == Method::Rsync && self.job.transfer != Transfer::Down;
                share.lane(LaneRequest { concurrent_names, ..request })
            }
            Some(copying) => {
                let (copying, depth) = (copying.clone(), request.depth.get());
                Ok(Box::new(RsyncLane::new(copying, depth, request.clock)))
            }
        }
    }

    fn source(&self, _point: &Point, _: u16, lane: &dyn Lane) -> Result<CopySource, Failure> {
        if let Some(copying) = &self.copying {
            let kind = self.asks().kinds[0];
            return Ok(CopySource::Rsync(RsyncSource::new(copying.files, kind)));
        }
        let kinds = self.asks().kinds;
        can_do("copy files", lane, &kinds[..kinds.len() - 1])?;
        let copies = self.copies.as_ref().ok_or_else(|| {
            Failure::new(Cause::Usage, "copy files")
                .on(on(&self.job))
                .happened("the files were not created")
        })?;
        Ok(CopySource::Own(OwnSource::new(copies, self.block, lane)))
    }

    fn remove(&mut self, at: &mut Workspace<'_>) -> Result<(), Failure> {
        at.trees.are_over(self.prefix());
        trees::remove_over(at)
    }

    fn figures(&self) -> Vec<(Measure, f64)> {
        let figures = |found: Ceiling| {
            let Ceiling { bytes_per_second, files_per_second } = found;
            vec![
                (CopyJob::CLIENT_CEILING, bytes_per_second),
                (CopyJob::CLIENT_CEILING_FILES, files_per_second),
            ]
        };
        self.ceiling.and_then(|(_, ceiling)| ceiling).map_or_else(Vec::new, figures)
    }

    fn finish(
        &mut self,
        sources: Vec<CopySource>,
        at: &mut Workspace<'_>,
        complete: bool,
    ) -> Result<Vec<Flag>, Box<NotGood>> {
        match self.job.transfer {
            // The next copy of any job has its room.
            Transfer::Up => at.trees.are_over(self.prefix()),
            // Files may be missing, or have been left under their temporary names.
            Transfer::Update if !complete => at.trees.spoilt(&self.job.dataset),
            Transfer::Update if sources.iter().any(CopySource::is_unfinished) => {
                self.remove_temporary(at);
            }
            _ => {}
        }
        if let Some(copies) = self.copies.take() {
            // The next tree has a number that none had before.
            let round = copies.round.lock().unwrap_or_else(PoisonError::into_inner);
            self.next = round.0 + 1;
            copies.files.check_unchanged()?;
        }
        Ok(Vec::new())
    }
}
