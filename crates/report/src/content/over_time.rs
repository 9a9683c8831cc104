//! What happened inside the trials, over their time.

use super::shape::{Figure, lined, series, speed};
use crate::chart::{Axis, COUNT, Line, Lines, Point, SECONDS};
use crate::names;
use crate::study::Shown;
use crate::text::capital;
use crate::verdict::percent;
use plimsoll_explain::WorkloadFindings;
use plimsoll_model::units::{bytes_per_second, seconds};
use plimsoll_model::{Flag, Outcome, Trial, Window, Workload};

/// The complete trials of a cell.
pub(super) fn complete<'a>(
    shown: &Shown<'a>,
    target: usize,
    workload: &Workload,
) -> Vec<&'a Trial> {
    let trials = shown.study.trials.iter();
    trials
        .filter(|t| matches!(t.result.outcome, Outcome::Complete))
        .filter(|t| t.cell.target == target && t.cell.workload == *workload)
        .collect()
}

/// The rate of every target over the time of a trial.
pub(super) fn throughput(
    shown: &Shown<'_>,
    found: &WorkloadFindings,
    id: String,
    name: &str,
) -> Option<Figure> {
    let (_, title, kind) = speed(found.workload.pattern);
    let bytes = found.workload.pattern.is_sequential();
    let amount = |window: &Window, seconds: f64| {
        let operations = window.read_ops.saturating_add(window.write_ops);
        let amount = if bytes { window.bytes() } else { operations };
        Some(amount as f64 / seconds)
    };
    over_windows(
        shown,
        found,
        id,
        &amount,
        &Words {
            title: format!("{}: {title} over time", capital(name)),
            axis: Axis::new(title, kind),
        },
    )
}

/// The operations in flight of every target over the time of a trial, where that was kept.
pub(super) fn in_flight(
    shown: &Shown<'_>,
    found: &WorkloadFindings,
    id: String,
    name: &str,
) -> Option<Figure> {
    let amount = |window: &Window, seconds: f64| {
        (window.in_flight_ns > 0).then(|| window.in_flight_ns as f64 / (1e9 * seconds))
    };
    over_windows(
        shown,
        found,
        id,
        &amount,
        &Words {
            title: format!("{}: operations in flight over time", capital(name)),
            axis: Axis::new("operations in flight", COUNT),
        },
    )
}

/// What a chart over the windows of the trials is called.
struct Words {
    title: String,
    axis: Axis,
}

/// A window's value, from what it holds and its length in seconds.
type Value<'a> = &'a dyn Fn(&Window, f64) -> Option<f64>;

fn over_windows(
    shown: &Shown<'_>,
    found: &WorkloadFindings,
    id: String,
    value: Value<'_>,
    words: &Words,
) -> Option<Figure> {
    let (targets, only) = lined(found);
    let (mut lines, mut phases) = (Vec::new(), Vec::new());
    for target in targets {
        let trials = complete(shown, target.target, &found.workload);
        let label = names::of(&shown.names, target.target);
        let points = points(&trials, value, together(shown));
        if points.len() < 2 {
            continue;
        }
        phases.extend(phase(&trials, &label));
        lines.push(Line { label, series: series(target.target), points });
    }
    if lines.is_empty() {
        return None;
    }
    let warm_up = shown.study.plan.warm_up_seconds;
    let caption = format!(
        "Line: median of the trials in each window; band: from the lowest to the highest trial. \
         Warm-up ({} at most) is shown too.{only}",
        seconds(warm_up)
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
    Some(Figure { id, chart: Box::new(chart), caption })
}

/// Windows that are drawn as one: a page that has the charts of servers too draws these coarser, so
/// that it does not become larger.
fn together(shown: &Shown<'_>) -> usize {
    if shown.study.plan.hosts.is_empty() { 1 } else { 3 }
}

/// A point for so many windows `together`: the median of the trials, and from their lowest to their
/// highest.
fn points(trials: &[&Trial], value: Value<'_>, together: usize) -> Vec<Point> {
    let lengths = trials.iter().map(|t| t.result.series.window_seconds);
    let Some(seconds) = lengths.clone().find(|s| s.is_finite() && *s > 0.0) else {
        return Vec::new();
    };
    // The last window may have been cut short by the end of the trial.
    let whole = |trial: &&Trial| trial.result.series.windows.len().saturating_sub(1);
    let longest = trials.iter().map(whole).max().unwrap_or(0);
    let mut values = Vec::new();
    let mut points = Vec::new();
    for first in (0..longest).step_by(together) {
        values.clear();
        values.extend(trials.iter().filter_map(|trial| {
            let series = &trial.result.series;
            let windows = series.windows.get(first..whole(trial).min(first + together))?;
            let mut sum = *windows.first()?;
            windows[1..].iter().for_each(|window| sum.add(window));
            let seconds = series.window_seconds * windows.len() as f64;
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
