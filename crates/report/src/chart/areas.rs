//! Stacked areas: what a whole is made of, along something.

use super::axis::{Axis, Span};
use super::frame::{self, Frame, Parts, Sample};
use super::scale::extent;
use super::svg::through;
use super::{Chart, Table};

/// Layers on top of each other.
#[derive(Clone, Debug)]
pub struct Areas {
    /// Name of the chart.
    pub title: String,
    /// What is shown and how to read it, in sentences.
    pub description: String,
    /// What is along.
    pub x: Axis,
    /// What is up.
    pub y: Axis,
    /// The whole, if it has a known size: the top of the axis.
    pub whole: Option<f64>,
    /// Where the values begin along, ascending, and after the last where it ends: one more than each
    /// layer has values. Between two of them a value holds.
    pub edges: Vec<f64>,
    /// The layers, from the bottom.
    pub layers: Vec<Layer>,
    /// Places worth a vertical line, with what they are.
    pub phases: Vec<(f64, String)>,
}

/// One layer.
#[derive(Clone, Debug)]
pub struct Layer {
    /// What it is.
    pub label: String,
    /// Which of the distinguishable styles it has: the same for the same in every chart.
    pub style: usize,
    /// A value for each stretch between two edges; what is not finite or below 0 counts as 0.
    pub values: Vec<f64>,
}

/// Stretches that a chart of this width can show.
const MOST: usize = 120;

impl Areas {
    /// Edges and layers as they are drawn: of many stretches the one with the most in it stands for
    /// its neighbours, so that no peak is lost.
    fn drawn(&self) -> (Vec<f64>, Vec<Layer>) {
        let count = self.edges.len().saturating_sub(1);
        let value = |layer: &Layer, i: usize| {
            layer
                .values
                .get(i)
                .copied()
                .filter(|v| v.is_finite())
                .map_or(0.0, |v| v.clamp(0.0, 1e250))
        };
        let sum = |i: usize| self.layers.iter().map(|l| value(l, i)).sum::<f64>();
        let parts = count.min(MOST);
        let begins: Vec<usize> = (0..=parts).map(|i| i * count / parts.max(1)).collect();
        let fullest: Vec<usize> = begins
            .windows(2)
            .map(|w| (w[0]..w[1]).max_by(|a, b| sum(*a).total_cmp(&sum(*b))).unwrap_or(w[0]))
            .collect();
        let edges = begins.iter().filter_map(|i| self.edges.get(*i).copied()).collect();
        let layer = |layer: &Layer| Layer {
            label: layer.label.clone(),
            style: layer.style,
            values: fullest.iter().map(|i| value(layer, *i)).collect(),
        };
        (edges, self.layers.iter().map(layer).collect())
    }
}

impl Chart for Areas {
    fn title(&self) -> &str {
        &self.title
    }

    fn svg(&self) -> String {
        let (edges, layers) = self.drawn();
        let stretches = edges.len().saturating_sub(1);
        let sum = |i: usize| layers.iter().map(|l| l.values[i]).sum::<f64>();
        let top = extent((0..stretches).map(sum)).map_or(0.0, |r| r.1);
        let up = match self.whole {
            Some(whole) if whole.is_finite() && whole > 0.0 => {
                Span::linear(&self.y, 0.0, whole.max(top), 6)
            }
            _ => Span::from_zero(&self.y, Some((0.0, top)), 6),
        };
        let (low, high) = extent(edges.iter().copied()).unwrap_or((0.0, 1.0));
        let mut legend: Vec<(Sample, String)> =
            layers.iter().map(|l| (Sample::Layer(l.style), l.label.clone())).collect();
        legend.extend(self.phases.iter().map(|(_, what)| (Sample::Phase, what.clone())));
        let mut frame = Frame::new(&Parts {
            title: &self.title,
            description: &self.description,
            legend: &legend,
            x: &frame::under(&self.x, low, high),
            y: &up,
        });
        let (x, y) = (frame.x, frame.y);
        let mut below = vec![0.0; stretches];
        for layer in &layers {
            let above: Vec<f64> = below.iter().zip(&layer.values).map(|(b, v)| b + v).collect();
            if layer.values.iter().any(|v| *v > 0.0) {
                let step = |values: &[f64], at: usize| {
                    let value = y.at(values[at]);
                    [(x.at(edges[at]), value), (x.at(edges[at + 1]), value)]
                };
                let over = (0..stretches).flat_map(|at| step(&above, at));
                let under = (0..stretches).rev().flat_map(|at| {
                    let [from, to] = step(&below, at);
                    [to, from]
                });
                let d = through(over.chain(under)) + "z";
                frame.svg.path(&frame::layer_class(layer.style), "", &d);
            }
            below = above;
        }
        for (place, _) in &self.phases {
            frame.phase(*place);
        }
        for at in 0..stretches {
            let mut text = self.x.kind.value(edges[at]);
            for layer in layers.iter().rev() {
                text.push('\n');
                text.push_str(&self.y.kind.value(layer.values[at]));
            }
            frame.column(x.at(edges[at]), x.at(edges[at + 1]), &text);
        }
        frame.svg.labels(layers.iter().rev().map(|layer| layer.label.clone()));
        frame.svg.finish()
    }

    fn table(&self) -> Table {
        let (edges, layers) = self.drawn();
        let largest = extent(layers.iter().flat_map(|l| l.values.iter().copied()));
        let largest = self.whole.or(largest.map(|r| r.1)).unwrap_or(1.0);
        let (size, unit) = self.y.kind.unit(largest);
        let mut header = vec![self.x.caption(1.0)];
        header.extend(layers.iter().map(|l| format!("{}, {unit}", l.label)));
        let mut table = Table::new(header);
        for (at, edge) in edges.iter().take(edges.len().saturating_sub(1)).enumerate() {
            let values = layers.iter().map(|l| Table::number(l.values[at] / size));
            table.rows.push(std::iter::once(Table::number(*edge)).chain(values).collect());
        }
        table
    }
}
