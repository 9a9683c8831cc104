//! Measuring one point, wherever and on whatever that is done.

use crate::{
    Failure, Flag, LoadObserver, MeasureInfo, PointResult, PointSpec, SubjectFacts, Workload,
};

/// What a step of preparing a subject came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prepared {
    /// What is odd.
    pub flags: Vec<Flag>,
    /// Whether there is another step.
    pub more: bool,
}

/// Measures points on the subjects of a study: storage from this process, the same from other hosts, a
/// network path, a host. It neither schedules nor records.
pub trait SubjectRunner {
    /// Attaches a subject, one after the other by their number in the plan: looks for other runs and
    /// makes the run's own directory on storage.
    fn attach(&mut self, subject: usize) -> Result<Vec<Flag>, Failure>;

    /// Rate at which files are laid out, in bytes per second, from `bytes` that are written and
    /// removed again; `None` where nothing is laid out.
    fn lay_out_rate(
        &mut self,
        subject: usize,
        bytes: u64,
        observer: &mut dyn LoadObserver,
    ) -> Result<Option<f64>, Failure> {
        let _ = (subject, bytes, observer);
        Ok(None)
    }

    /// Checks the space, prepares what the workloads need, and finds out what reads come from: a
    /// step at a time. It is called for all subjects in turn until none has more to do, so that what
    /// is laid out for one lies beside what is laid out for the others. Without any workload it removes
    /// what points before it made for themselves.
    fn prepare(
        &mut self,
        subject: usize,
        workloads: &[Workload],
        observer: &mut dyn LoadObserver,
    ) -> Result<Prepared, Failure>;

    /// What the subjects turned out to be, in the order they were attached; what points find out of them
    /// is added to it.
    fn facts(&self) -> Vec<SubjectFacts>;

    /// What is known of measures that no job names, as far as points had such.
    fn measures(&self) -> Vec<MeasureInfo> {
        Vec::new()
    }

    /// Measures one point. Whatever goes wrong is in the result.
    fn point(&mut self, spec: &PointSpec, observer: &mut dyn LoadObserver) -> PointResult;

    /// Lets go of what is open on the host that drives the load, so that it can be mounted anew: before
    /// what restarts something. Nothing is done on the subjects until [`SubjectRunner::reopen`].
    fn release(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Makes all connections anew, on new ports: before each block, and after what restarts a server.
    fn reopen(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Removes everything made on every subject; a flag for what could not be removed.
    fn close(&mut self) -> Vec<Flag>;
}
