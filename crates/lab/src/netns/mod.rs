//! Hosts made of namespaces of this machine's kernel: network, mounts, processes, names.
//!
//! Each is held by one process, the first inside its process namespace: whatever ends it ends all
//! that runs there, and namespaces, interfaces and mounts go with the last of them. So there is
//! nothing to take away but a process.

pub(super) mod cable;
pub(super) mod group;
mod holder;
mod reach;

pub(super) use holder::Starting;
pub(super) use reach::Inside;
pub use reach::Namespaces;
