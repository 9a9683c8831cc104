//! Omni output of netperf, and its older tables, as runs on a path. The output has no version, no date, and only
//! the figures that its user asked for.

mod printed;
mod tables;

#[cfg(test)]
mod tests;

use super::malformed::{Malformed, Parsed};
use super::paths::{self, Interval, PathRun, word};
use plimsoll_model::{
    ConnectJob, DatagramsJob, Flow, Job, LatencySummary, Measure, Metric, OpKind, PartResult,
    RequestJob, StreamJob, TcpStreamJob,
};
use printed::{Interim, Run, bytes_per_unit};

const NEXT: &str =
    "Run netperf with its omni output, as in netperf -H HOST -- -k all, and import that.";
/// The runs of netperf in a text; `None` if it has no omni output.
pub(super) fn runs(text: &str) -> Option<Parsed<Vec<Parsed<PathRun>>>> {
    Some(printed::runs(text)?.map(|runs| runs.iter().map(path_run).collect()))
}

/// What was done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    Stream(Flow),
    Requests,
    /// Connections, each with a request or without.
    Connections,
}

fn work(run: &Run) -> Parsed<Work> {
    let protocol = run.text("PROTOCOL").unwrap_or(if run.is_udp() { "UDP" } else { "TCP" });
    if !["TCP", "UDP"].iter().any(|known| protocol.eq_ignore_ascii_case(known))
        || run.test.starts_with("SCTP")
        || run.test.starts_with("DCCP")
    {
        let happened = format!("its protocol is {}: expected TCP or UDP", word(protocol));
        return Err(Malformed::new(run.line, happened, "Run netperf with TCP or UDP."));
    }
    let direction = run.text("DIRECTION").map(str::to_ascii_lowercase);
    let test = run.test.to_ascii_lowercase();
    let said = direction.as_deref().unwrap_or(test.strip_prefix("omni ").unwrap_or(&test));
    let has = |part: &str| said.contains(part);
    if has("connect") {
        return Ok(Work::Connections);
    }
    if has("send|recv") || has("request") || run.text("THROUGHPUT_UNITS") == Some("Trans/s") {
        return Ok(Work::Requests);
    }
    if has("maerts") || has("receive") || has("recv") {
        return Ok(Work::Stream(Flow::In));
    }
    if has("stream") || has("send") {
        return Ok(Work::Stream(Flow::Out));
    }
    let happened = "its direction is unknown";
    let next = "Add DIRECTION and PROTOCOL to the output selectors of netperf.";
    Err(Malformed::new(run.line, happened, next))
}
fn path_run(run: &Run) -> Parsed<PathRun> {
    if run.values.is_empty() {
        return Err(Malformed::new(run.line, "it has no figure that can be imported", NEXT));
    }
    let work = work(run)?;
    let mut notes = Vec::new();
    let (job, result) = match work {
        Work::Stream(flow) => stream(run, flow, &mut notes)?,
        Work::Requests | Work::Connections => requests(run, work, &mut notes)?,
    };
    for (key, whose) in
        [("LOCAL_TRANSPORT_RETRANS", "client"), ("REMOTE_TRANSPORT_RETRANS", "server")]
    {
        let again = run.number(key).filter(|count| *count > 0.0);
        notes.extend(again.map(|count| format!("{} by the {whose}", paths::sent_again(count))));
    }
    if let Some(iterations) = run.number("CONFIDENCE_ITERATION").filter(|count| *count > 1.0) {
        let width = run.number("THROUGHPUT_CONFID").filter(|width| *width > 0.0);
        let width = width.map_or_else(String::new, |width| format!(", ±{}%", width / 2.0));
        notes.push(format!("mean of {iterations} iterations of netperf{width}"));
    }
    if run.warned {
        notes.push("netperf did not reach the asked confidence".to_owned());
    }
    let (from, to) = run.hosts.clone().unwrap_or_default();
    let address = |text: &str| !["", "0.0.0.0", "::", "::0", "(null)"].contains(&text);
    let end = |key: &str, host: String, unknown: &str| {
        let host = Some(host).filter(|host| address(host));
        let known = run.text(key).filter(|text| address(text)).map(str::to_owned);
        host.or(known).unwrap_or_else(|| unknown.to_owned())
    };
    let seconds = run.number("ELAPSED_TIME").unwrap_or(0.0);
    let begun = run.interim.first().map(|first| first.ending - first.seconds);
    Ok(PathRun {
        line: run.line,
        tool: "netperf".to_owned(),
        name: if run.test.is_empty() { "netperf".to_owned() } else { run.test.clone() },
        begun_unix_seconds: begun.filter(|at| at.is_finite() && *at >= 0.0),
        from: end("SOURCE_ADDR", from, "client"),
        to: end("DEST_ADDR", to, "server"),
        protocol: (work == Work::Requests && run.is_udp()).then_some("UDP"),
        parts: vec![(job, result)],
        // netperf overshoots the asked time by some milliseconds.
        seconds: seconds.round(),
        runtime_seconds: seconds,
        failure: None,
        notes,
        held: None,
    })
}

