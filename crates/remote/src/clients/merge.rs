//! Results of several clients that did the same job, put together.

use plimsoll_load::Stalled;
use plimsoll_model::{
    Combine, Count, Job, Length, Measure, Metric, OpKind, OpStats, PartResult, PointSpec,
    RateBasis, Series, Stall, StallPhase, Window,
};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Several clients' parts of the same job as one. Operations, bytes and windows add up, latencies by
/// their histograms, and rates by the measured time that the clients have in common; the figures follow from these
/// as with one client. Other figures are combined by the rules of their measures. Stalls are the times in which all
/// clients stalled. It has quantities only if every part is complete.
pub(super) fn together(spec: &PointSpec, parts: &[PartResult]) -> PartResult {
    let mut windows = Vec::new();
    let mut ops: BTreeMap<OpKind, OpStats> = BTreeMap::new();
    let mut late = Count::default();
    for part in parts {
        windows.resize(part.series.len().max(windows.len()), Window::default());
        for (sum, window) in windows.iter_mut().zip(part.series.windows()) {
            sum.add(&window);
        }
        late.add(part.series.late);
        for (kind, more) in &part.ops {
            ops.entry(*kind).or_default().add(more);
        }
    }
    let series = Series { late, ..Series::new(spec.window_seconds, &windows) };
    let mut all = PartResult { ops, series, ..PartResult::default() };
    let Some(main) = spec.workload.main() else { return all };
    let loads: Vec<Load> = parts.iter().map(|part| load(spec, part)).collect();
    let stalled = Stalled::of_all(&loads);
    let bases = parts.iter().map(|part| part.rate_basis.as_ref()).collect::<Option<Vec<_>>>();
    let is_paced = main.arrival.per_second().is_some();
    all.rate_basis =
        bases.and_then(|bases| common(spec.workload.length, is_paced, &bases, &stalled));
    let (from, until) = match (&all.rate_basis, spec.workload.length) {
        (Some(basis), _) => (basis.from_seconds, basis.from_seconds + basis.length_seconds),
        (None, Length::For { seconds, warm_up_seconds }) => (warm_up_seconds, seconds),
        (None, Length::UntilDone { at_most_seconds }) => (0.0, at_most_seconds),
    };
    all.stalls = set_up_stalls(parts);
    all.stalls.extend(stalled.iter().map(|stall| stall.stall(seconds(from), seconds(until))));
    if let Some(basis) = &all.rate_basis {
        all.quantities = by_rules(&main.job, spec.workload.length, parts, basis.length_seconds);
        let (figures, _) = plimsoll_runner::figures(&main.job, spec, &all);
        all.quantities.extend(figures);
        all.answered_seconds = answered(parts, &loads, &stalled);
    }
    all
}

/// The stalls of a client under load, and the length of its load.
type Load = (Vec<Stalled>, Duration);

/// One that is done does not wait.
fn load(spec: &PointSpec, part: &PartResult) -> Load {
    let length = match spec.workload.length {
        Length::For { seconds, .. } => seconds,
        Length::UntilDone { .. } => {
            part.rate_basis.as_ref().map_or(f64::MAX, |basis| basis.length_seconds)
        }
    };
    let own = part.stalls.iter().filter(|stall| stall.phase != StallPhase::SetUp);
    let own = own.map(|stall| Stalled {
        start: seconds(stall.start_seconds),
        length: seconds(stall.seconds),
    });
    (own.collect(), seconds(length))
}

/// How long the stalls between two instants of the load are.
fn stalled_within(stalls: &[Stalled], from: Duration, until: Duration) -> Duration {
    stalls.iter().map(|stall| stall.within(from, until)).sum()
}

/// Stalls before the load, of the client that waited longest: the others waited for it.
fn set_up_stalls(parts: &[PartResult]) -> Vec<Stall> {
    let set_up = |part: &PartResult| -> Vec<Stall> {
        let stalls = part.stalls.iter().copied();
        stalls.filter(|stall| stall.phase == StallPhase::SetUp).collect()
    };
    let time = |stalls: &Vec<Stall>| stalls.iter().map(|stall| stall.seconds).sum::<f64>();
    let longest = parts.iter().map(set_up).max_by(|a, b| time(a).total_cmp(&time(b)));
    longest.unwrap_or_default()
}

