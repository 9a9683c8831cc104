//! The rows of a study.

use super::{Measured, Outcome, Row, Settling, WhatIfReport, words};
use crate::measure;
use crate::sections::repeated;
use crate::study::bottleneck;
use crate::study::limits::{is_blind, server};
use crate::study::{Shown, head, paths};
use crate::text::{listed, printable};
use plimsoll_explain::whatif::{
    Answer, LinkRate, Next, Place, Prediction, Score, Settle, Unknown, WhatIf, is_recorded,
    predict, predicted_rows, scores,
};
use plimsoll_model::{Cell, KeptPrediction, Measure, PredictedRow, Study};
use serde_json::json;

impl WhatIfReport {
    /// What these changes together would bring; beside it `later`, which measured the same work after them.
    pub fn new(study: &Study, changes: &[WhatIf], later: Option<&Study>) -> WhatIfReport {
        let shown = Shown::new(study);
        let predictions = predict(study, changes);
        let ranges = predicted_rows(study, &predictions);
        let scores = later.map_or_else(Vec::new, |later| scores(study, changes, &ranges, later));
        let score = |one: &Prediction| scores.iter().find(|score| score.cell == one.cell);
        let measured = |one| Row { measured: score(one).map(of_score), ..row(&shown, one) };
        WhatIfReport {
            titles: [
                format!("Prediction for {}", listed(&shown.names.subjects)),
                head::title(study),
            ],
            change: words::changes(changes),
            of: json!({ "study": printable(&study.id.0) }),
            rows: predictions.iter().map(measured).collect(),
            assumed: assumed(study, changes, &predictions),
            later: later.map(|later| printable(&later.id.0)),
            ranges,
            kept: None,
        }
    }

    /// Rows with a predicted range, to be kept.
    pub fn ranges(&self) -> &[PredictedRow] {
        &self.ranges
    }

    /// Whether a row was measured after the change.
    pub fn is_scored(&self) -> bool {
        self.rows.iter().any(|row| row.measured.is_some())
    }

    /// Adds that the prediction is kept.
    pub fn set_kept(&mut self, kept: &KeptPrediction) {
        let words = match (&kept.measured, is_recorded(&kept.changes)) {
            (Some(_), _) => "The result is kept: plimsoll history counts it.",
            (None, true) => {
                "The prediction is kept: plimsoll history compares it with the next study that shows the change."
            }
            (None, false) => {
                "The prediction is kept. A study does not show this change: name the next study with --measured."
            }
        };
        self.kept = Some(words);
    }
}

/// "inside", "below" or "above".
pub(crate) fn place(of: Place) -> &'static str {
    match of {
        Place::Inside => "inside",
        Place::Below => "below",
        Place::Above => "above",
    }
}

fn of_score(score: &Score) -> Measured {
    Measured { figure: score.measured, place: place(score.place) }
}

/// What every prediction of these changes assumes.
fn assumed(study: &Study, changes: &[WhatIf], predictions: &[Prediction]) -> Vec<String> {
    let mut assumed = Vec::new();
    let is_range =
        |one: &Prediction| matches!(one.answer, Answer::Between { .. } | Answer::AtMost { .. });
    if predictions.iter().any(is_range) {
        let blocks = study.trials.iter().filter_map(|trial| trial.block).max().unwrap_or(0);
        let spread = if blocks > 0 { "its blocks" } else { "a single run" };
        assumed.push(format!(
            "The ranges have the spread of {spread}. The day-to-day spread is unknown, because this is one study."
        ));
    }
    let is_link = |change: &WhatIf| matches!(change, WhatIf::Link { .. });
    let is_rate =
        |change: &WhatIf| matches!(change, WhatIf::Link { to: LinkRate::BitsPerSecond(_), .. });
    if changes.iter().any(is_link) {
        let adapters =
            if changes.iter().any(is_rate) { " A USB adapter may need more." } else { "" };
        assumed
            .push(format!("Assumed: a packet takes the same CPU time on the new link.{adapters}"));
    }
    assumed
}

pub(super) fn row(shown: &Shown<'_>, one: &Prediction) -> Row {
    let shape = measure::shape(shown.study, one.measure);
    let several = shown.names.setups() > 1;
    let outcome = match &one.answer {
        Answer::Same { is_unused } => Outcome::Same(same(shown, one, *is_unused)),
        Answer::Between { low, high } => {
            Outcome::Range { low: Some(*low), high: *high, unknown: Vec::new() }
        }
        Answer::AtMost { low, high, unknown } => Outcome::Range {
            low: *low,
            high: *high,
            unknown: unknown.iter().map(words::unknown).collect(),
        },
        Answer::CannotSay(refusal) => Outcome::CannotSay(words::why(&refusal.why)),
    };
    let settles: Vec<Settle> = match &one.answer {
        Answer::CannotSay(refusal) => vec![refusal.settle.clone()],
        Answer::AtMost { unknown, .. } => unknown.iter().map(settled_by).collect(),
        Answer::Same { .. } | Answer::Between { .. } => Vec::new(),
    };
    let mut settle: Vec<Settling> = Vec::new();
    let settles = settles.iter().filter(|settle| **settle != Settle::Nothing);
    for one in settles.map(|settle| settling(shown, one.cell, held_of(one), settle)) {
        if !settle.contains(&one) {
            settle.push(one);
        }
    }
    // What to measure first stands before the change itself.
    settle.sort_by_key(|one| one.what == AFTERWARDS);
    settle.truncate(1);
    Row {
        work: shown.names.workload(one.cell.workload),
        setup: several.then(|| shown.names.setup(one.cell)),
        kind: shape.kind,
        unit: shape.unit(),
        recorded_unit: if one.measure == Measure::THROUGHPUT { "B/s" } else { "1/s" },
        today: one.today,
        next: next(shown, one),
        outcome,
        settle,
        measured: None,
    }
}