/// CPU time of both machines, in seconds for each of these units: "usec/KB", "usec/Tran".
fn cpu(
    run: &Run,
    unit: &str,
    microseconds: f64,
    measures: [Measure; 2],
) -> [(Measure, Option<f64>); 2] {
    let service_demand = |key: &str| {
        run.number(key).filter(|demand| *demand > 0.0 && run.text("SD_UNITS") == Some(unit))
    };
    let [near, far] = measures;
    [
        (near, service_demand("LOCAL_SD").map(|d| d * microseconds)),
        (far, service_demand("REMOTE_SD").map(|d| d * microseconds)),
    ]
}

/// Note on CPU time.
fn note_cpu(run: &Run, notes: &mut Vec<String>) {
    for (key, whose) in [("LOCAL_CPU_UTIL", "client"), ("REMOTE_CPU_UTIL", "server")] {
        if let Some(percent) = run.number(key).filter(|percent| *percent > 0.0) {
            notes.push(format!(
                "CPU of the {whose}'s whole machine, other work included: {percent}%"
            ));
        }
    }
}

fn stream(run: &Run, flow: Flow, notes: &mut Vec<String>) -> Parsed<(Job, PartResult)> {
    let units = run.text("THROUGHPUT_UNITS").or(run.interim.first().map(|first| &*first.units));
    let Some(bytes) = units.and_then(bytes_per_unit) else {
        let happened = match units {
            Some(units) => format!("its unit of throughput is '{}'", word(units)),
            None => "it does not name the unit of its throughput".to_owned(),
        };
        let next = "Add THROUGHPUT_UNITS to the output selectors of netperf, with -f m.";
        return Err(Malformed::new(run.line, happened, next));
    };
    let Some(throughput) = run.number("THROUGHPUT") else {
        return Err(Malformed::new(run.line, "it has no THROUGHPUT", NEXT));
    };
    let (sent, received, kind, block, congestion) = match flow {
        Flow::In => (
            "REMOTE_SEND_THROUGHPUT",
            "LOCAL_RECV_THROUGHPUT",
            OpKind::RECEIVE,
            "REMOTE_SEND_SIZE",
            "REMOTE_CONG_CONTROL",
        ),
        Flow::Out | Flow::Both => (
            "LOCAL_SEND_THROUGHPUT",
            "REMOTE_RECV_THROUGHPUT",
            OpKind::SEND,
            "LOCAL_SEND_SIZE",
            "LOCAL_CONG_CONTROL",
        ),
    };
    let mut figures = vec![(Measure::THROUGHPUT, Some(throughput * bytes))];
    let measures = [Measure::MACHINE_CPU_PER_BYTE, Measure::SERVER_CPU_PER_BYTE];
    figures.extend(cpu(run, "usec/KB", 1e-6 / 1024.0, measures));
    let job: Job = if run.is_udp() {
        let both = |sent: &str, received: &str| {
            run.number(sent).filter(|sent| *sent > 0.0).zip(run.number(received))
        };
        // Counts are exact; rates are rounded.
        let pair = both("LOCAL_SEND_CALLS", "REMOTE_RECV_CALLS").or_else(|| both(sent, received));
        let loss = pair.map(|(sent, received)| (1.0 - received / sent).max(0.0));
        let payload = run.bytes(block);
        let packets = (throughput * bytes) / payload.0 as f64;
        figures.push((StreamJob::LOSS, loss));
        figures.push((Measure::PACKETS, Some(packets).filter(|_| payload.0 > 0)));
        DatagramsJob { payload, ..DatagramsJob::new(flow) }.into()
    } else {
        let no_delay = flow == Flow::Out && run.number("LOCAL_NODELAY") == Some(1.0);
        notes.extend(run.text(congestion).map(paths::congestion));
        TcpStreamJob { block: run.bytes(block), no_delay, ..TcpStreamJob::new(flow) }.into()
    };
    note_cpu(run, notes);
    let carried = |one: &Interim| {
        let bytes = bytes_per_unit(&one.units)? * one.rate * one.seconds;
        Some(Interval { seconds: one.seconds, bytes })
    };
    let intervals: Vec<Interval> = run.interim.iter().filter_map(carried).collect();
    let series = paths::series(kind, &intervals);
    Ok((job, PartResult { quantities: paths::known(figures), series, ..PartResult::default() }))
}

