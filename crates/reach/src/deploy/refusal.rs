//! Why a program cannot be deployed.

use super::ending::Ending;
use plimsoll_model::Failure;

/// Why a program cannot be in a directory.
pub(crate) enum Refusal {
    /// Another directory may do.
    Directory(String),
    /// A program for another machine may.
    Machine(Ending),
    /// None will.
    Host(Box<Failure>),
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Refusal::Host(Box::new(failure))
    }
}
