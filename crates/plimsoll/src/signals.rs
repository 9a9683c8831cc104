//! Ctrl-C, SIGTERM and a terminal that closes: the first asks the run to end in order, a second ends it at once.

use model::{Cause, Failure};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

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
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let number = signal as usize;
            flag::register_conditional_shutdown(signal, 128 + signal, stop.clone())
                .and_then(|_| flag::register_usize(signal, last.clone(), number))
                .and_then(|_| flag::register(signal, stop.clone()))
                .map_err(|e| {
                    Failure::new(Cause::Trial, "listen for signals", "this process", e, "")
                })?;
        }
        Ok(Signals { stop, last })
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
