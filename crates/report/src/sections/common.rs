//! What charts of several sections have in common.

use crate::chart::Bar;
use crate::study::{Shown, speed};
use crate::verdict::percent;
use plimsoll_explain::{CellFindings, WorkloadFindings};
use plimsoll_model::{Metric, Workload};

/// Most lines that can be told apart in one chart.
pub(super) const MOST_LINES: usize = 8;
/// Most rows that a chart of rows has; the tables have all.
pub(super) const MOST_ROWS: usize = 40;

/// Says so where not all of the targets are in a chart.
pub(super) fn only_some(shown: usize, all: usize) -> String {
    match all > shown {
        true => format!(" The chart has the first {shown} of {all} targets."),
        false => String::new(),
    }
}

/// The kind of the first job of a workload: for links.
pub(super) fn kind(workload: &Workload) -> &'static str {
    workload.main().map_or("nothing", |part| part.job.kind())
}

/// The cells that have a line in charts of lines, and a remark where those are not all.
pub(super) fn lined(found: &WorkloadFindings) -> (impl Iterator<Item = &CellFindings>, String) {
    let with = || found.cells.iter().filter(|c| c.complete > 0);
    (with().take(MOST_LINES), only_some(MOST_LINES, with().count()))
}

/// A bar for the speed of every cell that has one.
pub(super) fn speeds(shown: &Shown<'_>, found: &WorkloadFindings) -> Vec<Bar> {
    let measure = speed(&found.workload);
    let bar = |cell: &CellFindings| {
        let level = cell.levels.get(&Metric::all(measure))?;
        Some(Bar {
            label: shown.names.setup(cell.cell),
            series: shown.names.place(cell.cell),
            value: level.estimate,
            interval: level.interval.map(|i| (i.low, i.high)),
        })
    };
    found.cells.iter().filter_map(bar).collect()
}

/// In place of the verdict on two figures that are of other work.
pub(super) const OTHER_WORK: &str = "not compared: different work";

/// Above a column of verdicts: "verdict (95%)"; the verdicts of all rows hold together.
pub(super) fn verdicts(confidence: f64, single_runs: bool) -> String {
    match single_runs {
        true => "ratio of single runs".to_owned(),
        false => format!("verdict ({})", percent(confidence)),
    }
}
