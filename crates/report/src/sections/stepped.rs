//! What the trials stepped through, as lines.

use super::common::lined;
use crate::chart::{Axis, Line, Lines, Point};
use crate::document::Figure;
use crate::steps;
use crate::study::{Shown, speed};
use crate::text::capital;
use plimsoll_explain::WorkloadFindings;
use plimsoll_model::Metric;

/// The speed at each value; `None` of trials without steps, or with a single value.
pub(super) fn figure(
    shown: &Shown<'_>,
    found: &WorkloadFindings,
    id: String,
    name: &str,
) -> Option<Figure> {
    let (parameter, kind) = steps::parameter(&found.workload)?;
    let measure = speed(&found.workload);
    let shape = shown.shape(measure);
    let (cells, only) = lined(found);
    let mut lines = Vec::new();
    for cell in cells {
        let point = |(at, levels): &(f64, plimsoll_explain::Levels)| {
            let level = levels.get(&Metric::all(measure))?;
            let band = level.interval.map(|i| (i.low, i.high));
            Some(Point { x: *at, y: level.estimate, band })
        };
        let points: Vec<Point> = cell.points.iter().filter_map(point).collect();
        if points.len() > 1 {
            let label = shown.names.setup(cell.cell);
            lines.push(Line { label, series: shown.names.place(cell.cell), points });
        }
    }
    let caption = format!("Geometric mean of the blocks at each value, with its interval.{only}");
    let chart = Lines {
        title: format!("{}: {} by {parameter}", capital(name), shape.name),
        description: caption.clone(),
        x: Axis::new(parameter, kind),
        y: Axis::new(&shape.name, shape.kind),
        lines,
        phases: Vec::new(),
        names: Vec::new(),
    };
    (!chart.lines.is_empty()).then(|| Figure::new(id, Box::new(chart), caption))
}
