//! Programs that are started on this machine: what they do not inherit is said in one place.

use std::ffi::OsStr;
use std::process::Command;

/// The environment variable that may hold the user's password.
pub const PASSWORD_VARIABLE: &str = "PLIMSOLL_PASSWORD";

/// A program to start. It gets this one's environment without the password, which is for nobody
/// else: ssh may hand variables on to its host, and whatever it starts could print them.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env_remove(PASSWORD_VARIABLE);
    command
}
