//! Predictions in the store: kept by `plimsoll predict`, compared with later studies by `plimsoll history`.

use crate::arguments::StoreArguments;
use crate::{check, output, store};
use plimsoll_explain::History;
use plimsoll_explain::whatif::{CheckedPrediction, WhatIf, measured_by, scores};
use plimsoll_model::{Cause, Failure, KeptPrediction, Origin, Study, StudyId, printable};
use plimsoll_record::StudyStore;
use plimsoll_report::WhatIfReport;
use std::collections::BTreeMap;

/// Latest predictions that are compared with what was measured.
const MOST: usize = 20;

/// Keeps the prediction for a study of the store, if a row has a range. A store that cannot be written is a warning: the
/// prediction is shown nevertheless.
pub fn keep(
    report: &mut WhatIfReport,
    study: &Study,
    changes: Vec<WhatIf>,
    measured: Option<StudyId>,
    arguments: &StoreArguments,
) {
    let is_imported = matches!(study.origin, Origin::Imported { .. });
    if is_imported || report.ranges().is_empty() {
        return;
    }
    let prediction = KeptPrediction {
        study: study.id.clone(),
        made_unix_seconds: check::unix_seconds(),
        changes,
        rows: report.ranges().to_vec(),
        measured,
    };
    match store::open(arguments).and_then(|store| store.keep_prediction(&prediction)) {
        Ok(()) => report.set_kept(&prediction),
        Err(Failure { happened, next, .. }) => output::complain(&format!(
            "plimsoll: warning: the prediction is not kept: {}. {next}",
            printable(&happened)
        )),
    }
}

/// The predictions of a subject, with what the studies after the changes measured.
pub fn checked(
    found: &History<'_>,
    store: &dyn StudyStore,
) -> Result<Vec<CheckedPrediction>, Failure> {
    let ids: Vec<&StudyId> = found.moments.iter().map(|moment| &moment.study.id).collect();
    let mut kept = store.predictions(&ids)?;
    kept.sort_by_key(|prediction| prediction.made_unix_seconds);
    kept.drain(..kept.len().saturating_sub(MOST));
    let mut later = BTreeMap::new();
    let mut checked = Vec::new();
    for mut prediction in kept {
        let of_study = |id: &StudyId| found.moments.iter().find(|moment| moment.study.id == *id);
        let Some(before) = of_study(&prediction.study) else { continue };
        prediction.rows.retain(|row| row.cell.subject == before.subject);
        if prediction.rows.is_empty() {
            continue;
        }
        let mut one = CheckedPrediction { prediction, later: None, scores: Vec::new() };
        if let Some(id) = measured_by(&one.prediction, before, found) {
            load(&id, store, &mut later)?;
            let KeptPrediction { changes, rows, .. } = &one.prediction;
            if let Some(after) = later.get(&id) {
                one.scores = scores(before.study, changes, rows, after);
            }
            one.later = Some(id).filter(|_| !one.scores.is_empty());
        }
        checked.push(one);
    }
    Ok(checked)
}

/// Adds a whole study: some belong to several predictions. A study that the store does not have is left out.
fn load(
    id: &StudyId,
    store: &dyn StudyStore,
    wholes: &mut BTreeMap<StudyId, Study>,
) -> Result<(), Failure> {
    if wholes.contains_key(id) {
        return Ok(());
    }
    match store.load(&id.0) {
        Ok(study) => {
            wholes.insert(id.clone(), study);
            Ok(())
        }
        Err(failure) if failure.cause == Cause::Usage => Ok(()),
        Err(failure) => Err(failure),
    }
}
