//! Results of flent (`.flent.gz`, and the JSON in it), format versions 1 to 4. A file has series over time: goodput of
//! streams, round trips, and what was watched meanwhile. Streams that flent adds up or averages are not imported twice.

mod format;
mod round_trips;

use super::calendar;
use super::malformed::{Malformed, Parsed};
use super::paths::{self, Interval, MOST_INTERVALS, MOST_LETTERS, PathRun, word};
use format::{Document, Number, Sample, SeriesFacts, document};
use plimsoll_model::units::Bytes;
use plimsoll_model::{
    DatagramsJob, Flow, Job, Measure, Metric, OpKind, PartResult, Series, TcpStreamJob,
};
use round_trips::{Load, round_trips};
use std::collections::BTreeMap;

/// Most names of series in a note.
const MOST_NAMED: usize = 6;

const NEXT: &str = "Give the file that flent wrote (.flent.gz), unchanged.";

/// The runs of a file of flent; `None` if the text is of another tool.
pub(super) fn runs(text: &str) -> Option<Parsed<Vec<Parsed<PathRun>>>> {
    let marks = ["\"x_values\"", "\"results\"", "\"metadata\""];
    let is_flent =
        text.trim_start().starts_with('{') && marks.iter().all(|mark| text.contains(mark));
    is_flent.then(|| document(text).map(|document| path_runs(&document)))
}

/// Role of a series.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Goodput of a stream in megabits per second.
    Stream { udp: bool, flow: Flow },
    /// Round trips in milliseconds.
    RoundTrips,
    /// Sum, mean or another figure that flent makes of other series.
    Computed,
    /// Anything else.
    Other,
}

fn role(name: &str, facts: Option<&SeriesFacts>) -> Role {
    let units = facts.and_then(|facts| facts.units.as_deref());
    let runner = facts.and_then(|facts| facts.runner.as_deref()).unwrap_or_default();
    let lower = name.to_ascii_lowercase();
    // Files before version 3 do not name the runner.
    let computed =
        ["AverageRunner", "SumRunner", "DiffMinRunner", "FairnessRunner", "ComputingRunner"];
    let is_computed = [" avg", " sum", " total", " totals", " fairness", "totals"];
    if computed.contains(&runner) || is_computed.iter().any(|end| lower.ends_with(end)) {
        return Role::Computed;
    }
    // "TCP upload::2" is a stream; "TCP upload::2::tcp_rtt" belongs to one.
    let is_part = lower.rsplit_once("::").is_some_and(|(_, end)| end.parse::<u32>().is_err());
    if is_part {
        return Role::Other;
    }
    let has_units = |expected: &str| units.is_none_or(|units| units == expected);
    if lower.starts_with("ping (ms)") && has_units("ms") {
        return Role::RoundTrips;
    }
    let flow = match (lower.contains("upload"), lower.contains("download")) {
        (true, false) => Some(Flow::Out),
        (false, true) => Some(Flow::In),
        _ => None,
    };
    let udp = lower.starts_with("udp");
    match flow.filter(|_| (udp || lower.starts_with("tcp")) && has_units("Mbits/s")) {
        Some(flow) => Role::Stream { udp, flow },
        None => Role::Other,
    }
}

/// A run for each server of the test.
fn path_runs(document: &Document) -> Vec<Parsed<PathRun>> {
    let metadata = &document.metadata;
    let hosts = metadata.hosts.iter().flatten().flatten().chain(&metadata.host);
    let hosts: Vec<&str> = hosts.map(String::as_str).filter(|host| !host.is_empty()).collect();
    let Some(first) = hosts.first().copied() else {
        let happened = "its metadata do not name the server (HOST)";
        return vec![Err(Malformed::new(1, happened, NEXT))];
    };
    let mut servers: Vec<(&str, Vec<&str>)> = Vec::new();
    for name in document.results.keys().map(String::as_str) {
        // Tests with several servers name them in their series.
        let ends = |host: &&&str| name.strip_suffix(**host).is_some_and(|rest| rest.ends_with(' '));
        let server = hosts.iter().find(ends).copied().unwrap_or(first);
        match servers.iter_mut().find(|(host, _)| *host == server) {
            Some((_, series)) => series.push(name),
            None => servers.push((server, vec![name])),
        }
    }
    let run_of_server =
        |(server, names): &(&str, Vec<&str>)| path_run(document, server, names, &servers);
    let role_of = |name: &str| role(name, facts_of(document, name));
    let is_measured = |(_, names): &&(&str, Vec<&str>)| {
        names.iter().any(|name| matches!(role_of(name), Role::Stream { .. } | Role::RoundTrips))
    };
    let runs: Vec<Parsed<PathRun>> =
        servers.iter().filter(is_measured).map(run_of_server).collect();
    if runs.is_empty() {
        let name = word(metadata.name.as_deref().unwrap_or("unknown"));
        let happened =
            format!("its test '{name}' has neither streams of TCP or UDP nor round trips");
        let next = "Import a result of another test, such as rrul or tcp_download.";
        return vec![Err(Malformed::new(1, happened, next))];
    }
    runs
}

