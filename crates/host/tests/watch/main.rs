//! Watching hosts: this machine, and others through a shell over there.

mod burner;
mod hostile;
mod moved;
mod remote;
mod shell;
mod support;
