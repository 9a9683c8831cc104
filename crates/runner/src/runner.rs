//! The storage of a study, opened, and what is done to it point by point.

use crate::options::RunnerOptions;
use crate::session::Session;
use plimsoll_load::{Share, StartGate};
use plimsoll_model::{
    Cause, Failure, Flag, LoadObserver, Outcome, Phase, PointResult, PointSpec, Prepared,
    SubjectFacts, SubjectRunner, Workload,
};
use std::sync::Arc;
use std::time::Duration;

/// Measures points on opened shares, from this process.
pub struct Runner {
    options: RunnerOptions,
    shares: Vec<Arc<dyn Share>>,
    sessions: Vec<Session>,
}

impl Runner {
    /// A runner on shares that are opened, in the plan's order.
    pub fn new(options: RunnerOptions, shares: Vec<Arc<dyn Share>>) -> Self {
        Runner { options, shares, sessions: Vec::new() }
    }

    /// [`point`](SubjectRunner::point), whose load begins at the instant that a gate gives; and how
    /// long after that it did.
    pub fn point_from(
        &mut self,
        spec: &PointSpec,
        gate: &StartGate<'_>,
        observer: &mut dyn LoadObserver,
    ) -> (PointResult, Option<Duration>) {
        self.measure(spec, Some(gate), observer)
    }

    fn measure(
        &mut self,
        spec: &PointSpec,
        gate: Option<&StartGate<'_>>,
        observer: &mut dyn LoadObserver,
    ) -> (PointResult, Option<Duration>) {
        match self.session(spec.subject) {
            Ok(session) => session.point(spec, gate, observer),
            Err(failure) => {
                let phase = Phase::Prepare.to_string();
                (PointResult::empty(Outcome::Failed { phase, failure }), None)
            }
        }
    }

    fn session(&mut self, subject: usize) -> Result<&mut Session, Failure> {
        let attached = self.sessions.len();
        self.sessions.get_mut(subject).ok_or_else(|| not_attached(subject, attached))
    }
}

fn not_attached(subject: usize, attached: usize) -> Failure {
    let on = format!("subject {subject}");
    let happened = format!("only {attached} subjects are connected");
    Failure::new(Cause::Usage, "work on a subject").on(on).happened(happened)
}

impl SubjectRunner for Runner {
    fn attach(&mut self, subject: usize) -> Result<Vec<Flag>, Failure> {
        let attached = self.sessions.len();
        let share = self.shares.get(subject).filter(|_| subject == attached).cloned();
        let share = share.ok_or_else(|| not_attached(subject, attached))?;
        // Targets may be the same directory: the nonce must differ.
        let nonce = self.options.nonce.wrapping_add(self.sessions.len() as u32);
        let (session, flags) = Session::open(share, &self.options, nonce)?;
        self.sessions.push(session);
        Ok(flags)
    }

    fn lay_out_rate(
        &mut self,
        subject: usize,
        bytes: u64,
        observer: &mut dyn LoadObserver,
    ) -> Result<Option<f64>, Failure> {
        self.session(subject)?.lay_out_rate(bytes, observer).map(Some)
    }

    fn prepare(
        &mut self,
        subject: usize,
        workloads: &[Workload],
        observer: &mut dyn LoadObserver,
    ) -> Result<Prepared, Failure> {
        self.session(subject)?.prepare(workloads, observer)
    }

    fn facts(&self) -> Vec<SubjectFacts> {
        self.sessions.iter().map(|session| SubjectFacts::Storage(session.facts())).collect()
    }

    fn point(&mut self, spec: &PointSpec, observer: &mut dyn LoadObserver) -> PointResult {
        self.measure(spec, None, observer).0
    }

    fn release(&mut self) -> Result<(), Failure> {
        self.sessions.iter_mut().try_for_each(|session| session.release())
    }

    fn reopen(&mut self) -> Result<(), Failure> {
        // Each is tried: what is not open again cannot be cleaned up either.
        self.sessions.iter_mut().map(Session::reopen).fold(Ok(()), Result::and)
    }

    fn close(&mut self) -> Vec<Flag> {
        self.sessions.drain(..).filter_map(Session::close).collect()
    }
}
