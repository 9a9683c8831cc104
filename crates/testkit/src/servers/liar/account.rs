//! What a client took for the answers of a session.

use std::collections::BTreeMap;
use std::fmt::{Debug, Display};

/// What came of each call, by its name; `E` is the client's error.
#[derive(Debug)]
pub struct Account<E>(pub BTreeMap<String, Result<String, E>>);

impl<E> Default for Account<E> {
    fn default() -> Self {
        Account(BTreeMap::new())
    }
}

impl<E: Clone + Display + PartialEq> Account<E> {
    /// Notes what came of a call; what it returned, if it succeeded.
    ///
    /// # Panics
    /// Where the call has ended before: each ends once, whatever a server says.
    pub fn note<T: Debug>(&mut self, call: &str, result: Result<T, E>) -> Option<T> {
        let noted = result.as_ref().map(|value| format!("{value:?}")).map_err(E::clone);
        assert!(self.0.insert(call.to_owned(), noted).is_none(), "{call} ended twice");
        result.ok()
    }

    /// Those that succeeded with another result than in `other`.
    pub fn differing(&self, other: &Account<E>) -> Vec<&str> {
        let differs = |(call, noted): &(&String, &Result<String, E>)| {
            noted.is_ok() && other.0.get(*call) != Some(*noted)
        };
        self.0.iter().filter(differs).map(|(call, _)| call.as_str()).collect()
    }

    /// Those that failed.
    pub fn failed(&self) -> Vec<String> {
        let errors = self.0.iter().filter_map(|(call, noted)| Some((call, noted.as_ref().err()?)));
        errors.map(|(call, error)| format!("{call}: {error}")).collect()
    }
}
