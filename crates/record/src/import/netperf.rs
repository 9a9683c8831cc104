//! Omni output of netperf 2.5 and later in its three forms, `key=value` (-k), CSV (-o), columns (-O), and its older
//! tables of TCP. The output has no version, no date, and only the figures that its user asked for.

use super::malformed::{Malformed, Parsed};
use super::paths::{self, Interval, MOST_INTERVALS, MOST_RUNS, PathRun, word};
use plimsoll_model::units::Bytes;
use plimsoll_model::{
    ConnectJob, DatagramsJob, Flow, Job, LatencySummary, Measure, Metric, OpKind, PartResult,
    RequestJob, StreamJob, TcpStreamJob,
};
use std::collections::BTreeMap;

/// The figures that are imported: their keys, and their headings in CSV and columns.
const KEYS: [(&str, &str); 37] = [
    ("DIRECTION", "Direction"),
    ("PROTOCOL", "Protocol"),
    ("ELAPSED_TIME", "Elapsed Time (sec)"),
    ("THROUGHPUT", "Throughput"),
    ("THROUGHPUT_UNITS", "Throughput Units"),
    ("THROUGHPUT_CONFID", "Throughput Confidence Width (%)"),
    ("CONFIDENCE_ITERATION", "Confidence Iterations Run"),
    ("LOCAL_SEND_THROUGHPUT", "Local Send Throughput"),
    ("LOCAL_RECV_THROUGHPUT", "Local Recv Throughput"),
    ("REMOTE_SEND_THROUGHPUT", "Remote Send Throughput"),
    ("REMOTE_RECV_THROUGHPUT", "Remote Recv Throughput"),
    ("TRANSACTION_RATE", "Transaction Rate Tran/s"),
    ("RT_LATENCY", "Round Trip Latency usec/tran"),
    ("BURST_SIZE", "Initial Burst Requests"),
    ("REQUEST_SIZE", "Request Size Bytes"),
    ("RESPONSE_SIZE", "Response Size Bytes"),
    ("LOCAL_SEND_SIZE", "Local Send Size"),
    ("REMOTE_SEND_SIZE", "Remote Send Size"),
    ("LOCAL_NODELAY", "Local NODELAY"),
    ("LOCAL_CPU_UTIL", "Local CPU Util %"),
    ("REMOTE_CPU_UTIL", "Remote CPU Util %"),
    ("LOCAL_SD", "Local Service Demand"),
    ("REMOTE_SD", "Remote Service Demand"),
    ("SD_UNITS", "Service Demand Units"),
    ("LOCAL_TRANSPORT_RETRANS", "Local Transport Retransmissions"),
    ("REMOTE_TRANSPORT_RETRANS", "Remote Transport Retransmissions"),
    ("LOCAL_CONG_CONTROL", "Local Congestion Control Algorithm"),
    ("REMOTE_CONG_CONTROL", "Remote Congestion Control Algorithm"),
    ("SOURCE_ADDR", "Source Address"),
    ("DEST_ADDR", "Destination Address"),
    ("MIN_LATENCY", "Minimum Latency Microseconds"),
    ("MAX_LATENCY", "Maximum Latency Microseconds"),
    ("MEAN_LATENCY", "Mean Latency Microseconds"),
    ("STDDEV_LATENCY", "Stddev Latency Microseconds"),
    ("P50_LATENCY", "50th Percentile Latency Microseconds"),
    ("P90_LATENCY", "90th Percentile Latency Microseconds"),
    ("P99_LATENCY", "99th Percentile Latency Microseconds"),
];

/// Headings of the older tables, and their keys.
const OLD_HEADINGS: [(&str, &str); 5] = [
    ("ELAPSED_TIME", "Elapsed Time secs."),
    ("LOCAL_SEND_SIZE", "Send Message Size bytes"),
    ("TRANSACTION_RATE", "Trans. Rate per sec"),
    ("REQUEST_SIZE", "Request Size bytes"),
    ("RESPONSE_SIZE", "Resp. Size bytes"),
];

