//! What came of each value that the trials stepped through.

use super::{Shown, speed, workload};
use crate::figure::{BANDWIDTH, COUNT, Kind};
use crate::table::Columns;
use plimsoll_explain::WorkloadFindings;
use plimsoll_model::{Measure, Metric, Parameter, Workload};
use std::collections::BTreeMap;

/// What the trials of a workload step through: its name, and the unit of its values.
pub(crate) fn parameter(workload: &Workload) -> Option<(&'static str, Kind)> {
    Some(match workload.steps.as_ref()?.over() {
        Parameter::Depth => ("in flight per worker", COUNT),
        Parameter::Workers => ("workers", COUNT),
        Parameter::Rate => ("offered rate", BANDWIDTH),
    })
}

/// What is shown of each value: the headline, and the speed where that is another figure.
fn measures(workload: &Workload) -> Vec<Measure> {
    let headline = workload.main().map(|part| part.job.headline().measure);
    let mut measures: Vec<Measure> = headline.into_iter().chain([speed(workload)]).collect();
    measures.dedup();
    measures
}

/// A row for each value, columns for each subject under each setting; `None` without steps.
pub(crate) fn table(shown: &Shown<'_>, found: &WorkloadFindings) -> Option<Columns> {
    let (name, kind) = parameter(&found.workload)?;
    // Finite values that are not negative are in the order of their bits.
    let values: BTreeMap<u64, f64> = found
        .cells
        .iter()
        .flat_map(|cell| &cell.points)
        .map(|(at, _)| (at.to_bits(), *at))
        .collect();
    let mut columns = Columns::default();
    for value in values.values() {
        columns.rows.push(format!("{name} {}", kind.value(*value)));
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
