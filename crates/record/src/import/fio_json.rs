//! fio's JSON (`--output-format=json` and `json+`), of fio 2 and 3; see its HOWTO, "JSON output",
//! and stat.c. Times are microseconds under `slat`, `clat`, `lat` (fio 2) and nanoseconds under
//! `slat_ns`, `clat_ns`, `lat_ns` (fio 3).

use super::malformed::{Malformed, Parsed};
use super::run::{Asked, Cpu, Form, Half, Run, Section};
use super::{units, version};
use plimsoll_model::{Histogram, LatencySummary};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

type Options = BTreeMap<String, Value>;

#[derive(Deserialize)]
struct Document {
    #[serde(rename = "fio version")]
    version: String,
    timestamp: Option<f64>,
    timestamp_ms: Option<f64>,
    #[serde(rename = "global options", default)]
    global: Options,
    jobs: Vec<Job>,
}

#[derive(Deserialize)]
struct Job {
    jobname: String,
    #[serde(default)]
    groupid: i64,
    #[serde(default)]
    error: i64,
    #[serde(rename = "job options")]
    options: Option<Options>,
    read: Option<Direction>,
    write: Option<Direction>,
    trim: Option<Direction>,
    mixed: Option<Direction>,
    job_runtime: Option<f64>,
    usr_cpu: f64,
    sys_cpu: f64,
    ctx: u64,
    #[serde(default)]
    majf: u64,
    #[serde(default)]
    minf: u64,
    #[serde(default)]
    iodepth_level: BTreeMap<String, f64>,
}

#[derive(Deserialize)]
struct Direction {
    io_bytes: f64,
    /// Since 2.16; before, `io_bytes` itself held KiB.
    io_kbytes: Option<f64>,
    iops: f64,
    runtime: f64,
    total_ios: Option<u64>,
    slat: Option<Latency>,
    clat: Option<Latency>,
    lat: Option<Latency>,
    slat_ns: Option<Latency>,
    clat_ns: Option<Latency>,
    lat_ns: Option<Latency>,
}

#[derive(Deserialize)]
struct Latency {
    min: f64,
    max: f64,
    mean: f64,
    #[serde(default)]
    stddev: f64,
    /// Samples; since 3.6.
    #[serde(rename = "N")]
    samples: Option<u64>,
    #[serde(default)]
    percentile: BTreeMap<String, f64>,
    #[serde(default)]
    bins: BTreeMap<String, u64>,
}

const NEXT: &str = "Give a file that fio wrote with --output-format=json or json+.";

/// The runs in a JSON document of fio, which begins in line `first` of its file.
pub(super) fn read(
    text: &str,
    first: usize,
    invocation: usize,
    section: &Section,
) -> Parsed<Vec<Run>> {
    let refused = |e: serde_json::Error| Malformed::json(first, &e, NEXT);
    let document: Document = serde_json::from_str(text).map_err(refused)?;
    version::check(&document.version, first)?;
    let printed = document.timestamp_ms.map(|ms| ms / 1e3).or(document.timestamp);
    let lines = job_lines(text, first, document.jobs.len());
    let several = |job: &Job, all: &[Job]| {
        all.iter().filter(|j| (&j.jobname, j.groupid) == (&job.jobname, job.groupid)).count() > 1
    };
    let several: Vec<bool> = match document.jobs.len() {
        // Looked at pair by pair: more jobs than this are each known by their name alone.
        n if n <= 4096 => document.jobs.iter().map(|j| several(j, &document.jobs)).collect(),
        n => vec![false; n],
    };
    let mut runs = Vec::new();
    for ((job, line), separate) in document.jobs.into_iter().zip(lines).zip(several) {
        let asked = asked(&document.global, &job, separate);
        runs.push(Run {
            form: Form::Json,
            line,
            invocation,
            section: section.clone(),
            version: document.version.clone(),
            name: job.jobname,
            group: job.groupid,
            printed_unix_seconds: printed,
            error: (job.error != 0).then(|| format!("fio reports error {}", job.error)),
            read: half(job.read, &asked),
            write: half(job.write, &asked),
            unified: half(job.mixed, &asked),
            cpu: Some(Cpu {
                user_percent: job.usr_cpu,
                system_percent: job.sys_cpu,
                job_seconds: job.job_runtime.map(|ms| ms / 1e3),
                context_switches: job.ctx,
                major_faults: job.majf,
                minor_faults: job.minf,
            }),
            depth_shares: job.iodepth_level.into_iter().map(|(k, v)| (k, v / 100.0)).collect(),
            notes: match job.trim {
                Some(trim) if trim.io_bytes > 0.0 => {
                    vec!["trims ran as well; they are left out".to_owned()]
                }
                _ => Vec::new(),
            },
            repeated: Vec::new(),
            ambiguous: None,
            asked,
        });
    }
    Ok(runs)
}

