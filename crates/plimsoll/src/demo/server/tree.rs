//! A directory that cannot be left: every name is opened below the directory that holds it, one
//! name at a time, and no symbolic link is followed.

use super::attributes::status;
use super::places::{Place, Places};
use nfs3_server::nfs3_types::nfs3::nfsstat3;
use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{OFlag, openat, readlinkat, renameat};
use nix::sys::stat::{Mode, mkdirat};
use nix::unistd::{UnlinkatFlags, unlinkat};
use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most files kept open between calls.
const OPEN_FILES: usize = 128;

/// The longest name, in bytes, of Linux file systems.
const LONGEST_NAME: usize = 255;

/// A directory, the ids of what is in it, and the files that are open.
#[derive(Debug)]
pub(super) struct Tree {
    root: OwnedFd,
    places: Mutex<Places>,
    open: Mutex<HashMap<u64, Arc<File>>>,
}

impl Tree {
    pub(super) fn open(directory: &Path) -> io::Result<Self> {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let root = nix::fcntl::open(directory, flags, Mode::empty())?;
        Ok(Self { root, places: Mutex::new(Places::new()), open: Mutex::default() })
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open_files(&self) -> MutexGuard<'_, HashMap<u64, Arc<File>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self, id: u64) -> Result<Vec<Vec<u8>>, nfsstat3> {
        self.places().path(id).ok_or(nfsstat3::NFS3ERR_STALE)
    }

    /// A handle on what lies at a path, good for looking at it and for opening below it. What
    /// has vanished on the way is stale.
    fn walk(&self, path: &[Vec<u8>]) -> Result<OwnedFd, nfsstat3> {
        let root = self.root.try_clone().map_err(status)?;
        path.iter().try_fold(root, |directory, name| peek(&directory, name)).map_err(|error| {
            match status(error) {
                nfsstat3::NFS3ERR_NOENT | nfsstat3::NFS3ERR_NOTDIR => nfsstat3::NFS3ERR_STALE,
                other => other,
            }
        })
    }

    fn reach(&self, id: u64) -> Result<OwnedFd, nfsstat3> {
        self.walk(&self.path(id)?)
    }

    /// The attributes of what an id stands for; of a link, its own.
    pub(super) fn metadata(&self, id: u64) -> Result<Metadata, nfsstat3> {
        let kept = self.open_files().get(&id).cloned();
        match kept {
            Some(file) => file.metadata(),
            None => File::from(self.reach(id)?).metadata(),
        }
        .map_err(status)
    }

    /// The id of an existing name.
    pub(super) fn lookup(&self, directory: u64, name: &[u8]) -> Result<u64, nfsstat3> {
        let place = place(directory, name)?;
        match peek(&self.reach(directory)?, name) {
            Ok(_) => Ok(self.places().id(&place)),
            Err(error) => {
                self.forget(&place);
                Err(status(error))
            }
        }
    }

    /// A regular file, open for reading and, where it allows that, for writing.
    pub(super) fn regular(&self, id: u64) -> Result<Arc<File>, nfsstat3> {
        if let Some(file) = self.open_files().get(&id) {
            return Ok(Arc::clone(file));
        }
        let path = self.path(id)?;
        let (name, above) = path.split_last().ok_or(nfsstat3::NFS3ERR_INVAL)?;
        let parent = self.walk(above)?;
        // Looked at before it is opened: opening a device or a pipe may do things.
        let found = File::from(peek(&parent, name).map_err(status)?).metadata().map_err(status)?;
        if !found.is_file() {
            return Err(nfsstat3::NFS3ERR_INVAL);
        }
        let file = open_regular(&parent, name, OFlag::O_RDWR, Mode::empty())
            .or_else(|_| open_regular(&parent, name, OFlag::O_RDONLY, Mode::empty()))
            .map_err(status)?;
        Ok(self.keep(id, file))
    }

    /// A directory, open for changes of its own attributes.
    pub(super) fn directory(&self, id: u64) -> Result<File, nfsstat3> {
        open_directory(&self.reach(id)?).map(File::from).map_err(status)
    }

    fn keep(&self, id: u64, file: File) -> Arc<File> {
        let file = Arc::new(file);
        let mut open = self.open_files();
        if open.len() >= OPEN_FILES {
            open.clear();
        }
        open.insert(id, Arc::clone(&file));
        file
    }

