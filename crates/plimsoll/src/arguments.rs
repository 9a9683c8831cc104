//! The arguments of the commands, and what several of them share.

use crate::jobs::JobArguments;
use clap::{Args, ValueEnum};
use plimsoll_model::units::parse_duration;
use plimsoll_model::{Amount, Arrival, Engine, PageCache, ServerHost, Target};
use std::num::{NonZeroU16, NonZeroU32};
use std::path::PathBuf;
use std::time::Duration;

const TARGET_HELP: &str = "What to measure: a directory, nfs://host[:port]/export/path, or \
smb://[domain;]user@host[:port]/share/path; both take options: ?option=value&… Of several, the \
first is the one that the others are compared with";

const CREDENTIALS_HELP: &str = "Passwords by host and user: lines '[user@host]' with 'password = …' below; nobody else may \
be able to read the file. The environment variable PLIMSOLL_PASSWORD goes first; what is \
in neither is asked for at the terminal [default: plimsoll/credentials in the user's \
configuration directory]";

const HOST_HELP: &str = "The host that a target is served by, to watch its load meanwhile: \
ssh://[user@]host[:port], by the system's own ssh, or local. 2=HOST is that of the second target, \
without a number it is that of all; auto: the server that each target names, where ssh gets there \
without asking. May be given several times. Nothing is installed there";

const ON_HELP: &str = "The host that the work is done from, instead of this machine: \
ssh://[user@]host[:port], by the system's own ssh. Directories are its own, servers are reached \
from there. A program is deployed there for the time of the run (x86_64); results, passwords and \
the store stay here. Given several times, all these hosts do each trial together: they begin at one \
instant, each with files of its own, and the figures are those of each and of all; local is this \
machine";

const SET_HELP: &str = "A setting that is varied and put back, as sysctl:KEY, export-sync:PATH or \
nfsd-threads (docs/settings.md has them all), on this machine or a host; 'as-found' is a value too. May \
be given several times: then every combination is measured";

pub const CONTINUE_HELP: &str = "Go on with this study of the store where it stopped: its id, the \
beginning of it, or 'latest'. Settings that it left changed are put back first. Everything is as it was \
but --max-time, which counts anew [default: what was left of it, 10min at least]; its targets must be \
what they were";

const DB_HELP: &str = "The store of results [env: PLIMSOLL_DB] [default: plimsoll/studies.db in the \
user's data directory]";

#[derive(Args)]
pub struct StoreArguments {
    #[arg(long, global = true, value_name = "FILE", help = DB_HELP)]
    pub db: Option<PathBuf>,
}

#[derive(Args)]
pub struct CheckArguments {
    #[arg(required_unless_present = "continues", value_name = "TARGET", help = TARGET_HELP)]
    pub targets: Vec<String>,
    #[arg(long = "continue", value_name = "STUDY", help = CONTINUE_HELP)]
    pub continues: Option<String>,
    #[command(flatten)]
    pub what: WorkloadArguments,
    #[command(flatten)]
    pub how: RuleArguments,
    #[command(flatten)]
    pub access: AccessArguments,
    #[command(flatten)]
    pub hosts: HostArguments,
    #[command(flatten)]
    pub output: OutputArguments,
}

#[derive(Args)]
#[command(next_help_heading = "Hosts")]
pub struct HostArguments {
    #[arg(long, value_name = "HOST", help = ON_HELP)]
    pub on: Vec<String>,
    #[arg(long = "host", value_name = "[N=]HOST", help = HOST_HELP)]
    pub hosts: Vec<String>,
    #[arg(long = "set", value_name = "[HOST/]NAME=A,B", help = SET_HELP)]
    pub set: Vec<String>,
    /// Before each trial, write out and drop what is in the caches of the hosts that drive the load and of
    /// those of --host, as root; a warning names where that is not permitted
    #[arg(long)]
    pub drop_caches: bool,
}