fn facts_of<'a>(document: &'a Document, name: &str) -> Option<&'a SeriesFacts> {
    document.metadata.series_meta.as_ref()?.get(name)
}

fn samples<'a>(document: &'a Document, name: &str) -> &'a [Sample] {
    let samples = document.raw_values.as_ref().and_then(|series| series.get(name));
    samples.map_or(&[], |samples| &samples.0)
}

fn path_run(
    document: &Document,
    server: &str,
    names: &[&str],
    servers: &[(&str, Vec<&str>)],
) -> Parsed<PathRun> {
    let metadata = &document.metadata;
    let mut notes = Vec::new();
    let step = metadata.step_size.and_then(Number::known).filter(|step| *step > 0.0);
    let of_role = |wanted: &dyn Fn(Role) -> bool| -> Vec<&str> {
        let is_wanted = |name: &&&str| wanted(role(name, facts_of(document, name)));
        names.iter().filter(is_wanted).copied().collect()
    };
    let mut parts = Vec::new();
    let pings = of_role(&|role| role == Role::RoundTrips);
    let streams = of_role(&|role| matches!(role, Role::Stream { .. }));
    let load = Load::new(document, &streams);
    parts.extend(round_trips(document, &pings, &load, step, &mut notes));
    for udp in [false, true] {
        let streams = |flow: Flow| of_role(&|role| role == Role::Stream { udp, flow });
        let (out, back) = (streams(Flow::Out), streams(Flow::In));
        parts.extend(goodput(document, udp, [&out, &back], step, &mut notes));
    }
    if parts.is_empty() {
        let happened = "none of its streams and round trips has a value";
        return Err(Malformed::new(1, happened, "Repeat the test: its tools failed."));
    }
    let others = of_role(&|role| role == Role::Other);
    let base = |name: &&str| name.split("::").next().unwrap_or_default().to_owned();
    let mut others: Vec<String> = others.iter().map(base).collect();
    others.retain(|base| role(base, None) == Role::Other);
    others.dedup();
    if !others.is_empty() {
        notes.push(format!("not imported: {}", named(&others)));
    }
    let failed = metadata.failed_runners.and_then(Number::known).filter(|count| *count > 0.0);
    notes.extend(failed.map(|count| format!("{count} tools of the test failed")));
    let also: Vec<&str> =
        servers.iter().map(|(host, _)| *host).filter(|host| *host != server).collect();
    if !also.is_empty() {
        notes.push(format!("ran at the same time as the paths to: {}", named(&also)));
    }
    for (what, text) in [("title", &metadata.title), ("note", &metadata.note)] {
        let text = text.as_deref().filter(|text| !text.is_empty());
        notes.extend(text.map(|text| format!("{what}: {}", word(text))));
    }
    let begun = metadata.t0.as_ref().or(metadata.time.as_ref());
    let seconds = metadata.length.and_then(Number::known).unwrap_or(0.0).max(0.0);
    let version = metadata.flent_version.as_deref().filter(|version| !version.is_empty());
    Ok(PathRun {
        line: 1,
        tool: version.map_or("flent".to_owned(), |version| format!("flent-{}", word(version))),
        name: metadata.name.as_deref().unwrap_or("flent").chars().take(MOST_LETTERS).collect(),
        begun_unix_seconds: begun.and_then(|text| calendar::unix_iso(text)),
        from: metadata.local_host.clone().unwrap_or_else(|| "client".to_owned()),
        to: server.to_owned(),
        protocol: None,
        parts,
        seconds,
        runtime_seconds: seconds,
        failure: None,
        notes,
        held: None,
    })
}

/// The first few names.
fn named(names: &[impl AsRef<str>]) -> String {
    let mut words: Vec<String> =
        names.iter().take(MOST_NAMED).map(|name| word(name.as_ref())).collect();
    if names.len() > MOST_NAMED {
        words.push(format!("{} more", names.len() - MOST_NAMED));
    }
    words.join(", ")
}

/// Values of a series that are known.
fn values(document: &Document, name: &str) -> Vec<f64> {
    let values = document.results.get(name).map_or(&[][..], |numbers| &numbers.0);
    values.iter().flatten().copied().filter(|value| *value >= 0.0).collect()
}

/// Mean goodput of a stream in bytes per second: its tool's own figure, else the mean of its values.
fn mean(document: &Document, name: &str) -> Option<f64> {
    let own = facts_of(document, name).and_then(|facts| facts.mean_value?.known());
    let values = values(document, name);
    let of_values = || values.iter().sum::<f64>() / values.len() as f64;
    let megabits = own.filter(|mean| *mean >= 0.0).or((!values.is_empty()).then(of_values))?;
    Some(megabits * 1e6 / 8.0)
}

