//! Runs of network tools (iperf3, netperf, flent) become one study of network paths.

use super::malformed::{Malformed, Parsed};
use super::{ImportFile, ImportOptions, build};
use crate::document;
use plimsoll_model::{
    Cell, Ended, Endpoint, Failure, Flag, HostName, ImportedRun, Job, LatencySummary, Length,
    Measure, Metric, OpKind, OpStats, Origin, Outcome, Part, PartResult, PathFacts, PathSubject,
    Plan, PointResult, SCHEMA, Series, Study, StudyId, Subject, SubjectFacts, Trial, Window,
    Workload,
};
use std::collections::BTreeMap;
use std::num::NonZeroU16;

/// Most runs of one file.
pub(super) const MOST_RUNS: usize = 4096;
/// Most intervals of a run that are kept.
pub(super) const MOST_INTERVALS: usize = 36_000;
/// Longest interval of a run, in seconds.
const LONGEST_INTERVAL_SECONDS: f64 = 86_400.0;
/// Most bytes of an interval.
const MOST_BYTES: f64 = 1e18;
/// Seconds since 1970-01-01 UTC at the end of the year 9999.
const MOST_UNIX_SECONDS: f64 = 253_402_300_800.0;
/// Most characters of a name or a word from a file.
pub(super) const MOST_LETTERS: usize = 80;

/// A run of a tool on a path.
pub(super) struct PathRun {
    /// Its first line in the file, from 1.
    pub(super) line: usize,
    /// The tool with its version: "iperf3-3.12".
    pub(super) tool: String,
    /// Name of the run in its tool.
    pub(super) name: String,
    /// Start, in seconds since 1970-01-01 UTC; `None` if unknown.
    pub(super) begun_unix_seconds: Option<f64>,
    /// Host of the client.
    pub(super) from: String,
    /// Host of the server.
    pub(super) to: String,
    /// Protocol of requests that tells two paths apart, if it is not TCP.
    pub(super) protocol: Option<&'static str>,
    /// What was done at the same time, with its result. Empty if the run failed before.
    pub(super) parts: Vec<(Job, PartResult)>,
    /// Asked length in seconds.
    pub(super) seconds: f64,
    /// Measured length in seconds.
    pub(super) runtime_seconds: f64,
    /// Error of the tool.
    pub(super) failure: Option<Failure>,
    /// What a reader of the figures has to know.
    pub(super) notes: Vec<String>,
    /// What the user of the tool limited its rate to; `None` if nothing, or unknown.
    pub(super) held: Option<String>,
}

impl PathRun {
    /// Its start, if it is a date.
    fn begun(&self) -> Option<f64> {
        self.begun_unix_seconds.filter(|at| (0.0..MOST_UNIX_SECONDS).contains(at))
    }
}

/// The runs of a file and where they came from.
pub(super) struct Source<'a> {
    pub(super) file: &'a ImportFile,
    pub(super) label: Option<String>,
    pub(super) runs: Vec<Parsed<PathRun>>,
}

