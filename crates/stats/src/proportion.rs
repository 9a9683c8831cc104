//! How surely a count says what share it is of.

use crate::interval::Interval;
use statrs::distribution::{Beta, ContinuousCDF};

/// The share that `count` of `of` is, with the exact interval of Clopper and Pearson (1934, Biometrika
/// 26, 404–413). `None` for none of none, for more than all, and for a confidence outside (0, 1).
pub fn share(count: u32, of: u32, confidence: f64) -> Option<Interval> {
    if of == 0 || count > of || !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let (k, n, tail) = (f64::from(count), f64::from(of), (1.0 - confidence) / 2.0);
    let quantile = |a: f64, b: f64, p: f64| Some(Beta::new(a, b).ok()?.inverse_cdf(p));
    let low = if count == 0 { 0.0 } else { quantile(k, n - k + 1.0, tail)? };
    let high = if count == of { 1.0 } else { quantile(k + 1.0, n - k, 1.0 - tail)? };
    Some(Interval { low, estimate: k / n, high })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_in_tables() {
        for (count, of, low, high) in
            [(0, 100, 0.0, 0.036_217), (5, 100, 0.016_432, 0.112_835), (100, 100, 0.963_783, 1.0)]
        {
            let found = share(count, of, 0.95).unwrap();
            let near = |a: f64, b: f64| (a - b).abs() < 2e-5;
            assert!(near(found.low, low) && near(found.high, high), "{count} of {of}: {found:?}");
            assert!(near(found.estimate, f64::from(count) / f64::from(of)));
        }
        for (count, of, confidence) in [(0, 0, 0.95), (3, 2, 0.95), (1, 2, 0.0), (1, 2, 1.0)] {
            assert_eq!(share(count, of, confidence), None);
        }
    }
}
