//! What was measured after a change, beside what was predicted of it.

use super::{Answer, Prediction, WhatIf, spread};
use crate::across::planned_counterpart;
use crate::gather::Gathered;
use crate::limits;
use plimsoll_model::{Cell, PredictedRow, Study};

/// A row that was predicted, and measured after the change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// The row of the study that the prediction is of.
    pub cell: Cell,
    /// Figure after the change, in the unit of the prediction: the geometric mean over the blocks.
    pub measured: f64,
    /// Where it is.
    pub place: Place,
}

/// A measured figure beside a predicted range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The Student-t range of its blocks overlaps the predicted range.
    Inside,
    /// All of that is below it.
    Below,
    /// All of that is above it.
    Above,
}

/// The rows of predictions that have a range. No difference is a difference within the margin of the study.
pub fn predicted_rows(study: &Study, predictions: &[Prediction]) -> Vec<PredictedRow> {
    let row = |one: &Prediction| {
        let [low, high] = range(one, study.plan.design.margin)?;
        let is_bound = matches!(one.answer, Answer::AtMost { .. });
        let (cell, measure, today) = (one.cell, one.measure, one.today);
        let is_usable = [today, low, high].into_iter().all(f64::is_finite);
        is_usable.then_some(PredictedRow { cell, measure, today, low, high, is_bound })
    };
    predictions.iter().filter_map(row).collect()
}

/// The predicted rows that a later study measured with equal work. Whether the changes were really made is for the
/// user to know: a study does not record all of them. The trials of the study before the changes are not needed.
pub fn scores(
    study: &Study,
    changes: &[WhatIf],
    rows: &[PredictedRow],
    later: &Study,
) -> Vec<Score> {
    let gathered = Gathered::new(later);
    let known = limits(later);
    let planned = with_concurrency(study, changes);
    let score = |row: &PredictedRow| {
        let cell = planned_counterpart(&planned, row.cell, later)?;
        let own = known.iter().find(|limits| limits.cell == cell);
        let measured = spread::today(later, &gathered, cell, own)?;
        let place = match (measured.figure * measured.low, measured.figure * measured.high) {
            _ if measured.measure != row.measure => return None,
            (_, most) if most < row.low => Place::Below,
            (least, _) if least > row.high => Place::Above,
            _ => Place::Inside,
        };
        Some(Score { cell: row.cell, measured: measured.figure, place })
    };
    rows.iter().filter_map(score).collect()
}

/// Ends of what was predicted.
fn range(of: &Prediction, margin: f64) -> Option<[f64; 2]> {
    match of.answer {
        Answer::Same { .. } => {
            let [low, high] = of.spread.map(|times| times * of.today);
            Some([low / (1.0 + margin), high * (1.0 + margin)])
        }
        Answer::Between { low, high } => Some([low, high]),
        Answer::AtMost { low, high, .. } => Some([low.unwrap_or(0.0), high]),
        Answer::CannotSay(_) => None,
    }
}

/// The study as it would have been asked for with other numbers of workers or operations in flight.
pub(super) fn with_concurrency(study: &Study, changes: &[WhatIf]) -> Study {
    let mut study = study.clone();
    for part in study.plan.workloads.iter_mut().flat_map(|workload| &mut workload.parts) {
        for change in changes.iter().filter(|_| part.job.settable().workers) {
            match change {
                WhatIf::Readers(count) => part.workers = *count,
                WhatIf::Depth(count) => part.arrival = part.arrival.with_depth(*count),
                _ => {}
            }
        }
    }
    study
}