#[derive(Args)]
#[command(next_help_heading = "What is done")]
pub struct WorkloadArguments {
    /// Workers; each has a connection of its own
    #[arg(long, value_name = "N", default_value = "4")]
    pub workers: NonZeroU16,
    /// Operations in flight per worker; with --rate at most [default: 1; 32 with --rate]
    #[arg(long, value_name = "N")]
    pub depth: Option<NonZeroU16>,
    /// Operations per second of all workers together, at equal intervals, instead of as many as can be done;
    /// latencies then count from when an operation was due
    #[arg(long, value_name = "PER SECOND", conflicts_with = "explain")]
    pub rate: Option<NonZeroU32>,
    /// Measure each also with other numbers in flight, three in all: what limits it can then be told
    /// where one number does not tell
    #[arg(long)]
    pub explain: bool,
    /// How directories are driven [default: the cheaper one for the depth]
    #[arg(long, value_enum)]
    pub engine: Option<EngineChoice>,
    /// Whether reads and writes of directories and mounts bypass the page cache of the machine that drives the load,
    /// or go through it as those of most programs do. What the kernel does there, such as its read-ahead, shows with
    /// 'page' alone [default: direct]
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

#[derive(Args)]
#[command(next_help_heading = "How long, how often")]
pub struct RuleArguments {
    /// Length of one trial [default: found by a short run of each pattern, 0.5s or more; 5s with
    /// --repeats]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub time: Option<Duration>,
    /// No block is begun that would end later than this [default: 10min]
    #[arg(long, alias = "cap", value_name = "TIME", value_parser = parse_duration)]
    pub max_time: Option<Duration>,
    /// How long the idle machine is watched first, to tell its own load from ours; 0s: no idle
    /// windows, between blocks neither [default: 5s; 1s with --quick]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub baseline: Option<Duration>,
    /// A fixed number of blocks instead of the stop rule
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub repeats: Option<u32>,
    /// About one minute once the files are laid out; leaves patterns out that it has no time for, and
    /// says what it cannot resolve
    #[arg(long, conflicts_with_all = ["repeats", "max_time"])]
    pub quick: bool,
    /// Differences below this many percent do not matter
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = percent)]
    pub margin: f64,
    /// Longest time an operation may take
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    pub timeout: Duration,
    /// Seed of order, offsets and content [default: drawn, and recorded]
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
}

#[derive(Args)]
#[command(next_help_heading = "Access to SMB shares")]
pub struct AccessArguments {
    #[arg(long, value_name = "FILE", help = CREDENTIALS_HELP)]
    pub credentials: Option<PathBuf>,
}

#[derive(Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArguments {
    /// A short name for a target, in the order given; may be given several times [default: what sets
    /// them apart: protocol, server, share or path]
    #[arg(long = "label", value_name = "NAME")]
    pub labels: Vec<String>,
    /// Everything, after the answer: every figure with its interval, warnings, method
    #[arg(long)]
    pub details: bool,
    /// Also write the study as JSON to a file, or to standard output with '-' (then nothing else)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Also write the report, an HTML page, to this file
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Replace the report's file if it is there
    #[arg(long)]
    pub force: bool,
    /// A dashboard of the whole terminal instead of the line of progress
    #[arg(long)]
    pub live: bool,
    /// No progress, only the result
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

