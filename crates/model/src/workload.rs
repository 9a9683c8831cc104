//! What is done to a target during a trial.

use crate::units::{Bytes, KIB, MIB};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::NonZeroU16;
use std::str::FromStr;

/// The five patterns of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Rising offsets, read.
    SequentialRead,
    /// Rising offsets, written.
    SequentialWrite,
    /// Uniformly random block-aligned offsets, read.
    RandomRead,
    /// Uniformly random block-aligned offsets, written.
    RandomWrite,
    /// Random reads and random writes, each with probability one half.
    RandomMixed,
}

impl Pattern {
    /// All five, in the order of the report.
    pub const ALL: [Pattern; 5] = [
        Pattern::SequentialRead,
        Pattern::SequentialWrite,
        Pattern::RandomRead,
        Pattern::RandomWrite,
        Pattern::RandomMixed,
    ];

    /// The block size used unless the user says otherwise.
    pub fn default_block(self) -> Bytes {
        if self.is_sequential() { Bytes(MIB) } else { Bytes(4 * KIB) }
    }

    /// Whether offsets rise without gaps.
    pub fn is_sequential(self) -> bool {
        matches!(self, Pattern::SequentialRead | Pattern::SequentialWrite)
    }

    /// Whether any operation reads.
    pub fn reads(self) -> bool {
        matches!(self, Pattern::SequentialRead | Pattern::RandomRead | Pattern::RandomMixed)
    }

    /// Whether any operation writes.
    pub fn writes(self) -> bool {
        matches!(self, Pattern::SequentialWrite | Pattern::RandomWrite | Pattern::RandomMixed)
    }

    /// The name used on the command line and in exports.
    pub fn name(self) -> &'static str {
        match self {
            Pattern::SequentialRead => "sequential-read",
            Pattern::SequentialWrite => "sequential-write",
            Pattern::RandomRead => "random-read",
            Pattern::RandomWrite => "random-write",
            Pattern::RandomMixed => "random-mixed",
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Pattern {
    type Err = String;
    fn from_str(s: &str) -> Result<Self, String> {
        Pattern::ALL.into_iter().find(|p| p.name() == s).ok_or_else(|| {
            let names: Vec<_> = Pattern::ALL.iter().map(|p| p.name()).collect();
            format!("unknown pattern '{s}'; there are: {}", names.join(", "))
        })
    }
}

/// Which part of the file each worker uses.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// Worker i has the i-th of equal, disjoint ranges.
    #[default]
    Disjoint,
    /// All workers use the whole file (the published layout of `jonfk2024`).
    Shared,
}

/// When written data must be on stable storage.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Stability {
    /// At the final flush (NFS: UNSTABLE and COMMIT; directory: fdatasync), whose time counts.
    #[default]
    Unstable,
    /// When each write completes (NFS: FILE_SYNC; directory: O_DSYNC).
    FileSync,
}

/// A pattern with all its settings: what a trial does, apart from its target.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Workload {
    /// Order and direction of the operations.
    pub pattern: Pattern,
    /// Bytes per operation.
    pub block: Bytes,
    /// Size of the file worked on; a multiple of `block` per worker.
    pub size: Bytes,
    /// Workers: each has a lane (an own connection) and runs on its own thread.
    pub workers: NonZeroU16,
    /// Operations in flight per worker.
    pub depth: NonZeroU16,
    /// Ranges of the workers.
    pub layout: Layout,
    /// Stability of writes.
    pub stability: Stability,
    /// Check the content of everything read, and read back everything written.
    pub verify: bool,
}
