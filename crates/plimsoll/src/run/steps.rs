//! The steps of a job's trials: `[job.sweep]`, every value of a list, and `[job.search]`, the largest value within
//! bounds on this job and on those that run at the same time.

use super::file::Source;
use plimsoll_config::nearest;
use plimsoll_model::units::parse_duration;
use plimsoll_model::{Bound, Failure, Measure, Metric, Parameter, Steps};
use serde::Deserialize;
use std::num::NonZeroU16;
use toml::{Table, Value};

/// How far above the result the smallest rejected value may be, unless the file says it: 5%, the default margin.
const WITHIN_PERCENT: f64 = 5.0;
/// Most operations per second that can be due.
const FASTEST: f64 = u32::MAX as f64;
/// Keys of bounds on latencies: each may not be larger.
const LATENCIES: [(&str, Measure); 4] = [
    ("latency-mean", Measure::LATENCY_MEAN),
    ("latency-p50", Measure::LATENCY_P50),
    ("latency-p99", Measure::LATENCY_P99),
    ("latency-max", Measure::LATENCY_MAX),
];
/// Key of a bound on operations per second, which may not be fewer. Only another job has it: its own become more with
/// the value, and a search needs figures that become worse.
const IOPS: &str = "iops";
/// Key of the bounds on other jobs, which run at the same time.
pub const WHILE: &str = "while";

/// The steps of a job.
#[derive(Default)]
pub struct JobSteps {
    pub steps: Option<Steps>,
    /// Bounds of its search on other jobs.
    pub others: Vec<JobBound>,
}

/// Bound on a job that runs at the same time.
pub struct JobBound {
    /// Name of the job.
    pub job: String,
    pub bound: Bound,
}

/// Values of the parameter that the steps change.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Over<T> {
    workers: Option<T>,
    depth: Option<T>,
    rate: Option<T>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    workers: Option<[f64; 2]>,
    depth: Option<[f64; 2]>,
    rate: Option<[f64; 2]>,
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

/// Takes the steps of a job out of its keys.
pub fn take(source: &Source<'_>, number: &str, options: &mut Table) -> Result<JobSteps, Failure> {
    let (sweep, search) = (options.remove("sweep"), options.remove("search"));
    match (sweep, search) {
        (None, None) => Ok(JobSteps::default()),
        (Some(table), None) => {
            let steps = self::sweep(source, &["job", number, "sweep"], table)?;
            Ok(JobSteps { steps: Some(steps), others: Vec::new() })
        }
        (None, Some(table)) => self::search(source, &["job", number, "search"], table),
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

fn search(source: &Source<'_>, at: &[&str], table: Value) -> Result<JobSteps, Failure> {
    let next = "Write, for example: rate = [50, 20000], latency-p99 = \"10ms\".";
    let Value::Table(mut table) = table else {
        return Err(source.problem(at, "a search must be a table", next));
    };
    let accept = bounds(source, at, &mut table)?;
    let others = bounds_of_others(source, at, &mut table)?;
    let given: Search = read(source, at, Value::Table(table), next)?;
    let over = Over { workers: given.workers, depth: given.depth, rate: given.rate };
    let Some((over, [from, to])) = over.parameter() else {
        return Err(source.problem(at, "a search has one of workers, depth and rate", next));
    };
    expect_possible(source, at, over, &[from, to])?;
    if from >= to {
        return Err(source.problem(at, "the first value is not below the second one", next));
    }
    if accept.is_empty() && others.is_empty() {
        let happened =
            "a search needs at least one of latency-mean, latency-p50, latency-p99 and latency-max";
        return Err(source.problem(at, happened, next));
    }
    let within = given.within.unwrap_or(WITHIN_PERCENT);
    if !(0.1..=100.0).contains(&within) {
        let happened = format!("within = {within} is not from 0.1 to 100 percent");
        return Err(source.problem(at, &happened, "Give a percentage, such as 5."));
    }
    let steps = Steps::Search { over, from, to, resolution: within / 100.0, accept };
    Ok(JobSteps { steps: Some(steps), others })
}

/// Takes the bounds on the latencies of a job out of a table.
fn bounds(source: &Source<'_>, at: &[&str], table: &mut Table) -> Result<Vec<Bound>, Failure> {
    let mut bounds = Vec::new();
    for (key, measure) in LATENCIES {
        let Some(value) = table.remove(key) else { continue };
        let next = "Write a time, such as \"10ms\".";
        let Value::String(text) = value else {
            return Err(source.problem(at, &format!("`{key}` must be a string"), next));
        };
        let most = parse_duration(&source.fill_all(at, &text)?)
            .map_err(|wrong| source.problem(at, &wrong, next))?;
        bounds.push(Bound::at_most(Metric::all(measure), most.as_secs_f64()));
    }
    Ok(bounds)
}

/// Takes the fewest operations per second of a job out of a table.
fn least_iops(
    source: &Source<'_>,
    at: &[&str],
    table: &mut Table,
) -> Result<Option<Bound>, Failure> {
    match table.remove(IOPS) {
        None => Ok(None),
        Some(Value::Integer(least)) if least > 0 => {
            Ok(Some(Bound::at_least(Metric::all(Measure::IOPS), least as f64)))
        }
        Some(_) => {
            let happened = format!("`{IOPS}` must be a whole number of at least 1");
            Err(source.problem(at, &happened, "Write, for example: iops = 500."))
        }
    }
}

/// Takes the bounds on jobs that run at the same time out of a table.
fn bounds_of_others(
    source: &Source<'_>,
    at: &[&str],
    table: &mut Table,
) -> Result<Vec<JobBound>, Failure> {
    let next = "Write, for example: while.reads.latency-p99 = \"10ms\".";
    let jobs = match table.remove(WHILE) {
        None => return Ok(Vec::new()),
        Some(Value::Table(jobs)) => jobs,
        Some(_) => {
            let happened = "`while` of a search must be a table of bounds by the names of jobs";
            return Err(source.problem(at, happened, next));
        }
    };
    let mut others = Vec::new();
    for (job, table) in jobs {
        let at = [at, &[WHILE, job.as_str()]].concat();
        let Value::Table(mut table) = table else {
            return Err(source.problem(&at, "the bounds on a job must be a table", next));
        };
        let mut bounds = bounds(source, &at, &mut table)?;
        bounds.extend(least_iops(source, &at, &mut table)?);
        if let Some((unknown, _)) = table.iter().next() {
            let known: Vec<&str> =
                LATENCIES.map(|(key, _)| key).into_iter().chain([IOPS]).collect();
            let happened = format!("unknown bound `{unknown}`");
            return Err(source.problem(&at, &happened, &nearest(unknown, &known)));
        }
        if bounds.is_empty() {
            return Err(source.problem(&at, "no bound on this job is given", next));
        }
        others.extend(bounds.into_iter().map(|bound| JobBound { job: job.clone(), bound }));
    }
    Ok(others)
}
