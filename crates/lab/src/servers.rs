//! NFS servers to measure: a real one, and one inside the program.

pub mod builtin;
pub mod ganesha;

pub use builtin::BuiltinServer;
pub use ganesha::{Export, Ganesha, GaneshaConfig, Squash};
