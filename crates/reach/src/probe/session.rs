//! One process of the probe, one verb: frames over a channel.

use super::BUNDLE;
use super::frame::{self, Decoder, FrameError, FrameKind};
use super::message::{self, Done, Message, Refusal, Status};
use super::request::Request;
use crate::deploy::{Ending, PATIENCE};
use crate::{Channel, Reach};
use plimsoll_model::{Cause, Failure};
use serde_json::Value;
use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a probe that has said its last words may take to end.
const FAREWELL: Duration = Duration::from_secs(2);
/// How often the stop flag is looked at.
const GLANCE: Duration = Duration::from_millis(100);
/// After this long without a word the probe is asked for its clock, which it tells whatever its
/// verb does.
const QUIET: Duration = Duration::from_secs(5);
/// After this long without an answer the host counts as lost.
const SILENCE: Duration = Duration::from_secs(30);
/// Most sections of one verb. 256 cores have a section each.
const MOST_SECTIONS: usize = 2048;
/// Most bytes of all its messages.
const MOST_BYTES: usize = 8 << 20;

/// A conversation with a probe.
pub(super) struct Session {
    channel: Option<Box<dyn Channel>>,
    decoder: Decoder,
    host: String,
    verb: &'static str,
    /// When something came last.
    heard: Instant,
    /// Bytes of all bodies so far.
    taken: usize,
}

impl Session {
    /// Starts the program and asks for the verb.
    pub fn start(reach: &dyn Reach, program: &str, request: &Request) -> Result<Session, Failure> {
        let body = request.encode()?;
        // The shell stays beside it: ssh tells exit codes, but not which signal ended a program.
        let channel = reach.open(&format!("{program}; exit $?"))?;
        let mut session = Session {
            channel: Some(channel),
            decoder: Decoder::default(),
            host: reach.name().to_owned(),
            verb: request.verb(),
            heard: Instant::now(),
            taken: 0,
        };
        session.send(FrameKind::Request, &body)?;
        Ok(session)
    }

    /// Sends a frame. Where the probe has ended, the next receive says how.
    pub fn send(&mut self, kind: FrameKind, body: &[u8]) -> Result<(), Failure> {
        let Some(channel) = &mut self.channel else { return Ok(()) };
        match channel.write(&frame::encode(kind, body), Instant::now() + PATIENCE) {
            Err(error) if error.kind() == ErrorKind::TimedOut => Err(self.silent(PATIENCE)),
            _ => Ok(()),
        }
    }