/// One study of all runs, its paths in the order in which they appear.
pub(super) fn study(
    sources: Vec<Source<'_>>,
    options: &ImportOptions,
    id: StudyId,
    left_out: &mut Vec<Failure>,
) -> Study {
    let all = sources.iter().flat_map(|source| &source.runs);
    let started = all.flatten().filter_map(PathRun::begun).reduce(f64::min);
    let modified = sources.iter().map(|source| source.file.modified_unix_seconds).min();
    let started = started.unwrap_or(modified.unwrap_or(0) as f64);
    let mut subjects: Vec<(Subject, PathFacts)> = Vec::new();
    let mut workloads: Vec<Workload> = Vec::new();
    let mut trials: Vec<Trial> = Vec::new();
    let mut tools: Vec<String> = Vec::new();
    let mut flags: Vec<Flag> = Vec::new();
    for Source { file, label, runs } in sources {
        for run in runs {
            let taken = run.and_then(|run| Ok((path(&run, label.as_deref())?, run)));
            let ((subject, facts), run) = match taken {
                Ok(taken) => taken,
                Err(malformed) => {
                    left_out.push(malformed.in_file(&file.name));
                    continue;
                }
            };
            let begun = run.begun();
            let length = Length::For { seconds: run.seconds, warm_up_seconds: 0.0 };
            let (jobs, results): (Vec<Job>, Vec<PartResult>) = run.parts.into_iter().unzip();
            let closed = |job: Job| Part::closed(job, NonZeroU16::MIN, NonZeroU16::MIN);
            let parts = jobs.into_iter().map(closed).collect();
            let workload = Workload { parts, steps: None, length };
            let workload = place(&mut workloads, workload, |a, b| a.parts == b.parts);
            let subject = place(&mut subjects, (subject, facts), |a, b| a.1.given == b.1.given);
            let (Ok(subject), Ok(workload)) = (u16::try_from(subject), u16::try_from(workload))
            else {
                let happened = "there are too many different paths or workloads";
                let malformed = Malformed::new(run.line, happened, "Import fewer runs at once.");
                left_out.push(malformed.in_file(&file.name));
                continue;
            };
            if !tools.contains(&run.tool) {
                tools.push(run.tool.clone());
            }
            if let (Some(by), Some((_, facts))) = (run.held, subjects.get(usize::from(subject))) {
                let target = facts.label.clone();
                let flag = Flag::RateHeld { target, run: run.name.clone(), by };
                if !flags.contains(&flag) {
                    flags.push(flag);
                }
            }
            let result = match run.failure {
                Some(failure) => {
                    PointResult::empty(Outcome::Failed { phase: "measure".to_owned(), failure })
                }
                None => PointResult { parts: results, ..PointResult::empty(Outcome::Complete) },
            };
            trials.push(Trial {
                number: u32::try_from(trials.len()).unwrap_or(u32::MAX),
                block: None,
                cell: Cell { subject, workload, setting: 0 },
                started_seconds: begun.map_or(0.0, |at| (at - started).max(0.0)),
                result,
                points: Vec::new(),
                loads: Vec::new(),
                mount: None,
                imported: Some(ImportedRun {
                    tool: run.tool,
                    file: file.name.clone(),
                    line: run.line as u64,
                    name: run.name,
                    runtime_seconds: run.runtime_seconds,
                    notes: run.notes,
                    ..ImportedRun::default()
                }),
            });
        }
    }
    let (subjects, facts): (Vec<Subject>, Vec<PathFacts>) = subjects.into_iter().unzip();
    let command = options.command.clone();
    let plan = Plan { command, ..Plan::new(subjects, workloads, build::one_block()) };
    Study {
        schema: SCHEMA.to_owned(),
        id,
        started_unix_seconds: started as u64,
        origin: Origin::Imported { tool: tools.join(", ") },
        plan,
        subjects: facts.into_iter().map(SubjectFacts::Path).collect(),
        hosts: Vec::new(),
        flags,
        measures: document::measures(&[], &trials),
        trials,
        ended: Ended::Done,
    }
}

/// The place of a value among those that are known.
fn place<T>(known: &mut Vec<T>, value: T, same: impl Fn(&T, &T) -> bool) -> usize {
    known.iter().position(|other| same(other, &value)).unwrap_or_else(|| {
        known.push(value);
        known.len() - 1
    })
}

/// The path of a run: from its client to its server.
fn path(run: &PathRun, label: Option<&str>) -> Parsed<(Subject, PathFacts)> {
    let end = |host: &str| {
        HostName::by_ssh(host.trim_start_matches("::ffff:")).map_err(|failure| {
            let happened = format!("'{}' is not a host: {}", word(host), failure.happened);
            let next = "Give the output of the client, of a run that was connected.";
            Malformed::new(run.line, happened, next)
        })
    };
    let (from, to) = (end(&run.from)?, end(&run.to)?);
    let named = || format!("{} to {}", from.name(), to.name());
    let given = label.map_or_else(named, str::to_owned);
    let given = match run.protocol {
        Some(protocol) => format!("{given} ({protocol})"),
        None => given,
    };
    let endpoint = |host| Endpoint { host, address: None };
    let subject = Subject::from(PathSubject { from: endpoint(from), to: endpoint(to), via: None });
    Ok((subject, PathFacts { label: given.clone(), given, ..PathFacts::default() }))
}

