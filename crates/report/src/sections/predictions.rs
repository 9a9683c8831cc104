//! Predictions of a subject beside the studies after the change.

use crate::chart::Table;
use crate::date::day;
use crate::document::{Layout, Section};
use crate::measure::shape;
use crate::names;
use crate::text::{counted, printable};
use crate::whatif::study::place;
use crate::whatif::words::changes;
use plimsoll_explain::History;
use plimsoll_explain::whatif::{CheckedPrediction, Place, Score, is_recorded};

const NOTHING: &str = "–";

/// "3 predictions: 2 of 3 rows are inside the predicted range; 1 is below it."
pub(super) fn in_words(all: &[CheckedPrediction]) -> Option<String> {
    let scores = || all.iter().flat_map(|one| &one.scores);
    let measured = all.iter().filter(|one| !one.scores.is_empty()).count();
    let predictions = counted(all.len() as u64, "prediction");
    if measured == 0 {
        let them = if all.len() == 1 { "is kept" } else { "are kept" };
        return (!all.is_empty())
            .then(|| format!("{predictions} {them}: no study after the change is known."));
    }
    let at = |place: Place| scores().filter(|score: &&Score| score.place == place).count();
    let some = if measured < all.len() {
        format!("{predictions}, of which {measured} can be compared")
    } else {
        predictions
    };
    let outside =
        [(Place::Below, "below"), (Place::Above, "above")].map(|(of, word)| match at(of) {
            0 => String::new(),
            1 => format!("; 1 is {word} it"),
            many => format!("; {many} are {word} it"),
        });
    let (inside, rows) = (at(Place::Inside), scores().count());
    let outside = outside.concat();
    Some(format!("{some}: {inside} of {rows} rows are inside the predicted range{outside}."))
}

/// Every prediction with its rows.
pub(super) fn section(history: &History<'_>, all: &[CheckedPrediction]) -> Section {
    let mut section = Section::details("predictions", "Predictions");
    let header = ["made", "study", "change", "work", "at least", "at most", "measured"];
    let mut table = Table::new(header.map(str::to_owned).into());
    for one in all {
        let prediction = &one.prediction;
        let moment = history.moments.iter().find(|own| own.study.id == prediction.study);
        let Some(study) = moment.map(|own| own.study) else { continue };
        let works = names::workloads(&study.plan);
        for row in &prediction.rows {
            let value = |figure: f64| shape(study, row.measure).plain(figure);
            let score = one.scores.iter().find(|score| score.cell == row.cell);
            let measured = match (score, &one.later) {
                (Some(score), Some(later)) => {
                    let (figure, of) = (value(score.measured), printable(&later.0));
                    format!("{figure} in {of}, {}", place(score.place))
                }
                _ if one.later.is_none() && !is_recorded(&prediction.changes) => {
                    "only with --measured".to_owned()
                }
                _ => NOTHING.to_owned(),
            };
            let work = works.get(usize::from(row.cell.workload)).cloned().unwrap_or_default();
            table.rows.push(vec![
                day(prediction.made_unix_seconds),
                printable(&study.id.0),
                changes(&prediction.changes),
                work,
                value(row.low),
                value(row.high),
                measured,
            ]);
        }
    }
    if table.rows.is_empty() {
        return section;
    }
    section.table(table, Layout::Words);
    section.list(vec![
        "A prediction is compared with the study of plimsoll predict --measured, else with the first study after it that \
         shows the change and has equal work."
            .to_owned(),
        "A row is inside if the range of its blocks overlaps the predicted range. No difference is a difference within \
         the margin of the study."
            .to_owned(),
    ]);
    section
}
