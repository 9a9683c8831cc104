//! Commands on the store: list, show, compare, export.

use crate::arguments::{DocumentArguments, StoreArguments};
use crate::{gate, output, references};
use clap::Args;
use plimsoll_model::{Amount, Cause, Failure, Study, Workload, printable};
use plimsoll_record::{Store, StudyStore};
use plimsoll_report::{Document, Style};
use std::path::{Path, PathBuf};

/// Columns of the terminal in a picture of it.
const PICTURE_COLUMNS: usize = 96;

/// Holds the store's place where `--db` does not name it; empty is as good as not set.
const VARIABLE: &str = "PLIMSOLL_DB";

#[derive(Args)]
pub struct ShowArguments {
    /// Study: its id, the start of its id, or 'latest'
    #[arg(default_value = "latest")]
    pub study: String,
    /// Also print all figures, warnings and the method
    #[arg(long)]
    pub details: bool,
    /// Predict the time for your data: 200GB:photos
    ///
    /// This needs a study of plimsoll copy. AMOUNT is a size and a kind (movies, music, photos, source), or a size and
    /// the mean size of a file, such as 120GB:2MB. May be given several times
    #[arg(long = "for", value_name = "AMOUNT")]
    pub amounts: Vec<Amount>,
    /// Write a picture of the screen (SVG) instead of text; '-' is standard output
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

#[derive(Args)]
pub struct CompareArguments {
    /// Reference study: its id, the start of its id, or 'latest'
    pub before: String,
    /// Study to compare with the reference study
    #[arg(required_unless_present = "with")]
    pub after: Option<String>,
    /// Compare with published figures instead of a study: a source that plimsoll references lists
    ///
    /// Only workloads that exist in both are compared
    #[arg(long, value_name = "SOURCE", conflicts_with = "after")]
    pub with: Option<String>,
    #[command(flatten)]
    pub output: DocumentArguments,
}

#[derive(Args)]
pub struct ExportArguments {
    /// Study: its id, the start of its id, or 'latest'
    #[arg(default_value = "latest")]
    pub study: String,
    /// Write JSON, schema plimsoll/1 (the default)
    #[arg(long, group = "form")]
    pub json: bool,
    /// Write CSV, one row for each part of each trial
    #[arg(long, group = "form")]
    pub csv: bool,
    /// Write OpenMetrics text, for the text collector of node_exporter
    #[arg(long, group = "form")]
    pub openmetrics: bool,
    /// Write JSON in Bencher Metric Format
    #[arg(long, group = "form")]
    pub bmf: bool,
    /// Write the conditions of --fail-on as JUnit XML, a test case for each
    #[arg(long, group = "form")]
    pub junit: bool,
    /// Write the call trees of plimsoll trace as folded stacks, for programs that draw flame graphs
    #[arg(long, group = "form")]
    pub folded: bool,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Where the store is: as the arguments name it, else the environment, or the user's own.
pub fn path(arguments: &StoreArguments) -> Result<PathBuf, Failure> {
    named(arguments).map_or_else(plimsoll_record::default_path, Ok)
}

/// Where the arguments or the environment name it.
fn named(arguments: &StoreArguments) -> Option<PathBuf> {
    // Not by clap: its usage lines would show what is set there as if it had to be given.
    let set = || std::env::var_os(VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
    arguments.db.clone().or_else(set)
}

/// Opens the store to keep results in: makes it where there is none, and fails before work is
/// done where it could not keep them.
pub fn open_to_keep(arguments: &StoreArguments) -> Result<Store, Failure> {
    let store = Store::open(path(arguments)?)?;
    store.expect_room()?;
    Ok(store)
}

/// Opens the store to show what it has; makes none.
pub fn open(arguments: &StoreArguments) -> Result<Store, Failure> {
    Store::open_to_read(path(arguments)?)
}

/// Prints what is kept.
pub fn list(arguments: &StoreArguments) -> Result<u8, Failure> {
    let studies = open(arguments)?.list()?;
    // A name with a slip in it is seen at once.
    let missing = named(arguments).filter(|path| studies.is_empty() && !path.exists());
    output::print(&match missing {
        Some(path) => {
            let path = printable(&path.display().to_string());
            format!("No studies yet: {path} does not exist.\nTo create one, run plimsoll check.\n")
        }
        None => plimsoll_report::list(&studies, &output::style()),
    })?;
    Ok(0)
}

/// Prints one study as the command that measured it did.
pub fn show(show: &ShowArguments, arguments: &StoreArguments) -> Result<u8, Failure> {
    let store = open(arguments)?;
    let mut study = store.load(&show.study)?;
    ask_for(&mut study, &show.amounts)?;
    let document = Document::of_study(&study);
    let written = |style: &Style| match show.details {
        true => document.text(style),
        false => document.screen(style),
    };
    match &show.svg {
        Some(path) => {
            let style = Style { width: PICTURE_COLUMNS, colour: true };
            output::write(path, &plimsoll_report::picture(&written(&style)))?;
        }
        None => output::print(&written(&output::style()))?,
    }
    Ok(0)
}

/// Has the reports of a study say how long these amounts take, beside those that it was measured for.
pub fn ask_for(study: &mut Study, amounts: &[Amount]) -> Result<(), Failure> {
    let copies =
        |workload: &Workload| workload.main().is_some_and(|part| part.job.file_work().is_some());
    if let (Some(amount), false) = (amounts.first(), study.plan.workloads.iter().all(copies)) {
        let (happened, on) = ("it contains other work than copies", format!("study {}", study.id));
        let tried = format!("predict the time for {amount}");
        let next = "Omit --for, or name a study of plimsoll copy.";
        return Err(Failure::new(Cause::Usage, tried).on(on).happened(happened).next(next));
    }
    for amount in amounts {
        if !study.plan.amounts.contains(amount) {
            study.plan.amounts.push(*amount);
        }
    }
    Ok(())
}

/// Prints two studies side by side, or one beside what was published.
pub fn compare(compare: &CompareArguments, arguments: &StoreArguments) -> Result<u8, Failure> {
    let source = compare.with.as_deref().map(references::source).transpose()?;
    let store = open(arguments)?;
    let before = store.load(&compare.before)?;
    let document = match (source, &compare.after) {
        (Some(source), _) => Document::compared_with_source(&before, source),
        (None, after) => {
            Document::of_two(&before, &store.load(after.as_deref().unwrap_or("latest"))?)
        }
    };
    output::document(&document, &compare.output)
}

/// The study in another format than JSON; `None` for JSON, which is written in parts.
fn other_format(
    export: &ExportArguments,
    store: &dyn StudyStore,
) -> Result<Option<String>, Failure> {
    if !(export.csv || export.openmetrics || export.bmf || export.junit || export.folded) {
        return Ok(None);
    }
    let study = store.load(&export.study)?;
    if export.csv {
        return plimsoll_record::to_csv(&study).map(Some);
    }
    if export.bmf {
        return Ok(Some(plimsoll_report::bmf(&study)));
    }
    if export.folded {
        let text = plimsoll_report::folded(&study);
        return match text.is_empty() {
            false => Ok(Some(text)),
            true => {
                let next = "Choose a study of plimsoll trace, or another format.";
                let (tried, on) = ("write folded stacks", format!("study {}", study.id));
                Err(Failure::new(Cause::Usage, tried)
                    .on(on)
                    .happened("it has no call tree")
                    .next(next))
            }
        };
    }
    let gate = gate::result(&study, store)?.map(|(result, _)| result);
    if export.openmetrics {
        return Ok(Some(plimsoll_report::openmetrics(&study, gate.as_ref())));
    }
    let gate = gate.ok_or_else(|| {
        let next = "Measure with --baseline last and --fail-on 'read<-10%', or use another format.";
        let (tried, on) = ("write test cases", format!("study {}", study.id));
        Failure::new(Cause::Usage, tried).on(on).happened("it has no gate").next(next)
    })?;
    Ok(Some(plimsoll_report::junit(&study, &gate)))
}

/// Writes one study as JSON, or in another format.
pub fn export(export: &ExportArguments, arguments: &StoreArguments) -> Result<u8, Failure> {
    let store = open(arguments)?;
    let path = export.output.as_deref().unwrap_or(Path::new("-"));
    if let Some(text) = other_format(export, &store)? {
        output::write(path, &text)?;
        return Ok(0);
    }
    let mut parts = output::Parts::new(path);
    store.export_json(&export.study, &mut |part| parts.write(part))?;
    parts.end()?;
    Ok(0)
}
