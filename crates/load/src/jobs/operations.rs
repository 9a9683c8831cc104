//! Every kind of operation by turns, one at a time: a name is looked up and opened, a directory and a file
//! are made, the file is written, read, locked, renamed and removed, and a large directory is listed in between.
//!
//! What a server refuses is found before the first point, kind by kind, and left out; so is what its protocol has
//! no call for.

use super::made_tree::Tree;
use super::tree::{self, OPERATIONS};
use super::{Asks, NotGood, Point, StorageJob, Workspace};
use crate::op::{ByteRange, Done, FileId, Found, LockMode, NewAttribute, Node, Op, PathId, Span};
use crate::prepare::Pass;
use crate::share::Lane;
use crate::source::{OperationSource, Step};
use plimsoll_model::{Cause, Event, Failure, Flag, Nanos, OpKind, OperationsJob, Phase, Stability};
use std::sync::Arc;
use std::time::Duration;

/// One of so many parts of the time is for listings, whatever they take.
const LISTING_SHARE: u32 = 4;

/// Operations in a tree that was made for them.
pub(crate) struct OperationsRun {
    job: OperationsJob,
    number: usize,
    tree: Option<Arc<Tree>>,
    /// Kinds that are left out.
    refused: Vec<OpKind>,
    /// Of each worker.
    places: Vec<Place>,
    /// Names that were used so far: those of a point that ended in the middle may still be there.
    used: usize,
}

/// The names that a worker makes.
#[derive(Clone, Copy)]
struct Place {
    directory: PathId,
    file: PathId,
    renamed: PathId,
}

impl OperationsRun {
    pub fn new(job: &OperationsJob, number: usize) -> Self {
        let job = job.clone();
        OperationsRun { job, number, tree: None, refused: vec![], places: vec![], used: 0 }
    }

    fn root(&self, at: &mut Workspace<'_>) -> Result<String, Failure> {
        Ok(format!("{}/{OPERATIONS}{}", at.run.names()?.1, self.number))
    }

    /// Names for one worker that were not used before, in the second directory of the tree.
    fn place(&mut self, at: &mut Workspace<'_>) -> Result<Place, Failure> {
        let within = format!("{}/{}", self.root(at)?, tree::directory(1));
        let number = self.used;
        self.used += 1;
        let add = |name: String| at.context.paths.add(format!("{within}/{name}"));
        Ok(Place {
            directory: add(tree::directory(number)),
            file: add(tree::file(number)),
            renamed: add(tree::long_file(number)),
        })
    }

    fn cycle(&self, tree: &Arc<Tree>, place: Place) -> Cycle {
        let block = u32::try_from(self.job.block.0).unwrap_or(u32::MAX);
        Cycle {
            tree: tree.clone(),
            place,
            block,
            left_out: self.refused.clone(),
            stage: 0,
            round: 0,
            made: Made::default(),
        }
    }

