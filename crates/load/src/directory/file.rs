//! Files as engines see them: one descriptor for each way of writing.

use super::tree::{Trouble, belongs_to, is_regular, same};
use crate::op::{OpError, Span};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, PosixFadviseAdvice, fcntl, openat, posix_fadvise};
use nix::sys::stat::{Mode, fstat};
use plimsoll_model::{ErrorKind, Stability};
use std::fs::File;
use std::os::fd::OwnedFd;

/// The smallest logical block there is.
pub(super) const SMALLEST_ALIGNMENT: u32 = 512;

/// Never through a link of ours, never leaked to a child.
pub(super) const OWN: OFlag =
    OFlag::O_RDWR.union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC).union(OFlag::O_NONBLOCK);

/// An open file: with and without O_DIRECT, with and without O_DSYNC.
#[derive(Debug)]
pub(super) struct OpenFile {
    /// Where it lies, for those that are opened again when they have been let go of.
    pub(super) path: Option<String>,
    cached: File,
    /// `None`: writes that must be stable are followed by a flush.
    cached_stable: Option<File>,
    direct: Option<Direct>,
}

#[derive(Debug)]
struct Direct {
    alignment: u32,
    plain: File,
    stable: File,
}

impl OpenFile {
    /// Makes a file in a directory. `direct`: the multiple that O_DIRECT asks for, where it is
    /// taken.
    pub(super) fn create(
        directory: &OwnedFd,
        name: &str,
        direct: Option<u32>,
    ) -> Result<OpenFile, Trouble> {
        Self::of_own(directory, name, direct, OFlag::O_CREAT | OFlag::O_EXCL)
    }

    /// Opens a file again that was made here and let go of; `number` is its own in the file system.
    pub(super) fn again(
        directory: &OwnedFd,
        name: &str,
        direct: Option<u32>,
        number: u64,
    ) -> Result<OpenFile, Trouble> {
        let file = Self::of_own(directory, name, direct, OFlag::empty())?;
        belongs_to(&file.cached, directory)?;
        if file.number()? == number { Ok(file) } else { Err(Errno::ESTALE.into()) }
    }

    /// The same, to be opened again there.
    pub(super) fn at(self, path: &str) -> OpenFile {
        OpenFile { path: Some(path.to_owned()), ..self }
    }

    /// Its number in its file system.
    pub(super) fn number(&self) -> nix::Result<u64> {
        Ok(fstat(&self.cached)?.st_ino)
    }

    /// Whether it was made here, and may be written.
    pub(super) fn is_own(&self) -> bool {
        self.cached_stable.is_some()
    }

    fn of_own(
        directory: &OwnedFd,
        name: &str,
        direct: Option<u32>,
        first: OFlag,
    ) -> Result<OpenFile, Trouble> {
        let open = |flags| {
            let mode = Mode::S_IRUSR | Mode::S_IWUSR;
            let file = openat(directory, name, OWN | flags, mode)?;
            // O_NONBLOCK kept the open from waiting for a pipe's other end. Where a file system
            // knows no non-blocking reads and writes, it would now make io_uring do them one after
            // the other in the submitting thread, instead of `depth` at a time.
            fcntl(&file, FcntlArg::F_SETFL(flags & OFlag::O_DIRECT))?;
            nix::Result::Ok(File::from(file))
        };
        let cached = open(first)?;
        let again = |flags| {
            let file = open(flags)?;
            if same(&file, &cached)? { Ok(file) } else { Err(Errno::ESTALE) }
        };
        let direct = match direct {
            Some(alignment) => Some(Direct {
                alignment,
                plain: again(OFlag::O_DIRECT)?,
                stable: again(OFlag::O_DIRECT | OFlag::O_DSYNC)?,
            }),
            None => None,
        };
        let cached_stable = Some(again(OFlag::O_DSYNC)?);
        Ok(OpenFile { path: None, cached, cached_stable, direct })
    }

    /// Opens a file of somebody's, to be read only.
    pub(super) fn open(
        directory: &OwnedFd,
        name: &str,
        direct: Option<u32>,
    ) -> Result<OpenFile, Trouble> {
        let cached = read_only(directory, name, OFlag::empty())?;
        let direct = match direct {
            Some(alignment) => {
                let plain = read_only(directory, name, OFlag::O_DIRECT)?;
                if !same(&plain, &cached)? {
                    return Err(Errno::ESTALE.into());
                }
                Some(Direct { alignment, stable: plain.try_clone()?, plain })
            }
            None => None,
        };
        Ok(OpenFile { path: None, cached_stable: None, cached, direct })
    }

    /// Makes a file in a directory of this user with one descriptor.
    pub(super) fn create_cached(directory: &OwnedFd, name: &str) -> Result<OpenFile, Trouble> {
        let flags = (OWN | OFlag::O_CREAT | OFlag::O_EXCL) & !OFlag::O_NONBLOCK;
        let mode = Mode::S_IRUSR | Mode::S_IWUSR;
        let cached = File::from(openat(directory, name, flags, mode)?);
        Ok(OpenFile { path: None, cached, cached_stable: None, direct: None })
    }

