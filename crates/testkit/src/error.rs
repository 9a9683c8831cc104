//! What went wrong on the stage, in words.

use std::fmt;

/// A sentence: what was tried, on what, what happened.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(String);

impl Error {
    /// An error of one sentence.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }

    /// For `map_err`: puts what was tried before the cause.
    pub(crate) fn when<E: fmt::Display>(tried: impl fmt::Display) -> impl FnOnce(E) -> Self {
        move |cause| Self(format!("{tried}: {cause}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// `unwrap` in a test prints the sentence as it is, line breaks of a log included.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
