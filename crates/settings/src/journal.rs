//! The undo journal on this machine: a file for each setting that is changed, in a directory that
//! is this user's alone. It does not lie with the store, of which a user may have several.

use super::{Entry, entry};
use nix::fcntl::OFlag;
use plimsoll_model::{Cause, Failure, HostName};
use plimsoll_reach::open_directory::{OpenDirectory, is_own};
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// What the name of a file begins with that is not yet whole; the number of its process follows.
const PART: &str = ".part-";

/// Most entries that are read.
const MOST_ENTRIES: usize = 256;

/// The undo journal of this user.
#[derive(Clone, Debug)]
pub struct Journal {
    directory: PathBuf,
}

/// A file of a journal that is no entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Its path, on the host or on this machine.
    pub path: String,
    /// Why it is none.
    pub why: String,
}

impl Journal {
    /// In `$XDG_STATE_HOME/plimsoll/settings`, by default `~/.local/state/plimsoll/settings`.
    ///
    /// # Errors
    /// [`Cause::Usage`] where the environment names no such place.
    pub fn of_this_user() -> Result<Journal, Failure> {
        let [state, home] = ["XDG_STATE_HOME", "HOME"].map(std::env::var_os);
        // The XDG specification says that relative paths are to be ignored.
        let absolute = |v: Option<OsString>| v.map(PathBuf::from).filter(|p| p.is_absolute());
        let state = absolute(state).or_else(|| absolute(home).map(|h| h.join(".local/state")));
        state.map(|state| Journal::at(state.join("plimsoll/settings"))).ok_or_else(|| {
            let happened = "neither XDG_STATE_HOME nor HOME is an absolute path";
            let tried = "find the directory of the undo journal";
            Failure::new(Cause::Usage, tried)
                .on("the environment")
                .happened(happened)
                .next("Set one of them.")
        })
    }

    /// In this directory, which need not be there.
    pub fn at(directory: impl Into<PathBuf>) -> Journal {
        Journal { directory: directory.into() }
    }

    /// Where it lies.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The file of an entry.
    pub fn path(&self, entry: &Entry) -> PathBuf {
        self.directory.join(entry.name_here())
    }

    /// Writes an entry, and returns when it is on the disk.
    ///
    /// # Errors
    /// [`Cause::Usage`] where there is one for this setting already; else why it cannot be kept.
    pub fn add(&self, entry: &Entry) -> Result<(), Failure> {
        let path = self.path(entry);
        let bytes = entry.to_bytes().ok_or_else(|| {
            let next = "Change this setting manually.";
            let happened = format!("the undo data is larger than {} bytes", entry::MOST_BYTES);
            Failure::new(Cause::NotPermitted, "store the undo data")
                .on(&entry.knob)
                .happened(happened)
                .next(next)
        })?;
        let write = || {
            DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
            let held = open(&self.directory)?;
            let part = tempfile::Builder::new()
                .prefix(&format!("{PART}{}-", std::process::id()))
                .tempfile_in(held.path())?;
            part.as_file().write_all_synced(&bytes)?;
            let file = held.path().join(entry.name_here());
            part.persist_noclobber(file).map_err(|error| error.error)?;
            held.sync()
        };
        write().map_err(|error: io::Error| match error.kind() {
            ErrorKind::AlreadyExists => {
                let entries = self.entries_for(&entry.host).unwrap_or_default();
                let other = entries.iter().find(|other| other.knob == entry.knob);
                super::unrestored::failure(other.unwrap_or(entry))
            }
            _ => failed("write the undo journal", &path, &error),
        })
    }

    /// Removes an entry, and returns when that is on the disk.
    pub fn remove(&self, entry: &Entry) -> Result<(), Failure> {
        let path = self.path(entry);
        let remove = || {
            let held = open(&self.directory)?;
            fs::remove_file(held.path().join(entry.name_here()))?;
            held.sync()
        };
        let remove = || match remove() {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            other => other,
        };
        remove().map_err(|error: io::Error| failed("write the undo journal", &path, &error))
    }

