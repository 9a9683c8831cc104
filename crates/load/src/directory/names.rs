//! Operations on names as lanes do them: each is done when it is handed over, by the system calls that
//! it is made of and no more.
//!
//! They change names in directories of this user below the run's own alone, never in the target's
//! directory itself: nobody else can put anything in the place of what lies there, so what was made
//! needs no second look. Files are opened through the page cache, as programs that copy files do.

use super::file::{OpenFile, op_error, short};
use super::namespace;
use super::tree::{Tree, Trouble};
use crate::content::{Content, ContentWriter};
use crate::entry::EntryKind;
pub(super) use crate::op::not_open;
use crate::op::{
    Attributes, ByteRange, FileId, Found, LockMode, NewAttribute, Node, Op, OpError, PathId, Span,
    Whole,
};
use crate::open_files::LaneFiles;
use crate::paths::Paths;
use crate::share::LaneRequest;
use crate::wire::new_path_of;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, FcntlArg, OFlag, fcntl, openat, renameat};
use nix::libc;
use nix::sys::stat::{
    FileStat, Mode, SFlag, UtimensatFlags, fchmod, fstat, fstatat, futimens, mkdirat, utimensat,
};
use nix::sys::time::TimeSpec;
use nix::unistd::{AccessFlags, UnlinkatFlags, faccessat, unlinkat};
use plimsoll_model::{ErrorKind, Stability};
use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::Arc;

/// What lanes need to do operations on names.
pub(super) struct Names {
    tree: Arc<Tree>,
    paths: Arc<Paths>,
    content: Arc<Content>,
    verify: bool,
    block: u32,
    /// Made with the first small file: most lanes need none.
    writer: Option<ContentWriter>,
    buffer: Vec<u8>,
}

/// What an operation moved and found.
type Outcome = (u32, Option<Box<Found>>);

impl Names {
    pub(super) fn new(tree: &Arc<Tree>, request: &LaneRequest) -> Names {
        let LaneRequest { paths, content, verify, block, .. } = request.clone();
        Names {
            tree: tree.clone(),
            paths,
            content,
            verify,
            block,
            writer: None,
            buffer: Vec::new(),
        }
    }

    /// Does an operation that is about a name or closes a file.
    pub(super) fn perform(
        &mut self,
        op: &Op,
        files: &mut LaneFiles<OpenFile>,
    ) -> Result<Outcome, OpError> {
        let path = match op {
            Op::Close(file) if files.close(*file) => return Ok((0, None)),
            Op::Close(file) => return Err(not_open(*file)),
            Op::Create(path) | Op::Open(path) | Op::Remove(path) | Op::Lookup(path) => path,
            Op::LookupIfThere(path)
            | Op::ReadDirectory(path)
            | Op::Access(path)
            | Op::MakeDirectory(path)
            | Op::RemoveDirectory(path) => path,
            Op::Put(whole, _) | Op::Get(whole) => &whole.path,
            Op::Rename(path, _) => path,
            Op::SetAttribute(Node::Directory(path) | Node::Closed(path), _) => path,
            Op::SetAttribute(Node::File(file), new) => {
                return self.set_of_file(*file, *new, files).map(|()| (0, None));
            }
            Op::GetAttributes(file) => {
                let open = files.get(*file).ok_or_else(|| not_open(*file))?;
                let found = fstat(open.for_flush()).map_err(|errno| of_file("fstat", errno))?;
                return Ok((0, Some(Box::new(Found::Attributes(attributes(&found))))));
            }
            Op::Lock(file, bytes, _) | Op::Unlock(file, bytes) => {
                let open = files.get(*file).ok_or_else(|| not_open(*file))?;
                let kind = match op {
                    Op::Lock(.., LockMode::Shared) => libc::F_RDLCK,
                    Op::Lock(.., LockMode::Exclusive) => libc::F_WRLCK,
                    _ => libc::F_UNLCK,
                };
                return lock(open.for_flush(), *bytes, kind).map(|()| (0, None));
            }
            Op::Read(_) | Op::Write(..) | Op::Flush(_) => {
                return Err(crate::op::not_done_here(op));
            }
        };
        let path = self.path(*path)?;
        let done = match op {
            Op::Put(whole, stability) => return self.put(&path, whole, *stability),
            Op::Get(whole) => return self.get(&path, whole),
            Op::Create(_) => self.create(&path).map(|f| Some(Found::File(files.open(f)))),
            Op::Open(_) => self.open(&path).map(|f| Some(Found::File(files.open(f)))),
            Op::Lookup(_) => self.look_up(&path).map(|a| Some(Found::Attributes(a))),
            Op::LookupIfThere(_) => match self.look_up(&path) {
                Err(Trouble::System(Errno::ENOENT)) => Ok(None),
                found => found.map(|a| Some(Found::Attributes(a))),
            },
            Op::ReadDirectory(_) => {
                namespace::list(&self.tree, &path).map(|all| Some(Found::Entries(all.into())))
            }
            Op::Access(_) => self.access(&path).map(|()| None),
            Op::MakeDirectory(_) => self.make_directory(&path).map(|()| None),
            Op::Rename(..) => {
                let to = new_path_of(&self.paths, op, &path)?;
                self.rename(&path, &to).map(|()| None)
            }
            Op::SetAttribute(_, new) => self.set_of_name(&path, *new).map(|()| None),
            Op::RemoveDirectory(_) => self.remove_directory(&path).map(|()| None),
            _ => self.remove(&path).map(|()| None),
        };
        match done {
            Ok(found) => Ok((0, found.map(Box::new))),
            Err(trouble) => Err(failed(op, &path, &trouble)),
        }
    }

