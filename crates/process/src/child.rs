//! Programs that are started on this machine: where they are found, and what they do not inherit.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where daemons live; not in the search path of ordinary users.
const SYSTEM_DIRECTORIES: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// The environment variable that may hold the user's password.
pub const PASSWORD_VARIABLE: &str = "PLIMSOLL_PASSWORD";

/// A program to start. It gets this one's environment without the password, which is for nobody
/// else: ssh may hand variables on to its host, and whatever it starts could print them.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env_remove(PASSWORD_VARIABLE);
    command
}

/// The program of this name, from `PATH` or the system's directories; a path as it is.
pub fn find(name: impl AsRef<OsStr>) -> Option<PathBuf> {
    let name = Path::new(name.as_ref());
    let executable = |path: &PathBuf| {
        path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
    };
    if name.components().count() > 1 {
        return Some(name.to_owned()).filter(executable);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(SYSTEM_DIRECTORIES.iter().map(PathBuf::from))
        .map(|directory| directory.join(name))
        .find(executable)
}
