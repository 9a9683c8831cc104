//! Files of the client's, as content.
//!
//! Their names and sizes come from outside: nothing is followed that is a link, nothing outside of the
//! directory is opened, and a file that is not what it was when it was listed is reported.

use super::ContentError;
use crate::dataset::FileSet;
use crate::directory::why_not_for_files;
use nix::dir::{Dir, Type};
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat, fstatat};
use nix::unistd::{Whence, lseek};
use plimsoll_model::units::Bytes;
use plimsoll_model::{Cause, DataSource, Dataset, ErrorKind, Failure, Flag, printable};
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Most files and directories of one directory of the user's.
const MOST: usize = 4_000_000;
/// Files that are held open: each worker is at one of them.
const OPEN: usize = 64;

const DIRECTORY: OFlag =
    OFlag::O_DIRECTORY.union(OFlag::O_RDONLY).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);

const READ: OFlag =
    OFlag::O_RDONLY.union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC).union(OFlag::O_NONBLOCK);

/// Every file of a directory on this machine, as it was when it was listed.
#[derive(Debug)]
pub struct LocalFiles {
    given: String,
    root: OwnedFd,
    /// Paths below the root; the first is the root itself, without a name.
    directories: Vec<String>,
    files: Vec<LocalFile>,
    skipped: Skipped,
    /// Files with holes, and the bytes that are not there of them.
    sparse: (u64, Bytes),
    open: Mutex<Vec<(u32, Arc<File>)>>,
    failure: OnceLock<Failure>,
}

/// What the directory holds and nothing copies.
#[derive(Debug, Default)]
struct Skipped {
    /// Symbolic links.
    links: u64,
    /// Devices, pipes, sockets, and directories in which the kernel shows things of its own.
    special: u64,
    /// Files and directories whose names are not UTF-8; the first one's path, with such bytes escaped.
    names: u64,
    first_name: String,
}

/// A file as it was when it was listed.
#[derive(Debug)]
struct LocalFile {
    directory: usize,
    name: String,
    state: Fingerprint,
}

/// What shows that a file has not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fingerprint {
    size: u64,
    file: (u64, u64),
    written: (i64, i64),
}

impl From<&FileStat> for Fingerprint {
    fn from(found: &FileStat) -> Fingerprint {
        Fingerprint {
            size: u64::try_from(found.st_size).unwrap_or(0),
            file: (found.st_dev, found.st_ino),
            written: (found.st_mtime, found.st_mtime_nsec),
        }
    }
}

impl LocalFiles {
    /// Lists a directory and everything below it, in the order of names. Only regular files and directories
    /// are taken: links, devices, pipes and sockets are skipped and counted, and so are names that are not
    /// UTF-8.
    ///
    /// # Errors
    /// It cannot be read, something in it cannot, it holds too much, or it is a directory of devices or of the
    /// kernel.
    pub fn list(given: &str) -> Result<LocalFiles, Failure> {
        // The directory itself may be a link: the user named it.
        let flags = OFlag::O_DIRECTORY | OFlag::O_RDONLY | OFlag::O_CLOEXEC;
        let root = nix::fcntl::open(given, flags, Mode::empty())
            .map_err(|errno| refused(given, errno.desc(), "Name a directory that you can read."))?;
        let mut listed = LocalFiles {
            given: given.to_owned(),
            root,
            directories: vec![String::new()],
            files: Vec::new(),
            skipped: Skipped::default(),
            sparse: (0, Bytes(0)),
            open: Mutex::default(),
            failure: OnceLock::new(),
        };
        if let Some((happened, _)) = why_not_for_files(&listed.root) {
            return Err(refused(given, &happened, ONLY_FILES));
        }
        let mut number = 0;
        while number < listed.directories.len() {
            listed.list_one(number)?;
            number += 1;
        }
        listed.expect_files()?;
        Ok(listed)
    }

    /// Refuses a directory that is not one of files: of devices, most often.
    fn expect_files(&self) -> Result<(), Failure> {
        let (files, special) = (self.files.len() as u64, self.skipped.special);
        if special > files {
            let happened = format!(
                "it holds {files} regular files, and {special} devices, pipes, sockets and kernel \
                directories"
            );
            return Err(refused(&self.given, &happened, ONLY_FILES));
        }
        Ok(())
    }

