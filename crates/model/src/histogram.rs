//! Latency histograms: recorded with [`hdrhistogram`], kept sparse.

use crate::LatencySummary;
use hdrhistogram::Histogram as Hdr;
use serde::{Deserialize, Serialize};

/// Stored form of a sparse latency histogram: `[lowest nanoseconds of the bucket, count]` pairs in
/// ascending order. Buckets have two significant digits (at most 1% wide).
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

impl Histogram {
    /// Adds what another one recorded.
    pub fn add(&mut self, other: &Histogram) {
        let mut all: std::collections::BTreeMap<u64, u64> = self.buckets_ns.drain(..).collect();
        for (low, count) in &other.buckets_ns {
            let sum = all.entry(*low).or_default();
            *sum = sum.saturating_add(*count);
        }
        self.buckets_ns = all.into_iter().collect();
    }

    /// Mean of the lowest values, as many as this share of all, in seconds; `None` without values. Each value stands in
    /// the middle of its bucket.
    pub fn trimmed_mean_seconds(&self, share: f64) -> Option<f64> {
        let kept = (share * self.count() as f64).ceil() as u64;
        let (mut left, mut sum_ns) = (kept, 0.0);
        for (low, count) in &self.buckets_ns {
            let taken = left.min(*count);
            let half = ((1_u64 << width(*low)) - 1) as f64 / 2.0;
            sum_ns += taken as f64 * (*low as f64 + half);
            left -= taken;
        }
        (kept > 0).then(|| sum_ns / kept as f64 / 1e9)
    }

    /// The value below or at which this share of the values lies, in nanoseconds: the highest of its
    /// bucket, as where values are recorded.
    fn quantile_ns(&self, quantile: f64) -> u64 {
        let rank = (quantile * self.count() as f64).ceil().max(1.0) as u64;
        let mut below = 0_u64;
        for (low, count) in &self.buckets_ns {
            below = below.saturating_add(*count);
            if below >= rank {
                return low.saturating_add((1 << width(*low)) - 1);
            }
        }
        0
    }
}

/// The two logarithm of the width of the bucket that holds a value: 256 of them in a power of two.
fn width(value: u64) -> u32 {
    (64 - value.leading_zeros()).saturating_sub(8)
}

/// Which of the quantiles the data support, of so many values, each in seconds.
fn supported(n: u64, seconds: impl Fn(f64) -> f64) -> std::collections::BTreeMap<String, f64> {
    let supported = QUANTILES.iter().filter(|(_, q)| n as f64 * (1.0 - q) >= TAIL_SUPPORT - 1e-9);
    supported.map(|(name, q)| ((*name).to_owned(), seconds(*q))).collect()
}

impl LatencySummary {
    /// Summary of a distribution that another program recorded: the longest time of each bucket in nanoseconds, in
    /// ascending order, and its count. Its buckets are kept as wide as those of [`Histogram`].
    pub fn of_buckets(buckets: &[(u64, u64)], sum_ns: f64, least_ns: u64, most_ns: u64) -> Self {
        let mut histogram = Histogram::default();
        for (longest, count) in buckets {
            let low = (longest >> width(*longest)) << width(*longest);
            match histogram.buckets_ns.last_mut() {
                Some(last) if last.0 >= low => last.1 = last.1.saturating_add(*count),
                _ => histogram.buckets_ns.push((low, *count)),
            }
        }
        let count = histogram.count();
        if count == 0 {
            return LatencySummary::default();
        }
        let (least, most) = (least_ns.min(most_ns) as f64 / 1e9, most_ns as f64 / 1e9);
        let seconds = |q| (histogram.quantile_ns(q) as f64 / 1e9).min(most).max(least);
        LatencySummary {
            mean_seconds: sum_ns / count as f64 / 1e9,
            min_seconds: least,
            max_seconds: most,
            standard_deviation_seconds: None,
            quantiles_seconds: supported(count, seconds),
            histogram: Some(histogram),
        }
    }

