//! What changes would bring to published rows, as far as their figures say.

use super::jonfk2024::{self, Limit, Pattern};
use super::{puskas2017, rtems2012};
use plimsoll_explain::thresholds::{LEAST_GAIN, SEGMENT_BYTES, SEGMENT_ON_ETHERNET_BYTES};
use plimsoll_explain::whatif::{LinkEnd, LinkRate, NewDisk, Processors, WhatIf, payload_of};
use plimsoll_references::Table;
use plimsoll_stats::closed::{bound, rounds};

/// Gains below this factor make no practical difference.
const MARGIN: f64 = 1.0 + LEAST_GAIN;
/// Bytes on an Ethernet for a byte of payload of TCP.
const ON_ETHERNET: f64 = SEGMENT_ON_ETHERNET_BYTES / SEGMENT_BYTES;

/// A published row, and what a change would bring to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Predicted {
    /// The row.
    pub name: String,
    /// Whether its figures are bytes per second; else operations per second.
    pub is_bytes: bool,
    /// As published.
    pub today: f64,
    /// What is predicted.
    pub answer: Answer,
}

/// What is predicted.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Practically equal.
    Same(Reason),
    /// Both ends of a range by a model.
    Between {
        /// Lower end.
        low: f64,
        /// Upper end.
        high: f64,
    },
    /// From today's figure to a bound.
    AtMost {
        /// The bound.
        high: f64,
        /// The resource that sets it.
        next: &'static str,
        /// What was not measured, and may be the bottleneck before that.
        unmeasured: Vec<&'static str>,
    },
    /// The figures do not say.
    CannotSay(Missing),
}

/// Why a change makes no difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reason {
    /// The part that changes has so many of the seconds of an operation.
    SmallPart {
        /// Seconds of an operation.
        operation: f64,
        /// Seconds of the part.
        part: f64,
    },
    /// The part that changes takes this share of the time.
    SmallShare(f64),
    /// The rate is so many times that of the disks: they do not serve it.
    NotDisks(f64),
    /// The other end of the link stays the slower one, in bits per second.
    OtherEnd(f64),
    /// The link is full, and its rate in bits per second stays.
    LinkIsFull(f64),
}

/// What the figures do not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Utilisation of this resource, which changes.
    Utilisation(&'static str),
    /// The share of an operation that is the round trip.
    RoundTrip,
    /// The share of what is read that comes from memory.
    Memory,
    /// A second number of jobs.
    Concurrency,
    /// Costs: no model fits.
    Costs,
    /// Rows that differ in this alone: the platforms differ in several things, which is confounded.
    Confounded,
}

/// What a source lacks to predict a change.
fn missing(change: &WhatIf) -> Missing {
    match change {
        WhatIf::Link { .. } => Missing::Utilisation("the link"),
        WhatIf::Processor { .. } | WhatIf::Encrypt { .. } => Missing::Utilisation("the CPU"),
        WhatIf::Disk(_) => Missing::Utilisation("the disk"),
        WhatIf::Memory(_) => Missing::Memory,
        WhatIf::RoundTrip { .. } => Missing::RoundTrip,
        WhatIf::Readers(_) | WhatIf::Depth(_) => Missing::Concurrency,
    }
}

/// What the changes together would bring to the rows of a source.
pub fn predict(key: &str, tables: &[Table], changes: &[WhatIf]) -> Vec<Predicted> {
    match key {
        "jonfk2024" => {
            let predicted = |pattern: Pattern| row_of_jonfk(tables, &pattern, changes);
            jonfk2024::patterns(tables).into_iter().map(predicted).collect()
        }
        "puskas2017" => all(key, tables, |row| of_puskas(tables, row, changes)),
        "rtems2012" => of_rtems(tables, changes),
        _ => all(key, tables, |_| Answer::CannotSay(Missing::Confounded)),
    }
}

/// A row of another source: its name, its bytes per second, and its columns that matter here.
struct Plain {
    name: String,
    rate: f64,
    /// The work of the table of loads that it is: "large files to NFS, sync".
    load: Option<String>,
}

fn all(key: &str, tables: &[Table], answer: impl Fn(&Plain) -> Answer) -> Vec<Predicted> {
    let rows: Vec<Plain> = match key {
        "jonfk2024" => {
            let plain = |row: jonfk2024::Published| Plain {
                name: row.name(),
                rate: row.bytes_per_second,
                load: None,
            };
            jonfk2024::published(tables).into_iter().map(plain).collect()
        }
        "puskas2017" => puskas_rows(tables),
        "rtems2012" => rtems_rows(tables),
        _ => kofler_rows(tables),
    };
    let predicted = |row: Plain| Predicted {
        answer: answer(&row),
        is_bytes: true,
        today: row.rate,
        name: row.name,
    };
    rows.into_iter().map(predicted).collect()
}

