//! One run of fio, whatever form it was read from.

use super::latency::{self, Counted};
use super::units;
use plimsoll_model::LatencySummary;
use std::collections::BTreeMap;

/// The form that a run was read from, the most exact first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Form {
    Json,
    Text,
    Terse,
}

/// Section of a run in its file: the lines `Testing ..` and `Running ..` above it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Section {
    pub(super) target: Option<String>,
    pub(super) test: Option<String>,
}

/// Whose figures a report of fio's server mode has.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Client {
    /// fio ran alone, without servers.
    #[default]
    Alone,
    /// One of several clients, by its name.
    One(String),
    /// All clients together, added up by fio.
    All,
}

/// fio's name of the report that adds up its clients.
pub(super) const ALL_CLIENTS: &str = "All clients";

/// A run, or one job of a run: its options and its results.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) form: Form,
    /// First line, from 1.
    pub(super) line: usize,
    /// Runs of different fio invocations have different numbers, as far as is known.
    pub(super) invocation: usize,
    pub(super) section: Section,
    pub(super) client: Client,
    /// "fio-3.33"; empty where the form does not say.
    pub(super) version: String,
    pub(super) name: String,
    /// fio's number of the group that the job ran in.
    pub(super) group: i64,
    pub(super) asked: FioOptions,
    /// Seconds since 1970 at which the figures were printed.
    pub(super) printed_unix_seconds: Option<f64>,
    /// Why fio calls the run failed.
    pub(super) error: Option<String>,
    pub(super) read: Option<Half>,
    pub(super) write: Option<Half>,
    /// Reads and writes that fio reported as one (`unified_rw_reporting`).
    pub(super) unified: Option<Half>,
    pub(super) cpu: Option<Cpu>,
    /// Share (0..1) of operations by level of depth, with fio's names of the levels.
    pub(super) depth_shares: BTreeMap<String, f64>,
    /// How often files were synced; `None` where the form does not say.
    pub(super) syncs: Option<u64>,
    pub(super) notes: Vec<String>,
    /// Less exact forms of the same run in the file.
    pub(super) repeated: Vec<Form>,
    /// Line of a second terse line of this name, which may be a job of this run or another run.
    pub(super) ambiguous: Option<usize>,
}

/// Options of the job, as far as the form contains them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FioOptions {
    /// fio's word: `randread`.
    pub(super) rw: Option<String>,
    pub(super) engine: String,
    pub(super) depth: Option<u64>,
    /// Smallest and largest block of the directions that were used.
    pub(super) block: Option<(u64, u64)>,
    /// Bytes a job works on.
    pub(super) size: Option<u64>,
    /// Jobs that are reported together here.
    pub(super) jobs: Option<u64>,
    /// Whether all jobs work on one named file.
    pub(super) one_file: bool,
    /// Whether every write is stable when it completes.
    pub(super) synchronous: bool,
    /// Options that keep fio below the rate that the storage has: `rate_iops=350`.
    pub(super) rate_limits: Vec<String>,
    /// Percent of the offsets that are random, as fio was given it.
    pub(super) percent_random: Option<String>,
}

impl FioOptions {
    /// This with the jobs of another that do the same work; `None` where they do not.
    pub(super) fn and(self, other: &FioOptions) -> Option<FioOptions> {
        let work = |asked: &FioOptions| {
            let FioOptions { rw, engine, depth, block, synchronous, .. } = asked;
            (rw.clone(), engine.clone(), *depth, *block, *synchronous)
        };
        let limits = (&self.rate_limits, &self.percent_random);
        let same =
            work(&self) == work(other) && limits == (&other.rate_limits, &other.percent_random);
        let jobs = self.jobs.zip(other.jobs).map(|(a, b)| a.saturating_add(b));
        same.then_some(FioOptions { jobs, ..self })
    }
}

/// One direction of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Half {
    pub(super) operations: u64,
    pub(super) bytes: f64,
    /// Rounding error of `bytes` in this form.
    pub(super) bytes_step: f64,
    pub(super) seconds: f64,
    /// Operations and bytes per second: over the whole runtime, as fio computes them.
    pub(super) iops: f64,
    pub(super) bytes_per_second: f64,
    /// slat, clat and lat; absent where fio had no samples.
    pub(super) submission: Option<LatencySummary>,
    pub(super) completion: Option<LatencySummary>,
    pub(super) total: Option<LatencySummary>,
}