    /// Adds another summary; both have a histogram. The quantiles then come from the buckets, which
    /// are at most 1% wide.
    pub fn add(&mut self, other: &LatencySummary) {
        let (Some(mine), Some(more)) = (&mut self.histogram, &other.histogram) else {
            if self.histogram.is_none() {
                *self = other.clone();
            }
            return;
        };
        let (n, m) = (mine.count() as f64, more.count() as f64);
        mine.add(more);
        self.mean_seconds = (self.mean_seconds * n + other.mean_seconds * m) / (n + m).max(1.0);
        self.min_seconds = self.min_seconds.min(other.min_seconds);
        self.max_seconds = self.max_seconds.max(other.max_seconds);
        self.standard_deviation_seconds = None;
        let (least, most) = (self.min_seconds, self.max_seconds);
        let seconds = |q| (mine.quantile_ns(q) as f64 / 1e9).min(most).max(least);
        self.quantiles_seconds = supported(mine.count(), seconds);
    }
}

impl From<&Hdr<u32>> for LatencySummary {
    /// Values of `live` are nanoseconds.
    fn from(live: &Hdr<u32>) -> Self {
        let n = live.len();
        if n == 0 {
            return LatencySummary::default();
        }
        let seconds = |ns: u64| ns as f64 / 1e9;
        let quantiles_seconds = supported(n, |q| seconds(live.value_at_quantile(q)));
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
        // The lowest value of the bucket that holds it.
        let low = (value >> width(value)) << width(value);
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
    use proptest::prelude::*;

    proptest! {
        /// Two halves added up equal one whole recording.
        #[test]
        fn two_summaries_add_up_to_that_of_the_whole(
            halves in prop::array::uniform2(prop::collection::vec(1_u64..1 << 36, 0..300)),
        ) {
            let live = |values: &mut dyn Iterator<Item = u64>| {
                let mut live = Hdr::<u32>::new_with_bounds(1, 1 << 40, 3).unwrap();
                values.for_each(|value| live.record(value).unwrap());
                LatencySummary::from(&live)
            };
            let mut sum = live(&mut halves[0].iter().copied());
            sum.add(&live(&mut halves[1].iter().copied()));
            let whole = live(&mut halves.concat().into_iter());
            prop_assert_eq!(&sum.histogram, &whole.histogram);
            prop_assert_eq!(sum.min_seconds, whole.min_seconds);
            prop_assert_eq!(sum.max_seconds, whole.max_seconds);
            prop_assert!((sum.mean_seconds - whole.mean_seconds).abs() <= 1e-9 * whole.mean_seconds);
            let names = |summary: &LatencySummary| {
                summary.quantiles_seconds.keys().cloned().collect::<Vec<_>>()
            };
            prop_assert_eq!(names(&sum), names(&whole));
            for (name, value) in &whole.quantiles_seconds {
                let added = sum.quantile(name).unwrap();
                prop_assert!((added / value - 1.0).abs() < 0.01, "{} {} {}", name, added, value);
            }
        }
    }

    #[test]
    fn buckets_of_another_program_are_kept() {
        let buckets = [(1_000, 30), (1_001, 10), (2_000_000, 60)];
        let summary = LatencySummary::of_buckets(&buckets, 120e6, 900, 1_900_000);
        let near = |value: f64, expected: f64| (value / expected - 1.0).abs() < 0.01;
        assert!(near(summary.mean_seconds, 1.2e-3), "{summary:?}");
        assert_eq!((summary.min_seconds, summary.max_seconds), (900e-9, 1.9e-3));
        assert_eq!(summary.quantile("0.5"), Some(1.9e-3), "no longer than the longest");
        assert_eq!(summary.quantile("0.9"), None, "100 x 10% is below 20");
        assert_eq!(summary.histogram.unwrap().count(), 100);
        // What contradicts itself makes no panic.
        LatencySummary::of_buckets(&[(u64::MAX, u64::MAX), (5, u64::MAX)], f64::NAN, 9, 1);
        assert_eq!(LatencySummary::of_buckets(&[], 1.0, 1, 1), LatencySummary::default());
    }

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

    #[test]
    fn the_longest_times_are_trimmed() {
        let ms = 1_000_000_u64;
        let many = LatencySummary::of_buckets(&[(ms, 19), (900 * ms, 1)], 0.0, ms, 900 * ms);
        let histogram = many.histogram.unwrap();
        let mean = |share| histogram.trimmed_mean_seconds(share).unwrap();
        assert!((mean(0.95) - 0.001).abs() < 1e-5, "{}", mean(0.95));
        assert!((mean(1.0) - 0.046).abs() < 1e-3, "{}", mean(1.0));
        assert_eq!(Histogram::default().trimmed_mean_seconds(0.95), None);
    }
}
