//! The speeds side by side, as one picture.

use crate::chart::{Bar, Group, Groups};
use crate::document::Figure;
use crate::study::{Shown, speed};
use crate::text::capital;
use plimsoll_explain::{CellFindings, WorkloadFindings};
use plimsoll_model::Metric;

/// Bars up to which the picture is seen at a glance; the details have all.
const BARS: usize = 24;

pub(super) fn figure(shown: &Shown<'_>) -> Option<Figure> {
    let groups: Vec<Group> =
        shown.findings.workloads.iter().filter_map(|found| group(shown, found)).collect();
    let bars: usize = groups.iter().map(|group| group.bars.len()).sum();
    if !(2..=BARS).contains(&bars) {
        return None;
    }
    let of = match shown.findings.imported {
        true => "Bar: geometric mean of the runs, which has no interval.".to_owned(),
        false => format!(
            "Bar: geometric mean of the blocks; line: its {} interval.",
            crate::verdict::percent(shown.study.plan.design.confidence)
        ),
    };
    let caption = format!("{of} Each kind of work has a scale of its own.");
    let title = "Speed".to_owned();
    let chart = Groups { title, description: caption.clone(), groups };
    Some(Figure::new("speeds".to_owned(), Box::new(chart), caption))
}

fn group(shown: &Shown<'_>, found: &WorkloadFindings) -> Option<Group> {
    let measure = speed(&found.workload);
    let shape = shown.shape(measure);
    let bar = |cell: &CellFindings| {
        let level = cell.levels.get(&Metric::all(measure))?;
        Some(Bar {
            label: shown.names.setup(cell.cell),
            series: shown.names.place(cell.cell),
            value: level.estimate,
            interval: level.interval.map(|i| (i.low, i.high)),
        })
    };
    let bars: Vec<Bar> = found.cells.iter().filter_map(bar).collect();
    let label = capital(&super::work(shown, found));
    (!bars.is_empty()).then(|| Group { label, kind: shape.kind, unit: shape.unit(), bars })
}
