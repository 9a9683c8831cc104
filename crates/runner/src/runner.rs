//! The targets of a study, opened, and what is done to them trial by trial.

use crate::options::RunnerOptions;
use crate::session::Session;
use load::Share;
use model::{Cause, Event, Failure, Flag, Outcome, TargetFacts, TrialResult, TrialSpec, Workload};
use std::sync::Arc;

/// Drives trials on opened targets.
pub struct Runner {
    options: RunnerOptions,
    sessions: Vec<Session>,
}

impl Runner {
    /// A runner without targets.
    pub fn new(options: RunnerOptions) -> Self {
        Runner { options, sessions: Vec::new() }
    }

    /// Takes a target on: looks for other runs and makes the run's own directory on it.
    pub fn open(&mut self, share: Arc<dyn Share>) -> Result<Vec<Flag>, Failure> {
        // Targets may be the same directory: the nonce must differ.
        let nonce = self.options.nonce.wrapping_add(self.sessions.len() as u32);
        let (session, flags) = Session::open(share, &self.options, nonce)?;
        self.sessions.push(session);
        Ok(flags)
    }

    /// Rate at which a target is laid out, in bytes per second, from `bytes` that are written and
    /// removed again.
    pub fn lay_out_rate(
        &mut self,
        target: usize,
        bytes: u64,
        events: &mut dyn FnMut(Event),
    ) -> Result<f64, Failure> {
        self.session(target)?.lay_out_rate(bytes, events)
    }

    /// Checks the space and lays out the file that is read; finds out where reads come from.
    pub fn prepare(
        &mut self,
        target: usize,
        workloads: &[Workload],
        events: &mut dyn FnMut(Event),
    ) -> Result<Vec<Flag>, Failure> {
        self.session(target)?.prepare(workloads, events)
    }

    /// What the targets turned out to be, in the order they were opened.
    pub fn facts(&self) -> Vec<TargetFacts> {
        self.sessions.iter().map(Session::facts).collect()
    }

    /// Runs one trial. Whatever goes wrong is in the result; the last event is
    /// [`Event::Finished`].
    pub fn trial(&mut self, spec: &TrialSpec, events: &mut dyn FnMut(Event)) -> TrialResult {
        let result = match self.session(spec.target) {
            Ok(session) => session.trial(spec, events),
            Err(failure) => TrialResult {
                outcome: Outcome::Failed { phase: "prepare".into(), failure },
                ..TrialResult::empty()
            },
        };
        events(Event::Finished { result: Box::new(result.clone()) });
        result
    }

    /// Removes everything made on every target; a flag for what could not be removed.
    pub fn close(&mut self) -> Vec<Flag> {
        self.sessions.drain(..).filter_map(Session::close).collect()
    }

    fn session(&mut self, target: usize) -> Result<&mut Session, Failure> {
        let opened = self.sessions.len();
        self.sessions.get_mut(target).ok_or_else(|| {
            Failure::new(
                Cause::Usage,
                "run a trial",
                format!("target {target}"),
                format!("{opened} targets are open"),
                "",
            )
        })
    }
}