    /// Does each operation of a cycle once, over a lane of its own, and finds what is refused.
    fn try_each(&mut self, at: &mut Workspace<'_>, tree: &Arc<Tree>) -> Result<Vec<Flag>, Failure> {
        let place = self.place(at)?;
        let (mut cycle, mut flags) = (self.cycle(tree, place), Vec::new());
        let pass = Pass { share: at.share, context: at.context, block: cycle.block, verify: false };
        while let Some(op) = cycle.next().or_else(|| cycle.listing()) {
            let listing = matches!(op, Op::ReadDirectory(_));
            let words = tried(&op);
            let mut here = true;
            // A lock is the lane's own with SMB: it is given back over the same one.
            let back = match op {
                Op::Lock(file, bytes, _) => Some(Op::Unlock(file, bytes)),
                // It was tried with that.
                Op::Unlock(..) => continue,
                _ => None,
            };
            let mut once = Once { ops: [Some(op), back], in_flight: false, cycle: &mut cycle };
            // What the protocol has no call for is not tried.
            let source = |lane: &dyn Lane| {
                here = lane.does(op.kind());
                if !here {
                    once.ops = [None; 2];
                }
                once
            };
            let tried = pass.over(&words, source).map(drop);
            if tried.is_err() || !here {
                cycle.left_out.push(op.kind());
                cycle.left_out.extend(back.map(|back| back.kind()));
            }
            match tried {
                Ok(()) => {}
                Err(refused) if matches!(refused.cause, Cause::Trial | Cause::NotPermitted) => {
                    flags.push(Flag::OperationRefused {
                        target: at.share.facts().given,
                        operation: op.kind(),
                        tried: words,
                        reason: refused.happened,
                    });
                }
                Err(failure) => return Err(failure),
            }
            if listing {
                break;
            }
        }
        self.refused = cycle.left_out;
        // What could not be removed again is not made either.
        for (undo, made) in
            [(OpKind::REMOVE, OpKind::CREATE), (OpKind::REMOVE_DIRECTORY, OpKind::MAKE_DIRECTORY)]
        {
            if self.refused.contains(&undo) && !self.refused.contains(&made) {
                self.refused.push(made);
            }
        }
        Ok(flags)
    }
}

impl StorageJob for OperationsRun {
    type Source = OperationsSource;

    fn prepare(&mut self, at: &mut Workspace<'_>) -> Result<Vec<Flag>, Failure> {
        if self.tree.is_some() {
            return Ok(Vec::new());
        }
        at.run.event(Event::Phase { phase: Phase::LayOut, total_bytes: 0 });
        let (root, names) = (self.root(at)?, self.job.entries.max(1) as usize);
        let tree =
            Arc::new(Tree::make("create the names for the operations", at, root, &[names, 0])?);
        let flags = self.try_each(at, &tree)?;
        self.tree = Some(tree);
        Ok(flags)
    }

    fn begin(&mut self, at: &mut Workspace<'_>, point: &Point) -> Result<(), Failure> {
        self.prepare(at)?;
        let workers = 0..point.workers.get();
        self.places = workers.map(|_| self.place(at)).collect::<Result<_, Failure>>()?;
        Ok(())
    }

    fn asks(&self) -> Asks {
        let block = u32::try_from(self.job.block.0).unwrap_or(u32::MAX);
        Asks { block, verify: false, kinds: &OperationsJob::KINDS }
    }

    fn source(&self, point: &Point, worker: u16, _: &dyn Lane) -> Result<Self::Source, Failure> {
        let place = self.places.get(usize::from(worker)).copied();
        let (tree, place) = self
            .tree
            .as_ref()
            .zip(place)
            .ok_or_else(|| not_as_made("the names for the operations were not created"))?;
        let mut cycle = self.cycle(tree, place);
        if cycle.next().or_else(|| cycle.listing()).is_none() {
            return Err(not_as_made("the target refuses every kind of operation"));
        }
        Ok(OperationsSource {
            cycle: self.cycle(tree, place),
            names: tree.files[0].len(),
            once: point.once,
            begun: None,
            listing: Duration::ZERO,
            in_flight: false,
            wrong: None,
        })
    }

    fn finish(
        &mut self,
        sources: Vec<OperationsSource>,
        at: &mut Workspace<'_>,
        _complete: bool,
    ) -> Result<Vec<Flag>, Box<NotGood>> {
        let mut wrong = None;
        for source in sources {
            if let Some(file) = source.cycle.made.open {
                at.run.names()?.0.close(file);
            }
            wrong = wrong.or(source.wrong);
        }
        wrong.map_or(Ok(Vec::new()), |wrong| Err(not_as_made(&wrong).into()))
    }
}

fn not_as_made(happened: &str) -> Failure {
    let (tried, on) = ("run the operations", "the run's directory");
    let next = "Make sure that no other program changes that directory, and read the warnings.";
    Failure::new(Cause::Trial, tried).on(on).happened(happened).next(next)
}

