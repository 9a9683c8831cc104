//! Directories and files that are opened once: whatever is put in the place of a name later, they stay the same.

use nix::fcntl::OFlag;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A directory that was opened once.
pub struct OpenDirectory(File);

impl OpenDirectory {
    /// Opens a directory. With [`OFlag::O_NOFOLLOW`] its last name is no link.
    pub fn open(directory: &Path, more: OFlag) -> io::Result<OpenDirectory> {
        let flags = OFlag::O_DIRECTORY | more;
        File::options().read(true).custom_flags(flags.bits()).open(directory).map(OpenDirectory)
    }

    /// Leads to this directory whatever its name is now.
    pub fn path(&self) -> PathBuf {
        Path::new("/proc/self/fd").join(self.0.as_raw_fd().to_string())
    }

    /// Its owner, mode and identity.
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.0.metadata()
    }

    /// Returns when the names in it are on the disk.
    pub fn sync(&self) -> io::Result<()> {
        self.0.sync_all()
    }

    /// The first `most` bytes of a file in it; of no link, device or pipe, and of no other user's file.
    pub fn read(&self, name: impl AsRef<Path>, most: u64) -> io::Result<Vec<u8>> {
        let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
        let path = self.path().join(name);
        let file = File::options().read(true).custom_flags(flags.bits()).open(path)?;
        let about = file.metadata()?;
        if !about.is_file() || !is_own(&about) {
            let why = "it is not a regular file of this user";
            return Err(io::Error::new(ErrorKind::InvalidInput, why));
        }
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// Whether something belongs to this user.
pub fn is_own(about: &Metadata) -> bool {
    about.uid() == nix::unistd::geteuid().as_raw()
}
