//! Puskas: four datasets copied to a disk at a router and back, one file at a time.

use super::{Contradiction, Impossible, Model, named, over_the_link, quantity, rows};
use plimsoll_explain::thresholds::PUBLISHED_PROCESSOR_FULL;
use plimsoll_references::{Row, Table};
use plimsoll_stats::fit::Estimate;
use plimsoll_stats::fit::costs::{Cell, CostKind, Groups, Work};

const TRANSFERS: &str = "puskas2017_transfer";
const SETUP: &str = "puskas2017_setup";
/// Seven rounded percentages may add up to so much more than 100.
const ROUNDED: f64 = 3.5;
/// What is not in the fit when it is tried on what it has not seen.
const LEFT_OUT: [&str; 2] = ["Pictures", "Music"];

/// Groups of what a file costs: uploads to a `sync` export, to an `async` one, and downloads.
pub const FILES: [u32; 3] = [0, 1, 2];
/// Groups of what an operation and a byte cost: uploads, and downloads.
pub const WAYS: [u32; 2] = [0, 1];

/// The times, and the model of all of them.
#[derive(Clone, Debug)]
pub struct Transfers {
    /// Each time, in the order published.
    pub times: Vec<Time>,
    /// Uploads: a file with `sync`, one with `async`, an operation, a byte; downloads: a file, an operation,
    /// a byte.
    pub model: Model,
    /// The largest error of Pictures and Music, as a share, where the model is made from the rest.
    pub left_out: Option<f64>,
    /// Uploads alone, a byte with a cost of its own under either export.
    by_export: Option<Model>,
}

/// A published time.
#[derive(Clone, Debug)]
pub struct Time {
    /// Its row.
    pub row: Row,
    /// Seconds, to half a second.
    pub seconds: f64,
    /// Seconds by the model.
    pub by_model: Option<f64>,
    cell: Cell,
}

/// What a change did to a cost: before, and after.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Before.
    pub before: Estimate,
    /// After.
    pub after: Estimate,
}

impl Change {
    /// Whether the intervals of the two leave no doubt that they differ.
    pub fn shows(&self) -> bool {
        let both = self.before.interval.zip(self.after.interval);
        both.is_some_and(|(before, after)| after.high < before.low || before.high < after.low)
    }
}

/// What larger blocks did to a time.
#[derive(Clone, Debug)]
pub struct Blocks {
    /// Size of the blocks in bytes: before, and after.
    pub bytes: [f64; 2],
    /// Operations: before, and after.
    pub operations: [f64; 2],
    /// Seconds measured: before, and after.
    pub seconds: [f64; 2],
    /// The operations that were saved, at what one costs, in seconds.
    pub by_model: f64,
    /// Which dataset, which way, under which export.
    pub name: String,
}

/// A row of the transfers for the cost model; `None` of other tables' rows. Up, what a file costs depends on
/// the export; nothing else does.
pub fn cell(row: &Row) -> Option<Cell> {
    let (files, mean) = (row.number("file_count")?, row.number("mean_file_size_B")?);
    let blocks = (mean / row.number("block_size_B")?).ceil();
    let ([sync, asynchronous, down], [up, back]) = (FILES, WAYS);
    let (file, way) = match (row.text("direction")?, row.text("export")?) {
        ("upload", "sync") => (sync, up),
        ("upload", "async") => (asynchronous, up),
        ("download", _) => (down, back),
        _ => return None,
    };
    let groups = Groups { file, operation: way, byte: way };
    Some(Cell {
        work: Work { files, operations: files * blocks, bytes: files * mean },
        groups,
        // Whole seconds and a half: to half a second it is the time.
        seconds: vec![Some(row.number("elapsed_s")? + 0.5)],
    })
}

/// The model of all transfers; `None` where there are none, or none that can be fitted.
pub fn transfers(tables: &[Table]) -> Option<Transfers> {
    let known: Vec<(&Row, Cell)> =
        rows(tables, TRANSFERS).iter().filter_map(|row| Some((row, cell(row)?))).collect();
    let cells =
        |rows: &[(&Row, Cell)]| -> Vec<Cell> { rows.iter().map(|(_, c)| c.clone()).collect() };
    let model = Model::fitted(&cells(&known))?;
    let time = |(row, cell): &(&Row, Cell)| Time {
        row: (*row).clone(),
        seconds: seconds(cell),
        by_model: model.seconds(cell),
        cell: cell.clone(),
    };
    let is_left_out = |(row, _): &(&Row, Cell)| LEFT_OUT.iter().any(|d| row.is("dataset", d));
    let (left_out, rest): (Vec<_>, Vec<_>) = known.iter().cloned().partition(is_left_out);
    let off = |rest: Model| {
        let error =
            |(_, cell): &(&Row, Cell)| Some((rest.seconds(cell)? / seconds(cell) - 1.0).abs());
        let errors = left_out.iter().map(error).collect::<Option<Vec<f64>>>()?;
        errors.into_iter().reduce(f64::max)
    };
    let by_export = |(_, cell): &(&Row, Cell)| {
        let Groups { file, operation, .. } = cell.groups;
        let groups = Groups { file, operation, byte: file };
        (operation == WAYS[0]).then(|| Cell { groups, ..cell.clone() })
    };
    Some(Transfers {
        times: known.iter().map(time).collect(),
        left_out: Model::fitted(&cells(&rest)).and_then(off),
        by_export: Model::fitted(&known.iter().filter_map(by_export).collect::<Vec<_>>()),
        model,
    })
}

