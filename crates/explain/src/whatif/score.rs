//! What was measured after a change, beside what was predicted of it.

use super::{Answer, Prediction, WhatIf, spread};
use crate::across::across;
use crate::gather::Gathered;
use crate::limits;
use plimsoll_model::{Cell, Study};

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

/// The rows of predictions that a later study measured with equal work; those of which nothing was predicted have no
/// score. Whether the changes were really made is for the user to know: a study does not record all of them.
pub fn scores(
    study: &Study,
    changes: &[WhatIf],
    predictions: &[Prediction],
    later: &Study,
) -> Vec<Score> {
    let gathered = Gathered::new(later);
    let known = limits(later);
    let pairs = across(&with_concurrency(study, changes), later).counterparts;
    let score = |one: &Prediction| {
        let cell = pairs.iter().find(|pair| pair.a == one.cell)?.b;
        let own = known.iter().find(|limits| limits.cell == cell);
        let measured = spread::today(later, &gathered, cell, own)?;
        let [low, high] = range(one, study.plan.design.margin)?;
        let place = match (measured.figure * measured.low, measured.figure * measured.high) {
            _ if measured.measure != one.measure => return None,
            (_, most) if most < low => Place::Below,
            (least, _) if least > high => Place::Above,
            _ => Place::Inside,
        };
        Some(Score { cell: one.cell, measured: measured.figure, place })
    };
    predictions.iter().filter_map(score).collect()
}

/// Ends of what was predicted; no difference is a difference within the margin.
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
fn with_concurrency(study: &Study, changes: &[WhatIf]) -> Study {
    let mut study = study.clone();
    for part in study.plan.workloads.iter_mut().flat_map(|workload| &mut workload.parts) {
        for change in changes.iter().filter(|_| part.job.has_workers()) {
            match change {
                WhatIf::Readers(count) => part.workers = *count,
                WhatIf::Depth(count) => part.arrival = part.arrival.with_depth(*count),
                _ => {}
            }
        }
    }
    study
}
