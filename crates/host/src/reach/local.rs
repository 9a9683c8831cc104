//! Commands on this machine.

use super::process::{Group, Process};
use super::{Channel, Output, Reach, complaint};
use model::{Cause, Failure};
use std::io;
use std::process::Command;
use std::time::{Duration, Instant};

/// This machine.
#[derive(Clone, Copy, Debug)]
pub struct Local;

const NAME: &str = "local";

impl Local {
    fn start(command: &str) -> Result<Process, Failure> {
        if command.contains('\0') {
            return Err(complaint::nul(NAME));
        }
        Process::start(Command::new("/bin/sh").args(["-c", command]), Group::Own).map_err(|error| {
            let next = "Give a system with a POSIX shell at /bin/sh.";
            Failure::new(Cause::Unreachable, "start /bin/sh", NAME, error, next)
        })
    }
}

impl Reach for Local {
    fn name(&self) -> &str {
        NAME
    }

    fn run(&self, command: &str, input: &[u8], limit: Duration) -> Result<Output, Failure> {
        end(Local::start(command)?, input, limit)
    }

    fn open(&self, command: &str) -> Result<Box<dyn Channel>, Failure> {
        Ok(Box::new(Talk(Local::start(command)?)))
    }
}

struct Talk(Process);

impl Channel for Talk {
    fn write(&mut self, bytes: &[u8], until: Instant) -> io::Result<()> {
        self.0.write(bytes, until)
    }

    fn read(&mut self, buffer: &mut [u8], until: Instant) -> io::Result<usize> {
        self.0.read(buffer, until)
    }

    fn finish(self: Box<Self>, limit: Duration) -> Result<Output, Failure> {
        end(self.0, &[], limit)
    }
}

fn end(mut process: Process, input: &[u8], limit: Duration) -> Result<Output, Failure> {
    let mut output = Vec::new();
    let (status, cut) = process
        .end(input, &mut output, Instant::now() + limit)
        .map_err(|error| complaint::not_ended(&NAME, &error, limit))?;
    Ok(Output { status: status.code(), output, errors: process.said().to_vec(), cut })
}
