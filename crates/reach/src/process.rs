//! A child process with its three pipes, used without ever waiting longer than allowed.

use super::{MOST_ERRORS, MOST_OUTPUT};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A pipe that is ready takes so many bytes at once without making the writer wait (`PIPE_BUF`).
const PIECE: usize = 4096;

/// How long a process may take to end after its pipes are closed, before it is killed.
const GRACE: Duration = Duration::from_millis(500);

/// Who else gets the signals of the terminal (Ctrl-C) that this program gets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    /// The process is in this program's group: it may ask on the terminal, and gets its signals.
    Shared,
    /// It is not; and what it starts is killed with it.
    Own,
}

/// A child process. Dropping it closes its input, and kills it if that does not end it.
pub(super) struct Process {
    child: Child,
    group: Group,
    input: Option<ChildStdin>,
    output: Option<ChildStdout>,
    errors: Option<ChildStderr>,
    said: Tail,
    ended: Option<ExitStatus>,
}

/// What became ready.
#[derive(Default)]
struct Ready {
    input: bool,
    output: bool,
    errors: bool,
}

impl Process {
    /// Starts it with three pipes.
    pub(super) fn start(command: &mut Command, group: Group) -> io::Result<Process> {
        if group == Group::Own {
            command.process_group(0);
        }
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let errors = child.stderr.take();
        Ok(Process { child, group, input, output, errors, said: Tail::default(), ended: None })
    }

    /// Writes everything before `until`.
    pub(super) fn write(&mut self, mut bytes: &[u8], until: Instant) -> io::Result<()> {
        while !bytes.is_empty() {
            if self.input.is_none() {
                return Err(ErrorKind::BrokenPipe.into());
            }
            let ready = self.wait(true, false, until)?;
            self.listen(&ready)?;
            if ready.input {
                self.feed(&mut bytes)?;
            } else {
                in_time(until)?;
            }
        }
        Ok(())
    }

    /// Reads at least one byte of its output before `until`; 0: it has ended it.
    pub(super) fn read(&mut self, buffer: &mut [u8], until: Instant) -> io::Result<usize> {
        loop {
            if self.output.is_none() || buffer.is_empty() {
                return Ok(0);
            }
            let ready = self.wait(false, true, until)?;
            self.listen(&ready)?;
            if ready.output
                && let Some(count) = read_once(&mut self.output, buffer)?
            {
                return Ok(count);
            }
            in_time(until)?;
        }
    }

    /// Gives it the rest of its input, closes that, reads all it writes and waits for its end.
    /// Returns whether output was dropped beside how it ended.
    pub(super) fn end(
        &mut self,
        mut input: &[u8],
        kept: &mut Vec<u8>,
        until: Instant,
    ) -> io::Result<(ExitStatus, bool)> {
        let mut cut = false;
        let mut buffer = vec![0; 64 << 10];
        loop {
            if input.is_empty() {
                self.input = None;
            }
            if self.output.is_none() && self.errors.is_none() {
                break;
            }
            let ready = self.wait(self.input.is_some(), true, until)?;
            self.listen(&ready)?;
            // A command need not read what it is given.
            if ready.input && self.feed(&mut input).is_err() {
                self.input = None;
            }
            if ready.output
                && let Some(count) = read_once(&mut self.output, &mut buffer)?
            {
                let remaining = MOST_OUTPUT.saturating_sub(kept.len()).min(count);
                kept.extend_from_slice(&buffer[..remaining]);
                cut |= remaining < count;
            }
            in_time(until)?;
        }
        self.input = None;
        match self.ended(until)? {
            Some(status) => Ok((status, cut || self.said.cut)),
            None => Err(ErrorKind::TimedOut.into()),
        }
    }

    /// How it ended, waiting for that until then; `None` while it runs.
    pub(super) fn ended(&mut self, until: Instant) -> io::Result<Option<ExitStatus>> {
        let mut pause = Duration::from_micros(100);
        while self.ended.is_none() {
            self.ended = self.child.try_wait()?;
            if self.ended.is_some() || Instant::now() >= until {
                break;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(10));
        }
        Ok(self.ended)
    }

    /// The last of what it wrote to standard error, as far as that is there.
    pub(super) fn said(&mut self) -> &[u8] {
        let now = Instant::now();
        // As often as it takes to fill what is kept; an endless complaint must not keep us here.
        for _ in 0..MOST_ERRORS / PIECE {
            match self.wait(false, false, now) {
                Ok(ready) if ready.errors && self.listen(&ready).is_ok() => {}
                _ => break,
            }
        }
        self.said.last()
    }