    fn list_one(&mut self, number: usize) -> Result<(), Failure> {
        let path = self.directories[number].clone();
        let on = format!("{}/{path}", self.given);
        let failed = |errno: Errno| {
            refused(&on, errno.desc(), "Make all files in it readable, or name another directory.")
        };
        let held = self.directory(&path).map_err(failed)?;
        let mut names: Vec<(CString, Option<Type>)> = Vec::new();
        let mut listing = Dir::openat(&held, ".", DIRECTORY, Mode::empty()).map_err(failed)?;
        for entry in listing.iter() {
            let entry = entry.map_err(failed)?;
            if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
                names.push((entry.file_name().to_owned(), entry.file_type()));
            }
        }
        names.sort_by(|a, b| a.0.cmp(&b.0));
        let device = fstat(&held).map_err(failed)?.st_dev;
        for (name, _) in names {
            let name = match name.into_string() {
                Ok(name) => name,
                Err(error) => {
                    self.skip_name(&path, error.into_cstring().to_bytes());
                    continue;
                }
            };
            let found = fstatat(&held, &*name, AtFlags::AT_SYMLINK_NOFOLLOW).map_err(failed)?;
            match SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT {
                SFlag::S_IFDIR => {
                    // Another file system is mounted there.
                    if found.st_dev != device {
                        let there = openat(&held, &*name, DIRECTORY, Mode::empty());
                        if why_not_for_files(&there.map_err(failed)?).is_some() {
                            self.skipped.special += 1;
                            continue;
                        }
                    }
                    self.directories.push(match &*path {
                        "" => name,
                        _ => format!("{path}/{name}"),
                    });
                }
                SFlag::S_IFREG => {
                    let open = || {
                        openat(&held, &*name, READ, Mode::empty()).map_err(|errno| {
                            let next = "Make it readable, or remove it from the directory.";
                            refused(&format!("{on}/{name}"), errno.desc(), next)
                        })
                    };
                    self.note_holes(&found, &open()?);
                    self.files.push(LocalFile { directory: number, name, state: (&found).into() });
                }
                SFlag::S_IFLNK => self.skipped.links += 1,
                _ => self.skipped.special += 1,
            }
        }
        if self.files.len() + self.directories.len() > MOST {
            let happened = format!("it holds more than {MOST} files and directories");
            return Err(refused(&self.given, &happened, "Name a subdirectory."));
        }
        Ok(())
    }

    /// Paths are text here and on the share: what is not is left out, and the first is named.
    fn skip_name(&mut self, directory: &str, name: &[u8]) {
        if self.skipped.names == 0 {
            let above = if directory.is_empty() { "" } else { "/" };
            self.skipped.first_name = format!("{directory}{above}{}", escaped(name));
        }
        self.skipped.names += 1;
    }

    /// Where less is there than the file has bytes, holes are why, or a file system that compresses.
    fn note_holes(&mut self, found: &FileStat, file: &OwnedFd) {
        const BLOCK: u64 = 512;
        let size = Fingerprint::from(found).size;
        let there = u64::try_from(found.st_blocks).unwrap_or(0).saturating_mul(BLOCK);
        let hole = || lseek(file, 0, Whence::SeekHole).is_ok_and(|at| (at as u64) < size);
        if there < size && hole() {
            let (count, bytes) = &mut self.sparse;
            *count += 1;
            bytes.0 = bytes.0.saturating_add(size - there);
        }
    }

    /// What there is to copy.
    pub fn dataset(&self) -> Dataset {
        Dataset {
            source: DataSource::Directory { data: self.given.clone() },
            files: self.files.len() as u64,
            directories: self.directories.len() as u64,
            bytes: self.bytes(),
        }
    }

    /// What of them is not as it was listed.
    fn find_changed(&self) -> Result<(), Failure> {
        let mut held: Option<(usize, OwnedFd)> = None;
        for file in &self.files {
            let changed = |errno: Errno| self.changed(file, errno.desc());
            if held.as_ref().is_none_or(|(number, _)| *number != file.directory) {
                let opened = self.directory(&self.directories[file.directory]).map_err(changed)?;
                held = Some((file.directory, opened));
            }
            let Some((_, directory)) = &held else { continue };
            let found =
                fstatat(directory, &*file.name, AtFlags::AT_SYMLINK_NOFOLLOW).map_err(changed)?;
            if Fingerprint::from(&found) != file.state {
                return Err(self.changed(file, "it was changed"));
            }
        }
        Ok(())
    }

    /// Reads a part of a file; what goes wrong is kept, and the bytes are zeros then.
    pub(super) fn read(&self, file: u32, offset: u64, buffer: &mut [u8]) {
        if let Err(failure) = self.try_read(file, offset, buffer) {
            buffer.fill(0);
            let _ = self.failure.set(failure);
        }
    }

    fn try_read(&self, number: u32, offset: u64, buffer: &mut [u8]) -> Result<(), Failure> {
        let Some(file) = self.files.get(number as usize) else {
            return Err(refused(&self.given, "no such file", ""));
        };
        let open = self.open(number, file)?;
        open.read_exact_at(buffer, offset).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => self.changed(file, "it was truncated"),
            _ => self.changed(file, &error.to_string()),
        })
    }

    fn open(&self, number: u32, file: &LocalFile) -> Result<Arc<File>, Failure> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, found)) = open.iter().find(|(known, _)| *known == number) {
            return Ok(found.clone());
        }
        let changed = |errno: Errno| self.changed(file, errno.desc());
        let directory = self.directory(&self.directories[file.directory]).map_err(changed)?;
        let opened = openat(&directory, &*file.name, READ, Mode::empty()).map_err(changed)?;
        if Fingerprint::from(&fstat(&opened).map_err(changed)?) != file.state {
            return Err(self.changed(file, "it was changed"));
        }
        let opened = Arc::new(File::from(opened));
        if open.len() >= OPEN {
            open.remove(0);
        }
        open.push((number, opened.clone()));
        Ok(opened)
    }

    /// A directory below the root, each of its names looked up without following a link.
    fn directory(&self, path: &str) -> nix::Result<OwnedFd> {
        let mut held = openat(self.root.as_fd(), ".", DIRECTORY, Mode::empty())?;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            held = openat(&held, name, DIRECTORY, Mode::empty())?;
        }
        Ok(held)
    }

    /// Compares what was read with a file's bytes.
    pub(super) fn check(&self, file: u32, offset: u64, data: &[u8]) -> Result<(), ContentError> {
        let mut expected = vec![0; data.len()];
        self.read(file, offset, &mut expected);
        let Some(wrong) = data.iter().zip(&expected).position(|(is, should)| is != should) else {
            return Ok(());
        };
        let at = offset + wrong as u64;
        let name = self.files.get(file as usize).map_or("", |file| &file.name);
        let detail = format!("'{}' differs at byte {at}", printable(name));
        Err(ContentError { kind: ErrorKind::CorruptContent, detail })
    }

    fn changed(&self, file: &LocalFile, happened: &str) -> Failure {
        let on = [&*self.given, &self.directories[file.directory], &file.name];
        let on: Vec<&str> = on.into_iter().filter(|part| !part.is_empty()).collect();
        let next = "Do not change the files while they are copied, and run it again.";
        Failure::new(Cause::Trial, "read a file that is copied")
            .on(on.join("/"))
            .happened(happened)
            .next(next)
    }
}

