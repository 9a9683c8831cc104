//! Summary of a study for lists.

use crate::failures;
use crate::stored::{self, get, json};
use plimsoll_model::{
    Ended, Failure, Origin, Outcome, Study, StudyId, Subject, SubjectFacts, SubjectKind, Trial,
    Workload,
};
use rusqlite::{Connection, Row};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::Path;

/// One study in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct StudySummary {
    /// Identity.
    pub id: StudyId,
    /// Start, in seconds since 1970-01-01 UTC.
    pub started_unix_seconds: u64,
    /// Measured subjects, in the plan's order.
    pub subjects: Vec<SubjectSummary>,
    /// Kinds of the jobs of the plan's workloads, each once, in its order.
    pub jobs: Vec<&'static str>,
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

impl StudySummary {
    /// Summary of a whole study.
    pub(crate) fn new(study: &Study) -> StudySummary {
        let blocks: BTreeSet<u32> = study.trials.iter().filter_map(|trial| trial.block).collect();
        let is_complete = |trial: &&Trial| trial.result.outcome == Outcome::Complete;
        let complete = study.trials.iter().filter(is_complete).count();
        let void = study.trials.iter().filter(|trial| trial.result.outcome.is_void()).count();
        StudySummary {
            id: study.id.clone(),
            started_unix_seconds: study.started_unix_seconds,
            subjects: subjects(&study.plan.subjects, &study.subjects),
            jobs: jobs(&study.plan.workloads),
            blocks: blocks.len() as u32,
            complete: complete as u32,
            incomplete: (study.trials.len() - complete - void) as u32,
            ended: study.ended.clone(),
            origin: study.origin.clone(),
        }
    }
}

/// A subject of a study in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubjectSummary {
    /// As the user wrote it.
    pub given: String,
    /// Kind, if known.
    pub kind: Option<SubjectKind>,
    /// Model of the subject or of its CPU, if known.
    pub model: Option<String>,
}

/// What a list needs of a plan; the rest of the document is passed over.
#[derive(Deserialize)]
struct ListedPlan {
    subjects: Vec<Subject>,
    workloads: Vec<Workload>,
}

/// Every study in the order begun, the latest last. Only the documents that are shown are read.
pub(crate) fn list(store: &Connection, path: &Path) -> Result<Vec<StudySummary>, Failure> {
    let tried = |e: rusqlite::Error| failures::sqlite("list the studies", path, &e);
    let sql = "SELECT id, started_unix_seconds, schema, origin, plan, subjects, ended,
                      (SELECT count(DISTINCT block) FROM trials WHERE study = id),
                      (SELECT count(*) FROM trials WHERE study = id AND outcome = 'complete'),
                      (SELECT count(*) FROM trials WHERE study = id AND outcome IN ('failed', 'stopped'))
               FROM studies ORDER BY started_unix_seconds, sequence";
    let mut query = store.prepare_cached(sql).map_err(tried)?;
    let mut rows = query.query([]).map_err(tried)?;
    let mut summaries = Vec::new();
    while let Some(row) = rows.next().map_err(tried)? {
        summaries.push(summary(row, path)?);
    }
    Ok(summaries)
}

fn summary(row: &Row<'_>, path: &Path) -> Result<StudySummary, Failure> {
    let id: String = get(row, 0, path, "a study's id")?;
    let named = |part: &str| format!("the {part} of study {id}");
    stored::expect_readable(row, 2, path, &id)?;
    let plan: ListedPlan = json(row, 4, path, &named("plan"))?;
    let count = |column| get(row, column, path, &format!("the study {id}"));
    Ok(StudySummary {
        started_unix_seconds: get(row, 1, path, &named("start"))?,
        origin: json(row, 3, path, &named("origin"))?,
        subjects: subjects(
            &plan.subjects,
            &json::<Vec<SubjectFacts>>(row, 5, path, &named("subjects"))?,
        ),
        ended: json(row, 6, path, &named("end"))?,
        blocks: count(7)?,
        complete: count(8)?,
        incomplete: count(9)?,
        jobs: jobs(&plan.workloads),
        id: StudyId(id),
    })
}

/// Subjects with their properties; if no subject was reached, as planned.
fn subjects(planned: &[Subject], reached: &[SubjectFacts]) -> Vec<SubjectSummary> {
    if reached.is_empty() {
        let planned = planned.iter().map(|subject| SubjectSummary {
            given: subject.to_string(),
            kind: Some(subject.kind()),
            model: None,
        });
        return planned.collect();
    }
    let found = reached.iter().enumerate().map(|(number, facts)| SubjectSummary {
        given: facts.given().to_owned(),
        kind: planned.get(number).map(|subject| subject.kind()),
        model: facts.model().map(str::to_owned),
    });
    found.collect()
}

fn jobs(workloads: &[Workload]) -> Vec<&'static str> {
    let mut kinds = Vec::new();
    for part in workloads.iter().flat_map(|workload| &workload.parts) {
        let kind = part.job.kind();
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds
}
