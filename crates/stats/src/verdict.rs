//! From an interval to a claim.
//!
//! The figure compared is one of which more is better (a throughput), as the ratio B/A. With the
//! margin m, fixed before the run, the verdicts part all possible intervals among them:
//!
//! | interval of B/A | verdict |
//! | --- | --- |
//! | wholly inside [1/(1+m), 1+m] | no practical difference, even where it excludes 1 |
//! | wholly outside it | faster |
//! | excludes 1, but reaches into the margin | faster, perhaps too little to matter |
//! | holds 1 and reaches out of the margin | not resolved |

use crate::interval::Interval;
use serde::{Deserialize, Serialize};

/// One of the two that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The first: the ratio's denominator.
    A,
    /// The second: the ratio's numerator.
    B,
}

/// Which side is faster, and by how much. Always stated from the faster one, so that a pair has one
/// percentage: 4 against 3 is 33% faster and never "25% slower".
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lead {
    /// The faster one.
    pub faster: Side,
    /// How much faster than the other, as a fraction: 0.33 is 33% faster. An end below zero means
    /// that the other one may be faster.
    pub by: Interval,
}

impl Lead {
    /// Reads the lead off a ratio B/A; the side is that of the estimate (B where it is exactly 1).
    /// `None` unless the interval is one of a ratio.
    pub fn from_ratio(ratio: Interval) -> Option<Self> {
        if !ratio.is_ratio() {
            return None;
        }
        let (faster, Interval { low, estimate, high }) = if ratio.estimate >= 1.0 {
            (Side::B, ratio)
        } else {
            let Interval { low, estimate, high } = ratio;
            (Side::A, Interval { low: 1.0 / high, estimate: 1.0 / estimate, high: 1.0 / low })
        };
        let by = Interval { low: low - 1.0, estimate: estimate - 1.0, high: high - 1.0 };
        by.is_finite().then_some(Lead { faster, by })
    }
}

/// What may be claimed about a ratio.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "verdict")]
pub enum Verdict {
    /// One is faster, by more than the margin.
    Faster(Lead),
    /// One is faster, but perhaps by less than the margin: too little to matter.
    PerhapsTooLittle(Lead),
    /// Any difference there may be is smaller than the margin.
    NoPracticalDifference(Lead),
    /// The interval is too wide to say.
    NotResolved(Lead),
}

impl Verdict {
    /// The verdict on `ratio` (B/A of a higher-is-better figure) with the margin `margin` (0.05 for
    /// 5%). `None` unless the interval is one of a ratio and the margin is finite and not negative.
    pub fn on(ratio: Interval, margin: f64) -> Option<Self> {
        if !(margin >= 0.0 && margin.is_finite()) {
            return None;
        }
        let lead = Lead::from_ratio(ratio)?;
        let top = 1.0 + margin;
        let bottom = 1.0 / top;
        Some(if bottom <= ratio.low && ratio.high <= top {
            Verdict::NoPracticalDifference(lead)
        } else if ratio.low > top || ratio.high < bottom {
            Verdict::Faster(lead)
        } else if !ratio.contains(1.0) {
            Verdict::PerhapsTooLittle(lead)
        } else {
            Verdict::NotResolved(lead)
        })
    }

    /// The figures behind the verdict.
    pub fn lead(&self) -> Lead {
        match self {
            Verdict::Faster(lead)
            | Verdict::PerhapsTooLittle(lead)
            | Verdict::NoPracticalDifference(lead)
            | Verdict::NotResolved(lead) => *lead,
        }
    }

    /// The side claimed to be faster, by however little.
    pub fn faster(&self) -> Option<Side> {
        match self {
            Verdict::Faster(lead) | Verdict::PerhapsTooLittle(lead) => Some(lead.faster),
            Verdict::NoPracticalDifference(_) | Verdict::NotResolved(_) => None,
        }
    }
}

