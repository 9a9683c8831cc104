//! Latency histograms: recorded with [`hdrhistogram`], kept sparse.

use crate::LatencySummary;
use hdrhistogram::Histogram as Hdr;
use serde::{Deserialize, Serialize};

/// A sparse latency histogram as it is stored: `[lowest nanoseconds of the bucket, count]` pairs
/// in rising order. Buckets have two significant digits (at most 1% wide).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Histogram {
    /// (lowest value of the bucket in ns, count).
    pub buckets_ns: Vec<(u64, u64)>,
}

impl Histogram {
    /// Number of values recorded.
    pub fn count(&self) -> u64 {
        self.buckets_ns.iter().fold(0, |sum, b| sum.saturating_add(b.1))
    }
}

/// Quantiles that are printed where the data support them.
const QUANTILES: [(&str, f64); 6] = [
    ("0.5", 0.5),
    ("0.9", 0.9),
    ("0.95", 0.95),
    ("0.99", 0.99),
    ("0.999", 0.999),
    ("0.9999", 0.9999),
];

/// A quantile q is printed only if n(1-q) is at least this (method, section 5).
const TAIL_SUPPORT: f64 = 20.0;

impl From<&Hdr<u32>> for LatencySummary {
    /// Values of `live` are nanoseconds.
    fn from(live: &Hdr<u32>) -> Self {
        let n = live.len();
        if n == 0 {
            return LatencySummary::default();
        }
        let seconds = |ns: u64| ns as f64 / 1e9;
        let quantiles_seconds = QUANTILES
            .iter()
            .filter(|(_, q)| n as f64 * (1.0 - q) >= TAIL_SUPPORT - 1e-9)
            .map(|(name, q)| ((*name).to_owned(), seconds(live.value_at_quantile(*q))))
            .collect();
        LatencySummary {
            mean_seconds: live.mean() / 1e9,
            min_seconds: seconds(live.min()),
            max_seconds: seconds(live.max()),
            standard_deviation_seconds: None,
            quantiles_seconds,
            histogram: Some(Histogram { buckets_ns: two_digits(live) }),
        }
    }
}

/// Folds the live buckets into buckets of two significant digits, without a second histogram.
fn two_digits(live: &Hdr<u32>) -> Vec<(u64, u64)> {
    let mut out: Vec<(u64, u64)> = Vec::new();
    for step in live.iter_recorded() {
        let value = step.value_iterated_to();
        // 256 sub-buckets a power of two: the lowest value of the bucket that holds `value`.
        let shift = (64 - value.leading_zeros()).saturating_sub(8);
        let low = (value >> shift) << shift;
        let count = u64::from(step.count_at_value());
        match out.last_mut() {
            Some(last) if last.0 == low => last.1 += count,
            _ => out.push((low, count)),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_count_and_order_when_folded() {
        let mut live = Hdr::<u32>::new_with_bounds(1, 60_000_000_000, 3).unwrap();
        for i in 1..=10_000u64 {
            live.record(i * 997).unwrap();
        }
        let summary = LatencySummary::from(&live);
        let kept = summary.histogram.unwrap();
        assert_eq!(kept.count(), 10_000);
        assert!(kept.buckets_ns.windows(2).all(|w| w[0].0 < w[1].0));
        assert!((summary.quantiles_seconds["0.5"] / (5000.0 * 997e-9) - 1.0).abs() < 0.002);
    }

    #[test]
    fn unsupported_quantiles_are_absent() {
        let mut live = Hdr::<u32>::new_with_bounds(1, 1_000_000, 3).unwrap();
        for i in 1..=1999u64 {
            live.record(i).unwrap();
        }
        let few = LatencySummary::from(&live);
        assert!(!few.quantiles_seconds.contains_key("0.99"), "1999 x 1% is below 20");
        live.record(2000).unwrap();
        assert!(LatencySummary::from(&live).quantiles_seconds.contains_key("0.99"));
    }
}
