//! A database in a file: transactions as SQLite commits them with its default journal, one after the other.
//!
//! Whether locks keep a second program out, and whether a shared lock can become an exclusive one, is tried before the
//! first point. Where a target has no locks or refuses them, transactions are committed without. Whether programs can
//! share memory by a file, which another journal of SQLite's needs, is tried with it.

mod commits;
mod locks;
mod shared_memory;
mod source;

use super::tree::{self, DATABASE};
use super::{Asks, LaidOut, NotGood, Point, StorageJob, Workspace};
use crate::op::{FileId, Op, PathId};
use crate::prepare::lay_out;
use crate::share::Lane;
use crate::tally::histogram;
use commits::Commits;
use plimsoll_model::{
    Cause, DatabaseJob, Event, Failure, Flag, LatencySummary, Measure, OpKind, Phase,
};
use source::{Database, DatabaseSource, Locking};
use std::num::NonZeroU16;

/// What the target must be able to do: locks may be left out.
const NEEDED: &[OpKind] =
    &[OpKind::WRITE, OpKind::FLUSH, OpKind::CREATE, OpKind::CLOSE, OpKind::REMOVE];
/// Bytes of the head of a journal.
const HEAD: u32 = 512;

/// Databases in a tree that was made for them.
pub(crate) struct DatabaseRun {
    job: DatabaseJob,
    number: usize,
    /// Bytes of each database that was made, by worker.
    made: Vec<u64>,
    locking: Locking,
    /// Of each worker, while a point is measured.
    open: Vec<Open>,
    /// Names that were used so far, for journals and a trial: that of a commit that was cut off may still be there.
    journals: usize,
    figures: Vec<(Measure, f64)>,
}

/// A database of a worker, and the path of its journal.
struct Open {
    database: FileId,
    journal: PathId,
}

impl DatabaseRun {
    pub fn new(job: &DatabaseJob, number: usize) -> Self {
        let (made, open, figures) = Default::default();
        let locking = Locking::None;
        DatabaseRun { job: job.clone(), number, made, locking, open, journals: 0, figures }
    }

    /// The directory of the tree, and the one in it.
    fn directories(&self, at: &mut Workspace<'_>) -> Result<(String, String), Failure> {
        let root = format!("{}/{DATABASE}{}", at.run.names()?.1, self.number);
        let within = format!("{root}/{}", tree::directory(0));
        Ok((root, within))
    }

    /// The path of a file whose name nothing had before.
    fn new_file(&mut self, within: &str) -> String {
        let name = tree::long_file(self.journals);
        self.journals += 1;
        format!("{within}/{name}")
    }

    fn page(&self) -> u32 {
        u32::try_from(self.job.block.0).unwrap_or(u32::MAX)
    }

    /// Makes the database of a worker, or what is missing at its end.
    fn make(&mut self, at: &mut Workspace<'_>, worker: usize, bytes: u64) -> Result<(), Failure> {
        let (_, within) = self.directories(at)?;
        let path = format!("{within}/{}", tree::file(worker));
        let names = at.run.names()?.0;
        let file = match self.made.get(worker) {
            Some(enough) if *enough >= bytes => return Ok(()),
            Some(_) => names.open_to_write(&path)?,
            None => names.create(&path)?,
        };
        let mut progress = |bytes| at.run.event(Event::Progress { bytes });
        let laid_out = LaidOut { file, generation: 0 };
        let made = lay_out(at.share, at.context, laid_out, bytes, &mut progress);
        at.run.names()?.0.close(file);
        made?;
        match self.made.get_mut(worker) {
            Some(made) => *made = bytes,
            None => self.made.push(bytes),
        }
        Ok(())
    }
}

impl StorageJob for DatabaseRun {
    type Source = DatabaseSource;

    fn prepare(&mut self, at: &mut Workspace<'_>) -> Result<Vec<Flag>, Failure> {
        if !self.made.is_empty() {
            return Ok(Vec::new());
        }
        at.run.event(Event::Phase { phase: Phase::LayOut, total_bytes: self.job.size.0 });
        let (root, within) = self.directories(at)?;
        let names = at.run.names()?.0;
        names.make_directory(&root)?;
        names.make_directory(&within)?;
        self.make(at, 0, self.job.pages(1) * self.job.block.0)?;
        let path = format!("{within}/{}", tree::file(0));
        let (found, mut flags) = locks::find(at, &path)?;
        self.locking = found;
        let path = self.new_file(&within);
        flags.extend(shared_memory::find(at, &path)?);
        Ok(flags)
    }

