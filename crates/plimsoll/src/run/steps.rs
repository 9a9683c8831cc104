//! The steps of a job's trials: `[job.sweep]`, every value of a list, and `[job.search]`, the largest value with an
//! accepted latency.

use super::file::Source;
use plimsoll_model::units::parse_duration;
use plimsoll_model::{Accept, Failure, Measure, Metric, Parameter, Steps};
use serde::Deserialize;
use std::num::NonZeroU16;
use toml::{Table, Value};

/// How far above the result the smallest rejected value may be, unless the file says it: 5%, the default margin.
const WITHIN_PERCENT: f64 = 5.0;
/// Most operations per second that can be due.
const FASTEST: f64 = u32::MAX as f64;

/// Values of the parameter that the steps change.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Over<T> {
    workers: Option<T>,
    depth: Option<T>,
    rate: Option<T>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Search {
    workers: Option<[f64; 2]>,
    depth: Option<[f64; 2]>,
    rate: Option<[f64; 2]>,
    latency_mean: Option<String>,
    latency_p50: Option<String>,
    latency_p99: Option<String>,
    latency_max: Option<String>,
    within: Option<f64>,
}

/// The only one of several that is given.
fn only<T, U>(given: impl IntoIterator<Item = (T, Option<U>)>) -> Option<(T, U)> {
    let mut there = given.into_iter().filter_map(|(what, value)| Some((what, value?)));
    let first = there.next()?;
    there.next().is_none().then_some(first)
}

impl<T> Over<T> {
    fn parameter(self) -> Option<(Parameter, T)> {
        only([
            (Parameter::Workers, self.workers),
            (Parameter::Depth, self.depth),
            (Parameter::Rate, self.rate),
        ])
    }
}

/// Takes the steps of a job out of its keys; `None` if it has none.
pub fn take(
    source: &Source<'_>,
    number: &str,
    options: &mut Table,
) -> Result<Option<Steps>, Failure> {
    let (sweep, search) = (options.remove("sweep"), options.remove("search"));
    match (sweep, search) {
        (None, None) => Ok(None),
        (Some(table), None) => self::sweep(source, &["job", number, "sweep"], table).map(Some),
        (None, Some(table)) => self::search(source, &["job", number, "search"], table).map(Some),
        (Some(_), Some(_)) => {
            let happened = "a job has either a sweep or a search";
            Err(source.problem(&["job", number, "search"], happened, "Use two jobs."))
        }
    }
}

/// The most workers that the steps come to; `None` where they do not change how many there are.
pub fn most_workers(steps: &Steps) -> Option<NonZeroU16> {
    let most = match steps {
        Steps::Sweep { over: Parameter::Workers, values } => {
            values.iter().copied().fold(0.0, f64::max)
        }
        Steps::Search { over: Parameter::Workers, to, .. } => *to,
        _ => return None,
    };
    NonZeroU16::new(most as u16)
}

fn read<T: serde::de::DeserializeOwned>(
    source: &Source<'_>,
    at: &[&str],
    table: Value,
    next: &str,
) -> Result<T, Failure> {
    table.try_into().map_err(|error: toml::de::Error| source.problem(at, error.message(), next))
}

/// Whether a parameter can have this value.
fn is_possible(over: Parameter, value: f64) -> bool {
    let most = if over == Parameter::Rate { FASTEST } else { f64::from(u16::MAX) };
    (1.0..=most).contains(&value) && value.fract() == 0.0
}

fn expect_possible(
    source: &Source<'_>,
    at: &[&str],
    over: Parameter,
    values: &[f64],
) -> Result<(), Failure> {
    match values.iter().find(|value| !is_possible(over, **value)) {
        None => Ok(()),
        Some(value) => {
            let happened = format!("{value} is not a whole number of at least 1, or is too large");
            Err(source.problem(at, &happened, "Give whole numbers."))
        }
    }
}

fn sweep(source: &Source<'_>, at: &[&str], table: Value) -> Result<Steps, Failure> {
    let next = "Write one of: workers = [1, 4, 16], depth = [1, 8, 64], rate = [100, 1000].";
    let given: Over<Vec<f64>> = read(source, at, table, next)?;
    let Some((over, values)) = given.parameter() else {
        return Err(source.problem(at, "a sweep has one of workers, depth and rate", next));
    };
    expect_possible(source, at, over, &values)?;
    let mut sorted = values.clone();
    sorted.sort_by(f64::total_cmp);
    sorted.dedup();
    if sorted.len() < 2 || sorted.len() < values.len() {
        let happened = "a sweep needs two or more different values";
        return Err(source.problem(at, happened, next));
    }
    Ok(Steps::Sweep { over, values })
}

fn search(source: &Source<'_>, at: &[&str], table: Value) -> Result<Steps, Failure> {
    let next = "Write, for example: rate = [50, 20000], latency-p99 = \"10ms\".";
    let given: Search = read(source, at, table, next)?;
    let over = Over { workers: given.workers, depth: given.depth, rate: given.rate };
    let Some((over, [from, to])) = over.parameter() else {
        return Err(source.problem(at, "a search has one of workers, depth and rate", next));
    };
    expect_possible(source, at, over, &[from, to])?;
    if from >= to {
        return Err(source.problem(at, "the first value is not below the second one", next));
    }
    let latency = only([
        (Measure::LATENCY_MEAN, given.latency_mean),
        (Measure::LATENCY_P50, given.latency_p50),
        (Measure::LATENCY_P99, given.latency_p99),
        (Measure::LATENCY_MAX, given.latency_max),
    ]);
    let Some((measure, bound)) = latency else {
        let happened = "a search has one of latency-mean, latency-p50, latency-p99 and latency-max";
        return Err(source.problem(at, happened, next));
    };
    let bound = source.fill_all(at, &bound)?;
    let bound = parse_duration(&bound)
        .map_err(|wrong| source.problem(at, &wrong, "Write a time, such as \"10ms\"."))?;
    let within = given.within.unwrap_or(WITHIN_PERCENT);
    if !(0.1..=100.0).contains(&within) {
        let happened = format!("within = {within} is not from 0.1 to 100 percent");
        return Err(source.problem(at, &happened, "Give a percentage, such as 5."));
    }
    let accept = Accept { metric: Metric::all(measure), at_most: bound.as_secs_f64() };
    Ok(Steps::Search { over, from, to, resolution: within / 100.0, accept })
}