impl FileSet for LocalFiles {
    fn files(&self) -> usize {
        self.files.len()
    }

    fn directories(&self) -> usize {
        self.directories.len()
    }

    fn bytes(&self) -> Bytes {
        Bytes(self.files.iter().fold(0, |sum, file| sum.saturating_add(file.state.size)))
    }

    fn size(&self, file: usize) -> u64 {
        self.files[file].state.size
    }

    fn directory_of(&self, file: usize) -> usize {
        self.files[file].directory
    }

    fn oddities(&self) -> Vec<Flag> {
        let directory = || self.given.clone();
        let Skipped { links, special, names, first_name } = &self.skipped;
        let (others, first) = (links + special, first_name.clone());
        let skipped = Flag::EntriesSkipped { directory: directory(), count: others };
        let named = Flag::NamesNotUtf8 { directory: directory(), first, count: *names };
        let (count, holes) = self.sparse;
        let sparse = Flag::SparseFiles { directory: directory(), count, holes };
        let seen = [(skipped, others > 0), (named, *names > 0), (sparse, count > 0)];
        seen.into_iter().filter_map(|(flag, seen)| seen.then_some(flag)).collect()
    }

    fn failed(&self) -> bool {
        self.failure.get().is_some()
    }

    fn check_unchanged(&self) -> Result<(), Failure> {
        self.failure.get().map_or_else(|| self.find_changed(), |failure| Err(failure.clone()))
    }
}

const ONLY_FILES: &str =
    "plimsoll copies regular files and directories only: name a directory with such files.";

/// Bytes as text, with those that are no text as `\xff`.
fn escaped(name: &[u8]) -> String {
    let chunk = |chunk: std::str::Utf8Chunk<'_>| {
        let bytes = chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}"));
        printable(chunk.valid()) + &bytes.collect::<String>()
    };
    name.utf8_chunks().map(chunk).collect()
}

fn refused(on: &str, happened: &str, next: &str) -> Failure {
    Failure::new(Cause::Usage, "list the files to copy").on(on).happened(happened).next(next)
}
