//! The trials of a search for the highest rate that is kept, as a staircase with its knee.

use crate::chart::{Axis, Stair, Staircase};
use crate::document::Figure;
use crate::figure::RATE;
use crate::study::Shown;
use crate::text::capital;
use plimsoll_explain::WorkloadFindings;
use plimsoll_model::{Measure, Metric, Outcome, PartResult, Steps, Trial};

/// Frames received at each offered rate, of all blocks; `None` of other trials, and of several setups.
pub(super) fn figure(
    shown: &Shown<'_>,
    found: &WorkloadFindings,
    id: String,
    name: &str,
) -> Option<Figure> {
    let Some(Steps::Kept { losses, .. }) = &found.workload.steps else { return None };
    let [cell] = found.cells.as_slice() else { return None };
    let value = |part: Option<&PartResult>, measure: Measure| {
        part?.quantities.get(&Metric::all(measure)).copied()
    };
    let own = |trial: &&Trial| trial.cell == cell.cell && trial.result.outcome == Outcome::Complete;
    let goal = losses.first().copied().unwrap_or_default();
    let trials: Vec<&Trial> = shown.study.trials.iter().filter(own).collect();
    let mut stairs: Vec<Stair> = trials
        .iter()
        .flat_map(|trial| &trial.points)
        .filter_map(|point| {
            let part = point.parts.first();
            let offered = value(part, Measure::OFFERED_FRAMES)?;
            let carried = value(part, Measure::PACKETS)?;
            let loss = 1.0 - carried / offered.max(1.0);
            Some(Stair { offered, carried, passed: point.accepted.unwrap_or(loss <= goal) })
        })
        .collect();
    stairs.sort_by(|a, b| a.offered.total_cmp(&b.offered));
    if stairs.len() < 2 {
        return None;
    }
    let kept = cell.levels.get(&Metric::all(Measure::KEPT)).map(|level| level.estimate);
    let caption = "Frames received per second at each rate that was offered, all trials of all searches. Line: the \
         highest rate that was kept.";
    let chart = Staircase {
        title: format!("{}: frames by offered rate", capital(name)),
        description: caption.to_owned(),
        x: Axis::new("frames offered per second", RATE),
        y: Axis::new("frames received per second", RATE),
        stairs,
        knee: kept.map(|kept| (kept, "kept".to_owned())),
    };
    Some(Figure::new(id, Box::new(chart), caption.to_owned()))
}