/// A time of another host, which may be anything.
fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(if seconds > 0.0 {
        MOST
    } else {
        Duration::ZERO
    })
}

/// Longer than any trial.
const MOST: Duration = Duration::from_secs(1 << 32);

/// The measured time that all clients have in common, and what they did in it: the shortest, in which each goes on at
/// the rate of its own. Work that ends by itself takes as long as the slowest.
fn common(
    length: Length,
    is_paced: bool,
    bases: &[&RateBasis],
    stalled: &[Stalled],
) -> Option<RateBasis> {
    // A client that stalls alone is slow. What was due at a fixed rate is counted to the end of the stalls.
    let answered = |own: &RateBasis| {
        if is_paced {
            return own.answered_seconds;
        }
        let (from, length) = (seconds(own.from_seconds), seconds(own.length_seconds));
        length.saturating_sub(stalled_within(stalled, from, from + length)).as_secs_f64()
    };
    let is_until_done = matches!(length, Length::UntilDone { .. });
    let chosen = bases.iter().copied();
    let chosen = if is_until_done {
        chosen.max_by(|a, b| a.length_seconds.total_cmp(&b.length_seconds))
    } else {
        chosen.min_by(|a, b| answered(a).total_cmp(&answered(b)))
    }?;
    let mut all = RateBasis {
        from_seconds: chosen.from_seconds,
        length_seconds: chosen.length_seconds,
        answered_seconds: answered(chosen),
        ..RateBasis::default()
    };
    for own in bases {
        let time = answered(own);
        let times = if is_until_done || time <= 0.0 { 1.0 } else { all.answered_seconds / time };
        for (kind, done) in &own.done {
            all.done.entry(*kind).or_default().add(*done, times);
        }
        all.flush_seconds = all.flush_seconds.max(own.flush_seconds);
    }
    Some(all)
}

/// Figures for which there is a rule; the whole work took so many seconds.
fn by_rules(
    job: &Job,
    length: Length,
    parts: &[PartResult],
    whole_seconds: f64,
) -> BTreeMap<Metric, f64> {
    let metrics = parts.iter().flat_map(|part| part.quantities.keys());
    let measures = metrics.filter(|metric| metric.kind.is_none()).map(|metric| metric.measure);
    let combined = |measure: Measure| {
        let info = measure.info()?;
        let weight = |part: &PartResult| match (info.combine, length, &part.rate_basis) {
            // What was done at a rate lasted as long as the client was at work.
            (Combine::SumOfRates, Length::UntilDone { .. }, Some(own)) if whole_seconds > 0.0 => {
                own.length_seconds / whole_seconds
            }
            (Combine::WeightedMean, ..) if info.per == "byte" => done(job, part).bytes as f64,
            (Combine::WeightedMean, ..) => done(job, part).operations as f64,
            _ => 1.0,
        };
        let metric = Metric::all(measure);
        let figure = |part: &PartResult| Some((*part.quantities.get(&metric)?, weight(part)));
        Some((metric, info.combine.apply(parts.iter().filter_map(figure))?))
    };
    measures.collect::<BTreeSet<Measure>>().into_iter().filter_map(combined).collect()
}

/// What completed in a whole trial, of the kinds that figures over all operations count. What completed after the end
/// is not known by its kind.
fn done(job: &Job, part: &PartResult) -> Count {
    let mut done = part.series.late;
    for window in part.series.windows() {
        let kinds =
            window.kinds.into_iter().filter(|(kind, _)| plimsoll_runner::counts(job, *kind));
        kinds.for_each(|(_, count)| done.add(count));
    }
    done
}

/// Time of the whole load without the stalls of all, final flush included, in seconds.
fn answered(parts: &[PartResult], loads: &[Load], stalled: &[Stalled]) -> Option<f64> {
    let took = parts.iter().zip(loads).map(|(part, (own, length))| {
        let stalled = stalled_within(own, Duration::ZERO, *length);
        Some(part.answered_seconds? + stalled.as_secs_f64())
    });
    let took = took.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max)?;
    let longest = loads.iter().map(|(_, length)| *length).max()?;
    Some(took - stalled_within(stalled, Duration::ZERO, longest).as_secs_f64())
}

#[cfg(test)]
mod tests;
