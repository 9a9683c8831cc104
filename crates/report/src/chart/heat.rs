//! A heat map: a value for every pair of two things, as darkness. It reads the same in grey.

use super::axis::{Axis, Span};
use super::frame::WIDTH;
use super::scale::Spread;
use super::svg::{Anchor, Area, Svg};
use super::text::{LABEL, TICK, fitted, width};
use super::{Chart, Table};
use crate::figure::Kind;
use std::collections::BTreeMap;

/// Cells in rows and columns.
#[derive(Clone, Debug)]
pub struct Heat {
    /// Name of the chart.
    pub title: String,
    /// What is shown and how to read it, in sentences.
    pub description: String,
    /// What the columns are.
    pub x: String,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// What the rows are.
    pub y: String,
    /// Names of the rows, from the top, and a value for each column; `None` where there is none.
    pub rows: Vec<HeatRow>,
    /// What the values are.
    pub value: String,
    /// Their kind of quantity.
    pub kind: Kind,
    /// The value that is darkest; smaller ones are lighter in proportion.
    pub darkest: f64,
}

/// Name of a row, and a value for each column.
pub type HeatRow = (String, Vec<Option<f64>>);

const MOST: usize = 120;
const EDGE: f64 = 6.0;
const LIGHTEST: f64 = 0.06;
/// Distinct shades, besides the lightest.
const SHADES: u32 = 25;
/// Rows up to which a tooltip tells all of them.
const TOLD: usize = 16;

fn opacity(shade: u32) -> f64 {
    LIGHTEST + (1.0 - LIGHTEST) * f64::from(shade) / f64::from(SHADES)
}

/// Several neighbours in one: the largest of each group.
fn grouped(values: &[Option<f64>], count: usize) -> Vec<Option<f64>> {
    let parts = count.min(MOST);
    let part = |i: usize| {
        let range = i * count / parts..(i + 1) * count / parts;
        let finite = range.filter_map(|at| values.get(at).copied().flatten());
        finite.filter(|v| v.is_finite()).reduce(f64::max)
    };
    (0..parts).map(part).collect()
}

impl Heat {
    /// Columns and rows as they are drawn: of many neighbours the largest value is shown.
    fn drawn(&self) -> (Vec<String>, Vec<HeatRow>) {
        let (count, tall) = (self.columns.len(), self.rows.len());
        let parts = count.min(MOST);
        let columns = (0..parts).map(|i| self.columns[i * count / parts].clone()).collect();
        let rows: Vec<HeatRow> =
            self.rows.iter().map(|(name, values)| (name.clone(), grouped(values, count))).collect();
        if tall <= MOST {
            return (columns, rows);
        }
        let merged = |i: usize| {
            let group = &rows[i * tall / MOST..(i + 1) * tall / MOST];
            let largest = |c: usize| group.iter().filter_map(|r| r.1[c]).reduce(f64::max);
            (group[0].0.clone(), (0..parts).map(largest).collect())
        };
        (columns, (0..MOST).map(merged).collect())
    }

    fn shade(&self, value: f64) -> u32 {
        let share = value / self.darkest;
        if share.is_finite() {
            (share.clamp(0.0, 1.0) * f64::from(SHADES)).round() as u32
        } else {
            0
        }
    }

    /// How light and dark stand for little and much.
    fn legend(&self, svg: &mut Svg) {
        for step in 0..10u32 {
            let area = Area { x: EDGE + f64::from(step) * 9.0, y: 5.0, width: 9.0, height: 12.0 };
            let shade = format!(" fill-opacity=\"{:.2}\"", opacity(step * SHADES / 9));
            svg.rect("cell", &shade, area);
        }
        let ends = format!("0 to {}: {}", self.kind.value(self.darkest), self.value);
        let ends = fitted(&ends, LABEL, WIDTH - 2.0 * EDGE - 100.0);
        svg.text("label", Anchor::Start, (EDGE + 98.0, 16.0), &ends);
    }
}

