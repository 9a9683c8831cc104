//! What changes would bring to published rows, as far as their figures say.

use super::jonfk2024::{self, Limit, Pattern};
use super::{puskas2017, rtems2012};
use plimsoll_explain::whatif::{LinkEnd, LinkRate, NewDisk, Processors, WhatIf, payload_of};
use plimsoll_references::Table;
use plimsoll_stats::closed::{bound, rounds};

/// Gains below this share make no practical difference: the default margin of verdicts.
const MARGIN: f64 = 1.05;
/// Bytes on an Ethernet for a byte of payload of TCP.
const ON_ETHERNET: f64 = 1538.0 / 1448.0;

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
}

/// What the figures do not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Utilisation of the resource that changes.
    Utilisation,
    /// A second number of jobs.
    Concurrency,
    /// Costs: no model fits.
    Costs,
    /// Rows that differ in this alone: the platforms differ in several things, which is confounded.
    Confounded,
}

/// What one change would bring to the rows of a source. Several changes together are refused, because no source has
/// the figures of two resources of a row.
pub fn predict(key: &str, tables: &[Table], changes: &[WhatIf]) -> Vec<Predicted> {
    let [change] = changes else {
        return all(key, tables, |_| Answer::CannotSay(Missing::Utilisation));
    };
    match key {
        "jonfk2024" => {
            let of = |pattern: Pattern| row_of_jonfk(tables, &pattern, change);
            jonfk2024::patterns(tables).into_iter().map(of).collect()
        }
        "puskas2017" => all(key, tables, |row| of_puskas(tables, row, change)),
        "rtems2012" => of_rtems(tables, change),
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

/// The rate of a path whose links are these, after a change; and whether another end holds it back.
fn changed_link(links: [f64; 2], end: LinkEnd, to: LinkRate) -> f64 {
    let [server, client] = links;
    let today = server.min(client);
    let new = |old: f64| match to {
        LinkRate::BitsPerSecond(rate) => rate as f64,
        LinkRate::Times(times) => times * old,
    };
    match end {
        LinkEnd::Path => new(today),
        LinkEnd::Server => new(server).min(client),
        LinkEnd::Client => new(client).min(server),
    }
}

fn row_of_jonfk(tables: &[Table], pattern: &Pattern, change: &WhatIf) -> Predicted {
    let is_sequential = pattern.row.pattern.starts_with("sequential");
    let today = if is_sequential { pattern.row.bytes_per_second } else { pattern.row.per_second };
    Predicted {
        name: pattern.row.name(),
        is_bytes: is_sequential,
        today,
        answer: of_jonfk(tables, pattern, change),
    }
}

fn of_jonfk(tables: &[Table], pattern: &Pattern, change: &WhatIf) -> Answer {
    let cannot_say = Answer::CannotSay(Missing::Utilisation);
    match change {
        WhatIf::Link { end, to } => {
            let Some(links) = jonfk2024::links(tables) else { return cannot_say };
            let (today, new) = (links[0].min(links[1]), changed_link(links, *end, *to));
            if new == today {
                return Answer::Same(Reason::OtherEnd(today));
            }
            match (pattern.limit, pattern.row.seconds()) {
                (Limit::Link { .. }, _) => Answer::AtMost {
                    high: payload_of(new as u64),
                    next: "link",
                    unmeasured: jonfk2024::unmeasured(tables),
                },
                (_, Some(operation)) => {
                    let part = pattern.row.block() * 8.0 * ON_ETHERNET / today;
                    let gain = operation / (operation - part * (1.0 - today / new));
                    match (1.0 / MARGIN..=MARGIN).contains(&gain) {
                        true => Answer::Same(Reason::SmallPart { operation, part }),
                        false => cannot_say,
                    }
                }
                _ => cannot_say,
            }
        }
        WhatIf::Disk(NewDisk::Times(_)) => match pattern.limit {
            Limit::NotDisks { times } => Answer::Same(Reason::NotDisks(times)),
            _ => cannot_say,
        },
        WhatIf::Readers(_) | WhatIf::Depth(_) => Answer::CannotSay(Missing::Concurrency),
        _ => cannot_say,
    }
}

/// One file at a time: what takes a share of the time, and is faster, leaves the rest.
fn of_share(share: f64, factor: f64) -> f64 {
    1.0 / (1.0 - share * (1.0 - 1.0 / factor))
}

fn of_puskas(tables: &[Table], row: &Plain, change: &WhatIf) -> Answer {
    let cannot_say = Answer::CannotSay(Missing::Utilisation);
    match change {
        WhatIf::Link { to, .. } => {
            let Some(link) = puskas2017::link(tables) else { return cannot_say };
            let share = row.rate * 8.0 * ON_ETHERNET / link;
            let new = changed_link([link; 2], LinkEnd::Path, *to);
            match (1.0 / MARGIN..=MARGIN).contains(&of_share(share, new / link)) {
                true => Answer::Same(Reason::SmallShare(share)),
                false => cannot_say,
            }
        }
        WhatIf::Processor { of: Processors::All | Processors::Server, speed } => {
            let loads = puskas2017::loads(tables);
            let load = loads.iter().find(|load| Some(&load.name) == row.load.as_ref());
            load.map_or(cannot_say, |load| Answer::AtMost {
                high: row.rate * of_share(load.busy() / 100.0, speed.one_core).max(1.0),
                next: "not measured",
                unmeasured: vec!["the disk", "the client's CPU"],
            })
        }
        WhatIf::Readers(_) | WhatIf::Depth(_) => Answer::CannotSay(Missing::Concurrency),
        _ => cannot_say,
    }
}

fn of_rtems(tables: &[Table], change: &WhatIf) -> Vec<Predicted> {
    let Some(reads) = rtems2012::reads(tables) else {
        return all("rtems2012", tables, |_| Answer::CannotSay(Missing::Costs));
    };
    let byte = reads.byte.value * reads.block;
    match change {
        WhatIf::Readers(count) => {
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
        _ => all("rtems2012", tables, |_| Answer::CannotSay(Missing::Utilisation)),
    }
}
