//! Where the socket of a connection lies.

use super::process::{Group, Process};
use plimsoll_process::child;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A directory for one socket, which nobody else can enter. Dropping this removes it. Where this
/// program is killed, a shell does that stands by until its own input ends.
pub(super) struct SocketDir {
    socket: PathBuf,
    _janitor: Process,
}

impl SocketDir {
    pub(super) fn make() -> io::Result<SocketDir> {
        let directory = tempfile::Builder::new()
            .prefix("plimsoll-")
            .permissions(std::fs::Permissions::from_mode(0o700))
            .tempdir_in(below(&std::env::temp_dir()))?;
        let mut shell = child::command("/bin/sh");
        shell.args(["-c", r#"read -r end; rm -rf "$0""#]).arg(directory.path());
        let janitor = Process::start(&mut shell, Group::Own)?;
        Ok(SocketDir { socket: directory.keep().join("s"), _janitor: janitor })
    }

    /// The socket's path.
    pub(super) fn socket(&self) -> &Path {
        &self.socket
    }
}

impl Drop for SocketDir {
    fn drop(&mut self) {
        // Not left to the shell: it may be slower than is waited for.
        if let Some(directory) = self.socket.parent() {
            let _ = std::fs::remove_dir_all(directory);
        }
    }
}

/// The place for temporary files if it will do. The name of a socket has at most 107 bytes, of
/// which ssh wants 17 for itself, and ssh replaces some characters in it.
fn below(temporary: &Path) -> &Path {
    let name = temporary.as_os_str().as_encoded_bytes();
    let plain = |b: &u8| b.is_ascii_alphanumeric() || b"/._-".contains(b);
    let fits = temporary.is_absolute() && name.len() <= 60 && name.iter().all(plain);
    if fits { temporary } else { Path::new("/tmp") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_sockets_cannot_have_is_not_taken() {
        assert_eq!(below(Path::new("/var/tmp")), Path::new("/var/tmp"));
        for odd in ["tmp", "/tmp/100%", "/tmp/$HOME", &format!("/{}", "x".repeat(60))] {
            assert_eq!(below(Path::new(odd)), Path::new("/tmp"));
        }
    }

    #[test]
    fn it_is_for_its_owner_alone_and_goes_with_its_owner() {
        let place = SocketDir::make().unwrap();
        let directory = place.socket().parent().unwrap().to_owned();
        assert_eq!(directory.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        std::fs::write(place.socket(), "").unwrap();
        drop(place);
        assert!(!directory.exists());
    }
}