fn requests(run: &Run, work: Work, notes: &mut Vec<String>) -> Parsed<(Job, PartResult)> {
    let printed =
        run.number("THROUGHPUT").filter(|_| run.text("THROUGHPUT_UNITS") == Some("Trans/s"));
    let rate = run.number("TRANSACTION_RATE").or(printed).filter(|rate| *rate > 0.0);
    let microseconds = |key: &str| run.number(key).map(|value| value / 1e6);
    let burst = run.number("BURST_SIZE").or(run.burst).unwrap_or(0.0);
    // One request after the other: the rate is the round trip.
    let by_rate = rate.map(|rate| (1.0 + burst) / rate);
    let known = |value: &f64| *value > 0.0;
    let mean = microseconds("MEAN_LATENCY").filter(known);
    let Some(mean) = mean.or(microseconds("RT_LATENCY").filter(known)).or(by_rate) else {
        let happened = "it has neither a rate of transactions nor a latency";
        return Err(Malformed::new(run.line, happened, NEXT));
    };
    let mut figures = vec![match work {
        Work::Connections => (Measure::CONNECTIONS, rate),
        _ => (Measure::REQUESTS, rate),
    }];
    let measures = [Measure::MACHINE_CPU_PER_OP, Measure::SERVER_CPU_PER_OP];
    figures.extend(cpu(run, "usec/Tran", 1e-6, measures));
    figures.push((Measure::LATENCY_MEAN, Some(mean)));
    let mut part = PartResult { quantities: paths::known(figures), ..PartResult::default() };
    note_cpu(run, notes);
    let count =
        rate.zip(run.number("ELAPSED_TIME")).map(|(rate, seconds)| (rate * seconds).round() as u64);
    let least = microseconds("MIN_LATENCY");
    let most = microseconds("MAX_LATENCY").filter(known);
    // Latencies of single requests are there if netperf was asked for them.
    if let (Some(count), Some(least), Some(most), Some(own)) =
        (count, least, most, microseconds("MEAN_LATENCY").filter(known))
    {
        let quantile = |(name, key): (&str, &str)| Some((name.to_owned(), microseconds(key)?));
        let names = [("0.5", "P50_LATENCY"), ("0.9", "P90_LATENCY"), ("0.99", "P99_LATENCY")];
        let latency = LatencySummary {
            mean_seconds: own,
            min_seconds: least,
            max_seconds: most,
            standard_deviation_seconds: microseconds("STDDEV_LATENCY"),
            quantiles_seconds: names.into_iter().filter_map(quantile).collect(),
            histogram: None,
        };
        paths::add_latency(&mut part, count, latency);
    } else {
        let single = [
            ("P50_LATENCY", Measure::LATENCY_P50),
            ("P99_LATENCY", Measure::LATENCY_P99),
            ("MAX_LATENCY", Measure::LATENCY_MAX),
        ];
        for (key, measure) in single {
            let value = microseconds(key).filter(known);
            part.quantities.extend(value.map(|value| (Metric::all(measure), value)));
        }
    }
    if burst > 0.0 {
        notes.push(format!("{} requests in flight on the connection", burst + 1.0));
    }
    let job = match work {
        Work::Connections => {
            if run.test.to_ascii_lowercase().contains("request")
                || run.text("REQUEST_SIZE").is_some()
            {
                notes.push("each connection carries a request and its answer".to_owned());
            }
            ConnectJob { streams: 1 }.into()
        }
        _ => {
            let (request, response) = (run.bytes("REQUEST_SIZE"), run.bytes("RESPONSE_SIZE"));
            RequestJob { request, response, ..RequestJob::new() }.into()
        }
    };
    Ok((job, part))
}
