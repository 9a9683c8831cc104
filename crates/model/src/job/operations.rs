//! All kinds of operation, one after the other: the cost of each.

use super::{Footprint, JobFacts, Settable};
use crate::units::Bytes;
use crate::{Measure, Metric, OpKind, SubjectKind};
use serde::{Deserialize, Serialize};

/// Makes a file in a directory of its own, writes, reads, locks, looks up, renames and removes it, over and over,
/// and lists a large directory in between, for about a quarter of the time. Each operation is alone in flight
/// unless there are several workers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationsJob {
    /// Names in the directory that is listed.
    pub entries: u32,
    /// Bytes of its reads and writes.
    pub block: Bytes,
}

impl OperationsJob {
    /// Kinds of operation, in the order of tables.
    pub const KINDS: [OpKind; 17] = [
        OpKind::LOOKUP,
        OpKind::GET_ATTRIBUTES,
        OpKind::ACCESS,
        OpKind::OPEN,
        OpKind::CLOSE,
        OpKind::READ,
        OpKind::WRITE,
        OpKind::FLUSH,
        OpKind::LOCK,
        OpKind::UNLOCK,
        OpKind::CREATE,
        OpKind::REMOVE,
        OpKind::RENAME,
        OpKind::SET_ATTRIBUTES,
        OpKind::MAKE_DIRECTORY,
        OpKind::REMOVE_DIRECTORY,
        OpKind::READ_DIRECTORY,
    ];
}

impl JobFacts for OperationsJob {
    fn kind(&self) -> &'static str {
        "operations"
    }

    fn subject(&self) -> SubjectKind {
        SubjectKind::Storage
    }

    fn headline(&self) -> Metric {
        Metric::all(Measure::IOPS)
    }

    fn speed(&self) -> Measure {
        Measure::IOPS
    }

    fn kinds_apart(&self) -> &'static [OpKind] {
        &Self::KINDS
    }

    fn moves_payload(&self) -> bool {
        false
    }

    fn settings(&self) -> Vec<String> {
        let entries = format!("{} names in the directory that is listed", self.entries);
        vec![format!("reads and writes of {}", self.block), entries]
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![("entries", self.entries.to_string()), ("block_bytes", self.block.0.to_string())]
    }

    /// Whatever its depth, a worker has one operation in flight.
    fn settable(&self) -> Settable {
        Settable { depth: false, ..Settable::OF_OPERATIONS }
    }

    fn footprint(&self) -> Footprint {
        Footprint { names: u64::from(self.entries) + 2, ..Footprint::default() }
    }
}
