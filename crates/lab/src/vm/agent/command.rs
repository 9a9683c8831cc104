//! A person or a program inside a machine: what a command says is heard when it says it, output and
//! errors apart, with a terminal or without.

use super::Machine;
use super::line::Line;
use super::session::{Heard, Session};
use plimsoll_model::Failure;
use std::path::Path;
use std::time::{Duration, Instant};

/// The way inside.
pub struct AgentPort(Machine);

/// The size of a terminal in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// From top to bottom.
    pub rows: u16,
    /// From left to right.
    pub columns: u16,
}

/// A command that runs there. It ends when this is dropped.
pub struct RemoteCommand {
    session: Session,
    closed: bool,
}

impl AgentPort {
    pub(crate) fn new(directory: &Path, machine: &str, name: &str) -> AgentPort {
        AgentPort(Machine { line: Line::new(directory, machine), name: name.to_owned() })
    }

    /// Starts a command, with a terminal of its own if it is given the size of one.
    ///
    /// # Errors
    /// [`plimsoll_model::Cause::Unreachable`] for a machine that is not there.
    pub fn open(&self, command: &str, terminal: Option<Window>) -> Result<RemoteCommand, Failure> {
        let session = self.0.start(command, |session| {
            session.hear_errors();
            if let Some(window) = terminal {
                session.terminal(window.rows, window.columns);
            }
        })?;
        Ok(RemoteCommand { session, closed: false })
    }
}

impl RemoteCommand {
    /// Gives it of this input what it takes, and waits for the next that it says. What was given is
    /// taken from the front of the input.
    ///
    /// # Errors
    /// [`plimsoll_model::Cause::Unreachable`] where the machine is lost.
    pub fn hear(&mut self, input: &mut Vec<u8>, wait: Duration) -> Result<Heard, Failure> {
        let heard = self.session.hear(input, Instant::now() + wait);
        heard.map_err(|error| self.session.failure(&error, wait))
    }

    /// There will be no more input than what it was given.
    pub fn close_input(&mut self) {
        if !self.closed {
            self.session.close_input();
        }
        self.closed = true;
    }

    /// The terminal has another size now.
    pub fn resize(&mut self, window: Window) {
        self.session.terminal(window.rows, window.columns);
    }
}
