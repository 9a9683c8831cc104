//! Times in which a target did not answer, in words; and the rates that these times are in.

use super::Shown;
use crate::text::counted;
use crate::verdict::percent;
use plimsoll_explain::{CellFindings, Stalls};
use plimsoll_model::units::three_digits;
use plimsoll_model::{Measure, Metric, Target};

/// Share of the time from which on the screen begins with the stalls.
const LEADS: f64 = 0.01;

/// "The server did not answer for 24% of the time: 11 stalls, the longest 5.3 s.", a sentence for each
/// subject with more stalls than can be passed over.
pub(crate) fn leading(shown: &Shown<'_>) -> Vec<String> {
    sentences(shown, |stalls| stalls.share > LEADS)
}

/// The same of the subjects with fewer stalls.
pub(crate) fn few(shown: &Shown<'_>) -> Vec<String> {
    sentences(shown, |stalls| stalls.share <= LEADS)
}

fn sentences(shown: &Shown<'_>, are_told: impl Fn(&Stalls) -> bool) -> Vec<String> {
    shown.stalls.iter().filter(|stalls| are_told(stalls)).map(|s| sentence(shown, s)).collect()
}

fn sentence(shown: &Shown<'_>, stalls: &Stalls) -> String {
    let subject = usize::from(stalls.subject);
    let is_directory = matches!(shown.study.plan.target(subject), Some(Target::Directory(_)));
    let name = shown.names.subjects.get(subject).filter(|_| shown.names.subjects.len() > 1);
    let who = match (name, is_directory) {
        (Some(name), true) => format!("The storage of {name}"),
        (Some(name), false) => format!("The server of {name}"),
        (None, true) => "The directory's storage".to_owned(),
        (None, false) => "The server".to_owned(),
    };
    let longest = three_digits(stalls.longest_seconds);
    let stalled = match stalls.count {
        1 => format!("1 stall of {longest} s"),
        many => format!("{}, the longest {longest} s", counted(many as u64, "stall")),
    };
    format!("{who} did not answer for {} of the time: {stalled}.", percent(stalls.share))
}

/// " (9.2 over all time)" after the speed of a cell, where the screen begins with the stalls of its subject.
pub(crate) fn over_all_time(shown: &Shown<'_>, cell: &CellFindings, speed: Measure) -> String {
    let leads = |stalls: &Stalls| stalls.subject == cell.cell.subject && stalls.share > LEADS;
    let rate = cell.over_all_time.get(&Metric::all(speed));
    let level = cell.levels.get(&Metric::all(speed)).map(|level| level.estimate);
    match rate.filter(|_| shown.stalls.iter().any(leads)) {
        Some(rate) => {
            // In the unit of the figure before it.
            let kind = shown.shape(speed).kind;
            let unit = |value: f64| kind.value(value).split(' ').nth(1).map(str::to_owned);
            let value = match level.is_some_and(|level| unit(level) == unit(*rate)) {
                true => kind.value(*rate).split(' ').next().unwrap_or_default().to_owned(),
                false => kind.value(*rate),
            };
            format!(" ({value} over all time)")
        }
        None => String::new(),
    }
}
