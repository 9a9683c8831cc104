//! Watching a host's load: asked for its counters when a load begins, each second meanwhile, and
//! when it ends. Asking does not wait, so that the measurement never waits for a host; whoever asks
//! knows when, and the answer's moment is known to half the time it took.
//!
//! Parsing ([`proc_files`]) is pure and takes text; what brings the text (this machine's /proc, a shell
//! on the host, the probe) is a thin layer on top.
#![forbid(unsafe_code)]

mod account;
mod difference;
#[doc(hidden)]
pub mod fuzzing;
mod local;
mod pending;
mod probe;
pub mod proc_files;
mod remote;
mod shell;
mod stream;

pub use account::{Account, Idle, load_between};
pub use local::Local;
pub use pending::{Answer, PendingSample};
pub use probe::Probe;
pub use remote::{Open, Opened, Remote, Source};
pub use shell::{Connect, Shell};
pub use stream::{MOST_SAMPLE, Sections};

use crate::proc_files::Hardware;
use plimsoll_model::{Failure, HostFacts};
use std::time::Duration;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// The counters.
    Counters,
    /// And the CPU time of every process, which costs more: not while a load runs.
    Processes,
    /// The counters, and what is mounted there with what the kernel's own clients say of it.
    Mounts,
    /// The counters, and those of what packets meet in a router: its connection tracking and its queueing
    /// disciplines. It costs a process, too.
    Forwarding,
    /// The same after packets were forwarded, with the connections that a flowtable has taken. The whole table of
    /// connections is read.
    Forwarded,
}

/// A host that can be watched.
pub trait Watch: Send {
    /// What the host is.
    fn facts(&self) -> HostFacts;

    /// Which of its devices are real ones.
    fn hardware(&self) -> &Hardware;

    /// Asks for its counters now, without waiting for them.
    fn ask(&mut self, what: Ask) -> PendingSample;

    /// How often it may be asked so that watching costs the host next to nothing.
    fn interval(&self) -> Duration;

    /// Why it does not answer any more, if it does not.
    fn lost(&self) -> Option<Failure> {
        None
    }

    /// Tries once to have it answer again.
    fn again(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}
