//! A walk over a tree of names.

use clap::Args;
use plimsoll_model::{Failure, Job, ScanJob};

#[derive(Args)]
#[command(next_help_heading = "The tree of --job scan")]
pub struct ScanArguments {
    /// Directories
    #[arg(long, value_name = "N", default_value = "40")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub directories: u32,
    /// Files in each directory
    #[arg(long, value_name = "N", default_value = "50")]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub files: u32,
}

impl ScanArguments {
    pub fn jobs(&self) -> Result<Vec<Job>, Failure> {
        Ok(vec![ScanJob { directories: self.directories, files: self.files }.into()])
    }
}
