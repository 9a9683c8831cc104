//! What charts with two axes share: the plot's frame, its grid and ticks, and the legend above it.

use super::axis::{Axis, Span};
use super::scale::Scale;
use super::svg::{Anchor, Area, Svg, through};
use super::text::{LABEL, TICK, fitted, width};
use super::theme;

/// Width of every chart in user units; a page lays two of them side by side.
pub(super) const WIDTH: f64 = 440.0;
/// Height of the plot of a chart with two axes.
const PLOT: f64 = 190.0;
const ROW: f64 = 20.0;
const EDGE: f64 = 6.0;

/// How a legend shows what a label stands for.
#[derive(Clone, Copy)]
pub(super) enum Sample {
    /// A line with the marker of a series.
    Line(usize),
    /// A filled square in the colour of a layer.
    Layer(usize),
    /// A vertical dotted line.
    Phase,
}

/// The plot and its axes, ready to be drawn into.
pub(super) struct Frame {
    pub(super) svg: Svg,
    pub(super) x: Scale,
    pub(super) y: Scale,
}

/// What a frame is made of.
pub(super) struct Parts<'a> {
    pub(super) title: &'a str,
    pub(super) description: &'a str,
    pub(super) legend: &'a [(Sample, String)],
    pub(super) x: &'a Span,
    pub(super) y: &'a Span,
}

impl Frame {
    pub(super) fn new(parts: &Parts<'_>) -> Frame {
        let Parts { title, description, legend, x, y } = parts;
        let left = EDGE + y.widest() + 8.0;
        let right = WIDTH - EDGE - last_label(x) / 2.0;
        let (places, rows) = places(legend);
        let top = f64::from(rows) * ROW + TICK + 16.0;
        let bottom = top + PLOT;
        let height = bottom + 44.0;
        let mut svg = Svg::new(WIDTH, height, title, description);
        for ((sample, label), (column, row)) in legend.iter().zip(places) {
            entry(&mut svg, *sample, label, (column, row * ROW + 14.0));
        }
        svg.text("unit", Anchor::Start, (EDGE, top - 11.0), &y.caption);
        let frame = Frame { svg, x: x.scale(left, right), y: y.scale(bottom, top) };
        frame.axes(x, y)
    }

    fn axes(mut self, x: &Span, y: &Span) -> Frame {
        let Frame { x: across, y: up, .. } = self;
        let line =
            |value: &f64| through([(across.from, up.at(*value)), (across.to, up.at(*value))]);
        let grid: String = y.ticks.iter().map(|(value, _)| line(value)).collect();
        self.svg.path("grid", "", &grid);
        for (value, label) in &y.ticks {
            let place = up.at(*value);
            self.svg.text("tick", Anchor::End, (across.from - 6.0, place + 4.0), label);
        }
        let mut axis = through([(across.from, up.from), (across.to, up.from)]);
        for (value, label) in &x.ticks {
            let place = across.at(*value);
            axis += &through([(place, up.from), (place, up.from + 4.0)]);
            self.svg.text("tick", Anchor::Middle, (place, up.from + 18.0), label);
        }
        self.svg.path("axis", "", &axis);
        let caption = fitted(&x.caption, TICK, WIDTH - 2.0 * EDGE);
        // In the middle under the axis, but within the picture.
        let half = width(&caption, TICK) / 2.0 + EDGE;
        let middle = ((across.from + across.to) / 2.0).clamp(half, (WIDTH - half).max(half));
        self.svg.text("unit", Anchor::Middle, (middle, up.from + 37.0), &caption);
        self
    }

    /// A full-height column from `from` to `to` that tells `values`.
    pub(super) fn column(&mut self, from: f64, to: f64, values: &str) {
        let (from, to) = (from.clamp(self.x.from, self.x.to), to.clamp(self.x.from, self.x.to));
        let area =
            Area { x: from, y: self.y.to, width: to - from, height: self.y.from - self.y.to };
        self.svg.values(area, values);
    }

    /// Columns that reach half-way to their neighbours, each telling what stands at its place.
    pub(super) fn columns(&mut self, places: &[f64], values: impl Fn(usize) -> String) {
        for (i, place) in places.iter().enumerate() {
            let before = match i {
                0 => self.x.from,
                _ => (places[i - 1] + place) / 2.0,
            };
            let after = places.get(i + 1).map_or(self.x.to, |next| (place + next) / 2.0);
            self.column(before, after, &values(i));
        }
    }

    /// A vertical dotted line.
    pub(super) fn phase(&mut self, value: f64) {
        let place = self.x.at(value);
        self.svg.line("phase", (place, self.y.from), (place, self.y.to));
    }
}

/// As many ticks under an axis from zero as fit.
pub(super) fn under(axis: &Axis, low: f64, high: f64) -> Span {
    // What has no unit along is counted: there is no half of it.
    let counted = axis.kind.unit(1.0).1.is_empty() && high - low >= 1.0;
    let whole = |span: &Span| !counted || span.ticks.iter().all(|(tick, _)| tick.fract() == 0.0);
    let spans = (2..=8).rev().map(|most| Span::linear(axis, low, high, most)).filter(whole);
    fitting(spans, || Span::linear(axis, low, high, 2))
}

/// The first of these whose labels fit under a plot.
pub(super) fn fitting(spans: impl Iterator<Item = Span>, least: impl Fn() -> Span) -> Span {
    let mut spans = spans;
    // The plot is never narrower than this.
    spans.find(|span| span.fits(90.0, WIDTH - EDGE - last_label(span) / 2.0)).unwrap_or_else(least)
}

fn last_label(span: &Span) -> f64 {
    span.ticks.last().map_or(0.0, |(_, label)| width(label, TICK)).max(12.0)
}

const SAMPLE: f64 = 26.0;

/// Where the entries of a legend stand: column, row; and how many rows there are.
fn places(legend: &[(Sample, String)]) -> (Vec<(f64, f64)>, u32) {
    let (mut column, mut row) = (EDGE, 0u32);
    let mut places = Vec::new();
    for (_, label) in legend {
        let needed = SAMPLE + width(label, LABEL) + 6.0;
        if column > EDGE && column + needed > WIDTH - EDGE {
            (column, row) = (EDGE, row + 1);
        }
        places.push((column, f64::from(row)));
        column += needed + 10.0;
    }
    (places, if legend.is_empty() { 0 } else { row + 1 })
}

fn entry(svg: &mut Svg, sample: Sample, label: &str, (x, y): (f64, f64)) {
    let middle = y - 4.5;
    match sample {
        Sample::Line(series) => {
            let d = through([(x, middle), (x + 20.0, middle)]);
            svg.path(&theme::class("line", series), &theme::dashes(series), &d);
            theme::marker(svg, series, (x + 10.0, middle));
        }
        Sample::Layer(layer) => {
            let area = Area { x: x + 4.0, y: y - 10.0, width: 12.0, height: 12.0 };
            svg.rect(&layer_class(layer), "", area);
        }
        Sample::Phase => svg.line("phase", (x + 10.0, y - 12.0), (x + 10.0, y + 2.0)),
    }
    let space = WIDTH - EDGE - x - SAMPLE;
    svg.text("label", Anchor::Start, (x + SAMPLE, y), &fitted(label, LABEL, space));
}

/// The class of a layer of a stack.
pub(super) fn layer_class(layer: usize) -> String {
    format!("area a{}", layer % 7)
}