    /// The next message; `None` if none came before `until`.
    pub fn receive(&mut self, until: Instant) -> Result<Option<Message>, Failure> {
        let mut buffer = [0; 16 << 10];
        loop {
            if let Some(frame) = self.decoder.next_frame().map_err(|e| self.not_understood(&e))? {
                self.heard = Instant::now();
                self.taken = self.taken.saturating_add(frame.body.len());
                let message = message::decode(&frame).map_err(|words| self.nonsense(&words))?;
                return match message {
                    Message::Failed(refusal) => Err(self.refused(refusal)),
                    message => Ok(Some(message)),
                };
            }
            let Some(channel) = &mut self.channel else { return Err(self.ended()) };
            match channel.read(&mut buffer, until) {
                Ok(0) => return Err(self.ended()),
                Ok(count) => self.decoder.push(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::TimedOut => return Ok(None),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(self.ended()),
            }
        }
    }

    /// Waits for the end of the verb, hands on its sections, and ends it early when `stop` is set.
    pub fn run(
        mut self,
        limit: Duration,
        section: &mut dyn FnMut(Value),
        stop: &AtomicBool,
    ) -> Result<Done, Failure> {
        let mut end = Instant::now() + limit + PATIENCE;
        let mut stopping = false;
        let mut asked = Instant::now();
        let mut sections = 0;
        loop {
            if stop.load(Ordering::Relaxed) && !stopping {
                stopping = true;
                end = end.min(Instant::now() + PATIENCE);
                self.send(FrameKind::Stop, b"")?;
            }
            match self.receive(Instant::now() + GLANCE)? {
                Some(Message::Section(value)) => {
                    sections += 1;
                    section(value);
                }
                Some(Message::Done(done)) => {
                    self.close();
                    // A verb may have come to its end while the request to stop was on its way.
                    let status = if stopping { Status::Stopped } else { done.status };
                    return Ok(Done { status, ..done });
                }
                Some(_) => {}
                None if self.heard.elapsed() > SILENCE => return Err(self.silent(SILENCE)),
                None if self.heard.elapsed() > QUIET && asked.elapsed() > QUIET => {
                    asked = Instant::now();
                    self.send(FrameKind::Clock, b"alive?")?;
                }
                None => {}
            }
            if sections > MOST_SECTIONS || self.taken > MOST_BYTES {
                return Err(self.nonsense("its report does not end"));
            }
            if Instant::now() > end {
                return Err(self.nonsense("it did not end in time"));
            }
        }
    }

    /// Bytes of all messages since the start, or since the last [`Session::count_anew`].
    pub fn taken(&self) -> usize {
        self.taken
    }

    /// Counts the bytes of messages from 0 again.
    pub fn count_anew(&mut self) {
        self.taken = 0;
    }

    /// Ends it without waiting for its last words.
    pub fn close(&mut self) {
        if let Some(channel) = self.channel.take() {
            let _ = channel.finish(FAREWELL);
        }
    }

    fn failure(&self, cause: Cause, happened: impl std::fmt::Display, next: &str) -> Failure {
        let tried = format!("measure with the probe ({})", self.verb);
        Failure::new(cause, tried).on(&self.host).happened(happened).next(next)
    }

    /// The failure of a session whose output has ended before its last frame.
    fn ended(&mut self) -> Failure {
        let chatter = self.decoder.chatter();
        let next = "Try again: the connection or the probe ended.";
        let Some(channel) = self.channel.take() else {
            return self.failure(Cause::Unreachable, "the probe has already ended", next);
        };
        let mut output = match channel.finish(PATIENCE) {
            Ok(output) => output,
            Err(lost) => return lost,
        };
        // Where the program did not start, the shell's words may have come that way.
        if output.errors.is_empty() {
            output.errors = chatter.into_bytes();
        }
        let (happened, next) = Ending::from_output(&output).words(&BUNDLE);
        self.failure(Cause::Trial, format!("the probe ended too early: {happened}"), &next)
    }

    pub fn silent(&mut self, waited: Duration) -> Failure {
        self.channel = None;
        let happened = format!("the host has not answered for {} s", waited.as_secs());
        let next = "Check that the host is up and the network works, and try again.";
        self.failure(Cause::Unreachable, happened, next)
    }

    fn not_understood(&mut self, error: &FrameError) -> Failure {
        self.channel = None;
        let next = match error {
            FrameError::Version(_) => {
                "Use the probes that come with this program: PLIMSOLL_PROBES names their directory."
            }
            FrameError::Chatter(_) => {
                "Check the output of `ssh HOST true`, and remove it from the login scripts of the host."
            }
            _ => NOT_A_PROBE,
        };
        self.failure(Cause::Trial, error, next)
    }

    pub fn nonsense(&mut self, words: &str) -> Failure {
        self.channel = None;
        self.failure(
            Cause::Trial,
            format!("the answer of the probe is invalid: {words}"),
            NOT_A_PROBE,
        )
    }

    fn refused(&mut self, refusal: Refusal) -> Failure {
        self.close();
        let cause = match (refusal.error.as_str(), refusal.errno) {
            ("request", _) => Cause::Usage,
            ("space", _) => Cause::NoSpace,
            // EPERM, ENOENT, EACCES, EROFS: the same on every Linux.
            ("disk", Some(1 | 2 | 13 | 30)) => Cause::NotPermitted,
            _ => Cause::Trial,
        };
        let on = match &refusal.on {
            Some(on) => format!("{} ({on})", self.host),
            None => self.host.clone(),
        };
        let next = refusal.next.unwrap_or_default();
        let tried = format!("{} (the probe's {})", refusal.tried, self.verb);
        Failure::new(cause, tried).on(on).happened(refusal.happened).next(next)
    }
}

const NOT_A_PROBE: &str = "Try again; if it happens again, another program answers in place of the probe, or \
a device on the path changes its messages.";
