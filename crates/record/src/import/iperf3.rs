//! Results of iperf3 (--json, --json-stream) become a study of network paths. Unknown figures stay unknown: iperf3
//! reports neither latencies of requests nor, of a run, more than one interval for all streams together.

use super::malformed::{Malformed, Parsed};
use super::{ImportFile, ImportOptions};
use crate::document;
use plimsoll_model::units::Bytes;
use plimsoll_model::{
    Cell, DatagramsJob, Design, Ended, Endpoint, Flow, HostName, ImportedRun, Job, Length, Measure,
    Metric, OpKind, Origin, Outcome, Part, PartResult, PathFacts, Plan, PointResult, Rule, SCHEMA,
    Series, StreamJob, Study, StudyId, Subject, SubjectFacts, TcpStreamJob, Trial, Window,
    Workload,
};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::num::NonZeroU16;

/// Most runs of one file.
const MOST_RUNS: usize = 4096;
/// Most intervals of a run that are kept.
const MOST_INTERVALS: usize = 36_000;

/// A run as iperf3 wrote it, and its first line.
pub(super) struct Run {
    line: usize,
    result: Value,
}

/// The runs of a file and where they came from.
pub(super) struct Source<'a> {
    pub(super) file: &'a ImportFile,
    pub(super) label: Option<String>,
    pub(super) runs: Vec<Run>,
}

/// The runs of iperf3 in a text; `None` if it is not JSON of iperf3.
pub(super) fn runs(text: &str) -> Option<Parsed<Vec<Run>>> {
    let is_whole = text.contains("\"test_start\"") && text.contains("\"intervals\"");
    let is_stream = text.contains("\"event\"") && text.contains("\"test_start\"");
    if !text.trim_start().starts_with('{') || !(is_whole || is_stream) {
        return None;
    }
    Some(documents(text))
}

fn documents(text: &str) -> Parsed<Vec<Run>> {
    let mut runs: Vec<Run> = Vec::new();
    // A stream of events is one run, up to its end.
    let mut events: Option<(usize, Map<String, Value>)> = None;
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    loop {
        let before = values.byte_offset();
        let rest = text.get(before..).unwrap_or_default();
        let blank = rest.len() - rest.trim_start().len();
        let line = 1 + text.as_bytes()[..before + blank].iter().filter(|b| **b == b'\n').count();
        let value = match values.next() {
            None => break,
            Some(Ok(value)) => value,
            Some(Err(error)) => {
                let next = "Give the whole output of iperf3 --json.";
                return Err(Malformed::json(1, &error, next));
            }
        };
        if runs.len() >= MOST_RUNS {
            let happened = format!("it has more than {MOST_RUNS} runs");
            return Err(Malformed::new(line, happened, "Import fewer at once."));
        }
        match value.get("event").and_then(Value::as_str) {
            None => runs.push(Run { line, result: value }),
            Some(event) => {
                let data = value.get("data").cloned().unwrap_or_default();
                let (_, whole) = events.get_or_insert_with(|| (line, Map::new()));
                match event {
                    "interval" => {
                        let all =
                            whole.entry("intervals").or_insert_with(|| Value::Array(Vec::new()));
                        if let Some(all) =
                            all.as_array_mut().filter(|all| all.len() < MOST_INTERVALS)
                        {
                            all.push(data);
                        }
                    }
                    "start" | "end" => {
                        whole.insert(event.to_owned(), data);
                    }
                    _ => {}
                }
                if event == "end"
                    && let Some((line, whole)) = events.take()
                {
                    runs.push(Run { line, result: Value::Object(whole) });
                }
            }
        }
    }
    // One that was broken off has a beginning alone.
    runs.extend(events.map(|(line, whole)| Run { line, result: Value::Object(whole) }));
    Ok(runs)
}

/// A number below these names.
fn number(value: &Value, path: &[&str]) -> Option<f64> {
    let found = path.iter().try_fold(value, |value, key| value.get(key))?;
    found.as_f64().filter(|number| number.is_finite())
}

