//! Studies and trials as rows: the columns that are searched, and everything else as documents.

use crate::document::{self, with_finite_quantities};
use plimsoll_model::{Failure, Figure, Outcome, Plan, Study, StudyId, Trial};
use rusqlite::{Transaction, named_params, params};

/// Everything of a study but its trials.
pub(crate) struct StudyRow<'a> {
    study: &'a Study,
    origin: String,
    plan: String,
    subjects: String,
    measures: String,
    hosts: String,
    flags: String,
    ended: String,
}

impl<'a> StudyRow<'a> {
    pub(crate) fn new(study: &'a Study) -> Result<Self, Failure> {
        let part = |part: &str| format!("the {part} of study {}", study.id);
        let measures = document::measures(&study.measures, &study.trials);
        Ok(StudyRow {
            study,
            origin: document::write(&study.origin, &part("origin"))?,
            plan: document::write(&study.plan, &part("plan"))?,
            subjects: document::write(&study.subjects, &part("subjects"))?,
            measures: document::write(&measures, &part("measures"))?,
            hosts: document::write(&study.hosts, &part("hosts"))?,
            flags: document::write(&study.flags, &part("flags"))?,
            ended: document::write(&study.ended, &part("end"))?,
        })
    }

    pub(crate) fn insert(&self, store: &Transaction<'_>) -> rusqlite::Result<()> {
        self.execute(
            store,
            "INSERT INTO studies (id, started_unix_seconds, schema, origin, plan, subjects, \
             measures, hosts, flags, ended) VALUES (:id, :started, :schema, :origin, :plan, \
             :subjects, :measures, :hosts, :flags, :ended)",
        )
    }

    pub(crate) fn update(&self, store: &Transaction<'_>) -> rusqlite::Result<()> {
        self.execute(
            store,
            "UPDATE studies SET started_unix_seconds = :started, schema = :schema, \
             origin = :origin, plan = :plan, subjects = :subjects, measures = :measures, \
             hosts = :hosts, flags = :flags, ended = :ended WHERE id = :id",
        )
    }

    fn execute(&self, store: &Transaction<'_>, sql: &str) -> rusqlite::Result<()> {
        let values = named_params! {
            ":id": self.study.id.0,
            ":started": self.study.started_unix_seconds,
            ":schema": self.study.schema,
            ":origin": self.origin,
            ":plan": self.plan,
            ":subjects": self.subjects,
            ":measures": self.measures,
            ":hosts": self.hosts,
            ":flags": self.flags,
            ":ended": self.ended,
        };
        store.execute(sql, values).map(drop)
    }
}

/// Row of a trial: columns for searches, and the whole trial as a document; and the rows of its figures.
pub(crate) struct TrialRow<'a> {
    study: &'a StudyId,
    trial: &'a Trial,
    kind: &'static str,
    outcome: &'static str,
    document: String,
    figures: Vec<Figure>,
}

impl<'a> TrialRow<'a> {
    pub(crate) fn new(study: &'a StudyId, plan: &Plan, trial: &'a Trial) -> Result<Self, Failure> {
        let what = format!("trial {} of study {study}", trial.number);
        let workload = plan.workload(trial.cell);
        let kind = workload.and_then(|workload| Some(workload.main()?.job.kind()));
        let outcome = match trial.result.outcome {
            Outcome::Complete => "complete",
            Outcome::Stopped => "stopped",
            Outcome::Failed { .. } => "failed",
            Outcome::Void { .. } => "void",
        };
        let document = document::write(&with_finite_quantities(trial), &what)?;
        let (kind, figures) = (kind.unwrap_or_default(), Figure::of_trial(plan, trial));
        Ok(TrialRow { study, trial, kind, outcome, document, figures })
    }

    /// The rows of all trials of a study.
    pub(crate) fn all(study: &'a Study) -> Result<Vec<Self>, Failure> {
        study.trials.iter().map(|trial| TrialRow::new(&study.id, &study.plan, trial)).collect()
    }

    pub(crate) fn insert(&self, store: &Transaction<'_>) -> rusqlite::Result<()> {
        let Trial { number, block, cell, .. } = self.trial;
        let values = params![
            self.study.0,
            number,
            block,
            cell.subject,
            self.kind,
            self.outcome,
            self.document
        ];
        let sql = "INSERT INTO trials (study, number, block, subject, kind, outcome, document) \
                   VALUES (?, ?, ?, ?, ?, ?, ?)";
        store.execute(sql, values)?;
        self.figures.iter().try_for_each(|figure| self.insert_figure(store, figure))
    }

    fn insert_figure(&self, store: &Transaction<'_>, figure: &Figure) -> rusqlite::Result<()> {
        let sql = "INSERT INTO figures (study, trial, block, subject, workload, setting, kind, metric, value, \
                   disturbed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        let values = params![
            self.study.0,
            figure.trial,
            figure.block,
            figure.cell.subject,
            figure.cell.workload,
            figure.cell.setting,
            self.kind,
            figure.metric.to_string(),
            figure.value,
            figure.is_disturbed
        ];
        store.prepare_cached(sql)?.execute(values).map(drop)
    }
}
