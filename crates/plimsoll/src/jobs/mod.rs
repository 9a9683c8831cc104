//! The jobs of `check --job`: arguments become parts of workloads, a file each.

mod database;
mod log;
mod pattern;
mod scan;

pub use pattern::{PatternArguments, StabilityChoice};
pub use scan::ScanArguments;

use clap::builder::PossibleValuesParser;
use clap::{Args, Command};
use plimsoll_model::units::Bytes;
use plimsoll_model::{Cause, Failure, Job};
use std::num::NonZeroU16;

/// The settings of each job, and which are wanted.
#[derive(Args)]
pub struct JobArguments {
    /// Jobs: pattern reads and writes blocks of large files, scan walks a directory tree, log appends records
    /// that must be stable, database commits transactions under locks
    #[arg(long = "job", value_name = "NAME", value_delimiter = ',', default_value = "pattern")]
    #[arg(value_parser = PossibleValuesParser::new(JOBS.iter().map(|kind| kind.name)))]
    pub jobs: Vec<String>,
    #[command(flatten)]
    pub pattern: PatternArguments,
    #[command(flatten)]
    pub scan: ScanArguments,
    #[command(flatten)]
    pub log: log::LogArguments,
    #[command(flatten)]
    pub database: database::DatabaseArguments,
}

/// A job of `check --job`.
pub struct JobEntry {
    pub name: &'static str,
    /// Gives a command its options.
    pub options: fn(Command) -> Command,
    /// Makes jobs of arguments, for so many workers.
    make: fn(&JobArguments, NonZeroU16) -> Result<Vec<Job>, Failure>,
}

/// Every job, in the order of the report.
pub const JOBS: &[JobEntry] = &[
    JobEntry {
        name: "pattern",
        options: PatternArguments::augment_args,
        make: |arguments, workers| arguments.pattern.jobs(workers),
    },
    JobEntry {
        name: "scan",
        options: ScanArguments::augment_args,
        make: |arguments, _| arguments.scan.jobs(),
    },
    JobEntry {
        name: "log",
        options: log::LogArguments::augment_args,
        make: |arguments, _| arguments.log.jobs(),
    },
    JobEntry {
        name: "database",
        options: database::DatabaseArguments::augment_args,
        make: |arguments, _| arguments.database.jobs(),
    },
];

/// The requested jobs.
pub fn jobs(arguments: &JobArguments, workers: NonZeroU16) -> Result<Vec<Job>, Failure> {
    let asked = JOBS.iter().filter(|kind| arguments.jobs.iter().any(|job| job == kind.name));
    let jobs = asked.map(|kind| (kind.make)(arguments, workers));
    Ok(jobs.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

/// Whether the sizes of jobs may be lowered.
#[derive(Clone, Copy, Default)]
pub struct MayLower {
    /// For slow targets.
    pub adapt_size: bool,
    /// To the space that there is.
    pub fit_size: bool,
}

pub fn block_can_be_driven(option: &str, block: Bytes) -> Result<(), Failure> {
    if (512..=64 << 20).contains(&block.0) && block.0.is_multiple_of(512) {
        return Ok(());
    }
    let happened = "a block size must be a multiple of 512 bytes and at most 64 MiB";
    let (on, next) =
        (format!("{option} {}", block.to_string().replace(' ', "")), "Try 4KiB, 32KiB or 1MiB.");
    Err(Failure::new(Cause::Usage, "plan the workload").on(on).happened(happened).next(next))
}
