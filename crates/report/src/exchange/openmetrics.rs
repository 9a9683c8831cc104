//! OpenMetrics 1.0 text, in the part that the text collector of node_exporter reads too: gauges without timestamps.

use super::{Exported, bounded, levels};
use crate::measure::shape;
use crate::names::Names;
use crate::study::Shown;
use plimsoll_explain::{GateOutcome, GateResult};
use plimsoll_model::{Direction, Measure, Origin, Outcome, Study};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A family of metrics: its help and its samples, labels with value.
#[derive(Default)]
struct Family {
    help: String,
    samples: BTreeMap<String, f64>,
}

type Families = BTreeMap<String, Family>;

/// Figures of a study as OpenMetrics text. Labels name the subject and the work, not the study, so that each new study
/// continues the same series.
pub fn openmetrics(study: &Study, gate: Option<&GateResult>) -> String {
    let shown = Shown::new(study);
    let mut families = Families::new();
    for exported in levels(&shown) {
        add_level(&mut families, study, &exported);
    }
    add_study(&mut families, study);
    if let Some(gate) = gate {
        add_gate(&mut families, study, gate);
    }
    let mut text = String::new();
    for (name, family) in &families {
        let _ = writeln!(text, "# TYPE {name} gauge");
        if let Some(unit) = UNITS.iter().find(|unit| has_unit(name, unit)) {
            let _ = writeln!(text, "# UNIT {name} {unit}");
        }
        let _ = writeln!(text, "# HELP {name} {}", escaped(&family.help));
        for (labels, value) in &family.samples {
            let _ = writeln!(text, "{name}{labels} {value}");
        }
    }
    text.push_str("# EOF\n");
    text
}

/// Units that end names; the longer first.
const UNITS: [&str; 5] = ["bytes_per_second", "per_second", "seconds", "bytes", "ratio"];

fn has_unit(name: &str, unit: &str) -> bool {
    name.strip_suffix(unit).is_some_and(|rest| rest.ends_with('_'))
}

/// "throughput_bytes_per_second", "operations_per_second".
fn measure_name(measure: Measure) -> String {
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    match measure {
        Measure::IOPS => "operations_per_second".to_owned(),
        other => other.name().chars().map(|c| if is_word(c) { c } else { '_' }).collect(),
    }
}

/// Name with a word before its unit: "throughput_lower_bound_bytes_per_second".
fn with_word(name: &str, word: &str) -> String {
    let unit = UNITS.iter().find(|unit| has_unit(name, unit));
    match unit.and_then(|unit| Some((name.strip_suffix(unit)?, unit))) {
        Some((rest, unit)) => format!("{rest}{word}_{unit}"),
        None => format!("{name}_{word}"),
    }
}

fn add(families: &mut Families, name: String, help: String, labels: &[(&str, &str)], value: f64) {
    let family = families.entry(name).or_insert_with(|| Family { help, ..Family::default() });
    family.samples.entry(labelled(labels)).or_insert(value);
}

/// `{subject="nas",workload="random read"}`; labels without a value are left out.
fn labelled(labels: &[(&str, &str)]) -> String {
    let known = labels.iter().filter(|(_, value)| !value.is_empty());
    let pairs: Vec<String> =
        known.map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
    if pairs.is_empty() { String::new() } else { format!("{{{}}}", pairs.join(",")) }
}

/// Text of a label or a help: backslashes, quotation marks and line feeds are escaped.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn add_level(families: &mut Families, study: &Study, of: &Exported) {
    let measure = of.metric.measure;
    let kind = of.metric.kind.map(|kind| kind.to_string());
    let labels = [
        ("subject", of.subject.as_str()),
        ("target", &of.target),
        ("workload", &of.workload),
        ("setting", &of.setting),
        ("operation", kind.as_deref().unwrap_or("all")),
    ];
    let better = match study.info(measure).map(|info| info.direction) {
        Some(Direction::More) => " More is better.",
        Some(Direction::Less) => " Less is better.",
        _ => "",
    };
    let what = shape(study, measure).name;
    let name = format!("plimsoll_{}", measure_name(measure));
    let mut level = |name: String, which: &str, value: f64| {
        let help = format!("{which} of the {what} over the blocks of the latest study.{better}");
        add(families, name, help, &labels, value);
    };
    if let Some(interval) = of.level.interval.filter(|of| of.is_finite()).filter(|_| of.is_headline)
    {
        level(
            with_word(&name, "lower_bound"),
            "Lower end of the confidence interval",
            interval.low,
        );
        level(
            with_word(&name, "upper_bound"),
            "Upper end of the confidence interval",
            interval.high,
        );
    }
    level(name, "Mean", of.level.estimate);
}

