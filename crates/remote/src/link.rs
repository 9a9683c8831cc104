//! The conversation with the program on the host.
//!
//! A thread has the channel: it sends requests and signs of life, and takes in what comes, so that
//! neither waits for the study.

use crate::protocol::{Lines, MOST_REPLY, PROTOCOL, PULSE, Reply, Request, SILENCE};
use plimsoll_model::{Cause, Event, Failure, LoadObserver};
use plimsoll_reach::Channel;
use plimsoll_reach::deploy::Deployed;
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often is looked whether there is something to send.
const GLANCE: Duration = Duration::from_millis(10);
/// How long what is sent may take to be taken.
const TAKING: Duration = Duration::from_secs(30);
/// How long the program may take to end when there is nothing more to do: it removes what it made.
const FAREWELL: Duration = Duration::from_secs(60);
/// How long the program may take for each thing that it still has to do once it was asked to stop:
/// it cleans up meanwhile, which it gives up before.
const STOPPING: Duration = Duration::from_secs(20);
/// How often is looked whether that was asked for.
const LOOK: Duration = Duration::from_millis(100);
/// Events that may wait for the study.
const MOST_WAITING: usize = 64;

/// Who looks on where nothing is measured.
pub(super) struct Nobody;

impl LoadObserver for Nobody {
    fn load_begins(&mut self) {}
    fn load_ends(&mut self) {}
    fn event(&mut self, _: Event) {}
}

/// Two reasons to stop: the user, and that this host's work is of no use any more.
#[derive(Clone)]
pub(super) struct Stop {
    pub(super) user: Arc<AtomicBool>,
    pub(super) useless: Arc<AtomicBool>,
}

impl Stop {
    fn is_requested(&self) -> bool {
        self.user.load(Ordering::Relaxed) || self.useless.load(Ordering::Relaxed)
    }
}

/// A reply, with when its request was sent and when it was there.
pub(super) struct Heard {
    pub(super) reply: Reply,
    pub(super) sent: Instant,
    pub(super) received: Instant,
}

/// The conversation with the program on the host.
pub(super) struct Link {
    host: String,
    requests: Option<Sender<Vec<u8>>>,
    replies: Receiver<Result<Heard, Failure>>,
    thread: Option<JoinHandle<()>>,
    /// Why it ended, once it has.
    ended: Option<Failure>,
    stop: Stop,
    /// Whether it was asked to stop and said nothing any more.
    silent: bool,
}

impl Link {
    /// Starts the program and waits for its first word. It is asked to stop once `stop` says
    /// so.
    pub(super) fn start(deployed: &Deployed, stop: Stop) -> Result<Link, Failure> {
        // The shell stays beside it: ssh tells exit codes, but not which signal ended a program.
        let channel = deployed.reach().open(&format!("{}; exit $?", deployed.command()))?;
        let host = deployed.reach().name().to_owned();
        let asked = stop.clone();
        let (requests, to_send) = mpsc::channel();
        let (received, replies) = mpsc::sync_channel(MOST_WAITING);
        let talk = Talk {
            host: host.clone(),
            channel: Some(channel),
            lines: Lines::new(MOST_REPLY),
            stop,
            stopped: false,
            requests: to_send,
            replies: received,
            asked: Instant::now(),
            heard: Instant::now(),
            spoke: Instant::now(),
            under_way: true,
        };
        let name = "remote".to_owned();
        let thread = std::thread::Builder::new().name(name).spawn(move || talk.run());
        let thread = thread.map_err(|error| {
            Failure::new(Cause::Trial, "start a thread")
                .on(&host)
                .happened(error)
                .next("Stop a process on this machine.")
        })?;
        let requests = Some(requests);
        let thread = Some(thread);
        let mut link =
            Link { host, requests, replies, thread, ended: None, stop: asked, silent: false };
        match link.reply(&mut Nobody)?.reply {
            Reply::Hello { protocol: PROTOCOL, version }
                if version == env!("CARGO_PKG_VERSION") =>
            {
                Ok(link)
            }
            Reply::Hello { protocol, version } => {
                let happened = format!(
                    "the runner has version {version} and protocol {protocol}; this program has \
                    version {} and protocol {PROTOCOL}",
                    env!("CARGO_PKG_VERSION")
                );
                Err(Failure::new(Cause::Usage, "talk to the runner")
                    .on(&link.host)
                    .happened(happened)
                    .next(ANEW))
            }
            other => Err(link.nonsense(&other)),
        }
    }

