//! A log as databases and mail servers keep one: each record is stable before the next is written.

use super::pattern::{PatternJob, fit_units, of_each};
use super::{Footprint, JobFacts, Settable, Stability};
use crate::metric::{Aggregation, Combine, Direction, Row};
use crate::units::Bytes;
use crate::{Measure, Metric, OpKind, SubjectKind};
use serde::{Deserialize, Serialize};

/// Writes records one after the other into files that are there, and flushes after each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogJob {
    /// Bytes of a record.
    pub block: Bytes,
    /// Size of all its files together, which are used round-robin as in patterns. Each worker has
    /// an equal part of each file, and starts again after the last.
    pub size: Bytes,
}

impl LogJob {
    /// Records made stable per second.
    pub const COMMITS: Measure = Measure::own("commits_per_second");

    /// The size of each of the files, in bytes: one record at least.
    pub fn file_bytes(&self) -> u64 {
        of_each(self.size, self.block)
    }
}

pub(super) const MEASURES: [Row; 1] =
    [(LogJob::COMMITS, "1/s", "", Direction::More, Aggregation::Geometric, Combine::SumOfRates)];

impl JobFacts for LogJob {
    fn kind(&self) -> &'static str {
        "log"
    }

    fn subject(&self) -> SubjectKind {
        SubjectKind::Storage
    }

    fn headline(&self) -> Metric {
        Metric::all(LogJob::COMMITS)
    }

    fn speed(&self) -> Measure {
        LogJob::COMMITS
    }

    fn kinds_apart(&self) -> &'static [OpKind] {
        &[OpKind::WRITE, OpKind::FLUSH]
    }

    fn settings(&self) -> Vec<String> {
        vec![format!("records of {}", self.block), self.size.to_string()]
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        let number = |bytes: Bytes| bytes.0.to_string();
        vec![("block_bytes", number(self.block)), ("size_bytes", number(self.size))]
    }

    /// Whatever its depth, a worker has one operation in flight.
    fn settable(&self) -> Settable {
        Settable { depth: false, ..Settable::OF_OPERATIONS }
    }

    fn stability(&self) -> Option<Stability> {
        Some(Stability::FileSync)
    }

    fn footprint(&self) -> Footprint {
        let written = self.file_bytes().saturating_mul(u64::from(PatternJob::FILES));
        Footprint { written: written.max(self.size.0), shared: true, ..Footprint::default() }
    }

    fn fit(&mut self, workers: u16, largest: u64) -> bool {
        let unit = self.block.0.saturating_mul(workers.into());
        fit_units(&mut self.size, unit, largest)
    }
}
