//! The command line as a whole: the commands that there are.

use crate::advise::AdviseArguments;
use crate::arguments::StoreArguments;
use crate::check::CheckArguments;
use crate::clean::CleanArguments;
use crate::copy::CopyArguments;
use crate::demo::DemoArguments;
use crate::device::DeviceArguments;
use crate::explain::ExplainArguments;
use crate::history::HistoryArguments;
use crate::import::ImportArguments;
use crate::lab::LabArguments;
use crate::manual::{CompletionsArguments, ManArguments};
use crate::net::NetArguments;
use crate::ops::OpsArguments;
use crate::play::PlayArguments;
use crate::predict::PredictArguments;
use crate::references::ReferencesArguments;
use crate::report::ReportArguments;
use crate::restore::RestoreArguments;
use crate::run::RunArguments;
use crate::serve::ServeArguments;
use crate::store::{CompareArguments, ExportArguments, ShowArguments};
use crate::trace::TraceArguments;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, CommandFactory, Parser, Subcommand};
use std::ffi::OsStr;

/// Measures and compares network storage, and names the bottleneck
#[derive(Parser)]
#[command(version, max_term_width = COLUMNS, after_long_help = EXIT_CODES)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Widest line of a help text.
const COLUMNS: usize = 80;

const EXIT_CODES: &str = "\
Exit codes:
  0         done
  1         a trial failed, or the results are partial
  2         wrong usage
  3         the target or host is unreachable
  4         authentication failed
  5         no such export, share or directory, or permission denied
  6         no space
  7         a condition of --fail-on failed
  130, 143  interrupted, terminated";

const CHECK_EXAMPLES: &str = "\
Examples:
  plimsoll check nfs://nas/volume1/films
  plimsoll check smb://me@nas/backups
  plimsoll check --quick /mnt/films";

#[derive(Subcommand)]
pub enum Command {
    /// Measure a share or directory, or compare several
    #[command(after_help = CHECK_EXAMPLES)]
    Check(Box<CheckArguments>),
    /// Measure how long files take to a share and back
    Copy(Box<CopyArguments>),
    /// Measure the cost of single operations, by kind, block size and depth
    #[command(after_long_help = crate::ops::EXAMPLES)]
    Ops(Box<OpsArguments>),
    /// Run a plan: any combination of targets, jobs and settings
    Run(Box<RunArguments>),
    /// Measure a host: CPU, memory, cryptography, disk
    Device(Box<DeviceArguments>),
    Clock(Box<crate::clock::ClockArguments>),
    /// Measure the network between two hosts: throughput and latency
    #[command(after_long_help = crate::net::EXAMPLES)]
    Net(Box<NetArguments>),
    /// Trace which functions one operation runs in the kernel of a host
    #[command(after_long_help = crate::trace::EXAMPLES)]
    Trace(Box<TraceArguments>),
    /// Measure how many films play at once without a stall
    Play(Box<PlayArguments>),
    /// Test beds of network namespaces and virtual machines
    Lab(LabArguments),
    /// List the studies in the store
    List,
    /// Show the studies of a target over time, and when its figures changed
    #[command(after_long_help = crate::history::EXAMPLES)]
    History(HistoryArguments),
    /// Show the results of a study again
    Show(ShowArguments),
    /// Compare two studies, or a study with published figures
    Compare(CompareArguments),
    /// Explain the bottlenecks of a study, or published tables
    Explain(ExplainArguments),
    /// Predict the effect of a change: link, CPU, round trip, disk, readers
    #[command(after_long_help = crate::predict::EXAMPLES)]
    Predict(Box<PredictArguments>),
    /// Advise which changes would help most, and which would not
    Advise(AdviseArguments),
    /// List and show figures published by others
    References(ReferencesArguments),
    /// Write a study as JSON, CSV, OpenMetrics, Bencher JSON or JUnit
    Export(ExportArguments),
    /// Write a report of studies: HTML, Markdown or CSV
    Report(ReportArguments),
    /// Import results of fio, iperf3, netperf, flent or another plimsoll into the store
    Import(ImportArguments),
    /// Show the studies and the running measurements in the browser
    Serve(ServeArguments),
    /// Remove test files that killed runs left behind
    Clean(CleanArguments),
    /// Restore settings that killed runs left changed
    Restore(RestoreArguments),
    /// Try plimsoll without a server: the effect of 1 ms of delay
    Demo(DemoArguments),
    /// Print completions for a shell
    Completions(CompletionsArguments),
    /// Print or write the manual pages
    Man(ManArguments),
}

