//! Watching hosts: this machine, and others through a shell on the host.

mod burner;
mod hostile;
mod moved;
mod probe;
#[path = "../../../reach/tests/probe_support/mod.rs"]
mod probe_support;
mod remote;
mod shell;
mod support;