/// Forecast of how many blocks more would resolve an interval of the ratio that `blocks` blocks
/// left unresolved: at least 1. It assumes that the estimate stays where it is and that the
/// half-width falls as 1/√blocks. Resolved means that the interval excludes 1 or
/// lies wholly inside the margin, whichever takes less. It tells the reader what to expect and is no
/// stop rule: running on until something is resolved takes the intervals of [`crate::sequence`].
///
/// `None` unless the interval is one of a ratio, `blocks` and `margin` are positive, and the answer
/// is a number one could run.
pub fn more_blocks_to_resolve(ratio: Interval, blocks: u64, margin: f64) -> Option<u64> {
    if !ratio.is_ratio() || blocks == 0 || !(margin > 0.0 && margin.is_finite()) {
        return None;
    }
    let half_width = (ratio.high.ln() - ratio.low.ln()) / 2.0;
    let distance = ratio.estimate.ln().abs();
    // Never below ln(1+m)/2, so the forecast is finite wherever the estimate lies.
    let needed = distance.max(margin.ln_1p() - distance);
    let total = (blocks as f64 * (half_width / needed).powi(2)).ceil();
    (total < 1e15).then(|| (total as u64).saturating_sub(blocks).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ratio(low: f64, high: f64) -> Interval {
        Interval { low, estimate: (low * high).sqrt(), high }
    }

    fn on(low: f64, high: f64) -> Verdict {
        Verdict::on(ratio(low, high), 0.05).unwrap()
    }

    #[test]
    fn the_four_verdicts() {
        assert!(matches!(on(1.06, 1.10), Verdict::Faster(l) if l.faster == Side::B));
        assert!(matches!(on(0.80, 0.95), Verdict::Faster(l) if l.faster == Side::A));
        assert!(matches!(on(1.01, 1.10), Verdict::PerhapsTooLittle(l) if l.faster == Side::B));
        assert!(matches!(on(0.90, 0.99), Verdict::PerhapsTooLittle(l) if l.faster == Side::A));
        assert!(matches!(on(0.96, 1.04), Verdict::NoPracticalDifference(_)));
        // Excludes 1 and is inside the margin: a difference, but none that matters.
        assert!(matches!(on(1.01, 1.04), Verdict::NoPracticalDifference(_)));
        assert!(matches!(on(0.90, 1.02), Verdict::NotResolved(_)));
        assert!(matches!(on(0.5, 2.0), Verdict::NotResolved(_)));
    }

    #[test]
    fn ends_on_the_margin_belong_to_it() {
        assert!(matches!(on(1.0 / 1.05, 1.05), Verdict::NoPracticalDifference(_)));
        assert!(matches!(on(1.05, 1.2), Verdict::PerhapsTooLittle(_)));
        assert!(matches!(on(1.0, 1.2), Verdict::NotResolved(_)));
        assert!(matches!(
            Verdict::on(ratio(1.0, 1.0), 0.0).unwrap(),
            Verdict::NoPracticalDifference(_)
        ));
    }

    #[test]
    fn a_percentage_is_always_that_of_the_faster_one() {
        let b = Interval { low: 1.25, estimate: 4.0 / 3.0, high: 1.5 };
        let a = Interval { low: 1.0 / 1.5, estimate: 0.75, high: 0.8 };
        for (interval, side) in [(b, Side::B), (a, Side::A)] {
            let lead = Verdict::on(interval, 0.05).unwrap().lead();
            assert_eq!(lead.faster, side);
            assert!((lead.by.low - 0.25).abs() < 1e-12);
            assert!((lead.by.estimate - 1.0 / 3.0).abs() < 1e-12);
            assert!((lead.by.high - 0.5).abs() < 1e-12);
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for (low, estimate, high) in
            [(0.0, 1.0, 2.0), (-1.0, 1.0, 2.0), (2.0, 1.0, 3.0), (0.5, f64::NAN, 2.0)]
        {
            assert_eq!(Verdict::on(Interval { low, estimate, high }, 0.05), None);
        }
        assert_eq!(Verdict::on(ratio(0.9, 1.1), -0.1), None);
        assert_eq!(Verdict::on(ratio(0.9, 1.1), f64::NAN), None);
    }

    #[test]
    fn how_much_longer_by_hand() {
        // Estimate 1, half-width 1.999·ln(1.05) on the log scale: needs 3.996 times the 10 blocks.
        let wide = ratio(1.05f64.powf(-1.999), 1.05f64.powf(1.999));
        assert_eq!(more_blocks_to_resolve(wide, 10, 0.05), Some(30));
        // Estimate 1.1, half-width 1.999·ln(1.1): excluding 1 is what takes less.
        let wide = Interval { low: 1.1f64.powf(-0.999), estimate: 1.1, high: 1.1f64.powf(2.999) };
        assert_eq!(more_blocks_to_resolve(wide, 10, 0.05), Some(30));
        assert_eq!(more_blocks_to_resolve(wide, 0, 0.05), None);
        assert_eq!(more_blocks_to_resolve(wide, 10, 0.0), None);
    }

    proptest! {
        #[test]
        fn swapping_the_sides_swaps_the_verdict(
            low in 0.5..1.5f64, width in 0.0..0.7f64, margin in 0.01..0.2f64,
        ) {
            let interval = ratio(low, low + width);
            let mirror =
                Interval { low: 1.0 / interval.high, estimate: 1.0 / interval.estimate, high: 1.0 / low };
            let (v, w) =
                (Verdict::on(interval, margin).unwrap(), Verdict::on(mirror, margin).unwrap());
            prop_assert_eq!(std::mem::discriminant(&v), std::mem::discriminant(&w));
            if let (Some(x), Some(y)) = (v.faster(), w.faster()) {
                prop_assert_ne!(x, y);
            }
        }

        #[test]
        fn the_forecast_resolves_and_one_block_less_does_not(
            centre in -0.1..0.1f64, half_width in 0.001..0.5f64, blocks in 6u64..60,
        ) {
            let margin = 0.05f64;
            let at = |n: f64| {
                let half = half_width * (blocks as f64 / n).sqrt();
                Interval {
                    low: (centre - half).exp(), estimate: centre.exp(), high: (centre + half).exp(),
                }
            };
            let now = at(blocks as f64);
            if matches!(Verdict::on(now, margin), Some(Verdict::NotResolved(_))) {
                let more = more_blocks_to_resolve(now, blocks, margin).unwrap();
                // One block of slack: the forecast rounds up, and may land on an end exactly.
                let then = Verdict::on(at((blocks + more + 1) as f64), margin).unwrap();
                prop_assert!(!matches!(then, Verdict::NotResolved(_)), "{more} {then:?}");
                if more > 2 {
                    let short = Verdict::on(at((blocks + more - 2) as f64), margin).unwrap();
                    prop_assert!(matches!(short, Verdict::NotResolved(_)), "{more} {short:?}");
                }
            }
        }
    }
}
