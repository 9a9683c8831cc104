//! The output of netperf 2.5 and later as runs with values by key. It has three forms, `key=value` (-k), CSV (-o) and
//! columns (-O), and the older tables.

use super::tables;
use crate::import::malformed::{Malformed, Parsed};
use crate::import::paths::{MOST_INTERVALS, MOST_LETTERS, MOST_RUNS};
use plimsoll_model::units::Bytes;
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

/// Most lines of headings above a line of columns.
const HEADINGS: usize = 5;

/// Most words of a heading.
const HEADING_WORDS: usize = 6;

/// Longest line that is read, in bytes: the command line is in it.
const LONGEST_LINE: usize = 16 << 10;

/// Lines of a run that may be of no known form.
const MOST_UNKNOWN: u32 = 64;
/// A run as netperf printed it.
#[derive(Default)]
pub(super) struct Run {
    pub(super) line: usize,
    /// "TCP STREAM", "OMNI Send".
    pub(super) test: String,
    /// Client and server of the first line.
    pub(super) hosts: Option<(String, String)>,
    /// Values by key.
    pub(super) values: BTreeMap<&'static str, String>,
    pub(super) interim: Vec<Interim>,
    /// Further requests in flight, by its first line.
    pub(super) burst: Option<f64>,
    /// Whether netperf warned that it did not reach the asked confidence.
    pub(super) warned: bool,
    /// Lines of no known form so far.
    unknown: u32,
}

/// Values by key, and the number of lines they took.
type Values = (BTreeMap<&'static str, String>, usize);

/// Result of a part of a run.
#[derive(Default)]
pub(super) struct Interim {
    pub(super) rate: f64,
    pub(super) units: String,
    pub(super) seconds: f64,
    pub(super) ending: f64,
}

/// The runs of netperf in a text; `None` if it has no omni output.
pub(super) fn runs(text: &str) -> Option<Parsed<Vec<Run>>> {
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
            let burst =
                line.split_once(" first burst ").and_then(|(_, rest)| rest.trim().parse().ok());
            let burst = burst.filter(|burst: &f64| burst.is_finite() && *burst >= 0.0);
            runs.push(Run { line: at + 1, test, hosts, burst, ..Run::default() });
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
    runs.iter().any(is_result).then_some(Ok(runs))
}

/// Takes the next line of a run, and the number of further lines that belong to it.
fn more(lines: &[&str], run: &mut Run) -> usize {
    let line = lines.first().map_or("", |line| line.trim_end());
    if line.is_empty() || run.unknown >= MOST_UNKNOWN || interim(line, run) {
        return 0;
    }
    if line.starts_with("!!! WARNING") {
        run.warned = true;
    } else if let Some((values, used)) = tables::table(lines).or_else(|| columns_of(lines)) {
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
    if !is_test(test) || test.len() > MOST_LETTERS {
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
fn columns_of(lines: &[&str]) -> Option<Values> {
    let is_heading = |word: &str| KEYS.iter().any(|(_, heading)| heading.starts_with(word));
    if !lines.first()?.split_whitespace().any(is_heading) {
        return None;
    }
    let with_headings = |headings: usize| {
        let lines = lines.get(..=headings)?;
        let is_short = lines.iter().all(|line| line.len() <= LONGEST_LINE);
        is_short.then(|| (columns(&lines[..headings], lines[headings]), headings + 1))
    };
    let found = (1..=HEADINGS).filter_map(with_headings).max_by_key(|(found, _)| found.len());
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
            let is_known = |(_, known): &&(&str, &str)| *known == heading;
            let (key, _) = KEYS.iter().find(is_known)?;
            Some((*key, last))
        });
        if let Some((key, last)) = known {
            let value = cell(headings.len(), from, parts[last].1);
            if is_value(key, &value) {
                found.insert(key, value);
            }
            next = last;
        }
        next += 1;
    }
    found
}

impl Run {
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str).filter(|text| !text.is_empty())
    }

    /// A figure; netperf prints a negative one for what it did not measure.
    pub(super) fn number(&self, key: &str) -> Option<f64> {
        let number = self.text(key)?.parse::<f64>().ok()?;
        Some(number).filter(|number| number.is_finite() && *number >= 0.0)
    }

    pub(super) fn bytes(&self, key: &str) -> Bytes {
        Bytes(self.number(key).unwrap_or(0.0) as u64)
    }

    pub(super) fn is_udp(&self) -> bool {
        match self.text("PROTOCOL") {
            Some(protocol) => protocol.eq_ignore_ascii_case("UDP"),
            None => self.test.starts_with("UDP"),
        }
    }
}

/// Bytes of a unit of throughput.
pub(super) fn bytes_per_unit(units: &str) -> Option<f64> {
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
