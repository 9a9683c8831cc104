//! Running other programs to their end.

use crate::Error;
use plimsoll_process::child;
use std::path::PathBuf;

/// The interpreter that Debian's package of impacket is installed for, whatever else `PATH` offers.
pub(crate) const PYTHON: &str = "/usr/bin/python3";
/// Where `scripts/setup.sh` puts the server of go-nfs.
pub(crate) const GO_NFS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools/bin/go-nfs");

/// The program of this name, or an error that names it.
pub(crate) fn locate(name: &str) -> Result<PathBuf, Error> {
    child::find(name).ok_or_else(|| Error::new(format!("the program {name} is not installed")))
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
