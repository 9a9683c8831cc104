//! When to stop, looking after every block: as soon as a comparison is decided.
//!
//! The interval is that of [`sequence`], which holds at all blocks at once, widened by what the
//! correlation of neighbouring blocks takes from them ([`correlation::widening`]). For independent
//! blocks that is proven; for correlated ones it holds by simulation ([`crate::simulate`]).

use crate::correlation;
use crate::interval::{Interval, mean, sample_sd};
use crate::sequence;

/// The rule for one comparison, or one level. Values are logarithms, one per block, in the order run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sequential {
    /// Nothing is decided before so many blocks.
    pub first: usize,
    /// Half-width, on the log scale, that is always enough.
    pub half_width: f64,
    /// Margin of a comparison: an interval wholly inside or wholly outside it decides. `None` for a
    /// level.
    pub margin: Option<f64>,
    /// Confidence of this one interval: already adjusted for its family.
    pub confidence: f64,
}

/// Most blocks that are forecast.
const FAR: u64 = 1 << 30;

impl Sequential {
    /// Half-width δ to ask for so that a verdict with this `margin` comes out: ln(1 + m)/2. No
    /// interval of that half-width is left unresolved: with the estimate within δ of 1 it lies
    /// inside the margin, with one further off it excludes 1. `None` unless the margin is positive
    /// and finite.
    pub fn half_width_for(margin: f64) -> Option<f64> {
        let half_width = margin.ln_1p() / 2.0;
        (half_width > 0.0 && half_width.is_finite()).then_some(half_width)
    }

    /// The interval, on the log scale, after these values. `None` as for [`sequence::interval`].
    pub fn interval(&self, values: &[f64]) -> Option<Interval> {
        interval(values, self.confidence)
    }

    /// Whether nothing more is needed.
    pub fn is_decided(&self, values: &[f64]) -> bool {
        let decided = |interval| self.decides(interval);
        values.len() >= self.first && self.interval(values).is_some_and(decided)
    }

    fn decides(&self, Interval { low, estimate, high }: Interval) -> bool {
        let by_margin = self.margin.is_some_and(|margin| {
            let margin = margin.ln_1p();
            low > margin || high < -margin || (-margin <= low && high <= margin)
        });
        by_margin || high - estimate <= self.half_width
    }

