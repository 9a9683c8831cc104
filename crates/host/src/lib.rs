//! Reaching hosts and watching their load.
//!
//! Parsing (`proc_files`) is pure and takes text; what brings the text (`watch`: this machine's
//! /proc, a shell on the host, the probe) is a thin layer on top.
#![forbid(unsafe_code)]

mod caches;
pub mod clock;
pub mod clock_call;
pub mod deploy;
pub mod device;
pub mod kernel_trace;
pub mod mounts;
pub mod names;
mod open_directory;
mod point;
mod printed;
mod private_dir;
pub mod probe;
pub mod proc_files;
pub mod reach;
pub mod reboot;
pub mod settings;
pub mod watch;

pub use caches::drop_caches;
pub use watch::{Ask, Local, PendingSample, Shell, Watch};
