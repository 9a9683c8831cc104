//! Where feeds are: a directory of the user's that nobody else can read or write.

use nix::unistd::Uid;
use plimsoll_model::{Cause, Failure};
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The directory of feeds, made if need be: `$XDG_RUNTIME_DIR/plimsoll` (XDG Base Directory
/// Specification), else `plimsoll-<uid>` in the directory for temporary files. Fails where what is
/// there is not a directory of this user's that is closed to others.
pub fn runtime_directory() -> Result<PathBuf, Failure> {
    let path = place(std::env::var_os("XDG_RUNTIME_DIR"), std::env::temp_dir(), Uid::effective());
    made(&path, Uid::effective()).map_err(|why| {
        Failure::new(Cause::NotPermitted, "create the directory for the progress of runs")
            .on(path.display())
            .happened(why)
            .next("Remove it, or set XDG_RUNTIME_DIR to a directory that belongs to you.")
    })?;
    Ok(path)
}

fn place(runtime: Option<OsString>, temporary: PathBuf, user: Uid) -> PathBuf {
    // The specification says that relative paths are to be ignored.
    match runtime.map(PathBuf::from).filter(|path| path.is_absolute()) {
        Some(runtime) => runtime.join("plimsoll"),
        None => temporary.join(format!("plimsoll-{user}")),
    }
}

fn made(path: &Path, user: Uid) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e),
        _ => {}
    }
    // Of a link, the link: in a directory that all may write to, somebody else may have made it.
    let found = path.symlink_metadata()?;
    let why = if !found.is_dir() {
        "it is not a directory"
    } else if found.uid() != user.as_raw() {
        "it belongs to another user"
    } else if found.mode() & 0o077 != 0 {
        "other users have access: its mode must be 0700"
    } else {
        return Ok(());
    };
    Err(io::Error::other(why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn the_place_follows_the_specification() {
        let place = |runtime: Option<&str>| {
            place(runtime.map(OsString::from), PathBuf::from("/tmp"), Uid::from_raw(7))
        };
        assert_eq!(place(Some("/run/user/7")), Path::new("/run/user/7/plimsoll"));
        assert_eq!(place(Some("here")), Path::new("/tmp/plimsoll-7"));
        assert_eq!(place(None), Path::new("/tmp/plimsoll-7"));
    }

    #[test]
    fn only_an_own_closed_directory_will_do() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("plimsoll");
        made(&path, Uid::effective()).unwrap();
        made(&path, Uid::effective()).unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o700);
        let other = Uid::from_raw(Uid::effective().as_raw() + 1);
        assert!(made(&path, other).unwrap_err().to_string().contains("another user"));
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        assert!(made(&path, Uid::effective()).unwrap_err().to_string().contains("0700"));
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o700)).unwrap();
        symlink(&path, home.path().join("link")).unwrap();
        let link = made(&home.path().join("link"), Uid::effective()).unwrap_err();
        assert!(link.to_string().contains("not a directory"));
        let nowhere = home.path().join("a/b");
        assert!(made(&nowhere, Uid::effective()).is_err());
    }
}
