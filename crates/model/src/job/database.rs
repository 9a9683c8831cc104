//! A database in a file, as SQLite keeps one: short transactions that are stable one by one, and locks that keep other
//! programs out meanwhile.

use super::log::LogJob;
use super::pattern::{PatternJob, fit_units};
use super::{Footprint, JobFacts, Settable, Stability};
use crate::metric::{Aggregation, Combine, Direction, Row};
use crate::units::{Bytes, KIB, MIB};
use crate::{Measure, Metric, OpKind, SubjectKind};
use serde::{Deserialize, Serialize};

/// Commits transactions one after the other. Each locks the database, keeps the old content of two pages in a journal
/// that it creates, writes the two pages, and removes the journal; it flushes the journal twice and the database once.
/// Each worker has a database of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabaseJob {
    /// Bytes of a page.
    pub block: Bytes,
    /// Size of all databases together.
    pub size: Bytes,
}

/// Pages as SQLite makes them, in 16 MiB.
impl Default for DatabaseJob {
    fn default() -> Self {
        DatabaseJob { block: Bytes(4 * KIB), size: Bytes(16 * MIB) }
    }
}

impl DatabaseJob {
    /// Kinds of its operations.
    pub const KINDS: [OpKind; 7] = [
        OpKind::WRITE,
        OpKind::FLUSH,
        OpKind::LOCK,
        OpKind::UNLOCK,
        OpKind::CREATE,
        OpKind::CLOSE,
        OpKind::REMOVE,
    ];
    /// Transactions committed per second.
    pub const COMMITS: Measure = LogJob::COMMITS;
    /// Median time of a commit, from the first lock to the last.
    pub const COMMIT_P50: Measure = Measure::own("commit_p50_seconds");
    /// 99th percentile of it.
    pub const COMMIT_P99: Measure = Measure::own("commit_p99_seconds");
    /// Longest commit.
    pub const LONGEST_COMMIT: Measure = Measure::own("longest_commit_seconds");

    /// Pages of the database of each worker: two at least, one of which every commit writes.
    pub fn pages(&self, workers: u16) -> u64 {
        (self.size.0 / u64::from(workers.max(1)) / self.block.0.max(1)).max(2)
    }
}

use Aggregation::Geometric;

pub(super) const MEASURES: [Row; 3] = [
    (DatabaseJob::COMMIT_P50, "s", "", Direction::Less, Geometric, Combine::Max),
    (DatabaseJob::COMMIT_P99, "s", "", Direction::Less, Geometric, Combine::Max),
    (DatabaseJob::LONGEST_COMMIT, "s", "", Direction::Less, Geometric, Combine::Max),
];

impl JobFacts for DatabaseJob {
    fn kind(&self) -> &'static str {
        "database"
    }

    fn subject(&self) -> SubjectKind {
        SubjectKind::Storage
    }

    fn headline(&self) -> Metric {
        Metric::all(DatabaseJob::COMMITS)
    }

    fn speed(&self) -> Measure {
        DatabaseJob::COMMITS
    }

    fn kinds_apart(&self) -> &'static [OpKind] {
        &DatabaseJob::KINDS
    }

    fn settings(&self) -> Vec<String> {
        vec![format!("pages of {}", self.block), self.size.to_string()]
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
        // A journal has two pages.
        let journals = self.block.0.saturating_mul(2 * u64::from(PatternJob::FILES));
        let written = self.size.0.saturating_add(journals);
        Footprint { written, names: 2 + 2 * u64::from(PatternJob::FILES), ..Footprint::default() }
    }

    fn fit(&mut self, workers: u16, largest: u64) -> bool {
        let unit = self.block.0.saturating_mul(2 * u64::from(workers));
        fit_units(&mut self.size, unit, largest)
    }
}
