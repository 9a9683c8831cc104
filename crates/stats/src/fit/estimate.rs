//! Fitted figures with their intervals.

use crate::interval::{Interval, mean, t_interval};
use crate::sequential;

/// How an interval over blocks is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// Student's, for a number of blocks that was fixed beforehand, at this confidence.
    Fixed(f64),
    /// That of [`sequential::interval`], for a study that may have ended by what it found.
    Sequential(f64),
}

impl Rule {
    pub(super) fn confidence(self) -> f64 {
        let (Rule::Fixed(confidence) | Rule::Sequential(confidence)) = self;
        confidence
    }

    /// The interval around the mean of values, a block each; `None` where there are too few.
    pub fn interval(self, values: &[f64]) -> Option<Interval> {
        match self {
            Rule::Fixed(confidence) => t_interval(values, confidence),
            Rule::Sequential(confidence) => sequential::interval(values, confidence),
        }
    }
}

/// A fitted figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The figure.
    pub value: f64,
    /// Its interval; `None` where nothing says how far it may be off.
    pub interval: Option<Interval>,
}

impl Estimate {
    /// The mean of values, a block each; `None` of nothing.
    pub fn mean(values: &[f64], rule: Rule) -> Option<Estimate> {
        Some(Estimate { value: mean(values)?, interval: rule.interval(values) })
    }

    /// So many times the figure.
    pub fn scaled(self, by: f64) -> Estimate {
        let scale = |i: Interval| Interval {
            low: i.low * by,
            estimate: i.estimate * by,
            high: i.high * by,
        };
        Estimate { value: self.value * by, interval: self.interval.map(scale) }
    }

    /// 1/figure, such as bytes per second from seconds per byte. Without an interval where that of the
    /// figure reaches zero. `None` where the figure is zero.
    pub fn reciprocal(self) -> Option<Estimate> {
        let invert = |i: Interval| Interval {
            low: 1.0 / i.high,
            estimate: 1.0 / i.estimate,
            high: 1.0 / i.low,
        };
        let value = 1.0 / self.value;
        let interval = self.interval.map(invert).filter(Interval::is_ratio);
        value.is_finite().then_some(Estimate { value, interval })
    }
}

/// What the model says of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// Its mean time, seconds.
    pub mean: Estimate,
    /// Where a single time is to be expected, seconds.
    pub single: Option<Interval>,
}

/// The interval around a value, cut off at the least that is possible.
pub(super) fn around(value: f64, half_width: f64, least: f64) -> Option<Interval> {
    let interval = Interval::around(value, half_width)?;
    Some(Interval { low: interval.low.max(least), ..interval })
}
