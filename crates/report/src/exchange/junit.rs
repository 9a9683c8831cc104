//! JUnit XML: each row of a gate is a test case.

use super::{bounded, given};
use crate::chart::Escaped;
use crate::date::utc;
use crate::sections::gate_row;
use plimsoll_explain::{GateOutcome, GateResult};
use plimsoll_model::Study;
use std::fmt::Write;

/// The gate of a study as JUnit XML. Rows without a known spread, baseline or figure are skipped, so they do not fail.
pub fn junit(study: &Study, gate: &GateResult) -> String {
    let count =
        |of: &dyn Fn(GateOutcome) -> bool| gate.rows.iter().filter(|row| of(row.outcome)).count();
    let failures = count(&|outcome| outcome == GateOutcome::Failed);
    let skipped = count(&|outcome| !matches!(outcome, GateOutcome::Failed | GateOutcome::Passed));
    let tests = gate.rows.len();
    let begun = utc(study.started_unix_seconds);
    let timestamp =
        begun.strip_suffix(" UTC").map(|begun| format!("{}:00", begun.replace(' ', "T")));
    let timestamp = timestamp.map_or_else(String::new, |at| format!(" timestamp=\"{at}\""));
    let id = bounded(&study.id.0);
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let counts = format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"0\"");
    let _ = writeln!(text, "<testsuites name=\"plimsoll\" {counts}>");
    let _ = writeln!(
        text,
        "  <testsuite name=\"gate of study {}\" {counts} skipped=\"{skipped}\"{timestamp}>",
        Escaped(&id)
    );
    for row in &gate.rows {
        let (name, figures, outcome) = gate_row(study, row);
        let condition = row.condition.as_ref().map(|condition| format!(": fails if {condition}"));
        let name = bounded(&(name + &condition.unwrap_or_default()));
        let target = bounded(&given(study, row.cell.subject));
        let _ = write!(
            text,
            "    <testcase classname=\"{}\" name=\"{}\"",
            Escaped(&target),
            Escaped(&name)
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
    text.push_str("  </testsuite>\n</testsuites>\n");
    text
}