    fn path(&self, path: PathId) -> Result<Arc<str>, OpError> {
        self.paths.get(path).ok_or_else(|| OpError {
            kind: ErrorKind::Gone,
            detail: format!("path {} is not known", path.0).into(),
        })
    }

    /// The place of a name that is to be changed.
    fn own_place<'p>(
        &self,
        path: &'p str,
    ) -> Result<(Arc<std::os::fd::OwnedFd>, &'p str), Trouble> {
        if !path.contains('/') {
            return Err("the path is outside the directory of the run".into());
        }
        self.tree.own_place(path)
    }

    fn create(&self, path: &str) -> Result<OpenFile, Trouble> {
        let (directory, name) = self.own_place(path)?;
        OpenFile::create_cached(&directory, name)
    }

    fn open(&self, path: &str) -> Result<OpenFile, Trouble> {
        let (directory, name) = self.tree.place(path)?;
        OpenFile::open_cached(&directory, name)
    }

    fn look_up(&self, path: &str) -> Result<Attributes, Trouble> {
        let (directory, name) = self.tree.place(path)?;
        Ok(attributes(&fstatat(&*directory, name, AtFlags::AT_SYMLINK_NOFOLLOW)?))
    }

    fn access(&self, path: &str) -> Result<(), Trouble> {
        let (directory, name) = self.tree.place(path)?;
        let rights = AccessFlags::R_OK | AccessFlags::W_OK | AccessFlags::X_OK;
        Ok(faccessat(&*directory, name, rights, AtFlags::empty())?)
    }

    fn make_directory(&self, path: &str) -> Result<(), Trouble> {
        let (directory, name) = self.own_place(path)?;
        Ok(mkdirat(&*directory, name, Mode::S_IRWXU)?)
    }

    fn rename(&self, path: &str, to: &str) -> Result<(), Trouble> {
        let (directory, name) = self.own_place(path)?;
        let to = to.rsplit('/').next().unwrap_or(to);
        Ok(renameat(&*directory, name, &*directory, to)?)
    }

    fn set_of_name(&self, path: &str, new: NewAttribute) -> Result<(), Trouble> {
        let (directory, name) = self.own_place(path)?;
        match new {
            // Opened for it, as programs do that must not follow a link.
            NewAttribute::Mode(mode) => {
                let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
                fchmod(openat(&*directory, name, flags, Mode::empty())?, bits(mode))?;
            }
            NewAttribute::Modified(seconds) => {
                let (kept, time) = times(seconds);
                let flags = UtimensatFlags::NoFollowSymlink;
                utimensat(&*directory, name, &kept, &time, flags)?;
            }
        }
        Ok(())
    }

    fn set_of_file(
        &self,
        id: FileId,
        new: NewAttribute,
        files: &mut LaneFiles<OpenFile>,
    ) -> Result<(), OpError> {
        let file = files.get(id).ok_or_else(|| not_open(id))?.for_flush();
        let done = match new {
            NewAttribute::Mode(mode) => fchmod(file, bits(mode)),
            NewAttribute::Modified(seconds) => {
                let (kept, time) = times(seconds);
                futimens(file, &kept, &time)
            }
        };
        done.map_err(|errno| of_file("set an attribute", errno))
    }

    fn remove(&self, path: &str) -> Result<(), Trouble> {
        let (directory, name) = self.own_place(path)?;
        Ok(unlinkat(&*directory, name, UnlinkatFlags::NoRemoveDir)?)
    }

    fn remove_directory(&self, path: &str) -> Result<(), Trouble> {
        let (directory, name) = self.own_place(path)?;
        unlinkat(&*directory, name, UnlinkatFlags::RemoveDir)?;
        self.tree.forget(path);
        Ok(())
    }

    fn put(&mut self, path: &str, whole: &Whole, stability: Stability) -> Result<Outcome, OpError> {
        let op = Op::Put(*whole, stability);
        let file = self.create(path).map_err(|trouble| failed(&op, path, &trouble))?;
        let (content, block) = (&self.content, self.block);
        let writer = self.writer.get_or_insert_with(|| content.writer(block));
        let data = writer.fill(&span(whole));
        if data.len() != whole.length as usize {
            return Err(short("pwrite", &span(whole), data.len()));
        }
        let mut out: &File = file.for_flush();
        let stable = |()| match stability {
            Stability::Unstable => Ok(()),
            Stability::DataSync | Stability::FileSync => out.sync_data(),
        };
        let written = out.write_all(data).and_then(stable);
        written.map_err(|error| op_error("write a file whole", &error))?;
        Ok((whole.length, None))
    }

    fn get(&mut self, path: &str, whole: &Whole) -> Result<Outcome, OpError> {
        let op = Op::Get(*whole);
        let file = self.open(path).map_err(|trouble| failed(&op, path, &trouble))?;
        self.buffer.clear();
        // One byte more than there should be: a file that has grown is not what was asked for.
        let read = file.for_flush().take(u64::from(whole.length) + 1).read_to_end(&mut self.buffer);
        let bytes = read.map_err(|error| op_error("read a file whole", &error))?;
        if bytes != whole.length as usize {
            return Err(short("pread", &span(whole), bytes));
        }
        if self.verify {
            self.content.check(whole.content, whole.generation, 0, &self.buffer)?;
        }
        Ok((whole.length, None))
    }
}

