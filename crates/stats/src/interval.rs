//! A figure with its uncertainty, and Student's t on whatever numbers a study has.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// A figure and its confidence interval, in the unit of the figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// The figure itself.
    pub estimate: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// The interval `estimate` ± `half_width`. `None` unless all three numbers come out finite and
    /// `half_width` is not negative.
    pub fn around(estimate: f64, half_width: f64) -> Option<Self> {
        let interval =
            Interval { low: estimate - half_width, estimate, high: estimate + half_width };
        (half_width >= 0.0 && interval.is_finite()).then_some(interval)
    }

    /// The same, with this half-width where it is narrower.
    pub fn at_least(self, half_width: f64) -> Self {
        Interval {
            low: self.low.min(self.estimate - half_width),
            high: self.high.max(self.estimate + half_width),
            ..self
        }
    }

    /// From the log scale to the ratio scale: every number is raised to e. `None` where that leaves
    /// the range of positive finite numbers.
    pub fn exp(self) -> Option<Self> {
        let ratio =
            Interval { low: self.low.exp(), estimate: self.estimate.exp(), high: self.high.exp() };
        ratio.is_ratio().then_some(ratio)
    }

    /// Whether `value` lies inside or on an end.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Whether all three numbers are finite.
    pub fn is_finite(&self) -> bool {
        self.low.is_finite() && self.estimate.is_finite() && self.high.is_finite()
    }

    /// Whether this can be an interval of a ratio: finite, positive, and in order.
    pub fn is_ratio(&self) -> bool {
        self.is_finite()
            && 0.0 < self.low
            && self.low <= self.estimate
            && self.estimate <= self.high
    }
}

/// Arithmetic mean. `None` without values, or where a value or the sum is not finite.
pub fn mean(values: &[f64]) -> Option<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    mean.is_finite().then_some(mean)
}

/// Sample standard deviation (divisor n − 1). `None` below two values, or where it is not finite.
pub fn sample_sd(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    let sd = (squares / (values.len() - 1) as f64).sqrt();
    sd.is_finite().then_some(sd)
}

/// Student's critical value t for a two-sided interval: |T| ≤ t has probability `confidence`.
/// Degrees of freedom need not be whole. `None` unless 0 < `confidence` < 1 and
/// `degrees_of_freedom` ≥ 1, or where `confidence` is too close to 1 to be distinguished from it.
pub fn student_t(confidence: f64, degrees_of_freedom: f64) -> Option<f64> {
    if !is_confidence(confidence) || degrees_of_freedom.is_nan() || degrees_of_freedom < 1.0 {
        return None;
    }
    let below = 0.5 + confidence / 2.0;
    let t = if degrees_of_freedom <= 1e4 {
        StudentsT::new(0.0, 1.0, degrees_of_freedom).ok()?.inverse_cdf(below)
    } else {
        // The library's inverse loses digits here and does not end near 10⁹. The first term of the
        // expansion in 1/ν (Abramowitz and Stegun 1964, 26.7.5) is exact to 10⁻⁶ from here on.
        let z = Normal::standard().inverse_cdf(below);
        z + (z.powi(3) + z) / (4.0 * degrees_of_freedom)
    };
    t.is_finite().then_some(t)
}

/// Mean with Student's t interval at n − 1 degrees of freedom, in the unit of the values. `None`
/// below two values: one number has no spread, and none is invented. `None` also for values that
/// are not finite and for a confidence outside (0, 1).
pub fn t_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    let spread = sample_sd(values)?;
    let n = values.len() as f64;
    let t = student_t(confidence, n - 1.0)?;
    Interval::around(mean(values)?, t * spread / n.sqrt())
}

/// Geometric mean of the ratios whose natural logarithms are given, with Student's t interval; all
/// on the ratio scale. One log ratio per block. `None` as for [`t_interval`].
pub fn ratio_interval(log_ratios: &[f64], confidence: f64) -> Option<Interval> {
    t_interval(log_ratios, confidence)?.exp()
}