    /// What is in it, in the order of names; and what is no entry.
    ///
    /// # Errors
    /// The directory is there and cannot be read.
    pub fn list(&self) -> Result<(Vec<Entry>, Vec<Unreadable>), Failure> {
        let (mut entries, mut unreadable) = (Vec::new(), Vec::new());
        let (held, names) = self.files(entry::is_name)?;
        for name in names {
            let path = self.directory.join(&name);
            let unread = |why: String| Unreadable { path: path.display().to_string(), why };
            let Some(held) = &held else { break };
            // No more than an entry can have.
            match held.read(&name, entry::MOST_BYTES as u64 + 1) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => unreadable.push(unread(error.to_string())),
                Ok(bytes) => match Entry::from_bytes(&bytes) {
                    Ok(entry) if path.ends_with(entry.name_here()) => entries.push(entry),
                    Ok(_) => unreadable.push(unread("it has the name of another entry".into())),
                    Err(why) => unreadable.push(unread(why)),
                },
            }
        }
        Ok((entries, unreadable))
    }

    /// The entries of a host of that name.
    pub fn entries_for(&self, host: &HostName) -> Result<Vec<Entry>, Failure> {
        let (mut entries, _) = self.list()?;
        entries.retain(|entry| entry.host == *host);
        Ok(entries)
    }

    /// Removes what processes that are gone had not finished writing.
    ///
    /// # Errors
    /// The directory is there and cannot be read.
    pub fn sweep(&self) -> Result<(), Failure> {
        let dead = |name: &str| {
            let number = name.strip_prefix(PART).and_then(|rest| rest.split('-').next());
            number.is_some_and(|number| {
                number.parse::<u32>().is_ok() && !Path::new("/proc").join(number).exists()
            })
        };
        let (held, names) = self.files(dead)?;
        for name in names {
            let _ = held.as_ref().map(|held| fs::remove_file(held.path().join(name)));
        }
        Ok(())
    }

    /// The directory, where it is there, and what is in it of such names.
    fn files(
        &self,
        named: impl Fn(&str) -> bool,
    ) -> Result<(Option<OpenDirectory>, Vec<OsString>), Failure> {
        let listing = || -> io::Result<_> {
            let held = open(&self.directory)?;
            let files = fs::read_dir(held.path())?.flatten().map(|file| file.file_name());
            let ours = files.filter(|name| name.to_str().is_some_and(&named));
            let mut names: Vec<_> = ours.take(MOST_ENTRIES).collect();
            names.sort();
            Ok((Some(held), names))
        };
        match listing() {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok((None, Vec::new())),
            other => {
                other.map_err(|error| failed("read the undo journal", &self.directory, &error))
            }
        }
    }
}

/// The directory of a journal: it is this user's, and closed to others; nothing is changed about it.
fn open(directory: &Path) -> io::Result<OpenDirectory> {
    let held = OpenDirectory::open(directory, OFlag::O_NOFOLLOW)?;
    let about = held.metadata()?;
    if !is_own(&about) || about.mode() & 0o022 != 0 {
        let why = "it is not a directory that only this user can write to";
        return Err(io::Error::new(ErrorKind::PermissionDenied, why));
    }
    Ok(held)
}

fn failed(tried: &str, path: &Path, error: &io::Error) -> Failure {
    let cause = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Cause::NoSpace,
        _ => Cause::NotPermitted,
    };
    let next =
        "plimsoll changes no setting without a journal: set XDG_STATE_HOME to a directory for it.";
    Failure::new(cause, tried).on(path.display()).happened(error).next(next)
}

trait Synced {
    fn write_all_synced(&self, bytes: &[u8]) -> io::Result<()>;
}

impl Synced for File {
    fn write_all_synced(&self, bytes: &[u8]) -> io::Result<()> {
        let mut file = self;
        file.write_all(bytes)?;
        self.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry::tests::entry;
    use super::*;

    #[test]
    fn an_entry_is_kept_once_and_removed() {
        let home = tempfile::tempdir().unwrap();
        let journal = Journal::at(home.path().join("a/b"));
        assert_eq!(journal.list().unwrap(), (vec![], vec![]));
        journal.add(&entry()).unwrap();
        let mode = fs::metadata(journal.directory()).unwrap().mode() & 0o7777;
        assert_eq!(mode, 0o700);
        assert_eq!(journal.entries_for(&entry().host).unwrap(), [entry()]);
        assert_eq!(journal.entries_for(&HostName::Local).unwrap(), []);
        let mut later = entry();
        later.study = "00000001".into();
        let again = journal.add(&later).unwrap_err();
        assert!(again.happened.contains("0123abcd is running"), "{again}");
        assert_eq!(journal.entries_for(&entry().host).unwrap(), [entry()]);
        journal.remove(&entry()).unwrap();
        journal.remove(&entry()).unwrap();
        assert!(!journal.path(&entry()).exists());
        assert_eq!(fs::read_dir(journal.directory()).unwrap().count(), 0);
    }

    #[test]
    fn a_directory_that_others_can_write_to_is_refused_and_left_as_it_is() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().unwrap();
        let open = home.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o770)).unwrap();
        let link = home.path().join("link");
        std::os::unix::fs::symlink(home.path(), &link).unwrap();
        for directory in [&open, &link] {
            let journal = Journal::at(directory);
            assert!(journal.add(&entry()).is_err() && journal.list().is_err(), "{directory:?}");
        }
        assert_eq!(fs::metadata(&open).unwrap().mode() & 0o7777, 0o770);
        assert_eq!(fs::read_dir(&open).unwrap().count(), 0);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 2);
    }

    #[test]
    fn what_is_no_entry_is_named_and_left() {
        let home = tempfile::tempdir().unwrap();
        let journal = Journal::at(home.path());
        let name = |n: u32| home.path().join(format!("{n:016x}.json"));
        fs::write(name(1), "{").unwrap();
        fs::write(name(2), entry().to_bytes().unwrap()).unwrap();
        fs::create_dir(name(3)).unwrap();
        std::os::unix::fs::symlink("/dev/zero", name(4)).unwrap();
        fs::write(name(5), vec![b' '; entry::MOST_BYTES + 1]).unwrap();
        fs::write(home.path().join("notes"), "").unwrap();
        let (entries, unreadable) = journal.list().unwrap();
        assert_eq!((entries.len(), unreadable.len()), (0, 5), "{unreadable:?}");
        fs::write(home.path().join(format!("{PART}{}-x", u32::MAX)), "").unwrap();
        fs::write(home.path().join(format!("{PART}{}-x", std::process::id())), "").unwrap();
        journal.sweep().unwrap();
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 7);
    }
}
