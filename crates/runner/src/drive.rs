//! Driving trials, wherever that is done.

use plimsoll_model::{Event, Failure, Flag, TargetFacts, TrialResult, TrialSpec, Workload};

/// Drives trials on targets that were opened before: in this process, as
/// [`Runner`](crate::Runner) does, or on another host.
pub trait Drive {
    /// Takes a target on: looks for other runs and makes the run's own directory on it. The
    /// targets are taken on one after the other, by their number in the plan.
    fn take_on(&mut self, target: usize) -> Result<Vec<Flag>, Failure>;

    /// Rate at which a target is laid out, in bytes per second, from `bytes` that are written and
    /// removed again.
    fn lay_out_rate(
        &mut self,
        target: usize,
        bytes: u64,
        events: &mut dyn FnMut(Event),
    ) -> Result<f64, Failure>;

    /// Checks the space and lays out the file that is read; finds out where reads come from.
    fn prepare(
        &mut self,
        target: usize,
        workloads: &[Workload],
        events: &mut dyn FnMut(Event),
    ) -> Result<Vec<Flag>, Failure>;

    /// What the targets turned out to be, in the order they were taken on.
    fn facts(&self) -> Vec<TargetFacts>;

    /// Runs one trial. Whatever goes wrong is in the result; the last event is
    /// [`Event::Finished`].
    fn trial(&mut self, spec: &TrialSpec, events: &mut dyn FnMut(Event)) -> TrialResult;

    /// Removes everything made on every target; a flag for what could not be removed.
    fn close(&mut self) -> Vec<Flag>;
}
