//! Finds in a file what can be imported: JSON documents, terse lines, reports in text, and the
//! lines `Testing ..` and `Running ..` that a script printed between them. Everything else that
//! fio or a script prints is passed over.

use super::fio_text::{self, Report};
use super::malformed::{Malformed, Parsed};
use super::run::{ALL_CLIENTS, Client, FioOptions, Form, Run, Section};
use super::{fio_json, fio_terse, version};
use crate::schema;
use plimsoll_model::{SCHEMA, Study};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;

/// Content of a file.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// plimsoll's own studies.
    pub(super) studies: Vec<Study>,
    /// Runs of fio; one per job if fio reported jobs separately.
    pub(super) runs: Vec<Run>,
    /// Jobs and documents that cannot be taken, each with its reason.
    pub(super) left_out: Vec<Malformed>,
}

/// Reads a whole file; `jobs` is what a terse line stands for, where the user said it.
pub(super) fn scan(text: &str, jobs: Option<u64>) -> Found {
    let mut scan = Scan { jobs, ..Scan::default() };
    let mut at = 0;
    let mut number = 1;
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with('{') {
            scan.end_report();
            match scan.document(rest, number) {
                Ok(length) => {
                    number += rest[..length].matches('\n').count();
                    at += length;
                    continue;
                }
                // What follows its first line may be something else.
                Err(malformed) => scan.found.left_out.push(malformed),
            }
        }
        let end = rest.find('\n').map_or(rest.len(), |i| i + 1);
        if let Err(malformed) = scan.line(rest[..end].trim_end_matches(['\n', '\r']), number) {
            scan.found.left_out.push(malformed);
        }
        at += end;
        number += 1;
    }
    scan.end_report();
    scan.found.distinguished()
}

#[derive(Default)]
struct Scan {
    found: Found,
    section: Section,
    jobs: Option<u64>,
    /// Options of each job from the lines before the runs, by name, and the version.
    asked: BTreeMap<String, FioOptions>,
    version: String,
    report: Option<Report>,
    /// Counts fio invocations, and whether anything of the current one was reported yet.
    invocation: usize,
    reported: bool,
    /// The clients of fio's server mode, where this invocation has them.
    clients: Option<Clients>,
    /// Line of the last terse line; the lines of one invocation follow each other.
    terse: Option<usize>,
}

/// Clients of fio's server mode. It prints the jobs of one client after the other, without their
/// names.
#[derive(Default)]
struct Clients {
    /// Reports of this many were begun.
    begun: usize,
    /// Whether the reports of the last one have ended.
    ended: bool,
}

impl Clients {
    /// Whose report begins.
    fn of_report(&mut self, name: &str) -> Client {
        if name == ALL_CLIENTS {
            return Client::All;
        }
        if self.begun == 0 || self.ended {
            self.begun += 1;
            self.ended = false;
        }
        Client::One(format!("client {}", self.begun))
    }
}

