//! Files of servers: a directory for each, what is written there, and logs.

use crate::Error;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory below the stage's own `/run` that no other server has.
pub(super) fn own_directory(name: &str) -> Result<PathBuf, Error> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let directory = PathBuf::from(format!("/run/{name}-{number}"));
    make_directory(&directory)?;
    Ok(directory)
}

/// Makes a directory and those above it.
pub(super) fn make_directory(path: &Path) -> Result<(), Error> {
    fs::create_dir_all(path).map_err(Error::when(format_args!("cannot make {}", path.display())))
}

/// Writes a file.
pub(super) fn write(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(Error::when(format_args!("cannot write {}", path.display())))
}

/// Lets every user write there.
pub(super) fn open_to_all(path: &Path) -> Result<(), Error> {
    fs::set_permissions(path, fs::Permissions::from_mode(0o777))
        .map_err(Error::when(format_args!("cannot open {} to all", path.display())))
}

/// A log, opened to be added to.
pub(super) fn open_log(path: &Path) -> Result<File, Error> {
    let mut options = File::options();
    let opened = options.create(true).append(true).open(path);
    opened.map_err(Error::when(format_args!("cannot create {}", path.display())))
}

/// The last lines of logs, read as one.
pub(super) fn tail(logs: &[PathBuf]) -> String {
    let log = logs.iter().flat_map(|log| fs::read(log).unwrap_or_default()).collect::<Vec<u8>>();
    let log = String::from_utf8_lossy(&log);
    let lines: Vec<_> = log.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}
