//! What came of each value that the trials stepped through.

use super::{Shown, speed, workload};
use crate::columns::Columns;
use crate::steps::{named, value};
use plimsoll_explain::WorkloadFindings;
use plimsoll_model::{Measure, Metric, RateUnit, Steps, StreamJob, Workload};
use std::collections::BTreeMap;

/// What is shown of each value: the headline, the speed where that is another figure, and of offered bytes the loss.
fn measures(workload: &Workload) -> Vec<Measure> {
    let headline = workload.main().map(|part| part.headline().measure);
    let mut measures: Vec<Measure> = headline.into_iter().chain([speed(workload)]).collect();
    measures.dedup();
    measures.extend((workload.rate_unit() == Some(RateUnit::Bytes)).then_some(StreamJob::LOSS));
    measures
}

/// A row for each value, columns for each subject under each setting; `None` without steps, and of searches, which try
/// other values in each trial.
pub(crate) fn table(shown: &Shown<'_>, found: &WorkloadFindings) -> Option<Columns> {
    let Some(Steps::Sweep { over, .. }) = found.workload.steps else { return None };
    let (name, _) = named(&found.workload, over);
    // Finite values that are not negative are in the order of their bits.
    let values: BTreeMap<u64, f64> = found
        .cells
        .iter()
        .flat_map(|cell| &cell.points)
        .map(|(at, _)| (at.to_bits(), *at))
        .collect();
    let mut columns = Columns::default();
    for at in values.values() {
        columns.rows.push(format!("{name} {}", value(&found.workload, over, *at)));
    }
    for cell in found.cells.iter().filter(|cell| !cell.points.is_empty()) {
        for measure in measures(&found.workload) {
            let shape = shown.shape(measure);
            let heading = match shown.names.setups() {
                1 => shape.heading,
                _ => format!("{}\n{}", shown.names.setup(cell.cell), shape.heading),
            };
            let level = |at: &f64| {
                let point = cell.points.iter().find(|(value, _)| value == at)?;
                point.1.get(&Metric::all(measure))
            };
            let cells = values.values().map(|at| workload::cell(shape.kind, level(at)));
            columns.columns.push((heading, cells.collect()));
        }
    }
    (!values.is_empty()).then_some(columns)
}
