//! The speeds side by side, as one picture.

use crate::chart::{Group, Groups};
use crate::document::Figure;
use crate::sections::common::speeds;
use crate::study::{Shown, speed};
use crate::text::capital;
use plimsoll_explain::WorkloadFindings;

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
    let shape = shown.shape(speed(&found.workload));
    let bars = speeds(shown, found);
    let label = capital(&super::work(shown, found));
    (!bars.is_empty()).then(|| Group { label, kind: shape.kind, unit: shape.unit(), bars })
}