/// The options that most people need: `-h` shows these alone, `--help` shows them first.
const COMMON: &[(&str, &[&str])] = &[
    ("check", &["quick", "explain", "host", "on", "set", "pattern", "size", "details", "report"]),
    (
        "copy",
        &[
            "quick", "dataset", "data", "for", "only", "explain", "host", "on", "set", "details",
            "report",
        ],
    ),
    (
        "ops",
        &[
            "quick",
            "only",
            "blocks",
            "depths",
            "whole-file",
            "host",
            "on",
            "set",
            "details",
            "report",
        ],
    ),
    (
        "run",
        &[
            "list", "show", "dry-run", "var", "quick", "max-time", "host", "on", "set", "details",
            "report",
        ],
    ),
    ("device", &["quick", "only", "disk", "details", "report"]),
    ("clock", &["quick", "clock", "continue", "details", "report"]),
    ("net", &["quick", "job", "streams", "address", "details", "report"]),
    ("trace", &["payload", "to", "dir", "target", "set", "details", "report"]),
    (
        "predict",
        &[
            "link",
            "cpu",
            "client-cpu",
            "server-cpu",
            "rtt",
            "disk",
            "memory",
            "readers",
            "depth",
            "json",
            "details",
        ],
    ),
    (
        "play",
        &[
            "quick", "film", "rate", "player", "streams", "while", "soak", "host", "on", "details",
            "report",
        ],
    ),
    ("demo", &["live", "details", "report"]),
];

/// Commands that `plimsoll -h` leaves to `plimsoll --help`.
const RARE: &[&str] = &[
    "clock",
    "trace",
    "predict",
    "advise",
    "history",
    "run",
    "lab",
    "references",
    "export",
    "import",
    "serve",
    "clean",
    "restore",
    "completions",
    "man",
];

/// The definition of the command line.
pub fn definition() -> clap::Command {
    let with_common = |command: clap::Command, (name, common): &(&str, &[&str])| {
        command.mut_subcommand(name, |command| command.mut_args(|arg| placed(arg, common)))
    };
    COMMON.iter().fold(Arguments::command(), with_common)
}

/// The definition for these words, which follow the program's name: `-h` alone leaves rare commands out.
pub fn definition_for(first_word: Option<&OsStr>) -> clap::Command {
    if first_word != Some(OsStr::new("-h")) {
        return definition();
    }
    let hidden = |command: clap::Command, name: &&str| {
        command.mut_subcommand(*name, |command| command.hide(true))
    };
    RARE.iter().fold(definition(), hidden).after_help("More commands: plimsoll --help")
}

