//! Latency as a quantile curve, as far as the data reach.

use super::common::{MOST_LINES, lined};
use super::over_time::complete;
use crate::chart::{Axis, Curve, Quantiles, TIME};
use crate::document::Figure;
use crate::names;
use crate::study::Shown;
use crate::text::capital;
use plimsoll_explain::WorkloadFindings;
use plimsoll_model::{OpKind, Trial};
use std::collections::{BTreeMap, BTreeSet};

/// A quantile q is shown only if n(1-q) is at least this in every block (method, section 5).
const TAIL_SUPPORT: f64 = 20.0;
/// What lies above the quantiles of a curve, in tenths of each tenfold of rarity.
const ABOVE: [f64; 8] = [10.0, 8.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.5];

pub(super) fn figure(
    shown: &Shown<'_>,
    found: &WorkloadFindings,
    id: String,
    name: &str,
) -> Option<Figure> {
    let part = found.workload.headline_part();
    let (cells, only) = lined(found);
    let cells: Vec<_> = cells.map(|c| (c.cell, complete(shown, c.cell))).collect();
    let every = cells.iter().flat_map(|(_, trials)| trials).filter_map(|t| t.result.part(part));
    let kinds: BTreeSet<OpKind> = every.flat_map(|p| p.ops.keys().copied()).collect();
    let mut kinds: Vec<(OpKind, Vec<_>)> = kinds
        .into_iter()
        .map(|kind| (kind, cells.iter().map(|(_, trials)| curve(trials, part, kind)).collect()))
        .collect();
    kinds.retain(|(_, curves): &(OpKind, Vec<Vec<_>>)| curves.iter().any(|c| !c.is_empty()));
    let (count, several) = (kinds.len(), kinds.len() > 1);
    let mut curves = Vec::new();
    for (row, (cell, _)) in cells.iter().enumerate() {
        let (name, place) = (shown.names.setup(*cell), shown.names.place(*cell));
        for (number, (kind, of_kind)) in kinds.iter_mut().enumerate() {
            let points = std::mem::take(&mut of_kind[row]);
            if !points.is_empty() {
                let label = match several {
                    true => format!("{name}, {}", names::operations(*kind)),
                    false => name.clone(),
                };
                curves.push(Curve { label, series: count * place + number, points });
            }
        }
    }
    curves.truncate(2 * MOST_LINES);
    let caption = format!(
        "All blocks together, from submission to completion. The mark at the end is the largest quantile \
         that each block supports alone.{only}"
    );
    let chart = Quantiles {
        title: format!("{}: latency", capital(name)),
        description: caption.clone(),
        y: Axis::new("latency", TIME),
        curves,
    };
    (!chart.curves.is_empty()).then(|| Figure::new(id, Box::new(chart), caption))
}

/// Quantiles of the pooled histograms, up to what the trial with the fewest operations supports.
fn curve(trials: &[&Trial], part: u16, kind: OpKind) -> Vec<(f64, f64)> {
    let histograms = || {
        let stats = trials.iter().filter_map(|t| t.result.part(part)?.ops.get(&kind));
        stats.filter_map(|stats| stats.client_latency.histogram.as_ref())
    };
    let fewest = histograms().map(|h| h.count()).filter(|n| *n > 0).min().unwrap_or(0);
    let rarest = fewest as f64 / TAIL_SUPPORT;
    if rarest < 1.0 {
        return Vec::new();
    }
    let mut pooled: BTreeMap<u64, u64> = BTreeMap::new();
    for (nanoseconds, count) in histograms().flat_map(|h| &h.buckets_ns) {
        let sum = pooled.entry(*nanoseconds).or_default();
        *sum = sum.saturating_add(*count);
    }
    at(&pooled, supported(rarest).into_iter())
}

/// Round quantiles up to the last that leaves one in `rarest` above it: 0%, 20%, 40%, 50% … 90%,
/// 92% …
fn supported(rarest: f64) -> Vec<f64> {
    let mut quantiles = Vec::new();
    let mut decade = 0.1;
    while 10.0 * decade * rarest >= 1.0 {
        let rest = ABOVE.iter().map(|share| share * decade);
        quantiles.extend(rest.filter(|rest| rest * rarest >= 1.0).map(|rest| 1.0 - rest));
        decade /= 10.0;
    }
    // The very last, its rest rounded up to two digits.
    let decade = 10f64.powf(-rarest.log10().ceil() - 1.0);
    let last = 1.0 - (1.0 / rarest / decade).ceil() * decade;
    if quantiles.last().is_some_and(|q| *q < last) {
        quantiles.push(last);
    }
    quantiles
}

/// The values at these ascending quantiles, in seconds.
fn at(pooled: &BTreeMap<u64, u64>, quantiles: impl Iterator<Item = f64>) -> Vec<(f64, f64)> {
    let all = pooled.values().fold(0u64, |sum, n| sum.saturating_add(*n));
    let mut buckets = pooled.iter();
    let (mut below, mut value) = (0u64, 0u64);
    let mut points = Vec::new();
    for quantile in quantiles {
        let wanted = (quantile * all as f64).max(1.0);
        while (below as f64) < wanted {
            let Some((nanoseconds, count)) = buckets.next() else { break };
            (below, value) = (below.saturating_add(*count), *nanoseconds);
        }
        points.push((quantile, value as f64 / 1e9));
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_round_and_end_where_the_data_do() {
        let shown = |rarest| {
            let all: Vec<String> = supported(rarest).iter().map(|q| format!("{:.5}", q)).collect();
            all.iter()
                .map(|q| q.trim_end_matches('0').trim_end_matches('.'))
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(shown(1.0), "0");
        assert_eq!(shown(10.0), "0 0.2 0.4 0.5 0.6 0.7 0.8 0.85 0.9");
        assert_eq!(
            shown(130.0),
            "0 0.2 0.4 0.5 0.6 0.7 0.8 0.85 0.9 0.92 0.94 0.95 0.96 0.97 0.98 0.985 0.99 0.992 0.9923"
        );
        assert_eq!(shown(0.5), "");
    }

    #[test]
    fn quantiles_by_hand() {
        // 1..=100 µs, one of each.
        let pooled: BTreeMap<u64, u64> = (1..=100).map(|i| (i * 1000, 1)).collect();
        let found = at(&pooled, [0.0, 0.5, 0.99].into_iter());
        assert_eq!(found, [(0.0, 1e-6), (0.5, 50e-6), (0.99, 99e-6)]);
        assert_eq!(at(&BTreeMap::new(), [0.5].into_iter()), [(0.5, 0.0)]);
    }
}
