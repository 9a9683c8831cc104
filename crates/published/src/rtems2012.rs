//! Straumann, Johns, Rippa: a file read over NFS version 2 by one, two and three readers, and one written from
//! two systems.

use super::{Contradiction, Impossible, Model, named, over_the_link, quantity, rows};
use plimsoll_references::{Row, Table};
use plimsoll_stats::closed::{bound, mva, rounds};
use plimsoll_stats::fit::Estimate;
use plimsoll_stats::fit::costs::{Cell, CostKind, Groups, Work};

const READS: &str = "rtems2012_nfsread";
const SETUP: &str = "rtems2012_setup";
/// Above this share of a time, time and rate differ by more than they were rounded.
const ROUNDED: f64 = 0.005;
/// Blocks in flight up to which more of them are looked at.
const MOST_AHEAD: u16 = 64;

/// What one reader's times say, and what they predict.
#[derive(Clone, Debug)]
pub struct Reads {
    /// Seconds of an operation beside its bytes.
    pub operation: Estimate,
    /// Seconds of a byte.
    pub byte: Estimate,
    /// Several readers, predicted from one.
    pub readers: Vec<Readers>,
    /// The largest block that was read, bytes.
    pub block: f64,
    /// Of the cost of a byte, how much the link takes; `None` where its rate is not known.
    pub link: Option<f64>,
    /// The largest block that the protocol allows, bytes.
    pub largest: Option<f64>,
}

/// Several readers, in bytes per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Readers {
    /// How many.
    pub count: u16,
    /// As published.
    pub measured: f64,
    /// Where all readers' blocks are asked for together, and the next when all have come.
    pub rounds: f64,
    /// Where each reader asks as soon as its block has come (mean value analysis).
    pub open: f64,
}

/// Bytes per second of so many readers with buffers of so many bytes, as published.
pub fn published(tables: &[Table], readers: u16, buffer: u64) -> Option<f64> {
    let is_wanted = |row: &&Row| {
        row.number("readers") == Some(f64::from(readers))
            && row.number("buffer_B") == Some(buffer as f64)
    };
    Some(rows(tables, READS).iter().find(is_wanted)?.number("rate_MB_per_s")? * 1e6)
}

/// What was read, as one cell for the cost model.
fn cell(row: &Row, bytes: f64) -> Option<Cell> {
    let (seconds, buffer) = (row.number("seconds")?, row.number("buffer_B")?);
    Some(Cell {
        work: Work { files: 0.0, operations: (bytes / buffer).ceil(), bytes },
        groups: Groups::default(),
        seconds: vec![Some(seconds)],
    })
}

/// The costs by one reader. `None` where the table does not have them.
pub fn reads(tables: &[Table]) -> Option<Reads> {
    let bytes = quantity(tables, SETUP, "file")?;
    let (one, more): (Vec<&Row>, Vec<&Row>) =
        rows(tables, READS).iter().partition(|row| row.is("readers", "1"));
    let model = Model::fitted(&one.iter().filter_map(|row| cell(row, bytes)).collect::<Vec<_>>())?;
    let operation = model.cost(CostKind::Operation, 0)?;
    let byte = model.cost(CostKind::Byte, 0)?;
    let readers = |row: &&Row| {
        let (count, block) = (row.number("readers")? as u16, row.number("buffer_B")?);
        let demand = [byte.value * block];
        Some(Readers {
            count,
            measured: row.number("rate_MB_per_s")? * 1e6,
            rounds: rounds(count, &demand, operation.value)? * block,
            open: mva(count, &demand, operation.value)?.per_second * block,
        })
    };
    let link = quantity(tables, SETUP, "link").map(|bits| 8.0 / bits / byte.value);
    Some(Reads {
        readers: more.iter().filter_map(readers).collect(),
        block: one.iter().filter_map(|row| row.number("buffer_B")).reduce(f64::max)?,
        link,
        largest: quantity(tables, SETUP, "largest read of NFS version 2"),
        operation,
        byte,
    })
}

impl Reads {
    /// Bytes per second of one reader in blocks of that many bytes.
    pub fn in_blocks(&self, block: f64) -> f64 {
        block / (self.operation.value + self.byte.value * block)
    }

    /// The fewest blocks in flight with which bytes alone bound a reader that reads ahead, and the bytes per
    /// second of that.
    pub fn ahead(&self) -> Option<(u16, f64)> {
        let demand = [self.byte.value * self.block];
        let rate = |n: u16| Some((n, bound(n, &demand, self.operation.value)? * self.block));
        let enough = |(_, rate): &(u16, f64)| rate * self.byte.value > 1.0 - 1e-9;
        (1..=MOST_AHEAD).filter_map(rate).find(enough)
    }
}

/// The link in bits per second.
pub fn link(tables: &[Table]) -> Option<f64> {
    quantity(tables, SETUP, "link")
}

/// What each system wrote in bytes per second, by name: two systems that differ in more than one thing.
pub fn written(tables: &[Table]) -> Vec<(String, f64)> {
    let Some(bytes) = quantity(tables, SETUP, "file written by the two systems") else {
        return Vec::new();
    };
    let rate = |row: &Row| Some((named(row, &["system"]), bytes / row.number("seconds")?));
    rows(tables, "rtems2012_write").iter().filter_map(rate).collect()
}

/// Rows that cannot be true: more than the link can carry, and times that are not those of the rates.
pub fn contradictions(tables: &[Table]) -> Vec<Contradiction> {
    let (link, bytes) = (quantity(tables, SETUP, "link"), quantity(tables, SETUP, "file"));
    let mut found = Vec::new();
    for row in rows(tables, READS) {
        let readers = named(row, &["readers"]);
        let name = format!("{readers} readers, {} B", named(row, &["buffer_B"]));
        let (Some(rate), Some(published)) = (row.number("rate_MB_per_s"), row.number("seconds"))
        else {
            continue;
        };
        found.extend(over_the_link(name.clone(), rate * 8e6, link));
        let Some(by_rate) = bytes.map(|bytes| bytes / (rate * 1e6)) else { continue };
        if (published / by_rate - 1.0).abs() >= ROUNDED {
            let says = Impossible::TimeAndRate { published, by_rate };
            found.push(Contradiction { row: name, says });
        }
    }
    found
}