/// Streams of a protocol, out and in.
fn goodput(
    document: &Document,
    udp: bool,
    names: [&[&str]; 2],
    step: Option<f64>,
    notes: &mut Vec<String>,
) -> Vec<(Job, PartResult)> {
    let protocol = if udp { "UDP" } else { "TCP" };
    let mut sums: [Option<f64>; 2] = [None, None];
    let mut counts = [0_u16; 2];
    let mut silent = Vec::new();
    for (way, names) in names.iter().enumerate() {
        for name in *names {
            match mean(document, name) {
                Some(mean) => {
                    *sums[way].get_or_insert(0.0) += mean;
                    counts[way] = counts[way].saturating_add(1);
                }
                None => silent.push(*name),
            }
        }
    }
    if !silent.is_empty() {
        notes.push(format!("without a value: {}", named(&silent)));
    }
    let job = |flow: Flow, streams: u16| -> Job {
        match udp {
            true => DatagramsJob { streams, payload: Bytes(0), ..DatagramsJob::new(flow) }.into(),
            false => TcpStreamJob { streams, block: Bytes(0), ..TcpStreamJob::new(flow) }.into(),
        }
    };
    let kinds = [OpKind::SEND, OpKind::RECEIVE];
    let one_way = |way: usize, flow: Flow| {
        let mut quantities = paths::known([(Measure::THROUGHPUT, sums[way])]);
        quantities.extend(flow_round_trips(document, names[way]));
        let series = series(document, &[(kinds[way], names[way])], step);
        (job(flow, counts[way]), PartResult { quantities, series, ..PartResult::default() })
    };
    match sums {
        [None, None] => Vec::new(),
        [Some(_), None] => vec![one_way(0, Flow::Out)],
        [None, Some(_)] => vec![one_way(1, Flow::In)],
        [Some(out), Some(back)] if counts[0] == counts[1] => {
            let figures = [
                (Measure::THROUGHPUT, Some(out + back)),
                (Measure::GOODPUT_OUT, Some(out)),
                (Measure::GOODPUT_IN, Some(back)),
            ];
            let mut quantities = paths::known(figures);
            let both: Vec<&str> = names.concat();
            quantities.extend(flow_round_trips(document, &both));
            let series = series(document, &[(kinds[0], names[0]), (kinds[1], names[1])], step);
            let part = PartResult { quantities, series, ..PartResult::default() };
            vec![(job(Flow::Both, counts[0]), part)]
        }
        [Some(_), Some(_)] => {
            notes.push(format!(
                "{} {protocol} streams out and {} in ran at the same time",
                counts[0], counts[1]
            ));
            vec![one_way(0, Flow::Out), one_way(1, Flow::In)]
        }
    }
}

/// Round trips that TCP measured within streams.
fn flow_round_trips(document: &Document, names: &[&str]) -> BTreeMap<Metric, f64> {
    let milliseconds = |name: &&str| {
        let samples = samples(document, name).iter();
        samples.filter_map(|sample| sample.tcp_rtt?.known()).collect::<Vec<f64>>()
    };
    let mut all: Vec<f64> = names.iter().flat_map(milliseconds).filter(|ms| *ms > 0.0).collect();
    all.sort_by(f64::total_cmp);
    let seconds = |at: usize| all.get(at).map(|ms| ms / 1e3);
    paths::known([
        (Measure::FLOW_RTT_LEAST, seconds(0)),
        (Measure::FLOW_RTT_P50, seconds(all.len() / 2)),
        (Measure::FLOW_RTT_MAX, seconds(all.len().saturating_sub(1))),
    ])
}

/// Bytes in each step of a test from the first to the last one, added up over streams.
fn series(document: &Document, kinds: &[(OpKind, &[&str])], step: Option<f64>) -> Series {
    let times = &document.x_values.0;
    let between = || Some(times.get(1).copied()?? - times.first().copied()??);
    let Some(step) = step.or_else(between).filter(|step| *step > 0.0) else {
        return Series::default();
    };
    let sum = |(kind, names): &(OpKind, &[&str])| {
        let mut bytes = vec![0.0; times.len().min(MOST_INTERVALS)];
        for name in *names {
            let values = document.results.get(*name).map_or(&[][..], |numbers| &numbers.0);
            for (sum, value) in bytes.iter_mut().zip(values) {
                *sum += value.unwrap_or(0.0).max(0.0) * 1e6 / 8.0 * step;
            }
        }
        (*kind, bytes)
    };
    let sums: Vec<(OpKind, Vec<f64>)> = kinds.iter().map(sum).collect();
    let ends = |sums: &Vec<f64>| {
        let is_some = |bytes: &f64| *bytes > 0.0;
        Some((sums.iter().position(is_some)?, sums.iter().rposition(is_some)?))
    };
    let ends = || sums.iter().filter_map(|(_, sums)| ends(sums));
    let (Some(first), Some(last)) = (ends().map(|e| e.0).min(), ends().map(|e| e.1).max()) else {
        return Series::default();
    };
    let of_kind = |(kind, sums): &(OpKind, Vec<f64>)| {
        let steps =
            sums[first..=last].iter().map(|bytes| Interval { seconds: step, bytes: *bytes });
        (*kind, steps.collect())
    };
    paths::series_of(&sums.iter().map(of_kind).collect::<Vec<_>>())
}
