//! Names whose calls are timed: one that takes as long as a stall is one, wherever it falls.

use plimsoll_load::{Entry, FileId, Namespace, OutsideStalls, Space};
use plimsoll_model::{Deadline, Failure};

/// Calls outside the load that may take as long as a stall.
#[derive(Clone)]
pub(crate) struct SlowCalls {
    deadline: Deadline,
    stalls: OutsideStalls,
}

impl SlowCalls {
    pub(crate) fn new(deadline: Deadline, stalls: OutsideStalls) -> SlowCalls {
        SlowCalls { deadline, stalls }
    }

    /// Does a call, and keeps its time if it is long.
    pub(crate) fn timed<T>(&self, call: impl FnOnce() -> T) -> T {
        let begun = self.deadline.now();
        let result = call();
        self.stalls.keep(begun, self.deadline.now().since(begun));
        result
    }

    /// A namespace whose calls are timed.
    pub(crate) fn names(&self, inner: Box<dyn Namespace>) -> Box<dyn Namespace> {
        Box::new(Timed { inner, slow: self.clone() })
    }
}

struct Timed {
    inner: Box<dyn Namespace>,
    slow: SlowCalls,
}

impl Namespace for Timed {
    fn make_directory(&mut self, path: &str) -> Result<(), Failure> {
        self.slow.timed(|| self.inner.make_directory(path))
    }

    fn list(&mut self, path: &str) -> Result<Vec<Entry>, Failure> {
        self.slow.timed(|| self.inner.list(path))
    }

    fn create(&mut self, path: &str) -> Result<FileId, Failure> {
        self.slow.timed(|| self.inner.create(path))
    }

    fn open(&mut self, path: &str) -> Result<FileId, Failure> {
        self.slow.timed(|| self.inner.open(path))
    }

    fn open_to_write(&mut self, path: &str) -> Result<FileId, Failure> {
        self.slow.timed(|| self.inner.open_to_write(path))
    }

    fn close(&mut self, file: FileId) {
        self.slow.timed(|| self.inner.close(file));
    }

    fn write_small(&mut self, path: &str, bytes: &[u8]) -> Result<(), Failure> {
        self.slow.timed(|| self.inner.write_small(path, bytes))
    }

    fn read_part(&mut self, path: &str, offset: u64, limit: usize) -> Result<Vec<u8>, Failure> {
        self.slow.timed(|| self.inner.read_part(path, offset, limit))
    }

    fn remove_file(&mut self, path: &str) -> Result<(), Failure> {
        self.slow.timed(|| self.inner.remove_file(path))
    }

    fn remove_directory(&mut self, path: &str) -> Result<(), Failure> {
        self.slow.timed(|| self.inner.remove_directory(path))
    }

    fn space(&mut self) -> Result<Space, Failure> {
        self.slow.timed(|| self.inner.space())
    }
}
