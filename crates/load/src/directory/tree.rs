//! Directories below the target, each opened once and held.
//!
//! Whoever may change names in the target could put something else in the place of a directory
//! between two calls: a link that leads elsewhere, or another directory with files of the same
//! names. So every name is a single component that is looked up, without following a link, in a
//! directory that is open; and a directory stays the one that was opened first, whatever its name
//! stands for later. What is changed lies in directories of this user alone.

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat, fstatat, mkdirat};
use nix::unistd::{UnlinkatFlags, unlinkat};
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A directory, never through a link.
const DIRECTORY: OFlag =
    OFlag::O_DIRECTORY.union(OFlag::O_RDONLY).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);

/// Most directories held open; a tree may have more than a process may have open files.
const MOST_HELD: usize = 200;

const SWAPPED: &str = "it was replaced during the run";

/// Why something below the target could not be done.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The system says so.
    System(Errno),
    /// It is not what it should be.
    Wrong(String),
}

impl From<Errno> for Trouble {
    fn from(errno: Errno) -> Self {
        Trouble::System(errno)
    }
}

impl From<std::io::Error> for Trouble {
    fn from(error: std::io::Error) -> Self {
        Trouble::System(Errno::from_raw(error.raw_os_error().unwrap_or(0)))
    }
}

impl From<&str> for Trouble {
    fn from(wrong: &str) -> Self {
        Trouble::Wrong(wrong.to_owned())
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::System(errno) => f.write_str(errno.desc()),
            Trouble::Wrong(what) => f.write_str(what),
        }
    }
}

/// The target's directory and those below it that were opened, by their paths.
pub(super) struct Tree {
    /// Whom this file system gives to what this process makes.
    owner: u32,
    held: Mutex<OpenDirectories>,
}

#[derive(Default)]
struct OpenDirectories {
    /// `None` while it is let go of.
    root: Option<Arc<OwnedFd>>,
    below: BTreeMap<String, Arc<OwnedFd>>,
    /// The file numbers of what was let go of; the root's path is empty.
    known: BTreeMap<String, u64>,
}

impl Tree {
    pub(super) fn new(root: OwnedFd, owner: u32) -> Tree {
        let held = OpenDirectories { root: Some(Arc::new(root)), ..OpenDirectories::default() };
        Tree { owner, held: Mutex::new(held) }
    }

    /// Closes all directories, so that their file system can be unmounted.
    pub(super) fn release(&self) -> Result<(), Trouble> {
        let mut held = self.lock();
        let OpenDirectories { root, below, known } = &mut *held;
        for (path, directory) in std::mem::take(below) {
            known.insert(path, fstat(&directory)?.st_ino);
        }
        if let Some(root) = root.take() {
            known.insert(String::new(), fstat(&root)?.st_ino);
        }
        Ok(())
    }

    /// Goes on with the target's directory opened anew, which must be the one that was let go of;
    /// those below it are looked at when they are used.
    pub(super) fn resume(&self, root: OwnedFd) -> Result<(), Trouble> {
        let mut held = self.lock();
        if held.root.is_none() {
            is_known(&held.known, "", &root)?;
            held.root = Some(Arc::new(root));
        }
        Ok(())
    }

    pub(super) fn root(&self) -> Result<Arc<OwnedFd>, Trouble> {
        self.lock().root.clone().ok_or_else(|| "it has been closed".into())
    }

    fn lock(&self) -> MutexGuard<'_, OpenDirectories> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The directory of a path; what was opened once is not looked up again.
    pub(super) fn directory(&self, path: &str) -> Result<Arc<OwnedFd>, Trouble> {
        if path.is_empty() {
            return self.root();
        }
        if let Some(held) = self.lock().below.get(path) {
            return Ok(held.clone());
        }
        let (parent, name) = self.place(path)?;
        let opened = Arc::new(open_directory(&parent, name)?);
        let mut held = self.lock();
        is_known(&held.known, path, &opened)?;
        if held.below.len() >= MOST_HELD {
            // Those below a directory of this user: nobody else can put anything in their place.
            held.below.retain(|path, _| !path.contains('/'));
        }
        Ok(held.below.entry(path.to_owned()).or_insert(opened).clone())
    }

    /// A directory was removed.
    pub(super) fn forget(&self, path: &str) {
        let mut held = self.lock();
        held.below.remove(path);
        held.known.remove(path);
    }

