//! What published tables say, a file for each source. They are handed over as values: where a table or a
//! figure is missing, nothing follows from it.
#![forbid(unsafe_code)]

pub mod jonfk2024;
pub mod kofler2011;
mod model;
pub mod puskas2017;
pub mod rtems2012;
pub mod whatif;

pub use model::Model;
use plimsoll_references::{Row, Table};

/// Figures of one table that cannot all be true.
#[derive(Clone, Debug, PartialEq)]
pub struct Contradiction {
    /// The row.
    pub row: String,
    /// What it says.
    pub says: Impossible,
}

/// What cannot be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Impossible {
    /// More than the link can carry, both in bits per second.
    OverTheLink {
        /// What the row says.
        published: f64,
        /// The link.
        link: f64,
    },
    /// The time is not that of the bytes at the rate, both in seconds.
    TimeAndRate {
        /// What the row says.
        published: f64,
        /// By its rate.
        by_rate: f64,
    },
    /// Rate times latency is more than jobs can have in flight.
    InFlight {
        /// By Little's law.
        published: f64,
        /// The jobs.
        jobs: f64,
    },
    /// Shares of a processor's time are more than all of it, in percent.
    OverAll {
        /// Their sum.
        published: f64,
    },
    /// A gain is not that of the two rates, both in percent.
    Gain {
        /// What the row says.
        published: f64,
        /// By the rates.
        by_rates: f64,
    },
}

/// More than the link can carry, of this row.
fn over_the_link(row: String, published: f64, link: Option<f64>) -> Option<Contradiction> {
    let link = link.filter(|link| published > *link)?;
    Some(Contradiction { row, says: Impossible::OverTheLink { published, link } })
}

/// The rows of the table of that name; none where it is missing.
fn rows<'a>(tables: &'a [Table], name: &str) -> &'a [Row] {
    tables.iter().find(|table| table.name == name).map_or(&[], Table::rows)
}

/// What a table of `item`, `value` and `unit` says of an item, in bits per second, bytes or as it is.
fn quantity(tables: &[Table], name: &str, item: &str) -> Option<f64> {
    let row = rows(tables, name).iter().find(|row| row.is("item", item))?;
    let unit = match row.text("unit") {
        None | Some("B" | "rpm") => 1.0,
        Some("Mbit/s" | "MB" | "MHz") => 1e6,
        Some("Gbit/s" | "GB") => 1e9,
        Some("GiB") => (1_u64 << 30) as f64,
        Some(_) => return None,
    };
    row.number("value").map(|value| value * unit).filter(|value| *value > 0.0)
}

/// What a row is called, by some of its columns.
fn named(row: &Row, columns: &[&str]) -> String {
    let cells: Vec<&str> = columns.iter().filter_map(|column| row.text(column)).collect();
    cells.join(", ").replace('_', " ")
}
