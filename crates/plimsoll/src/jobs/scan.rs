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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Command, FromArgMatches};

    /// A quick scan took 121 s, the first half of them to create 2,000 files.
    #[test]
    fn a_first_look_has_a_small_tree_unless_the_user_says_how_large() {
        let trees = |words: &[&str]| {
            let command = ScanArguments::augment_args(Command::new("x").no_binary_name(true));
            let given = ScanArguments::from_arg_matches(&command.get_matches_from(words)).unwrap();
            let tree = |job: &Job| match job {
                Job::Scan(scan) => (scan.directories, scan.files),
                other => panic!("{other:?}"),
            };
            let mut job = given.jobs().unwrap().remove(0);
            let whole = tree(&job);
            given.look_soon(&mut job);
            (whole, tree(&job))
        };
        assert_eq!(trees(&[]), ((40, 50), (10, 20)));
        assert_eq!(trees(&["--files=30"]), ((40, 30), (10, 30)));
        assert_eq!(trees(&["--directories=30"]), ((30, 50), (30, 20)));
    }
}
