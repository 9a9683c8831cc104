//! CSV (RFC 4180): a row for each part of each trial, and of each of its points; units in the names of
//! the columns. Text is escaped on its way into a cell: nothing in it steers a terminal or is a formula
//! to a spreadsheet.

use crate::document::{self, results};
use csv::{Terminator, WriterBuilder};
use plimsoll_model::{
    Cause, Failure, Flag, Measure, Metric, OpKind, OpStats, Outcome, Part, PartResult, Study,
    SubjectFacts, Trial, factor, printable,
};
use std::collections::BTreeSet;

const FIXED: [&str; 22] = [
    "study",
    "started_unix_seconds",
    "trial",
    "block",
    "target",
    "label",
    "given",
    "protocol",
    "setting",
    "workload",
    "part",
    "job",
    "settings",
    "client",
    "workers",
    "depth",
    "point",
    "accepted",
    "started_seconds",
    "outcome",
    "failed_phase",
    "failure",
];

/// Parameters of patterns, and kinds of operation, with columns in every study, as in the first
/// version.
const PARAMETERS: [&str; 6] =
    ["pattern", "block_bytes", "size_bytes", "layout", "stability", "verify"];
const KINDS: [OpKind; 3] = [OpKind::READ, OpKind::WRITE, OpKind::FLUSH];

/// Most cells of a table: a document from elsewhere may name a figure of its own in each trial.
const MOST_CELLS: usize = 1 << 26;

/// Results of the study as CSV with a header; lines end with CR LF. Columns of patterns and common
/// measures exist for every study, other columns if its jobs have such parameters and figures.
/// Missing figures are empty.
pub fn to_csv(study: &Study) -> Result<String, Failure> {
    let failed = |e: csv::Error| document::refused("CSV", e);
    let mut table = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(Vec::new());
    let columns = Columns::new(study);
    let header = columns.header();
    let results = study.trials.iter().map(|trial| results(trial).count().max(1)).sum::<usize>();
    if results.saturating_mul(header.len()) > MOST_CELLS {
        return Err(Failure::new(Cause::Trial, "write CSV")
            .on(format!("study {}", study.id))
            .happened(format!("the table would have {results} rows and {} columns", header.len()))
            .next("Export it as JSON."));
    }
    table.write_record(header).map_err(failed)?;
    for trial in &study.trials {
        for row in columns.rows(study, trial) {
            table.write_record(row).map_err(failed)?;
        }
    }
    let bytes = table.into_inner().map_err(|e| document::refused("CSV", e.error()))?;
    String::from_utf8(bytes).map_err(|e| document::refused("CSV", e))
}

/// The columns that follow the fixed ones.
struct Columns {
    parameters: Vec<&'static str>,
    metrics: Vec<Metric>,
    kinds: Vec<OpKind>,
}

/// One result of a trial: of which part, and at which point.
struct Place<'a> {
    part: usize,
    point: Option<(f64, Option<bool>)>,
    result: Option<&'a PartResult>,
}

impl Columns {
    fn new(study: &Study) -> Columns {
        let parts = || study.trials.iter().flat_map(results);
        let jobs = study.plan.workloads.iter().flat_map(|workload| &workload.parts);
        let parameters = jobs.flat_map(|part| part.job.parameters()).map(|(name, _)| name);
        let common = [None, Some(OpKind::READ), Some(OpKind::WRITE)]
            .into_iter()
            .flat_map(|kind| Measure::common().map(move |measure| Metric { kind, measure }));
        let metrics = parts().flat_map(|part| part.quantities.keys().copied());
        Columns {
            parameters: and_others(PARAMETERS, parameters),
            metrics: and_others(common, metrics),
            kinds: and_others(KINDS, parts().flat_map(|part| part.ops.keys().copied())),
        }
    }

    fn header(&self) -> Vec<String> {
        let mut names: Vec<String> = FIXED.map(str::to_owned).into();
        names.extend(self.parameters.iter().map(|name| (*name).to_owned()));
        names.extend(self.metrics.iter().map(Metric::to_string));
        for kind in &self.kinds {
            names.extend(["operations", "bytes", "errors"].map(|count| format!("{kind}_{count}")));
        }
        names.push("flags".to_owned());
        names
    }

    /// A row for each result of a trial; of a trial without any, one.
    fn rows(&self, study: &Study, trial: &Trial) -> Vec<Vec<String>> {
        let whole = trial.result.parts.iter().map(|part| (None, part));
        let of_trial: Vec<_> = whole.enumerate().collect();
        let of_points = trial.points.iter().flat_map(|point| {
            let at = Some((point.at, point.accepted));
            point.parts.iter().map(move |part| (at, part)).enumerate()
        });
        let mut places: Vec<Place<'_>> = of_trial
            .into_iter()
            .chain(of_points)
            .map(|(part, (point, result))| Place { part, point, result: Some(result) })
            .collect();
        if places.is_empty() {
            places.push(Place { part: 0, point: None, result: None });
        }
        places.iter().map(|place| self.row(study, trial, place)).collect()
    }

