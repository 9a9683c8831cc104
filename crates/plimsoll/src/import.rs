//! `plimsoll import`: results from elsewhere into the store.

use crate::arguments::{StoreArguments, at_least_one};
use crate::{output, plan, store};
use clap::Args;
use plimsoll_model::{Cause, Failure, Origin, Study, printable};
use plimsoll_record::{ImportFile, ImportOptions, Imports};
use std::fmt::Write;
use std::num::NonZeroU16;
use std::path::PathBuf;

#[derive(Args)]
pub struct ImportArguments {
    /// Output of fio 2 or 3 (JSON, text, terse), iperf3 (JSON), netperf (omni output), flent (.flent.gz) or of plimsoll
    /// export --json
    ///
    /// All fio runs become one study, and all runs of iperf3, netperf and flent become another one. Content that gzip
    /// compressed is unpacked
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Name of the target [default: name of the file]
    ///
    /// Give it once for all files, or once for each file. A line 'Testing NAME' in a file takes precedence
    #[arg(long = "label", value_name = "NAME")]
    pub labels: Vec<String>,
    /// Pattern, if the file does not name it (terse output, JSON of fio before 2.14)
    #[arg(long, value_name = "NAME")]
    pub pattern: Option<String>,
    /// Number of jobs in each line of terse output
    #[arg(long, value_name = "N")]
    #[arg(value_parser = at_least_one::<NonZeroU16>)]
    pub jobs: Option<NonZeroU16>,
}

/// Reads every file before anything is kept, then keeps all of it at once.
pub fn run(import: &ImportArguments, arguments: &StoreArguments) -> Result<u8, Failure> {
    let files = import.files.iter().map(|path| ImportFile::read(path));
    let files = files.collect::<Result<Vec<_>, _>>()?;
    let options = ImportOptions {
        labels: import.labels.clone(),
        pattern: import.pattern.as_deref().map(str::parse).transpose().map_err(no_pattern)?,
        jobs: import.jobs,
        command: plan::command(),
    };
    let Imports { studies, left_out } = plimsoll_record::import(&files, &options)?;
    store::open_to_keep(arguments)?.import(&studies)?;
    not_imported(&left_out);
    let mut text = String::new();
    for study in &studies {
        let _ = writeln!(text, "{}", imported(study));
    }
    output::print(&text)?;
    Ok(0)
}

/// A line each, of the first few.
fn not_imported(left_out: &[Failure]) {
    const MOST: usize = 20;
    for Failure { on, happened, next, .. } in left_out.iter().take(MOST) {
        output::complain(&printable(&format!("not imported: {on}: {happened}. {next}")));
    }
    if left_out.len() > MOST {
        output::complain(&format!("not imported: {} more.", left_out.len() - MOST));
    }
}

fn no_pattern(happened: String) -> Failure {
    Failure::new(Cause::Usage, "import")
        .on("--pattern")
        .happened(happened)
        .next("Name one of them.")
}

/// "imported 5eed0001: 10 runs on 2 targets, fio-3.36; to see it: plimsoll show 5eed0001".
fn imported(study: &Study) -> String {
    let counted = |n: usize, noun: &str| format!("{n} {noun}{}", if n == 1 { "" } else { "s" });
    let (origin, noun) = match &study.origin {
        Origin::Imported { tool } => (tool.clone(), "run"),
        Origin::Measured { version } => (format!("plimsoll {version}"), "trial"),
    };
    let targets = study.subjects.len().max(study.plan.subjects.len());
    printable(&format!(
        "imported {}: {} on {}, {origin}; to see it: plimsoll show {0}",
        study.id,
        counted(study.trials.len(), noun),
        counted(targets, "target"),
    ))
}
