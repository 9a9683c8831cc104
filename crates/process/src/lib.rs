//! Processes of this machine: programs that are started, and which process is which.
#![forbid(unsafe_code)]

pub mod child;
mod identity;

pub use identity::{ProcessId, all, boot, kill_all, marked, space, variable};