fn add_study(families: &mut Families, study: &Study) {
    let mut own = |name: &str, help: &str, labels: &[(&str, &str)], value: f64| {
        add(families, format!("plimsoll_study_{name}"), help.to_owned(), labels, value);
    };
    let version = match &study.origin {
        Origin::Measured { version } => format!("plimsoll {version}"),
        Origin::Imported { tool } => tool.clone(),
    };
    let labels = [("study", bounded(&study.id.0)), ("version", bounded(&version))];
    let labels = labels.each_ref().map(|(name, value)| (*name, value.as_str()));
    own("info", "Latest study. The value is 1.", &labels, 1.0);
    let started = study.started_unix_seconds as f64;
    own("start_time_seconds", "Start of the latest study since 1970-01-01 UTC.", &[], started);
    let count = |is: fn(&Outcome) -> bool| {
        study.trials.iter().filter(|trial| is(&trial.result.outcome)).count() as f64
    };
    let outcomes = [
        ("complete", count(|outcome| matches!(outcome, Outcome::Complete))),
        ("failed", count(|outcome| matches!(outcome, Outcome::Failed { .. }))),
        ("stopped", count(|outcome| matches!(outcome, Outcome::Stopped))),
        ("void", count(Outcome::is_void)),
    ];
    for (outcome, trials) in outcomes {
        own("trials", "Trials of the latest study by outcome.", &[("outcome", outcome)], trials);
    }
}

fn add_gate(families: &mut Families, study: &Study, gate: &GateResult) {
    let names = Names::new(study);
    for row in &gate.rows {
        let condition = row.condition.as_ref().map_or_else(String::new, ToString::to_string);
        let texts = [
            bounded(&names.subject(row.cell.subject)),
            bounded(&names.workload(row.cell.workload)),
            bounded(&names.levels(row.cell.setting)),
            bounded(&condition),
        ];
        let labels = ["subject", "workload", "setting", "condition"];
        let labels: Vec<(&str, &str)> =
            labels.into_iter().zip(texts.iter().map(String::as_str)).collect();
        if let Some(change) = row.change() {
            let help = "Change from the baseline as a share: -0.1 is 10% lower.".to_owned();
            add(families, "plimsoll_gate_change_ratio".to_owned(), help, &labels, change);
        }
        let failed = match row.outcome {
            GateOutcome::Failed => 1.0,
            GateOutcome::Passed => 0.0,
            _ => continue,
        };
        if row.condition.is_some() {
            let help = "Whether the condition failed: 1 or 0. Absent while the spread is unknown.";
            add(families, "plimsoll_gate_failed".to_owned(), help.to_owned(), &labels, failed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_with_their_units() {
        assert_eq!(measure_name(Measure::IOPS), "operations_per_second");
        assert_eq!(measure_name(Measure::LATENCY_P99), "latency_p99_seconds");
        for (name, lower) in [
            ("throughput_bytes_per_second", "throughput_lower_bytes_per_second"),
            ("operations_per_second", "operations_lower_per_second"),
            ("elapsed_seconds", "elapsed_lower_seconds"),
            ("step_value", "step_value_lower"),
        ] {
            assert_eq!(with_word(name, "lower"), lower);
        }
    }

    #[test]
    fn labels_are_escaped_and_empty_ones_left_out() {
        let labels = labelled(&[("a", "x\\y\"z\nw"), ("b", ""), ("c", "Ü")]);
        assert_eq!(labels, r#"{a="x\\y\"z\nw",c="Ü"}"#);
        assert_eq!(labelled(&[("b", "")]), "");
    }
}
