//! A session with the agent: one command, its input and its output.

use super::frame::{Decoder, Ending, Frame, MOST, Nonsense, WINDOW, encode};
use super::line;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use plimsoll_model::{Cause, Failure};
use plimsoll_reach::{MOST_ERRORS, MOST_OUTPUT, Output};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Output is acknowledged when so much of it has been read.
const WORTH_TELLING: usize = WINDOW / 4;

/// More is not kept for an agent that sends and does not take.
const MOST_UNSENT: usize = 1 << 20;

/// How long a greeting may go unanswered before it is sent again.
const AGAIN: Duration = Duration::from_secs(1);

/// Why nothing more comes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loss {
    /// The line is closed: the machine has ended.
    Closed,
    /// The machine has been started again.
    Restarted,
    /// What came is no frame.
    Nonsense,
    /// The agent sent more than it may.
    TooMuch,
}

/// What a command said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// This, to its standard output.
    Output(Vec<u8>),
    /// This, to its standard error.
    Errors(Vec<u8>),
    /// Nothing in all that time.
    Nothing,
    /// It has ended, with this exit code.
    Ended(u8),
}

pub(super) struct Session {
    stream: UnixStream,
    /// The port, as long as this is open.
    _claim: File,
    name: String,
    decoder: Decoder,
    /// What is still to be sent.
    unsent: Vec<u8>,
    /// Bytes of input that may be sent.
    credit: usize,
    output: VecDeque<u8>,
    /// Bytes of output that were read and not yet acknowledged.
    read: usize,
    errors: Vec<u8>,
    /// Errors wait there until they are heard, as output does; else the last are kept.
    apart: bool,
    cut: bool,
    deaf: bool,
    ended: Option<Ending>,
    lost: Option<Loss>,
}

impl Session {
    pub(super) fn over(stream: UnixStream, claim: File, name: &str) -> io::Result<Session> {
        stream.set_nonblocking(true)?;
        Ok(Session {
            stream,
            _claim: claim,
            name: name.to_owned(),
            decoder: Decoder::default(),
            unsent: Vec::new(),
            credit: WINDOW,
            output: VecDeque::new(),
            read: 0,
            errors: Vec::new(),
            apart: false,
            cut: false,
            deaf: false,
            ended: None,
            lost: None,
        })
    }

