//! Results that come from elsewhere: plimsoll's own JSON, fio's JSON, text and terse output, and those of the
//! network tools iperf3, netperf and flent, documented in docs/import.md. A file is read whole before anything is
//! made of it, and every failure names file and line. A job that cannot be taken does not keep the others out.

mod build;
mod calendar;
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

pub use fio_work::ImportOptions;

use crate::input::open_regular;
use flate2::read::MultiGzDecoder;
use malformed::{Malformed, Parsed};
use paths::PathRun;
use plimsoll_model::{Cause, Failure, Study, StudyId};
use scan::Found;
use std::collections::HashSet;
use std::io::Read;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// Largest file that is read, in bytes.
pub const IMPORT_LIMIT_BYTES: u64 = 256 << 20;

/// Largest content of a compressed file, in bytes. A small file may claim any amount.
const UNPACKED_LIMIT_BYTES: u64 = 64 << 20;

/// How files of gzip begin.
const GZIP: &[u8] = b"\x1f\x8b";

/// A file to import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportFile {
    /// As the user named it.
    pub name: String,
    /// Content of the file.
    pub text: String,
    /// When it was last changed, in seconds since 1970-01-01 UTC: the date of runs without one.
    pub modified_unix_seconds: u64,
}

impl ImportFile {
    /// Reads a file of at most [`IMPORT_LIMIT_BYTES`]. Content that gzip packed is unpacked. Fails when it is larger,
    /// cannot be read or is not UTF-8.
    pub fn read(path: &Path) -> Result<ImportFile, Failure> {
        ImportFile::read_limited(path, IMPORT_LIMIT_BYTES)
    }

    fn read_limited(path: &Path, limit: u64) -> Result<ImportFile, Failure> {
        let failed = |happened: &dyn std::fmt::Display, next: &str| {
            Failure::new(Cause::Usage, "read a file to import")
                .on(path.display())
                .happened(happened)
                .next(next)
        };
        let unreadable = |e: std::io::Error| failed(&e, "Name a regular file that you can read.");
        let file = open_regular(path).map_err(unreadable)?;
        let facts = file.metadata().map_err(unreadable)?;
        let mut bytes = Vec::new();
        // One byte more than the limit tells a file that is too large.
        file.take(limit + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.len() as u64 > limit {
            let happened = format!("it is larger than {}", plimsoll_model::units::Bytes(limit));
            return Err(failed(
                &happened,
                "Split it, or remove the text that is not output of the tool.",
            ));
        }
        let modified = facts.modified().ok().and_then(|t| t.duration_since(UNIX_EPOCH).ok());
        let modified = modified.map_or(0, |d| d.as_secs());
        ImportFile::from_bytes(path.display().to_string(), bytes, modified)
    }

    /// A file with this content. Content that gzip packed is unpacked.
    ///
    /// # Errors
    /// The content is not UTF-8, or gzip cannot unpack it.
    pub fn from_bytes(
        name: String,
        bytes: Vec<u8>,
        modified_unix_seconds: u64,
    ) -> Result<ImportFile, Failure> {
        let unpacked = match bytes.starts_with(GZIP) {
            true => unpacked(&bytes, UNPACKED_LIMIT_BYTES),
            false => Ok(bytes),
        };
        match unpacked.and_then(text) {
            Ok(text) => Ok(ImportFile { name, text, modified_unix_seconds }),
            Err(malformed) => Err(malformed.in_file(&name)),
        }
    }
}

/// What gzip packed.
fn unpacked(bytes: &[u8], limit: u64) -> Parsed<Vec<u8>> {
    let mut content = Vec::new();
    // One byte more than the limit tells a content that is too large.
    let read = MultiGzDecoder::new(bytes).take(limit + 1).read_to_end(&mut content);
    if content.len() as u64 > limit {
        let limit = plimsoll_model::units::Bytes(limit);
        let happened = format!("gzip unpacks it to more than {limit}");
        let next = "Unpack it with gunzip -k, and import the part that is needed.";
        return Err(Malformed::new(1, happened, next));
    }
    match read {
        Ok(_) => Ok(content),
        Err(error) => {
            let happened = format!("gzip cannot unpack it: {error}");
            Err(Malformed::new(1, happened, "Copy the file again; it is damaged or incomplete."))
        }
    }
}

/// UTF-8, without the mark that some editors put first.
fn text(bytes: Vec<u8>) -> Result<String, Malformed> {
    if let Some((happened, next)) = foreign::bytes(&bytes) {
        return Err(Malformed::new(1, happened, &next));
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        if let Some((happened, next)) = foreign::text(&utf_16(&bytes)) {
            return Err(Malformed::new(1, happened, &next));
        }
        let next = "Save it as UTF-8; in PowerShell, write it with Out-File -Encoding utf8.";
        return Err(Malformed::new(1, "it is UTF-16: expected UTF-8", next));
    }
    let text = String::from_utf8(bytes).map_err(|e| {
        let before = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|b| **b == b'\n').count();
        Malformed::new(line, "bytes that are not UTF-8: expected text", "Save it as UTF-8.")
    })?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// The text after the mark of the order of bytes, with what is no UTF-16 replaced.
fn utf_16(bytes: &[u8]) -> String {
    let order =
        if bytes.starts_with(&[0xff, 0xfe]) { u16::from_le_bytes } else { u16::from_be_bytes };
    let units = bytes.chunks_exact(2).skip(1).map(|pair| order([pair[0], pair[1]]));
    char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

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
