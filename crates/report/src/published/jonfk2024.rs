//! What jonfk's table shows: five patterns of fio over NFS and SMB.

use super::common::{end, percent};
use crate::columns::Columns;
use crate::document::{Layout, Section};
use crate::figure::{BANDWIDTH, RATE, TIME};
use crate::text::{capital, counted, listed};
use plimsoll_model::units::three_digits;
use plimsoll_published::jonfk2024::{
    Disks, Limit, Pattern, client_cores, contradictions, disks, file_in_memory, jobs, patterns,
    unmeasured,
};
use plimsoll_references::Table;

pub(super) fn sections(tables: &[Table]) -> Vec<Section> {
    let mut answer = Section::new("answer", "");
    let patterns = patterns(tables);
    let mut table = Columns::with_headings(["op/s", "payload", "in flight", "bottleneck"]);
    for pattern in &patterns {
        let limit = match pattern.limit {
            Limit::Link { payload, .. } => format!("link {}", percent(payload)),
            Limit::NotDisks { times } => format!("not the disks ({times:.0} times their rate)"),
            Limit::Unknown => "–".to_owned(),
        };
        let in_flight = pattern.in_flight.map_or("–".to_owned(), three_digits);
        let rates =
            [RATE.value(pattern.row.per_second), BANDWIDTH.value(pattern.row.bytes_per_second)];
        table.row(capital(&pattern.row.name()), rates.into_iter().chain([in_flight, limit]));
    }
    answer.table(table.table(), Layout::Words);
    answer.list(sentences(&patterns, tables));
    vec![answer, end("jonfk2024", &contradictions(tables), false)]
}

fn sentences(patterns: &[Pattern], tables: &[Table]) -> Vec<String> {
    let mut sentences = Vec::new();
    let link = patterns.iter().filter_map(|pattern| match pattern.limit {
        Limit::Link { payload, wire } => Some((payload, wire)),
        _ => None,
    });
    let link: Vec<(f64, f64)> = link.collect();
    if !link.is_empty() {
        let payload = between(link.iter().map(|link| link.0));
        let wire = between(link.iter().map(|link| link.1));
        sentences.push(format!(
            "The link is the bottleneck of the sequential patterns. Payload takes {payload} of its rate, \
             payload and headers {wire} (1448 of 1538 bytes are payload)."
        ));
    }
    if let Some(disks) = disks(tables) {
        let fastest = |writes: bool| {
            let alike = patterns
                .iter()
                .filter(|pattern| pattern.row.is_whole() && pattern.row.writes() == writes);
            let times = alike.filter_map(|pattern| match pattern.limit {
                Limit::NotDisks { times } => Some((pattern, times)),
                _ => None,
            });
            times.max_by(|a, b| a.1.total_cmp(&b.1))
        };
        sentences.extend(
            fastest(false).map(|(pattern, times)| from_memory(pattern, times, disks, tables)),
        );
        sentences.extend(fastest(true).map(|(pattern, times)| {
            format!(
                "{}, {} op/s: the server acknowledges writes from memory. The rate is {times:.0} times the \
                 rate of the disks without seeks.",
                capital(&pattern.row.name()),
                RATE.value(pattern.row.per_second),
            )
        }));
    }
    let whole = patterns.iter().filter(|pattern| pattern.row.is_whole());
    let in_flight: Vec<f64> = whole.filter_map(|pattern| pattern.in_flight).collect();
    if let (Some(jobs), false) = (jobs(tables), in_flight.is_empty()) {
        let low = in_flight.iter().copied().fold(f64::INFINITY, f64::min);
        let high = in_flight.iter().copied().fold(0.0, f64::max);
        sentences.push(format!(
            "Little's law (N = X·R) gives {}–{} operations in flight for {jobs:.0} jobs, so no job was \
             idle. A closed loop always gives this result, and it does not identify the bottleneck. A \
             second run with another number of jobs would help.",
            three_digits(low),
            three_digits(high),
        ));
    }
    sentences.extend(client_cores(tables).map(|cores| {
        format!("The processes of fio used at most {} of one core of the client.", percent(cores))
    }));
    let unmeasured: Vec<String> = unmeasured(tables).into_iter().map(str::to_owned).collect();
    if !unmeasured.is_empty() && !patterns.is_empty() {
        sentences.push(format!(
            "Not measured: {}. The bottleneck of the random patterns is unknown.",
            listed(&unmeasured)
        ));
    }
    sentences
}

fn from_memory(pattern: &Pattern, times: f64, disks: Disks, tables: &[Table]) -> String {
    let [slow, fast] = disks.with_seeks().map(|rate| RATE.value(rate));
    let [short, long] = disks.seeks().map(|seek| TIME.value(seek));
    let fits = file_in_memory(tables).filter(|times| *times >= 1.0).map(|times| {
        format!(" The server's memory is {} times as large as the file.", three_digits(times))
    });
    format!(
        "{}, {} op/s: the data came from the server's memory, not from its disks. A disk at {:.0} rpm \
         waits {} for half a rotation. It reads at most {} times per second without seeks, and \
         {slow}–{fast} times with seeks of {short} to {long}. {} would have to be {times:.0} times as \
         fast, even without seeks.{}",
        capital(&pattern.row.name()),
        RATE.value(pattern.row.per_second),
        disks.rpm,
        TIME.value(disks.half_rotation()),
        RATE.value(disks.without_seeks()),
        capital(&counted(disks.count as u64, "such disk")),
        fits.unwrap_or_default(),
    )
}

/// "91–94%".
fn between(shares: impl Iterator<Item = f64> + Clone) -> String {
    let low = shares.clone().fold(f64::INFINITY, f64::min);
    let high = shares.fold(0.0, f64::max);
    format!("{:.0}–{:.0}%", 100.0 * low, 100.0 * high)
}
