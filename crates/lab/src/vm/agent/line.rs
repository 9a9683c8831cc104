//! A way to the agent: one of the machine's serial ports, for one command at a time.
//!
//! A port is claimed by a lock on a file beside its socket, so that several programs can work with
//! one machine; the lock goes with the program, however that ends.

use super::session::Session;
use super::{PORTS, frame};
use crate::state::private;
use plimsoll_model::{Cause, Failure};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a command waits for a port to become free.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long the agent may take to answer. An emulated machine with much to do is slow.
const ANSWER: Duration = Duration::from_secs(60);

const TRIED: &str = "run a command in a machine";

/// The ports of a machine.
#[derive(Clone, Debug)]
pub(super) struct Line {
    directory: PathBuf,
    machine: String,
}

/// The socket of a port.
pub(in crate::vm) fn socket(directory: &Path, machine: &str, port: usize) -> PathBuf {
    directory.join(format!("{machine}.port{port}"))
}

impl Line {
    pub(super) fn new(directory: &Path, machine: &str) -> Line {
        Line { directory: directory.to_owned(), machine: machine.to_owned() }
    }

    /// Claims a port and begins a session on it.
    pub(super) fn begin(&self, name: &str) -> Result<Session, Failure> {
        let until = Instant::now() + PATIENCE;
        loop {
            for port in 0..PORTS {
                if let Some(claim) = self.claim(port, name)? {
                    return self.connect(port, claim, name);
                }
            }
            if Instant::now() >= until {
                let happened = format!("{PORTS} commands are running already, which is the limit");
                let next = "Wait until one ends.";
                return Err(Failure::new(Cause::Unreachable, TRIED)
                    .on(name)
                    .happened(happened)
                    .next(next));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn claim(&self, port: usize, name: &str) -> Result<Option<File>, Failure> {
        let path = self.directory.join(format!("{}.port{port}.lock", self.machine));
        let failed = |error| {
            if self.directory.exists() {
                let next = "Run it as root.";
                Failure::new(Cause::NotPermitted, format!("lock {}", path.display()))
                    .on(name)
                    .happened(error)
                    .next(next)
            } else {
                self.gone(name)
            }
        };
        let options = private::file();
        let file = options.open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(std::fs::TryLockError::WouldBlock) => Ok(None),
            Err(std::fs::TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    fn connect(&self, port: usize, claim: File, name: &str) -> Result<Session, Failure> {
        let number = number().map_err(|error| {
            Failure::new(Cause::Unreachable, "read /dev/urandom").on(name).happened(error)
        })?;
        let stream = UnixStream::connect(socket(&self.directory, &self.machine, port))
            .map_err(|_| self.gone(name))?;
        let mut session = Session::over(stream, claim, name).map_err(|_| self.gone(name))?;
        match session.begin(number, Instant::now() + ANSWER) {
            Ok(()) => Ok(session),
            Err(error) if error.kind() == ErrorKind::TimedOut => {
                let happened = format!("it did not answer within {} s", ANSWER.as_secs());
                let next = format!("Read its console: {}.", self.console().display());
                Err(Failure::new(Cause::Unreachable, TRIED).on(name).happened(happened).next(next))
            }
            Err(_) => Err(self.gone(name)),
        }
    }

    fn console(&self) -> PathBuf {
        super::super::console(&self.directory, &self.machine)
    }

    fn gone(&self, name: &str) -> Failure {
        let next = "Run plimsoll lab down, then plimsoll lab up.";
        Failure::new(Cause::Unreachable, TRIED)
            .on(name)
            .happened("the machine does not run")
            .next(next)
    }
}

/// By which the agent's answer is distinguished from what it said to somebody before.
fn number() -> std::io::Result<[u8; 8]> {
    let mut number = [0; 8];
    File::open("/dev/urandom")?.read_exact(&mut number)?;
    Ok(number)
}

/// What a session begins with.
pub(super) fn greeting(number: [u8; 8]) -> Vec<u8> {
    [&frame::COMPLETE[..], &frame::encode(b'H', &number)].concat()
}