/// The line of every job's name, as many as there are jobs.
fn job_lines(text: &str, first: usize, jobs: usize) -> Vec<usize> {
    let is_name = |line: &str| {
        line.trim_start().strip_prefix("\"jobname\"").is_some_and(|rest| rest.contains(':'))
    };
    let named = text.lines().enumerate().filter(|(_, line)| is_name(line));
    let mut lines: Vec<usize> = named.map(|(i, _)| first + i).take(jobs).collect();
    lines.resize(jobs, first);
    lines
}

fn asked(global: &Options, job: &Job, separate: bool) -> Asked {
    let own = job.options.as_ref();
    let option = |names: &[&str]| {
        let find = |options: &Options| {
            names.iter().find_map(|name| match options.get(*name)? {
                Value::String(text) => Some(text.clone()),
                Value::Number(number) => Some(number.to_string()),
                _ => Some(String::new()),
            })
        };
        own.and_then(find).or_else(|| find(global))
    };
    let listed = own.is_some() || !global.is_empty();
    let number = |names: &[&str]| option(names).and_then(|text| text.parse::<u64>().ok());
    let block = option(&["bs", "blocksize"]);
    let same = block.as_deref().and_then(units::option_size);
    let separate_jobs = separate.then_some(1);
    let longest = [&job.read, &job.write, &job.mixed]
        .into_iter()
        .flatten()
        .map(|half| half.runtime)
        .fold(0.0, f64::max);
    // Some versions leave numjobs out where it is a global option: the runtimes added up tell.
    let by_runtime = job
        .job_runtime
        .filter(|_| longest > 0.0)
        .map(|all| (all / longest).round().clamp(1.0, 65_535.0) as u64);
    Asked {
        // Not listed at all: unknown. Listed without: fio's default.
        rw: option(&["rw", "readwrite"]).or_else(|| listed.then(|| "read".to_owned())),
        engine: option(&["ioengine"]).unwrap_or_default(),
        depth: number(&["iodepth"]).or(listed.then_some(1)),
        block: match (&block, option(&["bsrange", "bssplit"])) {
            (None, None) if listed => Some((4096, 4096)),
            (_, None) => same.map(|size| (size, size)),
            _ => None,
        },
        size: option(&["size", "filesize"]).as_deref().and_then(units::option_size),
        jobs: separate_jobs.or(number(&["numjobs"])).or(by_runtime).or(listed.then_some(1)),
        one_file: option(&["filename"]).is_some(),
        synchronous: option(&["sync"]).is_some_and(|v| v != "0" && v != "none"),
    }
}

fn half(direction: Option<Direction>, asked: &Asked) -> Option<Half> {
    let direction = direction?;
    let bytes = match direction.io_kbytes {
        Some(_) => direction.io_bytes,
        None => direction.io_bytes * 1024.0,
    };
    let seconds = direction.runtime / 1e3;
    let by_block = asked.block.filter(|(least, most)| least == most && *least > 0);
    let operations = direction.total_ios.unwrap_or_else(|| match by_block {
        Some((block, _)) => (bytes / block as f64).round() as u64,
        None => (direction.iops * seconds).round() as u64,
    });
    if operations == 0 {
        return None;
    }
    let either = |fine: Option<Latency>, coarse: Option<Latency>| {
        fine.and_then(|l| summary(l, 1.0, operations))
            .or_else(|| coarse.and_then(|l| summary(l, 1e3, operations)))
    };
    Some(Half {
        submission: either(direction.slat_ns, direction.slat),
        completion: either(direction.clat_ns, direction.clat),
        total: either(direction.lat_ns, direction.lat),
        ..Half::new(operations, bytes, seconds)
    })
}

/// A latency in units of so many nanoseconds; `None` where fio took no samples, which it prints
/// as zeros.
fn summary(latency: Latency, nanoseconds: f64, operations: u64) -> Option<LatencySummary> {
    let Latency { min, max, mean, stddev, samples, percentile, bins } = latency;
    if samples.unwrap_or(operations) == 0 || (max == 0.0 && mean == 0.0) {
        return None;
    }
    let seconds = |value: f64| value * nanoseconds / 1e9;
    let quantile =
        |(percent, value): (&String, &f64)| Some((units::quantile(percent)?, seconds(*value)));
    let mut buckets: Vec<(u64, u64)> = bins
        .iter()
        .filter_map(|(at, count)| {
            Some((at.parse::<u64>().ok()?.checked_mul(nanoseconds as u64)?, *count))
        })
        .collect();
    buckets.sort_unstable();
    Some(LatencySummary {
        mean_seconds: seconds(mean),
        min_seconds: seconds(min),
        max_seconds: seconds(max),
        standard_deviation_seconds: Some(seconds(stddev)),
        quantiles_seconds: percentile.iter().filter_map(quantile).collect(),
        histogram: (!buckets.is_empty()).then_some(Histogram { buckets_ns: buckets }),
    })
}
