//! The gate of a study: its conditions, by the spread between earlier studies.

use crate::chart::Table;
use crate::document::{Document, Layout, Section};
use crate::measure::shape;
use crate::names::Names;
use crate::text::{counted, printable};
use crate::verdict::percent;
use plimsoll_explain::{FEWEST_BASELINES, GateOutcome, GateResult, GateRow};
use plimsoll_model::{GateSide, Study, StudyId};

impl Document {
    /// The gate of a study; `baseline` is the latest study that it is compared with, if there is one.
    pub fn of_gate(study: &Study, result: &GateResult, baseline: Option<&StudyId>) -> Document {
        let names = Names::new(study);
        let mut answer = Section::new("gate", "");
        let mut header =
            vec!["work", "baseline", "this study", "change", "by chance", "fails if", "result"];
        let has_conditions = result.rows.iter().any(|row| row.condition.is_some());
        if !has_conditions {
            header.truncate(5);
        }
        let mut table = Table::new(header.into_iter().map(str::to_owned).collect());
        for row in &result.rows {
            let mut cells = vec![name(&names, row)];
            cells.extend(figures(study, row));
            if has_conditions {
                cells.extend([bound(row), outcome(row.outcome).to_owned()]);
            }
            table.rows.push(cells);
        }
        answer.table(table, Layout::Words);
        answer.texts(sentences(result, baseline));
        let title = match (has_conditions, result.has_failed()) {
            (true, true) => "Gate failed (exit code 7)",
            (true, false) => "Gate passed",
            (false, _) => "Compared with earlier studies",
        };
        let (title, subtitle) = (title.to_owned(), String::new());
        Document { title, subtitle, extent: String::new(), sections: vec![answer] }
    }
}

/// "sequential read", "sequential read on nas".
fn name(names: &Names, row: &GateRow) -> String {
    let work = names.workload(row.cell.workload);
    if names.setups() > 1 { format!("{work} on {}", names.setup(row.cell)) } else { work }
}

/// Baseline, figure, change, and the change that happens by chance.
fn figures(study: &Study, row: &GateRow) -> [String; 4] {
    let shape = shape(study, row.metric.measure);
    let none = || "–".to_owned();
    let level = |level: Option<f64>| level.map_or_else(none, |level| shape.plain(level));
    let by_chance = row.by_chance.map_or_else(none, |ratio| match row.condition.as_ref() {
        Some(condition) if condition.fails == GateSide::Below => signed(1.0 / ratio - 1.0),
        Some(_) => signed(ratio - 1.0),
        None => format!("{} to {}", signed(1.0 / ratio - 1.0), signed(ratio - 1.0)),
    });
    let change = row.change().map_or_else(none, signed);
    [level(row.baseline), level(row.now), change, by_chance]
}

/// "+3.2%", "-12%".
fn signed(share: f64) -> String {
    if share < 0.0 { percent(share) } else { format!("+{}", percent(share)) }
}

/// "more than 10% lower".
fn bound(row: &GateRow) -> String {
    row.condition.as_ref().map_or_else(String::new, |condition| {
        let side = match condition.fails {
            GateSide::Below => "lower",
            GateSide::Above => "higher",
        };
        format!("{} {side}", percent(condition.share))
    })
}

fn outcome(outcome: GateOutcome) -> &'static str {
    match outcome {
        GateOutcome::Passed => "passed",
        GateOutcome::Failed => "failed",
        GateOutcome::SpreadUnknown => "spread unknown",
        GateOutcome::NoBaseline => "no baseline",
        GateOutcome::NotMeasured => "not measured",
    }
}

/// How many studies it is compared with, and what the outcomes are worth.
fn sentences(result: &GateResult, baseline: Option<&StudyId>) -> Vec<String> {
    let counts = || result.rows.iter().map(|row| row.studies);
    let (least, most) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
    let studies = match (least, most) {
        (0, 0) => "no earlier study of equal work".to_owned(),
        (least, most) if least == most => counted(most as u64, "study"),
        (least, most) => format!("{least} to {most} studies"),
    };
    let up_to = baseline.filter(|_| most > 0);
    let up_to = up_to.map_or_else(String::new, |id| format!(" up to {}", printable(&id.0)));
    let mut texts = vec![format!("Baseline: {studies}{up_to}.")];
    let has = |outcome: GateOutcome| result.rows.iter().any(|row| row.outcome == outcome);
    if has(GateOutcome::SpreadUnknown) {
        texts.push(format!(
            "The day-to-day spread is unknown: it needs {FEWEST_BASELINES} studies of equal work. Until then nothing fails."
        ));
    }
    let conditions = result.rows.iter().filter(|row| row.condition.is_some()).count();
    if conditions > 0 && result.rows.iter().any(|row| row.by_chance.is_some()) {
        let over = match conditions {
            1 => String::new(),
            many => format!(", over all {many} rows together"),
        };
        texts.push(format!(
            "A row fails if the change is beyond its bound and larger than a change by chance from day to day. Without \
             a change, the gate fails with a probability of at most {}{over}.",
            percent(result.level)
        ));
    }
    texts
}

/// Name, figures, bound and outcome of a row, for files of other programs.
pub(crate) fn in_words(study: &Study, row: &GateRow) -> (String, String, &'static str) {
    let names = Names::new(study);
    let [baseline, now, change, by_chance] = figures(study, row);
    let text = format!(
        "{now}, baseline {baseline} from {}, change {change}, by chance {by_chance}",
        counted(row.studies as u64, "study")
    );
    (name(&names, row), text, outcome(row.outcome))
}
