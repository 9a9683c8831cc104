//! A walk over a tree of directories: each is listed, and every name found is looked up. What a
//! photo library or a backup program does before it reads a byte.
//!
//! On a directory that is mounted here the kernel answers what it has cached, as it does for any program. So warm
//! and cold are two jobs: before a warm one all names are walked, before a cold one caches are dropped.

use super::made_tree::Tree;
use super::tree::{self, SCAN};
use super::{Asks, Counted, NotGood, Point, StorageJob, Workspace, can_do};
use crate::entry::EntryKind;
use crate::op::{Done, Found, Op, PathId};
use crate::share::{Lane, Share};
use crate::source::{OperationSource, Step};
use plimsoll_model::{
    Cause, Event, Failure, Flag, Measure, NamesCached, Nanos, OpKind, Phase, ScanJob,
};
use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const KINDS: &[OpKind] = &[OpKind::LOOKUP, OpKind::READ_DIRECTORY];
/// How long a worker waits before it looks again whether there is a directory to be walked.
const PAUSE: Duration = Duration::from_micros(100);

/// A scan of a tree that was made for it.
pub(crate) struct ScanRun {
    job: ScanJob,
    number: usize,
    tree: Option<Arc<Tree>>,
    walk: Arc<Mutex<Walk>>,
}

/// What is left of the walk, for all workers.
#[derive(Default)]
struct Walk {
    /// Directories that were found and that nobody walks yet.
    found: VecDeque<Directory>,
    /// Directories that were found and are not walked.
    left: usize,
    /// Whether the root was walked.
    begun: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Directory {
    Root,
    Below(usize),
}

impl ScanRun {
    pub fn new(job: &ScanJob, number: usize) -> Self {
        ScanRun { job: job.clone(), number, tree: None, walk: Arc::default() }
    }
}

impl ScanRun {
    /// The directory of a share whose names this machine's kernel caches, where it is to have them before trials.
    fn warm_directory(&self, share: &dyn Share) -> Option<PathBuf> {
        share.local_directory().filter(|_| self.job.cached == NamesCached::Warm)
    }
}

/// Has the kernel cache the names and attributes of a directory and of those below it, as a scan asks for them.
fn walk(directory: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        if entry.metadata()?.is_dir() {
            walk(&entry.path())?;
        }
    }
    Ok(())
}

impl StorageJob for ScanRun {
    type Source = ScanSource;
    const COUNTED: Counted = &[(Measure::ENTRIES, &[OpKind::LOOKUP])];

    fn prepare(&mut self, at: &mut Workspace<'_>) -> Result<Vec<Flag>, Failure> {
        if self.tree.is_some() {
            return Ok(Vec::new());
        }
        at.run.event(Event::Phase { phase: Phase::LayOut, total_bytes: 0 });
        let root = format!("{}/{SCAN}{}", at.run.names()?.1, self.number);
        let files = vec![self.job.files as usize; self.job.directories as usize];
        let made = Tree::make("create the tree for the scan", at, root, &files)?;
        self.tree = Some(Arc::new(made));
        let warm = self.warm_directory(at.share).is_some();
        let target = at.share.facts().given;
        Ok(Vec::from_iter(warm.then_some(Flag::WarmScan { target })))
    }

    fn begin(&mut self, at: &mut Workspace<'_>, _point: &Point) -> Result<(), Failure> {
        self.prepare(at)?;
        if let (Some(below), Some(tree)) = (self.warm_directory(at.share), &self.tree) {
            let root = at.context.paths.get(tree.root).ok_or_else(|| {
                changed(
                    "the root of the tree has no \
                path",
                )
            })?;
            walk(&below.join(&*root)).map_err(|error| changed(&error.to_string()))?;
        }
        self.walk = Arc::default();
        Ok(())
    }

    fn asks(&self) -> Asks {
        Asks { block: 4096, verify: false, kinds: KINDS }
    }

    fn source(&self, point: &Point, _: u16, lane: &dyn Lane) -> Result<ScanSource, Failure> {
        can_do("scan a tree", lane, KINDS)?;
        let tree = self.tree.clone().ok_or_else(|| changed("the tree was not created"))?;
        Ok(ScanSource {
            tree,
            walk: self.walk.clone(),
            once: point.once,
            at: None,
            to_look_up: Vec::new(),
            in_flight: 0,
            wrong: None,
        })
    }

