//! From the series and histograms of a part to its rates, latencies and phases. What several clients did together is
//! such a part as well.

use plimsoll_model::{
    Flag, Job, Length, Measure, Metric, OpKind, OpStats, PartResult, PartialCount, PointSpec,
    RateBasis,
};
use std::collections::BTreeMap;

/// Kinds that move payload.
const PAYLOAD: [OpKind; 4] = [OpKind::READ, OpKind::WRITE, OpKind::PUT, OpKind::GET];
/// Kinds that a final flush makes stable.
pub(crate) const WRITING: [OpKind; 2] = [OpKind::WRITE, OpKind::PUT];

/// Whether figures over all operations count a kind: of a job that moves payload, those that move it.
pub fn counts(job: &Job, kind: OpKind) -> bool {
    !job.moves_payload() || PAYLOAD.contains(&kind)
}

/// The figures that follow from the series, the histograms and the rate basis of a part; none without a basis. Also
/// whether the rate changed within the trial.
pub fn figures(
    job: &Job,
    spec: &PointSpec,
    part: &PartResult,
) -> (BTreeMap<Metric, f64>, Option<Flag>) {
    let mut figures = BTreeMap::new();
    let Some(basis) = &part.rate_basis else { return (figures, None) };
    let all: Vec<OpKind> = part.ops.keys().copied().filter(|kind| counts(job, *kind)).collect();
    add_kinds(&mut figures, None, &all, part, basis);
    for kind in job.kinds_apart() {
        add_kinds(&mut figures, Some(*kind), &[*kind], part, basis);
    }
    if let Length::UntilDone { .. } = spec.workload.length {
        figures.insert(Metric::all(Measure::ELAPSED), basis.length_seconds);
    }
    let phases = phases(job, spec, part, basis);
    if let Some(Flag::TwoPhases { burst_bytes_per_second, sustained_bytes_per_second, .. }) = phases
    {
        figures.insert(Metric::all(Measure::BURST_THROUGHPUT), burst_bytes_per_second);
        figures.insert(Metric::all(Measure::SUSTAINED_THROUGHPUT), sustained_bytes_per_second);
    }
    (figures, phases)
}

/// Rates and latencies of some kinds of operation together.
fn add_kinds(
    figures: &mut BTreeMap<Metric, f64>,
    name: Option<OpKind>,
    kinds: &[OpKind],
    part: &PartResult,
    basis: &RateBasis,
) {
    let (mut stats, mut done) = (OpStats::default(), PartialCount::default());
    for kind in kinds {
        part.ops.get(kind).into_iter().for_each(|more| stats.add(more));
        basis.done.get(kind).into_iter().for_each(|more| done.add(*more, 1.0));
    }
    let is_flushed = name.is_none_or(|kind| WRITING.contains(&kind));
    let seconds = basis.answered_seconds + if is_flushed { basis.flush_seconds } else { 0.0 };
    let mut put = |measure, value| {
        figures.insert(Metric { kind: name, measure }, value);
    };
    // From less than one operation no rate follows.
    if seconds > 0.0 && (stats.count > 0 || done.operations >= 1.0) {
        put(Measure::IOPS, done.operations / seconds);
        if done.bytes > 0.0 {
            put(Measure::THROUGHPUT, done.bytes / seconds);
        }
    }
    if stats.client_latency.histogram.is_none() {
        return;
    }
    stats.client_latency.figures().for_each(|(measure, value)| put(measure, value));
    if let Some(median) = stats.rpc_latency.and_then(|rpc| rpc.quantile("0.5")) {
        put(Measure::RPC_LATENCY_P50, median);
    }
}

/// A change point inside the trial is reported as burst and sustained phases, never averaged away.
fn phases(job: &Job, spec: &PointSpec, part: &PartResult, basis: &RateBasis) -> Option<Flag> {
    let Length::For { seconds, .. } = spec.workload.length else { return None };
    // A trial that was too short for an operation went on after its windows.
    let went_on = basis.from_seconds + basis.length_seconds > seconds + 1e-6;
    if !job.moves_payload() || job.has_fixed_rate() || went_on {
        return None;
    }
    let window = part.series.window_seconds;
    let first = (basis.from_seconds / window).ceil() as usize;
    let whole = (seconds / window).floor() as usize;
    let rates: Vec<f64> = (first..whole.min(part.series.len()))
        .map(|number| part.series.window(number).bytes() as f64 / window)
        .collect();
    let change = plimsoll_stats::change::find(&rates)?;
    Some(Flag::TwoPhases {
        at_seconds: (first + change.at) as f64 * window,
        burst_bytes_per_second: change.before,
        sustained_bytes_per_second: change.after,
    })
}
