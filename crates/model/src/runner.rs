//! Measuring one point, wherever and on whatever that is done.

use crate::{
    Failure, Flag, LoadObserver, MeasureInfo, PointResult, PointSpec, SubjectFacts, Workload,
};

/// Result of a step of the preparation of a subject.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prepared {
    /// Warnings.
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

    /// Rate of file creation in bytes per second, measured with `bytes` that are written and
    /// removed again; `None` without files to create.
    fn lay_out_rate(
        &mut self,
        subject: usize,
        bytes: u64,
        observer: &mut dyn LoadObserver,
    ) -> Result<Option<f64>, Failure> {
        let _ = (subject, bytes, observer);
        Ok(None)
    }

    /// Checks the space, creates the files of the workloads, and determines the source of reads:
    /// one step per call. It is called round-robin for all subjects until all are ready, so that
    /// files of all subjects lie next to each other. Without a workload it removes the files of
    /// earlier points. A subject without files needs nothing.
    fn prepare(
        &mut self,
        subject: usize,
        workloads: &[Workload],
        observer: &mut dyn LoadObserver,
    ) -> Result<Prepared, Failure> {
        let _ = (subject, workloads, observer);
        Ok(Prepared::default())
    }

    /// Properties of the subjects, in the order they were attached. Points add the properties that
    /// they determine.
    fn facts(&self) -> Vec<SubjectFacts>;

    /// Properties of measures of the points that belong to no job.
    fn measures(&self) -> Vec<MeasureInfo> {
        Vec::new()
    }

    /// Measures one point. Whatever goes wrong is in the result.
    fn point(&mut self, spec: &PointSpec, observer: &mut dyn LoadObserver) -> PointResult;

    /// Closes all files on the load generator before a restart, so that a mount can be replaced.
    /// The subjects are idle until [`SubjectRunner::reopen`].
    fn release(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Opens new connections on new ports: before each block, and after a server restart.
    fn reopen(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Removes everything made on every subject; a flag for what could not be removed.
    fn close(&mut self) -> Vec<Flag>;
}
