//! Ratios with intervals on a log axis, on which half as fast is as far from 1 as twice as fast.

use super::axis::{Axis, Span};
use super::rows::{MIDDLE, Rows};
use super::scale::extent;
use super::svg::Area;
use super::{Chart, Table, theme};
use crate::figure::{COUNT, ends};
use plimsoll_model::units::three_digits;

/// A dot a comparison, with its interval, around the line at 1.
#[derive(Clone, Debug)]
pub struct Ratios {
    /// Name of the chart.
    pub title: String,
    /// What is shown and how to read it, in sentences.
    pub description: String,
    /// What the ratios are of: "bandwidth, B to A".
    pub axis: String,
    /// Margin m: ratios within [1/(1+m), 1+m] are too small to matter, and that zone is shaded.
    pub margin: f64,
    /// The comparisons, from the top.
    pub dots: Vec<Dot>,
}

/// One comparison.
#[derive(Clone, Debug)]
pub struct Dot {
    /// What is compared.
    pub label: String,
    /// The verdict in a few words, shown with the values.
    pub verdict: String,
    /// Which of the distinguishable styles it has.
    pub series: usize,
    /// The ratio.
    pub ratio: f64,
    /// Ends of its interval.
    pub interval: Option<(f64, f64)>,
}

impl Dot {
    /// Whether it can stand on a log axis.
    fn is_ratio(&self) -> bool {
        self.ratio.is_finite() && self.ratio > 0.0
    }

    fn value(&self) -> String {
        match self.interval {
            Some((low, high)) => format!("{} {}", three_digits(self.ratio), ends(low, high)),
            None => three_digits(self.ratio),
        }
    }
}

impl Chart for Ratios {
    fn title(&self) -> &str {
        &self.title
    }

    fn svg(&self) -> String {
        let margin = if self.margin.is_finite() { self.margin.clamp(0.0, 1e3) } else { 0.0 };
        let dots = || self.dots.iter().filter(|dot| dot.is_ratio());
        let ends = dots().flat_map(|d| {
            [d.ratio, d.interval.map_or(d.ratio, |i| i.0), d.interval.map_or(d.ratio, |i| i.1)]
        });
        let zone = (1.0 / (1.0 + margin), 1.0 + margin);
        let range = extent(ends.filter(|v| *v > 0.0).chain([zone.0, zone.1]));
        let axis = Axis::new(&self.axis, COUNT);
        let spans = (2..=7).rev().map(|most| Span::log(&axis, range, most));
        let span = super::frame::fitting(spans, || Span::log(&axis, range, 2));
        let mut rows = Rows::new(&self.title, &self.description, &span, self.dots.len());
        let (top, bottom) = rows.height();
        let (low, high) = (rows.x.at(zone.0), rows.x.at(zone.1));
        let area = Area { x: low, y: top, width: high - low, height: bottom - top };
        rows.svg.rect("zone", "", area);
        let one = rows.x.at(1.0);
        rows.svg.line("even", (one, top), (one, bottom));
        for (i, dot) in self.dots.iter().enumerate() {
            if !dot.is_ratio() {
                rows.words(i, &dot.label, "no figure");
                continue;
            }
            if let Some(interval) = dot.interval {
                rows.whisker(i, interval);
            }
            let place = (rows.x.at(dot.ratio), rows.top(i) + MIDDLE);
            theme::marker(&mut rows.svg, dot.series, place);
            let value = dot.value();
            rows.words(i, &dot.label, &value);
            rows.values(i, &format!("{}\n{value}\n{}", dot.label, dot.verdict));
        }
        rows.svg.finish()
    }

    fn table(&self) -> Table {
        let header = ["", &self.axis, "low", "high", "verdict"];
        let mut table = Table::new(header.map(str::to_owned).into());
        table.rows.extend(self.dots.iter().map(|dot| {
            let (low, high) = dot.interval.unwrap_or((f64::NAN, f64::NAN));
            let [ratio, low, high] = [dot.ratio, low, high].map(Table::number);
            vec![dot.label.clone(), ratio, low, high, dot.verdict.clone()]
        }));
        table
    }
}
