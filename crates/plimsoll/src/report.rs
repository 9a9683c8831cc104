//! `plimsoll report`: a study as a page to keep, send or print; several studies as a trend.

use crate::arguments::StoreArguments;
use crate::output::{self, NewFile};
use crate::store;
use clap::{Args, ValueEnum};
use plimsoll_model::{Amount, Cause, Failure, Study, printable};
use plimsoll_record::StudyStore;
use plimsoll_report::Document;
use std::path::{Path, PathBuf};

#[derive(Args)]
pub struct ReportArguments {
    /// Studies: ids, starts of ids, or 'latest'; several studies become a trend
    #[arg(default_value = "latest", value_name = "STUDY")]
    pub studies: Vec<String>,
    /// Format of the report
    #[arg(long, value_enum, default_value_t = PaperFormat::Html)]
    pub format: PaperFormat,
    /// File, or '-' for standard output [default: plimsoll-STUDY.html]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Also write each chart as an SVG file into this directory
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,
    /// Predict the time for your data: 200GB:photos
    ///
    /// This needs a study of plimsoll copy. AMOUNT is a size and a kind (movies, music, photos, source), or a size and
    /// the mean size of a file, such as 120GB:2MB. May be given several times
    #[arg(long = "for", value_name = "AMOUNT")]
    pub amounts: Vec<Amount>,
    /// Replace addresses, names of hosts, users and shares, paths and serial numbers
    #[arg(long)]
    pub redact: bool,
    /// Overwrite existing files
    #[arg(long)]
    pub force: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PaperFormat {
    /// One self-contained page
    Html,
    /// For an issue, a wiki or a README
    Markdown,
    /// The tables as CSV, one row for each cell
    Tables,
    /// All trials as CSV, one row for each part of each trial
    Csv,
    /// One study as JSON, schema plimsoll/1
    Json,
}

/// Reads what is to be reported, and writes the report and, where asked for, its charts.
pub fn run(report: &ReportArguments, arguments: &StoreArguments) -> Result<u8, Failure> {
    let studies = studies(report, arguments)?;
    let path = report.output.clone().unwrap_or_else(|| default_path(&studies, report.format));
    // Every file is opened before anything is written: all of the report, or nothing.
    let file = NewFile::create(&path, report.force)?;
    let paper = Document::of_studies(&studies);
    let charts = report.svg.as_deref().map(|dir| charts(&paper, dir, report.force)).transpose()?;
    let text = match report.format {
        PaperFormat::Html => paper.html(),
        PaperFormat::Markdown => {
            let folder = report.svg.as_deref().map(|dir| relative(dir, &path));
            paper.markdown(folder.as_deref())
        }
        PaperFormat::Tables => paper.csv(),
        PaperFormat::Csv => csv(&studies)?,
        PaperFormat::Json => json(&studies)?,
    };
    for (chart, svg) in charts.into_iter().flatten() {
        chart.write(&svg)?;
    }
    file.write(&text)?;
    if path != Path::new("-") {
        output::complain(&printable(&format!("wrote {}", path.display())));
    }
    Ok(0)
}

/// Writes the page of a study that has just ended.
pub fn write_page(study: &Study, file: NewFile) -> Result<(), Failure> {
    write(&Document::of_study(study), file)
}

fn write(paper: &Document, file: NewFile) -> Result<(), Failure> {
    let path = file.path().to_owned();
    file.write(&paper.html())?;
    output::complain(&printable(&format!("wrote {}", path.display())));
    Ok(())
}

/// The studies, each once; redacted where that was asked for.
fn studies(report: &ReportArguments, arguments: &StoreArguments) -> Result<Vec<Study>, Failure> {
    let store = store::open(arguments)?;
    let mut studies: Vec<Study> = Vec::new();
    for id in &report.studies {
        let mut study = store.load(id)?;
        store::ask_for(&mut study, &report.amounts)?;
        if !studies.iter().any(|s| s.id == study.id) {
            studies.push(study);
        }
    }
    if report.redact {
        let own = own_names();
        studies =
            studies.iter().map(|s| plimsoll_report::redact(s, &own)).collect::<Result<_, _>>()?;
    }
    Ok(studies)
}

/// The rows of all studies under one header.
fn csv(studies: &[Study]) -> Result<String, Failure> {
    let mut all = String::new();
    for study in studies {
        let text = plimsoll_record::to_csv(study)?;
        let (header, rows) = text.split_once('\n').unwrap_or((&text, ""));
        match all.split_once('\n') {
            None => all.push_str(&text),
            Some((columns, _)) if columns == header => all.push_str(rows),
            Some(_) => {
                let happened = "its columns differ, because it has other jobs or figures";
                let next = "Write one file for each study.";
                let tried = "write several studies as one CSV table";
                return Err(Failure::new(Cause::Usage, tried)
                    .on(&study.id)
                    .happened(happened)
                    .next(next));
            }
        }
    }
    Ok(all)
}

fn json(studies: &[Study]) -> Result<String, Failure> {
    match studies {
        [one] => plimsoll_record::to_json(one),
        _ => Err(Failure::new(Cause::Usage, "write the report")
            .on("--format json")
            .happened("a JSON document holds one study, and several are named")
            .next("Name one study, or use --format csv.")),
    }
}

/// What its file is called; an imported id is text from outside.
fn name(studies: &[Study]) -> String {
    match studies {
        [one] => one.id.0.chars().filter(char::is_ascii_alphanumeric).collect(),
        _ => "trend".to_owned(),
    }
}

/// What this machine and its user are called: failures and notes may name them.
fn own_names() -> Vec<String> {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let users = ["USER", "LOGNAME", "SUDO_USER"].iter().filter_map(|v| std::env::var(v).ok());
    // "root" and "localhost" say nothing.
    let known = |name: &String| !["", "root", "localhost"].contains(&name.as_str());
    users.chain([host.trim().to_owned()]).filter(known).collect()
}

fn default_path(studies: &[Study], format: PaperFormat) -> PathBuf {
    let ending = match format {
        PaperFormat::Html => "html",
        PaperFormat::Markdown => "md",
        PaperFormat::Tables | PaperFormat::Csv => "csv",
        PaperFormat::Json => "json",
    };
    PathBuf::from(format!("plimsoll-{}.{ending}", name(studies)))
}

/// Opens a file for every chart.
fn charts(paper: &Document, dir: &Path, replace: bool) -> Result<Vec<(NewFile, String)>, Failure> {
    std::fs::create_dir_all(dir).map_err(|e| {
        let next = "Name a directory that exists or can be created.";
        Failure::new(Cause::Usage, "create the directory for the charts")
            .on(dir.display())
            .happened(e)
            .next(next)
    })?;
    paper
        .charts()
        .map(|(name, svg)| Ok((NewFile::create(&dir.join(name), replace)?, svg)))
        .collect()
}

/// The folder as it is seen from the file that links into it: what both have in front is left out.
fn relative(folder: &Path, file: &Path) -> String {
    let beside = file.parent().unwrap_or(Path::new(""));
    folder.strip_prefix(beside).unwrap_or(folder).display().to_string()
}