#[derive(Args)]
pub struct ShowArguments {
    /// Its id, the beginning of it, or 'latest'
    #[arg(default_value = "latest")]
    pub study: String,
    /// Everything, after the answer: every figure with its interval, warnings, method
    #[arg(long)]
    pub details: bool,
    /// Of copies: also how long so much of your own takes, such as 200GB:photos or 120GB:2MB (with the mean
    /// size of its files); may be given several times
    #[arg(long = "for", value_name = "AMOUNT")]
    pub amounts: Vec<Amount>,
    /// As a picture of the terminal, an SVG file, instead of text; '-' is standard output
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

#[derive(Args)]
pub struct CompareArguments {
    /// The study that the other is compared with
    pub before: String,
    /// The other study
    #[arg(required_unless_present = "with")]
    pub after: Option<String>,
    /// Instead of another study, what a source published (plimsoll references), where both have the same
    #[arg(long, value_name = "SOURCE", conflicts_with = "after")]
    pub with: Option<String>,
    #[command(flatten)]
    pub output: DocumentArguments,
}

/// How much of a document is written, and how.
#[derive(Args)]
pub struct DocumentArguments {
    /// Every figure, after the answer
    #[arg(long)]
    pub details: bool,
    #[command(flatten)]
    pub format: FormatArguments,
}

/// How a document is written.
#[derive(Args)]
pub struct FormatArguments {
    /// As a page, Markdown or CSV instead of text
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub format: Option<DocumentFormat>,
    /// To a file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Args)]
pub struct ExportArguments {
    /// Its id, the beginning of it, or 'latest'
    #[arg(default_value = "latest")]
    pub study: String,
    /// As JSON, schema plimsoll/2 (the default)
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// As CSV, a row for each part of each trial
    #[arg(long)]
    pub csv: bool,
    /// To a file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Args)]
pub struct ImportArguments {
    /// Output of fio 2 or 3 (JSON, text, terse) or of plimsoll export --json; all runs of fio become
    /// one study
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// What was measured, where no line 'Testing NAME' in the file says it: once for all files, or
    /// once for each [default: the file's name]
    #[arg(long = "label", value_name = "NAME")]
    pub labels: Vec<String>,
    /// The pattern, where fio does not say it (terse output, JSON before 2.14)
    #[arg(long, value_name = "NAME")]
    pub pattern: Option<String>,
    /// How many jobs a line of terse output stands for
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroU16>,
}

#[derive(Args)]
pub struct ReportArguments {
    /// Their ids, the beginnings of them, or 'latest'
    #[arg(default_value = "latest", value_name = "STUDY")]
    pub studies: Vec<String>,
    /// What to write
    #[arg(long, value_enum, default_value_t = PaperFormat::Html)]
    pub format: PaperFormat,
    /// The file, or '-' for standard output [default: plimsoll-STUDY.html, in this directory]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Also write every chart as an SVG file into this directory
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,
    /// Of copies: also how long so much of your own takes, such as 200GB:photos or 120GB:2MB (with the mean
    /// size of its files); may be given several times
    #[arg(long = "for", value_name = "AMOUNT")]
    pub amounts: Vec<Amount>,
    /// Replace addresses, host names, users, shares, paths and serial numbers by made-up names
    #[arg(long)]
    pub redact: bool,
    /// Replace files that are there
    #[arg(long)]
    pub force: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DocumentFormat {
    /// A page that needs nothing else
    Html,
    /// Markdown
    Markdown,
    /// Its tables as CSV, a row for each cell
    Tables,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PaperFormat {
    /// One page that needs nothing else
    Html,
    /// For an issue, a wiki or a README
    Markdown,
    /// The report's tables as CSV, a row for each cell
    Tables,
    /// A row for each part of each trial
    Csv,
    /// Schema plimsoll/2; of one study
    Json,
}

#[derive(Args)]
pub struct CleanArguments {
    /// Where to look: a directory, nfs:// or smb:// URL, as given to check
    #[arg(required = true, value_name = "TARGET")]
    pub targets: Vec<String>,
    /// The host that they are reached from, as given to check --on
    #[arg(long, value_name = "HOST")]
    pub on: Option<String>,
    /// Longest time an operation may take
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    pub timeout: Duration,
    /// Longest time for all of it [default: none]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub max_time: Option<Duration>,
    #[command(flatten)]
    pub access: AccessArguments,
}

#[derive(Args)]
pub struct ServeArguments {
    /// The port on 127.0.0.1 [default: one that is free]
    #[arg(long, value_name = "N", default_value = "0", hide_default_value = true)]
    pub port: u16,
}

#[derive(Args)]
pub struct CompletionsArguments {
    /// Which shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

#[derive(Args)]
pub struct ManArguments {
    /// Into this directory, a page a command, instead of the first page to standard output
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

#[derive(Args)]
pub struct DemoArguments {
    #[command(flatten)]
    pub output: OutputArguments,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum EngineChoice {
    /// One io_uring per worker
    IoUring,
    /// Threads of pread and pwrite
    Psync,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CacheChoice {
    /// By O_DIRECT, where the file system takes it
    Direct,
    /// Buffered calls; before each trial the cache of the files is dropped
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

pub fn percent(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').parse::<f64>() {
        Ok(p) if (0.1..=100.0).contains(&p) => Ok(p / 100.0),
        _ => Err(format!("'{text}' is not a percentage from 0.1 to 100")),
    }
}

/// `HOST`, or `N=HOST` with the number of a target, from 1. Not a parser of clap's: that would repeat
/// what it refuses, which may hold a password.
pub fn server_host(text: &str) -> Result<ServerHost, plimsoll_model::Failure> {
    let numbered = text.split_once('=').filter(|(n, _)| n.bytes().all(|b| b.is_ascii_digit()));
    let (target, host) = match numbered {
        Some((number, host)) => match number.parse::<usize>() {
            Ok(number) if number > 0 => (Some(number - 1), host),
            _ => {
                return Err(plimsoll_model::Failure::new(
                    plimsoll_model::Cause::Usage,
                    "understand --host",
                    number,
                    "it is no number of a target; the first is 1",
                    "Give --host 1=ssh://HOST for the first target.",
                ));
            }
        },
        None => (None, text),
    };
    Ok(ServerHost { host: host.parse()?, subject: target, guessed: false })
}

/// Parses targets with their own words of failure.
pub fn targets(given: &[String]) -> Result<Vec<Target>, plimsoll_model::Failure> {
    given.iter().map(|text| text.parse()).collect()
}
