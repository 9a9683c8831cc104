//! The files that a share's namespaces opened, for its lanes.

use crate::op::FileId;
use nfs::nfs3::{FileHandle, UnstableData};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A file that is open: its handle, and what is not yet stable of it.
#[derive(Debug)]
pub(super) struct OpenFile {
    pub handle: FileHandle,
    pub unstable: UnstableData,
}

/// All open files of a share. Numbers are not used twice.
#[derive(Debug, Default)]
pub(super) struct OpenFiles {
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    next: u32,
    open: BTreeMap<u32, Arc<OpenFile>>,
}

impl OpenFiles {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a file.
    pub fn open(&self, handle: FileHandle) -> FileId {
        let mut table = self.table();
        let id = table.next;
        table.next += 1;
        table.open.insert(id, Arc::new(OpenFile { handle, unstable: UnstableData::new() }));
        FileId(id)
    }

    /// Takes a file out; lanes that know it go on.
    pub fn close(&self, file: FileId) {
        self.table().open.remove(&file.0);
    }

    /// The files open now.
    pub fn known(&self) -> Known {
        let table = self.table();
        let first = table.open.keys().next().copied().unwrap_or(0);
        let end = table.open.keys().next_back().map_or(first, |last| last + 1);
        Known { first, files: (first..end).map(|id| table.open.get(&id).cloned()).collect() }
    }
}

/// The files a lane knows, found by index.
#[derive(Debug)]
pub(super) struct Known {
    first: u32,
    files: Box<[Option<Arc<OpenFile>>]>,
}

impl Known {
    /// The file of this number.
    pub fn get(&self, file: FileId) -> Option<&OpenFile> {
        let index = file.0.checked_sub(self.first)?;
        self.files.get(index as usize)?.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_know_what_was_open_when_they_were_made() {
        let files = OpenFiles::default();
        let handle = |n| FileHandle::new(&[n]).unwrap();
        let (a, b) = (files.open(handle(1)), files.open(handle(2)));
        files.close(a);
        let known = files.known();
        files.close(b);
        let c = files.open(handle(3));
        assert_ne!(c, a, "numbers are not used twice");
        assert!(known.get(a).is_none() && known.get(c).is_none());
        assert_eq!(known.get(b).map(|f| f.handle), Some(handle(2)));
        assert!(known.get(FileId(u32::MAX)).is_none());
    }
}
