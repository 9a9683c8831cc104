//! Results that come from elsewhere: plimsoll's own JSON, fio's JSON, text and terse output, and those of the
//! network tools iperf3, netperf and flent, documented in docs/import.md. A file is read whole before anything is
//! made of it, and every failure names file and line. A job that cannot be taken does not keep the others out.

mod build;
mod calendar;
mod file;
mod fio_json;
mod fio_terse;
mod fio_text;
mod fio_work;
mod flent;
mod foreign;
mod iperf3;
mod latency;
mod malformed;
mod netperf;
mod numbers;
mod paths;
mod run;
mod scan;
mod units;
mod version;
mod workloads;

pub use file::{IMPORT_LIMIT_BYTES, ImportFile};
pub use fio_work::ImportOptions;

use malformed::{Malformed, Parsed};
use paths::PathRun;
use plimsoll_model::{Cause, Failure, Study, StudyId};
use scan::Found;
use std::collections::HashSet;
use std::path::Path;

/// Content of files.
#[derive(Debug, Default)]
pub struct Imports {
    /// plimsoll's own studies, unchanged, one study of all runs on network paths, and one of all runs of fio.
    pub studies: Vec<Study>,
    /// Skipped content of the files, each with its place and the reason.
    pub left_out: Vec<Failure>,
}

/// Studies in the files: plimsoll's own, unchanged, one study of all runs on network paths, and one of all runs of
/// fio. The same files and options always give the same study with the same id. Stores nothing.
///
/// # Errors
/// A file has nothing that can be imported, or labels do not fit the files.
pub fn import(files: &[ImportFile], options: &ImportOptions) -> Result<Imports, Failure> {
    if options.labels.len() > 1 && options.labels.len() != files.len() {
        return Err(Failure::new(Cause::Usage, "import files")
            .on(format!("--label, given {} times", options.labels.len()))
            .happened(format!("there are {} files", files.len()))
            .next("Give one label for all files, or one for each in their order."));
    }
    let mut imports = Imports::default();
    let (mut sources, mut on_paths) = (Vec::new(), Vec::new());
    for (i, file) in files.iter().enumerate() {
        let jobs = options.jobs.map(|n| u64::from(n.get()));
        let content = file.text.strip_prefix('\u{feff}').unwrap_or(&file.text);
        let label = options.labels.get(i).or(options.labels.first()).cloned();
        if let Some(runs) = path_runs(content, file) {
            let runs = runs.map_err(|malformed| malformed.in_file(&file.name))?;
            on_paths.push(paths::Source { file, label, runs });
            continue;
        }
        let Found { studies: own, runs, left_out } = scan::scan(content, jobs);
        if own.is_empty() && runs.is_empty() {
            return Err(nothing(file, left_out));
        }
        imports
            .left_out
            .extend(left_out.into_iter().map(|malformed| malformed.in_file(&file.name)));
        for study in &own {
            check(study, &file.name)?;
        }
        imports.studies.extend(own);
        if !runs.is_empty() {
            let label = label.unwrap_or_else(|| stem(&file.name));
            sources.push(build::Source { file, label, runs });
        }
    }
    let mut built = Vec::new();
    if !on_paths.is_empty() {
        let texts =
            on_paths.iter().map(|s| (&*s.file.text, s.label.as_deref().unwrap_or_default()));
        let id = id(texts, options);
        built.push(paths::study(on_paths, options, id, &mut imports.left_out));
    }
    if !sources.is_empty() {
        let id = id(sources.iter().map(|s| (&*s.file.text, &*s.label)), options);
        built.push(build::study(sources, options, id, &mut imports.left_out));
    }
    imports.studies.extend(built.into_iter().filter(|study| !study.trials.is_empty()));
    if imports.studies.is_empty() && !imports.left_out.is_empty() {
        return Err(imports.left_out.swap_remove(0));
    }
    Ok(imports)
}

/// The runs of network tools in a text; `None` if it is of another tool.
fn path_runs(text: &str, file: &ImportFile) -> Option<Parsed<Vec<Parsed<PathRun>>>> {
    iperf3::runs(text, file).or_else(|| flent::runs(text)).or_else(|| netperf::runs(text))
}

/// Why nothing in a file can be imported.
fn nothing(file: &ImportFile, left_out: Vec<Malformed>) -> Failure {
    let failed = |happened: &str, next: &str| {
        Failure::new(Cause::Usage, "import a file").on(&file.name).happened(happened).next(next)
    };
    match (foreign::text(&file.text), left_out.into_iter().next()) {
        (Some((happened, next)), _) => failed(&happened, &next),
        (None, Some(malformed)) => malformed.in_file(&file.name),
        (None, None) => failed(
            "nothing in it can be imported: expected JSON of plimsoll, fio, iperf3 or flent, fio's \
             report beginning with 'NAME: (groupid=', fio's terse lines, or netperf's omni output",
            "Give a file that one of these tools or plimsoll export --json wrote.",
        ),
    }
}

/// Checks the assumptions of the store about a study.
fn check(study: &Study, file: &str) -> Result<(), Failure> {
    let id = &study.id.0;
    let wrong = |happened: String| {
        let next = "Give a file that plimsoll export --json wrote.";
        Err(Failure::new(Cause::Usage, "import a study").on(file).happened(happened).next(next))
    };
    let digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    if id.len() != 8 || !id.bytes().all(digit) {
        let id: String = id.chars().take(40).collect();
        return wrong(format!(
            "its id is '{}': expected eight lower-case hexadecimal digits",
            id.escape_debug()
        ));
    }
    let mut numbers = HashSet::new();
    match study.trials.iter().find(|trial| !numbers.insert(trial.number)) {
        Some(trial) => wrong(format!("study {id} has two trials number {}", trial.number)),
        None => Ok(()),
    }
}

/// The file's name without directories and ending.
fn stem(name: &str) -> String {
    let stem = Path::new(name).file_stem().map(|s| s.to_string_lossy().into_owned());
    stem.unwrap_or_else(|| name.to_owned())
}

/// An identity that follows from what is imported, so that the same import is known again: FNV-1a
/// (Fowler, Noll, Vo), 64 bits folded to 32.
fn id<'a>(sources: impl Iterator<Item = (&'a str, &'a str)>, options: &ImportOptions) -> StudyId {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut add = |text: &str| {
        // No UTF-8 text holds the byte 0xff: parts cannot run into each other.
        for byte in text.bytes().chain([0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for (text, label) in sources {
        add(text);
        add(label);
    }
    add(options.pattern.map_or("", |pattern| pattern.name()));
    add(&options.jobs.map(|n| n.to_string()).unwrap_or_default());
    StudyId(format!("{:08x}", (hash >> 32) as u32 ^ hash as u32))
}

#[cfg(test)]
mod path_tests;
#[cfg(test)]
mod tests;
