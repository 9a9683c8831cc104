//! One type for all external failures: the attempted action, its object, the cause, and advice.

use crate::printable;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Why something failed, as coarse as the exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A trial failed or the results are partial: exit code 1.
    Trial,
    /// The command line or a plan is wrong: exit code 2.
    Usage,
    /// Unknown host, closed or filtered port, time-out, connection lost: exit code 3.
    Unreachable,
    /// Not let in: exit code 4.
    Authentication,
    /// No such export, share or directory, or not permitted: exit code 5.
    NotPermitted,
    /// No space for the test files: exit code 6.
    NoSpace,
    /// Interrupted by the user (Ctrl-C): exit code 130.
    Interrupted,
    /// Terminated: exit code 143.
    Terminated,
}

impl Cause {
    /// The program's exit code for this cause.
    pub fn exit_code(self) -> u8 {
        match self {
            Cause::Trial => 1,
            Cause::Usage => 2,
            Cause::Unreachable => 3,
            Cause::Authentication => 4,
            Cause::NotPermitted => 5,
            Cause::NoSpace => 6,
            Cause::Interrupted => 130,
            Cause::Terminated => 143,
        }
    }
}

/// A failure in such words that its reader can act on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Which exit code it leads to.
    pub cause: Cause,
    /// Attempted action, as an infinitive: "connect to the NFS service".
    pub tried: String,
    /// On what: the target or file as the user wrote it.
    pub on: String,
    /// Cause, with the message of the system or server.
    pub happened: String,
    /// Advice, as a full sentence; may name several solutions.
    pub next: String,
}

impl Failure {
    /// A failure of an attempt. The other parts follow by name.
    #[must_use]
    pub fn new(cause: Cause, tried: impl Into<String>) -> Failure {
        let [on, happened, next] = Default::default();
        Failure { cause, tried: tried.into(), on, happened, next }
    }

    /// The same on this target or file.
    #[must_use]
    pub fn on(self, on: impl fmt::Display) -> Failure {
        Failure { on: on.to_string(), ..self }
    }

    /// The same with what happened.
    #[must_use]
    pub fn happened(self, happened: impl fmt::Display) -> Failure {
        Failure { happened: happened.to_string(), ..self }
    }

    /// The same with advice.
    #[must_use]
    pub fn next(self, next: impl Into<String>) -> Failure {
        Failure { next: next.into(), ..self }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Each part stays within its line, so that nothing passes for another part.
        let parts = [&self.tried, &self.on, &self.happened, &self.next].map(|part| printable(part));
        let [tried, on, happened, next] = parts;
        write!(f, "could not {tried}\n   on: {on}\n  why: {happened}")?;
        if next.is_empty() { Ok(()) } else { write!(f, "\n next: {next}") }
    }
}

impl std::error::Error for Failure {}
