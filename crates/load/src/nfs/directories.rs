//! The directories below an NFS target that are known by their handles, and the way to those that are not.

use super::parts::{directory_of, next_part, parent};
use crate::op::Op;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The directory that a target names, and those below it that were made or looked up, by their paths. A handle
/// stays what it was, whatever its name stands for later.
#[derive(Debug)]
pub(crate) struct Directories<H> {
    base: H,
    below: Mutex<BTreeMap<String, H>>,
}

impl<H: Copy> Directories<H> {
    /// Nothing is known but the target's own directory.
    pub fn new(base: H) -> Self {
        Directories { base, below: Mutex::default() }
    }

    /// The directory that the target names.
    pub fn base(&self) -> H {
        self.base
    }

    /// A directory, if it is known.
    pub fn get(&self, path: &str) -> Option<H> {
        if path.is_empty() { Some(self.base) } else { self.below().get(path).copied() }
    }

    /// Adds a directory that was made or looked up. Whether it is the first.
    pub fn hold(&self, path: &str, directory: H) -> bool {
        let mut below = self.below();
        let first = below.is_empty();
        if !path.is_empty() {
            below.insert(path.to_owned(), directory);
        }
        first
    }

    /// Takes out a directory that was removed.
    pub fn forget(&self, path: &str) {
        self.below().remove(path);
    }

    fn below(&self) -> MutexGuard<'_, BTreeMap<String, H>> {
        self.below.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How far an operation has come on the way to the directory that its names lie in.
#[derive(Debug)]
pub(crate) struct Way<H> {
    /// What it is about.
    pub path: Arc<str>,
    /// The name that it gets.
    pub to: Arc<str>,
    /// The last directory on the way that is known.
    pub directory: H,
    /// How many bytes of the path that directory's path has.
    resolved: usize,
}

impl<H: Copy> Way<H> {
    /// No way yet.
    pub fn new(held: &Directories<H>) -> Self {
        Way { path: "".into(), to: "".into(), directory: held.base, resolved: 0 }
    }

    /// Begins behind what is known of a path: every directory is looked up once. Whether that is all.
    pub fn begin(&mut self, held: &Directories<H>, op: &Op, path: Arc<str>) -> bool {
        let wanted = directory_of(op, &path);
        let known =
            std::iter::successors(Some(wanted), |path| (!path.is_empty()).then(|| parent(path)));
        let nearest = known.filter_map(|path| Some((path.len(), held.get(path)?))).next();
        (self.resolved, self.directory) = nearest.unwrap_or((0, held.base));
        let done = self.resolved == wanted.len();
        self.path = path;
        done
    }

    /// The name to be looked up next, in the last directory that is known.
    pub fn part(&self, op: &Op) -> &str {
        next_part(directory_of(op, &self.path), self.resolved)
    }

    /// That name is this directory. Whether it was the last on the way.
    pub fn found(&mut self, held: &Directories<H>, op: &Op, directory: H) -> bool {
        self.resolved += self.part(op).len() + usize::from(self.resolved > 0);
        self.directory = directory;
        held.hold(&self.path[..self.resolved], directory);
        self.resolved == directory_of(op, &self.path).len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::PathId;

    #[test]
    fn every_directory_is_looked_up_once() {
        let (held, op) = (Directories::new(0), Op::Create(PathId(0)));
        let mut way = Way::new(&held);
        assert!(way.begin(&held, &op, "file".into()), "it lies in the target's own directory");
        assert_eq!(way.directory, 0);
        assert!(!way.begin(&held, &op, "a/bc/file".into()));
        assert_eq!((way.part(&op), way.directory), ("a", 0));
        assert!(!way.found(&held, &op, 1));
        assert_eq!((way.part(&op), way.directory), ("bc", 1));
        assert!(way.found(&held, &op, 2));
        assert_eq!((held.get("a"), held.get("a/bc"), held.get("a/b")), (Some(1), Some(2), None));
        assert!(!way.begin(&held, &op, "a/d/file".into()));
        assert_eq!((way.part(&op), way.directory), ("d", 1));
        held.forget("a/bc");
        assert!(!way.begin(&held, &op, "a/bc/other".into()));
        assert_eq!((way.part(&op), way.directory), ("bc", 1));
    }

    #[test]
    fn the_first_directory_is_told() {
        let held = Directories::new('/');
        assert!(held.hold("run", 'r') && !held.hold("run/a", 'a'));
        assert_eq!((held.get(""), held.get("run")), (Some('/'), Some('r')));
    }
}
