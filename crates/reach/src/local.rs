//! Commands on this machine: in the open, or behind a program that leads to some other place of it.

use super::process::{Group, Process};
use super::{Channel, Output, Reach, complaint};
use plimsoll_model::{Cause, Failure};
use plimsoll_process::child;
use std::ffi::{OsStr, OsString};
use std::io;
use std::time::{Duration, Instant};

/// This machine.
#[derive(Clone, Copy, Debug)]
pub struct Local;

const NAME: &str = "local";

impl Reach for Local {
    fn name(&self) -> &str {
        NAME
    }

    fn is_here(&self) -> bool {
        true
    }

    fn run(&self, command: &str, input: &[u8], limit: Duration) -> Result<Output, Failure> {
        end(NAME, start(NAME, &[], command)?, input, limit)
    }

    fn open(&self, command: &str) -> Result<Box<dyn Channel>, Failure> {
        talk(NAME, start(NAME, &[], command)?)
    }
}

/// A place on this machine that a program leads to, as `nsenter` does: its words stand before
/// `/bin/sh -c command`. What runs there is killed with its channel as on [`Local`].
#[derive(Clone, Debug)]
pub struct Through {
    name: String,
    words: Vec<OsString>,
}

impl Through {
    /// The program and its arguments; `name` is the place as the user named it.
    pub fn new(
        name: impl Into<String>,
        words: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Through {
        let words = words.into_iter().map(|word| word.as_ref().to_owned()).collect();
        Through { name: name.into(), words }
    }
}

impl Reach for Through {
    fn name(&self) -> &str {
        &self.name
    }

    fn run(&self, command: &str, input: &[u8], limit: Duration) -> Result<Output, Failure> {
        end(&self.name, start(&self.name, &self.words, command)?, input, limit)
    }

    fn open(&self, command: &str) -> Result<Box<dyn Channel>, Failure> {
        talk(&self.name, start(&self.name, &self.words, command)?)
    }
}

fn start(name: &str, before: &[OsString], command: &str) -> Result<Process, Failure> {
    if command.contains('\0') {
        return Err(complaint::nul(name));
    }
    let shell = ["/bin/sh", "-c", command].map(OsString::from);
    let mut words = before.iter().chain(&shell);
    let program = words.next().map_or(OsStr::new("/bin/sh"), OsString::as_os_str);
    Process::start(child::command(program).args(words), Group::Own).map_err(|error| {
        let (tried, next) = if before.is_empty() {
            ("start /bin/sh".to_owned(), "Use a system with a POSIX shell at /bin/sh.".to_owned())
        } else {
            let program = program.to_string_lossy();
            (format!("start {program}"), format!("Install the package that contains {program}."))
        };
        Failure::new(Cause::Unreachable, tried).on(name).happened(error).next(next)
    })
}

fn talk(name: &str, process: Process) -> Result<Box<dyn Channel>, Failure> {
    Ok(Box::new(Talk { process, name: name.to_owned() }))
}

struct Talk {
    process: Process,
    name: String,
}

impl Channel for Talk {
    fn write(&mut self, bytes: &[u8], until: Instant) -> io::Result<()> {
        self.process.write(bytes, until)
    }

    fn read(&mut self, buffer: &mut [u8], until: Instant) -> io::Result<usize> {
        self.process.read(buffer, until)
    }

    fn finish(self: Box<Self>, limit: Duration) -> Result<Output, Failure> {
        end(&self.name, self.process, &[], limit)
    }
}

fn end(name: &str, mut process: Process, input: &[u8], limit: Duration) -> Result<Output, Failure> {
    let mut output = Vec::new();
    let (status, cut) = process
        .end(input, &mut output, Instant::now() + limit)
        .map_err(|error| complaint::not_ended(&name, &error, limit))?;
    Ok(Output { status: status.code(), output, errors: process.said().to_vec(), cut })
}
