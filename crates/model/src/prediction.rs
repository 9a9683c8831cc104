//! Predictions that are kept with their studies.

use crate::what_if::WhatIf;
use crate::{Cell, Measure, StudyId};
use serde::{Deserialize, Serialize};

/// Prediction that was shown, to be compared with a study after the change.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptPrediction {
    /// Study that it is of.
    pub study: StudyId,
    /// When it was made, in seconds since 1970-01-01 UTC.
    pub made_unix_seconds: u64,
    /// Changes that are made together.
    pub changes: Vec<WhatIf>,
    /// Rows with a predicted range.
    pub rows: Vec<PredictedRow>,
    /// Study after the changes, if the user named it.
    pub measured: Option<StudyId>,
}

/// Predicted range of one row of a study.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PredictedRow {
    /// The row.
    pub cell: Cell,
    /// Measure of the figures: bytes or operations per second.
    pub measure: Measure,
    /// Figure before the change.
    pub today: f64,
    /// Lower end; 0 if it is not known.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Whether the upper end is a bound that other resources may keep the row from.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_bound: bool,
}
