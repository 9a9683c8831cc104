//! Files that the user names for reading.

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// `O_NONBLOCK` (open(2)): opening a FIFO does not wait for somebody to write to it.
const NONBLOCK: i32 = nix::fcntl::OFlag::O_NONBLOCK.bits();

/// Opens a regular file for reading. Anything else is refused, and not waited for: the other end of
/// a FIFO may never come, and a device may never end.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let file = File::options().read(true).custom_flags(NONBLOCK).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is not a regular file")),
    }
}