/// What stat(2) tells of a file.
fn attributes(found: &FileStat) -> Attributes {
    let kind = match SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT {
        SFlag::S_IFREG => EntryKind::File,
        SFlag::S_IFDIR => EntryKind::Directory,
        _ => EntryKind::Other,
    };
    Attributes { kind, size: u64::try_from(found.st_size).unwrap_or(0) }
}

/// Locks bytes of a file for whoever has it open here, or undoes that (fcntl_locking(2), "Open file description
/// locks"): other locks of this process would end with the first close of any of its files.
fn lock(file: &File, bytes: ByteRange, kind: libc::c_int) -> Result<(), OpError> {
    let to_the_end = 0;
    let wanted = libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: libc::off_t::try_from(bytes.offset).unwrap_or(libc::off_t::MAX),
        l_len: libc::off_t::try_from(bytes.length).unwrap_or(to_the_end),
        l_pid: 0,
    };
    let done = fcntl(file, FcntlArg::F_OFD_SETLK(&wanted));
    done.map(drop).map_err(|errno| of_file("lock a file", errno))
}

#[cold]
fn of_file(tried: &str, errno: Errno) -> OpError {
    op_error(tried, &io::Error::from(errno))
}

fn bits(mode: u16) -> Mode {
    Mode::from_bits_truncate(mode.into())
}

/// The time of access, which stays, and that of the last change.
fn times(seconds: u32) -> (TimeSpec, TimeSpec) {
    (TimeSpec::UTIME_OMIT, TimeSpec::new(seconds.into(), 0))
}

fn span(whole: &Whole) -> Span {
    let Whole { content: file, length, generation, .. } = *whole;
    Span { file, offset: 0, length, generation }
}

/// Why an operation on a name failed.
#[cold]
fn failed(op: &Op, path: &str, trouble: &Trouble) -> OpError {
    let tried = format!("{} {path}", op.kind().name().replace('_', " "));
    match trouble {
        Trouble::System(errno) => op_error(&tried, &io::Error::from(*errno)),
        Trouble::Wrong(what) => {
            OpError { kind: ErrorKind::NotPermitted, detail: format!("{tried}: {what}").into() }
        }
    }
}
