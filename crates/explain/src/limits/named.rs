//! Bottlenecks that kinds of subject name by a rule of their own.

use crate::gather::Gathered;
use plimsoll_model::{Cell, Measure, Metric, NamedBottleneck, Study};

/// Bottleneck of a cell, by the rule of its kind of subject.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedLimit {
    /// The cell.
    pub cell: Cell,
    /// Its bottleneck.
    pub bottleneck: NamedBottleneck,
}

/// Bottlenecks of all cells that have complete trials and whose kind of subject has a rule.
pub fn named_limits(study: &Study) -> Vec<NamedLimit> {
    let gathered = Gathered::new(study);
    let workloads = (0..study.plan.workloads.len()).filter_map(|w| u16::try_from(w).ok());
    let cells = workloads.flat_map(|workload| gathered.cells(workload));
    cells.filter_map(|cell| of_cell(study, &gathered, cell)).collect()
}

fn of_cell(study: &Study, gathered: &Gathered<'_>, cell: Cell) -> Option<NamedLimit> {
    let facts = study.subjects.get(usize::from(cell.subject))?;
    let part = study.plan.workload(cell)?.headline_part();
    let results = gathered.results(cell, part);
    let mean = |measure: Measure| {
        let values = results.values(Metric::all(measure));
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    Some(NamedLimit { cell, bottleneck: facts.bottleneck(&mean)? })
}
