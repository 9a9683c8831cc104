//! Opens the store: finds its path, checks the file, and creates its tables.

use crate::failures;
use plimsoll_model::{Cause, Failure};
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};
use rusqlite_migration::{M, Migrations};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Every change of the tables, in order; the position is the version that SQLite's `user_version`
/// holds. A released entry is never edited.
const MIGRATIONS: &[M<'static>] = &[
    M::up(include_str!("../migrations/0001-studies.sql")),
    M::up(include_str!("../migrations/0002-predictions.sql")),
];

/// What `application_id` holds in a store, as set by the first migration.
const APPLICATION_ID: i32 = 0x506c_696d;

/// How long a program waits for another one that is writing.
const BUSY: Duration = Duration::from_secs(10);

const TRIED: &str = "open the store of studies";
const DEVELOPMENT: &str = "It was not changed. No release reads stores of development versions: move the file away, or \
                           name another store with --db FILE.";

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
            Failure::new(Cause::Usage, "find the place for the store of studies")
                .on("the environment")
                .happened("neither XDG_DATA_HOME nor HOME is an absolute path")
                .next("Set one of them, or name the store with --db FILE.")
        })
}

/// Longest text in bytes that a row may hold.
const LONGEST: i32 = 256 << 20;
/// Steps of SQLite's machine that a statement may take: a row is over 100 bytes in the file and
/// takes some ten steps to be read or counted.
const LEAST_STEPS: u64 = 10_000_000;
/// Space that the file system must have for results before they are measured.
const ROOM_BYTES: u32 = 1 << 20;

/// Opens or creates the store at `path`, checked. The store and missing directories are created for
/// the owner only. Any other file stays unchanged.
pub(crate) fn open(path: &Path) -> Result<Connection, Failure> {
    if let Some(directory) = path.parent().filter(|d| !d.as_os_str().is_empty()) {
        DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(|e| {
            Failure::new(Cause::NotPermitted, "create the directory of the store")
                .on(directory.display())
                .happened(e)
                .next("Create it, or keep the store elsewhere with --db FILE.")
        })?;
    }
    let length = make(path)?;
    let failed = |e: rusqlite::Error| failures::sqlite(TRIED, path, &e);
    // No SQLITE_OPEN_URI: a file name is a file name, whatever letters it has.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut store = Connection::open_with_flags(path, flags).map_err(failed)?;
    store.busy_timeout(BUSY).map_err(failed)?;
    bound(&store, length).map_err(failed)?;
    check(&store, path)?;
    settle(&store).map_err(failed)?;
    migrate(&mut store, path)?;
    Ok(store)
}

/// Empty store in place of a missing one.
pub(crate) fn empty(path: &Path) -> Result<Connection, Failure> {
    let opened = Connection::open_in_memory();
    let mut store = opened.map_err(|e: rusqlite::Error| failures::sqlite(TRIED, path, &e))?;
    migrate(&mut store, path)?;
    Ok(store)
}

/// Creates the file if it does not exist, and returns its length. SQLite gives its journal the same
/// permissions.
fn make(path: &Path) -> Result<u64, Failure> {
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let failed = |error: &dyn std::fmt::Display| {
        let next = "Name a file with --db FILE, in a directory that you can read and write.";
        Failure::new(Cause::NotPermitted, TRIED).on(path.display()).happened(error).next(next)
    };
    match made.and_then(|file: File| file.metadata()).or_else(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => path.metadata(),
        _ => Err(error),
    }) {
        Ok(found) if found.is_file() => Ok(found.len()),
        Ok(_) => Err(failed(&"it is not a regular file")),
        Err(error) => Err(failed(&error)),
    }
}

/// A file from elsewhere is data and no program: nothing in its schema is trusted, and no statement
/// on a file of this length goes on for ever.
fn bound(store: &Connection, length: u64) -> rusqlite::Result<()> {
    store.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    store.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    store.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    store.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST)?;
    store.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    let steps = length.saturating_add(LEAST_STEPS).min(i32::MAX as u64);
    // Called for the first time when that many were taken, and then the statement ends.
    store.progress_handler(i32::try_from(steps).unwrap_or(i32::MAX), Some(|| true))
}