fn puskas_rows(tables: &[Table]) -> Vec<Plain> {
    let row = |row: &plimsoll_references::Row| {
        let large = row.is("dataset", "Movies");
        let way = match row.text("direction")? {
            "upload" => "large files to NFS",
            _ => "large files to client",
        };
        Some(Plain {
            name: super::named(row, &["dataset", "direction", "export", "block_size_B"]),
            rate: row.number("rate_B_per_s")?,
            load: Some(format!("{way}, {}", row.text("export")?)).filter(|_| large),
        })
    };
    super::rows(tables, "puskas2017_transfer").iter().filter_map(row).collect()
}

fn rtems_rows(tables: &[Table]) -> Vec<Plain> {
    let row = |row: &plimsoll_references::Row| {
        let (readers, buffer) = (row.number("readers")?, row.number("buffer_B")?);
        let plural = if readers == 1.0 { "" } else { "s" };
        Some(Plain {
            name: format!("{readers} reader{plural}, {buffer} B"),
            rate: row.number("rate_MB_per_s")? * 1e6,
            load: None,
        })
    };
    super::rows(tables, "rtems2012_nfsread").iter().filter_map(row).collect()
}

fn kofler_rows(tables: &[Table]) -> Vec<Plain> {
    let row = |row: &plimsoll_references::Row| {
        Some(Plain {
            name: super::named(row, &["scenario", "platform", "block_or_payload_B"]),
            rate: row.number("rate_Mbit_per_s")? * 1e6 / 8.0,
            load: None,
        })
    };
    super::rows(tables, "kofler2011_network").iter().filter_map(row).collect()
}

/// The rates of the two ends of a path, the server's first, after a change.
fn changed_links(links: [f64; 2], end: LinkEnd, to: LinkRate) -> [f64; 2] {
    let [server, client] = links;
    let new = |old: f64| match to {
        LinkRate::BitsPerSecond(rate) => rate as f64,
        LinkRate::Times(times) => times * old,
    };
    match end {
        LinkEnd::Path => [new(slower(links)); 2],
        LinkEnd::Server => [new(server), client],
        LinkEnd::Client => [server, new(client)],
    }
}

/// The rate of a path: that of its slower end.
fn slower([server, client]: [f64; 2]) -> f64 {
    server.min(client)
}

/// The rate of a path after all changes.
fn after(links: [f64; 2], changes: &[WhatIf]) -> f64 {
    let changed = changes.iter().fold(links, |links, change| match change {
        WhatIf::Link { end, to } => changed_links(links, *end, *to),
        _ => links,
    });
    slower(changed)
}

/// The answer to several changes: the first that makes a difference or is not known, else no difference.
fn together(changes: &[WhatIf], answer: impl Fn(&WhatIf) -> Answer) -> Answer {
    let answers: Vec<Answer> = changes.iter().map(answer).collect();
    let differs = answers.iter().find(|answer| !matches!(answer, Answer::Same(_)));
    differs.or(answers.first()).cloned().unwrap_or(Answer::CannotSay(Missing::Costs))
}

fn row_of_jonfk(tables: &[Table], pattern: &Pattern, changes: &[WhatIf]) -> Predicted {
    let is_sequential = pattern.row.pattern.starts_with("sequential");
    let today = if is_sequential { pattern.row.bytes_per_second } else { pattern.row.per_second };
    Predicted {
        name: pattern.row.name(),
        is_bytes: is_sequential,
        today,
        answer: match pattern.limit {
            Limit::Link { .. } => of_full_link(tables, changes),
            _ => together(changes, |change| of_jonfk(tables, pattern, change)),
        },
    }
}

/// A row that fills its link: what becomes faster beside it brings nothing, and a faster link brings at most its rate.
fn of_full_link(tables: &[Table], changes: &[WhatIf]) -> Answer {
    let Some(links) = jonfk2024::links(tables) else {
        return Answer::CannotSay(Missing::Utilisation("the link"));
    };
    let is_link = |change: &WhatIf| matches!(change, WhatIf::Link { .. });
    let is_unknown = |change: &&WhatIf| !is_link(change) && !is_faster(change);
    if let Some(change) = changes.iter().find(is_unknown) {
        return Answer::CannotSay(missing(change));
    }
    let (today, new) = (slower(links), after(links, changes));
    if new != today {
        return Answer::AtMost {
            high: payload_of(new as u64),
            next: "link",
            unmeasured: jonfk2024::unmeasured(tables),
        };
    }
    Answer::Same(match changes.iter().any(is_link) {
        true => Reason::OtherEnd(today),
        false => Reason::LinkIsFull(today),
    })
}

