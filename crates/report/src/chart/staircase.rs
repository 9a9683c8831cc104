//! A staircase: how much comes out as ever more is offered, and where it stops following.

use super::axis::{Axis, Span};
use super::frame::{self, Frame, Parts, Sample};
use super::scale::extent;
use super::svg::through;
use super::{Chart, Table, theme};

/// Steps of offered load, what was carried at each, and the knee.
#[derive(Clone, Debug)]
pub struct Staircase {
    /// Name of the chart.
    pub title: String,
    /// What is shown and how to read it, in sentences.
    pub description: String,
    /// What is offered.
    pub x: Axis,
    /// What is carried, of the same kind or another.
    pub y: Axis,
    /// The steps, ascending along.
    pub stairs: Vec<Stair>,
    /// The largest offer that was carried, and what to call it.
    pub knee: Option<(f64, String)>,
}

/// One step.
#[derive(Clone, Copy, Debug)]
pub struct Stair {
    /// What was offered.
    pub offered: f64,
    /// What was carried.
    pub carried: f64,
    /// Whether that was good enough.
    pub passed: bool,
}

impl Staircase {
    fn drawn(&self) -> impl Iterator<Item = &Stair> {
        self.stairs.iter().filter(|s| s.offered.is_finite() && s.carried.is_finite())
    }
}

const PASSED: usize = 0;
const FAILED: usize = 4;

impl Chart for Staircase {
    fn title(&self) -> &str {
        &self.title
    }

    fn svg(&self) -> String {
        let along = extent(self.drawn().map(|s| s.offered));
        let mut legend = vec![
            (Sample::Line(PASSED), "carried".to_owned()),
            (Sample::Line(FAILED), "not carried".to_owned()),
        ];
        legend.extend(self.knee.iter().map(|(_, what)| (Sample::Phase, what.clone())));
        let (low, high) = along.unwrap_or((0.0, 1.0));
        let mut frame = Frame::new(&Parts {
            title: &self.title,
            description: &self.description,
            legend: &legend,
            x: &frame::under(&self.x, low.min(0.0), high * 1.04),
            y: &Span::from_zero(&self.y, extent(self.drawn().map(|s| s.carried)), 6),
        });
        let (x, y) = (frame.x, frame.y);
        let mut offers: Vec<&Stair> = self.drawn().collect();
        offers.sort_by(|a, b| a.offered.total_cmp(&b.offered));
        // The tread of a step leads to the next offer.
        let places: Vec<f64> = offers.iter().map(|s| x.at(s.offered)).collect();
        let tread = |i: usize| {
            let after = places.get(i + 1).copied().unwrap_or(x.to.max(places[i]));
            let height = y.at(offers[i].carried);
            [(places[i], height), (after, height)]
        };
        let d = through((0..offers.len()).flat_map(tread));
        if !d.is_empty() {
            frame.svg.path(&theme::class("line", PASSED), "", &d);
        }
        if let Some((place, _)) = &self.knee {
            frame.phase(*place);
        }
        for (stair, place) in offers.iter().zip(&places) {
            let series = if stair.passed { PASSED } else { FAILED };
            theme::marker(&mut frame.svg, series, (*place, y.at(stair.carried)));
        }
        frame.columns(&places, |i| {
            let Stair { offered, carried, passed } = *offers[i];
            format!(
                "{}: {}\n{}: {}\n{}",
                self.x.title,
                self.x.kind.value(offered),
                self.y.title,
                self.y.kind.value(carried),
                if passed { "carried" } else { "not carried" }
            )
        });
        frame.svg.finish()
    }

    fn table(&self) -> Table {
        let size = |axis: &Axis, of: fn(&Stair) -> f64| {
            let largest = extent(self.drawn().map(of)).map_or(1.0, |r| r.1);
            (axis.kind.unit(largest).0, axis.caption(largest))
        };
        let (across, x) = size(&self.x, |s| s.offered);
        let (up, y) = size(&self.y, |s| s.carried);
        let mut table = Table::new(vec![x, y, "carried".to_owned()]);
        table.rows.extend(self.drawn().map(|s| {
            let passed = if s.passed { "yes" } else { "no" };
            vec![
                Table::number(s.offered / across),
                Table::number(s.carried / up),
                passed.to_owned(),
            ]
        }));
        table
    }
}
