//! What a directory's file system is, and whether it takes O_DIRECT.

use super::file::{OWN, SMALLEST_ALIGNMENT};
use crate::aligned::AlignedBuffer;
use crate::share::Space;
use model::{Cause, Failure};
use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::{Mode, fstat};
use nix::sys::statfs::fstatfs;
use nix::sys::statvfs::fstatvfs;
use nix::unistd::{UnlinkatFlags, unlinkat};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

/// What the probe found.
pub(super) struct Found {
    pub name: String,
    /// The user that what is made here belongs to: that of a server, or of a mount, may be another
    /// than this process's.
    pub owner: u32,
    pub direct: Option<u32>,
    pub space: Space,
}

/// Logical blocks tried, smallest first.
const ALIGNMENTS: [u32; 2] = [SMALLEST_ALIGNMENT, 4096];
const PAGE: usize = 4096;

/// Asks the file system for its name and space, and writes a page to a file without a name (or
/// with one that is removed at once, where such files are not known).
pub(super) fn probe(root: &OwnedFd, given: &str) -> Result<Found, Failure> {
    let write_failed = |errno| cannot_write(given, errno);
    let name = fstatfs(root).map_or_else(
        |_| "an unknown file system".to_owned(),
        |s| name(s.filesystem_type().0 as u32),
    );
    let file = nameless(root, OFlag::empty()).map_err(write_failed)?;
    // A page of data proves that there is space; its content is of no matter.
    file.write_all_at(&[0x5a; PAGE], 0)
        .map_err(|e| write_failed(Errno::from_raw(e.raw_os_error().unwrap_or(0))))?;
    let owner = fstat(&file).map_err(write_failed)?.st_uid;
    drop(file);
    let direct = nameless(root, OFlag::O_DIRECT).ok().and_then(|file| alignment(&file));
    let space = space(root).map_err(write_failed)?;
    Ok(Found { name, owner, direct, space })
}

/// The smallest logical block that can be written and read directly.
fn alignment(file: &File) -> Option<u32> {
    let mut buffer = AlignedBuffer::new(PAGE);
    ALIGNMENTS.into_iter().find(|alignment| {
        // At a multiple of the alignment that is none of a larger one.
        let (at, length) = (u64::from(*alignment), *alignment as usize);
        file.write_all_at(&buffer[..length], at).is_ok()
            && file.read_exact_at(&mut buffer[..length], at).is_ok()
    })
}

/// A file that is gone when it is closed.
fn nameless(root: &OwnedFd, flags: OFlag) -> nix::Result<File> {
    let mode = Mode::S_IRUSR | Mode::S_IWUSR;
    match openat(root, ".", OFlag::O_TMPFILE | OFlag::O_RDWR | OFlag::O_CLOEXEC | flags, mode) {
        Ok(file) => return Ok(file.into()),
        Err(Errno::EOPNOTSUPP | Errno::EISDIR | Errno::ENOENT | Errno::EINVAL) => {}
        Err(errno) => return Err(errno),
    }
    let name = format!(".plimsoll-probe-{}", std::process::id());
    let create = OFlag::O_CREAT | OFlag::O_EXCL;
    let first = openat(root, name.as_str(), OWN | create | flags, mode);
    if matches!(first, Err(Errno::EEXIST)) {
        // Another probe of ours, or a leftover: not ours to touch.
        return first.map(File::from);
    }
    // O_DIRECT may be refused after the file was made, so it is removed either way.
    let removed = unlinkat(root, name.as_str(), UnlinkatFlags::NoRemoveDir);
    let file = first?;
    removed?;
    Ok(file.into())
}

/// Space on the file system of `root`, for this user.
pub(super) fn space(root: &OwnedFd) -> nix::Result<Space> {
    let stat = fstatvfs(root)?;
    let fragment = stat.fragment_size();
    Ok(Space {
        total: stat.blocks().saturating_mul(fragment),
        available: stat.blocks_available().saturating_mul(fragment),
    })
}

fn cannot_write(given: &str, errno: Errno) -> Failure {
    let (cause, next) = match errno {
        Errno::ENOSPC | Errno::EDQUOT => (Cause::NoSpace, "Make room on it."),
        Errno::EROFS => (Cause::NotPermitted, "It is read-only: remount it, or choose another."),
        _ => (Cause::NotPermitted, "Choose a directory you may write to."),
    };
    Failure::new(cause, "write to the directory", given, errno.desc(), next)
}

/// Names of file systems by the magic numbers of statfs(2) and linux/magic.h.
fn name(magic: u32) -> String {
    let known = match magic {
        0x0000_ef53 => "ext4",
        0x5846_5342 => "xfs",
        0x9123_683e => "btrfs",
        0x0102_1994 => "tmpfs",
        0x8584_58f6 => "ramfs",
        0x0000_6969 => "nfs",
        0xff53_4d42 | 0xfe53_4d42 => "cifs",
        0x2fc1_2fc1 => "zfs",
        0x6573_5546 => "fuse",
        0x794c_7630 => "overlay",
        0xf2f5_2010 => "f2fs",
        0x0000_4d44 => "vfat",
        0x2011_bab0 => "exfat",
        0x7366_746e => "ntfs3",
        0x0102_1997 => "9p",
        0xca45_1a4e => "bcachefs",
        0x00c3_6400 => "ceph",
        _ => return format!("a file system of type {magic:#x}"),
    };
    known.to_owned()
}
