//! fio's JSON (`--output-format=json` and `json+`), of fio 2 and 3; see its HOWTO, "JSON output",
//! and stat.c. Times are microseconds under `slat`, `clat`, `lat` (fio 2) and nanoseconds under
//! `slat_ns`, `clat_ns`, `lat_ns` (fio 3).

use super::malformed::{Malformed, Parsed};
use super::run::{ALL_CLIENTS, Client, Cpu, FioOptions, Form, Half, Run, Section, reported_error};
use super::{units, version};
use plimsoll_model::{Histogram, LatencySummary};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

type Options = BTreeMap<String, Value>;

/// A document whose jobs are read as `J`.
#[derive(Deserialize)]
struct Document<J> {
    #[serde(rename = "fio version")]
    version: String,
    timestamp: Option<f64>,
    timestamp_ms: Option<f64>,
    #[serde(rename = "global options", default)]
    global: Global,
    jobs: Option<Vec<J>>,
    /// Of fio's server mode: the jobs of all clients, and then all of them added up.
    client_stats: Option<Vec<J>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Global {
    Alone(Options),
    /// Of several clients, each with its `hostname` and `port`.
    Clients(Vec<Options>),
}

impl Default for Global {
    fn default() -> Self {
        Global::Alone(Options::new())
    }
}

impl Global {
    /// The options of a job.
    fn options(&self, job: &Job) -> Option<&Options> {
        let is_of = |options: &&Options| {
            let text = |name| options.get(name).and_then(Value::as_str);
            let port = options.get("port").and_then(Value::as_u64);
            text("hostname") == job.hostname.as_deref() && port == job.port
        };
        match self {
            Global::Alone(options) => Some(options),
            Global::Clients(each) => each.iter().find(is_of),
        }
    }
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
    usr_cpu: Option<f64>,
    sys_cpu: Option<f64>,
    #[serde(default)]
    ctx: u64,
    #[serde(default)]
    majf: u64,
    #[serde(default)]
    minf: u64,
    #[serde(default)]
    iodepth_level: BTreeMap<String, f64>,
    sync: Option<Syncs>,
    /// The client, in fio's server mode.
    hostname: Option<String>,
    port: Option<u64>,
}

#[derive(Deserialize)]
struct Syncs {
    #[serde(default)]
    total_ios: u64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
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

/// A job that failed may have an empty one.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Latency {
    min: f64,
    max: f64,
    mean: f64,
    stddev: f64,
    /// Samples; since 3.6.
    #[serde(rename = "N")]
    samples: Option<u64>,
    percentile: BTreeMap<String, f64>,
    bins: BTreeMap<String, u64>,
}

const NEXT: &str = "Give a file that fio wrote with --output-format=json or json+.";

/// Runs in a JSON document of fio that starts on line `first` of its file. Each job is read
/// separately, so an unreadable job does not affect the others.
pub(super) fn read(
    text: &str,
    first: usize,
    invocation: usize,
    section: &Section,
) -> Parsed<Vec<Parsed<Run>>> {
    let refused = |e: serde_json::Error| Malformed::json(first, &e, NEXT);
    let whole = serde_json::from_str::<Document<Job>>(text);
    let (document, jobs) = match whole {
        Ok(mut document) => {
            let jobs = document.take_jobs(first)?;
            let lines = job_lines(text, first, jobs.len());
            (
                document.head(),
                lines.into_iter().zip(jobs).map(|(line, job)| (line, Ok(job))).collect(),
            )
        }
        Err(error) => {
            let mut document: Document<Value> = serde_json::from_str(text).map_err(refused)?;
            let jobs = document.take_jobs(first)?;
            (document.head(), one_by_one(text, first, jobs, error))
        }
    };
    version::check(&document.version, first)?;
    let jobs: Vec<(usize, Parsed<Job>)> = jobs;
    let mut alike: BTreeMap<_, usize> = BTreeMap::new();
    for job in jobs.iter().filter_map(|(_, job)| job.as_ref().ok()) {
        *alike.entry(job.key()).or_default() += 1;
    }
    let alike: Vec<bool> = jobs
        .iter()
        .map(|(_, job)| job.as_ref().is_ok_and(|job| alike.get(&job.key()).is_some_and(|n| *n > 1)))
        .collect();
    let run = |((line, job), separate): ((usize, Parsed<Job>), bool)| {
        Ok(run(job?, line, separate, &document, invocation, section))
    };
    Ok(jobs.into_iter().zip(alike).map(run).collect())
}

/// Jobs of a document that is not read whole. The first that is wrong has the place where reading it
/// ended; of the others the line of the name is known.
fn one_by_one(
    text: &str,
    first: usize,
    jobs: Vec<Value>,
    error: serde_json::Error,
) -> Vec<(usize, Parsed<Job>)> {
    let lines = job_lines(text, first, jobs.len());
    let mut exact = Some(Malformed::json(first, &error, NEXT));
    let mut read = |(line, job): (usize, Value)| {
        let wrong =
            |e: serde_json::Error| exact.take().unwrap_or_else(|| Malformed::new(line, e, NEXT));
        (line, Job::deserialize(job).map_err(wrong))
    };
    lines.into_iter().zip(jobs).map(&mut read).collect()
}

/// Values of a document that apply to all its jobs.
struct Head {
    version: String,
    printed_unix_seconds: Option<f64>,
    global: Global,
}

impl<J> Document<J> {
    fn take_jobs(&mut self, line: usize) -> Parsed<Vec<J>> {
        let missing = || Malformed::new(line, "neither 'jobs' nor 'client_stats' is there", NEXT);
        match (self.jobs.take(), self.client_stats.take()) {
            (None, None) => Err(missing()),
            (jobs, clients) => Ok(jobs.into_iter().chain(clients).flatten().collect()),
        }
    }

