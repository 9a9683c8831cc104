//! Copies beside those that Puskas published: the same datasets, to a home's router and back.

use crate::columns::Columns;
use crate::document::{Layout, Section};
use crate::figure::{BANDWIDTH, TIME};
use crate::study::Shown;
use crate::study::copies::{Copies, CopyColumn, same_setup};
use plimsoll_explain::CopyCosts;
use plimsoll_model::{Cell, DataClass};
use plimsoll_published::puskas2017::{cell, transfers};
use plimsoll_references::{Row, table, tables};
use plimsoll_stats::fit::costs::CostKind;

const TABLE: &str = "puskas2017_transfer";
/// Of the two that were measured.
const BLOCK: &str = "32768";
const EXPORTS: [&str; 2] = ["sync", "async"];
const NOTHING: &str = "–";

/// The way as the table has it.
fn direction(way: &str) -> Option<&'static str> {
    [("up", "upload"), ("down", "download")]
        .iter()
        .find(|(own, _)| *own == way)
        .map(|(_, its)| *its)
}

fn dataset(class: DataClass) -> &'static str {
    match class {
        DataClass::Movies => "Movies",
        DataClass::Music => "Music",
        DataClass::Pictures => "Pictures",
        DataClass::Source => "linux-4.9",
    }
}

/// Empty where none of its datasets was copied.
pub(crate) fn section(shown: &Shown<'_>) -> Section {
    let mut section = Section::details("published", "Compared with a published router");
    let (Some(copies), Some(table)) = (Copies::new(shown), table(TABLE)) else {
        return section;
    };
    let rows = table.rows();
    let model = transfers(tables()).map(|transfers| transfers.model);
    let name = |cell: Cell| shown.names.setup(cell);
    let mut columns = Columns::with_headings(EXPORTS.map(|_| ""));
    for (column, export) in columns.columns.iter_mut().zip(EXPORTS) {
        column.0 = format!("N750\n{export}");
    }
    for column in &copies.columns {
        let heading = match copies.heading(*column, &name) {
            heading if heading.is_empty() => name(column.setup),
            heading => heading,
        };
        columns.columns.push((heading, Vec::new()));
    }
    let costs_of = |column: &CopyColumn, way: &str| -> Option<&CopyCosts> {
        let same = |costs: &&CopyCosts| {
            same_setup(costs.cell, column.setup) && costs.way() == (way, column.method)
        };
        shown.costs.iter().find(same)
    };
    let mut ways: Vec<&str> = Vec::new();
    for costs in &shown.costs {
        let way = costs.way().0;
        ways.extend(Some(way).filter(|way| !ways.contains(way)));
    }
    for way in ways {
        let Some(direction) = direction(way) else { continue };
        for class in DataClass::ALL {
            let published = EXPORTS.map(|export| rate(rows, class, direction, export));
            let own = |column| {
                let dataset =
                    costs_of(column, way)?.datasets.iter().find(|d| d.work.class == Some(class))?;
                Some(BANDWIDTH.value(dataset.work.bytes.0 as f64 / dataset.seconds.value))
            };
            let own: Vec<Option<String>> = copies.columns.iter().map(own).collect();
            if own.iter().any(Option::is_some) {
                add(&mut columns, format!("{} {way}", class.title()), published, own);
            }
        }
        let own = |column| {
            let costs = costs_of(column, way).filter(|costs| costs.contradiction().is_none())?;
            Some(TIME.value(costs.cost(CostKind::File)?.value))
        };
        let own: Vec<Option<String>> = copies.columns.iter().map(own).collect();
        if own.iter().any(Option::is_some) {
            let published = EXPORTS.map(|export| {
                let row = rows.iter().find(|row| is(row, direction, export))?;
                let cost = model.as_ref()?.cost(CostKind::File, cell(row)?.groups.file)?;
                Some(TIME.value(cost.value))
            });
            add(&mut columns, format!("per file {way}"), published, own);
        }
    }
    if !columns.rows.is_empty() {
        section.table(columns.table(), Layout::Figures);
        section.text(
            "Published: Z. Puskas, \"Router NFS performance benchmark\", 2017: rsync from and to memory, \
             TP-Link N750 with a USB disk, NFS with a block size of 32 KiB, export option as in the heading. The \
             fixed cost per file is fitted to all 32 published times.",
        );
    }
    section
}

fn add(
    columns: &mut Columns,
    name: String,
    published: [Option<String>; 2],
    own: Vec<Option<String>>,
) {
    let cells = published.into_iter().chain(own).map(|cell| cell.unwrap_or(NOTHING.to_owned()));
    columns.row(name, cells);
}

fn is(row: &Row, direction: &str, export: &str) -> bool {
    row.text("direction") == Some(direction) && row.text("export") == Some(export)
}

fn rate(rows: &[Row], class: DataClass, direction: &str, export: &str) -> Option<String> {
    let same = |row: &&Row| {
        is(row, direction, export)
            && row.text("dataset") == Some(dataset(class))
            && row.text("block_size_B") == Some(BLOCK)
    };
    Some(BANDWIDTH.value(rows.iter().find(same)?.number("rate_B_per_s")?))
}
