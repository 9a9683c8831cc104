//! Patterns: reads and writes of equal blocks in large files.

use super::{CannotSet, Footprint, JobFacts, Settable, Stability, settable};
use crate::units::{Bytes, KIB, MIB};
use crate::{Measure, Metric, OpKind, Parameter, SubjectKind};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Order and direction of operations.
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
    /// Reads and writes, each with probability one half, either at rising offsets of their own.
    SequentialMixed,
}

impl Pattern {
    /// The patterns of a check that names none, in the order of the report.
    pub const USUAL: [Pattern; 5] = [
        Pattern::SequentialRead,
        Pattern::SequentialWrite,
        Pattern::RandomRead,
        Pattern::RandomWrite,
        Pattern::RandomMixed,
    ];

    /// All patterns: the usual ones, and then the others.
    pub const ALL: [Pattern; 6] = [
        Pattern::SequentialRead,
        Pattern::SequentialWrite,
        Pattern::RandomRead,
        Pattern::RandomWrite,
        Pattern::RandomMixed,
        Pattern::SequentialMixed,
    ];

    /// The block size used unless the user says otherwise.
    pub fn default_block(self) -> Bytes {
        if self.is_sequential() { Bytes(MIB) } else { Bytes(4 * KIB) }
    }

    /// Whether offsets rise without gaps.
    pub fn is_sequential(self) -> bool {
        matches!(
            self,
            Pattern::SequentialRead | Pattern::SequentialWrite | Pattern::SequentialMixed
        )
    }

    /// Whether reads and writes are mixed.
    pub fn is_mixed(self) -> bool {
        self.reads() && self.writes()
    }

    /// The pattern of this order that only reads, or only writes.
    pub fn one_way(self, reads: bool) -> Pattern {
        match (self.is_sequential(), reads) {
            (true, true) => Pattern::SequentialRead,
            (true, false) => Pattern::SequentialWrite,
            (false, true) => Pattern::RandomRead,
            (false, false) => Pattern::RandomWrite,
        }
    }

    /// Whether any operation reads.
    pub fn reads(self) -> bool {
        !matches!(self, Pattern::SequentialWrite | Pattern::RandomWrite)
    }

    /// Whether any operation writes.
    pub fn writes(self) -> bool {
        !matches!(self, Pattern::SequentialRead | Pattern::RandomRead)
    }

    /// The name used on the command line and in exports.
    pub fn name(self) -> &'static str {
        match self {
            Pattern::SequentialRead => "sequential-read",
            Pattern::SequentialWrite => "sequential-write",
            Pattern::RandomRead => "random-read",
            Pattern::RandomWrite => "random-write",
            Pattern::RandomMixed => "random-mixed",
            Pattern::SequentialMixed => "sequential-mixed",
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
            format!("unknown pattern '{s}'; choose from: {}", names.join(", "))
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

/// A pattern with all its settings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PatternJob {
    /// Order and direction of the operations.
    pub pattern: Pattern,
    /// Bytes per operation.
    pub block: Bytes,
    /// The working set: the size of all files that are read, and of all that are written, together; a
    /// multiple of `block` per worker.
    pub size: Bytes,
    /// Ranges of the workers.
    #[serde(default)]
    pub layout: Layout,
    /// Stability of writes.
    #[serde(default)]
    pub stability: Stability,
    /// Check the content of everything read, and read back everything written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub verify: bool,
}

/// The size of each of the files that hold `size` bytes together: one block at least.
pub(super) fn of_each(size: Bytes, block: Bytes) -> u64 {
    (size.0 / u64::from(PatternJob::FILES)).max(block.0)
}

/// Lowers a size to at most `largest` bytes, in whole units, at least one; `false` if even that is too large: it stays.
pub(super) fn fit_units(size: &mut Bytes, unit: u64, largest: u64) -> bool {
    let unit = unit.max(1);
    let fitting = size.0.min(largest) / unit * unit;
    if fitting > 0 {
        *size = Bytes(fitting);
    }
    fitting > 0
}

impl PatternJob {
    /// How many files hold what is read, and how many what is written: each block of trials begins with
    /// another, so that where a file lies on a disk is part of the spread between blocks, and in the
    /// interval.
    pub const FILES: u32 = 8;

    /// The size of each of the files, in bytes: one block at least.
    pub fn file_bytes(&self) -> u64 {
        of_each(self.size, self.block)
    }

    /// The pattern of that name, in its usual blocks.
    ///
    /// # Errors
    /// What names there are.
    pub fn named(name: &str, size: Bytes) -> Result<PatternJob, String> {
        let pattern: Pattern = name.parse()?;
        Ok(PatternJob::new(pattern, pattern.default_block(), size))
    }

