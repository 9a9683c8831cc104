//! What a directory's file system is, and whether O_DIRECT bypasses the page cache there.

use super::file::{OWN, SMALLEST_ALIGNMENT, read_only};
use super::tree::Trouble;
use super::{fetched, mount};
use crate::aligned::AlignedBuffer;
use crate::entry::Space;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::sys::stat::{Mode, SFlag, fstat, fstatat, major, minor, stat};
use nix::sys::statfs::fstatfs;
use nix::sys::statvfs::fstatvfs;
use nix::unistd::{UnlinkatFlags, geteuid, unlinkat};
use plimsoll_model::{Cause, Failure};
use std::fs::{File, read_to_string};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

/// What the probe found.
pub(super) struct Found {
    pub name: String,
    /// The user that what is made here belongs to: that of a server, or of a mount, may be another
    /// than this process's.
    pub owner: u32,
    /// What O_DIRECT asks for, where it bypasses the page cache.
    pub direct: Option<u32>,
    pub space: Space,
}

/// Logical blocks tried, smallest first.
const ALIGNMENTS: [u32; 2] = [SMALLEST_ALIGNMENT, 4096];
const PAGE: usize = 4096;

/// What can be known for a file that is read where it is, without writing anything. Returns its
/// size in bytes too.
pub(super) fn look(
    root: &OwnedFd,
    directory: &OwnedFd,
    file: &str,
) -> Result<(Found, u64), Trouble> {
    let found = fstatat(directory, file, AtFlags::AT_SYMLINK_NOFOLLOW)?;
    if SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT == SFlag::S_IFDIR {
        return Err(Errno::EISDIR.into());
    }
    let size = read_only(directory, file, OFlag::empty())?.metadata()?.len();
    let name = name(kind(root));
    let direct = read_only(directory, file, OFlag::O_DIRECT).ok().and_then(|file| {
        let mut buffer = AlignedBuffer::new(PAGE);
        ALIGNMENTS.into_iter().find(|alignment| {
            let (at, length) = (u64::from(*alignment), *alignment as usize);
            reads_directly(&file, &mut buffer[..length], at, &name)
        })
    });
    // Nothing is made there, so nobody is its owner.
    let owner = geteuid().as_raw();
    Ok((Found { name, owner, direct, space: space(root)? }, size))
}

/// The magic number of a directory's file system.
fn kind(root: &OwnedFd) -> Option<u32> {
    fstatfs(root).ok().map(|s| s.filesystem_type().0 as u32)
}

/// Asks the file system for its name and space, and writes a page to a file without a name (or
/// with one that is removed at once, where such files are not known).
pub(super) fn probe(root: &OwnedFd, given: &str) -> Result<Found, Failure> {
    let write_failed = |errno| cannot_write(given, errno);
    let kind = kind(root);
    if let Some((what, next)) = kind.and_then(not_for_files) {
        let cause = Cause::NotPermitted;
        return Err(Failure::new(cause, "write to the directory")
            .on(given)
            .happened(what)
            .next(next));
    }
    let name = name(kind);
    let file = nameless(root, OFlag::empty()).map_err(write_failed)?;
    // A page of data proves that there is space; its content is of no matter.
    file.write_all_at(&[0x5a; PAGE], 0)
        .map_err(|e| write_failed(Errno::from_raw(e.raw_os_error().unwrap_or(0))))?;
    let owner = fstat(&file).map_err(write_failed)?.st_uid;
    drop(file);
    let direct = nameless(root, OFlag::O_DIRECT).ok().and_then(|file| alignment(&file, &name));
    let space = space(root).map_err(write_failed)?;
    Ok(Found { name, owner, direct, space })
}

/// The smallest logical block that can be written and read directly.
fn alignment(file: &File, name: &str) -> Option<u32> {
    let mut buffer = AlignedBuffer::new(PAGE);
    ALIGNMENTS.into_iter().find(|alignment| {
        // At a multiple of the alignment that is none of a larger one.
        let (at, length) = (u64::from(*alignment), *alignment as usize);
        file.write_all_at(&buffer[..length], at).is_ok()
            && reads_directly(file, &mut buffer[..length], at, name)
    })
}