    /// The directory that a path lies in, and its last name.
    pub(super) fn place<'p>(&self, path: &'p str) -> Result<(Arc<OwnedFd>, &'p str), Trouble> {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        if matches!(name, "" | "." | "..") {
            return Err(Errno::EINVAL.into());
        }
        Ok((self.directory(parent)?, name))
    }

    /// The same where something is to be changed: below the target only in what is this user's.
    pub(super) fn own_place<'p>(&self, path: &'p str) -> Result<(Arc<OwnedFd>, &'p str), Trouble> {
        let (directory, name) = self.place(path)?;
        if !Arc::ptr_eq(&directory, &self.root()?) {
            self.is_own(&fstat(&directory)?)?;
        }
        Ok((directory, name))
    }

    fn is_own(&self, found: &FileStat) -> Result<(), Trouble> {
        if found.st_uid == self.owner {
            return Ok(());
        }
        let (theirs, ours) = (found.st_uid, self.owner);
        let wrong =
            format!("it belongs to user {theirs}, but new files here belong to user {ours}");
        Err(Trouble::Wrong(wrong))
    }

    /// Makes a directory and holds it.
    pub(super) fn make(&self, path: &str) -> Result<(), Trouble> {
        let (parent, name) = self.own_place(path)?;
        mkdirat(&*parent, name, Mode::S_IRWXU)?;
        let made = open_directory(&parent, name).map_err(|trouble| match trouble {
            Trouble::System(Errno::ELOOP | Errno::ENOTDIR | Errno::ENOENT) => SWAPPED.into(),
            other => other,
        })?;
        // It is the one that was made if it is this user's and nothing is in it.
        let empty = Dir::openat(&made, ".", DIRECTORY, Mode::empty())?
            .iter()
            .all(|entry| entry.is_ok_and(|e| matches!(e.file_name().to_bytes(), b"." | b"..")));
        if self.is_own(&fstat(&made)?).is_err() || !empty {
            return Err(SWAPPED.into());
        }
        let mut held = self.lock();
        held.known.remove(path);
        held.below.insert(path.to_owned(), Arc::new(made));
        Ok(())
    }

    /// Removes an empty directory of this user. There is no call that removes a directory by its
    /// descriptor: whoever swaps between the look and the removal loses an empty directory at most,
    /// and that is found afterwards.
    pub(super) fn remove(&self, path: &str) -> Result<(), Trouble> {
        let directory = self.directory(path)?;
        let held = fstat(&directory)?;
        self.is_own(&held)?;
        let (parent, name) = self.own_place(path)?;
        let named = fstatat(&*parent, name, AtFlags::AT_SYMLINK_NOFOLLOW)?;
        if identity(&named) != identity(&held) {
            return Err(SWAPPED.into());
        }
        unlinkat(&*parent, name, UnlinkatFlags::RemoveDir)?;
        // A directory with a name has two links or, on some file systems, one.
        if fstat(&directory).is_ok_and(|after| after.st_nlink >= 2) {
            return Err(SWAPPED.into());
        }
        self.forget(path);
        Ok(())
    }
}

/// Whether a directory is the one that was let go of, where one was. Mounted anew, a file system has
/// another device, and its files have the same numbers.
fn is_known(known: &BTreeMap<String, u64>, path: &str, opened: &OwnedFd) -> Result<(), Trouble> {
    match known.get(path) {
        Some(number) if *number != fstat(opened)?.st_ino => Err(SWAPPED.into()),
        _ => Ok(()),
    }
}

/// A directory in another one, on the same file system.
fn open_directory(parent: &OwnedFd, name: &str) -> Result<OwnedFd, Trouble> {
    let directory = openat(parent, name, DIRECTORY, Mode::empty())?;
    if fstat(&directory)?.st_dev != fstat(parent)?.st_dev {
        return Err("another file system is mounted there".into());
    }
    Ok(directory)
}

/// What tells a file from all others.
fn identity(of: &FileStat) -> (u64, u64) {
    (of.st_dev, of.st_ino)
}

/// Whether two descriptors are of the same file.
pub(super) fn same(one: &File, other: &File) -> nix::Result<bool> {
    Ok(identity(&fstat(one)?) == identity(&fstat(other)?))
}

/// Whether a file that was opened by a name is a plain one; a pipe or a device is none.
pub(super) fn is_regular(file: &File) -> Result<(), Trouble> {
    let kind = SFlag::from_bits_truncate(fstat(file)?.st_mode) & SFlag::S_IFMT;
    if kind == SFlag::S_IFREG { Ok(()) } else { Err("it is not a regular file".into()) }
}

/// Whether a file is what its directory's owner made there: it is plain, its owner's, and has no
/// other name, by which it could be somebody's elsewhere.
pub(super) fn belongs_to(file: &File, directory: &OwnedFd) -> Result<(), Trouble> {
    is_regular(file)?;
    let (of, directory) = (fstat(file)?, fstat(directory)?);
    if of.st_nlink > 1 {
        return Err("it has a second name (hard link)".into());
    }
    if of.st_uid != directory.st_uid {
        let (file, directory) = (of.st_uid, directory.st_uid);
        let wrong =
            format!("it belongs to user {file}, but its directory belongs to user {directory}");
        return Err(Trouble::Wrong(wrong));
    }
    Ok(())
}
