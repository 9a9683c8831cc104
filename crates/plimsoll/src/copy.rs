//! `plimsoll copy`: how long the files of a directory take, to each target and back.

use crate::arguments::{
    self, AccessArguments, HostArguments, OutputArguments, RuleArguments, StoreArguments,
};
use crate::check::{self, More};
use crate::plan::{self, Storage};
use clap::{Args, ValueEnum};
use plimsoll_load::LocalFiles;
use plimsoll_model::units::Bytes;
use plimsoll_model::{Cause, CopyJob, Failure, Length, Transfer};
use std::num::NonZeroU16;
use std::path::PathBuf;

#[derive(Args)]
pub struct CopyArguments {
    /// What to copy to: a directory, nfs:// or smb:// URL, as given to check
    #[arg(required = true, value_name = "TARGET")]
    pub targets: Vec<String>,
    /// The directory whose files are copied; it is only read
    #[arg(long, value_name = "DIR")]
    pub data: PathBuf,
    /// Only this way [default: both]
    #[arg(long, value_enum)]
    pub only: Option<Direction>,
    /// Bytes per operation
    #[arg(long, value_name = "SIZE", default_value = "1MiB")]
    pub block: Bytes,
    /// Files copied at the same time, each over a connection of its own
    #[arg(long, value_name = "N", default_value = "1")]
    pub workers: NonZeroU16,
    /// Operations in flight per file
    #[arg(long, value_name = "N", default_value = "4")]
    pub depth: NonZeroU16,
    /// Compare everything that is copied from the share with the files here, byte by byte
    #[arg(long)]
    pub verify: bool,
    #[command(flatten)]
    pub how: RuleArguments,
    #[command(flatten)]
    pub access: AccessArguments,
    #[command(flatten)]
    pub hosts: HostArguments,
    #[command(flatten)]
    pub output: OutputArguments,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Direction {
    /// To the share
    Up,
    /// From the share
    Down,
}

/// Copies, and returns the exit code.
pub fn run(copy: &CopyArguments, store: &StoreArguments) -> Result<u8, Failure> {
    if let Some(host) = copy.hosts.on.first() {
        let happened = "the files would have to be there";
        let next = "Run plimsoll copy on that host.";
        return Err(Failure::new(Cause::Usage, "copy from another host", host, happened, next));
    }
    let given = copy.data.to_str().ok_or_else(|| {
        let happened = "its name is not in UTF-8";
        let on = copy.data.display();
        Failure::new(Cause::Usage, "find the files to copy", on, happened, "Rename it.")
    })?;
    let data = LocalFiles::list(given)?;
    let job = |transfer| CopyJob {
        data: given.to_owned(),
        transfer,
        block: copy.block,
        files: data.files() as u64,
        directories: data.directories() as u64,
        bytes: data.bytes(),
        verify: copy.verify,
    };
    let jobs = [(Direction::Up, Transfer::Up), (Direction::Down, Transfer::Down)];
    let jobs = jobs.into_iter().filter(|(way, _)| copy.only.is_none_or(|only| only == *way));
    let design = plan::design(&copy.how);
    let mut plan = plan::plan(Storage {
        targets: arguments::targets(&copy.targets)?,
        hosts: &copy.hosts,
        jobs: jobs.map(|(_, transfer)| job(transfer).into()).collect(),
        length: Length::UntilDone { at_most_seconds: design.cap_seconds },
        workers: copy.workers,
        depth: copy.depth,
        engine: None,
        timeout: copy.how.timeout,
        factors: plan::factors(&copy.hosts)?,
        design,
    })?;
    plan.command = plan::repeatable_command(&plan);
    let more = More { quick: copy.how.quick, ..More::default() };
    let study = check::measure(plan, &copy.access, &copy.output, store, more)?;
    Ok(check::exit_code(&study.0, study.1))
}