/// Keys with a word as their value.
const WORDS: [&str; 8] = [
    "DIRECTION",
    "PROTOCOL",
    "THROUGHPUT_UNITS",
    "SD_UNITS",
    "LOCAL_CONG_CONTROL",
    "REMOTE_CONG_CONTROL",
    "SOURCE_ADDR",
    "DEST_ADDR",
];

/// Begins of the keys of an interim result in `key=value` form.
const INTERIM: [&str; 4] =
    ["NETPERF_INTERIM_RESULT[", "NETPERF_UNITS[", "NETPERF_INTERVAL[", "NETPERF_ENDING["];

/// Most lines of headings above a line of columns: an older table has an empty one.
const HEADINGS: usize = 5;

/// Most words of a heading.
const HEADING_WORDS: usize = 6;

/// Longest line that is read, in bytes: the command line is in it.
const LONGEST_LINE: usize = 16 << 10;

/// Lines of a run that may be of no known form.
const MOST_UNKNOWN: u32 = 64;

const NEXT: &str =
    "Run netperf with its omni output, as in netperf -H HOST -- -k all, and import that.";

/// A run as netperf printed it.
#[derive(Default)]
struct Run {
    line: usize,
    /// "TCP STREAM", "OMNI Send".
    test: String,
    /// Client and server of the first line.
    hosts: Option<(String, String)>,
    /// Values by key.
    values: BTreeMap<&'static str, String>,
    interim: Vec<Interim>,
    /// Whether netperf warned that it did not reach the asked confidence.
    warned: bool,
    /// Whether its figures are from an older table.
    is_old: bool,
    /// Lines of no known form so far.
    unknown: u32,
}

/// Values by key, and the number of lines they took.
type Values = (BTreeMap<&'static str, String>, usize);

/// Result of a part of a run.
#[derive(Default)]
struct Interim {
    rate: f64,
    units: String,
    seconds: f64,
    ending: f64,
}

/// The runs of netperf in a text; `None` if it has no omni output.
pub(super) fn runs(text: &str) -> Option<Parsed<Vec<Parsed<PathRun>>>> {
    let lines: Vec<&str> = text.lines().collect();
    let mut runs: Vec<Run> = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at].trim_end();
        if line.len() > LONGEST_LINE {
            at += 1;
            continue;
        }
        if let Some((test, hosts)) = banner(line) {
            runs.push(Run { line: at + 1, test, hosts, ..Run::default() });
        } else if let Some((key, value)) = pair(line) {
            // Without first lines (-P 0), a key that comes again begins the next run.
            if runs.last().is_none_or(|run| run.values.contains_key(key)) {
                runs.push(Run { line: at + 1, ..Run::default() });
            }
            runs.last_mut()?.values.insert(key, value.to_owned());
        } else if let Some((values, used)) = csv(&lines[at..]) {
            let again = |run: &Run| values.keys().any(|key| run.values.contains_key(key));
            if runs.last().is_none_or(again) {
                runs.push(Run { line: at + 1, ..Run::default() });
            }
            runs.last_mut()?.values.extend(values);
            at += used - 1;
        } else if let Some(run) = runs.last_mut() {
            at += more(&lines[at..], run);
        }
        if runs.len() > MOST_RUNS {
            let happened = format!("it has more than {MOST_RUNS} runs");
            return Some(Err(Malformed::new(at + 1, happened, "Import fewer at once.")));
        }
        at += 1;
    }
    // Files of other tools may have a heading or a key in common with netperf.
    let is_result = |run: &Run| {
        let has = |key: &str| run.values.contains_key(key);
        has("TRANSACTION_RATE")
            || (has("THROUGHPUT") && has("THROUGHPUT_UNITS"))
            || (!run.test.is_empty() && (has("THROUGHPUT") || has("MEAN_LATENCY")))
    };
    runs.iter().any(is_result).then(|| Ok(runs.iter().map(path_run).collect()))
}

