//! Attributes and errors, between the system's words and those of NFS 3 (RFC 1813).

use nfs3_server::nfs3_types::nfs3::{
    Nfs3Option, fattr3, ftype3, nfsstat3, nfstime3, sattr3, set_atime, set_mtime, specdata3,
};
use nix::errno::Errno;
use std::fs::{File, FileTimes, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, fchown};
use std::time::SystemTime;

/// The attributes of a file under its id (RFC 1813, section 2.3.5).
pub(super) fn from_metadata(id: u64, metadata: &Metadata) -> fattr3 {
    fattr3 {
        type_: file_type(metadata),
        mode: metadata.mode() & 0o7777,
        nlink: u32::try_from(metadata.nlink()).unwrap_or(u32::MAX),
        uid: metadata.uid(),
        gid: metadata.gid(),
        size: metadata.size(),
        used: metadata.blocks().saturating_mul(512),
        rdev: specdata3::default(),
        fsid: metadata.dev(),
        fileid: id,
        atime: time(metadata.atime(), metadata.atime_nsec()),
        mtime: time(metadata.mtime(), metadata.mtime_nsec()),
        ctime: time(metadata.ctime(), metadata.ctime_nsec()),
    }
}

fn file_type(metadata: &Metadata) -> ftype3 {
    let kind = metadata.file_type();
    if kind.is_dir() {
        ftype3::NF3DIR
    } else if kind.is_symlink() {
        ftype3::NF3LNK
    } else if kind.is_block_device() {
        ftype3::NF3BLK
    } else if kind.is_char_device() {
        ftype3::NF3CHR
    } else if kind.is_fifo() {
        ftype3::NF3FIFO
    } else if kind.is_socket() {
        ftype3::NF3SOCK
    } else {
        ftype3::NF3REG
    }
}

/// Times before 1970 or after 2106 do not fit and become zero.
fn time(seconds: i64, nanoseconds: i64) -> nfstime3 {
    match (u32::try_from(seconds), u32::try_from(nanoseconds)) {
        (Ok(seconds), Ok(nseconds)) => nfstime3 { seconds, nseconds },
        _ => nfstime3::default(),
    }
}

/// Changes what a SETATTR or CREATE asks for.
pub(super) fn set(file: &File, wanted: &sattr3) -> io::Result<()> {
    if let Nfs3Option::Some(size) = wanted.size {
        file.set_len(size)?;
    }
    let owner = (option(wanted.uid), option(wanted.gid));
    if owner != (None, None) {
        fchown(file, owner.0, owner.1)?;
    }
    if let Nfs3Option::Some(mode) = wanted.mode {
        file.set_permissions(Permissions::from_mode(mode & 0o7777))?;
    }
    let accessed = match wanted.atime {
        set_atime::DONT_CHANGE => None,
        set_atime::SET_TO_SERVER_TIME => Some(SystemTime::now()),
        set_atime::SET_TO_CLIENT_TIME(time) => Some(time.into()),
    };
    let modified = match wanted.mtime {
        set_mtime::DONT_CHANGE => None,
        set_mtime::SET_TO_SERVER_TIME => Some(SystemTime::now()),
        set_mtime::SET_TO_CLIENT_TIME(time) => Some(time.into()),
    };
    if accessed.is_none() && modified.is_none() {
        return Ok(());
    }
    let times = accessed.into_iter().fold(FileTimes::new(), FileTimes::set_accessed);
    file.set_times(modified.into_iter().fold(times, FileTimes::set_modified))
}

fn option(value: Nfs3Option<u32>) -> Option<u32> {
    match value {
        Nfs3Option::Some(value) => Some(value),
        Nfs3Option::None => None,
    }
}

/// The status that stands for an error of the system (RFC 1813, section 2.6).
pub(super) fn status(error: impl Into<io::Error>) -> nfsstat3 {
    match error.into().raw_os_error().map(Errno::from_raw) {
        Some(Errno::EPERM) => nfsstat3::NFS3ERR_PERM,
        Some(Errno::ENOENT) => nfsstat3::NFS3ERR_NOENT,
        Some(Errno::EACCES) => nfsstat3::NFS3ERR_ACCES,
        Some(Errno::EEXIST) => nfsstat3::NFS3ERR_EXIST,
        Some(Errno::EXDEV) => nfsstat3::NFS3ERR_XDEV,
        Some(Errno::ENOTDIR) => nfsstat3::NFS3ERR_NOTDIR,
        Some(Errno::EISDIR) => nfsstat3::NFS3ERR_ISDIR,
        // ELOOP: a symbolic link where a file or directory was to be opened.
        Some(Errno::EINVAL | Errno::ELOOP) => nfsstat3::NFS3ERR_INVAL,
        Some(Errno::EFBIG) => nfsstat3::NFS3ERR_FBIG,
        Some(Errno::ENOSPC) => nfsstat3::NFS3ERR_NOSPC,
        Some(Errno::EROFS) => nfsstat3::NFS3ERR_ROFS,
        Some(Errno::EMLINK) => nfsstat3::NFS3ERR_MLINK,
        Some(Errno::ENAMETOOLONG) => nfsstat3::NFS3ERR_NAMETOOLONG,
        Some(Errno::ENOTEMPTY) => nfsstat3::NFS3ERR_NOTEMPTY,
        Some(Errno::EDQUOT) => nfsstat3::NFS3ERR_DQUOT,
        _ => nfsstat3::NFS3ERR_IO,
    }
}
