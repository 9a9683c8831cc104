//! What can be said on the command line.

use clap::{Args, Parser, Subcommand, ValueEnum};
use model::units::{Bytes, parse_duration};
use model::{Engine, Pattern, Stability, Target};
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::time::Duration;

/// Measures how much network storage can carry, compares configurations honestly, and says what
/// the figures do and do not show.
#[derive(Parser)]
#[command(version, about, after_help = EXIT_CODES)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub store: StoreArguments,
}

const EXIT_CODES: &str = "Exit codes: 0 done; 1 a trial failed or results are partial; 2 usage; \
3 unreachable; 4 authentication; 5 no such export or directory, or not permitted; 6 no space; \
130 interrupted; 143 terminated.";

const TARGET_HELP: &str = "What to measure: a directory, or \
nfs://host[:port]/export/path[?option=value&…]. Of several, the first is the one that the others \
are compared with";

#[derive(Args)]
pub struct StoreArguments {
    /// The store of results [default: plimsoll/studies.db in the user's data directory]
    #[arg(long, global = true, value_name = "FILE", env = "PLIMSOLL_DB")]
    pub db: Option<PathBuf>,
}

#[derive(Subcommand)]
pub enum Command {
    /// How fast is this share, or which of these is faster?
    Check(CheckArguments),
    /// The studies in the store
    List,
    /// The results of a study again
    Show(ShowArguments),
    /// Two studies side by side
    Compare(CompareArguments),
    /// A study as JSON or CSV
    Export(ExportArguments),
    /// Remove leftover test files of runs that died
    Clean(CleanArguments),
    /// A first look without a server: a small NFS server inside the program against a directory
    Demo(DemoArguments),
}

#[derive(Args)]
pub struct CheckArguments {
    #[arg(required = true, value_name = "TARGET", help = TARGET_HELP)]
    pub targets: Vec<String>,
    #[command(flatten)]
    pub what: WorkloadArguments,
    #[command(flatten)]
    pub how: RuleArguments,
    #[command(flatten)]
    pub output: OutputArguments,
}

#[derive(Args)]
#[command(next_help_heading = "What is done")]
pub struct WorkloadArguments {
    /// Only these patterns: sequential-read, sequential-write, random-read, random-write,
    /// random-mixed
    #[arg(long = "pattern", value_name = "NAME", value_delimiter = ',')]
    pub patterns: Vec<Pattern>,
    /// Bytes per operation [default: 1MiB sequential, 4KiB random]
    #[arg(long, value_name = "SIZE")]
    pub block: Option<Bytes>,
    /// Size of each of the two test files [default: 1GiB, or twice --server-memory]
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Bytes>,
    /// Memory of the server: the files get twice that size where they can be laid out in a minute
    #[arg(long, value_name = "SIZE")]
    pub server_memory: Option<Bytes>,
    /// Workers; each has a connection of its own
    #[arg(long, value_name = "N", default_value = "4")]
    pub workers: NonZeroU16,
    /// Operations in flight per worker
    #[arg(long, value_name = "N", default_value = "1")]
    pub depth: NonZeroU16,
    /// When written data must be safe: at the final flush, or at each write
    #[arg(long, value_enum, default_value_t = StabilityChoice::Unstable)]
    pub stability: StabilityChoice,
    /// Check the content of everything read, and read back everything written
    #[arg(long)]
    pub verify: bool,
    /// How directories are driven [default: the cheaper one for the depth]
    #[arg(long, value_enum)]
    pub engine: Option<EngineChoice>,
    /// A published layout instead of the default one
    #[arg(long, value_enum)]
    pub design: Option<Design>,
}

#[derive(Args)]
#[command(next_help_heading = "How long, how often")]
pub struct RuleArguments {
    /// Length of one trial [default: 5s; shorter where the trials would not fit in --max-time]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub time: Option<Duration>,
    /// No block is begun that would end later than this [default: 10min]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub max_time: Option<Duration>,
    /// How long the idle machine is watched first, to tell its own load from ours; 0s: no idle
    /// windows, between blocks neither [default: 5s; 1s with --quick]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub baseline: Option<Duration>,
    /// A fixed number of blocks instead of the stop rule
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub repeats: Option<u32>,
    /// About one minute in all; says what that cannot resolve
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
#[command(next_help_heading = "Output")]
pub struct OutputArguments {
    /// Also write the study as JSON to a file, or to standard output with '-' (then nothing else)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// No progress, only the result
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Args)]
pub struct ShowArguments {
    /// Its id, the beginning of it, or 'latest'
    #[arg(default_value = "latest")]
    pub study: String,
}

#[derive(Args)]
pub struct CompareArguments {
    /// The study that the other is compared with
    pub before: String,
    /// The other study
    pub after: String,
}

#[derive(Args)]
pub struct ExportArguments {
    /// Its id, the beginning of it, or 'latest'
    #[arg(default_value = "latest")]
    pub study: String,
    /// As JSON, schema plimsoll/1 (the default)
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// As CSV, a row a trial
    #[arg(long)]
    pub csv: bool,
    /// To a file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Args)]
pub struct CleanArguments {
    /// Where to look: a directory or nfs:// URL, as given to check
    #[arg(required = true, value_name = "TARGET")]
    pub targets: Vec<String>,
}

#[derive(Args)]
pub struct DemoArguments {
    #[command(flatten)]
    pub output: OutputArguments,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum StabilityChoice {
    /// At the final flush, whose time counts
    Unstable,
    /// When each write completes
    Filesync,
}

impl From<StabilityChoice> for Stability {
    fn from(choice: StabilityChoice) -> Self {
        match choice {
            StabilityChoice::Unstable => Stability::Unstable,
            StabilityChoice::Filesync => Stability::FileSync,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub enum EngineChoice {
    /// One io_uring per worker
    IoUring,
    /// Threads of pread and pwrite
    Psync,
}

impl From<EngineChoice> for Engine {
    fn from(choice: EngineChoice) -> Self {
        match choice {
            EngineChoice::IoUring => Engine::IoUring,
            EngineChoice::Psync => Engine::Psync,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Design {
    /// Four workers of depth 1, all on the same 1 GiB (jonfk, 2024)
    Jonfk2024,
}

fn percent(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').parse::<f64>() {
        Ok(p) if (0.1..=100.0).contains(&p) => Ok(p / 100.0),
        _ => Err(format!("'{text}' is not a percentage from 0.1 to 100")),
    }
}

/// Parses targets with their own words of failure.
pub fn targets(given: &[String]) -> Result<Vec<Target>, model::Failure> {
    given.iter().map(|text| text.parse()).collect()
}