/// fio's account of its own CPU time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cpu {
    /// Percent of one job's runtime.
    pub(super) user_percent: f64,
    pub(super) system_percent: f64,
    /// Runtimes of all jobs added up, where fio says that.
    pub(super) job_seconds: Option<f64>,
    pub(super) context_switches: u64,
    pub(super) major_faults: u64,
    pub(super) minor_faults: u64,
}

/// Why fio calls a job failed, of the number that it prints.
pub(super) fn reported_error(number: i64) -> Option<String> {
    let code = i32::try_from(number).ok().filter(|code| *code > 0);
    match (number, code) {
        (0, _) => None,
        (_, Some(code)) => {
            let error = std::io::Error::from_raw_os_error(code).to_string();
            let words = error.split(" (os error").next().unwrap_or_default();
            Some(format!("fio reports error {code}: {words}"))
        }
        _ => Some(format!("fio reports error {number}")),
    }
}

impl Run {
    pub(super) fn halves(&self) -> impl Iterator<Item = &Half> {
        [&self.read, &self.write, &self.unified].into_iter().flatten()
    }

    /// Duration of the longer direction.
    pub(super) fn seconds(&self) -> f64 {
        self.halves().map(|half| half.seconds).fold(0.0, f64::max)
    }

    /// The runtimes of all jobs added up: fio's CPU percents are of this. Where fio does not say
    /// it, every job ran as long as the run.
    pub(super) fn job_seconds(&self) -> Option<f64> {
        let reported = self.cpu.and_then(|cpu| cpu.job_seconds);
        reported.or_else(|| Some(self.asked.jobs? as f64 * self.seconds()))
    }

    /// Values that are equal in every form: section, name, group, runtimes in milliseconds.
    pub(super) fn key(&self) -> (Section, String, i64, [Option<u64>; 3]) {
        let milliseconds =
            |half: &Option<Half>| half.as_ref().map(|h| (h.seconds * 1e3).round() as u64);
        let all = [&self.read, &self.write, &self.unified].map(milliseconds);
        (self.section.clone(), self.name.clone(), self.group, all)
    }

    /// Whether this and a run of the same key, but read from another form, are one run, printed
    /// twice: they moved the same volume.
    pub(super) fn is_also(&self, other: &Run) -> bool {
        let bytes = |run: &Run| run.halves().map(|half| half.bytes).sum::<f64>();
        let (a, b) = (bytes(self), bytes(other));
        // The text has four digits, terse output whole KiB.
        self.form != other.form && (a - b).abs() <= 0.002 * a.max(b) + 4096.0
    }

    /// Whether this and another run of the same target are one run that was given twice: same time,
    /// same figures.
    pub(super) fn is_again(&self, other: &Run) -> bool {
        self.key() == other.key()
            && self.form == other.form
            && self.client == other.client
            && self.printed_unix_seconds == other.printed_unix_seconds
            && (&self.read, &self.write, &self.unified, self.cpu)
                == (&other.read, &other.write, &other.unified, other.cpu)
    }

    /// How many operations were in flight on average, in each job, by Little's law; `None` where the form
    /// does not say how long they took, or how many jobs there were.
    pub(super) fn in_flight(&self) -> Option<f64> {
        let seconds = self.seconds();
        let mut sum = 0.0;
        for half in self.halves() {
            let latency = half.total.as_ref().or(half.completion.as_ref())?;
            sum += half.operations as f64 * latency.mean_seconds;
        }
        let jobs = self.asked.jobs.filter(|jobs| *jobs > 0)? as f64;
        (seconds > 0.0 && sum > 0.0).then(|| sum / seconds / jobs)
    }

    /// Adds missing values from a less exact form of the same run.
    pub(super) fn take_over(&mut self, other: Run) {
        let asked = &mut self.asked;
        asked.rw = asked.rw.take().or(other.asked.rw);
        asked.jobs = asked.jobs.or(other.asked.jobs);
        asked.depth = asked.depth.or(other.asked.depth);
        asked.block = asked.block.or(other.asked.block);
        if asked.engine.is_empty() {
            asked.engine = other.asked.engine;
        }
        self.repeated.push(other.form);
        self.repeated.extend(other.repeated);
    }

