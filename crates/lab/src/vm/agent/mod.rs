//! Commands in a machine: over one of its serial ports to the agent that listens there.

mod command;
mod frame;
#[doc(hidden)]
pub mod fuzzing;
mod line;
mod session;

pub use command::{AgentPort, RemoteCommand, Window};
use line::Line;
pub(super) use line::socket;
use plimsoll_model::{Cause, Failure};
use plimsoll_reach::{Channel, Output, Reach};
pub use session::Heard;
use session::Session;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Serial ports for commands, which is how many can run at once.
pub(super) const PORTS: usize = 16;

/// Begins the names of the ports in the machine.
pub(super) const PORT_NAME: &str = "plimsoll.";

/// The kernel takes no longer argument of a program (`MAX_ARG_STRLEN`).
const MOST_COMMAND: usize = (128 << 10) - 1;

/// How long what was dropped may take to end with its input, before it is killed.
const GRACE: Duration = Duration::from_millis(500);

/// Reaches a machine whose files lie in this directory.
pub(super) fn reach(directory: &Path, machine: &str, name: &str) -> Arc<dyn Reach> {
    Arc::new(Machine { line: Line::new(directory, machine), name: name.to_owned() })
}

struct Machine {
    line: Line,
    /// As the user named it.
    name: String,
}

impl Machine {
    /// Starts a command; `prepare` has the session before that.
    fn start(&self, command: &str, prepare: impl FnOnce(&mut Session)) -> Result<Session, Failure> {
        let refuse = |happened: &str| {
            Err(Failure::new(Cause::Usage, "run a command in a machine")
                .on(&self.name)
                .happened(happened))
        };
        if command.contains('\0') {
            return refuse("the command contains a NUL character");
        }
        if command.len() > MOST_COMMAND {
            return refuse(
                "the command is longer than 128 KiB; put it into a script on the \
            machine",
            );
        }
        let mut session = self.line.begin(&self.name)?;
        prepare(&mut session);
        session.start(command);
        Ok(session)
    }
}

impl Reach for Machine {
    fn name(&self) -> &str {
        &self.name
    }

    fn run(&self, command: &str, input: &[u8], limit: Duration) -> Result<Output, Failure> {
        let mut session = self.start(command, |_| {})?;
        end(&mut session, input, limit)
    }

    fn open(&self, command: &str) -> Result<Box<dyn Channel>, Failure> {
        Ok(Box::new(Talk(self.start(command, |_| {})?)))
    }
}

struct Talk(Session);

impl Channel for Talk {
    fn write(&mut self, bytes: &[u8], until: Instant) -> io::Result<()> {
        self.0.write(bytes, until)
    }

    fn read(&mut self, buffer: &mut [u8], until: Instant) -> io::Result<usize> {
        self.0.read(buffer, until)
    }

    fn finish(mut self: Box<Self>, limit: Duration) -> Result<Output, Failure> {
        end(&mut self.0, &[], limit)
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        // Closing the line closes its input, and the agent kills it some time later.
        let _ = self.0.end(&[], Instant::now() + GRACE);
    }
}

fn end(session: &mut Session, input: &[u8], limit: Duration) -> Result<Output, Failure> {
    session.end(input, Instant::now() + limit).map_err(|error| session.failure(&error, limit))
}
