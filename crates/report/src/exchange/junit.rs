//! JUnit XML as Apache Ant writes it and its schema has it (github.com/windyroad/JUnit-Schema): each row of a gate is a
//! test case.

use super::{bounded, given};
use crate::chart::Escaped;
use crate::date::utc;
use crate::sections::gate_row;
use plimsoll_explain::{GateOutcome, GateResult};
use plimsoll_model::{Cell, Study};
use std::fmt::Write;

/// Host of a study that names none, as the schema wants it.
const NO_NAME: &str = "localhost";

/// The gate of a study as JUnit XML. Rows without a known spread, baseline or figure are skipped, so they do not fail.
pub fn junit(study: &Study, gate: &GateResult) -> String {
    let count =
        |of: &dyn Fn(GateOutcome) -> bool| gate.rows.iter().filter(|row| of(row.outcome)).count();
    let failures = count(&|outcome| outcome == GateOutcome::Failed);
    let skipped = count(&|outcome| !matches!(outcome, GateOutcome::Failed | GateOutcome::Passed));
    let tests = gate.rows.len();
    let begun = utc(study.started_unix_seconds);
    let begun = begun.strip_suffix(" UTC").unwrap_or("1970-01-01 00:00").replace(' ', "T");
    let (id, host) = (bounded(&study.id.0), bounded(&client(study)));
    let seconds: f64 = gate.rows.iter().map(|row| loaded_seconds(study, row.cell)).sum();
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    let _ = writeln!(
        text,
        "  <testsuite package=\"plimsoll\" id=\"0\" name=\"gate of study {}\" hostname=\"{}\" \
         timestamp=\"{begun}:00\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" \
         skipped=\"{skipped}\" time=\"{seconds:.3}\">\n    <properties/>",
        Escaped(&id),
        Escaped(&host)
    );
    for row in &gate.rows {
        let (name, figures, outcome) = gate_row(study, row);
        let condition = row.condition.as_ref().map(|condition| format!(": fails if {condition}"));
        let name = bounded(&(name + &condition.unwrap_or_default()));
        let target = bounded(&given(study, row.cell.subject));
        let _ = write!(
            text,
            "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3}\"",
            Escaped(&target),
            Escaped(&name),
            loaded_seconds(study, row.cell)
        );
        let message = Escaped(&figures).to_string();
        let _ = match row.outcome {
            GateOutcome::Passed => writeln!(text, "/>"),
            GateOutcome::Failed => writeln!(
                text,
                ">\n      <failure type=\"gate\" message=\"{message}\"/>\n    </testcase>"
            ),
            _ => writeln!(
                text,
                ">\n      <skipped message=\"{outcome}: {message}\"/>\n    </testcase>"
            ),
        };
    }
    text.push_str("    <system-out/>\n    <system-err/>\n  </testsuite>\n</testsuites>\n");
    text
}

/// The host that made the load.
fn client(study: &Study) -> String {
    let own = study.hosts.iter().find(|host| host.is_this_machine);
    let client = study.plan.is_remote().then(|| study.plan.client());
    let name = client.or(own.map(|host| &host.name));
    name.map_or(NO_NAME.to_owned(), ToString::to_string)
}

/// Seconds of load in the trials of a row.
fn loaded_seconds(study: &Study, cell: Cell) -> f64 {
    let trials = study.trials.iter().filter(|trial| trial.cell == cell);
    let parts = trials.filter_map(|trial| trial.result.main());
    let seconds = parts.map(|part| part.series.len() as f64 * part.series.window_seconds);
    seconds.filter(|seconds| seconds.is_finite()).sum()
}
