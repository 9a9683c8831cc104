//! Patterns.

use clap::{Args, ValueEnum};
use plimsoll_model::units::{Bytes, GIB};
use plimsoll_model::{Cause, Failure, Job, JobFacts, Layout, Pattern, PatternJob, Stability};
use std::num::NonZeroU16;

const DEFAULT_SIZE: Bytes = Bytes(GIB);

#[derive(Args)]
pub struct PatternArguments {
    /// Only these patterns: sequential-read, sequential-write, random-read, random-write,
    /// random-mixed, sequential-mixed (not among those of a check that names none)
    #[arg(long = "pattern", value_name = "NAME", value_delimiter = ',')]
    pub patterns: Vec<Pattern>,
    /// Bytes per operation [default: 1MiB sequential, 4KiB random]
    #[arg(long, value_name = "SIZE")]
    pub block: Option<Bytes>,
    /// Working set: the size of the eight files together that are read, and of the eight that are
    /// written [default: 1GiB, or twice --server-memory]
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Bytes>,
    /// Read this file of each target where it is, and write nothing: for shares that are read-only;
    /// all of it, or --size of it
    #[arg(long, value_name = "NAME", conflicts_with = "server_memory")]
    pub file: Option<String>,
    /// Memory of the server: the files get twice that size where they can be laid out in a minute
    #[arg(long, value_name = "SIZE")]
    pub server_memory: Option<Bytes>,
    /// When written data must be safe: at the final flush, or at each write
    #[arg(long, value_enum, default_value_t = StabilityChoice::Unstable)]
    pub stability: StabilityChoice,
    /// Check the content of everything read, and read back everything written
    #[arg(long)]
    pub verify: bool,
    /// A published layout instead of the default one
    #[arg(long, value_enum)]
    pub design: Option<Design>,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum StabilityChoice {
    /// At the final flush, whose time counts
    Unstable,
    /// When each write completes, but for its time of change
    Datasync,
    /// When each write completes
    Filesync,
}

impl From<StabilityChoice> for Stability {
    fn from(choice: StabilityChoice) -> Self {
        match choice {
            StabilityChoice::Unstable => Stability::Unstable,
            StabilityChoice::Datasync => Stability::DataSync,
            StabilityChoice::Filesync => Stability::FileSync,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Design {
    /// Four workers of depth 1, all on the same 1 GiB (jonfk, 2024)
    Jonfk2024,
}

impl PatternArguments {
    pub fn jobs(&self, workers: NonZeroU16) -> Result<Vec<Job>, Failure> {
        let size = match (self.size, self.server_memory) {
            (Some(size), _) => size,
            // As much as there is: it is known when the file is open.
            (None, _) if self.file.is_some() => Bytes(i64::MAX as u64),
            (None, Some(memory)) => Bytes(memory.0.saturating_mul(2)),
            (None, None) => DEFAULT_SIZE,
        };
        let mut patterns = self.patterns.clone();
        patterns.sort();
        patterns.dedup();
        if patterns.is_empty() {
            patterns = Pattern::USUAL.to_vec();
            patterns.retain(|pattern| self.file.is_none() || !pattern.writes());
        }
        if let Some(file) = &self.file {
            only_reads(file, &patterns, self.verify)?;
        }
        let layout = match self.design {
            Some(Design::Jonfk2024) => Layout::Shared,
            None => Layout::Disjoint,
        };
        let job = |pattern: Pattern| {
            let block = self.block.unwrap_or(pattern.default_block());
            super::block_can_be_driven("--block", block)?;
            let (stability, verify) = (self.stability.into(), self.verify);
            let mut job = PatternJob { pattern, block, size, layout, stability, verify };
            if !job.fit(workers.get(), size.0) {
                let happened = format!("{workers} workers with blocks of {block} need more");
                let next = "Give a larger --size.";
                let on = format!("--size {size}");
                return Err(Failure::new(Cause::Usage, "plan the workload", on, happened, next));
            }
            Ok(job.into())
        };
        patterns.into_iter().map(job).collect()
    }

    /// Whether sizes may be lowered for slow targets, and to the space that there is.
    pub fn may_lower(&self) -> (bool, bool) {
        let adapt = self.size.is_none() && self.design.is_none() && self.file.is_none();
        (adapt, self.size.is_none())
    }
}

/// A file that is read in place is not written, and what it holds is its owner's.
fn only_reads(file: &str, patterns: &[Pattern], verify: bool) -> Result<(), Failure> {
    let bad = |happened: String, next: &str| {
        Err(Failure::new(
            Cause::Usage,
            "read a file in place",
            format!("--file {file}"),
            happened,
            next,
        ))
    };
    if let Some(pattern) = patterns.iter().find(|pattern| pattern.writes()) {
        return bad(
            format!("{pattern} would write, and such a file is only read"),
            "Give --pattern sequential-read,random-read, or leave --file out.",
        );
    }
    if verify {
        return bad(
            "what it holds is not known, so --verify has nothing to check it by".into(),
            "Leave --verify out, or --file.",
        );
    }
    Ok(())
}