    fn row(&self, study: &Study, trial: &Trial, place: &Place<'_>) -> Vec<String> {
        let workload = study.plan.workload(trial.cell);
        // After the parts of several clients stands one result of all together.
        let part = workload.and_then(|w| w.parts.get(place.part).or(w.main()));
        let mut fields = fixed(study, trial, place, part);
        let own = part.map(|part| part.job.parameters()).unwrap_or_default();
        fields.extend(self.parameters.iter().map(|name| {
            own.iter().find(|own| own.0 == *name).map(|own| text(&own.1)).unwrap_or_default()
        }));
        let figure = |metric| place.result?.quantities.get(metric).filter(|v| v.is_finite());
        fields.extend(self.metrics.iter().map(|metric| cell(figure(metric))));
        for kind in &self.kinds {
            let stats = place.result.and_then(|result| result.ops.get(kind));
            let errors = |s: &OpStats| s.errors.values().fold(0u64, |n, e| n.saturating_add(*e));
            fields.extend([
                cell(stats.map(|s| s.count)),
                cell(stats.map(|s| s.bytes)),
                cell(stats.map(errors)),
            ]);
        }
        let flags: Vec<String> = trial.result.flags.iter().map(Flag::fact).collect();
        fields.push(text(&flags.join("; ")));
        fields
    }
}

fn fixed(study: &Study, trial: &Trial, place: &Place<'_>, part: Option<&Part>) -> Vec<String> {
    let number = usize::from(trial.cell.subject);
    let facts = study.subjects.get(number);
    let given = facts.map(|facts| facts.given().to_owned());
    let given = given.or_else(|| study.plan.subjects.get(number).map(ToString::to_string));
    let protocol =
        facts.and_then(SubjectFacts::storage).map(|storage| storage.protocol.to_string());
    let (outcome, phase, failure) = match &trial.result.outcome {
        Outcome::Complete => ("complete", String::new(), String::new()),
        Outcome::Stopped => ("stopped", String::new(), String::new()),
        Outcome::Void { reason } => ("void", String::new(), text(&reason.to_string())),
        Outcome::Failed { phase, failure } => {
            // In lines of its own.
            let lines: Vec<String> = failure.to_string().lines().map(text).collect();
            ("failed", text(phase), lines.join("\n"))
        }
    };
    vec![
        text(&study.id.0),
        study.started_unix_seconds.to_string(),
        trial.number.to_string(),
        cell(trial.block),
        number.to_string(),
        text(facts.map(SubjectFacts::label).unwrap_or_default()),
        text(&given.unwrap_or_default()),
        text(&protocol.unwrap_or_default()),
        text(&levels(study, trial)),
        trial.cell.workload.to_string(),
        place.part.to_string(),
        part.map(|part| part.job.kind().to_owned()).unwrap_or_default(),
        text(&part.map(Part::settings).unwrap_or_default()),
        cell(part.map(|part| part.client)),
        cell(part.map(|part| part.workers)),
        cell(part.map(Part::depth)),
        cell(place.point.map(|point| point.0)),
        cell(place.point.and_then(|point| point.1)),
        trial.started_seconds.to_string(),
        outcome.to_owned(),
        phase,
        failure,
    ]
}

/// The levels of the study's factors: "NAME = LEVEL; NAME = LEVEL".
fn levels(study: &Study, trial: &Trial) -> String {
    let factors = &study.plan.factors;
    let levels = factor::levels(factors, trial.cell.setting);
    let named = factors.iter().zip(levels).filter_map(|(factor, level)| {
        Some(format!("{} = {}", factor.name, factor.levels.get(level)?))
    });
    named.collect::<Vec<_>>().join("; ")
}

/// These, then the others in their order, each once.
fn and_others<T: Copy + Ord>(
    first: impl IntoIterator<Item = T>,
    others: impl IntoIterator<Item = T>,
) -> Vec<T> {
    let mut all: Vec<T> = first.into_iter().collect();
    let others: BTreeSet<T> = others.into_iter().filter(|other| !all.contains(other)).collect();
    all.extend(others);
    all
}

fn cell<T: ToString>(value: Option<T>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// A cell of text. A spreadsheet takes what begins so for a formula and may run it (CWE-1236): a
/// quotation mark before it says that it is text. Cells of numbers are left alone.
pub fn text(cell: &str) -> String {
    let formula = cell.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']);
    format!("{}{}", if formula { "'" } else { "" }, printable(cell))
}
