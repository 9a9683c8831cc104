//! Reaching hosts and watching their load.
//!
//! Parsing (`proc_files`) is pure and takes text; what brings the text (`watch`: this machine's
//! /proc, a shell over there, the probe) is a thin layer on top.
#![forbid(unsafe_code)]

pub mod child;
pub mod clock;
pub mod deploy;
pub mod device;
pub mod mounts;
pub mod probe;
pub mod proc_files;
pub mod process;
pub mod reach;
mod said;
pub mod settings;
pub mod watch;

pub use watch::{Ask, Asked, Local, Shell, Watch};