    /// Asks for something and waits for the reply, handing on what happens meanwhile.
    pub(super) fn ask(
        &mut self,
        request: &Request,
        observer: &mut dyn LoadObserver,
    ) -> Result<Reply, Failure> {
        self.ask_timed(request, observer).map(|heard| heard.reply)
    }

    /// The same with the moments of both.
    pub(super) fn ask_timed(
        &mut self,
        request: &Request,
        observer: &mut dyn LoadObserver,
    ) -> Result<Heard, Failure> {
        if let Some(ended) = &self.ended {
            return Err(ended.clone());
        }
        // Where the thread has ended, the next reply says why.
        let _ = self.requests.as_ref().map(|requests| requests.send(request.to_line()));
        self.reply(observer)
    }

    fn reply(&mut self, observer: &mut dyn LoadObserver) -> Result<Heard, Failure> {
        let mut stopped = None;
        loop {
            match self.replies.recv_timeout(LOOK) {
                Ok(Ok(heard)) => match heard.reply {
                    Reply::LoadBegins => observer.load_begins(),
                    Reply::LoadEnds => observer.load_ends(),
                    Reply::Event { event } => observer.event(event),
                    Reply::Failed { failure } => return Err(failure),
                    _ => return Ok(heard),
                },
                Ok(Err(failure)) => return Err(self.end(failure)),
                Err(RecvTimeoutError::Timeout) if !self.stop.is_requested() => {}
                Err(RecvTimeoutError::Timeout) => {
                    if stopped.get_or_insert_with(Instant::now).elapsed() > STOPPING {
                        self.silent = true;
                        let happened = "it did not answer the request to stop";
                        let failure = lost(&self.host, happened);
                        return Err(self.end(failure));
                    }
                }
                Err(_) => {
                    let failure = lost(&self.host, "the connection was closed");
                    return Err(self.end(failure));
                }
            }
        }
    }

    /// Whether the program was asked to stop and said nothing any more.
    pub(super) fn is_silent(&self) -> bool {
        self.silent
    }

    /// The failure of a reply that answers something else.
    pub(super) fn nonsense(&mut self, reply: &Reply) -> Failure {
        let words = kind_of(reply);
        let failure = not_understood(&self.host, &format!("unexpected reply: {words}"));
        self.end(failure)
    }

    fn end(&mut self, failure: Failure) -> Failure {
        self.requests = None;
        self.ended.get_or_insert(failure).clone()
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // Closing its input ends the program; what it still says is not waited for by anybody.
        self.requests = None;
        if self.silent {
            return;
        }
        let end = Instant::now() + FAREWELL + FAREWELL;
        while !matches!(
            self.replies.recv_timeout(end.saturating_duration_since(Instant::now())),
            Err(RecvTimeoutError::Disconnected | RecvTimeoutError::Timeout)
        ) {}
        if let Some(thread) = self.thread.take().filter(|thread| thread.is_finished()) {
            let _ = thread.join();
        }
    }
}

/// The thread's side of it.
struct Talk {
    host: String,
    channel: Option<Box<dyn Channel>>,
    lines: Lines,
    stop: Stop,
    stopped: bool,
    requests: Receiver<Vec<u8>>,
    replies: SyncSender<Result<Heard, Failure>>,
    /// When the last request was sent.
    asked: Instant,
    heard: Instant,
    spoke: Instant,
    /// Whether a reply is waited for: at first, for the first word.
    under_way: bool,
}

impl Talk {
    fn run(mut self) {
        let failure = loop {
            match self.turn() {
                Ok(true) => {}
                // Nothing more is asked for.
                Ok(false) => break None,
                Err(failure) => break Some(failure),
            }
        };
        match (failure, self.channel.take()) {
            (None, Some(channel)) => drop(channel.finish(FAREWELL)),
            (None, None) => {}
            // What cannot be understood is not listened to any longer.
            (Some(failure), channel) => {
                drop(channel);
                let _ = self.replies.send(Err(failure));
            }
        }
    }

