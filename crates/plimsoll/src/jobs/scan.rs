//! A walk over a tree of names.

use clap::Args;
use plimsoll_model::{Failure, Job, ScanJob};

/// The tree of a first look.
const QUICK_DIRECTORIES: u32 = 10;
const QUICK_FILES: u32 = 20;

#[derive(Args)]
#[command(next_help_heading = "Options of --job scan")]
pub struct ScanArguments {
    /// Number of directories [default: 40; 10 with --quick]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub directories: Option<u32>,
    /// Number of files in each directory [default: 50; 20 with --quick]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub files: Option<u32>,
}

impl ScanArguments {
    pub fn jobs(&self) -> Result<Vec<Job>, Failure> {
        let default = ScanJob::default();
        let directories = self.directories.unwrap_or(default.directories);
        let files = self.files.unwrap_or(default.files);
        Ok(vec![ScanJob { directories, files, ..default }.into()])
    }

    /// Makes the tree of a first look smaller where its size is left open: one that takes a minute to create has
    /// as much to tell as one that takes seconds.
    pub fn look_soon(&self, job: &mut Job) {
        if let Job::Scan(scan) = job {
            scan.directories = self.directories.unwrap_or(QUICK_DIRECTORIES);
            scan.files = self.files.unwrap_or(QUICK_FILES);
        }
    }
}
