//! Results of iperf3 (--json, --json-stream), of its client or its server. Unknown figures stay unknown: iperf3 reports
//! neither latencies of requests nor, of a run, more than one interval for all streams together.

mod documents;
mod ways;

#[cfg(test)]
mod tests;

use super::ImportFile;
use super::malformed::{Malformed, Parsed};
use super::paths::{self, MOST_LETTERS, PathRun, word};
use documents::{Run, documents};
use plimsoll_model::units::{Bytes, bit_rate, three_digits};
use plimsoll_model::{
    Cause, DatagramsJob, Failure, Flow, Job, Measure, Metric, OpKind, PartResult, StreamJob,
    TcpStreamJob,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use ways::Way;

/// Numbers of iperf3 are below this, and those that are not are no figures.
const MOST: f64 = 1e18;
/// Longest test of iperf3, in seconds.
const LONGEST_SECONDS: f64 = 86_400.0;

const OF_CLIENT: &str = "Import the output of the client: iperf3 --client HOST --json.";

/// The runs of iperf3 in a text; `None` if it is not JSON of iperf3.
pub(super) fn runs(text: &str, file: &ImportFile) -> Option<Parsed<Vec<Parsed<PathRun>>>> {
    let has = |key: &str| text.contains(key);
    let is_whole = has("\"start\"") && has("\"intervals\"") && has("\"end\"");
    let is_stream = has("\"event\"") && has("\"data\"") && has("\"start\"");
    // A document that was cut off has a beginning alone.
    let is_begun = has("\"start\"") && has("\"iperf 3");
    let is_other = ["\"fio version\"", "\"schema\"", "\"x_values\""].into_iter().any(has);
    if is_other || !(is_whole || is_stream || is_begun) {
        return None;
    }
    let runs = documents(text);
    if runs.as_ref().is_ok_and(Vec::is_empty) {
        return None;
    }
    Some(runs.map(|runs| runs.into_iter().map(|run| path_run(&run?, file)).collect()))
}

/// A number below these names: neither negative nor larger than iperf3 can have it.
fn number(value: &Value, path: &[&str]) -> Option<f64> {
    let found = path.iter().try_fold(value, |value, key| value.get(key))?;
    found.as_f64().filter(|number| (0.0..MOST).contains(number))
}

fn text<'a>(value: &'a Value, path: &[&str]) -> Option<&'a str> {
    path.iter().try_fold(value, |value, key| value.get(key))?.as_str()
}

/// A number of the settings of a test.
fn test_setting(run: &Run, key: &str) -> Option<f64> {
    number(&run.result, &["start", "test_start", key]).filter(|value| *value > 0.0)
}

fn path_run(run: &Run, file: &ImportFile) -> Parsed<PathRun> {
    let error = text(&run.result, &["error"]);
    if run.result["start"]["test_start"].is_null() {
        return Err(before_the_test(run, error));
    }
    let ways = ways::ways(&run.result);
    let runtime = ways.iter().filter_map(|way| way.seconds).reduce(f64::max).unwrap_or(0.0);
    let job = job(run)?;
    let failure = match error {
        Some(error) => Some(failed(run, file, error)),
        None if run.result["end"].as_object().is_none_or(|end| end.is_empty()) => {
            let happened = "its output ends before the test did";
            return Err(Malformed::new(
                run.line,
                happened,
                "Give the whole output of iperf3 --json.",
            ));
        }
        None if ways.iter().all(|way| way.received.or(way.sent).is_none()) => {
            Some(failed(run, file, "nothing arrived"))
        }
        None => check(run, &ways, &job)?,
    };
    let (from, to) = ends(run);
    let kinds = ways.iter().map(|way| {
        let kind = if way.flow == Flow::Out { OpKind::SEND } else { OpKind::RECEIVE };
        (kind, way.intervals.clone())
    });
    let result = PartResult {
        quantities: quantities(run, &ways, runtime),
        series: paths::series_of(&kinds.collect::<Vec<_>>()),
        ..PartResult::default()
    };
    let title = text(&run.result, &["title"]).unwrap_or("iperf3");
    let begun = number(&run.result, &["start", "timestamp", "timesecs"]);
    Ok(PathRun {
        line: run.line,
        tool: tool(run),
        name: title.chars().take(MOST_LETTERS).collect(),
        begun_unix_seconds: begun,
        from,
        to,
        protocol: None,
        parts: vec![(job, result)],
        // Without a length, a test lasts until so many bytes are sent.
        seconds: test_setting(run, "duration").unwrap_or(runtime).min(LONGEST_SECONDS),
        runtime_seconds: runtime,
        failure,
        notes: notes(run, &ways),
        held: rate_limit(run),
    })
}

