//! What a worker does: which operation comes next. Written once, for lanes of every kind.

pub(crate) mod pattern;
mod whole;
mod written;

pub use pattern::{Files, LaidOut, PatternSource};
pub use whole::{ReadBack, WriteOnce};
pub use written::Written;

use crate::op::{Done, Op};
use plimsoll_model::Nanos;

/// What a worker should do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Issue this operation now.
    Issue(Op),
    /// Issue nothing before this time, unless something completes first.
    WaitUntil(Nanos),
    /// Nothing more: let what is in flight complete.
    End,
}

/// A source of operations for one worker. It neither reads a clock nor waits.
pub trait OperationSource {
    /// Asked whenever an operation could be issued.
    fn next(&mut self, now: Nanos) -> Step;
    /// Called with every completion and the operation it belongs to.
    fn completed(&mut self, op: &Op, done: &Done) {
        let _ = (op, done);
    }
}