/// Why it makes no difference: the bottleneck, or that it is not used.
fn same(shown: &Shown<'_>, one: &Prediction, is_unused: bool) -> String {
    let name = match &one.limits {
        Some(limits) => bottleneck::name(shown, limits).filter(|_| limits_name_a_resource(one)),
        None => paths::named(shown, one.cell),
    };
    match name {
        Some(name) if name.contains(" or ") => format!("the bottleneck is {name}"),
        Some(name) if name.ends_with('s') => format!("{name} are the bottleneck"),
        Some(name) => format!("the {name} is the bottleneck"),
        None if is_unused => "it does not use this resource measurably".to_owned(),
        None if one.limits.is_none() => "its bottleneck is not known".to_owned(),
        None => "the work needs next to none of its time".to_owned(),
    }
}

/// The bottleneck of a row today, as a reason.
pub(super) fn reason_of(shown: &Shown<'_>, one: &Prediction) -> String {
    same(shown, one, false)
}

fn limits_name_a_resource(one: &Prediction) -> bool {
    use plimsoll_explain::Limit;
    let verdict = one.limits.as_ref().map(|limits| &limits.verdict);
    matches!(verdict, Some(Limit::Resource { .. } | Limit::Several { .. }))
}

fn next(shown: &Shown<'_>, one: &Prediction) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for next in &one.next {
        let name = match (next, &one.limits) {
            (Next::Resource(of), _) => bottleneck::resource_name(shown, one.cell, of),
            (Next::OfPath(resource), _) => words::of_path(resource),
            (Next::Waiting, Some(limits)) if is_blind(limits) => "not monitored".to_owned(),
            (Next::Waiting, _) => "waiting".to_owned(),
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// What to measure because of something that is not known.
fn settled_by(unknown: &Unknown) -> Settle {
    match unknown {
        Unknown::Disk { host, .. } => Settle::Disk(Box::new(host.clone())),
        Unknown::Server | Unknown::Link | Unknown::Held(_) => Settle::Monitor,
        Unknown::Concurrency => Settle::Sweep,
        Unknown::Clock(_) => Settle::Again,
        Unknown::Beyond(_)
        | Unknown::SharedProcessor
        | Unknown::OwnProcessor
        | Unknown::MixedLinks
        | Unknown::Architecture
        | Unknown::Memory
        | Unknown::DiskDepth
        | Unknown::RestOfPath
        | Unknown::Encryption => Settle::Change,
    }
}

const FIRST: &str = "To settle it";
const AFTERWARDS: &str = "After the change";

/// A host of a lab between client and server that was not monitored.
fn held_of(one: &Prediction) -> Option<String> {
    let held = one.limits.iter().flat_map(|limits| &limits.held).next();
    held.map(|held| printable(&held.host.to_string()))
}

/// The command of a study with further options; of a command without such options a check of the same target.
pub(super) fn with_options(shown: &Shown<'_>, subject: u16, options: &str) -> String {
    let command = repeated(&shown.study.plan.command);
    let has_options =
        ["plimsoll check", "plimsoll copy"].iter().any(|own| command.starts_with(own));
    let target = shown.study.subjects.get(usize::from(subject));
    let target = target.map_or("TARGET".to_owned(), |facts| printable(facts.given()));
    match has_options {
        true => format!("{command}{options}"),
        false => format!("plimsoll check {target}{options}"),
    }
}

fn settling(shown: &Shown<'_>, cell: Cell, held: Option<String>, settle: &Settle) -> Settling {
    let command = repeated(&shown.study.plan.command);
    let is_check = command.starts_with("plimsoll check");
    let host = || server(shown, cell.subject);
    let with = |options: &str| with_options(shown, cell.subject, options);
    let is_imported = shown.findings.imported;
    let command = match settle {
        Settle::Monitor if is_imported => "plimsoll check TARGET --host HOST".to_owned(),
        Settle::Monitor => with(&format!(" --host {}", held.unwrap_or_else(host))),
        Settle::Sweep => with(" --explain"),
        Settle::Disk(host) => {
            format!("plimsoll device {} --only disk --disk PATH", printable(&host.to_string()))
        }
        Settle::Workers(count) => with(&format!(" --workers {count}")),
        Settle::Depth(count) => with(&format!(" --depth {count}")),
        Settle::ClosedLoop | Settle::Again | Settle::Change if is_imported => {
            "plimsoll check TARGET --host HOST".to_owned()
        }
        Settle::ClosedLoop => {
            let target = shown.study.subjects.get(usize::from(cell.subject));
            format!("plimsoll check {}", target.map_or("TARGET".into(), |t| printable(t.given())))
        }
        Settle::Again if is_check => format!("{command} --explain"),
        Settle::Again | Settle::Change | Settle::Nothing => command,
    };
    let what = if *settle == Settle::Change { AFTERWARDS } else { FIRST };
    Settling { what, command }
}