    fn head(self) -> Head {
        Head {
            version: self.version,
            printed_unix_seconds: self.timestamp_ms.map(|ms| ms / 1e3).or(self.timestamp),
            global: self.global,
        }
    }
}

impl Job {
    /// Jobs that are alike in this are one run, which fio reported job by job.
    fn key(&self) -> (String, i64, Client) {
        (self.jobname.clone(), self.groupid, self.client())
    }

    fn client(&self) -> Client {
        match (&self.hostname, self.port) {
            (None, _) => Client::Alone,
            (Some(_), _) if self.jobname == ALL_CLIENTS && self.options.is_none() => Client::All,
            (Some(host), None) => Client::One(host.clone()),
            (Some(host), Some(port)) => Client::One(format!("{host}:{port}")),
        }
    }
}

/// One job of a document.
fn run(
    job: Job,
    line: usize,
    separate: bool,
    document: &Head,
    invocation: usize,
    section: &Section,
) -> Run {
    let asked = fio_options(document.global.options(&job), &job, separate);
    let cpu = job.usr_cpu.zip(job.sys_cpu).map(|(user_percent, system_percent)| Cpu {
        user_percent,
        system_percent,
        job_seconds: job.job_runtime.map(|ms| ms / 1e3),
        context_switches: job.ctx,
        major_faults: job.majf,
        minor_faults: job.minf,
    });
    Run {
        form: Form::Json,
        line,
        invocation,
        section: section.clone(),
        client: job.client(),
        version: document.version.clone(),
        name: job.jobname,
        group: job.groupid,
        printed_unix_seconds: document.printed_unix_seconds,
        error: reported_error(job.error),
        read: half(job.read, &asked),
        write: half(job.write, &asked),
        unified: half(job.mixed, &asked),
        cpu,
        depth_shares: job.iodepth_level.into_iter().map(|(k, v)| (k, v / 100.0)).collect(),
        syncs: job.sync.map(|syncs| syncs.total_ios),
        notes: match job.trim {
            Some(trim) if trim.io_bytes > 0.0 => {
                vec!["trims also ran; they are ignored".to_owned()]
            }
            _ => Vec::new(),
        },
        repeated: Vec::new(),
        ambiguous: None,
        asked,
    }
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

/// Options that keep fio below the rate that the storage has.
const RATE_LIMITS: [&str; 3] = ["rate", "rate_iops", "thinktime"];

fn fio_options(global: Option<&Options>, job: &Job, separate: bool) -> FioOptions {
    let own = job.options.as_ref();
    let option = |names: &[&str]| {
        let find = |options: &Options| {
            names.iter().find_map(|name| match options.get(*name)? {
                Value::String(text) => Some(text.clone()),
                Value::Number(number) => Some(number.to_string()),
                _ => Some(String::new()),
            })
        };
        own.and_then(find).or_else(|| global.and_then(find))
    };
    let listed = own.is_some() || global.is_some_and(|options| !options.is_empty());
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
    FioOptions {
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
        rate_limits: rate_limits(option),
        percent_random: option(&["percentage_random"]),
    }
}

/// Rate limits that are set, in fio's notation: `rate_iops=350,150`.
fn rate_limits(option: impl Fn(&[&str]) -> Option<String>) -> Vec<String> {
    let set = |name: &&str| {
        let value: String = option(&[*name])?.chars().take(40).collect();
        // None, or none in either direction.
        let limits = value
            .split([',', ':'])
            .any(|part| part.bytes().any(|b| b.is_ascii_digit() && b != b'0'));
        limits.then(|| format!("{name}={}", value.escape_debug()))
    };
    RATE_LIMITS.iter().filter_map(set).collect()
}

fn half(direction: Option<Direction>, asked: &FioOptions) -> Option<Half> {
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
        // Without it the volume was cut off at a KiB.
        bytes_step: if direction.io_kbytes.is_some() { 0.0 } else { 1024.0 },
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
