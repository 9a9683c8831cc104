//! Two independent samples, such as two studies run at different times (Welch 1947, Biometrika 34,
//! 28–35).

use crate::interval::{Interval, mean, sample_sd, student_t};

/// Ratio B/A of the geometric means of two independent samples, given as natural logarithms, with
/// Welch's interval at the Welch–Satterthwaite degrees of freedom; on the ratio scale. Their
/// spreads and sizes may differ. `None` where either has fewer than two values, or a value or the
/// result is not finite.
pub fn ratio_interval(logs_a: &[f64], logs_b: &[f64], confidence: f64) -> Option<Interval> {
    let (n_a, n_b) = (logs_a.len() as f64, logs_b.len() as f64);
    let variance_a = sample_sd(logs_a)?.powi(2) / n_a;
    let variance_b = sample_sd(logs_b)?.powi(2) / n_b;
    let variance = variance_a + variance_b;
    // Shares of the variance rather than variances: no underflow where the spread is tiny.
    let half_width = if variance > 0.0 {
        let (share_a, share_b) = (variance_a / variance, variance_b / variance);
        let degrees = 1.0 / (share_a.powi(2) / (n_a - 1.0) + share_b.powi(2) / (n_b - 1.0));
        student_t(confidence, degrees)? * variance.sqrt()
    } else {
        // No spread on either side: any degrees of freedom give the same.
        student_t(confidence, 1.0)? * 0.0
    };
    Interval::around(mean(logs_b)? - mean(logs_a)?, half_width)?.exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn by_hand() {
        // Variances 1 and 4 of 4 values each: standard error sqrt(5/4), degrees
        // 5²/((1 + 16)/3) = 4.411765.
        let unit = [-1.0, 1.0, -1.0, 1.0].map(|x: f64| x * 0.75f64.sqrt());
        let logs_b = unit.map(|x| 2.0 * x + 2f64.ln());
        let ratio = ratio_interval(&unit, &logs_b, 0.95).unwrap();
        assert!((ratio.estimate - 2.0).abs() < 1e-12);
        let half_width = student_t(0.95, 25.0 * 3.0 / 17.0).unwrap() * 1.25f64.sqrt();
        assert!((ratio.high.ln() - 2f64.ln() - half_width).abs() < 1e-9, "{ratio:?}");
        assert!((2.571..2.777).contains(&(half_width / 1.25f64.sqrt())), "between df 5 and 4");
    }

    #[test]
    fn too_little_or_bad_input_is_refused() {
        assert_eq!(ratio_interval(&[1.0], &[1.0, 2.0], 0.95), None);
        assert_eq!(ratio_interval(&[1.0, 2.0], &[], 0.95), None);
        assert_eq!(ratio_interval(&[1.0, f64::NAN], &[1.0, 2.0], 0.95), None);
        assert_eq!(ratio_interval(&[1.0, 1.0], &[1.0, 1.0], 1.5), None);
        let same = ratio_interval(&[1.0, 1.0], &[1.0, 1.0], 0.95).unwrap();
        assert_eq!((same.low, same.high), (1.0, 1.0));
    }

    proptest! {
        #[test]
        fn swapping_the_samples_inverts_the_ratio(
            a in prop::collection::vec(-1.0..1.0, 2..12),
            b in prop::collection::vec(-1.0..1.0, 2..12),
        ) {
            if let (Some(r), Some(s)) = (ratio_interval(&a, &b, 0.9), ratio_interval(&b, &a, 0.9)) {
                prop_assert!((r.low * s.high - 1.0).abs() < 1e-9);
                prop_assert!((r.high * s.low - 1.0).abs() < 1e-9);
            }
        }
    }
}