/// Takes the next line of a run, and the number of further lines that belong to it.
fn more(lines: &[&str], run: &mut Run) -> usize {
    let line = lines.first().map_or("", |line| line.trim_end());
    if line.is_empty() || run.unknown >= MOST_UNKNOWN || interim(line, run) {
        return 0;
    }
    if line.starts_with("!!! WARNING") {
        run.warned = true;
    } else if let Some((values, used)) = table(lines) {
        run.is_old |= lines[..used].iter().any(|line| line.contains("secs"));
        run.values.extend(values);
        return used - 1;
    }
    run.unknown += 1;
    0
}

/// The test and the hosts of the first line of a run.
fn banner(line: &str) -> Option<(String, Option<(String, String)>)> {
    let line = line.strip_prefix("MIGRATED ").unwrap_or(line);
    let (test, rest) = line.split_once(" TEST from ")?;
    let is_test = |test: &str| {
        ["OMNI", "TCP", "UDP", "SCTP", "DCCP"].contains(&test.split(' ').next().unwrap_or_default())
    };
    if !is_test(test) || test.len() > paths::MOST_LETTERS {
        return None;
    }
    let hosts = rest.split_once(" to ").and_then(|(from, to)| {
        let address = |text: &str| text.split_whitespace().next().map(str::to_owned);
        Some((address(from)?, address(to)?))
    });
    Some((test.to_owned(), hosts))
}

/// A line `KEY=value` with a key that is imported.
fn pair(line: &str) -> Option<(&'static str, &str)> {
    let (key, value) = line.split_once('=')?;
    let (known, _) = KEYS.iter().find(|(known, _)| *known == key)?;
    Some((known, value.trim()))
}

/// Adds an interim result of any of the three forms; whether the line was one.
fn interim(line: &str, run: &mut Run) -> bool {
    let full = run.interim.len() >= MOST_INTERVALS;
    let add = |run: &mut Run, words: Option<[&str; 4]>| {
        let Some([rate, units, seconds, ending]) = words else { return false };
        let numbers = [rate, seconds, ending].map(|word| word.trim().parse::<f64>().ok());
        let [Some(rate), Some(seconds), Some(ending)] = numbers else { return false };
        if !full {
            run.interim.push(Interim { rate, units: units.trim().to_owned(), seconds, ending });
        }
        true
    };
    if let Some(rest) = line.strip_prefix("Interim result:") {
        // "941.20 10^6bits/s over 0.100 seconds ending at 1700000000.123"
        let words: Vec<&str> = rest.split_whitespace().collect();
        let words = match words[..] {
            [rate, units, "over", seconds, "seconds", "ending", "at", ending] => {
                Some([rate, units, seconds, ending])
            }
            _ => None,
        };
        add(run, words);
        return true;
    }
    if let Some(which) = INTERIM.iter().position(|key| line.starts_with(key)) {
        let value = line.split_once('=').map_or("", |(_, value)| value.trim());
        let number = || value.parse::<f64>().unwrap_or(f64::NAN);
        match (which, run.interim.last_mut()) {
            (0, _) if !full => run.interim.push(Interim { rate: number(), ..Interim::default() }),
            (1, Some(last)) if !full => last.units = value.to_owned(),
            (2, Some(last)) if !full => last.seconds = number(),
            (3, Some(last)) if !full => last.ending = number(),
            _ => {}
        }
        return true;
    }
    let words: Vec<&str> = line.split(',').collect();
    match words[..] {
        [rate, units, seconds, ending] if units.ends_with("/s") => {
            add(run, Some([rate, units, seconds, ending]))
        }
        _ => false,
    }
}

/// Headings and values of CSV.
fn csv(lines: &[&str]) -> Option<Values> {
    let headings = fields(lines.first()?);
    let known = |heading: &str| KEYS.iter().find(|(_, known)| *known == heading.trim());
    if !headings.iter().any(|heading| known(heading).is_some()) {
        return None;
    }
    let values = fields(lines.get(1).filter(|line| line.len() <= LONGEST_LINE)?);
    let pairs = headings.iter().zip(values);
    let known =
        pairs.filter_map(|(heading, value)| Some((known(heading)?.0, value.trim().to_owned())));
    let found: BTreeMap<_, _> = known.filter(|(key, value)| is_value(key, value)).collect();
    (!found.is_empty()).then_some((found, 2))
}

