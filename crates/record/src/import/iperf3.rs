//! Results of iperf3 (--json, --json-stream). Unknown figures stay unknown: iperf3 reports neither latencies of
//! requests nor, of a run, more than one interval for all streams together.

use super::ImportFile;
use super::malformed::{Malformed, Parsed};
use super::paths::{self, MOST_INTERVALS, MOST_LETTERS, MOST_RUNS, PathRun, word};
use plimsoll_model::units::Bytes;
use plimsoll_model::{
    Cause, DatagramsJob, Failure, Flow, Job, Measure, Metric, OpKind, PartResult, Series,
    StreamJob, TcpStreamJob, Window,
};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A run as iperf3 wrote it, and its first line.
struct Run {
    line: usize,
    result: Value,
}

/// The runs of iperf3 in a text; `None` if it is not JSON of iperf3.
pub(super) fn runs(text: &str, file: &ImportFile) -> Option<Parsed<Vec<Parsed<PathRun>>>> {
    let is_whole = text.contains("\"test_start\"") && text.contains("\"intervals\"");
    let is_stream = text.contains("\"event\"") && text.contains("\"test_start\"");
    if !text.trim_start().starts_with('{') || !(is_whole || is_stream) {
        return None;
    }
    let runs = documents(text);
    Some(runs.map(|runs| runs.iter().map(|run| path_run(run, file)).collect()))
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

fn path_run(run: &Run, file: &ImportFile) -> Parsed<PathRun> {
    let (job, seconds) = job(run)?;
    let (from, to) = ends(run)?;
    let failure = text(&run.result, &["error"]).map(|error| {
        let on = format!("{}, line {}", file.name, run.line);
        let next = "The run failed in iperf3: run it again.";
        Failure::new(Cause::Trial, "run iperf3").on(on).happened(error).next(next)
    });
    let result =
        PartResult { quantities: quantities(run), series: series(run), ..PartResult::default() };
    let end = |path: &[&str]| number(&run.result["end"], path);
    let mut notes = Vec::new();
    let sent_again = end(&["sum_sent", "retransmits"]);
    notes.extend(sent_again.map(paths::sent_again));
    let congestion = text(&run.result["end"], &["sender_tcp_congestion"]);
    notes.extend(congestion.map(paths::congestion));
    let title = text(&run.result, &["title"]).unwrap_or("iperf3");
    let runtime = end(&["sum_received", "seconds"]).or(end(&["sum", "seconds"]));
    Ok(PathRun {
        line: run.line,
        tool: tool(run),
        name: title.chars().take(MOST_LETTERS).collect(),
        begun_unix_seconds: number(&run.result, &["start", "timestamp", "timesecs"]),
        from,
        to,
        protocol: None,
        parts: vec![(job, result)],
        seconds,
        runtime_seconds: runtime.unwrap_or(0.0),
        failure,
        notes,
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
            let other = word(other.unwrap_or("unknown"));
            let happened = format!("its protocol is {other}: expected TCP or UDP");
            Err(Malformed::new(run.line, happened, "Run iperf3 with TCP or UDP."))
        }
    }
}

/// Hosts of the client and of the server.
fn ends(run: &Run) -> Parsed<(String, String)> {
    let start = &run.result["start"];
    let connected = &start["connected"][0];
    let named = |key: &str| connected.get(key).and_then(Value::as_str);
    let server = named("remote_host").or(text(start, &["connecting_to", "host"]));
    match (named("local_host"), server) {
        (Some(from), Some(to)) => Ok((from.to_owned(), to.to_owned())),
        _ => {
            let happened = "it does not name the hosts that it connected";
            let next = "Give the output of the client, of a run that was connected.";
            Err(Malformed::new(run.line, happened, next))
        }
    }
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
    paths::known(found)
}

/// Bytes of each interval. iperf3 makes all but the last as long as the first.
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