fn text<'a>(value: &'a Value, path: &[&str]) -> Option<&'a str> {
    path.iter().try_fold(value, |value, key| value.get(key))?.as_str()
}

/// One study of all runs, its paths in the order in which they appear.
pub(super) fn study(
    sources: &[Source<'_>],
    options: &ImportOptions,
    id: StudyId,
    left_out: &mut Vec<plimsoll_model::Failure>,
) -> Study {
    let begun = |run: &Run| number(&run.result, &["start", "timestamp", "timesecs"]);
    let all = || sources.iter().flat_map(|source| &source.runs);
    let modified = sources.iter().map(|source| source.file.modified_unix_seconds).min();
    let started = all().filter_map(begun).filter(|at| *at >= 0.0).reduce(f64::min);
    let started = started.unwrap_or(modified.unwrap_or(0) as f64);
    let mut subjects: Vec<(Subject, PathFacts)> = Vec::new();
    let mut workloads: Vec<Workload> = Vec::new();
    let mut trials: Vec<Trial> = Vec::new();
    let mut tools: Vec<String> = Vec::new();
    for source in sources {
        for run in &source.runs {
            let taken = job(run).and_then(|(job, length)| Ok((job, length, path(run, source)?)));
            let (job, seconds, (subject, facts)) = match taken {
                Ok(taken) => taken,
                Err(malformed) => {
                    left_out.push(malformed.in_file(&source.file.name));
                    continue;
                }
            };
            let length = Length::For { seconds, warm_up_seconds: 0.0 };
            let part = Part::closed(job, NonZeroU16::MIN, NonZeroU16::MIN);
            let workload =
                place(&mut workloads, Workload::of(part, length), |a, b| a.parts == b.parts);
            let subject = place(&mut subjects, (subject, facts), |a, b| a.1.given == b.1.given);
            let (Ok(subject), Ok(workload)) = (u16::try_from(subject), u16::try_from(workload))
            else {
                continue;
            };
            let tool = tool(run);
            if !tools.contains(&tool) {
                tools.push(tool.clone());
            }
            trials.push(Trial {
                number: u32::try_from(trials.len()).unwrap_or(u32::MAX),
                block: None,
                cell: Cell { subject, workload, setting: 0 },
                started_seconds: begun(run).map_or(0.0, |at| (at - started).max(0.0)),
                result: result(run, source.file),
                points: Vec::new(),
                loads: Vec::new(),
                mount: None,
                imported: Some(imported(run, source.file, tool)),
            });
        }
    }
    let (subjects, facts): (Vec<Subject>, Vec<PathFacts>) = subjects.into_iter().unzip();
    let design = Design {
        rule: Rule::Fixed { blocks: 1 },
        cap_seconds: 0.0,
        baseline_seconds: 0.0,
        ..Design::default()
    };
    let command = options.command.clone();
    let plan = Plan { command, ..Plan::new(subjects, workloads, design) };
    Study {
        schema: SCHEMA.to_owned(),
        id,
        started_unix_seconds: started as u64,
        origin: Origin::Imported { tool: tools.join(", ") },
        plan,
        subjects: facts.into_iter().map(SubjectFacts::Path).collect(),
        hosts: Vec::new(),
        flags: Vec::new(),
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

/// "iperf3-3.12".
fn tool(run: &Run) -> String {
    let version = text(&run.result, &["start", "version"]).unwrap_or("iperf 3");
    let version: String = version.chars().take(40).collect();
    version.replacen("iperf ", "iperf3-", 1)
}

/// What the client of a run did, and for how many seconds.
fn job(run: &Run) -> Parsed<(Job, f64)> {
    let asked = |key: &str| number(&run.result, &["start", "test_start", key]);
    let is_set = |key: &str| asked(key).is_some_and(|value| value > 0.0);
    let flow = match (is_set("bidir"), is_set("reverse")) {
        (true, _) => Flow::Both,
        (false, true) => Flow::In,
        (false, false) => Flow::Out,
    };
    let streams = asked("num_streams").unwrap_or(1.0).clamp(1.0, f64::from(u16::MAX)) as u16;
    let block = Bytes(asked("blksize").unwrap_or(0.0).max(0.0) as u64);
    let seconds = asked("duration").unwrap_or(0.0).max(0.0);
    match text(&run.result, &["start", "test_start", "protocol"]) {
        Some("TCP") => {
            Ok((TcpStreamJob { streams, block, ..TcpStreamJob::new(flow) }.into(), seconds))
        }
        Some("UDP") => {
            let job = DatagramsJob { streams, payload: block, ..DatagramsJob::new(flow) };
            Ok((job.into(), seconds))
        }
        other => {
            let other: String = other.unwrap_or("unknown").chars().take(20).collect();
            let happened = format!("its protocol is {}: expected TCP or UDP", other.escape_debug());
            Err(Malformed::new(run.line, happened, "Run iperf3 with TCP or UDP."))
        }
    }
}

/// The path of a run: from its client to its server.
fn path(run: &Run, source: &Source<'_>) -> Parsed<(Subject, PathFacts)> {
    let start = &run.result["start"];
    let connected = &start["connected"][0];
    let named = |key: &str| connected.get(key).and_then(Value::as_str);
    let server = named("remote_host").or(text(start, &["connecting_to", "host"]));
    let end = |host: Option<&str>| {
        let host = host.map(|host| host.trim_start_matches("::ffff:"));
        host.and_then(|host| HostName::by_ssh(host).ok())
    };
    let (Some(from), Some(to)) = (end(named("local_host")), end(server)) else {
        let happened = "it does not name the hosts that it connected";
        let next = "Give the output of the client, of a run that was connected.";
        return Err(Malformed::new(run.line, happened, next));
    };
    let given = source.label.clone().unwrap_or_else(|| format!("{} to {}", from.name(), to.name()));
    let endpoint = |host| Endpoint { host, address: None };
    let subject = Subject::Path { from: endpoint(from), to: endpoint(to), via: None };
    Ok((subject, PathFacts { label: given.clone(), given, notes: Vec::new() }))
}

fn result(run: &Run, file: &ImportFile) -> PointResult {
    if let Some(error) = text(&run.result, &["error"]) {
        let failure = plimsoll_model::Failure::new(
            plimsoll_model::Cause::Trial,
            "run iperf3",
            format!("{}, line {}", file.name, run.line),
            error,
            "The run failed in iperf3: run it again.",
        );
        return PointResult::empty(Outcome::Failed { phase: "measure".to_owned(), failure });
    }
    let part =
        PartResult { quantities: quantities(run), series: series(run), ..PartResult::default() };
    PointResult { parts: vec![part], ..PointResult::empty(Outcome::Complete) }
}

/// Figures by their own names. Goodput is that of the receiver.
fn quantities(run: &Run) -> BTreeMap<Metric, f64> {
    let end = |path: &[&str]| number(&run.result["end"], path);
    let bytes_per_second = |sum: &str| end(&[sum, "bits_per_second"]).map(|bits| bits / 8.0);
    let is_both = number(&run.result, &["start", "test_start", "bidir"]).is_some_and(|b| b > 0.0);
    let is_udp = text(&run.result, &["start", "test_start", "protocol"]) == Some("UDP");
    let mut found = Vec::new();
    // Old versions have one sum for datagrams: what was sent, and the share that was lost.
    let lost = end(&["sum", "lost_percent"]).map(|percent| percent / 100.0).filter(|_| is_udp);
    let received = bytes_per_second("sum_received").filter(|rate| *rate > 0.0);
    let own = received.or(bytes_per_second("sum").map(|sent| sent * (1.0 - lost.unwrap_or(0.0))));
    if is_both {
        let back = bytes_per_second("sum_received_bidir_reverse");
        found.push((Measure::GOODPUT_OUT, own));
        found.push((Measure::GOODPUT_IN, back));
        found.push((Measure::THROUGHPUT, own.zip(back).map(|(out, back)| out + back)));
    } else {
        found.push((Measure::THROUGHPUT, own));
    }
    let seconds = end(&["sum_received", "seconds"]).or(end(&["sum", "seconds"]));
    let bytes = end(&["sum_received", "bytes"]).or(end(&["sum", "bytes"]));
    for (measure, key) in
        [(Measure::NEAR_CPU_PER_BYTE, "host_total"), (Measure::FAR_CPU_PER_BYTE, "remote_total")]
    {
        let share = end(&["cpu_utilization_percent", key]).map(|percent| percent / 100.0);
        let cpu = share.zip(seconds).zip(bytes.filter(|bytes| *bytes > 0.0));
        found.push((measure, cpu.map(|((share, seconds), bytes)| share * seconds / bytes)));
    }
    if is_udp {
        found.push((StreamJob::LOSS, lost));
        found.push((Measure::JITTER, end(&["sum", "jitter_ms"]).map(|ms| ms / 1e3)));
        let packets = end(&["sum", "packets"]).zip(seconds.filter(|seconds| *seconds > 0.0));
        let arrived = 1.0 - lost.unwrap_or(0.0);
        found.push((Measure::PACKETS, packets.map(|(count, seconds)| count * arrived / seconds)));
    }
    let streams = run.result["end"]["streams"].as_array().into_iter().flatten();
    let least = streams.filter_map(|stream| number(stream, &["sender", "min_rtt"]));
    let least = least.filter(|us| *us > 0.0).reduce(f64::min);
    found.push((Measure::FLOW_RTT_LEAST, least.map(|us| us / 1e6)));
    let known = found.into_iter().filter_map(|(measure, value)| Some((measure, value?)));
    let known = known.filter(|(_, value)| value.is_finite() && *value >= 0.0);
    known.map(|(measure, value)| (Metric::all(measure), value)).collect()
}

/// What was carried in each interval, if all are equally long.
fn series(run: &Run) -> Series {
    let intervals = run.result["intervals"].as_array().map_or(&[][..], Vec::as_slice);
    let reverse = number(&run.result, &["start", "test_start", "reverse"]).is_some_and(|r| r > 0.0);
    let kind = if reverse { OpKind::RECEIVE } else { OpKind::SEND };
    let Some(length) = intervals.first().and_then(|first| number(first, &["sum", "seconds"]))
    else {
        return Series::default();
    };
    let length = (length * 10.0).round() / 10.0;
    let window = |interval: &Value| {
        let bytes = number(interval, &["sum", "bytes"]).unwrap_or(0.0).max(0.0) as u64;
        let operations = number(interval, &["sum", "packets"]).unwrap_or(1.0).max(1.0) as u64;
        Window::of(kind, operations, bytes)
    };
    let windows: Vec<Window> = intervals.iter().take(MOST_INTERVALS).map(window).collect();
    if length > 0.0 { Series::new(length, &windows) } else { Series::default() }
}

fn imported(run: &Run, file: &ImportFile, tool: String) -> ImportedRun {
    let mut notes = Vec::new();
    let sent = number(&run.result["end"], &["sum_sent", "retransmits"]);
    notes.extend(sent.map(|count| format!("{count} segments were sent again")));
    let congestion = text(&run.result["end"], &["sender_tcp_congestion"]);
    notes.extend(congestion.map(|name| {
        let name: String = name.chars().take(40).collect();
        format!("congestion control of the sender: {name}")
    }));
    let title = text(&run.result, &["title"]).unwrap_or("iperf3");
    ImportedRun {
        tool,
        file: file.name.clone(),
        line: run.line as u64,
        name: title.chars().take(80).collect(),
        runtime_seconds: number(&run.result["end"], &["sum_received", "seconds"])
            .or(number(&run.result["end"], &["sum", "seconds"]))
            .unwrap_or(0.0),
        notes,
        ..ImportedRun::default()
    }
}