fn failed(run: &Run, file: &ImportFile, happened: &str) -> Failure {
    let on = format!("{}, line {}", file.name, run.line);
    let next = "The run failed in iperf3: run it again.";
    Failure::new(Cause::Trial, "run iperf3").on(on).happened(happened).next(next)
}

/// Why a document without a test cannot be imported.
fn before_the_test(run: &Run, error: Option<&str>) -> Malformed {
    match error {
        Some(error) => Malformed::new(
            run.line,
            format!("iperf3 failed before its test began: {}", word(error)),
            "Run iperf3 again, and import the output of a run that was connected.",
        ),
        None => Malformed::new(
            run.line,
            "it is not a result of iperf3: expected 'test_start' in 'start'",
            "Give the whole output of iperf3 --json.",
        ),
    }
}

/// Refuses what says nothing of what arrived. Of TCP, what was sent is close to it.
fn check(run: &Run, ways: &[Way], job: &Job) -> Parsed<Option<Failure>> {
    let is_udp = matches!(job, Job::Datagrams(_));
    if !is_udp || ways.iter().any(|way| way.received.is_some()) {
        return Ok(None);
    }
    let happened = match ways::is_server(&run.result) {
        true => "the server sent the datagrams, and its output does not say what arrived",
        false => "it does not say what arrived of the datagrams",
    };
    Err(Malformed::new(run.line, happened, OF_CLIENT))
}

/// "iperf3-3.12".
fn tool(run: &Run) -> String {
    let version = text(&run.result, &["start", "version"]).unwrap_or("iperf 3");
    let version: String = version.chars().take(40).collect();
    version.replacen("iperf ", "iperf3-", 1)
}

/// What the client of a run did.
fn job(run: &Run) -> Parsed<Job> {
    let flow = ways::flow(&run.result);
    let streams =
        test_setting(run, "num_streams").unwrap_or(1.0).clamp(1.0, f64::from(u16::MAX)) as u16;
    let block = Bytes(test_setting(run, "blksize").unwrap_or(0.0) as u64);
    match text(&run.result, &["start", "test_start", "protocol"]) {
        Some("TCP") => Ok(TcpStreamJob { streams, block, ..TcpStreamJob::new(flow) }.into()),
        Some("UDP") => {
            let datagrams = rate(run).filter(|_| block.0 > 0);
            let datagrams = datagrams.map(|rate| (rate / block.0 as f64).round().clamp(1.0, 1e9));
            let rate = datagrams.and_then(|datagrams| NonZeroU32::new(datagrams as u32));
            Ok(DatagramsJob { streams, payload: block, rate, ..DatagramsJob::new(flow) }.into())
        }
        other => {
            let other = word(other.unwrap_or("unknown"));
            let happened = format!("its protocol is {other}: expected TCP or UDP");
            Err(Malformed::new(run.line, happened, "Run iperf3 with TCP or UDP."))
        }
    }
}

/// Bytes per second to which the user limited each stream (-b, --fq-rate).
fn rate(run: &Run) -> Option<f64> {
    let start_setting =
        |key: &str| number(&run.result, &["start", key]).filter(|value| *value > 0.0);
    let target = test_setting(run, "target_bitrate").or(start_setting("target_bitrate"));
    let paced = test_setting(run, "fqrate").or(start_setting("fq_rate"));
    target.into_iter().chain(paced).reduce(f64::min).map(|bits| bits / 8.0)
}

/// What kept TCP from going as fast as it can.
fn rate_limit(run: &Run) -> Option<String> {
    let is_tcp = text(&run.result, &["start", "test_start", "protocol"]) == Some("TCP");
    let rate = rate(run).filter(|_| is_tcp)?;
    Some(format!("{} for each stream, an option of iperf3", bit_rate(rate)))
}

/// Hosts of the client and of the server.
fn ends(run: &Run) -> (String, String) {
    let start = &run.result["start"];
    let connected = |key: &str| text(&start["connected"][0], &[key]);
    let (client, server) = match ways::is_server(&run.result) {
        true => (
            connected("remote_host").or(text(start, &["accepted_connection", "host"])),
            connected("local_host"),
        ),
        false => (
            connected("local_host"),
            connected("remote_host").or(text(start, &["connecting_to", "host"])),
        ),
    };
    (client.unwrap_or("client").to_owned(), server.unwrap_or("server").to_owned())
}

/// Shares of a core that the processes of the client and the server used. An end that did not say it has 0.
fn cpu(run: &Run) -> [Option<f64>; 2] {
    let share = |key: &str| {
        let percent = number(&run.result["end"], &["cpu_utilization_percent", key]);
        percent.map(|percent| percent / 100.0).filter(|share| *share > 0.0)
    };
    let shares = [share("host_total"), share("remote_total")];
    match (ways::is_server(&run.result), shares) {
        (true, [server, client]) => [client, server],
        (false, shares) => shares,
    }
}

