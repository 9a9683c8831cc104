//! Deploying a program on a host: where it can lie and run, and that nothing of it stays there.
//!
//! A [`Bundle`] is a program with what messages call it, [`Programs`] are its builds on this machine, a
//! [`Deployed`] is one that is on the host. It lies in a directory of its own, which a guard removes when
//! the connection ends.

mod bundle;
mod deployed;
mod ending;
mod forgotten;
#[doc(hidden)]
pub mod fuzzing;
mod identify;
mod machine;
mod programs;
mod refusal;
mod remote_dir;

pub use bundle::Bundle;
pub use deployed::Deployed;
pub use forgotten::{Forgotten, forgotten};
pub use machine::Machine;
pub use programs::Programs;

pub(crate) use ending::Ending;
pub(crate) use identify::HostMachine;
pub(crate) use refusal::Refusal;
pub(crate) use remote_dir::RemoteDir;

use plimsoll_model::Failure;
use std::time::Duration;

/// For everything that the other side may take for what costs it nothing.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The user's own directory, a word of the shell.
pub(crate) const HOME: &str = "\"${HOME:?}\"";

/// Where programs can be put, the best first: in memory, then where the host writes anyway, then
/// at home. Those that are not there, or full, or execute nothing, are passed over. Words of the
/// shell.
pub(crate) const DIRECTORIES: [&str; 5] = ["/dev/shm", "/run", "/tmp", "/var/tmp", HOME];

/// Tries directories, words of the shell, until one will do.
///
/// # Errors
/// [`plimsoll_model::Cause::NotPermitted`] or [`plimsoll_model::Cause::NoSpace`] where none will; what each lacks is
/// named.
pub(crate) fn first<T>(
    directories: &[&str],
    host: &str,
    bundle: &Bundle,
    mut attempt: impl FnMut(&str) -> Result<T, Refusal>,
) -> Result<T, Failure> {
    let mut passed = Vec::new();
    for directory in directories {
        match attempt(directory) {
            Ok(there) => return Ok(there),
            Err(Refusal::Directory(why)) => passed.push(why),
            Err(Refusal::Machine(ending)) => return Err(ending.failure(host, bundle)),
            Err(Refusal::Host(failure)) => return Err(*failure),
        }
    }
    Err(bundle.nowhere(host, &passed))
}