/// Refuses a file that is not a store of plimsoll, is a newer one, holds anything else or is
/// damaged, before anything is written.
fn check(store: &Connection, path: &Path) -> Result<(), Failure> {
    let failed = |e: rusqlite::Error| failures::sqlite(TRIED, path, &e);
    let refused = |why: &str, next: &str| {
        Err(Failure::new(Cause::Usage, TRIED).on(path.display()).happened(why).next(next))
    };
    // All as of one moment: another program may be making the store just now.
    let moment = store.unchecked_transaction().map_err(failed)?;
    let number = |sql: &str| moment.query_row(sql, [], |row| row.get::<_, i64>(0)).map_err(failed);
    let tables = number("SELECT count(*) FROM sqlite_schema")?;
    let owner = number("PRAGMA application_id")?;
    let version = number("PRAGMA user_version")?;
    let elsewhere = "It was not changed. Name another file with --db FILE.";
    let fresh = tables == 0 && owner == 0 && version == 0;
    if !fresh && owner != i64::from(APPLICATION_ID) {
        return refused("it is a SQLite file of another program", elsewhere);
    }
    let known = usize::try_from(version).ok().filter(|version| *version <= MIGRATIONS.len());
    let Some(known) = known else {
        return refused(
            &format!(
                "its tables have version {version}, and this plimsoll reads version {}: a newer plimsoll made it, \
                 or a development version before the first release",
                MIGRATIONS.len()
            ),
            &format!("{DEVELOPMENT} A store of a newer plimsoll needs that plimsoll."),
        );
    };
    let (found, ours) = (schema(&moment).map_err(failed)?, schema_of(known).map_err(failed)?);
    if !fresh && let Some((kind, name, _)) = found.symmetric_difference(&ours).next() {
        let why = format!("its {kind} '{}' is not that of plimsoll", name.escape_debug());
        return refused(&why, DEVELOPMENT);
    }
    // Pages that are lost, used twice or in disorder; one line a complaint.
    let sound: String =
        moment.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(failed)?;
    if sound != "ok" {
        let complaint = sound.replace("*** in database main ***", "").replace('\n', " ");
        return Err(failures::damaged(TRIED, path, complaint.trim()));
    }
    moment.finish().map_err(failed)
}

/// Kind, name and definition of everything in a database.
type Schema = BTreeSet<(String, String, Option<String>)>;

fn schema(store: &Connection) -> rusqlite::Result<Schema> {
    let mut query = store.prepare("SELECT type, name, sql FROM sqlite_schema")?;
    let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    rows.collect()
}

/// Schema after the migrations up to a version.
fn schema_of(version: usize) -> rusqlite::Result<Schema> {
    let mut model = Connection::open_in_memory()?;
    match Migrations::from_slice(MIGRATIONS).to_version(&mut model, version) {
        Err(rusqlite_migration::Error::RusqliteError { err, .. }) => Err(err),
        _ => schema(&model),
    }
}

/// Makes sure that results can be kept before work is done for them: takes space for some of them,
/// as a trial's end does, and gives it back.
pub(crate) fn try_to_write(store: &Connection) -> rusqlite::Result<()> {
    let attempt = Transaction::new_unchecked(store, TransactionBehavior::Immediate)?;
    attempt.execute_batch(&format!(
        "CREATE TABLE room (taken BLOB) STRICT; INSERT INTO room VALUES (zeroblob({ROOM_BYTES}));"
    ))?;
    // Written to the file, not to memory alone.
    store.cache_flush()?;
    attempt.rollback()
}

/// Undoes at once what a write that failed half-way has left: SQLite leaves that to whoever reads
/// next, and until then the remains fill the disk and nobody can read from a read-only one.
pub(crate) fn undo(store: &Connection) {
    let _ = schema(store);
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

/// Two programs may open the same new store: the later one waits, fails because the tables exist
/// already, and finds at its second attempt that the store is up to date.
///
/// A store of an older version that cannot be written keeps its tables: later tables are only added.
fn migrate(store: &mut Connection, path: &Path) -> Result<(), Failure> {
    store.set_transaction_behavior(TransactionBehavior::Immediate);
    let migrations = Migrations::from_slice(MIGRATIONS);
    match migrations.to_latest(store).or_else(|_| migrations.to_latest(store)) {
        Ok(()) => Ok(()),
        Err(rusqlite_migration::Error::RusqliteError { err, .. }) => {
            undo(store);
            let version = store.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0));
            match is_unwritable(&err) && version.is_ok_and(|version| version > 0) {
                true => Ok(()),
                false => {
                    Err(failures::sqlite("create the tables of the store of studies", path, &err))
                }
            }
        }
        Err(other) => Err(failures::unreadable(path, "the store's version", other)),
    }
}

/// Whether the error says that nothing can be written there.
fn is_unwritable(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::ReadOnly
                | ErrorCode::PermissionDenied
                | ErrorCode::CannotOpen
                | ErrorCode::DiskFull
        )
    )
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
    fn an_older_store_that_cannot_be_written_keeps_its_tables() {
        let mut store = Connection::open_in_memory().unwrap();
        Migrations::from_slice(MIGRATIONS).to_version(&mut store, 1).unwrap();
        let older = schema(&store).unwrap();
        let has = |kind: &Schema, name: &str| kind.iter().any(|(_, own, _)| own == name);
        store.pragma_update(None, "query_only", true).unwrap();
        migrate(&mut store, Path::new("older")).unwrap();
        assert_eq!(schema(&store).unwrap(), older);
        assert!(has(&older, "figures") && !has(&older, "predictions"));
        store.pragma_update(None, "query_only", false).unwrap();
        migrate(&mut store, Path::new("older")).unwrap();
        assert!(has(&schema(&store).unwrap(), "predictions"));
        // A new store has no tables to keep.
        let mut fresh = Connection::open_in_memory().unwrap();
        fresh.pragma_update(None, "query_only", true).unwrap();
        let failure = migrate(&mut fresh, Path::new("fresh")).unwrap_err();
        assert_eq!(failure.cause, Cause::NotPermitted, "{failure}");
    }

    #[test]
    fn migrations_are_valid() {
        Migrations::from_slice(MIGRATIONS).validate().unwrap();
    }
}
