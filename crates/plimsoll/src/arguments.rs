//! Arguments that several commands share. Those of one command are in its file.

use crate::jobs::JobArguments;
use clap::{Args, ValueEnum};
use plimsoll_model::units::parse_duration;
use plimsoll_model::{Arrival, Design, Engine, HostRole, PageCache, Rule, Target, Watched};
use std::num::{NonZeroU16, NonZeroU32};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// Family-wise confidence of intervals and verdicts.
pub const CONFIDENCE: f64 = 0.95;

// Help texts that hold brackets: in a doc comment those would be links.
const CREDENTIALS_LONG_HELP: &str = "Read passwords of SMB users from this file. It has a line '[user@host]' \
for each user, followed by a line 'password = …'. Only its owner may have access to it. The environment \
variable PLIMSOLL_PASSWORD takes precedence. If neither has the password, plimsoll prompts for it at the \
terminal [default: plimsoll/credentials in the user's configuration directory]";

const HOST_LONG_HELP: &str = "Monitor the CPU, disk and network of a target's server while the load runs. \
Nothing is installed on the server. HOST is ssh://[user@]host[:port] (uses the system's ssh), \
lab://name/host, local, or auto. 'auto' takes the server from the URL of each target, if ssh can log in \
without a prompt. 2=HOST is the server of the second target; without a number, HOST is the server of all \
targets. May be given several times";

const ON_LONG_HELP: &str = "Run the load on this host instead of this machine. HOST is \
ssh://[user@]host[:port] (uses the system's ssh), lab://name/host, or local. Directories are directories of \
that host, and that host connects to the servers. plimsoll deploys a program there for the duration of the \
run (Linux on x86_64 or aarch64). Results, passwords and the store stay here. If given several times, all \
these hosts run each trial at the same time, each on its own files. 'local' is this machine";

const SET_LONG_HELP: &str = "Compare values of a setting of this machine or of a host, such as sysctl:KEY, \
export-sync:PATH or nfsd-threads (docs/settings.md lists all settings). The value 'as-found' is the value \
before the run; plimsoll restores it at the end. If given several times, every combination of values is \
measured";

pub const CONTINUE_HELP: &str = "Continue this study: its id, the start of its id, or 'latest'";

pub const CONTINUE_LONG_HELP: &str = "Continue an earlier study: its id, the start of its id, or 'latest'. \
Its targets and options are used again; do not repeat them. Settings that it left changed are restored first. \
--max-time starts again at 0 [default: the rest of the study's time, at least 10min]";

const DB_HELP: &str = "Store of results [env: PLIMSOLL_DB] [default: plimsoll/studies.db in the user's data \
directory]";

#[derive(Args)]
pub struct StoreArguments {
    #[arg(long, global = true, value_name = "FILE", help = DB_HELP, hide_short_help = true)]
    pub db: Option<PathBuf>,
}

#[derive(Args)]
#[command(next_help_heading = "Hosts")]
pub struct HostArguments {
    /// Run the load on this host
    #[arg(long, value_name = "HOST", long_help = ON_LONG_HELP)]
    pub on: Vec<String>,
    /// Monitor the server: CPU, disk, network
    #[arg(long = "host", value_name = "[N=]HOST", long_help = HOST_LONG_HELP)]
    pub hosts: Vec<String>,
    /// Compare values of a setting of a host
    #[arg(long = "set", value_name = "[HOST/]NAME=A,B", long_help = SET_LONG_HELP)]
    pub set: Vec<String>,
    /// Drop caches before each trial; needs root
    ///
    /// This applies to the hosts that run the load and to the hosts of --host. Dirty pages are written back first. A
    /// warning names each host that refuses
    #[arg(long)]
    pub drop_caches: bool,
    /// Remove the packet filter rules also from a host with a public address
    ///
    /// Values of --set nft-ruleset without the filter, such as none, and --set conntrack=untracked leave the host open
    /// while they are measured
    #[arg(long)]
    pub allow_open: bool,
}

