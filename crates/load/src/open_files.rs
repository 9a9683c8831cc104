//! The files that a share's namespaces opened, for its lanes.

use crate::op::FileId;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// All open files of a share, with what lanes need to know of each. Numbers are not used twice.
#[derive(Debug)]
pub(crate) struct OpenFiles<F> {
    table: Mutex<Table<F>>,
}

#[derive(Debug)]
struct Table<F> {
    next: u32,
    open: BTreeMap<u32, Arc<F>>,
}

impl<F> Default for OpenFiles<F> {
    fn default() -> Self {
        OpenFiles { table: Mutex::new(Table { next: 0, open: BTreeMap::new() }) }
    }
}

impl<F> OpenFiles<F> {
    fn table(&self) -> MutexGuard<'_, Table<F>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a file.
    pub fn open(&self, file: F) -> FileId {
        let mut table = self.table();
        let id = table.next;
        table.next += 1;
        table.open.insert(id, Arc::new(file));
        FileId(id)
    }

    /// Takes a file out; lanes that know it go on.
    pub fn close(&self, file: FileId) {
        self.table().open.remove(&file.0);
    }

    /// The files open now.
    pub fn known(&self) -> Known<Arc<F>> {
        let table = self.table();
        let first = table.open.keys().next().copied().unwrap_or(0);
        let end = table.open.keys().next_back().map_or(first, |last| last + 1);
        Known { first, files: (first..end).map(|id| table.open.get(&id).cloned()).collect() }
    }
}

/// The files a lane knows, found by index.
#[derive(Debug)]
pub(crate) struct Known<F> {
    first: u32,
    files: Box<[Option<F>]>,
}

impl<F> Known<F> {
    /// The file of this number.
    pub fn get(&self, file: FileId) -> Option<&F> {
        let index = file.0.checked_sub(self.first)?;
        self.files.get(index as usize)?.as_ref()
    }

    /// The same files, each made into something else.
    pub fn try_map<T, E>(&self, mut make: impl FnMut(&F) -> Result<T, E>) -> Result<Known<T>, E> {
        let made = self.files.iter().map(|file| file.as_ref().map(&mut make).transpose());
        Ok(Known { first: self.first, files: made.collect::<Result<_, E>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_know_what_was_open_when_they_were_made() {
        let files = OpenFiles::default();
        let (a, b) = (files.open("a"), files.open("b"));
        files.close(a);
        let known = files.known();
        files.close(b);
        let c = files.open("c");
        assert_ne!(c, a, "numbers are not used twice");
        assert!(known.get(a).is_none() && known.get(c).is_none());
        assert_eq!(known.get(b).map(|f| **f), Some("b"));
        assert!(known.get(FileId(u32::MAX)).is_none());
        let long = known.try_map(|f| Ok::<_, ()>(f.len())).unwrap();
        assert_eq!((long.get(a), long.get(b)), (None, Some(&1)));
        assert_eq!(known.try_map(|_| Err::<(), _>("no")).unwrap_err(), "no");
    }
}
