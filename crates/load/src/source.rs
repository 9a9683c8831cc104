//! Where jobs and the worker loop meet: a job says which operation comes next, and the loop how it ended.

use crate::op::{Done, FileId, Op, OpError};
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
    /// The files to flush when it has ended.
    fn to_flush(&self) -> Vec<FileId> {
        Vec::new()
    }
}

/// How one worker ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// At its time, or because its source had ended; everything in flight completed.
    Complete,
    /// Because it was asked to stop.
    Stopped,
    /// Because its work was not done in time.
    NotDone,
    /// Because of an error after which going on is useless.
    Failed(OpError),
}
