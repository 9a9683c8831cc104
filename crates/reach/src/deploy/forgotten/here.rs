//! The look on this machine, by the same rules as a shell's on a host, without starting one.

use super::{Forgotten, is_ours};
use crate::deploy::{DIRECTORIES, HOME};
use crate::open_directory::{OpenDirectory, is_own};
use crate::private_dir;
use nix::fcntl::OFlag;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The namespace of processes in which the system started: it sees the processes of all others.
const FIRST_NAMESPACE: &str = "pid:[4026531836]";

/// Most bytes that are read of the note of an owner.
const MOST_OWNER: u64 = 4096;

/// The places where programs are put, of this user's environment.
pub(super) fn places() -> Vec<PathBuf> {
    let place = |word: &&str| match *word {
        HOME => std::env::var_os("HOME").map(PathBuf::from),
        path => Some(path.into()),
    };
    DIRECTORIES.iter().filter_map(place).filter(|path| path.is_absolute()).collect()
}

/// The command line of a process, by its number or `self`; empty where it cannot be read.
pub(super) fn command_line(process: &str) -> Vec<u8> {
    fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default()
}

/// Looks below these places. `ended` are the spaces whose processes have all ended.
pub(super) fn look(
    places: &[PathBuf],
    ended: &[String],
    command_line: fn(&str) -> Vec<u8>,
) -> Forgotten {
    let mut found = Forgotten::default();
    let mut seen = Vec::new();
    for place in places {
        // Of a place that cannot be read nothing is known.
        let Ok(Some(there)) = leftovers_in(place) else { continue };
        // HOME can be one of the others.
        if !seen.contains(&there.path) {
            there.judge(ended, command_line, &mut found);
            seen.push(there.path);
        }
    }
    found
}

/// Directories with programs in one place.
struct LeftoverDirectories {
    place: OpenDirectory,
    /// The place without links.
    path: PathBuf,
    names: Vec<OsString>,
}

/// The directories of this user in a place that have names of ours; `None` where there are none, as nearly always.
fn leftovers_in(place: &Path) -> io::Result<Option<LeftoverDirectories>> {
    let place = OpenDirectory::open(place, OFlag::empty())?;
    let entries = fs::read_dir(place.path())?.flatten().map(|entry| entry.file_name());
    let mut names: Vec<OsString> =
        entries.filter(|name| name.to_str().is_some_and(is_ours)).collect();
    names.retain(|name| {
        let about = fs::symlink_metadata(place.path().join(name));
        about.is_ok_and(|about| about.is_dir() && is_own(&about))
    });
    if names.is_empty() {
        return Ok(None);
    }
    names.sort();
    let path = fs::read_link(place.path())?;
    Ok(Some(LeftoverDirectories { place, path, names }))
}

impl LeftoverDirectories {
    /// Removes each that no process uses and that only processes which could be seen here would use.
    fn judge(&self, ended: &[String], command_line: fn(&str) -> Vec<u8>, found: &mut Forgotten) {
        // The guard is there before its directory, so whoever uses one of them is among these.
        let lines: Vec<Vec<u8>> =
            plimsoll_process::all().map(|process| command_line(&process.to_string())).collect();
        let sees = !command_line("self").is_empty();
        let safe = sees && private_dir::is_closed(&self.place).unwrap_or(false);
        for name in &self.names {
            let bytes = name.as_bytes();
            if lines.iter().any(|line| line.windows(bytes.len()).any(|part| part == bytes)) {
                continue;
            }
            let directory = self.place.path().join(name);
            let removed = safe
                && owner(&directory).is_ok_and(|owner| would_be_here(&owner, ended))
                && fs::remove_dir_all(&directory).is_ok();
            let list = if removed { &mut found.removed } else { &mut found.kept };
            list.push(self.path.join(name).to_string_lossy().into_owned());
        }
    }
}

/// The space of the processes that could use a directory, as its guard noted it.
fn owner(directory: &Path) -> io::Result<String> {
    let bytes = OpenDirectory::open(directory, OFlag::O_NOFOLLOW)?.read("owner", MOST_OWNER)?;
    Ok(String::from_utf8_lossy(&bytes).trim_end_matches('\n').to_owned())
}

/// Whether processes of that space would be seen here, or have ended.
fn would_be_here(owner: &str, ended: &[String]) -> bool {
    let (own, boot) = (plimsoll_process::space(), plimsoll_process::boot());
    if owner.is_empty() || boot.is_empty() {
        return false;
    }
    let sees_all = own == format!("{boot} {FIRST_NAMESPACE}");
    ended.iter().any(|space| space == owner)
        || owner == own
        || (sees_all && owner.split(' ').next() == Some(&*boot))
}