    /// Begins it: what the port was used for before has no part in it. A greeting that comes while
    /// the machine still hears that somebody is there may be lost, so it is sent again.
    pub(super) fn begin(&mut self, number: [u8; 8], until: Instant) -> io::Result<()> {
        let mut buffer = vec![0; 2 * MOST];
        let mut greeted = None;
        loop {
            if self.unsent.is_empty() && greeted.is_none_or(|at: Instant| at.elapsed() >= AGAIN) {
                self.unsent = line::greeting(number);
                greeted = Some(Instant::now());
            }
            match self.wait(until.min(Instant::now() + AGAIN)) {
                Err(error) if error.kind() == ErrorKind::TimedOut && Instant::now() < until => {
                    continue;
                }
                waited => waited?,
            }
            self.flush();
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(ErrorKind::ConnectionAborted.into()),
                Ok(count) => {
                    self.decoder.take(&buffer[..count]);
                    if self.decoder.begin(number) {
                        return self.understand();
                    }
                }
                Err(error) if again(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Tells the agent what to start.
    pub(super) fn start(&mut self, command: &str) {
        for piece in command.as_bytes().chunks(MOST) {
            self.send(b'C', piece);
        }
        self.send(b'G', &[]);
        self.flush();
    }

    /// Writes everything before `until`.
    pub(super) fn write(&mut self, mut bytes: &[u8], until: Instant) -> io::Result<()> {
        loop {
            if self.is_over() || self.deaf {
                return Err(ErrorKind::BrokenPipe.into());
            }
            self.feed(&mut bytes);
            if bytes.is_empty() && self.unsent.is_empty() {
                return Ok(());
            }
            self.turn(until)?;
        }
    }

    /// Reads at least one byte of its output before `until`; 0: there will be no more.
    pub(super) fn read(&mut self, buffer: &mut [u8], until: Instant) -> io::Result<usize> {
        while self.output.is_empty() && !self.is_over() && !buffer.is_empty() {
            self.turn(until)?;
        }
        let count = self.output.read(buffer)?;
        self.acknowledge(count);
        Ok(count)
    }

    /// Tells the agent that the command talks with a terminal of this size. Before it is started:
    /// that it shall have one; later: that its size is another.
    pub(super) fn terminal(&mut self, rows: u16, columns: u16) {
        self.send(b'T', &[rows.to_be_bytes(), columns.to_be_bytes()].concat());
        self.flush();
    }

    /// Its standard error is heard as its output is, from now on.
    pub(super) fn hear_errors(&mut self) {
        self.apart = true;
    }

    /// There will be no more input.
    pub(super) fn close_input(&mut self) {
        self.send(b'E', &[]);
        self.flush();
    }

    /// Gives it of this input what it takes, and waits for the next that it says; what was given is
    /// taken from the front.
    pub(super) fn hear(&mut self, input: &mut Vec<u8>, until: Instant) -> io::Result<Heard> {
        loop {
            if self.deaf {
                input.clear();
            }
            let mut rest = &input[..];
            self.feed(&mut rest);
            let given = input.len() - rest.len();
            input.drain(..given);
            if !self.output.is_empty() {
                let bytes: Vec<u8> = self.output.drain(..).collect();
                self.acknowledge(bytes.len());
                return Ok(Heard::Output(bytes));
            }
            if !self.errors.is_empty() {
                let bytes = std::mem::take(&mut self.errors);
                self.grant(1, u32::try_from(bytes.len()).unwrap_or(u32::MAX));
                return Ok(Heard::Errors(bytes));
            }
            match self.ended {
                Some(Ending::Code(code)) => return Ok(Heard::Ended(code)),
                // As shells say it.
                Some(Ending::Signal(signal)) => {
                    return Ok(Heard::Ended(signal.saturating_add(128)));
                }
                Some(Ending::NotStarted(error)) => {
                    return Err(io::Error::from_raw_os_error(i32::from(error)));
                }
                None if self.lost.is_some() => return Err(ErrorKind::ConnectionAborted.into()),
                None => {}
            }
            match self.turn(until) {
                Err(error) if error.kind() == ErrorKind::TimedOut => return Ok(Heard::Nothing),
                turned => turned?,
            }
        }
    }

    /// Gives it the rest of its input, closes that, and takes all it writes until it ends.
    pub(super) fn end(&mut self, mut input: &[u8], until: Instant) -> io::Result<Output> {
        let mut kept = Vec::new();
        let mut closed = false;
        loop {
            let remaining = MOST_OUTPUT - kept.len();
            self.cut |= self.output.len() > remaining;
            let count = self.output.len();
            kept.extend(self.output.drain(..).take(remaining));
            self.acknowledge(count);
            if let Some(ending) = self.ended {
                let status = match ending {
                    Ending::Code(code) => Some(i32::from(code)),
                    Ending::Signal(_) => None,
                    Ending::NotStarted(error) => {
                        return Err(io::Error::from_raw_os_error(i32::from(error)));
                    }
                };
                self.shorten_errors(MOST_ERRORS);
                let errors = std::mem::take(&mut self.errors);
                return Ok(Output { status, output: kept, errors, cut: self.cut });
            }
            if self.lost.is_some() {
                return Err(ErrorKind::ConnectionAborted.into());
            }
            // A command need not read what it is given.
            if self.deaf {
                input = &[];
            }
            self.feed(&mut input);
            if input.is_empty() && !closed {
                closed = true;
                self.send(b'E', &[]);
            }
            self.turn(until)?;
        }
    }

    /// In words.
    pub(super) fn failure(&self, error: &io::Error, limit: Duration) -> Failure {
        let lost = |why: &str| format!("the connection was lost: {why}");
        let (happened, next) = match (error.kind(), self.lost) {
            (ErrorKind::TimedOut, _) => (
                format!("it did not end within {:.1} s and was killed", limit.as_secs_f64()),
                "Try again; emulated machines need more time.",
            ),
            (_, Some(Loss::Closed)) => {
                (lost("the machine stopped"), "Run plimsoll lab down, then plimsoll lab up.")
            }
            (_, Some(Loss::Restarted)) => {
                (lost("the machine was restarted"), "Wait until it has booted, and try again.")
            }
            (_, Some(Loss::Nonsense | Loss::TooMuch)) => (
                lost("the output of the machine is not from its agent"),
                "Run plimsoll lab down, then plimsoll lab up.",
            ),
            (_, None) => (error.to_string(), ""),
        };
        Failure::new(Cause::Unreachable, "run a command in a machine")
            .on(&self.name)
            .happened(happened)
            .next(next)
    }

    fn is_over(&self) -> bool {
        self.ended.is_some() || self.lost.is_some()
    }

    fn send(&mut self, kind: u8, body: &[u8]) {
        self.unsent.extend(encode(kind, body));
    }

    /// Sends as much input as the agent takes, when all before has gone.
    fn feed(&mut self, input: &mut &[u8]) {
        while self.unsent.is_empty() && self.credit > 0 && !input.is_empty() {
            let (piece, rest) = input.split_at(input.len().min(self.credit).min(MOST));
            self.credit -= piece.len();
            self.send(b'I', piece);
            *input = rest;
            self.flush();
        }
    }

    fn acknowledge(&mut self, count: usize) {
        self.read += count;
        if self.read >= WORTH_TELLING {
            let count = u32::try_from(std::mem::take(&mut self.read)).unwrap_or(u32::MAX);
            self.grant(0, count);
        }
    }

    fn grant(&mut self, stream: u8, count: u32) {
        self.send(b'A', &[&[stream][..], &count.to_be_bytes()].concat());
        self.flush();
    }

    fn flush(&mut self) {
        match self.stream.write(&self.unsent) {
            Ok(count) => drop(self.unsent.drain(..count)),
            Err(error) if again(&error) => {}
            // Read tells.
            Err(_) => self.unsent.clear(),
        }
    }

    /// Waits for something to do, and does it.
    fn turn(&mut self, until: Instant) -> io::Result<()> {
        self.wait(until)?;
        self.flush();
        let mut buffer = [0; 2 * MOST];
        match self.stream.read(&mut buffer) {
            Ok(0) => self.lost = Some(Loss::Closed),
            Ok(count) => {
                self.decoder.take(&buffer[..count]);
                self.understand()?;
            }
            Err(error) if again(&error) => {}
            Err(_) => self.lost = Some(Loss::Closed),
        }
        if self.is_over() || Instant::now() < until {
            Ok(())
        } else {
            Err(ErrorKind::TimedOut.into())
        }
    }

    fn understand(&mut self) -> io::Result<()> {
        while self.lost.is_none() {
            match self.decoder.next() {
                Ok(None) => break,
                Ok(Some(frame)) => self.take(frame),
                Err(Nonsense) => self.lost = Some(Loss::Nonsense),
            }
            if self.unsent.len() > MOST_UNSENT {
                self.lost = Some(Loss::TooMuch);
            }
        }
        Ok(())
    }

    fn take(&mut self, frame: Frame) {
        match frame {
            Frame::Began => self.lost = Some(Loss::Restarted),
            // A greeting that was sent again is answered again.
            Frame::Welcome(_) => {}
            Frame::Output(bytes) => {
                self.output.extend(bytes);
                if self.output.len() + self.read > 2 * WINDOW {
                    self.lost = Some(Loss::TooMuch);
                }
            }
            Frame::Errors(bytes) if self.apart => {
                self.errors.extend(bytes);
                if self.errors.len() > WINDOW {
                    self.lost = Some(Loss::TooMuch);
                }
            }
            Frame::Errors(bytes) => {
                self.errors.extend(&bytes);
                self.shorten_errors(2 * MOST_ERRORS);
                self.grant(1, u32::try_from(bytes.len()).unwrap_or(u32::MAX));
            }
            Frame::Taken(count) => {
                let credit = self.credit.saturating_add(usize::try_from(count).unwrap_or(WINDOW));
                self.credit = credit.min(WINDOW);
            }
            Frame::Deaf => self.deaf = true,
            Frame::Ended(ending) => self.ended = Some(ending),
        }
    }

    /// Keeps the last, once there is more than `most`.
    fn shorten_errors(&mut self, most: usize) {
        if self.errors.len() > most {
            self.errors.drain(..self.errors.len() - MOST_ERRORS);
            self.cut = true;
        }
    }

    fn wait(&self, until: Instant) -> io::Result<()> {
        let mut flags = PollFlags::POLLIN;
        flags.set(PollFlags::POLLOUT, !self.unsent.is_empty());
        let mut fds = [PollFd::new(self.stream.as_fd(), flags)];
        loop {
            let left = until.saturating_duration_since(Instant::now());
            // Rounded up, so as not to turn in circles for the last of it.
            let rounded = left + Duration::from_nanos(999_999);
            let timeout = PollTimeout::try_from(rounded).unwrap_or(PollTimeout::MAX);
            match poll(&mut fds, if left.is_zero() { PollTimeout::ZERO } else { timeout }) {
                Ok(0) if Instant::now() >= until => return Err(ErrorKind::TimedOut.into()),
                Ok(0) | Err(nix::errno::Errno::EINTR) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn again(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
