//! Workloads of fio's runs: patterns in closed loops, on targets.

use plimsoll_model::{DirectoryTarget, Length, Part, PatternJob, Subject, Target, Workload};
use std::collections::HashMap;
use std::num::NonZeroU16;

/// A pattern with all its settings.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ClosedLoop {
    pub(super) job: PatternJob,
    pub(super) workers: NonZeroU16,
    pub(super) depth: NonZeroU16,
}

/// Each distinct one once, in the order of its first appearance.
#[derive(Default)]
pub(super) struct Workloads {
    list: Vec<ClosedLoop>,
    numbers: HashMap<ClosedLoop, u16>,
}

impl Workloads {
    /// Its number in the plan.
    ///
    /// # Errors
    /// There are more than a cell can number.
    pub(super) fn number(&mut self, workload: &ClosedLoop) -> Result<u16, String> {
        if let Some(number) = self.numbers.get(workload) {
            return Ok(*number);
        }
        let number = u16::try_from(self.list.len())
            .map_err(|_| format!("there are more than {} different workloads", self.list.len()))?;
        self.list.push(workload.clone());
        self.numbers.insert(workload.clone(), number);
        Ok(number)
    }

    /// The workloads of the plan.
    pub(super) fn planned(self, length: Length) -> Vec<Workload> {
        let part = |of: ClosedLoop| Part::closed(of.job.into(), of.workers, of.depth);
        self.list.into_iter().map(|of| Workload::new(part(of), length)).collect()
    }
}

/// A target that is known by the name alone that another tool's output gives it.
pub(super) fn directory(name: &str) -> Subject {
    Subject::from(Target::Directory(DirectoryTarget { path: name.into() }))
}
