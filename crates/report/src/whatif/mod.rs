//! What a change would bring: the answer in a sentence, a row for each kind of work, and the same as JSON.

mod advice;
mod published;
pub(crate) mod study;
pub(crate) mod words;

use crate::chart::Table;
use crate::document::{Document, Layout, Section};
use crate::figure::Kind;
use crate::study::bottleneck::Notes;
use crate::text::{capital, listed};
use plimsoll_model::PredictedRow;
use serde_json::{Value, json};

/// Rows of one answer up to which each is named.
const FEW: usize = 2;
/// Rows of a table up to which each is shown on a screen.
const MOST: usize = 10;
const NOTHING: &str = "–";

/// What changes would bring to a study or to published rows.
pub struct WhatIfReport {
    titles: [String; 2],
    change: String,
    /// The study or the source, for programs.
    of: Value,
    rows: Vec<Row>,
    /// What all predictions assume.
    assumed: Vec<String>,
    /// The study that was measured after the change.
    later: Option<String>,
    /// Rows with a predicted range, of a study.
    ranges: Vec<PredictedRow>,
    /// What becomes of the prediction, if it is kept.
    kept: Option<&'static str>,
}

impl WhatIfReport {
    /// For people.
    pub fn document(&self) -> Document {
        document(self)
    }

    /// For programs.
    pub fn json(&self) -> String {
        let rows: Vec<Value> = self.rows.iter().map(Row::json).collect();
        let value = json!({
            "schema": "plimsoll-prediction/1",
            "of": self.of,
            "change": self.change,
            "assumed": self.assumed,
            "measured_in": self.later,
            "rows": rows,
        });
        format!("{value:#}\n")
    }
}

/// A row with its prediction.
pub(crate) struct Row {
    /// The work, and the setup where there are several.
    pub(crate) work: String,
    pub(crate) setup: Option<String>,
    /// How its figures are shown, and their unit where that does not say it: "IOPS".
    pub(crate) kind: Kind,
    pub(crate) unit: String,
    /// The unit for programs: "B/s", "1/s".
    pub(crate) recorded_unit: &'static str,
    pub(crate) today: f64,
    pub(crate) outcome: Outcome,
    /// Bottlenecks after the change.
    pub(crate) next: Vec<String>,
    /// What to type to be sure, in the order of its weight: what for, and the command.
    pub(crate) settle: Vec<Settling>,
    /// Its figure after the change, if that was made.
    pub(crate) measured: Option<Measured>,
}

/// A figure that was measured after the change.
pub(crate) struct Measured {
    pub(crate) figure: f64,
    /// Where it is beside the predicted range: "inside", "below" or "above".
    pub(crate) place: &'static str,
}

/// What is predicted.
pub(crate) enum Outcome {
    /// No difference, and the reason.
    Same(String),
    /// Both ends; sentences on what is not known, so that the upper end is a bound.
    Range { low: Option<f64>, high: f64, unknown: Vec<String> },
    /// Nothing can be said, and the reason.
    CannotSay(String),
}

/// A command that settles what is not known.
#[derive(Clone, PartialEq)]
pub(crate) struct Settling {
    pub(crate) what: &'static str,
    pub(crate) command: String,
}

impl Row {
    fn title(&self) -> String {
        match &self.setup {
            Some(setup) => format!("{} on {setup}", self.work),
            None => self.work.clone(),
        }
    }

    fn value(&self, value: f64) -> String {
        format!("{} {}", self.kind.value(value), self.unit).trim_end().to_owned()
    }

    /// Words of the answer, and the ends as times today.
    fn gain(&self) -> (Answered, [f64; 2]) {
        match &self.outcome {
            Outcome::Same(reason) => (Answered::Same(reason.clone()), [1.0; 2]),
            Outcome::CannotSay(reason) => (Answered::CannotSay(reason.clone()), [1.0; 2]),
            Outcome::Range { low, high, unknown } => {
                let ends = [low.unwrap_or(0.0) / self.today, high / self.today];
                let answered = match (unknown.is_empty(), ends[1] < 1.0) {
                    (_, true) => Answered::Less,
                    (true, _) => Answered::Range,
                    (false, _) => Answered::AtMost,
                };
                (answered, ends)
            }
        }
    }