    /// Forgets what it wrote to standard error so far.
    pub(super) fn forget_said(&mut self) {
        self.said();
        self.said = Tail::default();
    }

    /// Waits until something can be done. Standard error is always listened to, so that nobody
    /// waits for space in it.
    fn wait(&self, input: bool, output: bool, until: Instant) -> io::Result<Ready> {
        let (read, write) = (PollFlags::POLLIN, PollFlags::POLLOUT);
        let wanted = [
            self.input.as_ref().filter(|_| input).map(|pipe| PollFd::new(pipe.as_fd(), write)),
            self.output.as_ref().filter(|_| output).map(|pipe| PollFd::new(pipe.as_fd(), read)),
            self.errors.as_ref().map(|pipe| PollFd::new(pipe.as_fd(), read)),
        ];
        let places = wanted.each_ref().map(Option::is_some);
        let mut pipes: Vec<_> = wanted.into_iter().flatten().collect();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            // Rounded up, so as not to turn in circles for the last of it.
            let rounded = left + Duration::from_nanos(999_999);
            let timeout = PollTimeout::try_from(rounded).unwrap_or(PollTimeout::MAX);
            match poll(&mut pipes, if left.is_zero() { PollTimeout::ZERO } else { timeout }) {
                Ok(0) if Instant::now() >= until => return Err(ErrorKind::TimedOut.into()),
                Ok(0) | Err(nix::errno::Errno::EINTR) => {}
                Ok(_) => break,
                Err(error) => return Err(error.into()),
            }
        }
        let mut ready = pipes.iter().map(|pipe| pipe.any().unwrap_or(true));
        let [input, output, errors] = places.map(|there| there && ready.next().unwrap_or(false));
        Ok(Ready { input, output, errors })
    }

    fn feed(&mut self, bytes: &mut &[u8]) -> io::Result<()> {
        let Some(pipe) = &mut self.input else { return Ok(()) };
        match pipe.write(&bytes[..bytes.len().min(PIECE)]) {
            Ok(count) => *bytes = &bytes[count..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn listen(&mut self, ready: &Ready) -> io::Result<()> {
        let mut buffer = [0; PIECE];
        if ready.errors
            && let Some(count) = read_once(&mut self.errors, &mut buffer)?
        {
            self.said.push(&buffer[..count]);
        }
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.input = None;
        self.output = None;
        if matches!(self.ended(Instant::now() + GRACE), Ok(Some(_))) {
            return;
        }
        // Not yet waited for, so its number is still its own.
        match self.group {
            Group::Own => {
                let _ = killpg(Pid::from_raw(self.child.id().cast_signed()), Signal::SIGKILL);
            }
            Group::Shared => {
                let _ = self.child.kill();
            }
        }
        let _ = self.child.wait();
    }
}

/// For loops that something else than what is waited for keeps busy.
fn in_time(until: Instant) -> io::Result<()> {
    if Instant::now() < until { Ok(()) } else { Err(ErrorKind::TimedOut.into()) }
}

/// Reads from a pipe that is ready, and closes it at its end; `None` if a signal came between.
fn read_once(pipe: &mut Option<impl Read>, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    let Some(open) = pipe else { return Ok(Some(0)) };
    match open.read(buffer) {
        Ok(0) => {
            *pipe = None;
            Ok(Some(0))
        }
        Ok(count) => Ok(Some(count)),
        Err(error) if error.kind() == ErrorKind::Interrupted => Ok(None),
        Err(error) => Err(error),
    }
}

/// The last bytes of a stream.
#[derive(Default)]
struct Tail {
    bytes: Vec<u8>,
    cut: bool,
}

impl Tail {
    fn push(&mut self, more: &[u8]) {
        self.bytes.extend_from_slice(more);
        if self.bytes.len() > 2 * MOST_ERRORS {
            self.shorten();
        }
    }

    fn shorten(&mut self) {
        let surplus = self.bytes.len().saturating_sub(MOST_ERRORS);
        self.bytes.drain(..surplus);
        self.cut |= surplus > 0;
    }

    fn last(&mut self) -> &[u8] {
        self.shorten();
        &self.bytes
    }
}
