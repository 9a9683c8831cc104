//! CSV (RFC 4180): a row a trial, units in the names of the columns. Text is escaped on its way
//! into a cell: nothing in it steers a terminal or is a formula to a spreadsheet.

use crate::document;
use csv::{Terminator, WriterBuilder};
use plimsoll_model::{Failure, Metric, OpKind, Outcome, Study, Trial, printable};

const KINDS: [OpKind; 3] = [OpKind::Read, OpKind::Write, OpKind::Flush];

/// The trials of the study as CSV with a header, lines ended by CR LF. Columns are the same for
/// every study; what was not measured is empty.
pub fn to_csv(study: &Study) -> Result<String, Failure> {
    let told = |e: csv::Error| document::refused("CSV", e);
    let mut table = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(Vec::new());
    table.write_record(header()).map_err(told)?;
    for trial in &study.trials {
        table.write_record(row(study, trial)).map_err(told)?;
    }
    let bytes = table.into_inner().map_err(|e| document::refused("CSV", e.error()))?;
    String::from_utf8(bytes).map_err(|e| document::refused("CSV", e))
}

fn header() -> Vec<String> {
    let fixed = [
        "study",
        "started_unix_seconds",
        "trial",
        "block",
        "target",
        "label",
        "given",
        "protocol",
        "pattern",
        "block_bytes",
        "size_bytes",
        "workers",
        "depth",
        "layout",
        "stability",
        "verify",
        "started_seconds",
        "outcome",
        "failed_phase",
        "failure",
    ];
    let mut names: Vec<String> = fixed.map(str::to_owned).into();
    names.extend(Metric::every().map(|metric| metric.to_string()));
    for kind in KINDS {
        names.extend(["operations", "bytes", "errors"].map(|count| format!("{kind}_{count}")));
    }
    names.push("flags".to_owned());
    names
}

fn row(study: &Study, trial: &Trial) -> Vec<String> {
    let cell = &trial.cell;
    let work = &cell.workload;
    let facts = study.targets.get(cell.target);
    let of_target = |part: fn(&plimsoll_model::TargetFacts) -> &String| facts.map(part).cloned();
    let given = study.plan.targets.get(cell.target).map(ToString::to_string);
    let (outcome, phase, failure) = match &trial.result.outcome {
        Outcome::Complete => ("complete", String::new(), String::new()),
        Outcome::Stopped => ("stopped", String::new(), String::new()),
        Outcome::Failed { phase, failure } => {
            // In lines of its own.
            let lines: Vec<String> = failure.to_string().lines().map(text).collect();
            ("failed", text(phase), lines.join("\n"))
        }
    };
    let mut fields = vec![
        text(&study.id.0),
        study.started_unix_seconds.to_string(),
        trial.number.to_string(),
        trial.block.map(|b| b.to_string()).unwrap_or_default(),
        cell.target.to_string(),
        text(&of_target(|t| &t.label).unwrap_or_default()),
        text(&of_target(|t| &t.given).or(given).unwrap_or_default()),
        text(&of_target(|t| &t.protocol).unwrap_or_default()),
        work.pattern.to_string(),
        work.block.0.to_string(),
        work.size.0.to_string(),
        work.workers.to_string(),
        work.depth.to_string(),
        word(&work.layout),
        word(&work.stability),
        work.verify.to_string(),
        trial.started_seconds.to_string(),
        outcome.to_owned(),
        phase,
        failure,
    ];
    fields.extend(Metric::every().map(|metric| {
        let figure = trial.result.quantities.get(&metric).filter(|v| v.is_finite());
        figure.map(f64::to_string).unwrap_or_default()
    }));
    for kind in KINDS {
        let stats = trial.result.ops.get(&kind);
        let errors =
            |s: &plimsoll_model::OpStats| s.errors.values().fold(0u64, |n, e| n.saturating_add(*e));
        let count = |of: &dyn Fn(&plimsoll_model::OpStats) -> u64| stats.map(|s| of(s).to_string());
        fields.extend([
            count(&|s| s.count).unwrap_or_default(),
            count(&|s| s.bytes).unwrap_or_default(),
            count(&errors).unwrap_or_default(),
        ]);
    }
    let flags: Vec<String> = trial.result.flags.iter().map(plimsoll_model::Flag::message).collect();
    fields.push(text(&flags.join("; ")));
    fields
}

/// A cell of text. A spreadsheet takes what begins so for a formula and may run it (CWE-1236): a
/// quotation mark before it says that it is text. Cells of numbers are left alone.
pub(super) fn text(cell: &str) -> String {
    let formula = cell.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']);
    format!("{}{}", if formula { "'" } else { "" }, printable(cell))
}

/// The word that stands for a plain value in JSON, without its quotes.
fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}