/// Common options stand first; the others are for `--help`.
fn placed(arg: Arg, common: &[&str]) -> Arg {
    let Some(long) = arg.get_long() else { return arg };
    match common.iter().position(|name| *name == long) {
        Some(place) => arg.help_heading(None::<&'static str>).display_order(place),
        None if arg.get_help_heading().is_none() => {
            arg.hide_short_help(true).help_heading("More options")
        }
        None => arg.hide_short_help(true),
    }
}

/// Refuses `check` without a target, with examples. Not by clap, which has no room for them.
///
/// # Errors
/// A missing argument.
pub fn expect_targets(matches: &ArgMatches) -> Result<(), clap::Error> {
    let Some(("check", check)) = matches.subcommand() else { return Ok(()) };
    if check.contains_id("targets") || check.contains_id("continues") {
        return Ok(());
    }
    let mut command = definition();
    command.build();
    let Some(known) = command.find_subcommand_mut("check") else { return Ok(()) };
    let happened = format!("no target is given\n\n{CHECK_EXAMPLES}");
    Err(known.error(ErrorKind::MissingRequiredArgument, happened))
}

/// What is said of arguments that are not accepted: with the examples of the command where one is missing.
pub fn refusal(error: &clap::Error, first_word: Option<&OsStr>) -> String {
    const EXAMPLES: &str = "Examples:";
    let text = error.to_string().trim_end().to_owned();
    let examples = || {
        let commands = definition();
        let own = commands.find_subcommand(first_word?)?;
        let help = own.get_after_long_help().or(own.get_after_help())?.to_string();
        help.starts_with(EXAMPLES).then_some(help)
    };
    let lacks = error.kind() == ErrorKind::MissingRequiredArgument && !text.contains(EXAMPLES);
    match lacks.then(examples).flatten() {
        Some(examples) => format!("{text}\n\n{examples}"),
        None => text,
    }
}

/// What may be given beside `--continue`: all else is as the study has it.
const BESIDE: [&str; 10] = [
    "continues",
    "max_time",
    "credentials",
    "json",
    "report",
    "force",
    "details",
    "live",
    "quiet",
    "db",
];

/// Refuses arguments that would change a study that is continued.
///
/// # Errors
/// A conflict that names the first of them.
pub fn expect_unchanged(matches: &ArgMatches) -> Result<(), clap::Error> {
    let Some((name @ ("check" | "run"), check)) = matches.subcommand() else { return Ok(()) };
    let typed = |id: &str| check.value_source(id) == Some(ValueSource::CommandLine);
    if !typed("continues") {
        return Ok(());
    }
    let mut command = definition();
    command.build();
    let Some(known) = command.find_subcommand_mut(name) else { return Ok(()) };
    let other = known.get_arguments().find(|argument| {
        let id = argument.get_id().as_str();
        !BESIDE.contains(&id) && check.try_contains_id(id).is_ok() && typed(id)
    });
    let Some(other) = other.map(ToString::to_string) else { return Ok(()) };
    let happened = format!(
        "the argument '{other}' cannot be used with '--continue <STUDY>': a \
         continued study keeps its options"
    );
    Err(known.error(ErrorKind::ArgumentConflict, happened))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of a terminal.
    const LINES: usize = 24;

    /// The short help of a command and of those below it, each with its name.
    fn short_helps(command: &mut clap::Command, path: &str, all: &mut Vec<(String, String)>) {
        let path = format!("{path} {}", command.get_name());
        all.push((path.clone(), command.render_help().to_string()));
        for inner in command.get_subcommands_mut().filter(|inner| inner.get_name() != "help") {
            short_helps(inner, &path, all);
        }
    }

    #[test]
    fn short_help_fits_one_screen() {
        let (mut command, mut helps) = (definition_for(Some(OsStr::new("-h"))), Vec::new());
        command.build();
        short_helps(&mut command, "", &mut helps);
        assert!(helps.len() > 25, "{}", helps.len());
        let mut too_large = String::new();
        for (path, help) in helps {
            let lines = help.trim_end().lines().count();
            let columns = help.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            if lines > LINES || columns > COLUMNS {
                too_large.push_str(&format!("{path}: {lines} x {columns}\n{help}\n"));
            }
        }
        assert!(too_large.is_empty(), "{too_large}");
    }

    #[test]
    fn common_options_exist_and_long_help_has_all() {
        let mut command = definition();
        command.build();
        for &(name, common) in COMMON {
            let inner = command.find_subcommand_mut(name).unwrap();
            let long = inner.render_long_help().to_string();
            for option in common {
                assert!(
                    inner.get_arguments().any(|arg| arg.get_long() == Some(option)),
                    "{option}"
                );
            }
            for option in inner.get_arguments().filter_map(Arg::get_long) {
                assert!(long.contains(&format!("--{option}")), "{name}: {option}\n{long}");
            }
        }
    }

    #[test]
    fn a_command_without_its_subject_shows_examples() {
        for name in ["history", "clock", "trace"] {
            let error = definition().try_get_matches_from(["plimsoll", name]).unwrap_err();
            let said = refusal(&error, Some(OsStr::new(name)));
            let (happened, examples) = said.split_once("\n\nExamples:").unwrap_or_default();
            assert!(happened.contains("required"), "{said}");
            assert!(examples.contains(&format!("plimsoll {name} ")), "{said}");
        }
        let error = definition().try_get_matches_from(["plimsoll", "clock", "--no"]).unwrap_err();
        assert!(!refusal(&error, Some(OsStr::new("clock"))).contains("Examples:"));
    }

    #[test]
    fn a_check_without_targets_shows_examples() {
        let refused = |words: &[&str]| {
            let words = ["plimsoll", "check"].iter().chain(words);
            let matches = definition().try_get_matches_from(words).unwrap();
            expect_targets(&matches).map_err(|error| error.to_string())
        };
        let happened = refused(&[]).unwrap_err();
        for example in ["check nfs://", "check smb://", "check --quick /mnt"] {
            assert!(happened.contains(example), "{happened}");
        }
        assert_eq!(refused(&["/mnt"]), Ok(()));
        assert_eq!(refused(&["--continue", "latest"]), Ok(()));
    }
}
