//! A log whose records are made stable one by one.

use clap::Args;
use plimsoll_model::units::{Bytes, MIB};
use plimsoll_model::{Failure, Job, LogJob};

#[derive(Args)]
#[command(next_help_heading = "Options of --job log")]
pub struct LogArguments {
    /// Size of a record
    #[arg(long, value_name = "SIZE", default_value = "4KiB")]
    pub record: Bytes,
}

impl LogArguments {
    pub fn jobs(&self) -> Result<Vec<Job>, Failure> {
        super::block_can_be_driven("--record", self.record)?;
        Ok(vec![LogJob { block: self.record, size: Bytes(64 * MIB) }.into()])
    }
}
