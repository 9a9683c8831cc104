//! What is not yet stable of a file, and what becomes of it when it is flushed.

use super::failures::op_error;
use crate::op::{Op, OpError};
use crate::wire::{Call, Of, Outcome};
use plimsoll_nfs::Error;
use plimsoll_nfs::nfs3::{CommitBegun, Piece, Stability, UnstableData, Verifier};

/// How often a flush writes again what was lost, at most: a server that gives another verifier each time
/// makes nothing stable, ever.
const MOST_LOSSES: u32 = 5;

/// A flush of one file: the COMMIT under way, and how many before it have found data lost.
#[derive(Debug, Default)]
pub(crate) struct Flush {
    commit: CommitBegun,
    losses: u32,
}

impl Flush {
    /// A COMMIT is about to be sent.
    pub fn commit_begins(&mut self, unstable: &UnstableData) {
        self.commit = unstable.commit_begins();
    }

    /// The COMMIT was answered: what the server has lost in a restart is written again, where that is
    /// wanted.
    pub fn committed(
        &mut self,
        call: &Call,
        unstable: &UnstableData,
        verifier: Verifier,
        write_again: bool,
    ) -> Result<Outcome, OpError> {
        let lost = unstable.committed(std::mem::take(&mut self.commit), verifier);
        if lost.is_empty() {
            return Ok(Outcome::Found(None));
        }
        self.losses += 1;
        if !write_again || self.losses > MOST_LOSSES {
            return Err(op_error(&Error::DataLost));
        }
        let again = |piece: &Piece| {
            let Piece { offset, length, generation } = *piece;
            Call { offset, length, generation, ..*call }
        };
        Ok(Outcome::WriteAgain(lost.iter().map(again).collect()))
    }
}

/// Notes what a WRITE has written, where it is not stable.
pub(crate) fn written(
    Of { op, call }: Of<'_>,
    unstable: Option<&UnstableData>,
    (count, committed, verifier): (u32, Stability, Verifier),
) {
    if committed == Stability::Unstable
        && let Some(unstable) = unstable
    {
        let generation = match op {
            Op::Write(span, _) => span.generation,
            _ => call.generation,
        };
        unstable.written(Piece { offset: call.offset, length: count, generation }, verifier);
    }
}
