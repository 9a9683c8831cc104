//! The targets of a study, opened, and what is done to them trial by trial.

use crate::drive::Drive;
use crate::options::RunnerOptions;
use crate::session::Session;
use plimsoll_load::Share;
use plimsoll_model::{
    Cause, Event, Failure, Flag, Outcome, TargetFacts, TrialResult, TrialSpec, Workload,
};
use std::sync::Arc;

/// Drives trials on opened targets, in this process.
pub struct Runner {
    options: RunnerOptions,
    shares: Vec<Arc<dyn Share>>,
    sessions: Vec<Session>,
}

impl Runner {
    /// A runner of targets that are opened, in the plan's order.
    pub fn new(options: RunnerOptions, shares: Vec<Arc<dyn Share>>) -> Self {
        Runner { options, shares, sessions: Vec::new() }
    }

    fn session(&mut self, target: usize) -> Result<&mut Session, Failure> {
        let taken_on = self.sessions.len();
        self.sessions.get_mut(target).ok_or_else(|| not_there(target, taken_on))
    }
}

fn not_there(target: usize, taken_on: usize) -> Failure {
    let on = format!("target {target}");
    let happened = format!("{taken_on} targets are taken on");
    Failure::new(Cause::Usage, "work on a target", on, happened, "")
}

impl Drive for Runner {
    fn take_on(&mut self, target: usize) -> Result<Vec<Flag>, Failure> {
        let taken_on = self.sessions.len();
        let share = self.shares.get(target).filter(|_| target == taken_on).cloned();
        let share = share.ok_or_else(|| not_there(target, taken_on))?;
        // Targets may be the same directory: the nonce must differ.
        let nonce = self.options.nonce.wrapping_add(self.sessions.len() as u32);
        let (session, flags) = Session::open(share, &self.options, nonce)?;
        self.sessions.push(session);
        Ok(flags)
    }

    fn lay_out_rate(
        &mut self,
        target: usize,
        bytes: u64,
        events: &mut dyn FnMut(Event),
    ) -> Result<f64, Failure> {
        self.session(target)?.lay_out_rate(bytes, events)
    }

    fn prepare(
        &mut self,
        target: usize,
        workloads: &[Workload],
        events: &mut dyn FnMut(Event),
    ) -> Result<Vec<Flag>, Failure> {
        self.session(target)?.prepare(workloads, events)
    }

    fn facts(&self) -> Vec<TargetFacts> {
        self.sessions.iter().map(Session::facts).collect()
    }

    fn trial(&mut self, spec: &TrialSpec, events: &mut dyn FnMut(Event)) -> TrialResult {
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

    fn close(&mut self) -> Vec<Flag> {
        self.sessions.drain(..).filter_map(Session::close).collect()
    }
}
