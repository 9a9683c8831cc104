//! Finding and running other programs.

use crate::Error;
use plimsoll_host::child;
use std::path::{Path, PathBuf};

/// Where daemons live; not in the search path of ordinary users.
const SYSTEM_DIRECTORIES: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// The program of this name, from `PATH` or the system's directories.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(SYSTEM_DIRECTORIES.iter().map(PathBuf::from))
        .map(|directory| directory.join(name))
        .find(|candidate| is_executable(candidate))
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// The program of this name, or an error that names it.
pub(crate) fn locate(name: &str) -> Result<PathBuf, Error> {
    find(name).ok_or_else(|| Error::new(format!("the program {name} is not installed")))
}

/// Runs a program to its end and returns what it wrote to standard output.
pub(crate) fn run(name: &str, arguments: &[&str]) -> Result<String, Error> {
    let shown = format!("{name} {}", arguments.join(" "));
    let output = child::command(locate(name)?)
        .args(arguments)
        .output()
        .map_err(Error::when(format_args!("cannot start `{shown}`")))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let said = String::from_utf8_lossy(&output.stderr);
        Err(Error::new(format!("`{shown}` failed ({}): {}", output.status, said.trim())))
    }
}