/// Figures by their own names. Goodput is that of the receiver, or what TCP sent where that is not known.
fn quantities(run: &Run, ways: &[Way], runtime: f64) -> BTreeMap<Metric, f64> {
    let is_udp = text(&run.result, &["start", "test_start", "protocol"]) == Some("UDP");
    let goodput = |way: &Way| way.received.or(way.sent.filter(|_| !is_udp));
    let sum = |of: &dyn Fn(&Way) -> Option<f64>| ways.iter().map(of).sum::<Option<f64>>();
    let mut found = vec![(Measure::THROUGHPUT, sum(&goodput))];
    if let [out, back] = ways {
        found.push((Measure::GOODPUT_OUT, goodput(out)));
        found.push((Measure::GOODPUT_IN, goodput(back)));
    }
    let bytes = sum(&|way| way.bytes);
    let measures = [Measure::NEAR_CPU_PER_BYTE, Measure::FAR_CPU_PER_BYTE];
    for (measure, share) in measures.into_iter().zip(cpu(run)) {
        let cpu = share.zip(bytes.filter(|bytes| *bytes > 0.0));
        found.push((measure, cpu.map(|(share, bytes)| share * runtime / bytes)));
    }
    if is_udp {
        let lost = sum(&|way| way.lost);
        let packets = sum(&|way| way.packets).filter(|packets| *packets > 0.0);
        found.push((StreamJob::LOSS, lost.zip(packets).map(|(lost, packets)| lost / packets)));
        let jitter = ways.iter().filter_map(|way| way.jitter_seconds).reduce(f64::max);
        found.push((Measure::JITTER, jitter));
        let arrived = sum(&|way| Some((way.packets? - way.lost?) / way.seconds?));
        found.push((Measure::PACKETS, arrived));
    }
    // iperf3 looks at the round trip of TCP once in each interval.
    let trips = |key: &str| -> Vec<f64> {
        let streams = run.result["end"]["streams"].as_array().into_iter().flatten();
        let trips = streams.filter_map(|stream| number(stream, &["sender", key]));
        trips.filter(|us| *us > 0.0).map(|us| us / 1e6).collect()
    };
    let means = trips("mean_rtt");
    let mean = means.iter().sum::<f64>() / means.len() as f64;
    found.extend([
        (Measure::FLOW_RTT_LEAST, trips("min_rtt").into_iter().reduce(f64::min)),
        (Measure::FLOW_RTT_MEAN, Some(mean).filter(|_| !means.is_empty())),
        (Measure::FLOW_RTT_MAX, trips("max_rtt").into_iter().reduce(f64::max)),
    ]);
    paths::known(found)
}

/// What a reader of the figures has to know.
fn notes(run: &Run, ways: &[Way]) -> Vec<String> {
    let mut notes = Vec::new();
    let is_udp = text(&run.result, &["start", "test_start", "protocol"]) == Some("UDP");
    if ways::is_server(&run.result) {
        notes.push("from the output of the server".to_owned());
    }
    let way_of = |way: &Way| match (ways.len(), way.flow) {
        (1, _) => String::new(),
        (_, flow) => format!(" {flow}"),
    };
    for way in ways {
        let direction = way_of(way);
        if let (false, None, Some(_)) = (is_udp, way.received, way.sent) {
            notes.push(format!("goodput{direction} as sent: what arrived is not known"));
        }
        let again = way.sent_again.filter(|_| !is_udp);
        notes.extend(again.map(|count| paths::sent_again(count) + &direction));
    }
    if let [Some(near), Some(far)] = cpu(run) {
        let percent = |share: f64| three_digits(100.0 * share);
        let (near, far) = (percent(near), percent(far));
        notes.push(format!("CPU of a core: client {near}%, server {far}%"));
    }
    if is_udp && rate(run).is_none() {
        notes.push("the rate that was asked for is not known: iperf3 sends 1 Mbit/s for each stream unless -b names another".to_owned());
    }
    let left_out = test_setting(run, "omit");
    notes.extend(left_out.map(|seconds| format!("the first {seconds} s are left out (--omit)")));
    let bytes =
        test_setting(run, "bytes").map(|bytes| format!("until {} were sent", Bytes(bytes as u64)));
    let blocks =
        test_setting(run, "blocks").map(|blocks| format!("until {blocks} blocks were sent"));
    notes.extend(bytes.or(blocks));
    let congestion = text(&run.result["end"], &["sender_tcp_congestion"]);
    notes.extend(congestion.map(paths::congestion));
    notes
}
