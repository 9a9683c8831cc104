//! Times in which a target did nothing although it was asked, and rates over all time.
//!
//! Rates of trials are those between stalls: of operations over the measured time without the stalls in it.
//! A trial often ends before a stall does, and the next begins after it; so the share of trials in which a
//! stall was seen says little. Rates over all time are those between stalls, times the answered share of the
//! time of all loads, in which every stall counts to its end. Stalls that begin λ times in a second of
//! answering and last D then lower the rate to 1/(1 + λD), as they do in the long run, however short the
//! trials are. Warm-ups count in this share: the stalls that are left out with them would not be like others,
//! for trials begin when a stall ends.

use crate::gather::Results;
use plimsoll_model::{Measure, Metric, PartResult, Stall, StallPhase, Study, Trial};
use std::collections::BTreeMap;

/// Rates that are given over all time, too.
const RATES: [Measure; 6] = [
    Measure::IOPS,
    Measure::THROUGHPUT,
    Measure::GOODPUT_OUT,
    Measure::GOODPUT_IN,
    Measure::FILES,
    Measure::ENTRIES,
];

/// Stalls of one subject in a study.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stalls {
    /// Index of the subject in the plan.
    pub subject: u16,
    /// How many.
    pub count: usize,
    /// Their time, in seconds.
    pub seconds: f64,
    /// Time of the longest, in seconds.
    pub longest_seconds: f64,
    /// Their share of the subject's time, which is that of its trials and change-overs and its part of the time
    /// before the first trial, in which files are created: 0 to 1.
    pub share: f64,
}

/// The stalls of each subject that has any, wherever they fell.
pub fn stalls(study: &Study) -> Vec<Stalls> {
    let mut trials: Vec<&Trial> = study.trials.iter().collect();
    trials.sort_by(|a, b| a.started_seconds.total_cmp(&b.started_seconds));
    let next = trials.iter().skip(1).map(|trial| Some(trial.started_seconds)).chain([None]);
    let mut time: BTreeMap<u16, f64> = BTreeMap::new();
    for (trial, next) in trials.iter().zip(next) {
        let span = next.map_or_else(|| load_seconds(trial), |next| next - trial.started_seconds);
        *time.entry(trial.cell.subject).or_default() += span.max(0.0);
    }
    let before = trials.first().map_or(0.0, |trial| trial.started_seconds.max(0.0));
    let before = before / time.len().max(1) as f64;
    let of_subject = |(subject, time): (u16, f64)| {
        let time = before + time;
        let own = trials.iter().filter(|trial| trial.cell.subject == subject);
        let stalls: Vec<Stall> = own.flat_map(|trial| of_trial(trial)).collect();
        let seconds: f64 = stalls.iter().map(|stall| stall.seconds).sum();
        (!stalls.is_empty()).then(|| Stalls {
            subject,
            count: stalls.len(),
            seconds,
            longest_seconds: stalls.iter().map(|stall| stall.seconds).fold(0.0, f64::max),
            share: (seconds / time.max(seconds)).clamp(0.0, 1.0),
        })
    };
    time.into_iter().filter_map(of_subject).collect()
}

/// The stalls of a trial, or of its points. What stops one part stops the others: of several parts the one
/// that stood still longest counts.
fn of_trial(trial: &Trial) -> Vec<Stall> {
    let longest = |parts: &[PartResult]| -> Vec<Stall> {
        let seconds = |part: &&PartResult| part.stalls.iter().map(|s| s.seconds).sum::<f64>();
        let most = parts.iter().max_by(|a, b| seconds(a).total_cmp(&seconds(b)));
        let known = |stall: &&Stall| stall.seconds.is_finite() && stall.seconds > 0.0;
        most.map(|part| part.stalls.iter().filter(known).copied().collect()).unwrap_or_default()
    };
    match trial.points.is_empty() {
        true => longest(&trial.result.parts),
        false => trial.points.iter().flat_map(|point| longest(&point.parts)).collect(),
    }
}

/// Time of a trial's load, and of the stall that outlasted it.
fn load_seconds(trial: &Trial) -> f64 {
    let points = trial.points.iter().flat_map(|point| point.parts.first());
    let part_seconds = |part: &PartResult| {
        let windows = part.series.window_seconds * part.series.len() as f64;
        let ends = part.stalls.iter().map(|stall| stall.start_seconds + stall.seconds);
        ends.fold(windows, f64::max)
    };
    match trial.points.is_empty() {
        true => trial.result.main().map_or(0.0, part_seconds),
        false => points.map(part_seconds).sum(),
    }
}

/// The rates of a part of a cell over all time; empty where nothing stalled. In an open loop they are the
/// rates themselves: what was due in a stall is done after it.
pub(crate) fn over_all_time(results: &Results<'_>, is_open_loop: bool) -> BTreeMap<Metric, f64> {
    let parts = results.parts();
    // Stalls before the load are in no rate.
    let under_load = |stall: &&Stall| stall.phase != StallPhase::SetUp;
    let stalls = parts.iter().flat_map(|part| part.stalls.iter().filter(under_load));
    let stalled: f64 = stalls.map(|stall| stall.seconds).sum();
    let answered: Option<Vec<f64>> = parts.iter().map(|part| part.answered_seconds).collect();
    let Some(answered) = answered.filter(|_| stalled > 0.0 && !is_open_loop) else {
        return BTreeMap::new();
    };
    let all: f64 = answered.iter().sum();
    let metrics = results.metrics().into_iter().filter(|metric| RATES.contains(&metric.measure));
    let rate = |metric: Metric| {
        let timed = parts.iter().zip(&answered);
        let known = timed.filter_map(|(part, time)| Some((part.quantities.get(&metric)?, time)));
        let (done, time) = known.fold((0.0, 0.0), |(done, time), (rate, seconds)| {
            (done + rate * seconds, time + seconds)
        });
        let rate = done / time * all / (all + stalled);
        rate.is_finite().then_some((metric, rate))
    };
    metrics.filter_map(rate).collect()
}