    /// Creates a regular file, or opens the one that is there unless it must be new.
    pub(super) fn create(
        &self,
        directory: u64,
        name: &[u8],
        mode: u32,
        must_be_new: bool,
    ) -> Result<(u64, Arc<File>), nfsstat3> {
        let place = place(directory, name)?;
        let parent = self.reach(directory)?;
        let mode = Mode::from_bits_truncate(mode & 0o7777);
        let flags = OFlag::O_RDWR | OFlag::O_CREAT;
        match open_regular(&parent, name, flags | OFlag::O_EXCL, mode) {
            Ok(file) => {
                // Whatever had this name has been removed behind our back.
                self.forget(&place);
                let id = self.places().id(&place);
                Ok((id, self.keep(id, file)))
            }
            Err(Errno::EEXIST) if !must_be_new => {
                let id = self.lookup(directory, name)?;
                match self.regular(id) {
                    Err(nfsstat3::NFS3ERR_INVAL) => Err(nfsstat3::NFS3ERR_EXIST),
                    file => Ok((id, file?)),
                }
            }
            Err(error) => Err(status(error)),
        }
    }

    /// Makes a directory.
    pub(super) fn make_directory(&self, directory: u64, name: &[u8]) -> Result<u64, nfsstat3> {
        let place = place(directory, name)?;
        mkdirat(self.reach(directory)?, name, Mode::from_bits_truncate(0o777)).map_err(status)?;
        self.forget(&place);
        Ok(self.places().id(&place))
    }

    /// Removes a file, a link itself, or an empty directory.
    pub(super) fn remove(&self, directory: u64, name: &[u8]) -> Result<(), nfsstat3> {
        let place = place(directory, name)?;
        let parent = self.reach(directory)?;
        let found = peek(&parent, name).map_err(status)?;
        let flag = match File::from(found).metadata().map_err(status)?.is_dir() {
            true => UnlinkatFlags::RemoveDir,
            false => UnlinkatFlags::NoRemoveDir,
        };
        unlinkat(&parent, name, flag).map_err(status)?;
        self.forget(&place);
        Ok(())
    }

    /// Renames within the tree, replacing what is there where the system does so.
    pub(super) fn rename(&self, from: (u64, &[u8]), to: (u64, &[u8])) -> Result<(), nfsstat3> {
        let places = (place(from.0, from.1)?, place(to.0, to.1)?);
        renameat(self.reach(from.0)?, from.1, self.reach(to.0)?, to.1).map_err(status)?;
        if let Some(replaced) = self.places().rename(&places.0, &places.1) {
            self.open_files().remove(&replaced);
        }
        Ok(())
    }

    /// What a symbolic link says.
    pub(super) fn link(&self, id: u64) -> Result<Vec<u8>, nfsstat3> {
        use std::os::unix::ffi::OsStringExt;
        readlinkat(self.reach(id)?, "").map(OsStringExt::into_vec).map_err(|error| match error {
            Errno::ENOENT => nfsstat3::NFS3ERR_INVAL,
            error => status(error),
        })
    }

    /// Every name in a directory with its id, in the order of the ids. As ids only grow, they
    /// are good places to go on from, whatever was created or removed meanwhile.
    pub(super) fn list(&self, directory: u64) -> Result<Vec<(u64, Vec<u8>)>, nfsstat3> {
        let handle = open_directory(&self.reach(directory)?).map_err(status)?;
        let mut stream = Dir::from_fd(handle).map_err(status)?;
        let mut entries = Vec::new();
        for entry in stream.iter() {
            let name = entry.map_err(status)?.file_name().to_bytes().to_vec();
            if let Ok(place) = place(directory, &name) {
                entries.push((self.places().id(&place), name));
            }
        }
        entries.sort_unstable();
        Ok(entries)
    }

    fn forget(&self, place: &Place) {
        let forgotten = self.places().forget(place);
        if let Some(id) = forgotten {
            self.open_files().remove(&id);
        }
    }
}

/// A name in a directory, if it is one name that stays there.
fn place(directory: u64, name: &[u8]) -> Result<Place, nfsstat3> {
    match name {
        b"" | b"." | b".." => Err(nfsstat3::NFS3ERR_ACCES),
        _ if name.contains(&b'/') || name.contains(&0) => Err(nfsstat3::NFS3ERR_ACCES),
        _ if name.len() > LONGEST_NAME => Err(nfsstat3::NFS3ERR_NAMETOOLONG),
        _ => Ok((directory, name.to_vec())),
    }
}

/// A handle on a name, whatever it is, without opening it or following it.
fn peek(directory: impl AsFd, name: &[u8]) -> nix::Result<OwnedFd> {
    openat(directory, name, OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC, Mode::empty())
}

/// `O_NONBLOCK` so that a pipe that took the file's place cannot hold the server up.
fn open_regular(parent: impl AsFd, name: &[u8], flags: OFlag, mode: Mode) -> nix::Result<File> {
    let always = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    openat(parent, name, flags | always, mode).map(File::from)
}

/// Opens a directory for reading, given a handle on it.
fn open_directory(handle: impl AsFd) -> nix::Result<OwnedFd> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    openat(handle, ".", flags, Mode::empty())
}
