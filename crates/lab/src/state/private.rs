//! Directories and files that nobody else may look into: what a lab writes down has passwords, and
//! its disks and saved machines have all that was in them.

use nix::sys::stat::{Mode, fchmod};
use nix::unistd::{geteuid, mkdtemp};
use plimsoll_model::Failure;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Makes a directory that is this user's alone; one that is there already is made so.
///
/// # Errors
/// [`Cause::NotPermitted`] where another user's directory, a link or a file is in its place.
pub(crate) fn directory(path: &Path) -> Result<(), Failure> {
    private(path).map_err(|error| {
        let next = format!(
            "Check its owner (ls -ld {}): labs need a directory that only root can use.",
            path.display()
        );
        Failure::new(super::cause(&error), "create a private directory")
            .on(path.display())
            .happened(error)
            .next(next)
    })
}

fn private(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // What is looked at is what is changed, whatever is put in its place meanwhile.
    let flags = nix::libc::O_DIRECTORY | nix::libc::O_NOFOLLOW;
    let refused = |why: &str| io::Error::new(ErrorKind::PermissionDenied, why);
    let opened = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Err(error) if is_no_directory(&error) => {
            return Err(refused("it exists but is not a directory"));
        }
        opened => opened?,
    };
    let about = opened.metadata()?;
    if about.uid() != geteuid().as_raw() {
        return Err(refused(&format!("it belongs to another user (id {})", about.uid())));
    }
    if about.mode() & 0o077 != 0 {
        fchmod(&opened, Mode::S_IRWXU)?;
    }
    Ok(())
}

fn is_no_directory(error: &io::Error) -> bool {
    [nix::libc::ELOOP, nix::libc::ENOTDIR]
        .into_iter()
        .any(|code| error.raw_os_error() == Some(code))
}

/// To make files that nobody else can read.
pub(crate) fn file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).mode(0o600);
    options
}

/// A directory that is gone when it is dropped.
pub(crate) struct Temporary(PathBuf);

impl Temporary {
    /// With a name that nobody can guess.
    pub fn new() -> io::Result<Temporary> {
        Ok(Temporary(mkdtemp(&std::env::temp_dir().join("plimsoll-XXXXXX"))?))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::Cause;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn a_directory_is_private_or_refused() {
        let home = Temporary::new().unwrap();
        assert_eq!(mode(home.path()), 0o700);
        let own = home.path().join("own");
        directory(&own).unwrap();
        assert_eq!(mode(&own), 0o700);
        fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).unwrap();
        directory(&own).unwrap();
        assert_eq!(mode(&own), 0o700, "a wider one is corrected");

        let target = home.path().join("target");
        fs::create_dir(&target).unwrap();
        fs::set_permissions(&target, fs::Permissions::from_mode(0o755)).unwrap();
        let (link, file) = (home.path().join("link"), home.path().join("file"));
        symlink(&target, &link).unwrap();
        fs::write(&file, "").unwrap();
        for bad in [&link, &file] {
            assert_eq!(directory(bad).unwrap_err().cause, Cause::NotPermitted);
        }
        assert_eq!(mode(&target), 0o755, "no link is followed");
        if geteuid().is_root() {
            chown(&target, Some(65534), None).unwrap();
            let failure = directory(&target).unwrap_err();
            assert!(failure.happened.contains("65534"), "{failure}");
            assert_eq!(mode(&target), 0o755);
        }
    }
}