    /// Sends what there is to send, takes in what came. `false`: nothing more will be asked for.
    fn turn(&mut self) -> Result<bool, Failure> {
        match self.requests.try_recv() {
            Ok(line) => {
                self.under_way = true;
                self.asked = Instant::now();
                self.send(&line)?;
            }
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => return Ok(false),
        }
        if self.stop.is_requested() && !self.stopped {
            self.stopped = true;
            self.send(&Request::Stop.to_line())?;
        }
        if self.spoke.elapsed() > PULSE {
            self.send(&Request::Alive.to_line())?;
        }
        let mut buffer = [0; 16 << 10];
        let Some(channel) = &mut self.channel else { return Ok(false) };
        match channel.read(&mut buffer, Instant::now() + GLANCE) {
            Ok(0) => return Err(self.broken_off()),
            Ok(count) => {
                self.heard = Instant::now();
                self.lines.push(&buffer[..count]);
                self.take_in()?;
            }
            Err(error) if error.kind() == ErrorKind::TimedOut => {
                if self.heard.elapsed() > SILENCE {
                    self.channel = None;
                    let silence = format!("it has not answered for {} s", SILENCE.as_secs());
                    return Err(lost(&self.host, &silence));
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return Err(self.broken_off()),
        }
        Ok(true)
    }

    fn send(&mut self, line: &[u8]) -> Result<(), Failure> {
        self.spoke = Instant::now();
        let Some(channel) = &mut self.channel else { return Ok(()) };
        match channel.write(line, Instant::now() + TAKING) {
            Err(error) if error.kind() == ErrorKind::TimedOut => {
                self.channel = None;
                Err(lost(&self.host, "it no longer accepts requests"))
            }
            // Why it has ended shows in what is read.
            _ => Ok(()),
        }
    }

    fn take_in(&mut self) -> Result<(), Failure> {
        loop {
            let line = self.lines.next_line();
            let line = line.map_err(|error| not_understood(&self.host, &error.to_string()))?;
            let Some(line) = line else { return Ok(()) };
            let reply =
                Reply::from_line(&line).map_err(|error| not_understood(&self.host, &error))?;
            if matches!(reply, Reply::Alive) {
                continue;
            }
            if !self.under_way {
                return Err(not_understood(&self.host, "it sent an unexpected message"));
            }
            // Others answer what was asked for.
            self.under_way =
                matches!(reply, Reply::Event { .. } | Reply::LoadBegins | Reply::LoadEnds);
            let heard = Heard { reply, sent: self.asked, received: self.heard };
            if self.replies.send(Ok(heard)).is_err() {
                return Ok(());
            }
        }
    }

    /// The failure of a program whose output has ended.
    fn broken_off(&mut self) -> Failure {
        let output = match self.channel.take().map(|channel| channel.finish(TAKING)) {
            Some(Ok(output)) => output,
            Some(Err(failure)) => return lost(&self.host, &failure.happened),
            None => return lost(&self.host, "it has ended"),
        };
        let said = String::from_utf8_lossy(&output.errors);
        let said = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let said: String = said.chars().filter(|c| !c.is_control()).take(300).collect();
        let happened = match (output.status, said.is_empty()) {
            (Some(code), true) if code > 128 => {
                format!("the runner was ended by signal {}", code - 128)
            }
            (Some(code), false) if code > 128 => {
                format!("the runner was ended by signal {} ({said})", code - 128)
            }
            (Some(code), true) => format!("the runner ended with exit code {code}"),
            (Some(code), false) => format!("the runner ended with exit code {code}: {said}"),
            (None, _) => format!("the connection or the runner ended: {said}"),
        };
        lost(&self.host, &happened)
    }
}

const ANEW: &str = "Build the runner again from the sources of this program: `make runner`.";

/// The failure that the host is lost.
fn lost(host: &str, happened: &str) -> Failure {
    let next = format!(
        "Check that the host is up and reachable. Finished trials are kept. The runner stops and removes its \
        files on the host. If files remain: plimsoll clean --on {host} TARGET"
    );
    Failure::new(Cause::Unreachable, "run the trial").on(host).happened(happened).next(next)
}

fn not_understood(host: &str, why: &str) -> Failure {
    let happened = format!("the answer of the runner is invalid: {why}");
    Failure::new(Cause::Trial, "talk to the runner").on(host).happened(happened).next(ANEW)
}

/// What a reply is, without what it holds.
fn kind_of(reply: &Reply) -> &'static str {
    match reply {
        Reply::Hello { .. } => "a greeting",
        Reply::Alive => "a keep-alive message",
        Reply::LoadBegins | Reply::LoadEnds | Reply::Event { .. } => "an event",
        Reply::PasswordWanted => "a request for a password",
        Reply::Done => "the end of the work",
        Reply::Target { .. } => "a target",
        Reply::Rate { .. } => "a rate",
        Reply::Ready => "a ready point",
        Reply::Clock { .. } => "its clock",
        Reply::Result { .. } => "a point",
        Reply::Closed { .. } => "the end of the study",
        Reply::Cleaned { .. } => "the list of removed files",
        Reply::Failed { .. } => "a failure",
    }
}
