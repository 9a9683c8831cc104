//! Whether unstable data survived: write verifiers, watched (RFC 1813, section 4.8).

use super::types::Verifier;
use crate::Error;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Unstable data of one file, for all connections that write it. A server that restarts between
/// WRITE and COMMIT gives another verifier; what it had not yet made stable may be lost.
#[derive(Debug, Default)]
pub struct UnstableData {
    /// Whether `verifier` is that of data written since the last COMMIT began. Read without the
    /// lock: this is asked for every WRITE, and nearly always nothing has changed.
    pending: AtomicBool,
    verifier: AtomicU64,
    state: Mutex<State>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// All stable.
    #[default]
    Clean,
    /// Written, and no COMMIT under way that covers it all.
    Written,
    /// A COMMIT is under way that covers everything written.
    Committing,
}

impl UnstableData {
    /// Nothing written yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// An unstable WRITE completed with this verifier. `DataLost` says so once, to the caller that
    /// sees the change first; later data are watched under the new verifier.
    pub fn written(&self, verifier: Verifier) -> Result<(), Error> {
        if self.pending.load(Ordering::Acquire)
            && self.verifier.load(Ordering::Relaxed) == verifier.0
        {
            return Ok(());
        }
        let mut state = self.lock();
        let before = self.verifier.swap(verifier.0, Ordering::Relaxed);
        let lost = *state != State::Clean && before != verifier.0;
        *state = State::Written;
        self.pending.store(true, Ordering::Release);
        if lost { Err(Error::DataLost) } else { Ok(()) }
    }

    /// A COMMIT of the file is about to be sent.
    pub fn commit_begins(&self) {
        let mut state = self.lock();
        if *state == State::Written {
            *state = State::Committing;
            self.pending.store(false, Ordering::Release);
        }
    }

    /// A COMMIT completed with this verifier.
    pub fn committed(&self, verifier: Verifier) -> Result<(), Error> {
        let mut state = self.lock();
        let before = self.verifier.swap(verifier.0, Ordering::Relaxed);
        let lost = *state != State::Clean && before != verifier.0;
        if lost || *state == State::Committing {
            *state = State::Clean;
            self.pending.store(false, Ordering::Release);
        }
        if lost { Err(Error::DataLost) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Verifier = Verifier(0);
    const B: Verifier = Verifier(u64::MAX);

    #[test]
    fn one_server_life_loses_nothing() {
        let data = UnstableData::new();
        for _ in 0..3 {
            data.written(A).unwrap();
            data.written(A).unwrap();
            data.commit_begins();
            data.committed(A).unwrap();
        }
        data.commit_begins();
        data.committed(A).unwrap();
    }

    #[test]
    fn a_restart_before_commit_is_reported_once() {
        let data = UnstableData::new();
        data.written(A).unwrap();
        data.commit_begins();
        assert_eq!(data.committed(B), Err(Error::DataLost));
        data.written(B).unwrap();
        assert_eq!(data.written(A), Err(Error::DataLost));
        data.commit_begins();
        data.committed(A).unwrap();
    }

    #[test]
    fn a_restart_when_all_is_stable_loses_nothing() {
        let data = UnstableData::new();
        data.written(A).unwrap();
        data.commit_begins();
        data.committed(A).unwrap();
        data.written(B).unwrap();
        data.commit_begins();
        data.committed(B).unwrap();
    }

    #[test]
    fn what_is_written_during_a_commit_is_not_covered_by_it() {
        let data = UnstableData::new();
        data.written(A).unwrap();
        data.commit_begins();
        data.written(A).unwrap();
        data.committed(A).unwrap();
        assert_eq!(data.written(B), Err(Error::DataLost));
    }
}
