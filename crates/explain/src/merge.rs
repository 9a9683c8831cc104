//! Quantiles need more operations than a short trial has: consecutive trials are merged until there are
//! enough, and each group is then one value.

use plimsoll_model::{LatencySummary, Measure, Metric, OpKind, PartResult, Plan};

/// Which quantile of which latency a measure is.
fn quantile(measure: Measure) -> Option<(&'static str, bool)> {
    match measure {
        Measure::LATENCY_P50 => Some(("0.5", false)),
        Measure::LATENCY_P99 => Some(("0.99", false)),
        Measure::RPC_LATENCY_P50 => Some(("0.5", true)),
        _ => None,
    }
}

/// Whether a comparison of the plan is of quantiles, which are made of the distributions of several trials.
pub fn compares_quantiles(plan: &Plan) -> bool {
    let compared = plan.contrasts.iter().flat_map(|contrast| [contrast.of, contrast.against]);
    compared.into_iter().any(|side| quantile(side.metric.measure).is_some())
}

/// Kinds that move payload: where there are any, latencies of all operations are theirs.
const PAYLOAD: [OpKind; 4] = [OpKind::READ, OpKind::WRITE, OpKind::PUT, OpKind::GET];

/// The latencies that a metric is a quantile of, in one trial.
fn latencies(part: &PartResult, kind: Option<OpKind>, rpc: bool) -> Option<LatencySummary> {
    let moves = part.ops.keys().any(|kind| PAYLOAD.contains(kind));
    let counts = |of: &OpKind| match kind {
        Some(kind) => *of == kind,
        None => !moves || PAYLOAD.contains(of),
    };
    let of_kinds =
        part.ops.iter().filter(|(of, _)| counts(of)).filter_map(|(_, stats)| match rpc {
            true => stats.rpc_latency.clone(),
            false => Some(stats.client_latency.clone()),
        });
    let with_histogram = of_kinds.filter(|summary| summary.histogram.is_some());
    with_histogram.reduce(|mut all, more| {
        all.add(&more);
        all
    })
}

/// Quantiles that trials together may have, though none may have them by itself.
pub(crate) fn quantiles_of(metrics: &[Metric], parts: &[&PartResult]) -> Vec<Metric> {
    let rpc = parts.iter().flat_map(|part| part.ops.values()).any(|of| of.rpc_latency.is_some());
    let means = metrics.iter().filter(|metric| metric.measure == Measure::LATENCY_MEAN);
    let of_mean = |mean: &Metric| {
        let measures = [Measure::LATENCY_P50, Measure::LATENCY_P99, Measure::RPC_LATENCY_P50];
        let there = measures.into_iter().filter(|m| rpc || *m != Measure::RPC_LATENCY_P50);
        there.map(|measure| Metric { measure, ..*mean }).collect::<Vec<_>>()
    };
    means.flat_map(of_mean).collect()
}

/// The values of a quantile, one for each group of consecutive trials that has enough operations on all
/// sides; each item is one trial of each side. `None` where the metric is no quantile, where every trial
/// has it by itself, or where the distributions were not kept. What is left over at the end is too little,
/// and is no value.
pub(crate) fn merged<const SIDES: usize>(
    metric: Metric,
    trials: &[[&PartResult; SIDES]],
) -> Option<Vec<[f64; SIDES]>> {
    let (name, rpc) = quantile(metric.measure)?;
    let has = |part: &&PartResult| part.quantities.contains_key(&metric);
    if trials.iter().flatten().all(has) {
        return None;
    }
    let mut values = Vec::new();
    let mut group: Option<[LatencySummary; SIDES]> = None;
    for parts in trials {
        let mut of_trial = Vec::with_capacity(SIDES);
        for part in parts {
            of_trial.push(latencies(part, metric.kind, rpc)?);
        }
        match &mut group {
            None => group = of_trial.try_into().ok(),
            Some(group) => group.iter_mut().zip(&of_trial).for_each(|(all, more)| all.add(more)),
        }
        let found = group.as_ref().map(|group| group.each_ref().map(|side| side.quantile(name)));
        if let Some(found) = found
            && found.iter().all(Option::is_some)
        {
            values.push(found.map(Option::unwrap_or_default));
            group = None;
        }
    }
    // One alone has no interval, and how far off it may be would not show.
    if values.len() < 2 {
        values.clear();
    }
    Some(values)
}
