//! What charts with a row a thing share: the name above on the left, its value on the right, and
//! space below for what is drawn.

use super::axis::Span;
use super::frame::WIDTH;
use super::scale::Scale;
use super::svg::{Anchor, Area, Svg, through};
use super::text::{LABEL, TICK, fitted, width};

const EDGE: f64 = 6.0;
/// Height of a row: its words, and what is drawn below them.
pub(super) const ROW: f64 = 38.0;
/// Where a row's drawing has its middle.
pub(super) const MIDDLE: f64 = 26.0;

/// Rows over a common axis.
pub(super) struct Rows {
    pub(super) svg: Svg,
    pub(super) x: Scale,
    bottom: f64,
}

impl Rows {
    pub(super) fn new(title: &str, description: &str, span: &Span, count: usize) -> Rows {
        let bottom = EDGE + count.max(1) as f64 * ROW;
        let mut svg = Svg::new(WIDTH, bottom + 44.0, title, description);
        let right = WIDTH - EDGE - span.ticks.last().map_or(0.0, |t| width(&t.1, TICK) / 2.0);
        let left = EDGE + span.ticks.first().map_or(0.0, |t| width(&t.1, TICK) / 2.0);
        let x = span.scale(left, right);
        let line = |value: &f64| through([(x.at(*value), EDGE), (x.at(*value), bottom)]);
        let grid: String = span.ticks.iter().map(|(value, _)| line(value)).collect();
        svg.path("grid", "", &grid);
        for (value, label) in &span.ticks {
            let place = x.at(*value);
            svg.text("tick", Anchor::Middle, (place, bottom + 16.0), label);
        }
        svg.text("unit", Anchor::Middle, (WIDTH / 2.0, bottom + 35.0), &span.caption);
        Rows { svg, x, bottom }
    }

    /// Top and bottom of all rows.
    pub(super) fn height(&self) -> (f64, f64) {
        (EDGE, self.bottom)
    }

    /// The top of a row.
    pub(super) fn top(&self, row: usize) -> f64 {
        EDGE + row as f64 * ROW
    }

    /// The words of a row. The value is kept whole, the name gives way.
    pub(super) fn words(&mut self, row: usize, name: &str, value: &str) {
        let y = self.top(row) + 13.0;
        let value = fitted(value, LABEL, 0.72 * WIDTH);
        let space = WIDTH - 2.0 * EDGE - width(&value, LABEL) - 10.0;
        self.svg.text("label", Anchor::Start, (EDGE, y), &fitted(name, LABEL, space));
        self.svg.text("label", Anchor::End, (WIDTH - EDGE, y), &value);
    }

    /// An interval as a line with ends.
    pub(super) fn whisker(&mut self, row: usize, (low, high): (f64, f64)) {
        let y = self.top(row) + MIDDLE;
        let (low, high) = (self.x.at(low), self.x.at(high));
        let end = |x: f64| through([(x, y - 4.0), (x, y + 4.0)]);
        let d = through([(low, y), (high, y)]) + &end(low) + &end(high);
        self.svg.path("whisker", "", &d);
    }

    /// Makes the row tell its values.
    pub(super) fn values(&mut self, row: usize, values: &str) {
        let area = Area { x: 0.0, y: self.top(row), width: WIDTH, height: ROW };
        self.svg.values(area, values);
    }
}
