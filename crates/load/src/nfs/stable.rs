//! What is not yet stable of a file, what transfers add to it, and what becomes of it when it is flushed.

use super::calls::About;
use super::failures::op_error;
use crate::op::{Found, Op, OpError};
use crate::wire::{Call, OperationCall, Outcome};
use plimsoll_nfs::nfs3::{CommitBegun, Piece, Stability, UnstableData};
use plimsoll_nfs::{Done, Error};

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

    /// What a reply means for an operation on an open file, whose data may not be stable. What the server has
    /// lost in a restart when it answers a COMMIT is written again, where that is wanted.
    pub fn transferred<A: Into<About>, O>(
        &mut self,
        of: OperationCall<'_>,
        done: Done<'_, A, O>,
        unstable: Option<&UnstableData>,
        write_again: bool,
    ) -> Result<Outcome, OpError> {
        let (verifier, unstable) = match (done, unstable) {
            (Done::Write { count, committed, verifier }, unstable) => {
                if let (Stability::Unstable, Some(unstable)) = (committed, unstable) {
                    unstable.written(piece(of, count), verifier);
                }
                return Ok(Outcome::Moved { count, ended: false });
            }
            (Done::Attributes(attributes), _) => {
                let about: About = (*attributes).into();
                return Ok(Outcome::Found(Some(Found::Attributes(about.into()))));
            }
            (Done::Commit { verifier }, Some(unstable)) => (verifier, unstable),
            _ => return Ok(Outcome::Found(None)),
        };
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
            Call { offset, length, generation, ..*of.call }
        };
        Ok(Outcome::WriteAgain(lost.iter().map(again).collect()))
    }
}

/// What a WRITE has written.
fn piece(OperationCall { op, call }: OperationCall<'_>, length: u32) -> Piece {
    let generation = match op {
        Op::Write(span, _) => span.generation,
        _ => call.generation,
    };
    Piece { offset: call.offset, length, generation }
}
