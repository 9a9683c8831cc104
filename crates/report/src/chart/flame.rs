//! Calls within calls: the share of an operation that each function takes, callers above the called.

use super::axis::{Axis, Span};
use super::frame::{WIDTH, fitting};
use super::svg::{Anchor, Area, Svg, through};
use super::text::{LABEL, TICK, fitted, width};
use super::{Chart, Table, theme};

/// A box for each call, as wide as the call's part of the operation, below that of its caller.
#[derive(Clone, Debug)]
pub struct Flame {
    /// Name of the chart.
    pub title: String,
    /// Content and how to read it, in sentences.
    pub description: String,
    /// Quantity that widths show.
    pub axis: Axis,
    /// Names of the parts that functions belong to.
    pub parts: Vec<String>,
    /// The calls, each before those that it made.
    pub frames: Vec<Frame>,
}

/// A call.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Number of calls around it.
    pub depth: usize,
    /// Name of the function.
    pub name: String,
    /// Place of its part; `None` if it is of no part.
    pub part: Option<usize>,
    /// Its value, the calls that it made included.
    pub value: f64,
}

/// A call at its place, in the unit of its value.
struct Placed<'a> {
    frame: &'a Frame,
    depth: usize,
    from: f64,
    to: f64,
    /// Its value without the calls that it made.
    own: f64,
}

const EDGE: f64 = 6.0;
const ROW: f64 = 18.0;
/// Deeper calls are in the table alone.
const DEEPEST: usize = 64;
/// Narrower boxes are left out, in user units.
const NARROWEST: f64 = 0.7;
/// Most rows of the table.
const ROWS: usize = 1000;

impl Placed<'_> {
    fn all(&self) -> f64 {
        self.to - self.from
    }

    /// Its own value; sums of parts are off by rounding errors.
    fn own(&self) -> f64 {
        if self.own > 1e-9 * self.all() { self.own } else { 0.0 }
    }
}

impl Flame {
    /// Calls from left to right in their order; none is wider than its caller.
    fn placed(&self) -> Vec<Placed<'_>> {
        let mut placed: Vec<Placed<'_>> = Vec::with_capacity(self.frames.len());
        // Calls around the next one: its place in the list, and the place from which its next call is drawn.
        let mut open: Vec<(usize, f64)> = Vec::new();
        let mut end = 0.0;
        for frame in &self.frames {
            open.truncate(frame.depth);
            let value = if frame.value.is_finite() { frame.value.clamp(0.0, 1e200) } else { 0.0 };
            let (from, to) = match open.last_mut() {
                Some((caller, next)) => {
                    let caller = &mut placed[*caller];
                    let to = (*next + value).min(caller.to);
                    caller.own -= to - *next;
                    (std::mem::replace(next, to), to)
                }
                None => {
                    let to: f64 = end + value;
                    (std::mem::replace(&mut end, to), to)
                }
            };
            let depth = open.len();
            open.push((placed.len(), from));
            placed.push(Placed { frame, depth, from, to, own: to - from });
        }
        placed
    }

    fn part(&self, frame: &Frame) -> &str {
        frame.part.and_then(|part| self.parts.get(part)).map_or("", String::as_str)
    }
}

impl Chart for Flame {
    fn title(&self) -> &str {
        &self.title
    }

    fn svg(&self) -> String {
        let placed = self.placed();
        let whole =
            placed.iter().filter(|call| call.depth == 0).map(|call| call.to).fold(0.0, f64::max);
        let spans = (2..=7).rev().map(|most| Span::linear(&self.axis, 0.0, whole, most));
        let span = fitting(spans, || Span::linear(&self.axis, 0.0, whole, 2));
        let rows = placed.iter().map(|call| call.depth + 1).max().unwrap_or(1).min(DEEPEST);
        let bottom = EDGE + rows as f64 * ROW;
        let mut svg = Svg::new(WIDTH, bottom + 44.0, &self.title, &self.description);
        let half =
            |tick: Option<&(f64, String)>| tick.map_or(0.0, |tick| width(&tick.1, TICK) / 2.0);
        let x = span.scale(EDGE + half(span.ticks.first()), WIDTH - EDGE - half(span.ticks.last()));
        let line = |value: &f64| through([(x.at(*value), EDGE), (x.at(*value), bottom)]);
        let grid: String = span.ticks.iter().map(|(value, _)| line(value)).collect();
        svg.path("grid", "", &grid);
        for (value, label) in &span.ticks {
            svg.text("tick", Anchor::Middle, (x.at(*value), bottom + 16.0), label);
        }
        svg.text("unit", Anchor::Middle, (WIDTH / 2.0, bottom + 35.0), &span.caption);
        for call in placed.iter().filter(|call| call.depth < DEEPEST) {
            let (left, right) = (x.at(call.from), x.at(call.to));
            if right - left < NARROWEST {
                continue;
            }
            let y = EDGE + call.depth as f64 * ROW;
            let area = Area { x: left, y, width: right - left - 0.4, height: ROW - 1.0 };
            match call.frame.part {
                Some(part) => svg.rect(&theme::class("bar", part), " fill-opacity=\".5\"", area),
                None => svg.rect("zone", "", area),
            }
            let room = right - left - 6.0;
            if room >= width("name", LABEL) {
                let name = fitted(&call.frame.name, LABEL, room);
                svg.text("label", Anchor::Start, (left + 3.0, y + 13.0), &name);
            }
            let part_suffix = match self.part(call.frame) {
                "" => String::new(),
                part => format!(", {part}"),
            };
            let (all, own) = (self.axis.kind.value(call.all()), self.axis.kind.value(call.own()));
            svg.values(
                area,
                &format!("{}{part_suffix}\n{all}, {own} of it its own", call.frame.name),
            );
        }
        svg.finish()
    }

    fn table(&self) -> Table {
        let placed = self.placed();
        let largest = placed.iter().map(|call| call.to).fold(0.0, f64::max);
        let (size, unit) = self.axis.kind.unit(largest);
        let named = |name: &str| match unit {
            "" => name.to_owned(),
            unit => format!("{name}, {unit}"),
        };
        let mut table = Table::new(vec![
            "function".to_owned(),
            "depth".to_owned(),
            "subsystem".to_owned(),
            named("all"),
            named("own"),
        ]);
        table.rows.extend(placed.iter().take(ROWS).map(|call| {
            vec![
                call.frame.name.clone(),
                call.depth.to_string(),
                self.part(call.frame).to_owned(),
                Table::number(call.all() / size),
                Table::number(call.own() / size),
            ]
        }));
        table
    }
}