/// What an operation is for, as what was tried.
fn tried(op: &Op) -> String {
    let words = match op {
        Op::Lookup(_) => "look up a name",
        Op::ReadDirectory(_) => "list a directory",
        Op::GetAttributes(_) => "get the attributes of a file",
        Op::Access(_) => "check the access rights of a directory",
        Op::Lock(..) => "lock and unlock a file",
        Op::SetAttribute(..) => "set the time of a file",
        Op::MakeDirectory(_) => "create a directory",
        Op::RemoveDirectory(_) => "remove a directory",
        other => return format!("{} a file", other.kind()),
    };
    words.to_owned()
}

/// The steps of a cycle, in their order.
#[derive(Clone, Copy)]
enum Stage {
    LookUp,
    Access,
    Open,
    CloseOpened,
    MakeDirectory,
    Create,
    Write,
    Flush,
    Read,
    GetAttributes,
    Lock,
    Unlock,
    CloseCreated,
    SetTime,
    Rename,
    Remove,
    RemoveDirectory,
}

const STAGES: [Stage; 17] = [
    Stage::LookUp,
    Stage::Access,
    Stage::Open,
    Stage::CloseOpened,
    Stage::MakeDirectory,
    Stage::Create,
    Stage::Write,
    Stage::Flush,
    Stage::Read,
    Stage::GetAttributes,
    Stage::Lock,
    Stage::Unlock,
    Stage::CloseCreated,
    Stage::SetTime,
    Stage::Rename,
    Stage::Remove,
    Stage::RemoveDirectory,
];

/// One operation after the other, over and over.
struct Cycle {
    tree: Arc<Tree>,
    place: Place,
    block: u32,
    left_out: Vec<OpKind>,
    /// The next of [`STAGES`], and how many cycles were gone through.
    stage: usize,
    round: u32,
    made: Made,
}

/// What a worker has made, and has not undone.
#[derive(Default)]
struct Made {
    open: Option<FileId>,
    directory: bool,
    /// Its file, under this name.
    file: Option<PathId>,
}

impl Cycle {
    /// The next operation; `None` once at the end of a cycle.
    fn next(&mut self) -> Option<Op> {
        while let Some(stage) = STAGES.get(self.stage) {
            self.stage += 1;
            let op = self.op(*stage).filter(|op| !self.left_out.contains(&op.kind()));
            if op.is_some() {
                return op;
            }
        }
        (self.stage, self.round) = (0, self.round.wrapping_add(1));
        None
    }

    /// A listing of the large directory.
    fn listing(&self) -> Option<Op> {
        let refused = self.left_out.contains(&OpKind::READ_DIRECTORY);
        (!refused).then_some(Op::ReadDirectory(self.tree.directories[0]))
    }

    /// The operation of a stage; `None` where what it needs is not there.
    fn op(&self, stage: Stage) -> Option<Op> {
        let (made, place) = (&self.made, &self.place);
        let listed = &self.tree.files[0];
        let name = listed[self.round as usize % listed.len()];
        let span = |file| Span { file, offset: 0, length: self.block, generation: self.round };
        Some(match stage {
            Stage::LookUp => Op::Lookup(name),
            Stage::Access => Op::Access(self.tree.directories[0]),
            Stage::Open => Op::Open(name),
            Stage::MakeDirectory => Op::MakeDirectory(place.directory),
            Stage::Create => Op::Create(place.file),
            Stage::Write => Op::Write(span(made.open?), Stability::Unstable),
            Stage::Flush => Op::Flush(made.open?),
            Stage::Read => Op::Read(span(made.open?)),
            Stage::GetAttributes => Op::GetAttributes(made.open?),
            Stage::Lock => Op::Lock(made.open?, ByteRange::WHOLE, LockMode::Exclusive),
            Stage::Unlock => Op::Unlock(made.open?, ByteRange::WHOLE),
            Stage::CloseOpened | Stage::CloseCreated => Op::Close(made.open?),
            // A day of the year 2001, so that it is another one each time.
            Stage::SetTime => Op::SetAttribute(
                Node::Closed(made.file?),
                NewAttribute::Modified(1_000_000_000 + self.round % 86_400),
            ),
            Stage::Rename => Op::Rename(made.file?, place.renamed),
            Stage::Remove => Op::Remove(made.file?),
            Stage::RemoveDirectory if made.directory => Op::RemoveDirectory(place.directory),
            Stage::RemoveDirectory => return None,
        })
    }

