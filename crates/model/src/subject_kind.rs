//! Kinds of subject.

use serde::{Deserialize, Serialize};

/// Kind of subject: named in studies by its name in lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubjectKind {
    /// Kind of [`Subject::Storage`](crate::Subject::Storage).
    Storage,
    /// Kind of [`Subject::Path`](crate::Subject::Path).
    Path,
    /// Kind of [`Subject::Host`](crate::Subject::Host).
    Host,
    /// Kind of [`Subject::Clock`](crate::Subject::Clock).
    Clock,
    /// Kind of [`Subject::Trace`](crate::Subject::Trace).
    Trace,
}