impl Chart for Heat {
    fn title(&self) -> &str {
        &self.title
    }

    fn svg(&self) -> String {
        let (columns, rows) = self.drawn();
        let height = (160.0 / rows.len().max(1) as f64).clamp(3.0, 26.0);
        // Names stand beside every row, or beside every so many where rows are low.
        let every = (TICK * 1.15 / height).ceil().max(1.0) as usize;
        let widest = rows.iter().map(|r| width(&r.0, TICK)).fold(0.0, f64::max).min(130.0);
        let (left, top) = (EDGE + widest + 6.0, 46.0);
        let bottom = top + height * rows.len().max(1) as f64;
        let mut svg = Svg::new(WIDTH, bottom + 44.0, &self.title, &self.description);
        self.legend(&mut svg);
        svg.text("unit", Anchor::Start, (EDGE, top - 8.0), &self.y);
        let each = (WIDTH - EDGE - left) / columns.len().max(1) as f64;
        // Cells of the same shade are one path.
        let mut cells: BTreeMap<u32, String> = BTreeMap::new();
        for (i, (name, values)) in rows.iter().enumerate() {
            let y = top + i as f64 * height;
            if i.is_multiple_of(every) {
                let name = fitted(name, TICK, widest);
                svg.text("tick", Anchor::End, (left - 6.0, y + height / 2.0 + 4.0), &name);
            }
            for (c, value) in values.iter().enumerate() {
                let Some(value) = value else { continue };
                let area = Area { x: left + c as f64 * each, y, width: each, height };
                cells.entry(self.shade(*value)).or_default().push_str(&area.path());
            }
        }
        for (shade, d) in cells {
            let opacity = format!(" fill-opacity=\"{:.2}\"", opacity(shade));
            svg.path("cell", &opacity, &d);
        }
        if rows.len() <= TOLD {
            svg.labels(rows.iter().map(|(name, _)| format!("{} {name}", self.y)));
            for (c, column) in columns.iter().enumerate() {
                let lines = rows.iter().map(|(_, values)| match values[c] {
                    Some(value) => self.kind.value(value),
                    None => "–".to_owned(),
                });
                let lines: Vec<String> = std::iter::once(column.clone()).chain(lines).collect();
                let x = left + c as f64 * each;
                svg.values(
                    Area { x, y: top, width: each, height: bottom - top },
                    &lines.join("\n"),
                );
            }
        }
        let span = |step: usize| Span {
            spread: Spread::Linear,
            low: 0.0,
            high: columns.len().max(1) as f64,
            ticks: (0..columns.len())
                .step_by(step)
                .map(|i| (i as f64 + 0.5, columns[i].clone()))
                .collect(),
            caption: self.x.clone(),
        };
        let fits = |s: &Span| s.fits(left, WIDTH - EDGE - 14.0);
        let steps = 1..=columns.len().max(1);
        let along = steps.map(span).find(fits).unwrap_or_else(|| span(columns.len().max(1)));
        let scale = along.scale(left, WIDTH - EDGE);
        for (value, label) in &along.ticks {
            svg.text("tick", Anchor::Middle, (scale.at(*value), bottom + 16.0), label);
        }
        svg.text("unit", Anchor::Middle, (WIDTH / 2.0, bottom + 35.0), &along.caption);
        svg.finish()
    }

    fn table(&self) -> Table {
        let (columns, rows) = self.drawn();
        let axis = Axis::new(&self.value, self.kind);
        let (size, _) = self.kind.unit(self.darkest);
        let header = [self.x.clone(), self.y.clone(), axis.caption(self.darkest)];
        let mut table = Table::new(header.into());
        for (name, values) in &rows {
            for (column, value) in columns.iter().zip(values) {
                let Some(value) = value else { continue };
                table.rows.push(vec![column.clone(), name.clone(), Table::number(value / size)]);
            }
        }
        table
    }
}
