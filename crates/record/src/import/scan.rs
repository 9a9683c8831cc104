//! Finds in a file what can be imported: JSON documents, terse lines, reports in text, and the
//! lines `Testing ..` and `Running ..` that a script printed between them. Everything else that
//! fio or a script prints is passed over.

use super::fio_text::{self, Report};
use super::malformed::{Malformed, Parsed};
use super::run::{Asked, Form, Run, Section};
use super::{fio_json, fio_terse, version};
use crate::export;
use crate::schema::Schema;
use plimsoll_model::{SCHEMA, Study};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;

/// What a file holds.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// plimsoll's own studies.
    pub(super) studies: Vec<Study>,
    /// Runs of fio, a job each where it reported jobs one by one.
    pub(super) runs: Vec<Run>,
}

/// Reads a whole file; `jobs` is what a terse line stands for, where the user said it.
pub(super) fn scan(text: &str, jobs: Option<u64>) -> Parsed<Found> {
    let mut scan = Scan { jobs, ..Scan::default() };
    let mut at = 0;
    let mut number = 1;
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with('{') {
            scan.end_report()?;
            let length = scan.document(rest, number)?;
            number += rest[..length].matches('\n').count();
            at += length;
            continue;
        }
        let end = rest.find('\n').map_or(rest.len(), |i| i + 1);
        scan.line(rest[..end].trim_end_matches(['\n', '\r']), number)?;
        at += end;
        number += 1;
    }
    scan.end_report()?;
    scan.found.distinguished()
}

#[derive(Default)]
struct Scan {
    found: Found,
    section: Section,
    jobs: Option<u64>,
    /// What the lines before the runs said of each job, by name, and the version.
    asked: BTreeMap<String, Asked>,
    version: String,
    report: Option<Report>,
    /// Counts fio invocations, and whether anything of the current one was reported yet.
    invocation: usize,
    reported: bool,
    /// Line of the last terse line; the lines of one invocation follow each other.
    terse: Option<usize>,
}

impl Scan {
    fn line(&mut self, text: &str, number: usize) -> Parsed<()> {
        // What a terminal was shown over and over, in one line.
        let text = text.rsplit('\r').next().unwrap_or_default();
        if let Some(report) = &mut self.report {
            if text.starts_with([' ', '\t']) {
                return report.line(text, number);
            }
            self.end_report()?;
        }
        if let Some(target) = text.strip_prefix("Testing ") {
            self.section = Section { target: Some(target.trim().to_owned()), test: None };
            self.next_invocation();
        } else if let Some((test, target)) = running(text) {
            self.section.target.get_or_insert_with(|| target.to_owned());
            self.section.test = Some(test.to_owned());
            self.next_invocation();
        } else if let Some(head) = fio_text::head(text) {
            self.reported = true;
            self.report = Some(Report::new(head, number));
        } else if let Some((name, asked)) = fio_text::job_line(text) {
            if self.reported {
                self.next_invocation();
            }
            self.asked.insert(name, asked);
        } else if is_version(text) {
            version::check(text, number)?;
            if self.reported {
                self.next_invocation();
            }
            self.version = text.to_owned();
        } else if fio_terse::is_terse(text) {
            if self.terse.is_some_and(|last| last + 1 != number) {
                self.next_invocation();
            }
            let (invocation, section) = (self.invocation, &self.section);
            let run = fio_terse::read(text, number, invocation, section, self.jobs)?;
            self.found.runs.push(run);
            self.reported = true;
            self.terse = Some(number);
        }
        Ok(())
    }

    fn next_invocation(&mut self) {
        self.invocation += 1;
        self.reported = false;
        self.asked.clear();
        self.version.clear();
        self.terse = None;
    }

    fn end_report(&mut self) -> Parsed<()> {
        let Some(report) = self.report.take() else { return Ok(()) };
        let asked = self.asked.get(report.name());
        let run = report.finish(asked, &self.version, self.invocation, self.section.clone())?;
        self.found.runs.push(run);
        Ok(())
    }