/// Whether bytes can be read directly, past what the page cache has of them: some file systems take
/// O_DIRECT and do not honour it, such as ext4 with data=journal. For one in memory nothing is ever
/// fetched; for a remote one the kernel does not always count, and there O_DIRECT is believed.
fn reads_directly(file: &File, buffer: &mut [u8], at: u64, name: &str) -> bool {
    // Whatever the page cache did not have before, it has at the second time.
    if file.read_exact_at(buffer, at).is_err() {
        return false;
    }
    let before = fetched::by_this_thread();
    if file.read_exact_at(buffer, at).is_err() {
        return false;
    }
    let fetched = fetched::by_this_thread().zip(before).map(|(after, before)| after - before);
    is_remote(name) || is_memory(name) || fetched != Some(0)
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

/// Whether a file system is memory.
pub(super) fn is_memory(name: &str) -> bool {
    ["tmpfs", "ramfs"].contains(&name)
}

/// Whether a file system's data are on another machine, or a program's, which may have them from one.
pub(super) fn is_remote(name: &str) -> bool {
    let remote = ["nfs", "cifs", "smb", "ceph", "afs", "9p", "fuse"];
    remote.iter().any(|remote| name.starts_with(remote))
}

/// Whether a file system, or the upper one of an overlay, is on a loop device that reads its file through
/// the page cache.
pub(super) fn is_on_cached_loop(root: &OwnedFd) -> bool {
    let options = mount::options(root).unwrap_or_default();
    let upper = options.split(',').find_map(|option| option.strip_prefix("upperdir="));
    let Ok(found) = upper.map_or_else(|| fstat(root), stat) else { return false };
    let device = format!("/sys/dev/block/{}:{}", major(found.st_dev), minor(found.st_dev));
    // A partition of one has the attributes one directory up.
    let direct = ["loop/dio", "../loop/dio"].map(|file| read_to_string(format!("{device}/{file}")));
    direct.iter().flatten().any(|direct| direct.trim() == "0")
}

/// What a file system names as the size for reads and writes, in bytes (stat(3type), "st_blksize").
pub(super) fn preferred_block(root: &OwnedFd) -> Option<u32> {
    u32::try_from(fstat(root).ok()?.st_blksize).ok().filter(|block| *block > 0)
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
        Errno::ENOSPC | Errno::EDQUOT => (Cause::NoSpace, "Free some space on it."),
        Errno::EROFS => (
            Cause::NotPermitted,
            "It is read-only: remount it read-write, or read an existing file: 'plimsoll check \
            TARGET --file NAME'.",
        ),
        _ => (Cause::NotPermitted, "Choose a directory that you can write to."),
    };
    Failure::new(cause, "write to the directory").on(given).happened(errno.desc()).next(next)
}

/// File systems in which the kernel shows things of its own, by magic number.
const OF_THE_KERNEL: [(u32, &str); 18] = [
    (0x0000_9fa0, "proc"),
    (0x6265_6572, "sysfs"),
    (0x0027_e0eb, "cgroup"),
    (0x6367_7270, "cgroup2"),
    (0x0000_1cd1, "devpts"),
    (0x6462_6720, "debugfs"),
    (0x7472_6163, "tracefs"),
    (0x7363_6673, "securityfs"),
    (0xcafe_4a11, "bpf"),
    (0x1980_0202, "mqueue"),
    (0x6165_676c, "pstore"),
    (0x6265_6570, "configfs"),
    (0xde5e_81e4, "efivarfs"),
    (0x6573_5543, "fusectl"),
    (0x4249_4e4d, "binfmt_misc"),
    (0x6759_6969, "rpc_pipefs"),
    (0x6e66_7364, "nfsd"),
    (0xf97c_ff8c, "selinuxfs"),
];
const AUTOFS: u32 = 0x0000_0187;
const HUGETLBFS: u32 = 0x9584_58f6;

/// Why a directory cannot hold a user's files, and what to do; `None`: it can.
pub(crate) fn why_not_for_files(directory: &OwnedFd) -> Option<(String, &'static str)> {
    kind(directory).and_then(not_for_files)
}

/// Why a file system cannot hold a user's files, and what to do; `None`: it can.
fn not_for_files(kind: u32) -> Option<(String, &'static str)> {
    match kind {
        AUTOFS => Some((
            "it is an autofs mount point without a mounted file system".into(),
            "Name the directory below it that triggers the mount.",
        )),
        HUGETLBFS => Some((
            "it is hugetlbfs, which does not support write calls".into(),
            "Choose a directory on a file system that stores files.",
        )),
        _ => OF_THE_KERNEL.iter().find(|(known, _)| *known == kind).map(|(_, name)| {
            (
                format!("it is {name}, which contains kernel state and stores no files"),
                "Choose a directory on a file system that stores files.",
            )
        }),
    }
}

/// Names of file systems by the magic numbers of statfs(2) and linux/magic.h.
fn name(magic: Option<u32>) -> String {
    let Some(magic) = magic else { return "an unknown file system".to_owned() };
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
