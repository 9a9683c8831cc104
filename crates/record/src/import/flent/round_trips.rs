//! Round trips that flent measured beside the streams.

use super::format::{Document, Number, Sample};
use super::{named, samples};
use crate::import::paths;
use plimsoll_model::units::Bytes;
use plimsoll_model::{Job, LatencySummary, Measure, PartResult, RequestJob};
use std::num::NonZeroU32;

/// When streams put a load on the path. flent measures round trips for some seconds longer on either side.
pub(super) struct Load {
    /// Times of the first and the last value of the streams.
    times: Option<(f64, f64)>,
    /// The first and the last step in which the streams have a value.
    steps: Option<(usize, usize)>,
}

impl Load {
    /// The load of these streams.
    pub(super) fn new(document: &Document, streams: &[&str]) -> Load {
        let ends = |all: &[f64]| {
            let first = all.iter().copied().reduce(f64::min)?;
            let last = all.iter().copied().fold(first, f64::max);
            (last > first).then_some((first, last))
        };
        let has_value = |sample: &&Sample| sample.val.and_then(Number::known).is_some();
        let measured = streams.iter().flat_map(|name| samples(document, name).iter());
        let times = measured.filter(has_value).filter_map(|sample| sample.t?.known());
        let results = streams.iter().filter_map(|name| document.results.get(*name));
        let is_known = |(step, value): (usize, &Option<f64>)| value.map(|_| step);
        let steps: Vec<usize> =
            results.flat_map(|values| values.0.iter().enumerate().filter_map(is_known)).collect();
        Load {
            times: ends(&times.collect::<Vec<_>>()),
            steps: steps.iter().min().copied().zip(steps.iter().max().copied()),
        }
    }

    /// Whether a measurement was taken under load, as far as its time is known.
    fn has(&self, sample: &Sample) -> bool {
        let known = self.times.zip(sample.t.and_then(Number::known));
        known.is_none_or(|((first, last), at)| (first..=last).contains(&at))
    }

    /// Values of a series in the steps of the load, or in all steps without load.
    fn values(&self, document: &Document, name: &str) -> Vec<f64> {
        let all = document.results.get(name).map_or(&[][..], |values| &values.0);
        let steps = self
            .steps
            .and_then(|(first, last)| all.get(first..=last.min(all.len().checked_sub(1)?)));
        let known = steps.unwrap_or(all).iter().flatten().copied();
        known.filter(|value| *value >= 0.0).collect()
    }
}

/// Round trips beside the streams. Tools that time each answer number them; for others flent has means of its steps.
pub(super) fn round_trips(
    document: &Document,
    names: &[&str],
    load: &Load,
    step: Option<f64>,
    notes: &mut Vec<String>,
) -> Option<(Job, PartResult)> {
    let single = |name: &&str| samples(document, name).iter().any(|sample| sample.seq.is_some());
    let (timed, averaged): (Vec<&str>, Vec<&str>) =
        names.iter().copied().partition(|name| single(name));
    let per_second = step.map(|step| (1.0 / step).round()).filter(|rate| *rate >= 1.0);
    let rate = per_second.and_then(|rate| NonZeroU32::new(rate.min(1e6) as u32));
    let job = |connections: usize| -> Job {
        let streams = u16::try_from(connections).unwrap_or(u16::MAX);
        RequestJob { streams, rate, request: Bytes(0), response: Bytes(0) }.into()
    };
    if timed.is_empty() {
        let all: Vec<f64> = averaged.iter().flat_map(|name| load.values(document, name)).collect();
        let mean = (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64 / 1e3)?;
        notes.push(format!("round trips are means of intervals: {}", named(&averaged)));
        let quantities = paths::known([(Measure::LATENCY_MEAN, Some(mean))]);
        return Some((job(averaged.len()), PartResult { quantities, ..PartResult::default() }));
    }
    let (mut all, mut missing, mut asked) = (Vec::new(), 0.0, 0.0);
    for name in &timed {
        let samples = samples(document, name).iter().filter(|sample| load.has(sample));
        let samples: Vec<&Sample> = samples.collect();
        let answers = samples.iter().filter_map(|sample| sample.val?.known());
        let answers: Vec<f64> = answers.filter(|ms| *ms >= 0.0).map(|ms| ms / 1e3).collect();
        let numbers = || samples.iter().filter_map(|sample| sample.seq?.known());
        let range = numbers().reduce(f64::max).zip(numbers().reduce(f64::min));
        let sent = range.map_or(0.0, |(last, first)| last - first + 1.0);
        missing += (sent - answers.len() as f64).max(0.0);
        asked += sent.max(answers.len() as f64);
        all.extend(answers);
    }
    if all.is_empty() {
        return None;
    }
    all.sort_by(f64::total_cmp);
    let count = all.len();
    let quantile = |q: f64| all[((q * count as f64).ceil() as usize).clamp(1, count) - 1];
    // As for plimsoll's own trials: at least 20 values lie beyond a quantile.
    let supported = |(_, q): &(&str, f64)| count as f64 * (1.0 - q) >= 20.0;
    let quantiles = [("0.5", 0.5), ("0.9", 0.9), ("0.99", 0.99)].into_iter().filter(supported);
    let latency = LatencySummary {
        mean_seconds: all.iter().sum::<f64>() / count as f64,
        min_seconds: all[0],
        max_seconds: all[count - 1],
        standard_deviation_seconds: None,
        quantiles_seconds: quantiles.map(|(name, q)| (name.to_owned(), quantile(q))).collect(),
        histogram: None,
    };
    let mut part = PartResult {
        quantities: paths::known([(Measure::UNANSWERED, (asked > 0.0).then(|| missing / asked))]),
        ..PartResult::default()
    };
    paths::add_latency(&mut part, count as u64, latency);
    notes.push(format!("round trips: {}", named(&timed)));
    if !averaged.is_empty() {
        notes.push(format!("means of intervals, which are not imported: {}", named(&averaged)));
    }
    Some((job(timed.len()), part))
}