/// Strictly between 0 and 1.
pub(crate) fn is_confidence(confidence: f64) -> bool {
    0.0 < confidence && confidence < 1.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Two-sided critical values as printed in the usual tables (Fisher and Yates 1963, table III).
    #[test]
    fn student_t_agrees_with_published_tables() {
        let table = [
            (0.95, 1.0, 12.706),
            (0.95, 2.0, 4.303),
            (0.95, 5.0, 2.571),
            (0.95, 9.0, 2.262),
            (0.95, 19.0, 2.093),
            (0.95, 30.0, 2.042),
            (0.95, 120.0, 1.980),
            (0.90, 5.0, 2.015),
            (0.98, 5.0, 3.365),
            (0.99, 5.0, 4.032),
            (0.99, 10.0, 3.169),
            (0.999, 5.0, 6.869),
            (0.999, 1.0, 636.619),
            (0.5, 1.0, 1.0),
        ];
        for (confidence, degrees, expected) in table {
            let t = student_t(confidence, degrees).unwrap();
            assert!((t - expected).abs() < 0.00051, "t({confidence}, {degrees}) = {t}");
        }
    }

    #[test]
    fn student_t_falls_with_the_degrees_towards_the_normal() {
        for confidence in [0.5, 0.95, 0.999, 1.0 - 1e-9] {
            let mut degrees = 1.0;
            let mut last = f64::INFINITY;
            while degrees < 1e12 {
                let t = student_t(confidence, degrees).unwrap();
                assert!(t < last, "t({confidence}, {degrees}) = {t}, not below {last}");
                last = t;
                degrees *= 1.3;
            }
        }
        for degrees in [1e9, f64::INFINITY] {
            assert!((student_t(0.95, degrees).unwrap() - 1.959_963_985).abs() < 1e-8);
        }
        let (below, above) = (student_t(0.99, 1e4).unwrap(), student_t(0.99, 1e4 + 1e-3).unwrap());
        assert!((below - above).abs() < 1e-7, "{below} {above}");
    }

    #[test]
    fn an_interval_by_hand() {
        // Mean 3, sd sqrt(2.5), t(0.95, 4) = 2.776445: half-width 2.776445 * sqrt(0.5).
        let interval = t_interval(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95).unwrap();
        assert_eq!(interval.estimate, 3.0);
        assert!((interval.high - 3.0 - 1.963_243).abs() < 1e-5, "{interval:?}");
        assert!((interval.low - 3.0 + 1.963_243).abs() < 1e-5, "{interval:?}");
    }

    #[test]
    fn ratios_are_averaged_geometrically() {
        let ratio = ratio_interval(&[4f64.ln(), 1f64.ln()], 0.5).unwrap();
        assert!((ratio.estimate - 2.0).abs() < 1e-12);
        // t(0.5, 1) = 1 and sd/sqrt(2) = ln(4)/2, so the ends are 2/2 and 2*2.
        assert!((ratio.low - 1.0).abs() < 1e-9 && (ratio.high - 4.0).abs() < 1e-9, "{ratio:?}");
    }

    #[test]
    fn nothing_is_invented() {
        assert_eq!(t_interval(&[], 0.95), None);
        assert_eq!(t_interval(&[1.0], 0.95), None);
        assert_eq!(t_interval(&[1.0, f64::NAN], 0.95), None);
        assert_eq!(t_interval(&[1.0, f64::INFINITY], 0.95), None);
        assert_eq!(t_interval(&[f64::MAX, f64::MAX], 0.95), None);
        assert_eq!(ratio_interval(&[700.0, 900.0], 0.95), None);
        for confidence in [0.0, 1.0, -1.0, 2.0, f64::NAN] {
            assert_eq!(t_interval(&[1.0, 2.0], confidence), None);
        }
        for degrees in [0.0, 0.99, -1.0, f64::NAN] {
            assert_eq!(student_t(0.95, degrees), None);
        }
    }

    proptest! {
        #[test]
        fn intervals_are_in_order_and_shift_with_the_data(
            values in prop::collection::vec(-1e3..1e3, 2..40), shift in -1e3..1e3f64,
            confidence in 0.01..0.999,
        ) {
            let plain = t_interval(&values, confidence).unwrap();
            prop_assert!(plain.low <= plain.estimate && plain.estimate <= plain.high);
            let shifted: Vec<f64> = values.iter().map(|v| v + shift).collect();
            let moved = t_interval(&shifted, confidence).unwrap();
            let scale = 1e-9 * (1.0 + plain.high.abs() + plain.low.abs() + shift.abs());
            prop_assert!((moved.low - plain.low - shift).abs() < scale);
            prop_assert!((moved.high - plain.high - shift).abs() < scale);
        }

        #[test]
        fn swapping_the_two_sides_inverts_the_ratio(
            logs in prop::collection::vec(-2.0..2.0, 2..30), confidence in 0.1..0.99,
        ) {
            let swapped: Vec<f64> = logs.iter().map(|x| -x).collect();
            if let (Some(r), Some(s)) =
                (ratio_interval(&logs, confidence), ratio_interval(&swapped, confidence))
            {
                prop_assert!((r.low * s.high - 1.0).abs() < 1e-9);
                prop_assert!((r.estimate * s.estimate - 1.0).abs() < 1e-9);
            }
        }

        #[test]
        fn any_input_gives_an_answer_or_none(
            values in prop::collection::vec(any::<f64>(), 0..8), confidence in any::<f64>(),
        ) {
            if let Some(i) = t_interval(&values, confidence) {
                prop_assert!(i.is_finite());
            }
            if let Some(i) = ratio_interval(&values, confidence) {
                prop_assert!(i.is_ratio());
            }
        }
    }
}