/// Whether a resource becomes faster, as far as its change says that without figures of today.
fn is_faster(change: &WhatIf) -> bool {
    match change {
        WhatIf::Disk(NewDisk::Times(times)) | WhatIf::Memory(times) => *times >= 1.0,
        WhatIf::Processor { speed, .. } => speed.one_core >= 1.0 && speed.all_cores >= 1.0,
        WhatIf::Link { .. }
        | WhatIf::Disk(NewDisk::Like(_))
        | WhatIf::RoundTrip { .. }
        | WhatIf::Encrypt { .. }
        | WhatIf::Readers(_)
        | WhatIf::Depth(_) => false,
    }
}

fn of_jonfk(tables: &[Table], pattern: &Pattern, change: &WhatIf) -> Answer {
    let cannot_say = Answer::CannotSay(missing(change));
    match change {
        WhatIf::Link { .. } => {
            let Some(links) = jonfk2024::links(tables) else { return cannot_say };
            let (today, new) = (slower(links), after(links, std::slice::from_ref(change)));
            if new == today {
                return Answer::Same(Reason::OtherEnd(today));
            }
            let Some(operation) = pattern.row.seconds() else { return cannot_say };
            let part = pattern.row.block() * 8.0 * ON_ETHERNET / today;
            let gain = operation / (operation - part * (1.0 - today / new));
            match (1.0 / MARGIN..=MARGIN).contains(&gain) {
                true => Answer::Same(Reason::SmallPart { operation, part }),
                false => cannot_say,
            }
        }
        WhatIf::Disk(NewDisk::Times(_)) => match pattern.limit {
            Limit::NotDisks { times } => Answer::Same(Reason::NotDisks(times)),
            _ => cannot_say,
        },
        _ => cannot_say,
    }
}

/// One file at a time: what becomes faster saves a share of the time, and leaves the rest.
fn of_puskas(tables: &[Table], row: &Plain, changes: &[WhatIf]) -> Answer {
    let mut saved = 0.0;
    for change in changes {
        match saved_share_of_puskas(tables, row, change) {
            Some(share) => saved += share,
            None => return Answer::CannotSay(missing(change)),
        }
    }
    if !changes.iter().any(|change| matches!(change, WhatIf::Processor { .. })) {
        return Answer::Same(Reason::SmallShare(share_of_link(tables, row).unwrap_or(0.0)));
    }
    Answer::AtMost {
        high: row.rate / (1.0 - saved.max(0.0)),
        next: "not measured",
        unmeasured: vec!["the disk", "the client's CPU"],
    }
}

/// Share of the time that its bytes take on the link.
fn share_of_link(tables: &[Table], row: &Plain) -> Option<f64> {
    Some(row.rate * 8.0 * ON_ETHERNET / puskas2017::link(tables)?)
}

/// Share of the time that a change saves; `None` where the source does not say it, or it is more than a margin of the
/// link, whose time may overlap with the CPU's.
fn saved_share_of_puskas(tables: &[Table], row: &Plain, change: &WhatIf) -> Option<f64> {
    match change {
        WhatIf::Link { .. } => {
            let link = puskas2017::link(tables)?;
            let new = after([link; 2], std::slice::from_ref(change));
            let saved = share_of_link(tables, row)? * (1.0 - link / new);
            (1.0 / MARGIN..=MARGIN).contains(&(1.0 / (1.0 - saved))).then_some(saved)
        }
        WhatIf::Processor { of: Processors::All | Processors::Server, speed } => {
            let loads = puskas2017::loads(tables);
            let load = loads.iter().find(|load| Some(&load.name) == row.load.as_ref())?;
            Some(load.busy() / 100.0 * (1.0 - 1.0 / speed.one_core))
        }
        _ => None,
    }
}

fn of_rtems(tables: &[Table], changes: &[WhatIf]) -> Vec<Predicted> {
    let Some(reads) = rtems2012::reads(tables) else {
        return all("rtems2012", tables, |_| Answer::CannotSay(Missing::Costs));
    };
    let byte = reads.byte.value * reads.block;
    match changes {
        [WhatIf::Readers(count)] => {
            let demands = [byte];
            let answer = match (
                rounds(count.get(), &demands, reads.operation.value),
                bound(count.get(), &demands, reads.operation.value),
            ) {
                (Some(low), Some(high)) => {
                    Answer::Between { low: low * reads.block, high: high * reads.block }
                }
                _ => Answer::CannotSay(Missing::Costs),
            };
            let is_one = |row: &Plain| row.name == format!("1 reader, {} B", reads.block);
            let found = all("rtems2012", tables, |row| match is_one(row) {
                true => answer.clone(),
                false => Answer::CannotSay(Missing::Concurrency),
            });
            found.into_iter().filter(|row| row.answer == answer).collect()
        }
        _ => all("rtems2012", tables, |_| {
            together(changes, |change| Answer::CannotSay(missing(change)))
        }),
    }
}
