//! Several comparisons read as one claim.

use crate::interval::is_confidence;

/// Confidence for each of `comparisons` intervals so that all of them hold at once with probability
/// of at least `confidence`: 1 − (1 − confidence)/k (Bonferroni; no independence assumed). A family
/// of none or one needs no adjustment. `None` unless 0 < `confidence` < 1.
pub fn adjusted_confidence(confidence: f64, comparisons: usize) -> Option<f64> {
    let adjusted = 1.0 - (1.0 - confidence) / comparisons.max(1) as f64;
    // A family so large that nothing is left of the error budget cannot be served either.
    (is_confidence(confidence) && is_confidence(adjusted)).then_some(adjusted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_is_shared_out() {
        for (k, expected) in [(0, 0.95), (1, 0.95), (2, 0.975), (5, 0.99), (50, 0.999)] {
            assert!((adjusted_confidence(0.95, k).unwrap() - expected).abs() < 1e-12, "{k}");
        }
        for bad in [0.0, 1.0, -0.5, f64::NAN, f64::INFINITY] {
            assert_eq!(adjusted_confidence(bad, 3), None);
        }
    }
}
