//! Patterns beside those that jonfk published, over NFS and SMB.

use crate::columns::Columns;
use crate::document::{Layout, Section};
use crate::study::{Shown, speed};
use crate::text::listed;
use plimsoll_explain::WorkloadFindings;
use plimsoll_model::{Cell, Measure, Metric};
use plimsoll_published::jonfk2024::{Published, jobs, published};
use plimsoll_references::tables;

/// Blocks are as large where they differ by less than this share: the published ones are quotients of rounded
/// figures.
const ALIKE: f64 = 0.05;

/// Empty where none of its patterns was measured.
pub(super) fn section(shown: &Shown<'_>) -> Section {
    let mut section = Section::new("published", "");
    let all = published(tables());
    let setups: Vec<Cell> = shown.names.every_setup().collect();
    let protocols: Vec<&str> = ["NFS", "SMB"].into();
    let mut table = Columns::with_headings([]);
    table.columns.extend(protocols.iter().map(|name| (format!("published\n{name}"), Vec::new())));
    table.columns.extend(setups.iter().map(|setup| (shown.names.setup(*setup), Vec::new())));
    let mut apart = Vec::new();
    for found in &shown.findings.workloads {
        let same: Vec<&Published> = all.iter().filter(|row| is_kind(found, row)).collect();
        if same.is_empty() {
            continue;
        }
        let name = shown.names.workload(found.number);
        if !same.iter().all(|row| is_alike(found, row)) {
            apart.push(name);
            continue;
        }
        let measure = speed(&found.workload);
        let shape = shown.shape(measure);
        let row_of = |protocol: &&str| same.iter().find(|row| row.protocol == **protocol);
        let cells = protocols.iter().map(|protocol| {
            row_of(protocol).map(|row| match measure {
                Measure::IOPS => row.per_second,
                _ => row.bytes_per_second,
            })
        });
        let own = setups.iter().map(|setup| {
            let same = |cell: &&plimsoll_explain::CellFindings| {
                (cell.cell.subject, cell.cell.setting) == (setup.subject, setup.setting)
            };
            let level = found.cells.iter().find(same)?.levels.get(&Metric::all(measure))?;
            Some(level.estimate)
        });
        let cells: Vec<Option<f64>> = cells.chain(own).collect();
        let shown =
            |value: &Option<f64>| value.map_or("–".to_owned(), |value| shape.plain(value));
        table.row(name, cells.iter().map(shown));
    }
    section.table(table.table(), Layout::Figures);
    if !apart.is_empty() {
        section.text(format!(
            "Not comparable, because the block size or the number of operations in flight differs: {}.",
            listed(&apart)
        ));
    }
    if !table.rows.is_empty() {
        section.text(
            "Published: fio on mounts of a NAS; plimsoll explain jonfk2024 shows its bottlenecks. Servers, \
             links and clients differ, so the cause of a difference is unknown.",
        );
    }
    section
}

/// Whether a row is of the same pattern.
fn is_kind(found: &WorkloadFindings, row: &Published) -> bool {
    found.workload.main().is_some_and(|part| part.job.kind().replace('-', "_") == row.pattern)
}

/// Whether as much was in flight, in blocks as large, and nothing else was done beside it.
fn is_alike(found: &WorkloadFindings, row: &Published) -> bool {
    let [part] = &found.workload.parts[..] else { return false };
    let in_flight = f64::from(part.workers.get()) * f64::from(part.depth().get());
    let parameters = part.job.parameters();
    let block = parameters.iter().find(|(name, _)| *name == "block_bytes");
    let block = block.and_then(|(_, bytes)| bytes.parse::<f64>().ok());
    let same_block = block.is_some_and(|block| (block / row.block() - 1.0).abs() < ALIKE);
    same_block && jobs(tables()) == Some(in_flight) && found.workload.steps.is_none()
}
