//! Ratios of two means whose values may be zero or below, such as CPU costs: busy minus idle is
//! negative now and then, and without those values, which have no logarithm, the rest are too
//! large on average. Fieller 1940, Supplement to the Journal of the Royal Statistical Society 7,
//! 1–64; 1954, Journal of the Royal Statistical Society B 16, 175–185.

use crate::interval::{Interval, mean, sample_sd, student_t};

/// What is known of mean(B)/mean(A).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Quotient {
    /// Between two ends; the lower one may be zero or below, where B's mean may be.
    Bounded(Interval),
    /// A's mean cannot be distinguished from zero, so the ratio may be of any size.
    Unbounded,
}

/// Means with the variances and the covariance of these means, and the degrees of freedom.
#[derive(Clone, Copy)]
struct TwoMeans {
    a: f64,
    b: f64,
    variance_a: f64,
    variance_b: f64,
    covariance: f64,
    degrees: f64,
}

/// mean(b)/mean(a) of values that belong together one by one, such as those of a block; Fieller's
/// interval with Student's t at n − 1 degrees of freedom: every ratio r for which the mean of
/// b − r·a cannot be distinguished from zero. `None` below two pairs, where the lengths differ, for a
/// confidence outside (0, 1), and where a value or the result is not finite.
pub fn paired(a: &[f64], b: &[f64], confidence: f64) -> Option<Quotient> {
    if a.len() != b.len() {
        return None;
    }
    let (mean_a, mean_b, n) = (mean(a)?, mean(b)?, a.len() as f64);
    let products: f64 = a.iter().zip(b).map(|(a, b)| (a - mean_a) * (b - mean_b)).sum();
    let means = TwoMeans {
        a: mean_a,
        b: mean_b,
        variance_a: sample_sd(a)?.powi(2) / n,
        variance_b: sample_sd(b)?.powi(2) / n,
        covariance: products / (n - 1.0) / n,
        degrees: n - 1.0,
    };
    means.quotient(confidence)
}

/// The same of two independent samples, whose sizes and spreads may differ; with the degrees of
/// freedom of Welch and Satterthwaite for mean(b) − r·mean(a) at the estimated ratio r.
pub fn independent(a: &[f64], b: &[f64], confidence: f64) -> Option<Quotient> {
    let (mean_a, mean_b) = (mean(a)?, mean(b)?);
    let (n_a, n_b) = (a.len() as f64, b.len() as f64);
    let (variance_a, variance_b) = (sample_sd(a)?.powi(2) / n_a, sample_sd(b)?.powi(2) / n_b);
    let scaled = variance_a * (mean_b / mean_a).powi(2);
    let share = scaled / (scaled + variance_b);
    let degrees = 1.0 / (share.powi(2) / (n_a - 1.0) + (1.0 - share).powi(2) / (n_b - 1.0));
    // Where a mean is zero, or nothing spreads.
    let degrees = if degrees.is_finite() { degrees } else { n_a.min(n_b) - 1.0 };
    TwoMeans { a: mean_a, b: mean_b, variance_a, variance_b, covariance: 0.0, degrees }
        .quotient(confidence)
}