    fn finish(
        &mut self,
        sources: Vec<ScanSource>,
        _at: &mut Workspace<'_>,
        _complete: bool,
    ) -> Result<Vec<Flag>, Box<NotGood>> {
        match sources.into_iter().find_map(|source| source.wrong) {
            Some(wrong) => Err(changed(&wrong).into()),
            None => Ok(Vec::new()),
        }
    }
}

fn changed(happened: &str) -> Failure {
    let next =
        "Make sure that no other program changes the directory of the run, and run it again.";
    Failure::new(Cause::Trial, "scan the tree")
        .on("the run's directory")
        .happened(happened)
        .next(next)
}

fn lock(walk: &Mutex<Walk>) -> MutexGuard<'_, Walk> {
    walk.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One worker of a scan: one directory after the other, with as many names looked up at a time as
/// its lane takes.
pub(crate) struct ScanSource {
    tree: Arc<Tree>,
    walk: Arc<Mutex<Walk>>,
    once: bool,
    /// The directory that is walked; `None` between two.
    at: Option<Directory>,
    to_look_up: Vec<PathId>,
    in_flight: usize,
    /// What is not as it was made, in words.
    wrong: Option<String>,
}

impl OperationSource for ScanSource {
    fn next(&mut self, now: Nanos) -> Step {
        if self.wrong.is_some() {
            return Step::End;
        }
        if let Some(path) = self.to_look_up.pop() {
            self.in_flight += 1;
            return Step::Issue(Op::Lookup(path));
        }
        if self.in_flight > 0 {
            return Step::WaitUntil(Nanos(u64::MAX));
        }
        let mut walk = lock(&self.walk);
        if self.at.take().is_some() {
            walk.left -= 1;
        }
        if walk.left == 0 && !(walk.begun && self.once) {
            walk.begun = true;
            walk.left = 1;
            walk.found.push_back(Directory::Root);
        }
        self.at = walk.found.pop_front();
        let path = match self.at {
            Some(Directory::Root) => self.tree.root,
            Some(Directory::Below(number)) => self.tree.directories[number],
            None if walk.left == 0 => return Step::End,
            None => return Step::WaitUntil(now + PAUSE),
        };
        self.in_flight = 1;
        Step::Issue(Op::ReadDirectory(path))
    }

    fn completed(&mut self, op: &Op, done: &Done) {
        self.in_flight -= 1;
        match (op, done.result.as_ref().map(|found| found.as_deref())) {
            (Op::ReadDirectory(_), Ok(Some(Found::Entries(entries)))) => self.listed(entries),
            (Op::Lookup(_), Ok(Some(Found::Attributes(found)))) => {
                let expected = match self.at {
                    Some(Directory::Root) => EntryKind::Directory,
                    _ => EntryKind::File,
                };
                if found.kind != expected {
                    self.wrong = Some("an entry has changed its type".to_owned());
                }
            }
            (_, Ok(_)) => self.wrong = Some("the tree is empty".to_owned()),
            // Counted where errors are.
            (_, Err(_)) => {}
        }
    }
}

impl ScanSource {
    fn listed(&mut self, entries: &[crate::entry::Entry]) {
        let tree = self.tree.clone();
        let (letter, expected) = match self.at {
            Some(Directory::Below(number)) => ('f', &tree.files[number]),
            _ => ('d', &tree.directories),
        };
        self.to_look_up.clear();
        for entry in entries {
            match tree::number(letter, &entry.name).and_then(|number| expected.get(number)) {
                Some(path) => self.to_look_up.push(*path),
                None => self.wrong = Some(format!("it contains a new name: {}", entry.name)),
            }
        }
        if self.to_look_up.len() < expected.len() {
            let (is, was) = (self.to_look_up.len(), expected.len());
            self.wrong = Some(format!("a directory has {is} entries instead of {was}"));
        }
        if self.at == Some(Directory::Root) && self.wrong.is_none() {
            let mut walk = lock(&self.walk);
            walk.left += tree.directories.len();
            walk.found.extend((0..tree.directories.len()).map(Directory::Below));
        }
    }
}
