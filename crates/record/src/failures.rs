//! Failures of the store, with its file and advice.

use plimsoll_model::{Cause, Failure};
use rusqlite::ErrorCode;
use std::fmt;
use std::path::Path;

/// A failure for what SQLite reports about the store at `path`.
pub(crate) fn sqlite(tried: &str, path: &Path, error: &rusqlite::Error) -> Failure {
    let (cause, next) = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => {
            (Cause::NoSpace, "Free some space there, or keep the store elsewhere with --db FILE.")
        }
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => (
            Cause::NotPermitted,
            "Make the file and its directory writable, or keep the store elsewhere with --db FILE.",
        ),
        Some(ErrorCode::NotADatabase) => (
            Cause::Usage,
            "It is not a store of plimsoll and was not changed. Name another file with --db FILE.",
        ),
        Some(ErrorCode::DatabaseCorrupt) => return damaged(tried, path, error),
        Some(ErrorCode::OperationInterrupted) => {
            return damaged(tried, path, "reading it takes more steps than its size allows");
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => (
            Cause::Trial,
            "Another program uses the store: wait, or use another store with --db FILE.",
        ),
        _ => (Cause::Trial, "Check the disk it is on, or keep the store elsewhere with --db FILE."),
    };
    Failure::new(cause, tried).on(path.display()).happened(error).next(next)
}

/// A failure for a store that is found to be damaged.
pub(crate) fn damaged(tried: &str, path: &Path, how: impl fmt::Display) -> Failure {
    let happened = format!("the store is damaged: {how}");
    let next = "plimsoll did not change it. Copy the file, then try 'sqlite3 FILE .recover' on the \
    copy. To measure now, name another store with --db FILE.";
    Failure::new(Cause::Trial, tried).on(path.display()).happened(happened).next(next)
}

/// A failure for a study or a trial that the store has.
pub(crate) fn duplicate(tried: &str, path: &Path) -> Failure {
    Failure::new(Cause::Trial, tried)
        .on(path.display())
        .happened("it is already recorded")
        .next("Nothing was changed; a study's id and a trial's number are used once.")
}

/// A failure for a row or a document whose content cannot be read.
pub(crate) fn unreadable(path: &Path, row: &str, why: impl fmt::Display) -> Failure {
    Failure::new(Cause::Trial, format!("read {row}")).on(path.display()).happened(why).next("The rest of the store is untouched: the other studies can be shown and exported. A newer plimsoll may read it; \
         no release reads studies of development versions.")
}

/// A failure for a reference to a study of an empty store.
pub(crate) fn empty_store(path: &Path, reference: &str) -> Failure {
    let next = "Measure something first, for example with plimsoll check. If your studies are in another file, name it \
                with --db.";
    Failure { next: next.to_owned(), ..no_such_study(path, reference, "the store is empty") }
}

/// A failure for a reference to a study that is wrong.
pub(crate) fn no_such_study(path: &Path, reference: &str, why: impl fmt::Display) -> Failure {
    Failure::new(Cause::Usage, format!("find the study '{}'", reference.escape_debug())).on(path.display()).happened(why).next("Name a study by its id, the start of its id, or 'latest'; plimsoll list shows all studies.")
}