fn seconds(cell: &Cell) -> f64 {
    cell.seconds.first().copied().flatten().unwrap_or_default()
}

impl Transfers {
    /// What a file costs up, with `sync` and `async`.
    pub fn per_file_up(&self) -> Option<Change> {
        let cost = |group| self.model.cost(CostKind::File, group);
        Some(Change { before: cost(FILES[0])?, after: cost(FILES[1])? })
    }

    /// What a byte costs up, with `sync` and `async`, where each may have a cost of its own.
    pub fn per_byte_up(&self) -> Option<Change> {
        let cost = |group| self.by_export.as_ref()?.cost(CostKind::Byte, group);
        Some(Change { before: cost(FILES[0])?, after: cost(FILES[1])? })
    }

    /// What larger blocks did, of the same files the same way under the same export; the one that had most
    /// operations in either direction.
    pub fn blocks(&self) -> Vec<Blocks> {
        let mut found: Vec<(u32, Blocks)> = Vec::new();
        for before in &self.times {
            let same = |other: &&Time| {
                let alike = ["dataset", "direction", "export"]
                    .iter()
                    .all(|column| other.row.text(column) == before.row.text(column));
                alike && other.cell.work.operations < before.cell.work.operations
            };
            let Some(after) = self.times.iter().find(same) else { continue };
            let group = before.cell.groups.operation;
            let Some(cost) = self.model.cost(CostKind::Operation, group) else { continue };
            let operations = [before, after].map(|time| time.cell.work.operations);
            let Some(bytes) =
                before.row.number("block_size_B").zip(after.row.number("block_size_B"))
            else {
                continue;
            };
            let blocks = Blocks {
                bytes: [bytes.0, bytes.1],
                operations,
                seconds: [before.seconds, after.seconds],
                by_model: (operations[0] - operations[1]) * cost.value,
                name: named(&before.row, &["dataset", "direction", "export"]),
            };
            match found.iter_mut().find(|(of, _)| *of == group) {
                Some((_, known)) if known.operations[0] >= operations[0] => {}
                Some((_, known)) => *known = blocks,
                None => found.push((group, blocks)),
            }
        }
        found.into_iter().map(|(_, blocks)| blocks).collect()
    }
}

/// How busy the router's processor was.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// What was done, and under which export.
    pub name: String,
    /// Percent of the time by class that is work, those that had some.
    pub classes: Vec<(&'static str, f64)>,
    /// Percent waiting with I/O outstanding: idle, not busy.
    pub waiting: f64,
    /// Percent idle.
    pub idle: f64,
}

impl Load {
    /// Percent of the time that the processor worked.
    pub fn busy(&self) -> f64 {
        self.classes.iter().map(|(_, percent)| percent).sum()
    }

    /// Whether the processor is the limit.
    pub fn is_limit(&self) -> bool {
        self.busy() >= 100.0 * PUBLISHED_PROCESSOR_FULL
    }
}

/// The load of each kind of work.
pub fn loads(tables: &[Table]) -> Vec<Load> {
    const BUSY: [(&str, &str); 5] =
        [("sys", "system"), ("sirq", "softirq"), ("usr", "user"), ("nic", "nice"), ("irq", "irq")];
    let load = |row: &Row| {
        let class = |(column, name)| Some((name, row.number(column)?));
        let mut classes = BUSY.into_iter().map(class).collect::<Option<Vec<_>>>()?;
        classes.retain(|(_, percent)| *percent > 0.0);
        Some(Load {
            name: named(row, &["operation", "export"]),
            classes,
            waiting: row.number("io")?,
            idle: row.number("idle")?,
        })
    };
    rows(tables, "puskas2017_cpu_load").iter().filter_map(load).collect()
}

/// The router's link in bits per second.
pub fn link(tables: &[Table]) -> Option<f64> {
    quantity(tables, SETUP, "link")
}

/// The largest share of the link and of the disk's bus that a transfer takes, payload alone.
pub fn shares(tables: &[Table]) -> Vec<(&'static str, f64)> {
    let rates = rows(tables, TRANSFERS).iter().filter_map(|row| row.number("rate_B_per_s"));
    let Some(fastest) = rates.reduce(f64::max) else { return Vec::new() };
    let share = |item| Some((item, fastest * 8.0 / quantity(tables, SETUP, item)?));
    ["link", "bus of the disk"].into_iter().filter_map(share).collect()
}

/// Rows that cannot be true: more than the link can carry, times that are not those of their rates to half
/// a second (what rsync sends beside the bytes counts too), and a processor that is busy for longer than there
/// is time.
pub fn contradictions(tables: &[Table]) -> Vec<Contradiction> {
    let link = quantity(tables, SETUP, "link");
    let mut found = Vec::new();
    for row in rows(tables, TRANSFERS) {
        let name = named(row, &["dataset", "direction", "export", "block_size_B"]);
        let (Some(cell), Some(rate)) = (cell(row), row.number("rate_B_per_s")) else { continue };
        found.extend(over_the_link(name.clone(), rate * 8.0, link));
        let (published, by_rate) = (seconds(&cell), cell.work.bytes / rate);
        if (published - by_rate).abs() >= 0.5 {
            let says = Impossible::TimeAndRate { published, by_rate };
            found.push(Contradiction { row: name, says });
        }
    }
    for load in loads(tables) {
        let published = load.busy() + load.waiting + load.idle;
        if published > 100.0 + ROUNDED {
            found.push(Contradiction { row: load.name, says: Impossible::OverAll { published } });
        }
    }
    found
}