    /// Opens a file that was made here with one descriptor.
    pub(super) fn open_own_cached(directory: &OwnedFd, name: &str) -> Result<OpenFile, Trouble> {
        let file = openat(directory, name, OWN & !OFlag::O_NONBLOCK, Mode::empty())?;
        let cached = File::from(file);
        belongs_to(&cached, directory)?;
        Ok(OpenFile { path: None, cached, cached_stable: None, direct: None })
    }

    /// Opens a file to be read with one descriptor, and forgets what the page cache has of it.
    pub(super) fn open_cached(directory: &OwnedFd, name: &str) -> Result<OpenFile, Trouble> {
        let cached = read_only(directory, name, OFlag::empty())?;
        let _ = posix_fadvise(&cached, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED);
        Ok(OpenFile { path: None, cached, cached_stable: None, direct: None })
    }

    /// Whether a write that must be stable has to be followed by a flush.
    #[inline]
    pub(super) fn needs_flush(&self, stability: Stability) -> bool {
        stability != Stability::Unstable && self.cached_stable.is_none()
    }

    /// The descriptor for a span: direct where its place and length allow it.
    #[inline]
    pub(super) fn for_span(&self, span: &Span, stability: Stability) -> &File {
        match (&self.direct, stability) {
            (Some(d), _) if !aligned(span, d.alignment) => self.cached_for(stability),
            (Some(d), Stability::Unstable) => &d.plain,
            (Some(d), Stability::DataSync | Stability::FileSync) => &d.stable,
            (None, stability) => self.cached_for(stability),
        }
    }

    fn cached_for(&self, stability: Stability) -> &File {
        match stability {
            Stability::Unstable => &self.cached,
            Stability::DataSync | Stability::FileSync => {
                self.cached_stable.as_ref().unwrap_or(&self.cached)
            }
        }
    }

    /// The descriptor for flushing.
    pub(super) fn for_flush(&self) -> &File {
        &self.cached
    }

    /// Writes dirty pages out and forgets the clean ones, so that reads come from the storage.
    /// Advice only: the kernel may keep them. It reads ahead as far as its device is set to now: a file keeps what
    /// that was when it was opened until it is advised anew (mm/fadvise.c of Linux).
    pub(super) fn drop_cache(&self) {
        let _ = self.cached.sync_data();
        let _ = posix_fadvise(&self.cached, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED);
        let _ = posix_fadvise(&self.cached, 0, 0, PosixFadviseAdvice::POSIX_FADV_NORMAL);
    }
}

/// A regular file, opened for reading.
pub(super) fn read_only(directory: &OwnedFd, name: &str, extra: OFlag) -> Result<File, Trouble> {
    let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK;
    let file = File::from(openat(directory, name, flags | extra, Mode::empty())?);
    is_regular(&file)?;
    fcntl(&file, FcntlArg::F_SETFL(extra & OFlag::O_DIRECT))?;
    Ok(file)
}

fn aligned(span: &Span, alignment: u32) -> bool {
    span.offset.is_multiple_of(u64::from(alignment)) && span.length.is_multiple_of(alignment)
}

/// A system error as it is counted.
#[cold]
pub(super) fn op_error(tried: &str, error: &std::io::Error) -> OpError {
    let errno = Errno::from_raw(error.raw_os_error().unwrap_or(0));
    let kind = match errno {
        Errno::ENOSPC | Errno::EDQUOT | Errno::EFBIG => ErrorKind::NoSpace,
        Errno::EPERM | Errno::EACCES | Errno::EROFS => ErrorKind::NotPermitted,
        Errno::ESTALE | Errno::EBADF | Errno::ENOENT => ErrorKind::Gone,
        Errno::ETIMEDOUT => ErrorKind::TimedOut,
        Errno::ECONNRESET | Errno::ENOTCONN | Errno::EHOSTDOWN | Errno::EHOSTUNREACH => {
            ErrorKind::ConnectionLost
        }
        _ => ErrorKind::Io,
    };
    OpError { kind, detail: format!("{tried}: {error}").into() }
}

/// Fewer bytes than asked for.
#[cold]
pub(super) fn short(tried: &str, span: &Span, bytes: usize) -> OpError {
    let detail = format!("{tried} at {}: {bytes} of {} bytes", span.offset, span.length);
    OpError { kind: ErrorKind::Short, detail: detail.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Left set, O_NONBLOCK made io_uring work operations off one after the other on file systems
    /// without non-blocking reads and writes.
    #[test]
    fn no_open_file_is_non_blocking() {
        let there = tempfile::tempdir().unwrap();
        let root = OwnedFd::from(File::open(there.path()).unwrap());
        let file = OpenFile::create(&root, "x", None).unwrap();
        for file in [&file.cached, file.cached_stable.as_ref().unwrap()] {
            let flags = OFlag::from_bits_retain(fcntl(file, FcntlArg::F_GETFL).unwrap());
            assert!(!flags.contains(OFlag::O_NONBLOCK));
        }
    }
}