    fn begin(&mut self, at: &mut Workspace<'_>, point: &Point) -> Result<(), Failure> {
        self.figures.clear();
        if point.once {
            let (happened, next) =
                ("commits go on until they are stopped", "Give a length in seconds.");
            let tried = "commit without a time limit";
            return Err(Failure::new(Cause::Usage, tried)
                .on("the database")
                .happened(happened)
                .next(next));
        }
        self.prepare(at)?;
        let (_, within) = self.directories(at)?;
        let workers = point.workers.get();
        for worker in 0..usize::from(workers) {
            self.make(at, worker, self.job.pages(workers) * self.job.block.0)?;
            let path = format!("{within}/{}", tree::file(worker));
            let database = at.run.names()?.0.open_to_write(&path)?;
            let journal = at.context.paths.add(self.new_file(&within));
            self.open.push(Open { database, journal });
        }
        Ok(())
    }

    fn asks(&self) -> Asks {
        Asks { block: self.page().saturating_mul(2), verify: false, kinds: &DatabaseJob::KINDS }
    }

    fn source(
        &self,
        point: &Point,
        worker: u16,
        lane: &dyn Lane,
    ) -> Result<DatabaseSource, Failure> {
        super::can_do("commit transactions", lane, NEEDED)?;
        let open = self.open.get(usize::from(worker));
        let open = open.ok_or_else(|| not_as_made("the database was not created"))?;
        let database = Database {
            file: open.database,
            journal: open.journal,
            page: self.page(),
            pages: self.job.pages(point.workers.get()),
            seed: point.seed.wrapping_add(u64::from(worker) << 32),
        };
        Ok(DatabaseSource::new(database, self.locking, Commits::new(point.warm_up)))
    }

    fn finish(
        &mut self,
        sources: Vec<DatabaseSource>,
        at: &mut Workspace<'_>,
        _complete: bool,
    ) -> Result<Vec<Flag>, Box<NotGood>> {
        // A commit that was cut off at the end of the time leaves locks and a journal. What cannot be undone goes with
        // the run's directory, and what is still locked fails in the next point.
        let locked: Vec<Op> = sources.iter().flat_map(DatabaseSource::to_unlock).collect();
        if !locked.is_empty()
            && let Ok(mut lane) = at.share.lane(at.context.lane(NonZeroU16::MIN, HEAD, false))
        {
            for unlock in &locked {
                let _ = locks::once(&mut *lane, unlock, at.context);
            }
        }
        if let Ok((names, _)) = at.run.names() {
            for source in &sources {
                if let Some(journal) = source.journal() {
                    names.close(journal);
                }
            }
            for open in self.open.drain(..) {
                names.close(open.database);
            }
        }
        self.figures = figures(&sources);
        Ok(Vec::new())
    }

    fn figures(&self) -> Vec<(Measure, f64)> {
        self.figures.clone()
    }
}

/// Figures of all workers together.
fn figures(sources: &[DatabaseSource]) -> Vec<(Measure, f64)> {
    let commits = || sources.iter().map(DatabaseSource::commits);
    let rates: Vec<f64> = commits().filter_map(Commits::per_second).collect();
    if rates.is_empty() {
        return Vec::new();
    }
    let mut all = histogram();
    for times in commits().map(Commits::times) {
        // Bounds are equal everywhere: adding cannot fail.
        let _ = all.add(times);
    }
    let mut figures = vec![(DatabaseJob::COMMITS, rates.iter().sum())];
    if all.is_empty() {
        return figures;
    }
    let times = LatencySummary::from(&all);
    figures.push((DatabaseJob::LONGEST_COMMIT, times.max_seconds));
    for (measure, name) in [(DatabaseJob::COMMIT_P50, "0.5"), (DatabaseJob::COMMIT_P99, "0.99")] {
        figures.extend(times.quantile(name).map(|seconds| (measure, seconds)));
    }
    figures
}

fn not_as_made(happened: &str) -> Failure {
    let (tried, on) = ("commit transactions", "the run's directory");
    let next = "Make sure that no other program changes that directory, and read the warnings.";
    Failure::new(Cause::Trial, tried).on(on).happened(happened).next(next)
}