impl Scan {
    fn line(&mut self, text: &str, number: usize) -> Parsed<()> {
        // What a terminal was shown over and over, in one line.
        let text = text.rsplit('\r').next().unwrap_or_default();
        if let Some(report) = &mut self.report {
            if text.starts_with([' ', '\t']) {
                // A report with a line that cannot be read is left out, and not the others.
                return report.line(text, number).inspect_err(|_| self.report = None);
            }
            self.end_report();
        }
        let text = match of_client(text) {
            Some(rest) => {
                self.clients.get_or_insert_default();
                rest
            }
            None => text,
        };
        if let Some(target) = text.strip_prefix("Testing ") {
            self.section = Section { target: Some(target.trim().to_owned()), test: None };
            self.next_invocation();
        } else if let Some((test, target)) = running(text) {
            self.section.target.get_or_insert_with(|| target.to_owned());
            self.section.test = Some(test.to_owned());
            self.next_invocation();
        } else if let Some(head) = fio_text::head(text) {
            self.reported = true;
            let client = self.clients.as_mut().map(|clients| clients.of_report(&head.name));
            self.report = Some(Report::new(head, number, client.unwrap_or_default()));
        } else if text.starts_with("Run status group ") {
            self.clients.iter_mut().for_each(|clients| clients.ended = true);
        } else if text.starts_with("hostname=") && text.contains(", fio=fio-") {
            if self.reported {
                self.next_invocation();
            }
            self.clients.get_or_insert_default();
            let version = text.split(", fio=").nth(1).and_then(|rest| rest.split(',').next());
            self.version = version.unwrap_or_default().to_owned();
        } else if let Some((name, asked)) = fio_text::job_line(text) {
            if self.reported {
                self.next_invocation();
            }
            // Clients may have jobs of the same name that differ: then nothing is known of them.
            let asked = match self.asked.get(&name) {
                Some(other) if self.clients.is_some() && *other != asked => FioOptions::default(),
                _ => asked,
            };
            self.asked.insert(name, asked);
        } else if is_version(text) {
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
        self.clients = None;
        self.terse = None;
    }

    fn end_report(&mut self) {
        let Some(report) = self.report.take() else { return };
        let asked = self.asked.get(report.name());
        let run = report
            .finish(asked, &self.version, self.invocation, self.section.clone())
            .and_then(|run| version::check_if_known(&run.version, run.line).map(|()| run));
        self.found.take(run);
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
            runs.into_iter().for_each(|run| self.found.take(run));
            self.invocation += 1;
            self.terse = None;
        } else if let Some(name) = head.schema {
            schema::check(&name).map_err(|why| {
                Malformed::new(first, why, "Use the plimsoll that wrote it, or a newer one.")
            })?;
            self.found.studies.push(Study::from_json(document).map_err(refused)?);
        } else {
            let happened = format!("expected 'fio version' or 'schema' {SCHEMA} in this document");
            return Err(Malformed::new(first, happened, NEXT));
        }
        Ok(length)
    }
}

/// Text after the `<HOST> ` of a client, in fio's server mode.
fn of_client(text: &str) -> Option<&str> {
    let (host, rest) = text.strip_prefix('<')?.split_once("> ")?;
    let is_name = !host.is_empty() && !host.contains(char::is_whitespace);
    is_name.then_some(rest)
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
    fn take(&mut self, run: Parsed<Run>) {
        match run {
            Ok(run) => self.runs.push(run),
            Err(malformed) => self.left_out.push(malformed),
        }
    }

    /// Every run once: jobs of one run become one, and of a run that is there in several forms the
    /// most exact stays.
    fn distinguished(mut self) -> Found {
        let mut runs = std::mem::take(&mut self.runs);
        all_clients(&mut runs);
        for run in without_repetitions(join_jobs(runs)) {
            let Some(line) = run.ambiguous else {
                self.runs.push(run);
                continue;
            };
            self.left_out.push(Malformed::new(
                line,
                format!(
                    "a second line for '{}': jobs of one run, or runs of one job?",
                    run.name.escape_debug()
                ),
                "If they are jobs of one run, give --jobs 1. If they are separate runs, put a line 'Running \
                NAME test on TARGET' before each, or import a file each.",
            ));
        }
        self
    }
}

/// Options of all clients together: the options of each client, if they are equal.
fn all_clients(runs: &mut [Run]) {
    let mut together: BTreeMap<(Form, usize), Option<FioOptions>> = BTreeMap::new();
    for run in runs.iter().filter(|run| matches!(run.client, Client::One(_))) {
        let same = together
            .entry((run.form, run.invocation))
            .or_insert_with(|| Some(FioOptions { jobs: Some(0), ..run.asked.clone() }));
        *same = same.take().and_then(|asked| asked.and(&run.asked));
    }
    for run in runs.iter_mut().filter(|run| run.client == Client::All) {
        let asked = together.get(&(run.form, run.invocation)).cloned().flatten();
        // Of different work the kind is not known.
        run.asked = asked.unwrap_or(FioOptions {
            rw: Some("different work".to_owned()),
            ..FioOptions::default()
        });
    }
}

/// Jobs that one invocation reported one by one under the same name become one run.
fn join_jobs(jobs: Vec<Run>) -> Vec<Run> {
    let mut places: BTreeMap<_, usize> = BTreeMap::new();
    let mut runs: Vec<Run> = Vec::new();
    for job in jobs {
        let key = (job.form, job.invocation, job.group, job.client.clone(), job.name.clone());
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