    fn json(&self) -> Value {
        let mut row = json!({
            "work": self.work,
            "setup": self.setup,
            "unit": self.recorded_unit,
            "today": self.today,
            "next_bottlenecks": self.next,
            "settled_by": self.settle.iter().map(|one| &one.command).collect::<Vec<_>>(),
        });
        let own = match &self.outcome {
            Outcome::Same(reason) => json!({ "answer": "no difference", "reason": reason }),
            Outcome::CannotSay(reason) => json!({ "answer": "cannot say", "reason": reason }),
            Outcome::Range { low, high, unknown } => json!({
                "answer": if unknown.is_empty() { "range" } else { "at most" },
                "low": low,
                "high": high,
                "unknown": unknown,
            }),
        };
        if let (Some(row), Value::Object(own)) = (row.as_object_mut(), own) {
            row.extend(own);
        }
        if let Some(measured) = &self.measured {
            row["measured"] = json!(measured.figure);
            row["measured_is"] = json!(measured.place);
        }
        row
    }
}

/// Rows with the same words.
#[derive(Clone, PartialEq)]
enum Answered {
    Range,
    AtMost,
    Less,
    Same(String),
    CannotSay(String),
}

/// "A 2.5 Gbit/s link would bring at most 2.10 times as much for sequential read; nothing for random read: the disk is
/// the bottleneck."
pub(crate) fn sentence(change: &str, rows: &[Row]) -> String {
    let mut groups: Vec<(Answered, Vec<&Row>, [f64; 2])> = Vec::new();
    for row in rows {
        let (answered, [low, high]) = row.gain();
        match groups.iter_mut().find(|(known, ..)| *known == answered) {
            Some((_, all, ends)) => {
                all.push(row);
                *ends = [ends[0].min(low), ends[1].max(high)];
            }
            None => groups.push((answered, vec![row], [low, high])),
        }
    }
    let order = |answered: &Answered| match answered {
        Answered::Range | Answered::AtMost | Answered::Less => 0,
        Answered::Same(_) => 1,
        Answered::CannotSay(_) => 2,
    };
    groups.sort_by_key(|(answered, ..)| order(answered));
    let part = |(answered, own, ends): &(Answered, Vec<&Row>, [f64; 2])| {
        let titles: Vec<String> = own.iter().map(|row| row.title()).collect();
        let rows_named = named(&titles, rows.len());
        let (low, high) = (outwards(ends[0], f64::floor), outwards(ends[1], f64::ceil));
        match answered {
            Answered::Range if low == high => format!("{low} times as much for {rows_named}"),
            Answered::Range => format!("{low} to {high} times as much for {rows_named}"),
            Answered::AtMost => format!("at most {high} times as much for {rows_named}"),
            Answered::Less => format!("{low} to {high} times as much for {rows_named}"),
            Answered::Same(reason) => format!("nothing for {rows_named}: {reason}"),
            Answered::CannotSay(reason) => format!("{rows_named}: {reason}"),
        }
    };
    let (silent, told): (Vec<_>, Vec<_>) =
        groups.into_iter().partition(|(answered, ..)| matches!(answered, Answered::CannotSay(_)));
    let mut sentences = Vec::new();
    if !told.is_empty() {
        let parts: Vec<String> = told.iter().map(part).collect();
        sentences.push(format!("{} would bring {}.", capital(change), parts.join("; ")));
    }
    if !silent.is_empty() {
        let parts: Vec<String> = silent.iter().map(part).collect();
        let cause = if told.is_empty() { format!(" of {change}") } else { String::new() };
        sentences.push(format!("The effect{cause} cannot be predicted for {}.", parts.join("; ")));
    }
    match sentences.is_empty() {
        true => "There are no rows to predict.".to_owned(),
        false => sentences.join(" "),
    }
}

/// A factor to one digit, below 1 to two, that is rounded away from the middle of its range.
fn outwards(times: f64, round: fn(f64) -> f64) -> String {
    // What is a digit but for its floating point stays that digit.
    let digits = |steps: f64| {
        let scaled = times * steps;
        let is_near = (scaled - scaled.round()).abs() < 1e-6;
        if is_near { scaled.round() / steps } else { round(scaled) / steps }
    };
    if times < 1.0 { format!("{:.2}", digits(100.0)) } else { format!("{:.1}", digits(10.0)) }
}

