//! Error in a file, with its place.

use plimsoll_model::{Cause, Failure};
use std::fmt::Display;

/// Something that keeps a file from being imported, at a line and column from 1.
#[derive(Debug)]
pub(super) struct Malformed {
    line: usize,
    column: Option<usize>,
    happened: String,
    next: String,
}

pub(super) type Parsed<T> = Result<T, Malformed>;

impl Malformed {
    pub(super) fn new(line: usize, happened: impl Display, next: &str) -> Malformed {
        Malformed { line, column: None, happened: happened.to_string(), next: next.to_owned() }
    }

    /// A fault of a JSON document whose first line is `first` of the file.
    pub(super) fn json(first: usize, error: &serde_json::Error, next: &str) -> Malformed {
        let text = error.to_string();
        // The line is reported with the file; serde's own is that within the document.
        let happened = match error.is_eof() {
            true => "it ends within a document".to_owned(),
            false => text.split(" at line ").next().unwrap_or_default().to_owned(),
        };
        let line = first + error.line().saturating_sub(1);
        Malformed { line, column: Some(error.column()), happened, next: next.to_owned() }
    }

    pub(super) fn in_file(self, file: &str) -> Failure {
        let place = match self.column {
            Some(column) => format!("{file}, line {}, column {column}", self.line),
            None => format!("{file}, line {}", self.line),
        };
        Failure::new(Cause::Usage, "import a file")
            .on(place)
            .happened(self.happened)
            .next(self.next)
    }
}
