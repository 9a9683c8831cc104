//! Times in which a target did not answer, in words; and the rates that these times are in.

use super::{Shown, bottleneck};
use crate::figure::{Kind, TIME};
use crate::text::counted;
use crate::verdict::percent;
use plimsoll_explain::{CellFindings, Stalls};
use plimsoll_model::units::three_digits;
use plimsoll_model::{Measure, Metric, Subject, Target, Workload};

/// Share of the time from which on the screen begins with the stalls.
const LEADS: f64 = 0.01;

/// "The server did not answer for 24% of the time: 11 stalls, the longest 5.3 s.", a sentence for each
/// subject with more stalls than can be passed over; of a path "No byte of TCP arrived for 24% of the time: …".
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
    let plan = &shown.study.plan;
    let is_directory = matches!(plan.target(subject), Some(Target::Directory(_)));
    let is_path = plan.subjects.get(subject).and_then(Subject::path).is_some();
    let name = shown.names.subjects.get(subject).filter(|_| shown.names.subjects.len() > 1);
    // A server that waits for the client does not stall.
    let is_client = bottleneck::is_client_in_all(shown, stalls.subject);
    let what = match (name, is_path, is_directory) {
        (Some(name), true, _) => format!("No byte of TCP arrived over {name}"),
        (None, true, _) => "No byte of TCP arrived".to_owned(),
        (Some(name), false, _) if is_client => format!("No operation of {name} completed"),
        (None, false, _) if is_client => "No operation completed".to_owned(),
        (Some(name), _, true) => format!("The storage of {name} did not answer"),
        (Some(name), _, false) => format!("The server of {name} did not answer"),
        (None, _, true) => "The directory's storage did not answer".to_owned(),
        (None, _, false) => "The server did not answer".to_owned(),
    };
    let longest = three_digits(stalls.longest_seconds);
    let stalled = match stalls.count {
        1 => format!("1 stall of {longest} s"),
        many => format!("{}, the longest {longest} s", counted(many as u64, "stall")),
    };
    format!("{what} for {} of the time: {stalled}.", percent(stalls.share))
}

/// " (9.2 over all time)" after the speed of a cell, where the screen begins with the stalls of its subject.
pub(crate) fn over_all_time(shown: &Shown<'_>, cell: &CellFindings, speed: Measure) -> String {
    let Some((level, rate)) = rates(shown, cell, speed) else { return String::new() };
    format!(" ({} over all time)", in_same_unit(shown.shape(speed).kind, level, rate))
}

/// "5.00 ms (7.00 over all time)": the mean time of an operation of all kinds, under the same condition.
pub(crate) fn time_over_all(
    shown: &Shown<'_>,
    workload: &Workload,
    cell: &CellFindings,
) -> Option<String> {
    let part = workload.main()?;
    let at_once = f64::from(part.workers.get()) * f64::from(part.depth().get());
    let (level, rate) = rates(shown, cell, Measure::IOPS)?;
    let (level, time) = (at_once / level, at_once / rate);
    Some(format!("{} ({} over all time)", TIME.value(level), in_same_unit(TIME, level, time)))
}

/// The rate of a cell between stalls and over all time.
fn rates(shown: &Shown<'_>, cell: &CellFindings, speed: Measure) -> Option<(f64, f64)> {
    let leads = |stalls: &Stalls| stalls.subject == cell.cell.subject && stalls.share > LEADS;
    let level = cell.levels.get(&Metric::all(speed))?.estimate;
    let rate = cell.over_all_time.get(&Metric::all(speed))?;
    shown.stalls.iter().any(leads).then_some((level, *rate))
}

/// A figure in the unit of the one before it, without the unit where that is the same.
fn in_same_unit(kind: Kind, first: f64, value: f64) -> String {
    let unit = |value: f64| kind.value(value).split(' ').nth(1).map(str::to_owned);
    match unit(first) == unit(value) {
        true => kind.value(value).split(' ').next().unwrap_or_default().to_owned(),
        false => kind.value(value),
    }
}
