//! Whether writes are what the storage sustains, or a burst that a cache takes.

use crate::gather::Gathered;
use plimsoll_model::{Burst, Cell, Measure, Metric, Study};
use plimsoll_stats::interval::mean;

/// What the writes of one cell are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Writes {
    /// Subject, workload and setting.
    pub cell: Cell,
    /// Sustained, or why they are a burst's.
    pub sustained: Result<(), Burst>,
}

/// For every cell that has trials and whose writes something is known of: they are sustained where the
/// rate was steady before the first block and the trials' mean is within the plan's margin of it. Pauses
/// between trials let a cache get free again; trials too short for what a flush takes are slower.
pub fn writes(study: &Study) -> Vec<Writes> {
    let gathered = Gathered::new(study);
    let margin = study.plan.design.margin.ln_1p();
    let mut all = Vec::new();
    for (subject, facts) in study.subjects.iter().enumerate() {
        for state in facts.storage().map_or(&[][..], |facts| &facts.writes) {
            let workload = study.plan.workloads.get(usize::from(state.workload));
            let part = workload.map_or(0, |workload| workload.headline_part());
            let cells = gathered.cells(state.workload).into_iter();
            for cell in cells.filter(|cell| usize::from(cell.subject) == subject) {
                let logs = gathered.results(cell, part).logs(Metric::all(Measure::THROUGHPUT));
                let Some(log) = mean(&logs) else { continue };
                let sustained = match state.steady_bytes_per_second {
                    Some(steady) if (log - steady.ln()).abs() <= margin => Ok(()),
                    Some(_) => Err(Burst::NotAgreed),
                    None if state.seconds > 0.0 => Err(Burst::NotSteady),
                    None => Err(Burst::NotConditioned),
                };
                all.push(Writes { cell, sustained });
            }
        }
    }
    all
}
