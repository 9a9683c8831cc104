//! Bars made of parts: what several things are made of.

use super::axis::{Axis, Span};
use super::rows::{MIDDLE, Rows};
use super::scale::extent;
use super::svg::{Anchor, Area};
use super::text::{LABEL, width};
use super::{Chart, Table, theme};

/// A bar a thing, from zero, in parts one after the other.
#[derive(Clone, Debug)]
pub struct Stacks {
    /// Name of the chart.
    pub title: String,
    /// What is shown and how to read it, in sentences.
    pub description: String,
    /// What the bars show.
    pub axis: Axis,
    /// What the parts are, in their order.
    pub parts: Vec<String>,
    /// The bars, from the top.
    pub stacks: Vec<Stack>,
}

/// One bar.
#[derive(Clone, Debug)]
pub struct Stack {
    /// What it is of.
    pub label: String,
    /// What all of it is, in words.
    pub whole: String,
    /// How much of each part, in the order of the chart's parts; what is not finite is not drawn.
    pub values: Vec<f64>,
}

impl Stack {
    fn drawn(&self) -> impl Iterator<Item = (usize, f64)> {
        let positive = |(_, value): &(usize, f64)| value.is_finite() && *value > 0.0;
        self.values.iter().copied().enumerate().filter(positive)
    }

    fn total(&self) -> f64 {
        self.drawn().map(|(_, value)| value).sum()
    }
}

/// A part that is narrower has no number inside.
const ROOM: f64 = 12.0;

impl Chart for Stacks {
    fn title(&self) -> &str {
        &self.title
    }

    fn svg(&self) -> String {
        let range = extent(self.stacks.iter().map(Stack::total));
        let spans = (2..=7).rev().map(|most| Span::from_zero(&self.axis, range, most));
        let span = super::frame::fitting(spans, || Span::from_zero(&self.axis, range, 2));
        let mut rows = Rows::new(&self.title, &self.description, &span, self.stacks.len());
        for (i, stack) in self.stacks.iter().enumerate() {
            let mut from = 0.0;
            let mut values = stack.label.clone();
            for (part, value) in stack.drawn() {
                let (left, right) = (rows.x.at(from), rows.x.at(from + value));
                from += value;
                let y = rows.top(i) + MIDDLE - 7.0;
                let area = Area { x: left, y, width: right - left, height: 14.0 };
                rows.svg.rect(&theme::class("bar", part), "", area);
                // Told apart by number too: there may be more parts than colours.
                let number = (part + 1).to_string();
                if right - left > width(&number, LABEL) + ROOM {
                    let middle = (f64::midpoint(left, right), y + 11.0);
                    rows.svg.text("label", Anchor::Middle, middle, &number);
                }
                values.push_str(&format!("\n{number}: {}", self.axis.kind.value(value)));
            }
            rows.words(i, &stack.label, &stack.whole);
            rows.values(i, &values);
        }
        rows.svg.finish()
    }

    fn table(&self) -> Table {
        let largest = extent(self.stacks.iter().map(Stack::total)).map_or(1.0, |ends| ends.1);
        let (size, unit) = self.axis.kind.unit(largest);
        let header = self.parts.iter().map(|part| format!("{part}, {unit}"));
        let mut table = Table::new(std::iter::once(String::new()).chain(header).collect());
        table.rows.extend(self.stacks.iter().map(|stack| {
            let numbers = stack.values.iter().map(|value| Table::number(value / size));
            std::iter::once(stack.label.clone()).chain(numbers).collect()
        }));
        table
    }
}