/// Whether this can be a value of that key.
fn is_value(key: &str, value: &str) -> bool {
    !value.is_empty() && (WORDS.contains(&key) || value.parse::<f64>().is_ok())
}

/// The fields of a line; the command line is in quotes and may have commas.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    for letter in line.chars() {
        match letter {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            letter => {
                if let Some(last) = fields.last_mut() {
                    last.push(letter);
                }
            }
        }
    }
    fields
}

/// Headings and values in columns. Copies may lack empty lines of headings, so the number of lines with headings is
/// the one that gives most values.
fn table(lines: &[&str]) -> Option<Values> {
    let is_heading = |word: &str| {
        let mut headings = KEYS.iter().chain(&OLD_HEADINGS).map(|(_, heading)| *heading);
        word == "Recv" || headings.any(|heading| heading.starts_with(word))
    };
    if !lines.first()?.split_whitespace().any(is_heading) {
        return None;
    }
    let of = |headings: usize| {
        let lines = lines.get(..=headings)?;
        let is_short = lines.iter().all(|line| line.len() <= LONGEST_LINE);
        is_short.then(|| (columns(&lines[..headings], lines[headings]), headings + 1))
    };
    let found = (1..=HEADINGS).filter_map(of).max_by_key(|(found, _)| found.len());
    found.filter(|(found, _)| !found.is_empty())
}

fn columns(headings: &[&str], values: &str) -> BTreeMap<&'static str, String> {
    let rows: Vec<Vec<char>> =
        headings.iter().chain([&values]).map(|row| row.chars().collect()).collect();
    let blank = |at: usize| rows.iter().all(|row| row.get(at).is_none_or(|c| c.is_whitespace()));
    let width = rows.iter().map(Vec::len).max().unwrap_or(0);
    // Parts between places where every line is blank. A column may be several parts.
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for at in (0..width).filter(|at| !blank(*at)) {
        match parts.last_mut() {
            Some((_, end)) if *end == at => *end = at + 1,
            _ => parts.push((at, at + 1)),
        }
    }
    let cell = |row: usize, from: usize, to: usize| -> String {
        let row = &rows[row];
        let to = to.min(row.len());
        row[from.min(to)..to].iter().collect::<String>().trim().to_owned()
    };
    let heading = |from: usize, to: usize| -> String {
        let words: Vec<String> = (0..headings.len()).map(|row| cell(row, from, to)).collect();
        let words: Vec<&str> = words.iter().map(|word| &**word).filter(|w| !w.is_empty()).collect();
        words.join(" ")
    };
    let mut found = BTreeMap::new();
    let mut next = 0;
    while next < parts.len() {
        let (from, _) = parts[next];
        // The longest heading that is known.
        let known = (next..parts.len().min(next + HEADING_WORDS)).rev().find_map(|last| {
            let heading = heading(from, parts[last].1);
            let of = |(_, known): &&(&str, &str)| *known == heading;
            let key = KEYS.iter().find(of).or(OLD_HEADINGS.iter().find(of)).map(|(key, _)| *key);
            // An older table has the unit in its heading.
            let unit =
                heading.strip_prefix("Throughput ").map(|u| u.strip_suffix("ec").unwrap_or(u));
            let unit = unit.filter(|unit| bytes_per_unit(unit).is_some()).map(str::to_owned);
            let key = key.or(unit.as_ref().map(|_| "THROUGHPUT"))?;
            Some((key, unit, last))
        });
        if let Some((key, unit, last)) = known {
            let value = cell(headings.len(), from, parts[last].1);
            if is_value(key, &value) {
                found.insert(key, value);
                found.extend(unit.map(|unit| ("THROUGHPUT_UNITS", unit)));
            }
            next = last;
        }
        next += 1;
    }
    found
}

