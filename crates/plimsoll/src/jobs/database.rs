//! A database in a file.

use clap::Args;
use plimsoll_model::units::Bytes;
use plimsoll_model::{DatabaseJob, Failure, Job};

/// Smallest and largest page of SQLite.
const PAGES: std::ops::RangeInclusive<u64> = 512..=65536;

#[derive(Args)]
#[command(next_help_heading = "Options of --job database")]
pub struct DatabaseArguments {
    /// Size of a page
    #[arg(long, value_name = "SIZE", default_value = "4KiB", value_parser = page)]
    pub page: Bytes,
}

/// A page as SQLite may have it.
fn page(text: &str) -> Result<Bytes, String> {
    let page: Bytes = text.parse()?;
    match PAGES.contains(&page.0) && page.0.is_power_of_two() {
        true => Ok(page),
        false => Err("a page has 512 bytes to 64 KiB, and is a power of two".to_owned()),
    }
}

impl DatabaseArguments {
    pub fn jobs(&self) -> Result<Vec<Job>, Failure> {
        Ok(vec![DatabaseJob { block: self.page, ..DatabaseJob::default() }.into()])
    }
}
