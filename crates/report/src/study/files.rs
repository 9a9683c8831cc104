//! Whole files that were read and written, beside those of the RTEMS list.

use super::{Shown, stalls};
use crate::columns::Columns;
use crate::figure::BANDWIDTH;
use plimsoll_explain::{CellFindings, WorkloadFindings};
use plimsoll_model::units::Bytes;
use plimsoll_model::{Arrival, Measure, Metric, Part};
use plimsoll_published::rtems2012::published;
use plimsoll_references::{source, tables};

/// What the published figures are of, and where they are from. `None` where there is none of what was measured.
pub(crate) fn published_by(shown: &Shown<'_>) -> Option<String> {
    if !files(shown).any(is_published) {
        return None;
    }
    let citation = source("rtems2012").map_or("", |source| source.citation);
    let setup = "RTEMS, 2012: NFS version 2 over 100 Mbit/s, one file of 10 MB.";
    Some(format!("{setup} Published: {citation}"))
}

/// Whole files of a study, in the order of the plan.
pub(crate) fn files<'a>(shown: &'a Shown<'_>) -> impl Iterator<Item = &'a WorkloadFindings> {
    let is_file = |found: &&WorkloadFindings| {
        found.workload.main().is_some_and(|part| part.job.kind().starts_with("file-"))
    };
    shown.findings.workloads.iter().filter(is_file)
}

/// A row for each, a column for each subject under each setting, and what was published of the same, if anything
/// was. `None` where there is none.
pub(crate) fn table(
    shown: &Shown<'_>,
    name: &dyn Fn(plimsoll_model::Cell) -> String,
) -> Option<Columns> {
    let mut columns = Columns::default();
    let setups: Vec<_> = shown.names.every_setup().collect();
    columns.columns.extend(setups.iter().map(|cell| (name(*cell), Vec::new())));
    let published = files(shown).any(is_published);
    if published {
        columns.columns.push(("RTEMS, 2012".to_owned(), Vec::new()));
    }
    for found in files(shown) {
        let Some(part) = found.workload.main() else { continue };
        let rate = |cell: &CellFindings| {
            let level = cell.levels.get(&Metric::all(Measure::THROUGHPUT))?;
            let over_all = stalls::over_all_time(shown, cell, Measure::THROUGHPUT);
            Some(BANDWIDTH.with_ends(level.estimate, level.interval) + &over_all)
        };
        let own = setups.iter().map(|setup| {
            let same = |c: &&CellFindings| {
                (c.cell.subject, c.cell.setting) == (setup.subject, setup.setting)
            };
            found.cells.iter().find(same).and_then(rate).unwrap_or("–".to_owned())
        });
        let known = published_rate(part).map_or("–".to_owned(), |rate| BANDWIDTH.value(rate));
        let known = published.then_some(known);
        columns.row(row(part), own.chain(known).collect::<Vec<_>>());
    }
    (!columns.rows.is_empty()).then_some(columns)
}

/// "read, buffers of 8 KiB, 2 readers", "write, buffers of 8 KiB, every write stable".
pub(crate) fn row(part: &Part) -> String {
    let way = part.job.kind().trim_start_matches("file-");
    let settings = part.job.settings();
    let buffers = settings.first().cloned().unwrap_or_default();
    let stability = settings.get(2).map(|stability| format!(", {stability}")).unwrap_or_default();
    let readers = match (part.depth().get(), part.arrival) {
        (1, _) => String::new(),
        (count, Arrival::Rounds { .. }) => format!(", {count} in batches"),
        (count, Arrival::Closed { .. } | Arrival::Paced { .. }) => format!(", {count} in flight"),
    };
    let techniques: String = part.techniques.iter().map(|one| format!(", {one}")).collect();
    format!("{way}, {buffers}{stability}{readers}{techniques}")
}

fn is_published(found: &WorkloadFindings) -> bool {
    found.workload.main().is_some_and(|part| published_rate(part).is_some())
}

/// Bytes per second of the same read, as published.
fn published_rate(part: &Part) -> Option<f64> {
    let reads = part.job.stability().is_none();
    let Bytes(block) = part.job.block()?;
    let same = reads && part.techniques.is_empty();
    same.then(|| published(tables(), part.depth().get(), block))?
}