#[derive(Args)]
#[command(next_help_heading = "Workload")]
pub struct WorkloadArguments {
    /// Number of workers, each with its own connection
    #[arg(long, value_name = "N", default_value = "4")]
    #[arg(value_parser = at_least_one::<NonZeroU16>)]
    pub workers: NonZeroU16,
    /// Operations in flight per worker [default: 1, or up to 32 with --rate]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = at_least_one::<NonZeroU16>)]
    pub depth: Option<NonZeroU16>,
    /// Fixed rate in operations per second (open loop)
    ///
    /// All workers together start operations at equal intervals, instead of as fast as possible. Latency counts from
    /// the time at which an operation was due
    #[arg(long, value_name = "PER SECOND", conflicts_with = "explain")]
    #[arg(value_parser = at_least_one::<NonZeroU32>)]
    pub rate: Option<NonZeroU32>,
    /// Sweep the concurrency to find the bottleneck
    ///
    /// Each workload is also measured with two other numbers of operations in flight. This can identify a bottleneck
    /// that one number alone cannot
    #[arg(long)]
    pub explain: bool,
    /// I/O engine for directories [default: psync at depth 1, io-uring above]
    #[arg(long, value_enum)]
    pub engine: Option<EngineChoice>,
    /// Bypass or use the page cache of directories [default: direct]
    ///
    /// This is the page cache of the host that runs the load, for directories and mounts. Effects of the page cache,
    /// such as read-ahead, appear only with 'page'
    #[arg(long, value_enum)]
    pub cache: Option<CacheChoice>,
    // Last: jobs have headings of their own.
    #[command(flatten)]
    pub jobs: JobArguments,
}

impl WorkloadArguments {
    /// When operations are issued.
    pub fn arrival(&self) -> Arrival {
        let depth = |default| self.depth.or(NonZeroU16::new(default)).unwrap_or(NonZeroU16::MIN);
        match self.rate {
            Some(per_second) => Arrival::Paced { depth: depth(DEPTH_WITH_RATE), per_second },
            None => Arrival::Closed { depth: depth(1) },
        }
    }
}

/// In flight per worker where as many are begun as are due: enough that they hardly wait for each other.
const DEPTH_WITH_RATE: u16 = 32;

#[derive(Args, Debug)]
#[command(next_help_heading = "Duration and statistics")]
pub struct RuleArguments {
    /// Length of one trial [default: chosen by a short run]
    ///
    /// The short run determines the length for each workload, at least 0.5s. With --repeats, the default is 5s
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub time: Option<Duration>,
    /// Time limit [default: 10min; 1min with --quick]
    ///
    /// plimsoll does not start a block that would end later
    #[arg(long, alias = "cap", value_name = "TIME", value_parser = parse_duration)]
    pub max_time: Option<Duration>,
    /// Idle time before the run [default: 5s; 1s with --quick], or studies to compare with: 'last', or a study
    ///
    /// The idle time measures the background load of the hosts; 0s also omits the idle time between blocks. With 'last'
    /// or a study, the result is compared with earlier studies of the same work up to that one. The spread between them
    /// shows changes by chance from day to day; it needs 5 studies. May be given twice: a time and a study
    #[arg(long, value_name = "TIME|STUDY")]
    pub baseline: Vec<Baseline>,
    /// Run exactly this many blocks instead of stopping when the comparisons are decided
    ///
    /// A block measures everything once, in random order
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub repeats: Option<u32>,
    /// First look: measure for about a minute
    ///
    /// The minute (or --max-time) starts after the test files have been created. Workloads that need more time are left
    /// out. The result names the smallest difference that could be detected
    #[arg(long, conflicts_with = "repeats")]
    pub quick: bool,
    /// Differences below this are practically equal
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = percent)]
    pub margin: f64,
    /// Time limit of one operation
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    pub timeout: Duration,
    /// Seed of order, offsets and content [default: random, recorded]
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
}

