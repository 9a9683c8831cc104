//! The axes of a chart: what they span, and what their ticks are called.

use super::scale::{Scale, Spread};
use super::text::{TICK, width};
use super::ticks::ticks;
use crate::figure::Kind;

/// What an axis shows: "throughput", and the kind of quantity it is, which gives the unit.
#[derive(Clone, Debug)]
pub struct Axis {
    /// What is shown, without its unit.
    pub title: String,
    /// Its kind of quantity.
    pub kind: Kind,
}

impl Axis {
    /// An axis of this title and kind.
    pub fn new(title: &str, kind: Kind) -> Axis {
        Axis { title: title.to_owned(), kind }
    }

    /// "throughput, MB/s": with the unit in which `largest` is shown.
    pub(super) fn caption(&self, largest: f64) -> String {
        match self.kind.unit(largest).1 {
            "" => self.title.clone(),
            "k" => format!("{}, thousands", self.title),
            "M" => format!("{}, millions", self.title),
            unit => format!("{}, {unit}", self.title),
        }
    }
}

/// A span of values with its ticks.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub(super) spread: Spread,
    pub(super) low: f64,
    pub(super) high: f64,
    /// Value and label.
    pub(super) ticks: Vec<(f64, String)>,
    /// What is shown, with the unit of the labels unless each has its own.
    pub(super) caption: String,
}

impl Span {
    /// From zero, or from what is below it, to a bit above the largest value. `most` ticks at most.
    pub(super) fn from_zero(axis: &Axis, range: Option<(f64, f64)>, most: usize) -> Span {
        let (low, high) = range.unwrap_or((0.0, 1.0));
        let (low, high) = sane(low.min(0.0), high.max(0.0) * 1.04);
        Span::linear(axis, low, high, most)
    }

    /// Exactly from `low` to `high`.
    pub(super) fn linear(axis: &Axis, low: f64, high: f64, most: usize) -> Span {
        let (low, high) = sane(low, high);
        let largest = low.abs().max(high.abs());
        let ticks = ticks(Spread::Linear, low, high, most);
        let (size, _) = axis.kind.unit(largest);
        let sized: Vec<f64> = ticks.iter().map(|t| t / size).collect();
        let labels = distinct(same_digits(&sized), &sized);
        Span {
            spread: Spread::Linear,
            low,
            high,
            ticks: ticks.into_iter().zip(labels).collect(),
            caption: axis.caption(largest),
        }
    }

    /// On a log axis from the least to the largest positive value, with a margin. The labels
    /// have their own units, for a log axis may reach from microseconds to seconds.
    pub(super) fn log(axis: &Axis, range: Option<(f64, f64)>, most: usize) -> Span {
        let (low, high) = range.unwrap_or((1.0, 10.0));
        let (low, high) = (low.clamp(1e-250, 1e250), high.clamp(1e-250, 1e250));
        let margin = (high / low).powf(0.06).max(1.02);
        let (low, high) = (low / margin, high * margin);
        let ticks = ticks(Spread::Log, low, high, most);
        let label = |tick: &f64| {
            let (size, unit) = axis.kind.unit(*tick);
            format!("{} {unit}", shortest(tick / size)).trim_end().to_owned()
        };
        let labels = distinct(ticks.iter().map(label).collect(), &ticks);
        let ticks = ticks.iter().copied().zip(labels).collect();
        Span { spread: Spread::Log, low, high, ticks, caption: axis.title.clone() }
    }

    /// The scale from `from` to `to`.
    pub(super) fn scale(&self, from: f64, to: f64) -> Scale {
        Scale { spread: self.spread, low: self.low, high: self.high, from, to }
    }

    /// Width of the widest label.
    pub(super) fn widest(&self) -> f64 {
        self.ticks.iter().map(|(_, label)| width(label, TICK)).fold(0.0, f64::max)
    }

    /// Whether the labels fit beside each other under an axis from `from` to `to`.
    pub(super) fn fits(&self, from: f64, to: f64) -> bool {
        let scale = self.scale(from, to);
        self.ticks.windows(2).all(|pair| {
            let space = (scale.at(pair[1].0) - scale.at(pair[0].0)).abs();
            let needed = (width(&pair[0].1, TICK) + width(&pair[1].1, TICK)) / 2.0;
            needed + 8.0 <= space
        })
    }
}

