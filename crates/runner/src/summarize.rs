//! From what a team of workers did to the figures of a trial: one number per metric.

use plimsoll_load::{Ended, Kind, Measured, TeamResult};
use plimsoll_model::{
    Cause, Failure, Flag, LatencySummary, Measure, Metric, OpKind, OpStats, Outcome, Phase, Series,
    Side, TrialResult, TrialSpec, Window,
};
use plimsoll_stats::little::{Completed, InFlight};
use std::collections::BTreeMap;
use std::time::Duration;

/// What driving one operation costs the client itself, in seconds: below 5% of the response time
/// the in-flight check is strict (method, section 4).
const DRIVER_SECONDS: f64 = 200e-9;
/// A gap is worth a word if it is this long and this share of the trial.
const LONG_GAP_SECONDS: f64 = 1.0;
const LONG_GAP_SHARE: f64 = 0.2;
/// Fewer operations than this make a rate of poor resolution.
const FEW_OPERATIONS: u64 = 20;

pub(crate) fn result(team: &TeamResult, spec: &TrialSpec, given: &str) -> TrialResult {
    let measured = team.measured(warm_up(team, spec));
    let mut result = TrialResult {
        outcome: outcome(team, &measured, given),
        quantities: BTreeMap::new(),
        ops: ops(team, &measured),
        series: Series { window_seconds: spec.window_seconds, windows: team.windows.clone() },
        flags: flags(team, &measured),
    };
    if result.outcome == Outcome::Complete {
        result.quantities = quantities(team, &measured, spec);
        phases(spec, &measured, &mut result);
    }
    result
}

/// What is cut from the start: by MSER-5 where there are enough windows, else the fixed time.
fn warm_up(team: &TeamResult, spec: &TrialSpec) -> Duration {
    let rates: Vec<f64> = team.windows.iter().map(|w| w.bytes() as f64).collect();
    match plimsoll_stats::warm_up::mser_5(&rates) {
        Some(windows) => Duration::from_secs_f64(windows as f64 * spec.window_seconds),
        None => Duration::from_secs_f64(spec.warm_up_seconds.max(0.0)),
    }
}

fn outcome(team: &TeamResult, measured: &Measured, given: &str) -> Outcome {
    let failed = |failure| Outcome::Failed { phase: Phase::Measure.to_string(), failure };
    match (&team.ended, &team.first_error) {
        (Ended::Failed(error), _) => {
            failed(plimsoll_load::failure("finish the trial", given.to_owned(), error))
        }
        (Ended::Stopped, _) => Outcome::Stopped,
        (Ended::Complete, Some(error)) if error.kind.is_content() => {
            failed(bad_content(given, format!("{}: {}", error.kind, error.detail)))
        }
        (Ended::Complete, Some(error)) => {
            failed(plimsoll_load::failure("finish the trial", given.to_owned(), error))
        }
        (Ended::Complete, None) if measured.kinds.is_empty() => failed(Failure::new(
            Cause::Trial,
            "finish the trial",
            given,
            format!("no operation completed within {:.1} s", measured.length.as_secs_f64()),
            "Lengthen --time, or look why the target is so slow.",
        )),
        (Ended::Complete, None) => Outcome::Complete,
    }
}

/// The failure of a check of content.
pub(crate) fn bad_content(given: &str, first: String) -> Failure {
    Failure::new(
        Cause::Trial,
        "read back what was written",
        given,
        first,
        "Do not trust this storage with data before its memory, disks and network are checked.",
    )
}

fn ops(team: &TeamResult, measured: &Measured) -> BTreeMap<OpKind, OpStats> {
    let mut ops: BTreeMap<OpKind, OpStats> =
        measured.kinds.iter().map(|(kind, k)| (*kind, k.stats())).collect();
    for (kind, errors) in &team.errors {
        ops.entry(*kind).or_default().errors = errors.clone();
    }
    ops
}

fn quantities(team: &TeamResult, measured: &Measured, spec: &TrialSpec) -> BTreeMap<Metric, f64> {
    let mut q = BTreeMap::new();
    let seconds = measured.length.as_secs_f64().max(1e-9);
    let flush = flush_seconds(team, measured);
    let reads = measured.kinds.get(&OpKind::Read);
    let writes = measured.kinds.get(&OpKind::Write);
    let both = both(reads, writes);
    let mut side = |side: Side, kind: &Kind, seconds: f64| {
        let mut put = |measure, value| q.insert(Metric::of(side, measure), value);
        put(Measure::Iops, kind.operations as f64 / seconds);
        put(Measure::Throughput, kind.bytes as f64 / seconds);
        let client = LatencySummary::from(&kind.client);
        put(Measure::LatencyMean, client.mean_seconds);
        put(Measure::LatencyMax, client.max_seconds);
        for (measure, name) in [(Measure::LatencyP50, "0.5"), (Measure::LatencyP99, "0.99")] {
            if let Some(value) = client.quantile(name) {
                put(measure, value);
            }
        }
        let rpc = kind.rpc.as_ref().map(LatencySummary::from);
        if let Some(value) = rpc.and_then(|rpc| rpc.quantile("0.5")) {
            put(Measure::RpcLatencyP50, value);
        }
    };
    if let Some(all) = &both {
        side(Side::All, all, seconds + flush);
    }
    if let (Some(reads), Some(writes)) = (reads, writes) {
        side(Side::Read, reads, seconds);
        side(Side::Write, writes, seconds + flush);
    }
    q.insert(Metric::all(Measure::LongestGap), measured.longest_gap.as_secs_f64());
    q.insert(Metric::all(Measure::InFlight), measured.in_flight);
    if let Some(flush) = team.flush.filter(|_| spec.workload.pattern.writes()) {
        q.insert(Metric::all(Measure::FlushTime), flush.as_secs_f64());
    }
    let ops = team.total.read_ops + team.total.write_ops;
    let cpu = team.cpu.as_secs_f64();
    if ops > 0 {
        q.insert(Metric::all(Measure::ClientCpuPerOp), cpu / ops as f64);
        q.insert(Metric::all(Measure::ClientCpuPerByte), cpu / team.total.bytes().max(1) as f64);
    }
    q
}

