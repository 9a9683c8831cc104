//! A host on which commands can be run, and what a command leaves.

use plimsoll_model::Failure;
use std::io;
use std::time::{Duration, Instant};

/// A host on which commands can be run.
///
/// Commands are lines of POSIX shell, run by `/bin/sh` of the host whatever the login shell is.
/// They should end when their standard input does, for a lost connection shows itself to them in
/// no other way. What comes back is untrusted. Every call ends in a given time.
pub trait Reach: Send + Sync {
    /// The host as the user named it.
    fn name(&self) -> &str;

    /// Whether commands run where this process does: as its user, and in its namespaces.
    fn is_here(&self) -> bool {
        false
    }

    /// Runs a command to its end. Its exit code is in the output and no failure of this call; a
    /// failure says that the host could not be reached, or that the time was over.
    fn run(&self, command: &str, input: &[u8], limit: Duration) -> Result<Output, Failure>;

    /// Starts a command to talk with.
    fn open(&self, command: &str) -> Result<Box<dyn Channel>, Failure>;
}

/// A command under way on a host. Dropping it closes its input and, where that does not end it,
/// kills what runs of it on this side.
pub trait Channel: Send {
    /// Writes everything before `until`. A command that waits for its own output to be read takes
    /// nothing meanwhile.
    fn write(&mut self, bytes: &[u8], until: Instant) -> io::Result<()>;

    /// Reads what is there, waiting for at least one byte. `Ok(0)`: it has ended its output.
    /// [`io::ErrorKind::TimedOut`]: nothing came before `until`. Over ssh, output ends with the
    /// command, also where that closed it before.
    fn read(&mut self, buffer: &mut [u8], until: Instant) -> io::Result<usize>;

    /// Closes its input, waits for its end, and returns how it ended: what it wrote and was not
    /// read yet, the last of what it wrote to standard error, and its exit code. A lost connection
    /// is a failure.
    fn finish(self: Box<Self>, limit: Duration) -> Result<Output, Failure>;
}

/// What a command left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Its exit code; `None` where a signal ended it. Over ssh also for 255, which ssh has for
    /// both.
    pub status: Option<i32>,
    /// What it wrote: the first [`MOST_OUTPUT`] bytes.
    pub output: Vec<u8>,
    /// What it wrote to standard error: the last [`MOST_ERRORS`] bytes.
    pub errors: Vec<u8>,
    /// Whether something was cut off.
    pub cut: bool,
}

/// Bytes of output that are kept of a command; the rest is read and dropped.
pub const MOST_OUTPUT: usize = 4 << 20;

/// Bytes of standard error that are kept of a command.
pub const MOST_ERRORS: usize = 64 << 10;