/// A word of a file, for a message. Of a long one its beginning.
pub(super) fn word(text: &str) -> String {
    let mut letters = text.chars();
    let short: String = letters.by_ref().take(MOST_LETTERS).collect();
    let end = if letters.next().is_some() { "…" } else { "" };
    format!("{}{end}", short.escape_debug())
}

/// Note on segments that TCP sent again.
pub(super) fn sent_again(count: f64) -> String {
    format!("{count} segments were sent again")
}

/// Note on the congestion control of a sender.
pub(super) fn congestion(name: &str) -> String {
    format!("congestion control of the sender: {}", word(name))
}

/// Figures that are known, as the quantities of a part: finite, not negative.
pub(super) fn known(
    figures: impl IntoIterator<Item = (Measure, Option<f64>)>,
) -> BTreeMap<Metric, f64> {
    let known = figures.into_iter().filter_map(|(measure, value)| Some((measure, value?)));
    let known = known.filter(|(_, value)| value.is_finite() && *value >= 0.0);
    known.map(|(measure, value)| (Metric::all(measure), value)).collect()
}

/// Adds latencies of requests to a part, with the quantiles that their number supports.
pub(super) fn add_latency(part: &mut PartResult, count: u64, latency: LatencySummary) {
    build::add_latency(&mut part.quantities, None, count, &latency);
    let stats = OpStats { count, client_latency: latency, ..OpStats::default() };
    part.ops.insert(OpKind::REQUEST, stats);
}

/// An interval of a run: its length, and the bytes that it carried.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interval {
    pub(super) seconds: f64,
    pub(super) bytes: f64,
}

/// Intervals that follow each other, as windows of about their median length. The bytes of an interval that
/// overlaps two windows are shared out by time. Empty if there are too few.
pub(super) fn series(kind: OpKind, intervals: &[Interval]) -> Series {
    let sound = |one: &&Interval| {
        one.seconds > 0.0
            && one.seconds <= LONGEST_INTERVAL_SECONDS
            && (0.0..=MOST_BYTES).contains(&one.bytes)
    };
    let intervals: Vec<Interval> =
        intervals.iter().filter(sound).take(MOST_INTERVALS).copied().collect();
    let mut lengths: Vec<f64> = intervals.iter().map(|one| one.seconds).collect();
    lengths.sort_by(f64::total_cmp);
    let Some(median) = lengths.get(lengths.len() / 2) else { return Series::default() };
    // Tools miss their interval by some milliseconds.
    let window = (median * 10.0).round().max(1.0) / 10.0;
    let total: f64 = lengths.iter().sum();
    let count = (total / window).round().clamp(1.0, MOST_INTERVALS as f64) as usize;
    let mut carried = vec![0.0; count];
    let mut start = 0.0;
    for Interval { seconds, bytes } in intervals {
        let end = start + seconds;
        let mut at = ((start / window) as usize).min(count - 1);
        while at < count && (at as f64) * window < end {
            let from = start.max(at as f64 * window);
            // The last window takes what is left of the last interval.
            let to = if at + 1 == count { end } else { end.min((at + 1) as f64 * window) };
            carried[at] += bytes * (to - from).max(0.0) / seconds;
            at += 1;
        }
        start = end;
    }
    let windows: Vec<Window> =
        carried.into_iter().map(|bytes| Window::only(kind, 1, bytes.round() as u64)).collect();
    Series::new(window, &windows)
}

/// The same of several kinds that ran at the same time.
pub(super) fn series_of(kinds: &[(OpKind, Vec<Interval>)]) -> Series {
    let mut windows: Vec<Window> = Vec::new();
    let mut length = 0.0;
    for (kind, intervals) in kinds {
        let of_kind = series(*kind, intervals);
        length = f64::max(length, of_kind.window_seconds);
        windows.resize(of_kind.len().max(windows.len()), Window::default());
        for (all, own) in windows.iter_mut().zip(of_kind.windows()) {
            all.add(&own);
        }
    }
    if length > 0.0 { Series::new(length, &windows) } else { Series::default() }
}