    /// Forecast of the blocks that it takes in all, where mean, spread and correlation stay what they
    /// are: at least one more than there are where it is not decided. `None` where it is not known:
    /// before there is an interval, and beyond numbers that one could run.
    pub fn blocks_needed(&self, values: &[f64]) -> Option<u64> {
        if self.is_decided(values) {
            return Some(values.len() as u64);
        }
        let (estimate, spread) = (mean(values)?, sample_sd(values)? * widening(values));
        let decided = |blocks: u64| {
            let half_width = sequence::factor(blocks, self.confidence).map(|f| f * spread);
            half_width
                .and_then(|half_width| Interval::around(estimate, half_width))
                .is_some_and(|interval| self.decides(interval))
        };
        let least = (values.len() as u64 + 1).max(self.first as u64);
        let mut high = least;
        while !decided(high) {
            high = high.checked_mul(2).filter(|blocks| *blocks <= FAR)?;
        }
        let mut low = least;
        while low < high {
            let middle = low + (high - low) / 2;
            if decided(middle) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Some(low)
    }
}

/// Mean of values, on whatever scale they are, with the interval of [`sequence::interval`] widened for
/// correlated neighbours.
pub fn interval(values: &[f64], confidence: f64) -> Option<Interval> {
    let Interval { estimate, high, .. } = sequence::interval(values, confidence)?;
    Interval::around(estimate, (high - estimate) * widening(values))
}

fn widening(values: &[f64]) -> f64 {
    correlation::lag_1(values).map_or(1.0, correlation::widening)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::generator;
    use crate::synthetic::standard_normal;
    use crate::verdict::Verdict;
    use proptest::prelude::*;

    fn rule() -> Sequential {
        let half_width = 0.05f64.ln_1p() / 2.0;
        Sequential { first: 6, half_width, margin: Some(0.05), confidence: 0.99 }
    }

    fn noise(mean: f64, sd: f64, count: usize, stream: &str) -> Vec<f64> {
        let mut generator = generator(5, stream);
        (0..count).map(|_| mean + sd * standard_normal(&mut generator)).collect()
    }

    fn blocks(mean: f64, sd: f64, stream: &str) -> usize {
        let values = noise(mean, sd, 200, stream);
        (1..=200).find(|n| rule().is_decided(&values[..*n])).unwrap_or(200)
    }

    /// The means of the method's own simulation, to which the multiplier adds about a tenth: at a
    /// spread of 10%, 90 blocks without a difference and 8 for 30%; Stein's rule takes 170 for both.
    #[test]
    fn a_large_difference_takes_few_blocks_and_none_takes_many() {
        let mean_blocks = |log_ratio: f64, sd| {
            let each = (0..200).map(|study| blocks(log_ratio, sd, &format!("study {study}")));
            each.sum::<usize>() as f64 / 200.0
        };
        let large = mean_blocks(1.3f64.ln(), 0.1);
        assert!((6.0..12.0).contains(&large), "{large}");
        let none = mean_blocks(0.0, 0.1);
        assert!((80.0..130.0).contains(&none), "{none}");
        let quiet = mean_blocks(0.0, 0.03);
        assert!((9.0..18.0).contains(&quiet), "{quiet}");
    }

    #[test]
    fn nothing_is_decided_before_the_first_look() {
        let values = [1.0, 1.0, 1.0, 1.0, 1.0];
        assert!(!rule().is_decided(&values));
        assert_eq!(rule().blocks_needed(&values), Some(6));
        assert!(rule().is_decided(&[1.0; 6]));
        assert!(rule().is_decided(&[0.0; 6]), "no difference, for certain");
        let nan = [1.0, 1.0, f64::NAN, 1.0, 1.0, 1.0];
        assert!(!rule().is_decided(&nan) && rule().blocks_needed(&nan).is_none());
    }

    #[test]
    fn a_level_is_decided_by_its_width_alone() {
        let level = Sequential { margin: None, half_width: 1.1f64.ln(), ..rule() };
        let values = noise(18.0, 0.1, 40, "level");
        let decided = (1..=40).find(|n| level.is_decided(&values[..*n])).unwrap();
        let Interval { estimate, high, .. } = level.interval(&values[..decided]).unwrap();
        assert!(high - estimate <= level.half_width && decided > 6, "{decided}");
        let before = level.interval(&values[..decided - 1]).unwrap();
        assert!(before.high - before.estimate > level.half_width);
    }

    #[test]
    fn neighbours_that_are_alike_widen() {
        let slow: Vec<f64> = (0..20).map(|i| f64::from(i / 5 % 2)).collect();
        let fast: Vec<f64> = (0..20).map(|i| f64::from(i % 2)).collect();
        let width = |values: &[f64]| {
            let interval = interval(values, 0.95).unwrap();
            interval.high - interval.low
        };
        let plain = sequence::interval(&slow, 0.95).unwrap();
        assert!(width(&slow) > 1.8 * (plain.high - plain.low));
        assert!((width(&fast) - (plain.high - plain.low)).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn the_half_width_for_a_margin_resolves(centre in -0.3..0.3f64, margin in 0.001..0.5f64) {
            let half_width = Sequential::half_width_for(margin).unwrap();
            let ratio = Interval::around(centre, half_width).unwrap().exp().unwrap();
            let verdict = Verdict::on(ratio, margin * (1.0 + 1e-9)).unwrap();
            prop_assert!(!matches!(verdict, Verdict::NotResolved(_)), "{verdict:?}");
        }

        #[test]
        fn the_forecast_is_the_first_that_decides(
            values in prop::collection::vec(-0.3..0.3f64, 6..30), margin in 0.01..0.3f64,
        ) {
            let rule = Sequential { margin: Some(margin), half_width: 0.001, ..rule() };
            if let Some(needed) = rule.blocks_needed(&values) {
                let (estimate, spread) =
                    (mean(&values).unwrap(), sample_sd(&values).unwrap() * widening(&values));
                let at = |n| {
                    let half_width = sequence::factor(n, rule.confidence).unwrap() * spread;
                    rule.decides(Interval::around(estimate, half_width).unwrap())
                };
                if rule.is_decided(&values) {
                    prop_assert_eq!(needed, values.len() as u64);
                } else {
                    prop_assert!(needed > values.len() as u64);
                    prop_assert!(at(needed));
                    prop_assert!(needed == values.len() as u64 + 1 || !at(needed - 1));
                }
            }
        }
    }
}
