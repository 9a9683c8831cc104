//! Names below the directory: each is looked up in a directory that is held open, never through a
//! link.

use super::file::{OWN, OpenFile, read_only};
use super::file_system;
use super::tree::{Tree, Trouble, belongs_to};
use crate::entry::{Entry, EntryKind, Space};
use crate::op::FileId;
use crate::open_files::OpenFiles;
use crate::share::Namespace;
use nix::dir::{Dir, Type};
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::sys::stat::{Mode, SFlag, fstatat};
use nix::unistd::{UnlinkatFlags, unlinkat};
use plimsoll_model::{Cause, Failure};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::sync::Arc;

/// A handle on the names below a directory.
pub(super) struct DirectoryNamespace {
    pub tree: Arc<Tree>,
    pub given: String,
    pub files: Arc<OpenFiles<OpenFile>>,
    /// Passed on to the files opened here.
    pub direct: Option<u32>,
}

impl DirectoryNamespace {
    fn failed<T: Into<Trouble>>(&self, tried: &str, path: &str) -> impl FnOnce(T) -> Failure {
        let on = match path {
            "" => self.given.clone(),
            _ => format!("{}/{path}", self.given.trim_end_matches('/')),
        };
        let tried = tried.to_owned();
        move |trouble| {
            let trouble = trouble.into();
            let (cause, next) = match trouble {
                Trouble::System(Errno::ENOSPC | Errno::EDQUOT) => {
                    (Cause::NoSpace, "Free some space on it.")
                }
                Trouble::System(Errno::EACCES | Errno::EPERM | Errno::EROFS) => {
                    (Cause::NotPermitted, "Check the permissions of the directory.")
                }
                Trouble::System(Errno::ENOENT | Errno::ESTALE) => {
                    (Cause::NotPermitted, "Another program may have removed it; run it again.")
                }
                Trouble::System(_) => (Cause::Trial, "Check the file system and run it again."),
                Trouble::Wrong(_) => (
                    Cause::NotPermitted,
                    "Another program changes names there: choose a directory that no other program uses.",
                ),
            };
            Failure::new(cause, tried).on(on).happened(trouble).next(next)
        }
    }
}

impl Namespace for DirectoryNamespace {
    fn make_directory(&mut self, path: &str) -> Result<(), Failure> {
        self.tree.make(path).map_err(self.failed("create a directory", path))
    }

    fn list(&mut self, path: &str) -> Result<Vec<Entry>, Failure> {
        list(&self.tree, path).map_err(self.failed("list a directory", path))
    }

    fn create(&mut self, path: &str) -> Result<FileId, Failure> {
        let create = || -> Result<OpenFile, Trouble> {
            let (directory, name) = self.tree.own_place(path)?;
            Ok(OpenFile::create(&directory, name, self.direct)?.at(path))
        };
        create().map(|file| self.files.open(file)).map_err(self.failed("create a file", path))
    }

    fn open(&mut self, path: &str) -> Result<FileId, Failure> {
        let open = || -> Result<OpenFile, Trouble> {
            let (directory, name) = self.tree.place(path)?;
            Ok(OpenFile::open(&directory, name, self.direct)?.at(path))
        };
        open().map(|file| self.files.open(file)).map_err(self.failed("open a file", path))
    }

    fn open_to_write(&mut self, path: &str) -> Result<FileId, Failure> {
        let open = || -> Result<OpenFile, Trouble> {
            let (directory, name) = self.tree.own_place(path)?;
            OpenFile::open_own_cached(&directory, name)
        };
        open().map(|file| self.files.open(file)).map_err(self.failed("open a file", path))
    }

    fn close(&mut self, file: FileId) {
        self.files.close(file);
    }

    fn write_small(&mut self, path: &str, bytes: &[u8]) -> Result<(), Failure> {
        let write = || -> Result<(), Trouble> {
            let mode = Mode::S_IRUSR | Mode::S_IWUSR;
            let (directory, name) = self.tree.own_place(path)?;
            let mut file = File::from(openat(&*directory, name, OWN | OFlag::O_CREAT, mode)?);
            belongs_to(&file, &directory)?;
            // Overwritten, then cut: a reader in between never sees an empty file.
            file.write_all(bytes)?;
            file.set_len(bytes.len() as u64)?;
            Ok(file.sync_all()?)
        };
        write().map_err(self.failed("write a small file", path))
    }

    fn read_part(&mut self, path: &str, offset: u64, limit: usize) -> Result<Vec<u8>, Failure> {
        let read = || -> Result<Vec<u8>, Trouble> {
            let (directory, name) = self.tree.place(path)?;
            let mut file = read_only(&directory, name, OFlag::empty())?;
            belongs_to(&file, &directory)?;
            file.seek(SeekFrom::Start(offset))?;
            let mut bytes = Vec::new();
            file.take(limit as u64).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        read().map_err(self.failed("read a file", path))
    }

    fn remove_file(&mut self, path: &str) -> Result<(), Failure> {
        let remove = || -> Result<(), Trouble> {
            let (directory, name) = self.tree.own_place(path)?;
            Ok(unlinkat(&*directory, name, UnlinkatFlags::NoRemoveDir)?)
        };
        remove().map_err(self.failed("remove a file", path))
    }

    fn remove_directory(&mut self, path: &str) -> Result<(), Failure> {
        self.tree.remove(path).map_err(self.failed("remove a directory", path))
    }

    fn space(&mut self) -> Result<Space, Failure> {
        let space = || Ok(file_system::space(&*self.tree.root()?)?);
        space().map_err(self.failed::<Trouble>("query the free space", ""))
    }
}

/// What is in a directory, without `.` and `..`.
pub(super) fn list(tree: &Tree, path: &str) -> Result<Vec<Entry>, Trouble> {
    let flags = OFlag::O_DIRECTORY | OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let held = tree.directory(path)?;
    let mut directory = Dir::openat(&*held, ".", flags, Mode::empty())?;
    let mut entries = Vec::new();
    for entry in directory.iter() {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let kind = match entry.file_type() {
            Some(Type::File) => EntryKind::File,
            Some(Type::Directory) => EntryKind::Directory,
            Some(_) => EntryKind::Other,
            None => EntryKind::Other,
        };
        entries.push((name.to_owned(), entry.file_type().is_some(), kind));
    }
    // Some file systems do not tell the kind in the listing.
    let ask = |name: &std::ffi::CStr| {
        let mode = fstatat(&directory, name, AtFlags::AT_SYMLINK_NOFOLLOW)
            .map_or(SFlag::empty(), |s| SFlag::from_bits_truncate(s.st_mode));
        match mode & SFlag::S_IFMT {
            SFlag::S_IFREG => EntryKind::File,
            SFlag::S_IFDIR => EntryKind::Directory,
            _ => EntryKind::Other,
        }
    };
    let entry = |(name, known, kind): (std::ffi::CString, bool, EntryKind)| Entry {
        kind: if known { kind } else { ask(&name) },
        name: name.to_string_lossy().into_owned(),
    };
    Ok(entries.into_iter().map(entry).collect())
}
