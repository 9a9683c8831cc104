//! Quantile curves: how long the slow ones take. Along is the quantile, drawn by how rare what lies
//! above it is, so that 99% and 99.9% are as far apart as 90% and 99%.

use super::axis::{Axis, Span};
use super::frame::{Frame, Parts, Sample};
use super::scale::{Spread, extent};
use super::svg::through;
use super::{Chart, Table, theme};

/// Curves of quantiles on log axes.
#[derive(Clone, Debug)]
pub struct Quantiles {
    /// Name of the chart.
    pub title: String,
    /// What is shown and how to read it, in sentences.
    pub description: String,
    /// What the quantiles are of.
    pub y: Axis,
    /// The curves.
    pub curves: Vec<Curve>,
}

/// One curve.
#[derive(Clone, Debug)]
pub struct Curve {
    /// What it is, for the legend.
    pub label: String,
    /// Which of the distinguishable styles it has.
    pub series: usize,
    /// Quantile from 0 up to below 1, ascending, and its value.
    pub points: Vec<(f64, f64)>,
}

/// Quantiles that the axis names.
const NAMED: [(f64, &str); 8] = [
    (0.0, "0"),
    (0.5, "50%"),
    (0.9, "90%"),
    (0.99, "99%"),
    (0.999, "99.9%"),
    (0.9999, "99.99%"),
    (0.99999, "99.999%"),
    (0.999_999, "99.9999%"),
];

/// How rare what lies above a quantile is: one in so many.
fn rarity(quantile: f64) -> f64 {
    1.0 / (1.0 - quantile.clamp(0.0, 1.0 - 1e-12))
}

/// "99.9%".
fn named(quantile: f64) -> String {
    let percent = format!("{:.5}", 100.0 * quantile);
    format!("{}%", percent.trim_end_matches('0').trim_end_matches('.'))
}

impl Curve {
    fn drawn(&self) -> impl Iterator<Item = (f64, f64)> {
        let drawn = |p: &(f64, f64)| p.0.is_finite() && p.1.is_finite() && p.1 > 0.0;
        self.points.iter().copied().filter(drawn)
    }
}

impl Quantiles {
    /// Every quantile that a curve has, ascending.
    fn quantiles(&self) -> Vec<f64> {
        let mut all: Vec<f64> = self.curves.iter().flat_map(Curve::drawn).map(|p| p.0).collect();
        all.sort_by(f64::total_cmp);
        all.dedup();
        all
    }

    fn along(&self) -> Span {
        let rarest = self.curves.iter().flat_map(Curve::drawn).map(|p| rarity(p.0));
        let high = extent(rarest).map_or(10.0, |r| r.1.max(2.0));
        let ticks = |every: usize| -> Vec<(f64, String)> {
            let shown = NAMED.iter().filter(|(q, _)| rarity(*q) <= high * 1.001);
            // Half and nothing are named only where there is space beside the rarer ones.
            let shown = shown.enumerate().filter(|(i, _)| every == 1 || *i == 0 || (i % 2 == 0));
            shown.map(|(_, (q, name))| (rarity(*q), (*name).to_owned())).collect()
        };
        let span = |every| Span {
            spread: Spread::Log,
            low: 1.0,
            high,
            ticks: ticks(every),
            caption: "quantile".to_owned(),
        };
        super::frame::fitting([span(1)].into_iter(), || span(2))
    }
}

impl Chart for Quantiles {
    fn title(&self) -> &str {
        &self.title
    }

    fn svg(&self) -> String {
        let values = extent(self.curves.iter().flat_map(Curve::drawn).map(|p| p.1));
        let legend: Vec<(Sample, String)> =
            self.curves.iter().map(|c| (Sample::Line(c.series), c.label.clone())).collect();
        let mut frame = Frame::new(&Parts {
            title: &self.title,
            description: &self.description,
            legend: &legend,
            x: &self.along(),
            y: &Span::log(&self.y, values, 6),
        });
        let (x, y) = (frame.x, frame.y);
        for curve in &self.curves {
            let points: Vec<(f64, f64)> =
                curve.drawn().map(|(q, value)| (x.at(rarity(q)), y.at(value))).collect();
            if points.is_empty() {
                continue;
            }
            let dashes = theme::dashes(curve.series);
            let d = through(points.iter().copied());
            frame.svg.path(&theme::class("line", curve.series), &dashes, &d);
            // The last point is as far as the data reach.
            let marked = points.iter().step_by(8).skip(1).chain(points.last());
            for point in marked {
                theme::marker(&mut frame.svg, curve.series, *point);
            }
        }
        let quantiles = self.quantiles();
        let places: Vec<f64> = quantiles.iter().map(|q| x.at(rarity(*q))).collect();
        frame.columns(&places, |i| {
            let mut text = named(quantiles[i]);
            for curve in &self.curves {
                let value = curve.drawn().find(|p| p.0 == quantiles[i]);
                text.push('\n');
                text.push_str(&value.map_or("–".to_owned(), |p| self.y.kind.value(p.1)));
            }
            text
        });
        frame.svg.labels(self.curves.iter().map(|curve| curve.label.clone()));
        frame.svg.finish()
    }

    fn table(&self) -> Table {
        let largest = extent(self.curves.iter().flat_map(Curve::drawn).map(|p| p.1));
        let largest = largest.map_or(1.0, |r| r.1);
        let (size, unit) = self.y.kind.unit(largest);
        let header = self.curves.iter().map(|c| format!("{}, {unit}", c.label));
        let mut table = Table::new(std::iter::once("quantile".to_owned()).chain(header).collect());
        for quantile in self.quantiles() {
            let value = |curve: &Curve| {
                let point = curve.drawn().find(|p| p.0 == quantile);
                Table::number(point.map_or(f64::NAN, |p| p.1) / size)
            };
            let cells = std::iter::once(named(quantile)).chain(self.curves.iter().map(value));
            table.rows.push(cells.collect());
        }
        table
    }
}
