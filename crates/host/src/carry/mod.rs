//! Carrying a program to a host: where it can lie and run, and that nothing of it stays there.
//!
//! A [`Parcel`] is a program with the words it is told of by, a [`Carried`] is one that is there. It
//! lies in a directory of its own, which a guard removes when the connection ends.

mod carried;
mod ending;
#[doc(hidden)]
pub mod fuzzing;
mod guard;
mod look;
mod machine;
mod parcel;

pub use carried::Carried;
pub use machine::Machine;
pub use parcel::Parcel;

pub(crate) use ending::Ending;
pub(crate) use guard::Place;
pub(crate) use look::Look;
pub(crate) use parcel::Refusal;

use plimsoll_model::Failure;
use std::time::Duration;

/// For everything that the other side may take for what costs it nothing.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Where programs can be put, the best first: in memory, then where the host writes anyway, then
/// at home. Those that are not there, or full, or execute nothing, are passed over. Words of the
/// shell.
pub(crate) const DIRECTORIES: [&str; 5] = ["/dev/shm", "/run", "/tmp", "/var/tmp", "\"${HOME:?}\""];

/// Tries directories, words of the shell, until one will do.
///
/// # Errors
/// [`plimsoll_model::Cause::NotPermitted`] or [`plimsoll_model::Cause::NoSpace`] where none will; what each lacks is
/// named.
pub(crate) fn first<T>(
    directories: &[&str],
    host: &str,
    parcel: &Parcel,
    mut attempt: impl FnMut(&str) -> Result<T, Refusal>,
) -> Result<T, Failure> {
    let mut passed = Vec::new();
    for directory in directories {
        match attempt(directory) {
            Ok(there) => return Ok(there),
            Err(Refusal::Directory(why)) => passed.push(why),
            Err(Refusal::Machine(ending)) => return Err(ending.failure(host, parcel)),
            Err(Refusal::Host(failure)) => return Err(*failure),
        }
    }
    Err(parcel.nowhere(host, &passed))
}
