//! One end's part of a trial: a session of the probe's verb `net`, which serves a whole study.

use crate::report::Report;
use plimsoll_model::{Cause, Failure};
use plimsoll_reach::probe::{Placed, Request, Serving};
use serde_json::Value;
use std::time::{Duration, Instant};

/// The probe ends a session without a trial after this time, so that none stays if this machine is gone.
const IDLE: Duration = Duration::from_secs(60);
/// A session that had no trial for so long is replaced by a new one, before it ends by itself.
const STALE: Duration = Duration::from_secs(30);
/// Longest life of a session.
const LONGEST: Duration = Duration::from_secs(30 * 86400);

/// A session, and what it said of its trial.
pub(crate) struct Session {
    serving: Serving,
    used: Instant,
    /// The trial under way.
    trial: Option<u32>,
    pub report: Report,
}

impl Session {
    /// Starts the probe.
    pub fn start(placed: &Placed) -> Result<Session, Failure> {
        let request = Request::new("net").set("idle_seconds", IDLE.as_secs()).within(LONGEST);
        let serving = placed.serve(&request)?;
        Ok(Session { serving, used: Instant::now(), trial: None, report: Report::default() })
    }

    /// Whether it may have ended by itself.
    pub fn is_stale(&self) -> bool {
        self.used.elapsed() > STALE
    }

    /// What the probe said of its host.
    pub fn facts(&self) -> &Value {
        self.serving.facts()
    }

    /// Orders a trial.
    pub fn begin(&mut self, trial: u32, text: &str) -> Result<(), Failure> {
        (self.trial, self.report, self.used) = (Some(trial), Report::default(), Instant::now());
        self.serving.order(text)
    }

    /// Whether a trial is under way.
    pub fn is_busy(&self) -> bool {
        self.trial.is_some()
    }

    /// Ends the trial early, if there is one.
    pub fn cancel(&mut self) -> Result<(), Failure> {
        if self.is_busy() { self.serving.cancel() } else { Ok(()) }
    }

    /// Takes in what comes before `until`; returns at once when the trial is over.
    pub fn take_in(&mut self, until: Instant) -> Result<(), Failure> {
        while let Some(trial) = self.trial {
            let Some(section) = self.serving.section(until)? else { return Ok(()) };
            self.used = Instant::now();
            let taken = self.report.take(&section, trial);
            taken.map_err(|words| self.serving.nonsense(&words))?;
            if self.report.end.is_some() {
                self.trial = None;
            }
        }
        Ok(())
    }

    /// The failure of an end that did not finish in time.
    pub fn late(&mut self, waited: Duration) -> Failure {
        let failure = self.serving.silent(waited);
        Failure { cause: Cause::Trial, ..failure }
    }

    /// Ends the session and waits for the probe's end.
    pub fn stop(self) {
        self.serving.stop();
    }
}
