//! Predictions as rows of the store.

use crate::stored::get;
use crate::{document, failures};
use plimsoll_model::{Failure, KeptPrediction, StudyId};
use rusqlite::{Connection, Row, Transaction, named_params};
use std::path::Path;

/// Predictions that a store keeps; the oldest make room for others.
pub(crate) const MOST: u32 = 1000;

/// Row of a prediction.
pub(crate) struct PredictionRow<'a> {
    prediction: &'a KeptPrediction,
    changes: String,
    document: String,
}

impl<'a> PredictionRow<'a> {
    pub(crate) fn new(prediction: &'a KeptPrediction) -> Result<Self, Failure> {
        let what = format!("the prediction for study {}", prediction.study);
        Ok(PredictionRow {
            prediction,
            changes: document::write(&prediction.changes, &what)?,
            document: document::write(&prediction.rows, &what)?,
        })
    }

    /// Adds the row; of a change that is predicted already only the study that measured it.
    pub(crate) fn insert(&self, store: &Transaction<'_>) -> rusqlite::Result<()> {
        let sql = "INSERT INTO predictions (study, changes, made_unix_seconds, document, measured) \
                   VALUES (:study, :changes, :made, :document, :measured) \
                   ON CONFLICT (study, changes) DO UPDATE SET measured = coalesce(excluded.measured, measured)";
        let values = named_params! {
            ":study": self.prediction.study.0,
            ":changes": self.changes,
            ":made": self.prediction.made_unix_seconds,
            ":document": self.document,
            ":measured": self.prediction.measured.as_ref().map(|study| &study.0),
        };
        store.execute(sql, values)?;
        let oldest = "DELETE FROM predictions WHERE sequence NOT IN \
                      (SELECT sequence FROM predictions ORDER BY sequence DESC LIMIT ?)";
        store.execute(oldest, [MOST]).map(drop)
    }
}

/// Whether the store has the table: one that an older version made and that cannot be written has none.
pub(crate) fn has_table(store: &Connection) -> rusqlite::Result<bool> {
    store.table_exists(None, "predictions")
}

/// Predictions of a study, the oldest first. A prediction of a change that this version does not know is left out.
pub(crate) fn of_study(
    store: &Connection,
    study: &StudyId,
    path: &Path,
) -> Result<Vec<KeptPrediction>, Failure> {
    let tried = |e: rusqlite::Error| failures::sqlite("read the predictions", path, &e);
    let sql = "SELECT made_unix_seconds, changes, document, measured FROM predictions \
               WHERE study = ? ORDER BY sequence";
    let mut query = store.prepare_cached(sql).map_err(tried)?;
    let mut rows = query.query([&study.0]).map_err(tried)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(tried)? {
        found.extend(prediction(row, study, path)?);
    }
    Ok(found)
}

fn prediction(
    row: &Row<'_>,
    study: &StudyId,
    path: &Path,
) -> Result<Option<KeptPrediction>, Failure> {
    let what = format!("a prediction for study {study}");
    let made_unix_seconds = get(row, 0, path, &what)?;
    let text = |column| get::<String>(row, column, path, &what);
    let changes = serde_json::from_str(&text(1)?).ok();
    let rows = serde_json::from_str(&text(2)?).ok();
    let measured = get::<Option<String>>(row, 3, path, &what)?.map(StudyId);
    let study = study.clone();
    Ok(changes.zip(rows).map(|(changes, rows)| KeptPrediction {
        study,
        made_unix_seconds,
        changes,
        rows,
        measured,
    }))
}
