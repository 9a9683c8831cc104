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
    /// As rsync goes through them: how many items there are before each directory's own.
    pub starts: Vec<usize>,
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
    /// What is done at this place of a round: something to each directory and each file, then what directories
    /// need afterwards. rsync goes from one directory with its files to the next; else the directories are
    /// first.
    pub fn item(&self, at: usize) -> Option<Item> {
        let directories = match (self.transfer, self.method) {
            (Transfer::Up, _) | (_, Method::Rsync) => self.files.directories() + 1,
            _ => 0,
        };
        let before = |place| match self.transfer {
            Transfer::Down => Item::List(place),
            _ => Item::Make(place),
        };
        let files = self.files.files();
        if self.method == Method::Rsync && at < directories + files {
            let place = self.starts.partition_point(|start| *start <= at);
            return Some(match self.starts.get(place.wrapping_sub(1)) {
                Some(start) if *start < at => Item::File(at - place - 1),
                _ => before(place),
            });
        }
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

/// How many items there are before that of each directory but the tree itself, which is the first, where
/// the files of each follow it.
pub(super) fn starts(files: &dyn FileSet) -> Vec<usize> {
    let mut starts = vec![0; files.directories()];
    for file in 0..files.files() {
        starts[files.directory_of(file)] += 1;
    }
    let mut before = 0;
    for (start, number) in starts.iter_mut().zip(1..) {
        let own = std::mem::replace(start, number + before);
        before += own;
    }
    starts
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Manifest;
    use plimsoll_model::{DataClass, GeneratedData};

    /// Every directory and every file once, a directory after the one that it is in, its files right after it.
    #[test]
    fn rsync_goes_from_one_directory_with_its_files_to_the_next() {
        let class = DataClass::Source;
        let (count, mean_bytes) = (300, 500.0);
        let data = GeneratedData { class, count, mean_bytes, scale: 1.0, seed: 3 };
        let files: Arc<dyn FileSet> = Arc::new(Manifest::new(&data.dataset(), &data).unwrap());
        let (paths, transfer, method) = (Arc::new(Paths::default()), Transfer::Up, Method::Rsync);
        let names = Arc::new(Names::new(&paths, "run/copy".to_owned(), &files));
        let copies = Copies {
            round: Mutex::new((0, Round::new(names, &*files, transfer))),
            starts: starts(&*files),
            touched: touched(&*files, transfer, method),
            files: files.clone(),
            paths,
            prefix: "run/copy".to_owned(),
            transfer,
            method,
            once: true,
            failed: AtomicBool::new(false),
        };
        let directories = files.directories();
        assert!(directories > 5);
        let all: Vec<Item> = (0..).map_while(|at| copies.item(at)).collect();
        assert_eq!(all.len(), 2 * (directories + 1) + 300);
        let (mut place, mut file) = (0, 0);
        assert_eq!(all[0], Item::Make(0));
        for item in &all[1..=directories + 300] {
            match *item {
                Item::Make(next) => {
                    assert_eq!(next, place + 1);
                    assert!(copies.above(next).unwrap() < next);
                    place = next;
                }
                Item::File(next) => {
                    assert_eq!((next, copies.place_of(next)), (file, place));
                    file += 1;
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!((place, file), (directories, 300));
        assert!(all[1 + directories + 300..].iter().all(|item| matches!(item, Item::Touch(_))));
    }
}