    /// The usual patterns, in the order of the report, in their usual blocks.
    pub fn all(size: Bytes) -> [PatternJob; 5] {
        Pattern::USUAL.map(|pattern| PatternJob::new(pattern, pattern.default_block(), size))
    }

    /// Random reads, which show the source of reads best.
    pub fn random_reads(block: Bytes, size: Bytes) -> PatternJob {
        PatternJob::new(Pattern::RandomRead, block, size)
    }

    /// A pattern over a file of this size: each worker has its own range, writes are stable at the
    /// final flush, content is not checked.
    pub fn new(pattern: Pattern, block: Bytes, size: Bytes) -> PatternJob {
        let (layout, stability) = (Layout::default(), Stability::default());
        PatternJob { pattern, block, size, layout, stability, verify: false }
    }
}

impl JobFacts for PatternJob {
    fn kind(&self) -> &'static str {
        self.pattern.name()
    }

    fn subject(&self) -> SubjectKind {
        SubjectKind::Storage
    }

    fn headline(&self) -> Metric {
        Metric::all(Measure::THROUGHPUT)
    }

    fn speed(&self) -> Measure {
        if self.pattern.is_sequential() { Measure::THROUGHPUT } else { Measure::IOPS }
    }

    fn kinds_apart(&self) -> &'static [OpKind] {
        match self.pattern.is_mixed() {
            true => &[OpKind::READ, OpKind::WRITE],
            false => &[],
        }
    }

    fn settings(&self) -> Vec<String> {
        let mut settings = vec![format!("block size {}", self.block)];
        settings.push(match (self.size.0, self.layout) {
            (0, _) => "size unknown".to_owned(),
            (_, Layout::Disjoint) => self.size.to_string(),
            (_, Layout::Shared) => format!("{} shared by all", self.size),
        });
        match self.stability() {
            Some(Stability::FileSync) => settings.push("every write stable".to_owned()),
            Some(Stability::DataSync) => settings.push("data of every write stable".to_owned()),
            _ => {}
        }
        if self.verify {
            settings.push("content verified".to_owned());
        }
        settings
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        let layout = match self.layout {
            Layout::Disjoint => "disjoint",
            Layout::Shared => "shared",
        };
        let stability = match self.stability {
            Stability::Unstable => "unstable",
            Stability::DataSync => "data_sync",
            Stability::FileSync => "file_sync",
        };
        vec![
            ("pattern", self.pattern.to_string()),
            ("block_bytes", self.block.0.to_string()),
            ("size_bytes", self.size.0.to_string()),
            ("layout", layout.to_owned()),
            ("stability", stability.to_owned()),
            ("verify", self.verify.to_string()),
        ]
    }

    fn stability(&self) -> Option<Stability> {
        self.pattern.writes().then_some(self.stability)
    }

    fn footprint(&self) -> Footprint {
        let if_used = |used: bool, bytes: u64| if used { bytes } else { 0 };
        let files = self.file_bytes().saturating_mul(u64::from(Self::FILES)).max(self.size.0);
        Footprint {
            read: if_used(self.pattern.reads(), files),
            written: if_used(self.pattern.writes(), files),
            names: 0,
            shared: true,
            ..Footprint::default()
        }
    }

    fn settable(&self) -> Settable {
        Settable { block: true, ..Settable::OF_OPERATIONS }
    }

    fn block(&self) -> Option<Bytes> {
        Some(self.block)
    }

    fn set(&mut self, parameter: Parameter, value: f64) -> Result<(), CannotSet> {
        match parameter {
            Parameter::Block => self.block = settable::block(value)?,
            _ => return Err(CannotSet::Parameter),
        }
        Ok(())
    }

    fn fit(&mut self, workers: u16, largest: u64) -> bool {
        let ranges = match self.layout {
            Layout::Disjoint => u64::from(workers),
            Layout::Shared => 1,
        };
        fit_units(&mut self.size, self.block.0.saturating_mul(ranges), largest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_lowered_to_whole_units_of_which_there_is_one_at_least() {
        let fitted = |size, unit, largest| {
            let mut size = Bytes(size);
            (fit_units(&mut size, unit, largest), size.0)
        };
        assert_eq!(fitted(100, 30, 1000), (true, 90));
        assert_eq!(fitted(100, 30, 50), (true, 30));
        assert_eq!(fitted(100, 30, 29), (false, 100), "it stays");
        assert_eq!(fitted(100, 0, 70), (true, 70), "no unit");
        assert_eq!(fitted(0, 30, 1000), (false, 0));
    }
}
