//! Rate and latency over the last minute.

use crate::run::{Point, Run};
use plimsoll_model::units;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::symbols::Marker;
use ratatui::widgets::{Axis, Block, Chart, Dataset, GraphType};

/// Seconds that the charts reach back.
const REACH: f64 = 60.0;

/// Bytes per second of all kinds of operation; operations where no bytes are moved.
pub(super) fn throughput(run: &Run, frame: &mut Frame<'_>, area: Rect) {
    if run.moves_bytes(run.at_seconds - REACH) {
        let value = |point: &Point| Some(point.bytes_per_second(None));
        draw(run, frame, area, "throughput", Color::Cyan, value, units::bytes_per_second);
    } else {
        let value = |point: &Point| Some(point.operations_per_second(None));
        let label = |value| format!("{} op/s", units::per_second(value));
        draw(run, frame, area, "operations", Color::Cyan, value, label);
    }
}

/// Mean client latency.
pub(super) fn latency(run: &Run, frame: &mut Frame<'_>, area: Rect) {
    draw(run, frame, area, "mean latency", Color::Yellow, |p| p.latency_seconds, units::seconds);
}

fn draw(
    run: &Run,
    frame: &mut Frame<'_>,
    area: Rect,
    title: &str,
    colour: Color,
    value: impl Fn(&Point) -> Option<f64>,
    label: impl Fn(f64) -> String,
) {
    let end = run.at_seconds;
    let stretches = stretches(run, end - REACH, value);
    let largest = stretches.iter().flatten().map(|p| p.1).fold(0.0, f64::max);
    let top = round_up(largest);
    let lines: Vec<Dataset<'_>> = stretches
        .iter()
        .map(|points| {
            Dataset::default()
                .marker(Marker::Braille)
                .graph_type(GraphType::Line)
                .style(Style::new().fg(colour))
                .data(points)
        })
        .collect();
    let across = Axis::default()
        .bounds([end - REACH, end])
        .labels([format!("{REACH:.0} s ago"), "now".to_owned()]);
    let up = Axis::default().bounds([0.0, top]).labels(["0".to_owned(), label(top)]);
    let chart = Chart::new(lines).block(Block::bordered().title(title)).x_axis(across).y_axis(up);
    frame.render_widget(chart, area);
}

/// The points since `from`, cut where a trial begins.
fn stretches(run: &Run, from: f64, value: impl Fn(&Point) -> Option<f64>) -> Vec<Vec<(f64, f64)>> {
    let mut stretches = vec![Vec::new()];
    for point in run.points.iter().filter(|p| p.at_seconds >= from) {
        let finite = value(point).filter(|v| v.is_finite() && v.abs() < 1e100);
        match (finite, stretches.last_mut()) {
            (Some(value), Some(stretch)) => stretch.push((point.at_seconds, value)),
            _ => stretches.push(Vec::new()),
        }
    }
    stretches.retain(|stretch| !stretch.is_empty());
    stretches
}

/// The next of 1, 2 and 5 times a power of ten.
fn round_up(value: f64) -> f64 {
    if !value.is_finite() || value <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    steps.into_iter().map(|s| s * power).find(|s| *s >= value).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::round_up;

    #[test]
    fn axes_end_at_round_numbers() {
        for (value, top) in [(1.0, 1.0), (1.1, 2.0), (0.00034, 0.0005), (6.2e8, 1e9), (0.0, 1.0)] {
            assert!((round_up(value) / top - 1.0).abs() < 1e-9, "{value}");
        }
        assert_eq!(round_up(f64::NAN), 1.0);
    }
}