    /// Notes what has come of an operation.
    fn completed(&mut self, op: &Op, done: &Done) {
        let Ok(found) = &done.result else { return };
        match (op, found.as_deref()) {
            (Op::Open(_), Some(Found::File(file))) => self.made.open = Some(*file),
            (Op::Create(path), Some(Found::File(file))) => {
                (self.made.open, self.made.file) = (Some(*file), Some(*path));
            }
            (Op::Close(_), _) => self.made.open = None,
            (Op::Rename(_, to), _) => self.made.file = Some(*to),
            (Op::Remove(_), _) => self.made.file = None,
            (Op::MakeDirectory(_), _) => self.made.directory = true,
            (Op::RemoveDirectory(_), _) => self.made.directory = false,
            _ => {}
        }
    }
}

/// One operation, of a cycle that takes its time, and perhaps one that undoes it.
struct Once<'c> {
    ops: [Option<Op>; 2],
    in_flight: bool,
    cycle: &'c mut Cycle,
}

impl OperationSource for Once<'_> {
    fn next(&mut self, _: Nanos) -> Step {
        if self.in_flight {
            return Step::WaitUntil(Nanos(u64::MAX));
        }
        let next = self.ops.iter_mut().find_map(Option::take);
        self.in_flight = next.is_some();
        next.map_or(Step::End, Step::Issue)
    }

    fn completed(&mut self, op: &Op, done: &Done) {
        self.in_flight = false;
        self.cycle.completed(op, done);
    }
}

/// One worker, one operation at a time whatever its depth.
pub(crate) struct OperationsSource {
    cycle: Cycle,
    /// Names in the directory that is listed.
    names: usize,
    once: bool,
    /// When it began, and what listings have taken since.
    begun: Option<Nanos>,
    listing: Duration,
    in_flight: bool,
    /// What is not as it was made, in words.
    wrong: Option<String>,
}

impl OperationsSource {
    /// What follows the end of a cycle: a listing where it is time for one, else the next cycle.
    fn at_the_end(&mut self, elapsed: Duration) -> Option<Op> {
        let lists = self.once || self.listing * LISTING_SHARE <= elapsed;
        let listing = self.cycle.listing();
        if lists && listing.is_some() {
            return listing;
        }
        match self.once {
            true => None,
            // Where there is nothing but listings, they are done all the time.
            false => self.cycle.next().or(listing),
        }
    }
}

impl OperationSource for OperationsSource {
    fn next(&mut self, now: Nanos) -> Step {
        if self.in_flight {
            return Step::WaitUntil(Nanos(u64::MAX));
        }
        let over = self.cycle.round > 0 && self.cycle.stage == 0;
        if self.wrong.is_some() || (self.once && over) {
            return Step::End;
        }
        let elapsed = now.since(*self.begun.get_or_insert(now));
        let op = self.cycle.next().or_else(|| self.at_the_end(elapsed));
        self.in_flight = op.is_some();
        op.map_or(Step::End, Step::Issue)
    }

    fn completed(&mut self, op: &Op, done: &Done) {
        self.in_flight = false;
        self.cycle.completed(op, done);
        if !matches!(op, Op::ReadDirectory(_)) {
            return;
        }
        self.listing += done.done.since(done.issued);
        if let Ok(Some(found)) = &done.result
            && let Found::Entries(entries) = &**found
            && entries.len() != self.names
        {
            let (is, was) = (entries.len(), self.names);
            self.wrong = Some(format!("a directory has {is} entries instead of {was}"));
        }
    }
}