/// The measured part's share of the final flush, in seconds: the flush made everything stable that
/// was written from the start on, so it is charged by the share of the writes.
fn flush_seconds(team: &TeamResult, measured: &Measured) -> f64 {
    let writes = measured.kinds.get(&OpKind::Write).map_or(0, |k| k.operations);
    let share = writes as f64 / team.total.write_ops.max(1) as f64;
    team.flush.unwrap_or_default().as_secs_f64() * share
}

fn both(reads: Option<&Kind>, writes: Option<&Kind>) -> Option<Kind> {
    let copy = |k: &Kind| Kind {
        operations: k.operations,
        bytes: k.bytes,
        client: k.client.clone(),
        rpc: k.rpc.clone(),
    };
    let mut all = copy(reads.or(writes)?);
    if let (Some(_), Some(writes)) = (reads, writes) {
        all.operations += writes.operations;
        all.bytes += writes.bytes;
        // Bounds are equal everywhere: adding cannot fail.
        let _ = all.client.add(&writes.client);
        if let (Some(all), Some(rpc)) = (&mut all.rpc, &writes.rpc) {
            let _ = all.add(rpc);
        }
    }
    Some(all)
}

fn flags(team: &TeamResult, measured: &Measured) -> Vec<Flag> {
    let mut flags = Vec::new();
    let seconds = measured.length.as_secs_f64().max(1e-9);
    let completed: Vec<Completed> = measured
        .kinds
        .values()
        .map(|k| Completed {
            per_second: k.operations as f64 / seconds,
            mean_seconds: k.client.mean() / 1e9,
        })
        .collect();
    let operations: u64 = measured.kinds.values().map(|k| k.operations).sum();
    let response = completed.iter().map(|c| c.per_second * c.mean_seconds).sum::<f64>() * seconds
        / operations.max(1) as f64;
    // Operations that straddle the ends of the measured part are in one side of the comparison
    // alone: where the slowest is long against it, nothing can be said.
    let slowest = measured.kinds.values().map(|k| k.client.max()).max().unwrap_or(0) as f64 / 1e9;
    if let Some(check) = InFlight::compare(measured.in_flight, &completed)
        && slowest < plimsoll_stats::little::TOLERANCE * seconds
        && check.is_suspect(false, DRIVER_SECONDS / response.max(1e-12))
    {
        flags.push(Flag::InFlightMismatch {
            integrated: check.integrated,
            by_littles_law: check.by_littles_law,
        });
    }
    let gap = measured.longest_gap.as_secs_f64();
    if gap > LONG_GAP_SECONDS && gap > LONG_GAP_SHARE * seconds {
        flags.push(Flag::LongGap { seconds: gap });
    }
    if team.ended == Ended::Complete && operations < FEW_OPERATIONS {
        flags.push(Flag::FewOperations { count: operations });
    }
    flags
}

/// A change point inside the trial is told as burst and sustained phases, never averaged away.
fn phases(spec: &TrialSpec, measured: &Measured, result: &mut TrialResult) {
    let first = (measured.from.as_secs_f64() / spec.window_seconds).ceil() as usize;
    let whole = (spec.seconds / spec.window_seconds).floor() as usize;
    let windows: &[Window] = &result.series.windows;
    let windows = windows.get(first..whole.min(windows.len())).unwrap_or_default();
    let rates: Vec<f64> = windows.iter().map(|w| w.bytes() as f64 / spec.window_seconds).collect();
    let Some(change) = plimsoll_stats::change::find(&rates) else { return };
    let quantities = &mut result.quantities;
    quantities.insert(Metric::all(Measure::BurstThroughput), change.before);
    quantities.insert(Metric::all(Measure::SustainedThroughput), change.after);
    result.flags.push(Flag::TwoPhases {
        at_seconds: (first + change.at) as f64 * spec.window_seconds,
        burst_bytes_per_second: change.before,
        sustained_bytes_per_second: change.after,
    });
}
