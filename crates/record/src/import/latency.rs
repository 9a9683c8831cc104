//! Latencies of several jobs as one.

use plimsoll_model::{Histogram, LatencySummary};
use std::collections::BTreeMap;

/// A distribution with its number of operations.
#[derive(Clone, Copy)]
pub(super) struct Counted<'a> {
    pub(super) operations: u64,
    pub(super) latency: &'a LatencySummary,
}

/// Merges two distributions. Mean and deviation are exact.
/// Quantiles of the parts do not determine quantiles of the whole, so they are left out unless both
/// distributions are complete (fio's `json+`); then they are computed as in fio.
pub(super) fn merged(a: Counted<'_>, b: Counted<'_>) -> LatencySummary {
    let (n, m) = (a.operations as f64, b.operations as f64);
    let (a, b) = (a.latency, b.latency);
    let all = (n + m).max(1.0);
    let apart = b.mean_seconds - a.mean_seconds;
    let deviation = |x: Option<f64>, y: Option<f64>| {
        // Chan, Golub, LeVeque, "Updating formulae", 1979: sums of squares about the means.
        let squares = |s: f64, n: f64| s * s * (n - 1.0).max(0.0);
        let sum = squares(x?, n) + squares(y?, m) + apart * apart * n * m / all;
        Some((sum / (all - 1.0).max(1.0)).sqrt())
    };
    let histogram = a.histogram.as_ref().zip(b.histogram.as_ref()).map(|(a, b)| together(a, b));
    LatencySummary {
        mean_seconds: a.mean_seconds + apart * m / all,
        min_seconds: a.min_seconds.min(b.min_seconds),
        max_seconds: a.max_seconds.max(b.max_seconds),
        standard_deviation_seconds: deviation(
            a.standard_deviation_seconds,
            b.standard_deviation_seconds,
        ),
        quantiles_seconds: match &histogram {
            Some(whole) => quantiles(whole, a.quantiles_seconds.keys()),
            None => BTreeMap::new(),
        },
        histogram,
    }
}

fn together(a: &Histogram, b: &Histogram) -> Histogram {
    let mut sum: BTreeMap<u64, u64> = BTreeMap::new();
    for (ns, count) in a.buckets_ns.iter().chain(&b.buckets_ns) {
        let total = sum.entry(*ns).or_default();
        *total = total.saturating_add(*count);
    }
    Histogram { buckets_ns: sum.into_iter().collect() }
}

/// fio's own rule: the first bucket at which the running sum reaches the share.
fn quantiles<'a>(
    whole: &Histogram,
    names: impl Iterator<Item = &'a String>,
) -> BTreeMap<String, f64> {
    let count = whole.count() as f64;
    let quantile = |name: &String| {
        let wanted = name.parse::<f64>().ok()? * count;
        let mut sum = 0.0;
        let reached = whole.buckets_ns.iter().find(|(_, n)| {
            sum += *n as f64;
            sum >= wanted
        });
        Some((name.clone(), reached?.0 as f64 / 1e9))
    };
    names.filter_map(quantile).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(values: &[u64], bins: bool) -> LatencySummary {
        let n = values.len() as f64;
        let mean = values.iter().sum::<u64>() as f64 / n;
        let squares: f64 = values.iter().map(|v| (*v as f64 - mean).powi(2)).sum();
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        LatencySummary {
            mean_seconds: mean / 1e9,
            min_seconds: sorted[0] as f64 / 1e9,
            max_seconds: sorted[sorted.len() - 1] as f64 / 1e9,
            standard_deviation_seconds: Some((squares / (n - 1.0)).sqrt() / 1e9),
            quantiles_seconds: [("0.5".to_owned(), sorted[(sorted.len() - 1) / 2] as f64 / 1e9)]
                .into(),
            histogram: bins
                .then(|| Histogram { buckets_ns: sorted.iter().map(|v| (*v, 1)).collect() }),
        }
    }

    #[test]
    fn jobs_merge_as_if_they_had_been_one() {
        let (a, b) = ([100, 300, 800, 950], [120, 4000]);
        let whole = summary(&[100, 300, 800, 950, 120, 4000], true);
        let close = |x: f64, y: f64| assert!((x - y).abs() <= 1e-9 * y, "{x} {y}");
        for bins in [true, false] {
            let (four, two) = (summary(&a, bins), summary(&b, bins));
            let merged = merged(
                Counted { operations: 4, latency: &four },
                Counted { operations: 2, latency: &two },
            );
            close(merged.mean_seconds, whole.mean_seconds);
            close(
                merged.standard_deviation_seconds.unwrap(),
                whole.standard_deviation_seconds.unwrap(),
            );
            assert_eq!(merged.min_seconds, whole.min_seconds);
            assert_eq!(merged.max_seconds, whole.max_seconds);
            assert_eq!(merged.histogram, whole.histogram.clone().filter(|_| bins));
            assert_eq!(merged.quantile("0.5"), whole.quantile("0.5").filter(|_| bins));
        }
    }
}