impl TwoMeans {
    /// The roots r of (b − r·a)² = t²·(variance of b − r·a), if the set between them is it.
    fn quotient(self, confidence: f64) -> Option<Quotient> {
        let TwoMeans { a, b, variance_a, variance_b, covariance, degrees } = self;
        let t2 = student_t(confidence, degrees)?.powi(2);
        let square = a * a - t2 * variance_a;
        if !square.is_finite() {
            return None;
        }
        if square <= 0.0 {
            return Some(Quotient::Unbounded);
        }
        // The variance of b − r·a at the estimate, times a², less what is common to both.
        let spread = a * a * variance_b - 2.0 * a * b * covariance + b * b * variance_a
            - t2 * (variance_a * variance_b - covariance * covariance);
        let centre = (a * b - t2 * covariance) / square;
        let half_width = (t2 * spread.max(0.0)).sqrt() / square;
        let interval =
            Interval { low: centre - half_width, estimate: b / a, high: centre + half_width };
        interval.is_finite().then_some(Quotient::Bounded(interval))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::t_interval;
    use proptest::prelude::*;

    fn bounded(quotient: Option<Quotient>) -> Interval {
        match quotient {
            Some(Quotient::Bounded(interval)) => interval,
            other => panic!("{other:?}"),
        }
    }

    /// t(0.5, 2)² = 2/3. Means 2 and 5, their variances 1/3 and 4/3, covariance 2/3:
    /// (34 r² − 172 r + 217)/9 = 0 has the roots (86 ± 3√2)/34.
    #[test]
    fn paired_by_hand() {
        let ratio = bounded(paired(&[1.0, 2.0, 3.0], &[3.0, 5.0, 7.0], 0.5));
        assert_eq!(ratio.estimate, 2.5);
        assert!((ratio.low - (86.0 - 18f64.sqrt()) / 34.0).abs() < 1e-9, "{ratio:?}");
        assert!((ratio.high - (86.0 + 18f64.sqrt()) / 34.0).abs() < 1e-9, "{ratio:?}");
        // The other way round the covariance goes against it: (34 r² − 188 r + 217)/9.
        let ratio = bounded(paired(&[1.0, 2.0, 3.0], &[7.0, 5.0, 3.0], 0.5));
        let root = (94f64.powi(2) - 34.0 * 217.0).sqrt();
        assert!((ratio.low - (94.0 - root) / 34.0).abs() < 1e-9, "{ratio:?}");
        assert!((ratio.high - (94.0 + root) / 34.0).abs() < 1e-9, "{ratio:?}");
    }

    /// Means 2 and 4, variances 1/3 each; shares 0.8 and 0.2, degrees 1/(0.34) = 2.941: with
    /// t² = T, (4 − T/3) r² − 16 r + 16 − T/3 = 0.
    #[test]
    fn independent_by_hand() {
        let ratio = bounded(independent(&[1.0, 2.0, 3.0], &[3.0, 4.0, 5.0], 0.5));
        let t2 = student_t(0.5, 1.0 / 0.34).unwrap().powi(2);
        let (square, rest) = (4.0 - t2 / 3.0, 16.0 - t2 / 3.0);
        let root = (64.0 - square * rest).sqrt();
        assert_eq!(ratio.estimate, 2.0);
        assert!((ratio.low - (8.0 - root) / square).abs() < 1e-9, "{ratio:?}");
        assert!((ratio.high - (8.0 + root) / square).abs() < 1e-9, "{ratio:?}");
    }

    #[test]
    fn a_mean_that_may_be_zero_has_no_ratio_to_it() {
        let about_zero = [1.0, -1.0, 2.0, -1.5];
        let clear = [5.0, 6.0, 5.5, 5.2];
        for quotient in [paired, independent] {
            assert_eq!(quotient(&about_zero, &clear, 0.95), Some(Quotient::Unbounded));
            let ratio = bounded(quotient(&clear, &about_zero, 0.95));
            assert!(ratio.low < 0.0 && ratio.high > 0.0, "{ratio:?}");
        }
    }

    #[test]
    fn nothing_is_invented() {
        assert_eq!(paired(&[1.0], &[1.0], 0.95), None);
        assert_eq!(paired(&[1.0, 2.0], &[1.0, 2.0, 3.0], 0.95), None);
        assert_eq!(independent(&[1.0, 2.0], &[1.0], 0.95), None);
        for wrong in [f64::NAN, f64::INFINITY, f64::MAX] {
            assert_eq!(paired(&[wrong, 2.0], &[1.0, wrong], 0.95), None);
        }
        assert_eq!(paired(&[1.0, 2.0], &[1.0, 2.0], 1.0), None);
        let same = bounded(paired(&[2.0, 2.0], &[3.0, 3.0], 0.95));
        assert_eq!((same.low, same.high), (1.5, 1.5));
        assert_eq!(paired(&[0.0, 0.0], &[0.0, 0.0], 0.95), Some(Quotient::Unbounded));
    }

    proptest! {
        /// What the interval is by its definition: at its ends the mean of b − r·a is as far from
        /// zero as Student's t lets it be, within them nearer.
        #[test]
        fn at_the_ends_the_difference_can_just_be_distinguished_from_zero(
            pairs in prop::collection::vec((0.5..3.0f64, -1.0..3.0f64), 3..20),
            confidence in 0.5..0.99,
        ) {
            let (a, b): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
            if let Some(Quotient::Bounded(ratio)) = paired(&a, &b, confidence) {
                let difference = |r: f64| -> Interval {
                    let values: Vec<f64> = a.iter().zip(&b).map(|(a, b)| b - r * a).collect();
                    t_interval(&values, confidence).unwrap()
                };
                prop_assert!(difference(ratio.low).low.abs() < 1e-7);
                prop_assert!(difference(ratio.high).high.abs() < 1e-7);
                prop_assert!(difference(ratio.estimate).contains(0.0));
            }
        }

        #[test]
        fn units_do_not_matter_and_any_input_gives_an_answer_or_none(
            pairs in prop::collection::vec((any::<f64>(), any::<f64>()), 0..8),
            tame in prop::collection::vec((-1.0..9.0f64, -1.0..9.0f64), 2..9),
        ) {
            let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            for quotient in [paired(&a, &b, 0.95), independent(&a, &b, 0.95)] {
                if let Some(Quotient::Bounded(ratio)) = quotient {
                    prop_assert!(ratio.is_finite());
                }
            }
            let (a, b): (Vec<f64>, Vec<f64>) = tame.into_iter().unzip();
            let nano = |v: &[f64]| -> Vec<f64> { v.iter().map(|v| v * 1e-9).collect() };
            match (paired(&a, &b, 0.95), paired(&nano(&a), &nano(&b), 0.95)) {
                (Some(Quotient::Bounded(r)), Some(Quotient::Bounded(s))) => {
                    let width = 1e-6 * (1.0 + r.high.abs() + r.low.abs());
                    prop_assert!((r.low - s.low).abs() < width && (r.high - s.high).abs() < width);
                }
                (r, s) => prop_assert_eq!(r, s),
            }
        }
    }
}
