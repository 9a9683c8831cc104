//! What the workers of a copy have in common: which files and directories are to be done, one round of all
//! after the other.

use super::names::Names;
use super::task::Item;
use crate::dataset::FileSet;
use crate::paths::Paths;
use plimsoll_model::{CopyJob, Method, Transfer};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The copies of one point, for all workers: one, or one after the other until the time is over.
pub(super) struct Copies {
    pub files: Arc<dyn FileSet>,
    pub paths: Arc<Paths>,
    /// Where trees are made, but for the number of each.
    pub prefix: String,
    pub transfer: Transfer,
    pub method: Method,
    /// Directories that get another time when files in them have changed; in order.
    pub touched: Vec<usize>,
    pub once: bool,
    /// Set when a worker met an error: nobody waits for it.
    pub failed: AtomicBool,
    pub round: Mutex<(usize, Arc<Round>)>,
}

/// One copy of all files.
pub(super) struct Round {
    pub names: Arc<Names>,
    /// Which directories are there: the tree, then each in it.
    pub made: Vec<AtomicBool>,
    /// The next of what is to be done, as [`Copies::item`] counts.
    pub next: AtomicUsize,
}

impl Round {
    pub fn new(names: Arc<Names>, files: &dyn FileSet, transfer: Transfer) -> Arc<Round> {
        let there = transfer != Transfer::Up;
        let made = (0..=files.directories()).map(|_| AtomicBool::new(there)).collect();
        Arc::new(Round { names, made, next: AtomicUsize::new(0) })
    }

    pub fn is_made(&self, place: usize) -> bool {
        self.made[place].load(Ordering::Acquire)
    }
}

impl Copies {
    /// What is done at this place of a round: first something to each directory, then each file, then
    /// what directories need afterwards.
    pub fn item(&self, at: usize) -> Option<Item> {
        let directories = match (self.transfer, self.method) {
            (Transfer::Up, _) | (Transfer::Update, Method::Rsync) => self.files.directories() + 1,
            (Transfer::Down, Method::Rsync) => self.files.directories() + 1,
            _ => 0,
        };
        let before = |place| match self.transfer {
            Transfer::Down => Item::List(place),
            _ => Item::Make(place),
        };
        let files = self.files.files();
        match at.checked_sub(directories) {
            None => Some(before(at)),
            Some(file) if file < files => Some(Item::File(file)),
            Some(after) => self.touched.get(after - files).map(|place| Item::Touch(*place)),
        }
    }

    /// The place of the directory that a file is in.
    pub fn place_of(&self, file: usize) -> usize {
        1 + self.files.directory_of(file)
    }

    /// The place of the directory that one is in.
    pub fn above(&self, place: usize) -> Option<usize> {
        let above = |directory| self.files.parent(directory).map_or(0, |above| 1 + above);
        place.checked_sub(1).map(above)
    }

    /// Whether a file has changed when all are copied a second time.
    pub fn has_changed(&self, file: usize) -> bool {
        has_changed(file, self.files.files())
    }

    /// The round after this one, made by whoever needs it first.
    pub fn after(&self, done: &Arc<Round>) -> Arc<Round> {
        let mut round = self.round.lock().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&round.1, done) {
            round.0 += 1;
            let names = match self.transfer {
                Transfer::Down | Transfer::Update => done.names.clone(),
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

/// Whether a file has changed when all of so many are copied a second time: always the same ones, so that
/// trials do the same work.
fn has_changed(file: usize, files: usize) -> bool {
    let one_in = files.clamp(1, CopyJob::CHANGED_ONE_IN as usize);
    file % one_in == one_in / 2 && file / one_in < (files / one_in)
}

/// The places of the directories that rsync gives their times afterwards: of all that it made, or has
/// changed something in.
pub(super) fn touched(files: &dyn FileSet, transfer: Transfer, method: Method) -> Vec<usize> {
    match (transfer, method) {
        (Transfer::Up, Method::Rsync) => (0..=files.directories()).collect(),
        (Transfer::Update, Method::Rsync) => {
            let changed = (0..files.files()).filter(|file| has_changed(*file, files.files()));
            let places: BTreeSet<usize> = changed.map(|f| 1 + files.directory_of(f)).collect();
            places.into_iter().collect()
        }
        _ => Vec::new(),
    }
}