    /// Reads the JSON document that `text` begins with and returns its length in bytes.
    fn document(&mut self, text: &str, first: usize) -> Parsed<usize> {
        const NEXT: &str = "Give a file that fio wrote as JSON or plimsoll export --json wrote.";
        #[derive(Deserialize)]
        struct Head {
            schema: Option<String>,
            #[serde(rename = "fio version")]
            fio: Option<IgnoredAny>,
        }
        let mut stream = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
        if let Some(Err(e)) = stream.next() {
            return Err(Malformed::json(first, &e, NEXT));
        }
        let length = stream.byte_offset();
        let document = &text[..length];
        let refused = |e: serde_json::Error| Malformed::json(first, &e, NEXT);
        let head: Head = serde_json::from_str(document).map_err(refused)?;
        if head.fio.is_some() {
            // Of one invocation with the text that is around it: fio can print both.
            let invocation = self.invocation;
            let runs = fio_json::read(document, first, invocation, &self.section)?;
            self.found.runs.extend(runs);
            self.invocation += 1;
            self.terse = None;
        } else if let Some(schema) = head.schema {
            let schema = Schema::named(&schema).ok_or_else(|| {
                let (schema, known) = (schema.escape_debug(), Schema::names());
                let happened = format!("schema '{schema}' is not known: expected {known}");
                Malformed::new(first, happened, "Use the plimsoll that wrote it, or a newer one.")
            })?;
            self.found.studies.push(export::parse(document, schema).map_err(refused)?);
        } else {
            let happened = format!("expected 'fio version' or 'schema' {SCHEMA} in this document");
            return Err(Malformed::new(first, happened, NEXT));
        }
        Ok(length)
    }
}

/// `Running NAME test on TARGET`.
fn running(text: &str) -> Option<(&str, &str)> {
    let (test, target) = text.strip_prefix("Running ")?.split_once(" test on ")?;
    Some((test.trim(), target.trim()))
}

/// A line that holds fio's version alone.
fn is_version(text: &str) -> bool {
    text.strip_prefix("fio-").is_some_and(|rest| {
        rest.starts_with(|c: char| c.is_ascii_digit()) && !rest.contains([' ', ':', ';'])
    })
}

impl Found {
    /// Every run once: jobs of one run become one, and of a run that is there in several forms the
    /// most exact stays.
    fn distinguished(mut self) -> Parsed<Found> {
        let joined = join_jobs(std::mem::take(&mut self.runs));
        self.runs = without_repetitions(joined);
        match self.runs.iter().find_map(|run| Some((run, run.ambiguous?))) {
            None => Ok(self),
            Some((run, line)) => Err(Malformed::new(
                line,
                format!(
                    "a second line for '{}': jobs of one run, or runs of one job?",
                    run.name.escape_debug()
                ),
                "Where they are jobs of one run, say so with --jobs 1; where they are runs, put a \
                 line 'Running NAME test on TARGET' before each, or import a file each.",
            )),
        }
    }
}

/// Jobs that one invocation reported one by one under the same name become one run.
fn join_jobs(jobs: Vec<Run>) -> Vec<Run> {
    let mut places: BTreeMap<_, usize> = BTreeMap::new();
    let mut runs: Vec<Run> = Vec::new();
    for job in jobs {
        let key = (job.form, job.invocation, job.group, job.name.clone());
        match places.get(&key).and_then(|place| runs.get_mut(*place)) {
            Some(run) => {
                // Nothing stands between the terse lines of two invocations.
                if job.form == Form::Terse && job.asked.jobs != Some(1) {
                    run.ambiguous.get_or_insert(job.line);
                }
                run.add_job(job);
            }
            None => {
                places.insert(key, runs.len());
                runs.push(job);
            }
        }
    }
    runs
}

/// fio can print one run in several forms at once.
fn without_repetitions(runs: Vec<Run>) -> Vec<Run> {
    let mut alike: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    let mut kept: Vec<Run> = Vec::new();
    for run in runs {
        let known = alike.entry(run.key()).or_default();
        // Different runs of equal runtime are rare: a look at the last few is enough.
        let recent = known.iter().rev().take(8).copied();
        let same = recent.into_iter().find(|at| {
            kept.get(*at)
                .is_some_and(|other| !other.repeated.contains(&run.form) && run.is_also(other))
        });
        match same.and_then(|at| kept.get_mut(at)) {
            Some(other) => {
                let mut rest = run;
                if rest.form < other.form {
                    std::mem::swap(other, &mut rest);
                }
                other.take_over(rest);
            }
            None => {
                known.push(kept.len());
                kept.push(run);
            }
        }
    }
    kept
}
