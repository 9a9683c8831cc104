//! Studies and trials as rows: the columns that are searched, and everything else as documents.

use crate::document::{self, with_finite_quantities};
use plimsoll_model::{Failure, Outcome, Study, StudyId, Trial};
use rusqlite::{Transaction, named_params, params};

/// Everything of a study but its trials.
pub(crate) struct StudyRow<'a> {
    study: &'a Study,
    origin: String,
    plan: String,
    targets: String,
    hosts: String,
    flags: String,
    ended: String,
}

impl<'a> StudyRow<'a> {
    pub(crate) fn new(study: &'a Study) -> Result<Self, Failure> {
        let part = |part: &str| format!("the {part} of study {}", study.id);
        Ok(StudyRow {
            study,
            origin: document::write(&study.origin, &part("origin"))?,
            plan: document::write(&study.plan, &part("plan"))?,
            targets: document::write(&study.targets, &part("targets"))?,
            hosts: document::write(&study.hosts, &part("hosts"))?,
            flags: document::write(&study.flags, &part("flags"))?,
            ended: document::write(&study.ended, &part("end"))?,
        })
    }

    pub(crate) fn insert(&self, store: &Transaction<'_>) -> rusqlite::Result<()> {
        self.execute(
            store,
            "INSERT INTO studies (id, started_unix_seconds, schema, origin, plan, targets, hosts, \
             flags, ended) VALUES (:id, :started, :schema, :origin, :plan, :targets, :hosts, \
             :flags, :ended)",
        )
    }

    pub(crate) fn update(&self, store: &Transaction<'_>) -> rusqlite::Result<()> {
        self.execute(
            store,
            "UPDATE studies SET started_unix_seconds = :started, schema = :schema, \
             origin = :origin, plan = :plan, targets = :targets, hosts = :hosts, flags = :flags, \
             ended = :ended WHERE id = :id",
        )
    }

    fn execute(&self, store: &Transaction<'_>, sql: &str) -> rusqlite::Result<()> {
        let values = named_params! {
            ":id": self.study.id.0,
            ":started": self.study.started_unix_seconds,
            ":schema": self.study.schema,
            ":origin": self.origin,
            ":plan": self.plan,
            ":targets": self.targets,
            ":hosts": self.hosts,
            ":flags": self.flags,
            ":ended": self.ended,
        };
        store.execute(sql, values).map(drop)
    }
}

/// A trial as it is kept: the columns that are searched, and everything as a document.
pub(crate) struct TrialRow<'a> {
    study: &'a StudyId,
    trial: &'a Trial,
    outcome: &'static str,
    document: String,
}

impl<'a> TrialRow<'a> {
    pub(crate) fn new(study: &'a StudyId, trial: &'a Trial) -> Result<Self, Failure> {
        let what = format!("trial {} of study {study}", trial.number);
        let outcome = match trial.result.outcome {
            Outcome::Complete => "complete",
            Outcome::Stopped => "stopped",
            Outcome::Failed { .. } => "failed",
        };
        let document = document::write(&with_finite_quantities(trial), &what)?;
        Ok(TrialRow { study, trial, outcome, document })
    }

    pub(crate) fn insert(&self, store: &Transaction<'_>) -> rusqlite::Result<()> {
        store.execute(
            "INSERT INTO trials (study, number, block, target, pattern, outcome, document) \
             VALUES (?, ?, ?, ?, ?, ?, ?)",
            params![
                self.study.0,
                self.trial.number,
                self.trial.block,
                i64::try_from(self.trial.cell.target).unwrap_or(i64::MAX),
                self.trial.cell.workload.pattern.name(),
                self.outcome,
                self.document
            ],
        )?;
        Ok(())
    }
}