/// A range that can be drawn: finite and not empty.
fn sane(low: f64, high: f64) -> (f64, f64) {
    let low = if low.is_finite() { low.clamp(-1e250, 1e250) } else { 0.0 };
    let high = if high.is_finite() { high.clamp(-1e250, 1e250) } else { low + 1.0 };
    if high > low && (high - low) > 1e-12 * high.abs().max(low.abs()) {
        (low, high)
    } else {
        (low, low + 0.5 * low.abs() + 1.0)
    }
}

/// Labels that differ: these, or ones with more digits.
fn distinct(labels: Vec<String>, values: &[f64]) -> Vec<String> {
    let differ =
        |labels: &[String]| !labels.iter().enumerate().any(|(i, l)| labels[..i].contains(l));
    if differ(&labels) {
        return labels;
    }
    let more = same_digits(values);
    if differ(&more) { more } else { values.iter().map(|v| format!("{v:e}")).collect() }
}

/// As few decimals as tell all of them apart and show each as it is.
fn same_digits(values: &[f64]) -> Vec<String> {
    let largest = values.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    if !(1e-4..1e7).contains(&largest) && largest != 0.0 {
        return values.iter().map(|v| shortest(*v)).collect();
    }
    let exact = |decimals: usize| {
        let shown =
            |v: &f64| (v * 10f64.powi(decimals as i32)).round() / 10f64.powi(decimals as i32);
        values.iter().all(|v| (shown(v) - v).abs() <= 1e-6 * largest)
    };
    let decimals = (0..9).find(|d| exact(*d)).unwrap_or(9);
    values.iter().map(|v| format!("{:.decimals$}", v + 0.0)).collect()
}

/// A round number as short as it can be written: "0.02", "1", "1e12".
fn shortest(value: f64) -> String {
    let text = if (1e-4..1e7).contains(&value.abs()) || value == 0.0 {
        format!("{:.9}", value).trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        format!("{value:e}")
    };
    // A tick that came out as 2.9999999999 is a 3.
    match text.parse::<f64>() {
        Ok(v) if text.len() > 12 => format!("{v:.2e}"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{BANDWIDTH, COUNT, TIME};
    use proptest::prelude::*;

    fn labels(span: &Span) -> Vec<&str> {
        span.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn labels_share_the_unit_of_the_axis() {
        let axis = Axis::new("throughput", BANDWIDTH);
        let span = Span::from_zero(&axis, Some((10e6, 112e6)), 6);
        assert_eq!(labels(&span), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(span.caption, "throughput, MB/s");
        let span = Span::from_zero(&axis, Some((0.0, 1.4e9)), 6);
        assert_eq!(labels(&span), ["0.0", "0.5", "1.0"]);
        assert_eq!(span.caption, "throughput, GB/s");
    }

    #[test]
    fn labels_of_a_log_axis_have_their_own_units() {
        let axis = Axis::new("latency", TIME);
        let span = Span::log(&axis, Some((20e-6, 0.8)), 6);
        assert_eq!(labels(&span), ["100 µs", "1 ms", "10 ms", "100 ms", "1 s"]);
        let span = Span::log(&Axis::new("ratio", COUNT), Some((0.93, 1.12)), 6);
        assert_eq!(labels(&span), ["0.95", "1", "1.05", "1.1"]);
    }

    #[test]
    fn nothing_and_nonsense_have_an_axis_too() {
        let axis = Axis::new("x", COUNT);
        for range in [None, Some((0.0, 0.0)), Some((-5.0, -5.0)), Some((1e300, 1e300))] {
            for span in [Span::from_zero(&axis, range, 5), Span::log(&axis, range, 5)] {
                assert!(span.low < span.high && span.high.is_finite(), "{range:?} {span:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn labels_are_unique(low in any::<f64>(), high in any::<f64>(), most in 2usize..9) {
            let range = super::super::scale::extent([low, high]);
            for kind in [BANDWIDTH, COUNT, TIME] {
                let axis = Axis::new("x", kind);
                let positive = range.filter(|r| r.0 > 0.0);
                for span in [Span::from_zero(&axis, range, most), Span::log(&axis, positive, most)] {
                    let labels = labels(&span);
                    for (i, label) in labels.iter().enumerate() {
                        prop_assert!(!labels[..i].contains(label), "{:?}", labels);
                    }
                }
            }
        }
    }
}
