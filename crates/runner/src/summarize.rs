//! From what a team of workers did to the figures of one part of a point: one number per metric.

use crate::figures::{WRITING, counts, figures};
use plimsoll_load::{Counted, Ended, KindFigures, Measured, Stalled, TeamResult};
use plimsoll_model::units::elapsed;
use plimsoll_model::{
    Arrival, Cause, CopyJob, Count, Failure, Flag, Job, Length, Measure, Metric, OpKind, OpStats,
    Outcome, Part, PartResult, PartialCount, Phase, PointSpec, RateBasis, Series, VoidReason,
    Window,
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
/// Fewer operations than this make a rate of poor resolution. Those that cross the ends of a trial count
/// by their shares, so that it need not be many.
const FEW_OPERATIONS: u64 = 5;

/// Share of what was due at a fixed rate that may be left undone. Chosen: it is more than what is in flight at the end.
const BEHIND: f64 = 0.02;
/// Share of a trial by which the load generator may be late. Chosen: shorter pauses of the machine pass for the target's.
const LATE_GENERATOR: f64 = 0.2;
/// Share of what the client can do from which a copy may be limited by it. Chosen.
const NEAR_CEILING: f64 = 0.8;

/// What one part did, how it ended, and what is odd about it.
pub(crate) fn part(
    team: &TeamResult,
    part: &Part,
    counted: Counted,
    spec: &PointSpec,
    given: &str,
) -> (PartResult, Outcome, Vec<Flag>) {
    let job = &part.job;
    let mut measured = team.measured(warm_up(&team.windows, job, spec, !team.stalls.is_empty()));
    let for_a_time = matches!(spec.workload.length, Length::For { .. });
    let is_open_loop = part.arrival.per_second().is_some();
    if is_open_loop {
        open_loop(team, &mut measured);
    }
    // A trial that is too short for a single operation goes on until those that are in flight have ended.
    let is_empty = for_a_time && !is_open_loop && team.stalls.is_empty() && done(&measured) == 0;
    let mut too_short = is_empty;
    if let Some(whole) = team.to_the_last().filter(|_| is_empty) {
        // If operations take less time than this, the trial was long enough and something paused.
        too_short = operation_seconds(&whole) >= measured.length.as_secs_f64();
        measured = whole;
    }
    let end = measured.from + measured.length;
    let stall = |stalled: &Stalled| stalled.stall(measured.from, end);
    let stalls = team.set_up_stalls.iter().copied().chain(team.stalls.iter().map(stall)).collect();
    let outcome = outcome(team, &measured, part.arrival, given);
    let mut flags = flags(&measured, part);
    let few = done(&measured);
    if is_empty {
        // The gap is the time that each operation took, or it is all that was to be measured.
        flags.retain(|flag| !matches!(flag, Flag::LongGap { .. }));
        let seconds = measured.longest_gap.as_secs_f64();
        flags.extend((!too_short).then_some(Flag::LongGap { seconds }));
    }
    // Work that ends by itself takes the time that it takes, however little it is.
    let stalled = measured.answered < measured.length || job.has_fixed_rate();
    let is_few = too_short || few < FEW_OPERATIONS;
    if for_a_time && outcome == Outcome::Complete && is_few && !stalled {
        flags.push(Flag::FewOperations { count: few });
    }
    if outcome == Outcome::Complete {
        flags.extend(behind_schedule(&measured, part.arrival));
    }
    let mut result = PartResult {
        ops: ops(team, &measured),
        series: Series { late: team.late, ..Series::new(spec.window_seconds, &team.windows) },
        stalls,
        ..PartResult::default()
    };
    if outcome == Outcome::Complete {
        result.rate_basis = Some(rate_basis(team, &measured));
        let (figures, phases) = figures(job, spec, &result);
        result.quantities = quantities(team, &measured, job, counted);
        result.quantities.extend(figures);
        result.answered_seconds = Some(team.answered().as_secs_f64());
        flags.extend(phases);
    }
    (result, outcome, flags)
}

/// The operations that completed in the measured part.
fn done(measured: &Measured) -> u64 {
    measured.kinds.values().map(|kind| kind.operations).sum()
}

/// The mean time of an operation in seconds; 0 if there is none.
fn operation_seconds(measured: &Measured) -> f64 {
    let total = |kind: &KindFigures| kind.operations as f64 * kind.client.mean() / 1e9;
    measured.kinds.values().map(total).sum::<f64>() / done(measured).max(1) as f64
}

/// Adds figures of the job to those of its workers, where there are such; and whether what the client
/// itself can do is near.
pub(crate) fn add(result: &mut PartResult, figures: Vec<(Measure, f64)>) -> Option<Flag> {
    let bytes_per_second = *result.quantities.get(&Metric::all(Measure::THROUGHPUT))?;
    let figures = figures.into_iter().map(|(measure, value)| (Metric::all(measure), value));
    result.quantities.extend(figures);
    let ceiling = *result.quantities.get(&Metric::all(CopyJob::CLIENT_CEILING))?;
    (bytes_per_second >= NEAR_CEILING * ceiling)
        .then_some(Flag::NearClientCeiling { bytes_per_second, ceiling_bytes_per_second: ceiling })
}

/// What shows how fast it went in a window: bytes, or operations where none are moved.
fn speed(window: &Window, job: &Job) -> f64 {
    (if job.moves_payload() { window.bytes() } else { window.operations() }) as f64
}

/// What is cut from the start of a part: by MSER-5 where there are enough windows, else the fixed
/// time; that also where the target stalled: a stall near the begin would be cut off as a part of it, one near
/// the end would not.
fn warm_up(windows: &[Window], job: &Job, spec: &PointSpec, stalled: bool) -> Duration {
    let Length::For { .. } = spec.workload.length else { return Duration::ZERO };
    if stalled {
        return fixed_warm_up(spec);
    }
    let rates: Vec<f64> = windows.iter().map(|w| speed(w, job)).collect();
    match plimsoll_stats::warm_up::mser_5(&rates) {
        Some(windows) => Duration::from_secs_f64(windows as f64 * spec.window_seconds),
        None => fixed_warm_up(spec),
    }
}

/// The time that the plan cuts off.
fn fixed_warm_up(spec: &PointSpec) -> Duration {
    let Length::For { warm_up_seconds, .. } = spec.workload.length else { return Duration::ZERO };
    Duration::from_secs_f64(warm_up_seconds.max(0.0))
}

/// What an open loop did. The time of what is due includes waiting for its turn: of that a share is nothing
/// that was done, and operations count whole where they complete. Where the server stalled they count where
/// they were due, those included that were due in a stall that outlasts the trial, over the time to its end.
fn open_loop(team: &TeamResult, measured: &mut Measured) {
    for kind in measured.kinds.values_mut() {
        kind.shares = (kind.operations as f64, kind.bytes as f64);
    }
    if team.stalls.is_empty() {
        return;
    }
    let end = measured.from + measured.length;
    let last = team.stalls.iter().filter(|stall| stall.start < end).map(|s| s.start + s.length);
    measured.answered = last.fold(end, Duration::max).saturating_sub(measured.from);
    let due: u64 = measured.kinds.values().map(|kind| kind.client.len()).sum();
    let done = due.saturating_sub(team.left_over) as f64 / due.max(1) as f64;
    for (name, kind) in &mut measured.kinds {
        let all = team.total.count(*name);
        let operations = kind.client.len() as f64 * done;
        let bytes_each = all.bytes as f64 / all.operations.max(1) as f64;
        kind.shares = (operations, operations * bytes_each);
    }
}

fn outcome(team: &TeamResult, measured: &Measured, arrival: Arrival, given: &str) -> Outcome {
    let failed = |failure| Outcome::Failed { phase: Phase::Measure.to_string(), failure };
    match (&team.ended, &team.first_error) {
        (Ended::Failed(error), _) => failed(team.failure("finish the trial", given, error)),
        (Ended::Stopped, _) => Outcome::Stopped,
        (Ended::NotDone, _) => failed(
            Failure::new(Cause::Trial, "finish the trial")
                .on(given)
                .happened(format!(
                    "the work did not end within {}",
                    elapsed(team.measured.as_secs_f64())
                ))
                .next("Allow more time or reduce the work, or find out why the target is slow."),
        ),
        (Ended::Complete, Some(error)) if error.kind.is_content() => {
            failed(plimsoll_load::bad_content(given, format!("{}: {}", error.kind, error.detail)))
        }
        (Ended::Complete, Some(error)) => {
            failed(plimsoll_load::failure("finish the trial", given.to_owned(), error))
        }
        (Ended::Complete, None) if nothing_completed(team, measured, arrival) => failed(
            Failure::new(Cause::Trial, "finish the trial")
                .on(given)
                .happened(format!(
                    "no operation completed within {}",
                    elapsed(measured.length.as_secs_f64())
                ))
                .next("Lengthen --time, or find out why the target is slow."),
        ),
        (Ended::Complete, None) => match late_generator(team, arrival) {
            Some(reason) => Outcome::Void { reason },
            None => Outcome::Complete,
        },
    }
}

/// Whether the machine that makes the load, and not the target, kept an open loop from its rate.
fn late_generator(team: &TeamResult, arrival: Arrival) -> Option<VoidReason> {
    arrival.per_second()?;
    let (late_seconds, seconds) = (team.overslept.as_secs_f64(), team.measured.as_secs_f64());
    let is_late = late_seconds > LATE_GENERATOR * seconds;
    is_late.then_some(VoidReason::LateGenerator { late_seconds, seconds })
}

/// Whether no operation completed although the server did not stall. What was due in an open loop is done
/// after the trial.
fn nothing_completed(team: &TeamResult, measured: &Measured, arrival: Arrival) -> bool {
    let due: u64 = measured.kinds.values().map(|kind| kind.client.len()).sum();
    let done_later = arrival.per_second().is_some() && due > team.left_over;
    done(measured) == 0
        && !done_later
        && measured.answered >= measured.length
        && team.stalls.is_empty()
}

fn ops(team: &TeamResult, measured: &Measured) -> BTreeMap<OpKind, OpStats> {
    let mut ops: BTreeMap<OpKind, OpStats> =
        measured.kinds.iter().map(|(kind, k)| (*kind, k.stats())).collect();
    for (kind, errors) in &team.errors {
        ops.entry(*kind).or_default().errors = errors.clone();
    }
    ops
}

/// The amounts that the rates follow from.
fn rate_basis(team: &TeamResult, measured: &Measured) -> RateBasis {
    let done = measured.kinds.iter().map(|(kind, figures)| {
        let (operations, bytes) = figures.shares;
        (*kind, PartialCount { operations, bytes })
    });
    RateBasis {
        from_seconds: measured.from.as_secs_f64(),
        length_seconds: measured.length.as_secs_f64(),
        answered_seconds: measured.answered.as_secs_f64(),
        flush_seconds: flush_seconds(team, measured),
        done: done.collect(),
    }
}

/// The figures that do not follow from series and histograms.
fn quantities(
    team: &TeamResult,
    measured: &Measured,
    job: &Job,
    counted: Counted,
) -> BTreeMap<Metric, f64> {
    let mut q = BTreeMap::new();
    let seconds = measured.answered.as_secs_f64();
    for (measure, kinds) in counted {
        let operations = |kind| measured.kinds.get(kind).map_or(0, |k| k.operations);
        let count: u64 = kinds.iter().map(operations).sum();
        if count > 0 && seconds > 0.0 {
            q.insert(Metric::all(*measure), count as f64 / seconds);
        }
    }
    q.insert(Metric::all(Measure::LONGEST_GAP), measured.longest_gap.as_secs_f64());
    q.insert(Metric::all(Measure::IN_FLIGHT), measured.in_flight);
    if let Some(flush) = team.flush {
        q.insert(Metric::all(Measure::FLUSH_TIME), flush.as_secs_f64());
    }
    let total = completed(team, |kind| counts(job, kind));
    let cpu = team.cpu.as_secs_f64();
    if total.operations > 0 {
        q.insert(Metric::all(Measure::CLIENT_CPU_PER_OP), cpu / total.operations as f64);
    }
    if total.bytes > 0 {
        q.insert(Metric::all(Measure::CLIENT_CPU_PER_BYTE), cpu / total.bytes as f64);
    }
    q
}

/// Everything that completed of some kinds, the warm-up included.
fn completed(team: &TeamResult, counts: impl Fn(OpKind) -> bool) -> Count {
    let mut total = Count::default();
    let kinds = team.total.kinds.iter().filter(|(kind, _)| counts(**kind));
    kinds.for_each(|(_, count)| total.add(*count));
    total
}

/// The measured part's share of the final flush, in seconds: the flush made everything stable that
/// was written from the start on, so it is charged by the share of the writes.
fn flush_seconds(team: &TeamResult, measured: &Measured) -> f64 {
    let operations = |kind| measured.kinds.get(kind).map_or(0, |k| k.operations);
    let writes: u64 = WRITING.iter().map(operations).sum();
    let ever = completed(team, |kind| WRITING.contains(&kind)).operations;
    team.flush.unwrap_or_default().as_secs_f64() * (writes as f64 / ever.max(1) as f64)
}

/// Operations that were due faster than they were done.
fn behind_schedule(measured: &Measured, arrival: Arrival) -> Option<Flag> {
    let due_per_second = f64::from(arrival.per_second()?.get());
    let seconds = measured.length.as_secs_f64();
    let done: f64 = measured.kinds.values().map(|kind| kind.shares.0).sum();
    let missing = due_per_second * seconds - done;
    let is_behind = missing > (BEHIND * due_per_second * seconds).max(FEW_OPERATIONS as f64);
    let per_second = done / seconds;
    is_behind.then_some(Flag::BehindSchedule { due_per_second, per_second })
}

fn flags(measured: &Measured, part: &Part) -> Vec<Flag> {
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
    let response = operation_seconds(measured);
    // Operations that straddle the ends of the measured part are in one side of the comparison
    // alone: where the slowest is long against it, nothing can be said.
    let slowest = measured.kinds.values().map(|k| k.client.max()).max().unwrap_or(0) as f64 / 1e9;
    if let Some(check) = InFlight::compare(measured.in_flight, &completed)
        && slowest < plimsoll_stats::little::TOLERANCE * seconds
        && check
            .is_suspect(part.arrival.per_second().is_some(), DRIVER_SECONDS / response.max(1e-12))
    {
        flags.push(Flag::InFlightMismatch {
            integrated: check.integrated,
            by_littles_law: check.by_littles_law,
        });
    }
    let gap = measured.longest_gap.as_secs_f64();
    // A job that asks for no more than it needs has gaps of its own.
    let has_gaps = part.job.has_fixed_rate();
    if gap > LONG_GAP_SECONDS && gap > LONG_GAP_SHARE * seconds && !has_gaps {
        flags.push(Flag::LongGap { seconds: gap });
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_that_is_nearly_as_fast_as_the_client_is_flagged() {
        let at = |bytes_per_second| {
            let throughput = (Metric::all(Measure::THROUGHPUT), bytes_per_second);
            PartResult { quantities: [throughput].into(), ..PartResult::default() }
        };
        let ceiling = || vec![(CopyJob::CLIENT_CEILING, 1e9), (CopyJob::CLIENT_CEILING_FILES, 1e5)];
        let mut slow = at(7.9e8);
        assert_eq!(add(&mut slow, ceiling()), None);
        assert_eq!(slow.quantities[&Metric::all(CopyJob::CLIENT_CEILING_FILES)], 1e5);
        let near = add(&mut at(8.1e8), ceiling());
        assert!(matches!(near, Some(Flag::NearClientCeiling { .. })), "{near:?}");
        assert_eq!(add(&mut at(8.1e8), Vec::new()), None, "nothing is known of the client");
        let mut failed = PartResult::default();
        assert_eq!(add(&mut failed, ceiling()), None);
        assert!(failed.quantities.is_empty(), "a failed part has no figures");
    }
}
