//! What a list of studies shows of each.

use crate::trouble;
use plimsoll_model::{Ended, Failure, Origin, Pattern, Plan, StudyId, TargetFacts};
use rusqlite::{Connection, Row};
use std::path::Path;

/// One study in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct StudySummary {
    /// Identity.
    pub id: StudyId,
    /// Start, in seconds since 1970-01-01 UTC.
    pub started_unix_seconds: u64,
    /// The targets as the user wrote them, in the plan's order.
    pub targets: Vec<String>,
    /// Patterns of the plan, each once, in its order.
    pub patterns: Vec<Pattern>,
    /// Blocks begun.
    pub blocks: u32,
    /// Trials that ran to their end.
    pub complete: u32,
    /// Trials that failed or were stopped.
    pub incomplete: u32,
    /// Why it ended.
    pub ended: Ended,
    /// Where its figures come from.
    pub origin: Origin,
}

const LIST: &str = "
    SELECT id, started_unix_seconds, targets, plan, ended,
           (SELECT count(DISTINCT block) FROM trials WHERE study = id),
           (SELECT count(*) FROM trials WHERE study = id AND outcome = 'complete'),
           (SELECT count(*) FROM trials WHERE study = id AND outcome <> 'complete'),
           origin
    FROM studies ORDER BY started_unix_seconds, sequence";

/// Every study in the order begun, the latest last.
pub(crate) fn list(store: &Connection, path: &Path) -> Result<Vec<StudySummary>, Failure> {
    let told = |e: rusqlite::Error| trouble::sqlite("list the studies", path, &e);
    let mut query = store.prepare_cached(LIST).map_err(told)?;
    let mut rows = query.query([]).map_err(told)?;
    let mut summaries = Vec::new();
    while let Some(row) = rows.next().map_err(told)? {
        summaries.push(summary(row, path)?);
    }
    Ok(summaries)
}

fn summary(row: &Row<'_>, path: &Path) -> Result<StudySummary, Failure> {
    let id: String = get(row, 0, path, "a study's id")?;
    let what = format!("the study {id}");
    let facts: Vec<TargetFacts> = json(row, 2, path, &format!("targets of {what}"))?;
    let plan: Plan = json(row, 3, path, &format!("plan of {what}"))?;
    let mut patterns = Vec::new();
    for workload in &plan.workloads {
        if !patterns.contains(&workload.pattern) {
            patterns.push(workload.pattern);
        }
    }
    Ok(StudySummary {
        started_unix_seconds: get(row, 1, path, &what)?,
        targets: match facts.is_empty() {
            true => plan.targets.iter().map(ToString::to_string).collect(),
            false => facts.into_iter().map(|t| t.given).collect(),
        },
        patterns,
        ended: json(row, 4, path, &format!("end of {what}"))?,
        blocks: get(row, 5, path, &what)?,
        complete: get(row, 6, path, &what)?,
        incomplete: get(row, 7, path, &what)?,
        origin: json(row, 8, path, &format!("origin of {what}"))?,
        id: StudyId(id),
    })
}

/// A column's value, or a failure that names the row.
pub(crate) fn get<T: rusqlite::types::FromSql>(
    row: &Row<'_>,
    column: usize,
    path: &Path,
    what: &str,
) -> Result<T, Failure> {
    row.get(column).map_err(|e| trouble::unreadable(path, what, e))
}

/// A column's JSON document, or a failure that names the row.
pub(crate) fn json<T: serde::de::DeserializeOwned>(
    row: &Row<'_>,
    column: usize,
    path: &Path,
    what: &str,
) -> Result<T, Failure> {
    let told = |e: &dyn std::fmt::Display| trouble::unreadable(path, what, e);
    let text = row.get_ref(column).map_err(|e| told(&e))?.as_str().map_err(|e| told(&e))?;
    serde_json::from_str(text).map_err(|e| told(&e))
}