/// Value of `--baseline`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Baseline {
    /// Idle time before the run.
    Idle(Duration),
    /// Latest of the studies that a study is compared with.
    Study(String),
}

/// Digits of a study's id: as many digits without a unit are no time.
const ID_DIGITS: usize = 8;

impl FromStr for Baseline {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let is_id = text.len() == ID_DIGITS && text.bytes().all(|byte| byte.is_ascii_digit());
        match parse_duration(text) {
            Ok(time) if !is_id => Ok(Baseline::Idle(time)),
            _ if text.trim().is_empty() => {
                Err("give a time such as 5s, 'last', or a study".to_owned())
            }
            _ => Ok(Baseline::Study(text.to_owned())),
        }
    }
}

impl RuleArguments {
    /// Idle time before the run, if the user gave one.
    pub fn idle_time(&self) -> Option<Duration> {
        self.baseline.iter().rev().find_map(|baseline| match baseline {
            Baseline::Idle(time) => Some(*time),
            Baseline::Study(_) => None,
        })
    }

    /// Latest study to compare with, if the user gave one.
    pub fn baseline_study(&self) -> Option<&str> {
        self.baseline.iter().rev().find_map(|baseline| match baseline {
            Baseline::Idle(_) => None,
            Baseline::Study(study) => Some(study.as_str()),
        })
    }
}

/// What studies that the probe measures have in common: their blocks are counted, and not decided by what they show.
#[derive(Args)]
pub struct ProbeArguments {
    /// Directory on each host for the probe [default: a RAM file system]
    ///
    /// The default is the first RAM file system on which programs may run
    #[arg(long, value_name = "DIR")]
    pub probe_dir: Option<String>,
    /// Number of blocks [default: 3; 1 with --quick]
    ///
    /// A block measures everything once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub repeats: Option<u32>,
    /// One short measurement of everything, without intervals
    #[arg(long)]
    pub quick: bool,
    /// Time limit of the study [default: 10min, in plimsoll device for each host]
    ///
    /// plimsoll does not start a block that would end later
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub max_time: Option<Duration>,
    /// Differences below this are practically equal
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = percent)]
    pub margin: f64,
    /// Seed of the order [default: random, recorded]
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
}

impl ProbeArguments {
    /// Blocks where the user names no number: the fewest that have an interval which says something.
    pub const BLOCKS: u32 = 3;
    /// Time limit in seconds where the user names none.
    pub const CAP_SECONDS: f64 = 600.0;

    /// The design of the study; its time limit is `cap_seconds` where the user names none.
    pub fn design(&self, cap_seconds: f64, baseline_seconds: f64) -> Design {
        let blocks = if self.quick { 1 } else { ProbeArguments::BLOCKS };
        Design {
            rule: Rule::Fixed { blocks: self.repeats.unwrap_or(blocks) },
            cap_seconds: self.max_time.map_or(cap_seconds, |time| time.as_secs_f64()),
            baseline_seconds,
            margin: self.margin,
            confidence: CONFIDENCE,
            seed: self.seed.unwrap_or_else(|| u64::from(rand::random::<u32>())),
            calibrate: false,
            quick: false,
        }
    }
}

#[derive(Args)]
#[command(next_help_heading = "Passwords")]
pub struct AccessArguments {
    /// Read passwords of SMB users from this file
    #[arg(long, value_name = "FILE", long_help = CREDENTIALS_LONG_HELP)]
    pub credentials: Option<PathBuf>,
}

