//! Ctrl-C, SIGTERM and a terminal that closes: the first asks the run to end in order, a second ends it at once.

use crate::output;
use plimsoll_model::{Cause, Deadline, Failure, Over};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{iterator, low_level};
use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How often is looked whether a signal came.
const LOOK: Duration = Duration::from_millis(50);

/// A signal so soon after the first is the same request: `timeout` sends its own to a process and to
/// the process's group. How to leave at once has not been said by then.
const SAME_REQUEST: Duration = Duration::from_millis(200);

/// What has been asked for from outside.
#[derive(Clone)]
pub struct Signals {
    /// Set by the first signal.
    pub stop: Arc<AtomicBool>,
    last: Arc<AtomicUsize>,
}

impl Signals {
    /// Listens from now on.
    pub fn listen() -> Result<Self, Failure> {
        let stop = Arc::new(AtomicBool::new(false));
        let last = Arc::new(AtomicUsize::new(0));
        let failed =
            |e| Failure::new(Cause::Trial, "listen for signals").on("this process").happened(e);
        let mut signals = iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(failed)?;
        let listening = Signals { stop, last };
        let Signals { stop, last } = listening.clone();
        let listen = move || {
            let mut first: Option<Instant> = None;
            for signal in signals.forever() {
                match first {
                    None => {
                        first = Some(Instant::now());
                        last.store(signal as usize, Ordering::Relaxed);
                        stop.store(true, Ordering::Relaxed);
                    }
                    Some(at) if at.elapsed() < SAME_REQUEST => {}
                    // Without a word more: nothing is waited for.
                    Some(_) => low_level::exit(128 + signal),
                }
            }
        };
        std::thread::Builder::new().name("signals".into()).spawn(listen).map_err(failed)?;
        Ok(listening)
    }

    /// Says within a moment of the first signal, whatever the program waits for then, that it is
    /// putting things in order and how to leave at once.
    pub fn announce(&self) {
        let stop = self.stop.clone();
        std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                std::thread::sleep(LOOK);
            }
            // The dashboard gives the terminal back meanwhile.
            std::thread::sleep(SAME_REQUEST);
            output::complain(
                "plimsoll: cleaning up; press Ctrl-C again to exit at once, without cleaning up",
            );
        });
    }

    /// A failure after a signal is put down to it: the exit code says who ended the program.
    pub fn explain(&self, failure: Failure) -> Failure {
        match self.cause() {
            Some(cause) => Failure { cause, ..failure },
            None => failure,
        }
    }

    /// Does something that neither sees a request to stop nor leaves anything behind when this
    /// program ends, such as logging in over ssh. It is done on a thread of its own, which is not
    /// waited for once the deadline is over.
    pub fn leave_when_over<T: Send + 'static>(
        deadline: &Deadline,
        tried: &str,
        on: impl Display,
        work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let failed = |cause, happened: String, next: &str| {
            Failure::new(cause, tried).on(&on).happened(happened).next(next)
        };
        let (done, result) = mpsc::channel();
        std::thread::Builder::new()
            .spawn(move || done.send(work()))
            .map_err(|e| failed(Cause::Trial, e.to_string(), "Stop a process on this machine."))?;
        loop {
            let slice = deadline.slice().map_err(|over| match over {
                Over::Stopped => failed(Cause::Interrupted, "it was interrupted".into(), ""),
                Over::Whole | Over::Step(_) => failed(
                    Cause::Trial,
                    "the time limit was reached".into(),
                    "Give a longer --max-time, or find out why the host is slow.",
                ),
            })?;
            match result.recv_timeout(slice) {
                Ok(result) => return result,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(failed(Cause::Trial, "it ended unexpectedly".into(), ""));
                }
            }
        }
    }

    /// Which cause the signal that came, if any, leads to.
    pub fn cause(&self) -> Option<Cause> {
        match self.last.load(Ordering::Relaxed) as i32 {
            SIGINT => Some(Cause::Interrupted),
            SIGTERM | SIGHUP => Some(Cause::Terminated),
            _ => None,
        }
    }
}
