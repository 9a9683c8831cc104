//! Studies read from rows.

use crate::{failures, schema};
use plimsoll_model::{Cell, Failure, Figure, Study, StudyId, Trial};
use rusqlite::{Connection, Row};
use serde::de::DeserializeOwned;
use std::path::Path;

/// Columns of a study, in reading order.
pub(crate) const COLUMNS: &str = "id, started_unix_seconds, schema, origin, plan, subjects, \
                                  measures, hosts, flags, ended";

/// The study of a row, with its trials where they are to be read, too.
pub(crate) fn study(
    row: &Row<'_>,
    path: &Path,
    trials: Option<&Connection>,
) -> Result<Study, Failure> {
    let id: String = get(row, 0, path, "a study's id")?;
    let named = |part: &str| format!("the {part} of study {id}");
    let schema = expect_readable(row, 2, path, &id)?;
    Ok(Study {
        started_unix_seconds: get(row, 1, path, &named("start"))?,
        schema,
        origin: json(row, 3, path, &named("origin"))?,
        plan: json(row, 4, path, &named("plan"))?,
        subjects: json(row, 5, path, &named("subjects"))?,
        measures: json(row, 6, path, &named("measures"))?,
        hosts: json(row, 7, path, &named("hosts"))?,
        flags: json(row, 8, path, &named("flags"))?,
        ended: json(row, 9, path, &named("end"))?,
        trials: self::trials(trials, &id, path)?,
        id: StudyId(id),
    })
}

/// The schema of a study in a column, which this version reads.
pub(crate) fn expect_readable(
    row: &Row<'_>,
    column: usize,
    path: &Path,
    id: &str,
) -> Result<String, Failure> {
    let schema: String = get(row, column, path, &format!("the schema of study {id}"))?;
    let unreadable = |why: String| failures::unreadable(path, &format!("study {id}"), why);
    schema::check(&schema).map(|()| schema).map_err(unreadable)
}

fn trials(store: Option<&Connection>, id: &str, path: &Path) -> Result<Vec<Trial>, Failure> {
    let mut trials = Vec::new();
    if let Some(store) = store {
        each_trial(store, id, path, &mut |trial| {
            trials.push(trial);
            Ok(())
        })?;
    }
    Ok(trials)
}

/// Reads the trials of a study in their order, one at a time.
pub(crate) fn each_trial(
    store: &Connection,
    id: &str,
    path: &Path,
    each: &mut dyn FnMut(Trial) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let tried = |e: rusqlite::Error| failures::sqlite("load a study", path, &e);
    let mut query = store
        .prepare_cached("SELECT document, number FROM trials WHERE study = ? ORDER BY number")
        .map_err(tried)?;
    let mut rows = query.query([id]).map_err(tried)?;
    while let Some(row) = rows.next().map_err(tried)? {
        let number: i64 = get(row, 1, path, &format!("a trial of study {id}"))?;
        each(json(row, 0, path, &format!("trial {number} of study {id}"))?)?;
    }
    Ok(())
}

/// Figures of a study, in the order of its trials.
pub(crate) fn figures(store: &Connection, id: &str, path: &Path) -> Result<Vec<Figure>, Failure> {
    let tried = |e: rusqlite::Error| failures::sqlite("read the figures of a study", path, &e);
    let sql = "SELECT trial, block, subject, workload, setting, metric, value, disturbed FROM figures \
               WHERE study = ? ORDER BY trial";
    let mut query = store.prepare_cached(sql).map_err(tried)?;
    let mut rows = query.query([id]).map_err(tried)?;
    let mut figures = Vec::new();
    let what = format!("a figure of study {id}");
    while let Some(row) = rows.next().map_err(tried)? {
        let metric = row.get_ref(5).ok().and_then(|text| text.as_str().ok()?.parse().ok());
        figures.push(Figure {
            trial: get(row, 0, path, &what)?,
            block: get(row, 1, path, &what)?,
            cell: Cell {
                subject: get(row, 2, path, &what)?,
                workload: get(row, 3, path, &what)?,
                setting: get(row, 4, path, &what)?,
            },
            metric: metric
                .ok_or_else(|| failures::unreadable(path, &what, "its metric has no name"))?,
            value: get(row, 6, path, &what)?,
            is_disturbed: get(row, 7, path, &what)?,
        });
    }
    Ok(figures)
}

/// Every study in the order begun, without its trials; of one that cannot be read, the failure that names it.
pub(crate) fn each_head(
    store: &Connection,
    path: &Path,
) -> Result<Vec<Result<Study, Failure>>, Failure> {
    let tried = |e: rusqlite::Error| failures::sqlite("read the studies", path, &e);
    let sql = format!("SELECT {COLUMNS} FROM studies ORDER BY started_unix_seconds, sequence");
    let mut query = store.prepare_cached(&sql).map_err(tried)?;
    let mut rows = query.query([]).map_err(tried)?;
    let mut studies = Vec::new();
    while let Some(row) = rows.next().map_err(tried)? {
        studies.push(study(row, path, None));
    }
    Ok(studies)
}

/// A column's value, or a failure that names the row.
pub(crate) fn get<T: rusqlite::types::FromSql>(
    row: &Row<'_>,
    column: usize,
    path: &Path,
    what: &str,
) -> Result<T, Failure> {
    row.get(column).map_err(|e| failures::unreadable(path, what, e))
}

/// A column's JSON document, or a failure that names the row.
pub(crate) fn json<T: DeserializeOwned>(
    row: &Row<'_>,
    column: usize,
    path: &Path,
    what: &str,
) -> Result<T, Failure> {
    let failed = |e: &dyn std::fmt::Display| failures::unreadable(path, what, e);
    let text = row.get_ref(column).map_err(|e| failed(&e))?.as_str().map_err(|e| failed(&e))?;
    serde_json::from_str(text).map_err(|e| failed(&e))
}