impl Run {
    fn text(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str).filter(|text| !text.is_empty())
    }

    /// A figure; netperf prints a negative one for what it did not measure.
    fn number(&self, key: &str) -> Option<f64> {
        let number = self.text(key)?.parse::<f64>().ok()?;
        Some(number).filter(|number| number.is_finite() && *number >= 0.0)
    }

    fn bytes(&self, key: &str) -> Bytes {
        Bytes(self.number(key).unwrap_or(0.0) as u64)
    }

    fn is_udp(&self) -> bool {
        match self.text("PROTOCOL") {
            Some(protocol) => protocol.eq_ignore_ascii_case("UDP"),
            None => self.test.starts_with("UDP"),
        }
    }
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

/// Bytes of a unit of throughput.
fn bytes_per_unit(units: &str) -> Option<f64> {
    Some(match units {
        "10^3bits/s" => 1e3 / 8.0,
        "10^6bits/s" => 1e6 / 8.0,
        "10^9bits/s" => 1e9 / 8.0,
        "Bytes/s" => 1.0,
        "KBytes/s" => 1024.0,
        "MBytes/s" => 1024.0 * 1024.0,
        "GBytes/s" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    })
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
    let address = |text: &str| !["", "0.0.0.0", "::", "::0"].contains(&text);
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
    })
}

/// CPU time of both machines, in seconds for each of these units: "usec/KB", "usec/Tran".
fn cpu(
    run: &Run,
    unit: &str,
    microseconds: f64,
    measures: [Measure; 2],
) -> [(Measure, Option<f64>); 2] {
    let of = |key: &str| {
        run.number(key).filter(|demand| *demand > 0.0 && run.text("SD_UNITS") == Some(unit))
    };
    let [near, far] = measures;
    [
        (near, of("LOCAL_SD").map(|d| d * microseconds)),
        (far, of("REMOTE_SD").map(|d| d * microseconds)),
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
    if run.is_old && run.is_udp() {
        let happened = "its table of UDP has what was sent and what arrived in one column";
        return Err(Malformed::new(run.line, happened, NEXT));
    }
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
        let rates = run.number(sent).filter(|rate| *rate > 0.0).zip(run.number(received));
        let loss = rates.map(|(sent, received)| (1.0 - received / sent).max(0.0));
        let payload = run.bytes(block);
        let packets = (throughput * bytes) / payload.0 as f64;
        figures.push((StreamJob::LOSS, loss));
        figures.push((Measure::PACKETS, Some(packets).filter(|_| payload.0 > 0)));
        DatagramsJob { payload, ..DatagramsJob::new(flow) }.into()
    } else {
        let no_delay = flow == Flow::Out && run.number("LOCAL_NODELAY") == Some(1.0);
        let name = run.text(congestion);
        notes.extend(name.map(|name| format!("congestion control of the sender: {}", word(name))));
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
    let burst = run.number("BURST_SIZE").unwrap_or(0.0);
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
    let most = microseconds("MAX_LATENCY").filter(known);
    // Latencies of single requests are there if netperf was asked for them.
    if let (Some(count), Some(most), Some(own)) =
        (count, most, microseconds("MEAN_LATENCY").filter(known))
    {
        let quantile = |(name, key): (&str, &str)| Some((name.to_owned(), microseconds(key)?));
        let names = [("0.5", "P50_LATENCY"), ("0.9", "P90_LATENCY"), ("0.99", "P99_LATENCY")];
        let latency = LatencySummary {
            mean_seconds: own,
            min_seconds: microseconds("MIN_LATENCY").unwrap_or(0.0),
            max_seconds: most,
            standard_deviation_seconds: microseconds("STDDEV_LATENCY"),
            quantiles_seconds: names.into_iter().filter_map(quantile).collect(),
            histogram: None,
        };
        paths::add_latency(&mut part, count, latency);
    } else {
        for (key, measure) in
            [("P50_LATENCY", Measure::LATENCY_P50), ("P99_LATENCY", Measure::LATENCY_P99)]
        {
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
            let size = |key: &str| run.number(key).map_or(Bytes(1), |size| Bytes(size as u64));
            let (request, response) = (size("REQUEST_SIZE"), size("RESPONSE_SIZE"));
            RequestJob { request, response, ..RequestJob::new() }.into()
        }
    };
    Ok((job, part))
}
