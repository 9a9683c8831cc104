//! Which quantiles a block's operations can support.

/// Operations that must lie beyond a quantile for it to be printed.
const BEYOND: f64 = 20.0;

/// Whether `count` operations in a block support the quantile `q` (0.99 for p99): n·(1 − q) ≥ 20,
/// so p50 from 40 operations, p99 from 2,000, p99.9 from 20,000. False for a `q` outside [0, 1).
pub fn is_supported(count: u64, q: f64) -> bool {
    // 1 − 0.99 is a little above 0.01, 1 − 0.999 a little below 0.001: allow for rounding.
    (0.0..1.0).contains(&q) && count as f64 * (1.0 - q) >= BEYOND * (1.0 - 1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twenty_beyond() {
        for (q, fewest) in [(0.0, 20), (0.5, 40), (0.95, 400), (0.99, 2_000), (0.999, 20_000)] {
            assert!(is_supported(fewest, q), "{q}");
            assert!(!is_supported(fewest - 1, q), "{q}");
        }
        for q in [1.0, -0.1, f64::NAN] {
            assert!(!is_supported(u64::MAX, q));
        }
    }
}
