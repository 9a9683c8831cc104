//! Bars with intervals: how much each of several things is.

use super::axis::{Axis, Span};
use super::rows::{MIDDLE, Rows};
use super::scale::extent;
use super::svg::Area;
use super::{Chart, Table, theme};

/// A bar a thing, from zero, with its interval.
#[derive(Clone, Debug)]
pub struct Bars {
    /// Name of the chart.
    pub title: String,
    /// What is shown and how to read it, in sentences.
    pub description: String,
    /// What the bars show.
    pub axis: Axis,
    /// The axis has space for this value at least: charts that stand one below the other share a scale.
    pub reaches: f64,
    /// The bars, from the top.
    pub bars: Vec<Bar>,
}

/// One bar.
#[derive(Clone, Debug)]
pub struct Bar {
    /// What it is of.
    pub label: String,
    /// Which of the distinguishable styles it has.
    pub series: usize,
    /// How much.
    pub value: f64,
    /// Ends of its interval.
    pub interval: Option<(f64, f64)>,
}

impl Bars {
    /// "112 MB/s [111–114]".
    fn value(&self, bar: &Bar) -> String {
        let value = self.axis.kind.value(bar.value);
        match bar.interval {
            Some((low, high)) => {
                format!("{value} {}", self.axis.kind.between(bar.value, low, high))
            }
            None => value,
        }
    }

    fn ends(&self) -> Option<(f64, f64)> {
        let ends = |bar: &Bar| [bar.value, bar.interval.map_or(bar.value, |i| i.1)];
        extent(self.bars.iter().flat_map(ends))
    }
}

impl Chart for Bars {
    fn title(&self) -> &str {
        &self.title
    }

    fn svg(&self) -> String {
        let largest = |(low, high): (f64, f64)| (low, high.max(self.reaches));
        let range = self.ends().map(largest);
        let spans = (2..=7).rev().map(|most| Span::from_zero(&self.axis, range, most));
        let span = super::frame::fitting(spans, || Span::from_zero(&self.axis, range, 2));
        let mut rows = Rows::new(&self.title, &self.description, &span, self.bars.len());
        for (i, bar) in self.bars.iter().enumerate() {
            if !bar.value.is_finite() {
                rows.words(i, &bar.label, "no figure");
                continue;
            }
            let (zero, end) = (rows.x.at(0.0), rows.x.at(bar.value));
            let area = Area {
                x: zero.min(end),
                y: rows.top(i) + MIDDLE - 7.0,
                width: (end - zero).abs(),
                height: 14.0,
            };
            rows.svg.rect(&theme::class("bar", bar.series), "", area);
            if let Some(interval) = bar.interval {
                rows.whisker(i, interval);
            }
            let value = self.value(bar);
            rows.words(i, &bar.label, &value);
            rows.values(i, &format!("{}\n{value}", bar.label));
        }
        rows.svg.finish()
    }

    fn table(&self) -> Table {
        let largest = self.ends().map_or(1.0, |r| r.1);
        let (size, _) = self.axis.kind.unit(largest);
        let header = ["", &self.axis.caption(largest), "low", "high"];
        let mut table = Table::new(header.map(str::to_owned).into());
        table.rows.extend(self.bars.iter().map(|bar| {
            let (low, high) = bar.interval.unwrap_or((f64::NAN, f64::NAN));
            let numbers = [bar.value, low, high].map(|v| Table::number(v / size));
            std::iter::once(bar.label.clone()).chain(numbers).collect()
        }));
        table
    }
}
