//! The kernel's NFS server: its threads, which are changed while it runs; the largest block that it
//! tells clients and the versions that it speaks, for which it is stopped and started again.

mod restart;
mod server;
mod threads;

use super::{Knob, alone};
use restart::{MaxBlockSize, Restart, Versions};

pub(super) const THREADS: &str = "nfsd-threads";
pub(super) const MAX_BLOCK_SIZE: &str = "nfsd-max-block-size";
pub(super) const VERSIONS: &str = "nfsd-versions";

pub(super) fn threads(rest: &str) -> Result<Box<dyn Knob>, String> {
    alone(rest, threads::Threads)
}

pub(super) fn max_block_size(rest: &str) -> Result<Box<dyn Knob>, String> {
    alone(rest, Restart(MaxBlockSize))
}

pub(super) fn versions(rest: &str) -> Result<Box<dyn Knob>, String> {
    alone(rest, Restart(Versions))
}

/// What the kernel has of the server, for fuzzing: nothing but what a server can be comes of it.
#[doc(hidden)]
pub(super) fn fuzz(text: &str) {
    let Some(server) = server::Server::from_text(text) else { return };
    let again = server::Server::from_original(&server.to_original("x")).expect("it was one");
    assert_eq!(again, server);
    assert!(!server.start_command().contains(['\'', ';', '\n', '$', '`', '\\']));
}
