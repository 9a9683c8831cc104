//! Opening the store: where it is, whether the file is one, and bringing it up to date.

use crate::trouble;
use model::{Cause, Failure};
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};
use rusqlite_migration::{M, Migrations};
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Every change of the tables, in order; the position is the version that SQLite's `user_version`
/// holds. A released entry is never edited.
const MIGRATIONS: &[M<'static>] = &[
    M::up(include_str!("../migrations/0001-studies.sql")),
    M::up(include_str!("../migrations/0002-devices.sql")),
];

/// What `application_id` holds in a store, as set by the first migration.
const APPLICATION_ID: i32 = 0x506c_696d;

/// How long a program waits for another one that is writing.
const BUSY: Duration = Duration::from_secs(10);

const TRIED: &str = "open the store of studies";

/// Where the store is unless the user says otherwise: `$XDG_DATA_HOME/plimsoll/studies.db`, else
/// `$HOME/.local/share/plimsoll/studies.db` (XDG Base Directory Specification). Fails where
/// neither variable names an absolute path.
pub fn default_path() -> Result<PathBuf, Failure> {
    below(std::env::var_os("XDG_DATA_HOME"), std::env::var_os("HOME"))
}

fn below(data_home: Option<OsString>, home: Option<OsString>) -> Result<PathBuf, Failure> {
    // The specification says that relative paths are to be ignored.
    let absolute = |v: Option<OsString>| v.map(PathBuf::from).filter(|p| p.is_absolute());
    absolute(data_home)
        .or_else(|| absolute(home).map(|h| h.join(".local/share")))
        .map(|data| data.join("plimsoll/studies.db"))
        .ok_or_else(|| {
            Failure::new(
                Cause::Usage,
                "find the place for the store of studies",
                "the environment",
                "neither XDG_DATA_HOME nor HOME is an absolute path",
                "Set one of them, or name the store with --db FILE.",
            )
        })
}

/// Opens or makes the store at `path`, up to date and checked; directories that are missing are
/// made for the owner alone. A file that is anything else is left as it is.
pub(crate) fn open(path: &Path) -> Result<Connection, Failure> {
    if let Some(directory) = path.parent().filter(|d| !d.as_os_str().is_empty()) {
        DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(|e| {
            Failure::new(
                Cause::NotPermitted,
                "make the directory of the store",
                directory.display(),
                e,
                "Make it yourself, or keep the store elsewhere with --db FILE.",
            )
        })?;
    }
    let told = |e: rusqlite::Error| trouble::sqlite(TRIED, path, &e);
    // No SQLITE_OPEN_URI: a file name is a file name, whatever letters it has.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut store = Connection::open_with_flags(path, flags).map_err(told)?;
    store.busy_timeout(BUSY).map_err(told)?;
    check(&store, path)?;
    settle(&store).map_err(told)?;
    migrate(&mut store, path)?;
    Ok(store)
}

/// Refuses a file that is not a store of plimsoll or is a newer one, before anything is written.
fn check(store: &Connection, path: &Path) -> Result<(), Failure> {
    let told = |e: rusqlite::Error| trouble::sqlite(TRIED, path, &e);
    // All as of one moment: another program may be making the store just now.
    let moment = store.unchecked_transaction().map_err(told)?;
    let number = |sql: &str| moment.query_row(sql, [], |row| row.get::<_, i64>(0)).map_err(told);
    let tables = number("SELECT count(*) FROM sqlite_schema")?;
    let owner = number("PRAGMA application_id")?;
    let version = number("PRAGMA user_version")?;
    moment.finish().map_err(told)?;
    let fresh = tables == 0 && owner == 0 && version == 0;
    if !fresh && owner != i64::from(APPLICATION_ID) {
        return Err(Failure::new(
            Cause::Usage,
            TRIED,
            path.display(),
            "it is a SQLite file of another program",
            "It was left as it is; name another with --db FILE.",
        ));
    }
    if version > MIGRATIONS.len() as i64 {
        return Err(Failure::new(
            Cause::Usage,
            TRIED,
            path.display(),
            format!("it has version {version}; this plimsoll knows up to {}", MIGRATIONS.len()),
            "Use the newer plimsoll that wrote it, or another store with --db FILE.",
        ));
    }
    Ok(())
}

/// A rollback journal and not a write-ahead log: home directories are often on network file
/// systems, where the log's shared memory does not work, and a trial every few seconds needs no
/// speed. EXTRA also syncs the directory after the journal is removed, so that a commit holds
/// when the power fails right after it.
fn settle(store: &Connection) -> rusqlite::Result<()> {
    let mode = store.query_row("PRAGMA journal_mode", [], |row| row.get::<_, String>(0))?;
    if mode != "delete" {
        store.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))?;
    }
    store.pragma_update(None, "synchronous", "EXTRA")?;
    store.pragma_update(None, "foreign_keys", true)
}

/// Two programs may find the same old store: the later one waits, fails because the tables are
/// there already, and sees on its second look that nothing is left to do.
fn migrate(store: &mut Connection, path: &Path) -> Result<(), Failure> {
    store.set_transaction_behavior(TransactionBehavior::Immediate);
    let migrations = Migrations::from_slice(MIGRATIONS);
    migrations.to_latest(store).or_else(|_| migrations.to_latest(store)).map_err(|e| match e {
        rusqlite_migration::Error::RusqliteError { err, .. } => {
            trouble::sqlite("bring the store of studies up to date", path, &err)
        }
        other => trouble::unreadable(path, "the store's version", other),
    })
}

/// Whether the error says that a row with this key is there already.
pub(crate) fn is_duplicate(error: &rusqlite::Error) -> bool {
    use rusqlite::ffi::{SQLITE_CONSTRAINT_PRIMARYKEY, SQLITE_CONSTRAINT_UNIQUE};
    error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation)
        && error.sqlite_extended_error_code().is_some_and(|code| {
            code == SQLITE_CONSTRAINT_PRIMARYKEY || code == SQLITE_CONSTRAINT_UNIQUE
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_place_follows_the_specification() {
        let path = |data: Option<&str>, home: Option<&str>| {
            below(data.map(OsString::from), home.map(OsString::from))
        };
        assert_eq!(path(Some("/d"), Some("/h")).unwrap(), Path::new("/d/plimsoll/studies.db"));
        let from_home = Path::new("/h/.local/share/plimsoll/studies.db");
        assert_eq!(path(None, Some("/h")).unwrap(), from_home);
        assert_eq!(path(Some("relative"), Some("/h")).unwrap(), from_home);
        assert_eq!(path(Some(""), None).unwrap_err().cause, Cause::Usage);
    }

    #[test]
    fn migrations_are_valid() {
        Migrations::from_slice(MIGRATIONS).validate().unwrap();
    }
}