    /// Takes in another job of the same run: volumes and CPU time are added, the runtime is that
    /// of the longest, as fio does it with `group_reporting`.
    pub(super) fn add_job(&mut self, job: Run) {
        let weight = |run: &Run| run.halves().map(|h| h.operations as f64).sum::<f64>();
        let (own, new) = (weight(self), weight(&job));
        self.error = self.error.take().or(job.error);
        self.syncs = self.syncs.zip(job.syncs).map(|(a, b)| a.saturating_add(b));
        for (level, share) in job.depth_shares {
            *self.depth_shares.entry(level).or_default() += share * new / own.max(1.0);
        }
        let whole = 1.0 + new / own.max(1.0);
        self.depth_shares.values_mut().for_each(|share| *share /= whole);
        self.cpu = self.cpu.zip(job.cpu).map(|(a, b)| {
            let jobs = self.asked.jobs.unwrap_or(1) as f64;
            let (x, y) = match a.job_seconds.zip(b.job_seconds) {
                Some(seconds) => seconds,
                None => (jobs, 1.0),
            };
            let mean = |a: f64, b: f64| if x + y > 0.0 { (a * x + b * y) / (x + y) } else { 0.0 };
            Cpu {
                user_percent: mean(a.user_percent, b.user_percent),
                system_percent: mean(a.system_percent, b.system_percent),
                job_seconds: a.job_seconds.zip(b.job_seconds).map(|(a, b)| a + b),
                context_switches: a.context_switches.saturating_add(b.context_switches),
                major_faults: a.major_faults.saturating_add(b.major_faults),
                minor_faults: a.minor_faults.saturating_add(b.minor_faults),
            }
        });
        for (own, new) in [
            (&mut self.read, job.read),
            (&mut self.write, job.write),
            (&mut self.unified, job.unified),
        ] {
            match (own, new) {
                (Some(own), Some(new)) => own.add(&new),
                (own @ None, new) => *own = new,
                (Some(_), None) => {}
            }
        }
        self.asked.jobs = self.asked.jobs.zip(job.asked.jobs).map(|(a, b)| a.saturating_add(b));
    }
}

impl Half {
    /// Rates from volumes and runtime.
    pub(super) fn new(operations: u64, bytes: f64, seconds: f64) -> Half {
        let rate = |amount: f64| if seconds > 0.0 { amount / seconds } else { 0.0 };
        Half {
            operations,
            bytes,
            seconds,
            iops: rate(operations as f64),
            bytes_per_second: rate(bytes),
            ..Half::default()
        }
    }

    /// Puts right how much was moved.
    pub(super) fn set_bytes(&mut self, bytes: f64) {
        self.bytes = bytes;
        self.bytes_step = 0.0;
        self.bytes_per_second = if self.seconds > 0.0 { bytes / self.seconds } else { 0.0 };
    }

    /// Bytes of an operation, where all have the same size: the roundest that the volume allows.
    pub(super) fn block(&self) -> Option<u64> {
        units::roundest(self.bytes, self.bytes_step, self.operations)
    }

    /// Latency with the percentiles: clat, or lat if fio's options select it.
    pub(super) fn client(&self) -> Option<&LatencySummary> {
        let has = |latency: &&LatencySummary| !latency.quantiles_seconds.is_empty();
        let completion = self.completion.as_ref();
        let total = self.total.as_ref();
        completion.filter(has).or(total.filter(has)).or(completion).or(total)
    }

    fn add(&mut self, other: &Half) {
        let merged = |a: &Option<LatencySummary>, b: &Option<LatencySummary>| match (a, b) {
            (Some(a), Some(b)) => Some(latency::merged(
                Counted { operations: self.operations, latency: a },
                Counted { operations: other.operations, latency: b },
            )),
            (a, b) => a.clone().or_else(|| b.clone()),
        };
        *self = Half {
            submission: merged(&self.submission, &other.submission),
            completion: merged(&self.completion, &other.completion),
            total: merged(&self.total, &other.total),
            bytes_step: self.bytes_step + other.bytes_step,
            ..Half::new(
                self.operations.saturating_add(other.operations),
                self.bytes + other.bytes,
                self.seconds.max(other.seconds),
            )
        };
    }
}
