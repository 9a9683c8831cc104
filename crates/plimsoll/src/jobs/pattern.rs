//! Patterns.

use super::MayLower;
use clap::{Args, ValueEnum};
use plimsoll_model::units::{Bytes, GIB};
use plimsoll_model::{Cause, Failure, Job, JobFacts, Layout, Pattern, PatternJob, Stability};
use std::num::NonZeroU16;

const DEFAULT_SIZE: Bytes = Bytes(GIB);

#[derive(Args)]
pub struct PatternArguments {
    /// Patterns [default: all but sequential-mixed]
    ///
    /// The patterns are sequential-read, sequential-write, random-read, random-write, random-mixed and
    /// sequential-mixed
    #[arg(long = "pattern", value_name = "NAME", value_delimiter = ',')]
    pub patterns: Vec<Pattern>,
    /// Block size [default: 1MiB sequential, 4KiB random]
    ///
    /// Several sizes, such as 64KiB,1MiB, are measured in one study, and each is compared with the first
    #[arg(long = "block", value_name = "SIZE", value_delimiter = ',')]
    pub blocks: Vec<Bytes>,
    /// Working set [default: 1GiB]
    ///
    /// Total size of the eight test files for reads, and of the eight for writes. With --server-memory, the default is
    /// twice that memory
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Bytes>,
    /// Read this existing file of each target and write nothing, for read-only shares
    ///
    /// The whole file is read, or its first --size bytes
    #[arg(long, value_name = "NAME", conflicts_with = "server_memory")]
    pub file: Option<String>,
    /// Memory of the server, so that the working set exceeds it
    ///
    /// The working set becomes twice this size, if the test files can be created within a minute
    #[arg(long, value_name = "SIZE")]
    pub server_memory: Option<Bytes>,
    /// When written data must be on stable storage
    ///
    /// Several values, such as unstable,filesync, are measured in one study, and each is compared with the first
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [StabilityChoice::Unstable])]
    pub stability: Vec<StabilityChoice>,
    /// Check all content that is read or written
    #[arg(long)]
    pub verify: bool,
    /// Use a published layout of files and workers
    #[arg(long, value_enum)]
    pub design: Option<Design>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StabilityChoice {
    /// At the final flush, which is part of the measured time
    Unstable,
    /// When each write completes, except for timestamps
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
        let job = |(pattern, block, stability): (Pattern, Bytes, Stability)| {
            super::block_can_be_driven("--block", block)?;
            let verify = self.verify;
            let mut job = PatternJob { pattern, block, size, layout, stability, verify };
            if !job.fit(workers.get(), size.0) {
                let happened =
                    format!("it is too small for {workers} workers with a block size of {block}");
                let next = "Give a larger --size, a smaller --block or fewer --workers.";
                let on = format!("--size {}", size.to_string().replace(' ', ""));
                return Err(Failure::new(Cause::Usage, "plan the workload")
                    .on(on)
                    .happened(happened)
                    .next(next));
            }
            Ok(job.into())
        };
        patterns.into_iter().flat_map(|pattern| self.variants(pattern)).map(job).collect()
    }

    /// A pattern with each block size and, if it writes, each stability.
    fn variants(&self, pattern: Pattern) -> Vec<(Pattern, Bytes, Stability)> {
        let default = [pattern.default_block()];
        let blocks = if self.blocks.is_empty() { &default[..] } else { &self.blocks[..] };
        let stabilities = if pattern.writes() { &self.stability[..] } else { &self.stability[..1] };
        let mut variants = Vec::new();
        for block in blocks {
            for stability in stabilities {
                let variant = (pattern, *block, (*stability).into());
                if !variants.contains(&variant) {
                    variants.push(variant);
                }
            }
        }
        variants
    }

    /// Whether its sizes may be lowered.
    pub fn may_lower(&self) -> MayLower {
        let fit_size = self.size.is_none();
        MayLower { adapt_size: fit_size && self.design.is_none() && self.file.is_none(), fit_size }
    }
}

/// A file that is read in place is not written, and what it holds is its owner's.
fn only_reads(file: &str, patterns: &[Pattern], verify: bool) -> Result<(), Failure> {
    let bad = |happened: String, next: &str| {
        Err(Failure::new(Cause::Usage, "read a file in place")
            .on(format!("--file {file}"))
            .happened(happened)
            .next(next))
    };
    if let Some(pattern) = patterns.iter().find(|pattern| pattern.writes()) {
        return bad(
            format!("{pattern} writes, but --file only reads"),
            "Give --pattern sequential-read,random-read, or omit --file.",
        );
    }
    if verify {
        return bad(
            "--verify can only check files that plimsoll wrote".into(),
            "Omit --verify or --file.",
        );
    }
    Ok(())
}
