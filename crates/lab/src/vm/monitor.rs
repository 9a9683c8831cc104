//! QEMU's monitor: a socket that takes commands and answers them in lines of JSON (the QEMU Machine
//! Protocol, docs/interop/qmp-spec in QEMU's sources).

use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// No answer is longer.
const LONGEST: u64 = 1 << 20;

/// So many events may come before an answer.
const MOST_EVENTS: usize = 1000;

/// The socket of a machine's monitor.
pub(super) fn socket(directory: &Path, machine: &str) -> PathBuf {
    directory.join(format!("{machine}.monitor"))
}

pub(crate) struct Monitor {
    lines: BufReader<UnixStream>,
}

impl Monitor {
    /// Connects, and waits so long for the greeting and for each answer.
    pub(super) fn connect(socket: &Path, patience: Duration) -> io::Result<Monitor> {
        Monitor::on(UnixStream::connect(socket)?, patience)
    }

    /// The same on a connection.
    pub(crate) fn on(stream: UnixStream, patience: Duration) -> io::Result<Monitor> {
        stream.set_read_timeout(Some(patience))?;
        let mut monitor = Monitor { lines: BufReader::new(stream) };
        monitor.message()?;
        monitor.execute("qmp_capabilities", &json!({}))?;
        Ok(monitor)
    }

    /// Gives a command and waits for what it returns.
    pub(crate) fn execute(&mut self, command: &str, arguments: &Value) -> io::Result<Value> {
        let line = json!({"execute": command, "arguments": arguments}).to_string();
        self.lines.get_mut().write_all(format!("{line}\n").as_bytes())?;
        for _ in 0..MOST_EVENTS {
            let mut answer = self.message()?;
            if let Some(value) = answer.get_mut("return") {
                return Ok(value.take());
            }
            if let Some(error) = answer.get("error") {
                let why = error.get("desc").and_then(Value::as_str).unwrap_or("it failed");
                return Err(io::Error::other(format!("{command}: {why}")));
            }
        }
        Err(io::Error::other(format!("{command}: too many events before the reply")))
    }

    fn message(&mut self) -> io::Result<Value> {
        let mut line = String::new();
        if self.lines.by_ref().take(LONGEST).read_line(&mut line)? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        Ok(serde_json::from_str(&line)?)
    }
}
