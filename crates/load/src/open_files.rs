//! The files that are open on a share, for its namespaces and lanes.

use crate::op::FileId;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// All open files of a share, with what lanes need to know of each. Numbers are not used twice.
#[derive(Debug)]
pub(crate) struct OpenFiles<F> {
    table: Mutex<Table<F>>,
    /// How many have been closed.
    closed: AtomicU64,
}

#[derive(Debug)]
struct Table<F> {
    next: u32,
    open: BTreeMap<u32, Arc<F>>,
}

impl<F> Default for OpenFiles<F> {
    fn default() -> Self {
        let table = Mutex::new(Table { next: 0, open: BTreeMap::new() });
        OpenFiles { table, closed: AtomicU64::new(0) }
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

    /// One file.
    pub fn get(&self, file: FileId) -> Option<Arc<F>> {
        self.table().open.get(&file.0).cloned()
    }

    /// Takes a file out; lanes that know it go on.
    pub fn close(&self, file: FileId) {
        self.table().open.remove(&file.0);
        self.closed.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes all files out, with their numbers, under which [`OpenFiles::put_back`] has them again.
    pub fn take_all(&self) -> Vec<(FileId, Arc<F>)> {
        let open = std::mem::take(&mut self.table().open);
        open.into_iter().map(|(id, file)| (FileId(id), file)).collect()
    }

    /// Adds a file under the number that it had.
    pub fn put_back(&self, id: FileId, file: F) {
        self.table().open.insert(id.0, Arc::new(file));
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

    /// Takes a file out.
    pub fn take(&mut self, file: FileId) -> Option<F> {
        let index = file.0.checked_sub(self.first)?;
        self.files.get_mut(index as usize)?.take()
    }

    /// The same files, each made into something else.
    pub fn try_map<T, E>(&self, mut make: impl FnMut(&F) -> Result<T, E>) -> Result<Known<T>, E> {
        let made = self.files.iter().map(|file| file.as_ref().map(&mut make).transpose());
        Ok(Known { first: self.first, files: made.collect::<Result<_, E>>()? })
    }
}

/// The files of a share as one of its lanes sees them: those that were open when it was made, and
/// of those opened later the one that it used last.
#[derive(Debug)]
pub(crate) struct LaneFiles<F> {
    known: Known<Arc<F>>,
    shared: Arc<OpenFiles<F>>,
    latest: Option<(FileId, Arc<F>)>,
    /// Those that this lane opened, with any of its threads. Some may have been closed since.
    own: Arc<Mutex<Vec<FileId>>>,
}

impl<F> LaneFiles<F> {
    pub fn new(shared: &Arc<OpenFiles<F>>) -> Self {
        LaneFiles {
            known: shared.known(),
            shared: shared.clone(),
            latest: None,
            own: Arc::default(),
        }
    }

    /// The file of this number.
    #[inline]
    pub fn get(&mut self, file: FileId) -> Option<&Arc<F>> {
        let LaneFiles { known, shared, latest, .. } = self;
        known.get(file).or_else(|| look_up(shared, latest, file))
    }

    /// The file of this number where it is the one used last of those opened later: it may be
    /// closed at any time.
    #[inline]
    pub fn opened_later(&self, file: FileId) -> Option<Arc<F>> {
        self.latest.as_ref().filter(|(latest, _)| *latest == file).map(|(_, file)| file.clone())
    }

    /// Whether a file is open in the share.
    pub fn is_open(&self, file: FileId) -> bool {
        self.shared.get(file).is_some()
    }

    /// A number that changes when a file of the share is closed.
    pub fn closed(&self) -> u64 {
        self.shared.closed.load(Ordering::Relaxed)
    }

    /// Adds a file that this lane opened.
    pub fn open(&mut self, file: F) -> FileId {
        let id = self.shared.open(file);
        let mut own = self.own();
        if own.len() == own.capacity() {
            own.retain(|own| self.shared.get(*own).is_some());
        }
        own.push(id);
        id
    }

    /// Closes what this lane opened and nobody closed, as when a trial ends within a file.
    pub fn close_own(&mut self) {
        self.latest = None;
        let own = std::mem::take(&mut *self.own());
        own.into_iter().for_each(|file| self.shared.close(file));
    }

    fn own(&self) -> MutexGuard<'_, Vec<FileId>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a file out. Whether it was open.
    pub fn close(&mut self, file: FileId) -> bool {
        let open = self.shared.get(file).is_some();
        self.shared.close(file);
        self.latest.take_if(|(latest, _)| *latest == file);
        open
    }

    /// All that were open when the lane was made.
    pub fn known(&self) -> impl Iterator<Item = &Arc<F>> {
        self.known.files.iter().flatten()
    }

    /// The same for another thread of the lane.
    pub fn again(&self) -> Self {
        LaneFiles { own: self.own.clone(), ..LaneFiles::new(&self.shared) }
    }
}

#[cold]
fn look_up<'l, F>(
    shared: &OpenFiles<F>,
    latest: &'l mut Option<(FileId, Arc<F>)>,
    file: FileId,
) -> Option<&'l Arc<F>> {
    if latest.as_ref().is_none_or(|(latest, _)| *latest != file) {
        *latest = Some((file, shared.get(file)?));
    }
    latest.as_ref().map(|(_, file)| file)
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

    #[test]
    fn a_file_opened_by_one_lane_reaches_the_others_until_it_is_closed() {
        let shared = Arc::new(OpenFiles::default());
        let old = shared.open("old");
        let (mut one, mut other) = (LaneFiles::new(&shared), LaneFiles::new(&shared));
        let (a, b) = (one.open("a"), one.open("b"));
        for lane in [&mut one, &mut other] {
            assert_eq!(lane.get(a).map(|f| **f), Some("a"));
            assert_eq!(lane.get(b).map(|f| **f), Some("b"));
            assert_eq!(lane.get(old).map(|f| **f), Some("old"));
        }
        assert!(one.close(b) && !one.close(b));
        assert!(one.get(b).is_none());
        assert_eq!(other.get(a).map(|f| **f), Some("a"));
        assert!(other.get(b).is_none(), "closed by the other lane");
        assert_eq!(Arc::strong_count(&shared.get(a).unwrap()), 3, "the table, a lane and this");
    }

    #[test]
    fn a_lane_closes_what_it_opened_and_no_other_file() {
        let shared = Arc::new(OpenFiles::default());
        let old = shared.open("old");
        let (mut one, mut other) = (LaneFiles::new(&shared), LaneFiles::new(&shared));
        let theirs = other.open("theirs");
        let own: Vec<FileId> = (0..100).map(|_| one.open("own")).collect();
        assert!(own[..50].iter().all(|file| one.close(*file)));
        let by_thread = one.again().open("own");
        one.close_own();
        assert!(shared.get(by_thread).is_none(), "another thread of the lane");
        assert!(own.iter().all(|file| shared.get(*file).is_none()));
        assert!([old, theirs].iter().all(|file| shared.get(*file).is_some()));
        // Those that were closed are not kept in mind.
        for _ in 0..1000 {
            let file = other.open("short");
            other.close(file);
        }
        let kept = other.own().capacity();
        assert!(kept <= 8, "{kept}");
    }
}