/// "Measured after the change, in study 1a2b3c4d: 7 of 8 rows are inside the predicted range; random read is below it."
fn scored(later: &str, rows: &[Row]) -> String {
    let at = |place: &str| -> Vec<String> {
        let is_there = |row: &&Row| row.measured.as_ref().is_some_and(|own| own.place == place);
        rows.iter().filter(is_there).map(Row::title).collect()
    };
    let all = rows.iter().filter(|row| row.measured.is_some()).count();
    if all == 0 {
        return format!("Study {later} measured none of the predicted rows with equal work.");
    }
    let inside = match at("inside").len() {
        1 if all == 1 => "the row is inside the predicted range".to_owned(),
        none_or_some if none_or_some < all => {
            format!("{none_or_some} of {all} rows are inside the predicted range")
        }
        _ => format!("all {all} rows are inside the predicted range"),
    };
    let outside = ["below", "above"].into_iter().filter_map(|place| {
        let own = at(place);
        let is = if own.len() == 1 { "is" } else { "are" };
        (!own.is_empty()).then(|| format!("{} {is} {place} it", named(&own, all)))
    });
    let parts: Vec<String> = std::iter::once(inside).chain(outside).collect();
    format!("Measured after the change, in study {later}: {}.", parts.join("; "))
}

/// Rows by their names, or how many of all there are.
fn named(titles: &[String], all: usize) -> String {
    match titles.len() {
        few if few <= FEW => listed(titles),
        many if many == all => format!("all {many} rows"),
        many => format!("{many} of {all} rows"),
    }
}

/// A row for each prediction.
fn table(rows: &[&Row], notes: &mut Notes) -> Table {
    let several = rows.iter().any(|row| row.setup.is_some());
    let header = std::iter::once("work").chain(several.then_some("on"));
    let header = header.chain(["today", "at least", "at most"]);
    let is_scored = rows.iter().any(|row| row.measured.is_some());
    let header = header.chain(is_scored.then_some("measured")).chain(["next bottleneck"]);
    let mut table = Table::new(header.map(str::to_owned).collect());
    for row in rows {
        let (low, high) = match &row.outcome {
            Outcome::Same(_) => (String::new(), "no difference".to_owned()),
            Outcome::CannotSay(reason) => {
                (String::new(), format!("cannot say{}", notes.mark(&sentence_of(reason))))
            }
            Outcome::Range { low, high, unknown } => {
                let mark = match unknown.is_empty() {
                    true => String::new(),
                    false => {
                        notes.mark(&format!("This is only an upper bound. {}", unknown.join(" ")))
                    }
                };
                let low = low.map_or("unknown".to_owned(), |low| row.value(low));
                (low, row.value(*high) + &mark)
            }
        };
        let next = match row.next.is_empty() {
            true => NOTHING.to_owned(),
            false => row.next.join(" or "),
        };
        let mut cells = vec![row.work.clone()];
        cells.extend(several.then(|| row.setup.clone().unwrap_or_default()));
        cells.extend([row.value(row.today), low, high]);
        cells.extend(is_scored.then(|| match &row.measured {
            Some(Measured { figure, place }) => format!("{}, {place}", row.value(*figure)),
            None => NOTHING.to_owned(),
        }));
        cells.push(next);
        table.rows.push(cells);
    }
    table
}

/// With a capital letter and a full stop.
pub(crate) fn sentence_of(reason: &str) -> String {
    format!("{}.", capital(reason).trim_end_matches('.'))
}

/// The document of some rows: the answer, the rows, what is assumed, and what would settle it.
fn document(of: &WhatIfReport) -> Document {
    let WhatIfReport { titles, change, rows, assumed, later, kept, .. } = of;
    let [title, subtitle] = titles.clone();
    let mut answer = Section::new("answer", "");
    answer.texts(later.as_ref().map(|later| scored(later, rows)));
    answer.text(sentence(change, rows));
    let mut notes = Notes::default();
    // Of many rows those of which nothing can be said are in the sentence.
    let is_many = rows.len() > MOST;
    let is_silent = |row: &Row| matches!(row.outcome, Outcome::CannotSay(_));
    let shown: Vec<&Row> =
        rows.iter().filter(|row| !(is_many && is_silent(row))).take(MOST).collect();
    answer.table(table(&shown, &mut notes), Layout::Words);
    if shown.len() < rows.len() {
        answer.text(format!("{} of {} rows; --details has all.", shown.len(), rows.len()));
    }
    notes.add_to(&mut answer);
    answer.asides(assumed.iter().cloned());
    answer.asides(kept.map(str::to_owned));
    let mut settle: Vec<&Settling> = Vec::new();
    for one in rows.iter().flat_map(|row| &row.settle) {
        if !settle.contains(&one) {
            settle.push(one);
        }
    }
    for one in settle.iter().take(FEW) {
        answer.command(one.what, one.command.clone(), String::new());
    }
    let mut details = Section::details("rows", "Every row");
    let mut own = Notes::default();
    details.table(table(&rows.iter().collect::<Vec<_>>(), &mut own), Layout::Words);
    details.texts(own.texts());
    details.list(assumed.clone());
    Document { title, subtitle, extent: String::new(), sections: vec![answer, details] }
}
