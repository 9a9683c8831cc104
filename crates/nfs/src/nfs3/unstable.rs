//! What is written and not yet stable: write verifiers, watched (RFC 1813, section 4.8).

use super::types::Verifier;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Unstable data of one file, for all connections that write it. A server that restarts between
/// WRITE and COMMIT gives another verifier; what it had not made stable may be lost, and its client
/// has to write it again: it is kept here which pieces those are, not their bytes.
#[derive(Debug, Default)]
pub struct UnstableData {
    state: Mutex<Pieces>,
}

#[derive(Debug, Default)]
struct Pieces {
    /// By their offsets; no two overlap.
    pieces: BTreeMap<u64, Kept>,
    /// How many COMMITs have begun.
    commits: u64,
}

/// A piece that was written.
#[derive(Clone, Copy, Debug)]
struct Kept {
    length: u32,
    generation: u32,
    verifier: Verifier,
    /// How many COMMITs had begun when its WRITE completed.
    commits: u64,
}

/// A piece of a file that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where in the file, in bytes.
    pub offset: u64,
    /// In bytes.
    pub length: u32,
    /// Which content it has, by the caller's number.
    pub generation: u32,
}

/// A COMMIT under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommitBegun(u64);

impl UnstableData {
    /// Nothing written yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, Pieces> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An unstable WRITE of a piece completed with this verifier, in place of what was written there
    /// before.
    pub fn written(&self, piece: Piece, verifier: Verifier) {
        let Piece { offset, length, generation } = piece;
        let mut state = self.lock();
        let kept = Kept { length, generation, verifier, commits: state.commits };
        // Blocks are mostly written as a whole again: nothing else is to be looked at then.
        if let Some(same) = state.pieces.get_mut(&offset).filter(|same| same.length == length) {
            *same = kept;
            return;
        }
        state.cut_out(offset, offset.saturating_add(length.into()));
        state.pieces.insert(offset, kept);
    }

    /// A COMMIT of the whole file is about to be sent: it covers what has been written so far.
    pub fn commit_begins(&self) -> CommitBegun {
        let mut state = self.lock();
        let begun = CommitBegun(state.commits);
        state.commits += 1;
        begun
    }

    /// A COMMIT completed with this verifier: what it covers is stable, but for the pieces that were
    /// written under another one. Those may be lost, and are not kept any more: they are to be written
    /// again, and committed.
    pub fn committed(&self, begun: CommitBegun, verifier: Verifier) -> Vec<Piece> {
        let mut lost = Vec::new();
        self.lock().pieces.retain(|offset, kept| {
            let covered = kept.commits <= begun.0;
            if covered && kept.verifier != verifier {
                let Kept { length, generation, .. } = *kept;
                lost.push(Piece { offset: *offset, length, generation });
            }
            !covered
        });
        lost
    }
}

impl Pieces {
    /// Forgets what was written between these offsets, and keeps what pieces have beyond them.
    fn cut_out(&mut self, begin: u64, end: u64) {
        let before = self.pieces.range(..begin).next_back().map(|(at, kept)| (*at, *kept));
        let inside = self.pieces.range(begin..end).map(|(at, kept)| (*at, *kept));
        let touched: Vec<_> = before.into_iter().chain(inside).collect();
        for (at, kept) in touched {
            let kept_end = at + u64::from(kept.length);
            if kept_end <= begin {
                continue;
            }
            self.pieces.remove(&at);
            if at < begin {
                self.pieces.insert(at, Kept { length: (begin - at) as u32, ..kept });
            }
            if kept_end > end {
                self.pieces.insert(end, Kept { length: (kept_end - end) as u32, ..kept });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Verifier = Verifier(0);
    const B: Verifier = Verifier(u64::MAX);

    fn piece(offset: u64, length: u32, generation: u32) -> Piece {
        Piece { offset, length, generation }
    }

    #[test]
    fn one_server_life_loses_nothing() {
        let data = UnstableData::new();
        for generation in 0..3 {
            data.written(piece(0, 8, generation), A);
            data.written(piece(8, 8, generation), A);
            let begun = data.commit_begins();
            assert_eq!(data.committed(begun, A), []);
        }
    }

    #[test]
    fn what_was_written_before_a_restart_is_lost_once() {
        let data = UnstableData::new();
        data.written(piece(0, 8, 1), A);
        data.written(piece(8, 8, 1), A);
        // Written after the restart, in place of one of them.
        data.written(piece(8, 8, 2), B);
        let begun = data.commit_begins();
        assert_eq!(data.committed(begun, B), [piece(0, 8, 1)]);
        data.written(piece(0, 8, 1), B);
        let begun = data.commit_begins();
        assert_eq!(data.committed(begun, B), []);
    }

    #[test]
    fn a_restart_when_all_is_stable_loses_nothing() {
        let data = UnstableData::new();
        data.written(piece(0, 8, 1), A);
        let begun = data.commit_begins();
        assert_eq!(data.committed(begun, A), []);
        data.written(piece(0, 8, 2), B);
        let begun = data.commit_begins();
        assert_eq!(data.committed(begun, B), []);
    }

    #[test]
    fn what_is_written_during_a_commit_is_not_covered_by_it() {
        let data = UnstableData::new();
        data.written(piece(0, 8, 1), A);
        let begun = data.commit_begins();
        data.written(piece(0, 8, 2), A);
        assert_eq!(data.committed(begun, A), []);
        let begun = data.commit_begins();
        assert_eq!(data.committed(begun, B), [piece(0, 8, 2)]);
    }

    #[test]
    fn of_commits_under_way_at_once_each_covers_what_was_written_before_it() {
        let data = UnstableData::new();
        data.written(piece(0, 8, 1), A);
        let first = data.commit_begins();
        data.written(piece(8, 8, 1), A);
        let second = data.commit_begins();
        assert_eq!(data.committed(first, B), [piece(0, 8, 1)]);
        assert_eq!(data.committed(second, B), [piece(8, 8, 1)]);
    }

    #[test]
    fn of_pieces_that_overlap_the_latest_counts() {
        let data = UnstableData::new();
        data.written(piece(0, 100, 1), A);
        data.written(piece(40, 20, 2), A);
        data.written(piece(90, 20, 3), A);
        data.written(piece(95, 5, 4), A);
        let begun = data.commit_begins();
        let lost = [
            piece(0, 40, 1),
            piece(40, 20, 2),
            piece(60, 30, 1),
            piece(90, 5, 3),
            piece(95, 5, 4),
            piece(100, 10, 3),
        ];
        assert_eq!(data.committed(begun, B), lost);
    }
}
