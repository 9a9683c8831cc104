//! What happened inside the trials, over their time.

use super::common::{MOST_LINES, lined};
use crate::chart::{Axis, COUNT, Line, Lines, Point, SECONDS};
use crate::document::Figure;
use crate::names;
use crate::study::{Shown, speed};
use crate::text::capital;
use crate::verdict::percent;
use plimsoll_explain::WorkloadFindings;
use plimsoll_model::units::{bytes_per_second, seconds};
use plimsoll_model::{Cell, Flag, Length, Measure, OpKind, Outcome, Series, Trial, Window};
use std::collections::BTreeSet;

/// The complete trials of a cell.
pub(super) fn complete<'a>(shown: &Shown<'a>, cell: Cell) -> Vec<&'a Trial> {
    let trials = shown.study.trials.iter();
    trials.filter(|t| matches!(t.result.outcome, Outcome::Complete) && t.cell == cell).collect()
}

/// The rate of every subject over the time of a trial: of each kind of operation that moves bytes;
/// of all kinds where none does.
pub(super) fn throughput(
    shown: &Shown<'_>,
    found: &WorkloadFindings,
    id: String,
    name: &str,
) -> Option<Figure> {
    let bytes = speed(&found.workload) == Measure::THROUGHPUT;
    let shape = shown.shape(if bytes { Measure::THROUGHPUT } else { Measure::IOPS });
    let amount = |kind: Option<OpKind>, window: &Window, seconds: f64| {
        let count = kind.map_or_else(|| window.total(), |kind| window.count(kind));
        let amount = if bytes { count.bytes } else { count.operations };
        Some(amount as f64 / seconds)
    };
    let words = Words {
        title: format!("{}: {} over time", capital(name), shape.name),
        axis: Axis::new(&shape.name, shape.kind),
        unless_within: 0.0,
    };
    over_windows(shown, found, id, &kinds(shown, found), &amount, &words)
}

/// The kinds of operation with lines of their own: those that move bytes, or all where none does. A
/// single one needs no name.
fn kinds(shown: &Shown<'_>, found: &WorkloadFindings) -> Vec<Option<OpKind>> {
    let part = found.workload.headline_part();
    let trials = shown.study.trials.iter().filter(|t| t.cell.workload == found.number);
    let (mut all, mut with_bytes) = (BTreeSet::new(), BTreeSet::new());
    for (kind, column) in
        trials.filter_map(|t| t.result.part(part)).flat_map(|part| &part.series.kinds)
    {
        all.insert(Some(*kind));
        if column.bytes.iter().any(|bytes| *bytes > 0) {
            with_bytes.insert(Some(*kind));
        }
    }
    let kinds = if with_bytes.is_empty() { all } else { with_bytes };
    if kinds.len() > 1 { kinds.into_iter().collect() } else { vec![None] }
}

/// The operations in flight of every subject over the time of a trial, where that was kept and is not the
/// same all the time: the number of a closed loop needs no picture.
pub(super) fn in_flight(
    shown: &Shown<'_>,
    found: &WorkloadFindings,
    id: String,
    name: &str,
) -> Option<Figure> {
    let amount = |_: Option<OpKind>, window: &Window, seconds: f64| {
        (window.in_flight_ns > 0).then(|| window.in_flight_ns as f64 / (1e9 * seconds))
    };
    let words = Words {
        title: format!("{}: operations in flight over time", capital(name)),
        axis: Axis::new("operations in flight", COUNT),
        unless_within: 0.1,
    };
    over_windows(shown, found, id, &[None], &amount, &words)
}

/// What a chart over the windows of the trials is called.
struct Words {
    title: String,
    axis: Axis,
    /// Not drawn where all figures are within such a share of each other.
    unless_within: f64,
}

/// A window's value of one kind of operation or of all, from what it holds and its length in seconds.
type Value<'a> = &'a dyn Fn(Option<OpKind>, &Window, f64) -> Option<f64>;

