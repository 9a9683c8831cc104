//! Steps of workloads in words.

use crate::figure::{BITRATE, BYTES, COUNT, Kind, RATE, TIME};
use crate::text::listed;
use crate::verdict::percent;
use plimsoll_model::units::Bytes;
use plimsoll_model::{Bound, Limit, Measure, Parameter, RateUnit, Steps, Workload};

/// Name of a parameter of a workload, and the unit of its values.
pub(crate) fn named(workload: &Workload, over: Parameter) -> (&'static str, Kind) {
    match (over, workload.rate_unit()) {
        (Parameter::Depth, _) => ("in flight per worker", COUNT),
        (Parameter::Workers, _) => ("workers", COUNT),
        (Parameter::Block, _) => ("block size", BYTES),
        (Parameter::Rate, Some(RateUnit::Bytes)) => ("offered rate", BITRATE),
        (Parameter::Rate, Some(RateUnit::Frames | RateUnit::Requests)) => ("offered rate", RATE),
        (Parameter::Rate, Some(RateUnit::Operations) | None) => ("rate", RATE),
    }
}

/// What the trials of a workload step through: its name, and the unit of its values.
pub(crate) fn parameter(workload: &Workload) -> Option<(&'static str, Kind)> {
    workload.steps.as_ref().map(|steps| named(workload, steps.over()))
}

/// A value of a parameter: "16", "80.0 Mbit/s".
pub(crate) fn value(workload: &Workload, over: Parameter, value: f64) -> String {
    match (over, workload.rate_unit()) {
        (Parameter::Depth | Parameter::Workers, _) => format!("{value}"),
        (Parameter::Block, _) => Bytes(value as u64).to_string(),
        (Parameter::Rate, Some(RateUnit::Bytes)) => BITRATE.value(value),
        (Parameter::Rate, unit) => {
            format!("{value:.0} {}/s", unit.unwrap_or(RateUnit::Operations).name())
        }
    }
}

/// The steps in words: "workers swept through 1, 4, 16".
pub(crate) fn words(workload: &Workload, steps: &Steps) -> String {
    let over = steps.over();
    let (name, value) = (named(workload, over).0, |at: &f64| value(workload, over, *at));
    match steps {
        Steps::Sweep { values, .. } => {
            let values: Vec<String> = values.iter().map(value).collect();
            format!("{name} swept through {}", values.join(", "))
        }
        Steps::Search { from, to, accept, .. } => {
            let goal = goal(workload, over, accept);
            format!("{goal}, searched from {} to {}", value(from), value(to))
        }
        Steps::Kept { losses, width, final_seconds, accept, .. } => {
            let confirmed = final_seconds.map_or_else(String::new, |seconds| {
                format!(", confirmed by a trial of {seconds:.0} s")
            });
            let losses: Vec<String> = losses.iter().map(|loss| percent(*loss)).collect();
            let losses = losses.join(" and of ");
            let accepted = accept
                .as_ref()
                .map_or_else(String::new, |bound| format!(", and a {}", in_words(workload, bound)));
            format!(
                "largest {name} with a loss of at most {losses}{accepted}, within {}{confirmed}",
                percent(*width)
            )
        }
    }
}

/// What a search finds: "highest rate, p99 ≤ 10.0 ms", "highest rate, p99 of random read ≤ 10.0 ms, IOPS ≥ 500".
pub(crate) fn goal(workload: &Workload, over: Parameter, accept: &[Bound]) -> String {
    let name = named(workload, over).0;
    let most = match (over, workload.rate_unit()) {
        (Parameter::Rate, Some(RateUnit::Operations) | None) => "highest rate".to_owned(),
        (Parameter::Depth | Parameter::Workers, _) => format!("most {name}"),
        (Parameter::Rate | Parameter::Block, _) => format!("largest {name}"),
    };
    let in_symbols = accept.iter().map(|bound| in_symbols(workload, bound));
    match in_symbols.collect::<Option<Vec<String>>>() {
        Some(bounds) if bounds.is_empty() => most,
        Some(bounds) => format!("{most}, {}", bounds.join(", ")),
        None => {
            let bounds = accept.iter().map(|bound| in_words(workload, bound));
            format!("{most} with {}", listed(&bounds.collect::<Vec<_>>()))
        }
    }
}

/// A bound on a figure with a short name: "p99 ≤ 10.0 ms", "IOPS of random read ≥ 500".
fn in_symbols(workload: &Workload, bound: &Bound) -> Option<String> {
    let (sign, limit) = match bound.limit {
        Limit::AtMost(most) => ("≤", most),
        Limit::AtLeast(least) => ("≥", least),
    };
    let measure = bound.metric.measure;
    let latency = measure.name().strip_prefix("latency_");
    let (figure, limit) = match latency.and_then(|name| name.strip_suffix("_seconds")) {
        Some(figure) => (figure, TIME.value(limit)),
        None if measure == Measure::IOPS => ("IOPS", RATE.value(limit)),
        None => return None,
    };
    Some(format!("{figure}{} {sign} {limit}", whose(workload, bound)))
}

/// A bound in words: "loss of at most 0.5%", "queue p99 of at most 20.0 ms".
fn in_words(workload: &Workload, bound: &Bound) -> String {
    let (word, limit) = match bound.limit {
        Limit::AtMost(most) => ("most", most),
        Limit::AtLeast(least) => ("least", least),
    };
    let metric = bound.metric.measure.name();
    let share = metric.strip_suffix("_ratio").map(|share| (share, percent(limit)));
    let time = metric.strip_suffix("_seconds").map(|time| (time, TIME.value(limit)));
    let (what, limit) = share.or(time).unwrap_or((metric, limit.to_string()));
    format!("{}{} of at {word} {limit}", what.replace('_', " "), whose(workload, bound))
}

/// " of random read", where a bound is not on the first part.
fn whose(workload: &Workload, bound: &Bound) -> String {
    let part = workload.parts.get(usize::from(bound.part)).filter(|_| bound.part > 0);
    part.map_or_else(String::new, |part| format!(" of {}", part.job.title()))
}
