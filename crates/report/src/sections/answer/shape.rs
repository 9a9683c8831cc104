//! The shape of the answer's table: whether each setting is a column, whether each comparison has a row, and how
//! verdicts are written.

use crate::study::Shown;
use crate::verdict::Column;

/// Rows of a table that is still seen at once.
const ROWS: usize = 15;
/// Settings up to which each is a column.
const COLUMNS: usize = 8;

/// How the verdicts of the study are written.
pub(super) fn column(shown: &Shown<'_>) -> Column {
    let pairs = shown.findings.workloads.iter().flat_map(|found| &found.pairs);
    let claims = pairs.filter_map(|pair| {
        Some((pair.claim.as_ref()?, shown.shape(pair.contrast.of.metric.measure).compared))
    });
    Column::new(claims, shown.study.plan.design.margin)
}

/// Whether a row for each that is compared would be too many.
pub(super) fn is_long(shown: &Shown<'_>) -> bool {
    let pairs = shown.findings.workloads.iter().map(|w| w.pairs.len()).sum::<usize>();
    pairs + shown.findings.workloads.len() > ROWS
}

/// Whether each setting is a column.
pub(super) fn has_columns(shown: &Shown<'_>) -> bool {
    let settings = shown.names.settings().len();
    let compares = !shown.study.plan.contrasts.is_empty() && shown.names.setups() > 2;
    compares && is_long(shown) && (2..=COLUMNS).contains(&settings)
}