fn over_windows(
    shown: &Shown<'_>,
    found: &WorkloadFindings,
    id: String,
    kinds: &[Option<OpKind>],
    value: Value<'_>,
    words: &Words,
) -> Option<Figure> {
    let (cells, only) = lined(found);
    let (mut lines, mut phases) = (Vec::new(), Vec::new());
    let part = found.workload.headline_part();
    for cell in cells.map(|c| c.cell) {
        let trials = complete(shown, cell);
        let name = shown.names.setup(cell);
        for (number, kind) in kinds.iter().enumerate() {
            let value = |window: &Window, seconds| value(*kind, window, seconds);
            // As many points as one line has, so that the page does not become larger.
            let points = points(&trials, part, &value, together(shown) * kinds.len());
            if points.len() < 2 {
                continue;
            }
            let label = match kind {
                Some(kind) => format!("{name}, {}", names::operations(*kind)),
                None => name.clone(),
            };
            let series = kinds.len() * shown.names.place(cell) + number;
            lines.push(Line { label, series, points });
        }
        phases.extend(phase(&trials, &name).filter(|_| !lines.is_empty()));
    }
    lines.truncate(2 * MOST_LINES);
    let ends = lines.iter().flat_map(|line| &line.points).flat_map(|point| {
        let (low, high) = point.band.unwrap_or((point.y, point.y));
        [low, high]
    });
    let (low, high) = ends.fold((f64::INFINITY, 0.0), |(l, h): (f64, f64), y| (l.min(y), h.max(y)));
    let flat = high <= low * (1.0 + words.unless_within) && phases.is_empty();
    if lines.is_empty() || flat && words.unless_within > 0.0 {
        return None;
    }
    let warm_up = match found.workload.length {
        Length::For { warm_up_seconds, .. } => {
            format!(" The warm-up (at most {}) is included.", seconds(warm_up_seconds))
        }
        Length::UntilDone { .. } => String::new(),
    };
    let caption = format!(
        "Line: median of the trials in each window; band: from the lowest to the highest trial.\
         {warm_up}{only}"
    );
    let chart = Lines {
        title: words.title.clone(),
        description: caption.clone(),
        x: Axis::new("time in the trial", SECONDS),
        y: words.axis.clone(),
        lines,
        phases,
        names: Vec::new(),
    };
    Some(Figure::new(id, Box::new(chart), caption))
}

/// Windows that are drawn as one: a page that has the charts of servers too draws these coarser, so
/// that it does not become larger.
fn together(shown: &Shown<'_>) -> usize {
    if shown.study.plan.others().next().is_none() { 1 } else { 3 }
}

/// A point for so many windows `together`: the median of the trials, and from their lowest to their
/// highest.
fn points(
    trials: &[&Trial],
    part: u16,
    value: &dyn Fn(&Window, f64) -> Option<f64>,
    together: usize,
) -> Vec<Point> {
    let all: Vec<&Series> =
        trials.iter().filter_map(|t| Some(&t.result.part(part)?.series)).collect();
    let lengths = all.iter().map(|series| series.window_seconds);
    let Some(seconds) = lengths.clone().find(|s| s.is_finite() && *s > 0.0) else {
        return Vec::new();
    };
    // The last window may have been cut short by the end of the trial.
    let whole = |series: &&Series| series.len().saturating_sub(1);
    let longest = all.iter().map(whole).max().unwrap_or(0);
    let mut values = Vec::new();
    let mut points = Vec::new();
    for first in (0..longest).step_by(together) {
        values.clear();
        values.extend(all.iter().filter_map(|series| {
            let last = whole(series).min(first + together);
            let mut sum = Window::default();
            (first..last).for_each(|number| sum.add(&series.window(number)));
            let windows = last.checked_sub(first).filter(|n| *n > 0)?;
            let seconds = series.window_seconds * windows as f64;
            value(&sum, seconds).filter(|v| v.is_finite())
        }));
        values.sort_by(f64::total_cmp);
        let (Some(low), Some(high)) = (values.first(), values.last()) else { continue };
        let middle = values.len() / 2;
        let median = match values.len() % 2 {
            0 => (values[middle - 1] + values[middle]) / 2.0,
            _ => values[middle],
        };
        let band = (values.len() > 1).then_some((*low, *high));
        let middle = first as f64 + together as f64 / 2.0;
        points.push(Point { x: middle * seconds, y: median, band });
    }
    points
}

/// Where the rate changed inside the trials, if it did in most of those that were flagged: the
/// median place, and what came before and after.
pub(super) fn phase(trials: &[&Trial], name: &str) -> Option<(f64, String)> {
    let mut changes: Vec<(f64, f64, f64)> = trials
        .iter()
        .flat_map(|t| &t.result.flags)
        .filter_map(|flag| match flag {
            Flag::TwoPhases { at_seconds, burst_bytes_per_second, sustained_bytes_per_second } => {
                Some((*at_seconds, *burst_bytes_per_second, *sustained_bytes_per_second))
            }
            _ => None,
        })
        .collect();
    changes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (at, burst, sustained) = *changes.get(changes.len() / 2)?;
    let share = percent(changes.len() as f64 / trials.len() as f64);
    let what = format!(
        "{name}: {} before, {} after ({share} of trials)",
        bytes_per_second(burst),
        bytes_per_second(sustained)
    );
    at.is_finite().then_some((at, what))
}