#[derive(Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArguments {
    /// Short name of a target
    ///
    /// May be given several times, in the order of the targets [default: the part of each target that differs, such as
    /// protocol, server, share or path]
    #[arg(long = "label", value_name = "NAME")]
    pub labels: Vec<String>,
    /// Also print all figures, warnings and the method
    #[arg(long)]
    pub details: bool,
    /// Also write the study as JSON
    ///
    /// '-' writes it to standard output, and nothing else
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Also write the report, an HTML page
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Overwrite an existing --report file
    #[arg(long)]
    pub force: bool,
    /// Show a full-screen dashboard while the study runs
    #[arg(long)]
    pub live: bool,
    /// Print the result only, no progress
    #[arg(long, short, conflicts_with = "live")]
    pub quiet: bool,
}

impl OutputArguments {
    /// What is shown while the run goes on.
    pub fn show(&self) -> plimsoll_live::Show {
        match (self.quiet, self.live) {
            (true, _) => plimsoll_live::Show::Nothing,
            (false, true) => plimsoll_live::Show::Dashboard,
            (false, false) => plimsoll_live::Show::Line,
        }
    }
}

/// How much of a document is written, and how.
#[derive(Args)]
pub struct DocumentArguments {
    /// Also print every figure
    #[arg(long)]
    pub details: bool,
    #[command(flatten)]
    pub format: FormatArguments,
}

/// How a document is written.
#[derive(Args)]
pub struct FormatArguments {
    /// Write HTML, Markdown or CSV instead of text
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub format: Option<DocumentFormat>,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DocumentFormat {
    /// One self-contained page
    Html,
    /// Markdown
    Markdown,
    /// The tables as CSV, one row for each cell
    Tables,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum EngineChoice {
    /// One io_uring per worker
    IoUring,
    /// Threads that call pread and pwrite
    Psync,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CacheChoice {
    /// Bypass it with O_DIRECT, if the file system supports that
    Direct,
    /// Use it; the files are dropped from the cache before each trial
    Page,
}

impl From<CacheChoice> for PageCache {
    fn from(choice: CacheChoice) -> Self {
        match choice {
            CacheChoice::Direct => PageCache::Direct,
            CacheChoice::Page => PageCache::Page,
        }
    }
}

impl From<EngineChoice> for Engine {
    fn from(choice: EngineChoice) -> Self {
        match choice {
            EngineChoice::IoUring => Engine::IoUring,
            EngineChoice::Psync => Engine::Psync,
        }
    }
}

/// A number of workers, files or the like. The parser of the standard library refuses 0 in words that no user knows.
pub fn at_least_one<N: FromStr>(text: &str) -> Result<N, String> {
    text.parse()
        .map_err(|_| format!("'{text}' is not a whole number of at least 1, or is too large"))
}

pub fn percent(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').parse::<f64>() {
        Ok(p) if (0.1..=100.0).contains(&p) => Ok(p / 100.0),
        _ => Err(format!("'{text}' is not a percentage from 0.1 to 100")),
    }
}

/// `HOST`, or `N=HOST` with the number of a target, from 1. Not a parser of clap's: that would repeat
/// what it refuses, which may hold a password.
pub fn server_host(text: &str) -> Result<Watched, plimsoll_model::Failure> {
    let numbered = text.split_once('=').filter(|(n, _)| n.bytes().all(|b| b.is_ascii_digit()));
    let (target, host) = match numbered {
        Some((number, host)) => match number.parse::<usize>() {
            Ok(number) if number > 0 => (Some(number - 1), host),
            _ => {
                return Err(plimsoll_model::Failure::new(
                    plimsoll_model::Cause::Usage,
                    "understand --host",
                )
                .on(number)
                .happened("it is not the number of a target; the first target is 1")
                .next("Give --host 1=ssh://HOST for the first target."));
            }
        },
        None => (None, text),
    };
    Ok(Watched { subject: target, ..Watched::new(host.parse()?, HostRole::Server) })
}

/// Parses targets with their own words of failure.
pub fn targets(given: &[String]) -> Result<Vec<Target>, plimsoll_model::Failure> {
    given.iter().map(|text| text.parse()).collect()
}
