//! The jobs of `check --job`: arguments become parts of workloads, a file each.

mod pattern;
mod scan;

pub use pattern::PatternArguments;
pub use scan::ScanArguments;

use clap::Args;
use clap::builder::PossibleValuesParser;
use plimsoll_model::{Failure, Job};
use std::num::NonZeroU16;

/// The settings of each job, and which are wanted.
#[derive(Args)]
pub struct JobArguments {
    /// What is done: pattern, reads and writes of blocks in one large file; scan, a walk over a tree
    /// of names
    #[arg(long = "job", value_name = "NAME", value_delimiter = ',', default_value = "pattern")]
    #[arg(value_parser = PossibleValuesParser::new(JOBS.map(|(name, _)| name)))]
    pub jobs: Vec<String>,
    #[command(flatten)]
    pub pattern: PatternArguments,
    #[command(flatten)]
    pub scan: ScanArguments,
}

/// Makes jobs of arguments, for so many workers.
type Make = fn(&JobArguments, NonZeroU16) -> Result<Vec<Job>, Failure>;

/// Every job there is, in the order of the report.
const JOBS: [(&str, Make); 2] = [
    ("pattern", |arguments, workers| arguments.pattern.jobs(workers)),
    ("scan", |arguments, _| arguments.scan.jobs()),
];

/// The jobs that are asked for.
pub fn jobs(arguments: &JobArguments, workers: NonZeroU16) -> Result<Vec<Job>, Failure> {
    let asked = JOBS.iter().filter(|(name, _)| arguments.jobs.iter().any(|job| job == name));
    let jobs = asked.map(|(_, make)| make(arguments, workers));
    Ok(jobs.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}
