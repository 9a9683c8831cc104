//! What operations cost: a time for each kind, what a byte costs, what is enough, and what a scan takes.

use super::names::Brief;
use super::table::is_narrow;
use crate::chart::Table;
use crate::document::{Item, Layout, Section};
use crate::figure::{BANDWIDTH, Kind, RATE, TIME, TOO_WIDE};
use crate::study::Shown;
use crate::study::bottleneck::{self, Notes, Room};
use crate::study::files::{self, files};
use crate::study::operations::{Column, Figure, Operations, advertised, long, row, rows};
use crate::study::stalls;
use crate::study::stored;
use crate::text::{capital, listed, width};
use crate::verdict::percent;
use plimsoll_explain::{ENOUGH, Enough, Flights, NAMES, RoundTrip, Scan, Transfers};
use plimsoll_model::units::Bytes;
use plimsoll_model::{Cell, OpKind};
use plimsoll_stats::fit::Estimate;
use plimsoll_stats::fit::costs;
use plimsoll_stats::interval::Interval;

/// Names of two columns no longer than this leave room for two rows beside each other.
const NARROW: usize = 14;
/// More in flight that bring less than so many times as much are no help.
const HELPS: f64 = 1.5;
/// Calls of one block that are worth a word.
const MANY_CALLS: u64 = 8;
const NOTHING: &str = "–";

/// Whether a study is about what single operations cost.
pub(super) fn are_shown(shown: &Shown<'_>) -> bool {
    !shown.transfers.is_empty() || Operations::new(shown).is_some() || files(shown).next().is_some()
}

pub(super) fn add(section: &mut Section, shown: &Shown<'_>, brief: &Brief) {
    let operations = Operations::new(shown);
    let mut notes = Notes::default();
    let mut below = Vec::new();
    if let Some(operations) = &operations {
        below.extend(times(section, shown, brief, operations));
        below.extend(over_all_time(shown, brief, operations));
        below.extend(of_kinds(shown, brief, operations, &mut notes));
        below.extend(broken_round_trip(shown));
    }
    section.table(transfers(shown, brief, &mut notes), Layout::Words);
    section.texts(below);
    section.texts(stored::sentence(shown, &|cell| brief.setup(shown, cell)));
    section.texts(sizes(shown));
    let files = files::table(shown, &|cell| match shown.names.setups() {
        1 => format!("speed [{}]", percent(shown.study.plan.design.confidence)),
        _ => brief.setup(shown, cell),
    });
    if let Some(files) = files {
        section.table(files.table(), Layout::Figures);
        section.texts(files::published_by(shown));
    }
    // A screen has no room for those of several: they stand with the details.
    if shown.names.setups() == 1 {
        section.texts(shown.transfers.iter().filter_map(|transfers| binds(shown, transfers)));
    }
    section.texts(operations.iter().filter_map(|operations| scans(shown, operations)));
    let is_wide = |item: &Item| match item {
        Item::Table(table, _) => table.rows.iter().flatten().any(|cell| cell.contains(TOO_WIDE)),
        _ => false,
    };
    if section.items.iter().any(is_wide) {
        section
            .text(format!("{TOO_WIDE}: more than a factor of 10. Raise --repeats to narrow it."));
    }
    section.texts(notes.texts());
}

/// The bottleneck of operations that are alone in flight, all kinds together.
fn of_kinds(
    shown: &Shown<'_>,
    brief: &Brief,
    operations: &Operations<'_>,
    notes: &mut Notes,
) -> Option<String> {
    let columns = operations.columns(shown);
    let cells: Vec<Cell> = columns.iter().filter_map(|column| Some(column.found?.cell)).collect();
    let name = |cell| brief.setup(shown, cell);
    let words = bottleneck::words(shown, &cells, &name, Room::Names, notes)?;
    let words = words.replace("\nor ", " or ").replace('\n', "; ");
    Some(format!("Bottleneck of one operation at a time: {words}."))
}

/// Kinds of operations that a screen of two subjects has; the others stand with the details.
const ON_SCREEN: [OpKind; 6] = [
    OpKind::LOOKUP,
    OpKind::OPEN,
    OpKind::READ,
    OpKind::WRITE,
    OpKind::CREATE,
    OpKind::READ_DIRECTORY,
];

/// A row for each kind of operation, and what to know of it. Where they are narrow enough there are two beside each
/// other, so that a screen holds them.
fn times(
    section: &mut Section,
    shown: &Shown<'_>,
    brief: &Brief,
    operations: &Operations<'_>,
) -> Option<String> {
    let columns = operations.columns(shown);
    let confidence = percent(shown.study.plan.design.confidence);
    if columns.len() == 1 {
        let header = vec!["operation".to_owned(), format!("mean [{confidence}]")];
        let rows = rows(shown, operations, operations.kinds(), &columns, Kind::with_ends);
        section.table(halves(header, rows), Layout::Figures);
        return None;
    }
    let names: Vec<String> = columns.iter().map(|column| whose(shown, brief, column)).collect();
    let narrow = columns.len() == 2 && names.iter().all(|name| width(name) <= NARROW);
    let (figure, first): (Figure, _) = match narrow {
        true => (plain, "mean time".to_owned()),
        false => (Kind::with_ends, format!("operation, mean [{confidence}]")),
    };
    let kinds = if narrow { &ON_SCREEN[..] } else { operations.kinds() };
    let header: Vec<String> = std::iter::once(first).chain(names).collect();
    let mut rows = rows(shown, operations, kinds, &columns, figure);
    rows.extend(scan_rows(shown, &columns, narrow));
    match narrow {
        true => section.table(halves(header, rows), Layout::Figures),
        false => section.table(Table { header, rows }, Layout::Figures),
    }
    let scan = columns.iter().find_map(|column| column.scan(shown))?;
    Some(format!("Scans: {NAMES} names, directories of {}.", scan.entries))
}

/// A value without its interval.
fn plain(kind: Kind, value: f64, _: Option<Interval>) -> String {
    kind.value(value)
}

/// "Mean of all kinds: 5.00 ms (7.00 over all time).", of those whose server stalled.
fn over_all_time(shown: &Shown<'_>, brief: &Brief, operations: &Operations<'_>) -> Option<String> {
    let columns = operations.columns(shown);
    let of = |column: &Column<'_>| {
        let time = stalls::time_over_all(shown, column.workload, column.found?)?;
        Some(match columns.len() {
            1 => time,
            _ => format!("{} {time}", whose(shown, brief, column)),
        })
    };
    let times: Vec<String> = columns.iter().filter_map(of).collect();
    (!times.is_empty()).then(|| format!("Mean of all kinds: {}.", times.join("; ")))
}

/// The lower half of the rows beside the upper one.
fn halves(header: Vec<String>, mut rows: Vec<Vec<String>>) -> Table {
    let right = rows.split_off(rows.len().div_ceil(2));
    for (at, row) in rows.iter_mut().enumerate() {
        let empty = || vec![String::new(); header.len()];
        row.extend(right.get(at).cloned().unwrap_or_else(empty));
    }
    Table { header: [header.clone(), header].concat(), rows }
}

/// What a scan takes, of each; of two subjects the one that most programs do.
fn scan_rows(shown: &Shown<'_>, columns: &[Column<'_>], narrow: bool) -> Vec<Vec<String>> {
    let scans: Vec<Option<Scan>> = columns.iter().map(|column| column.scan(shown)).collect();
    let of = |name: &str, seconds: fn(&Scan) -> Option<f64>| {
        let seconds: Vec<_> = scans.iter().map(|scan| scan.as_ref().and_then(seconds)).collect();
        let known = seconds.iter().any(Option::is_some);
        known.then(|| row(name.to_owned(), seconds))
    };
    let rows = [
        of("scan, listings", |scan| Some(scan.listings)).filter(|_| !narrow),
        scans.iter().any(Option::is_some).then(|| {
            let times = scans.iter().map(|scan| match scan {
                Some(scan) => time_with_lookups(scan),
                None => NOTHING.to_owned(),
            });
            std::iter::once("scan, lookups".to_owned()).chain(times).collect()
        }),
        of("scan on a mount", |scan| scan.mounted).filter(|_| !narrow),
    ];
    rows.into_iter().flatten().collect()
}

/// "nas", "attributes cached for 3 s", or both.
fn whose(shown: &Shown<'_>, brief: &Brief, column: &Column<'_>) -> String {
    let subject = brief.setup(shown, column.setup);
    match (shown.names.setups(), column.techniques()) {
        (1, Some(techniques)) => techniques,
        (1, None) => "every attribute requested".to_owned(),
        (_, Some(techniques)) => format!("{subject}, {techniques}"),
        (_, None) => subject,
    }
}

/// A row for each kind of transfer: what an operation and a byte cost, what is enough, and the bottleneck of the most
/// that was in flight. Without intervals where a screen has no room for them.
fn transfers(shown: &Shown<'_>, brief: &Brief, notes: &mut Notes) -> Table {
    let mut bottleneck = |transfers: &Transfers| {
        let cell = transfers.flights.first().map_or(transfers.cell, |flights| flights.cell);
        let words = bottleneck::words(shown, &[cell], &|_| String::new(), Room::Names, notes);
        words.unwrap_or_else(|| NOTHING.to_owned())
    };
    let bottlenecks: Vec<String> = shown.transfers.iter().map(&mut bottleneck).collect();
    let with_intervals = transfers_with(shown, brief, &bottlenecks, Kind::with_ends);
    match is_narrow(&with_intervals) {
        true => with_intervals,
        false => transfers_with(shown, brief, &bottlenecks, plain),
    }
}

fn transfers_with(
    shown: &Shown<'_>,
    brief: &Brief,
    bottlenecks: &[String],
    figure: Figure,
) -> Table {
    let header = ["", "per operation", "bytes", "90% of top rate with", "bottleneck"];
    let mut table = Table { header: header.map(str::to_owned).into(), rows: Vec::new() };
    for (transfers, bottleneck) in shown.transfers.iter().zip(bottlenecks) {
        let figure = |estimate: Option<Estimate>, kind: Kind| {
            estimate.map_or(NOTHING.to_owned(), |e| figure(kind, e.value, e.interval))
        };
        let rate = transfers.cost(costs::Kind::Byte).and_then(Estimate::reciprocal);
        let block = transfers.enough().map(|e| enough(e, Bytes(e.at as u64).to_string()));
        let flight = transfers.flights.first().and_then(|flights| {
            if flights.contradiction().is_some() {
                return Some("contradictory".to_owned());
            }
            let of = flights.enough()?;
            Some(format!("{} in flight", enough(of, of.at.to_string())))
        });
        let both: Vec<String> = block.into_iter().chain(flight).collect();
        table.rows.push(vec![
            transfer(shown, brief, transfers),
            figure(transfers.cost(costs::Kind::Operation), TIME),
            figure(rate, BANDWIDTH),
            if both.is_empty() { NOTHING.to_owned() } else { both.join(", ") },
            bottleneck.clone(),
        ]);
    }
    without_empty_columns(table)
}

/// A table without the columns that have no figure.
fn without_empty_columns(mut table: Table) -> Table {
    for column in (1..table.header.len()).rev() {
        if table.rows.iter().all(|row| row[column] == NOTHING) {
            table.header.remove(column);
            table.rows.iter_mut().for_each(|row| drop(row.remove(column)));
        }
    }
    table
}

/// A value that is enough, or, where it is the largest that was measured, that more may bring more.
fn enough(of: Enough, value: String) -> String {
    if of.is_last { format!("≥ {value}") } else { value }
}

/// "read", "nas, write".
fn transfer(shown: &Shown<'_>, brief: &Brief, transfers: &Transfers) -> String {
    let title = transfers.title.trim_start_matches("sequential ");
    match shown.names.setups() {
        1 => title.to_owned(),
        _ => format!("{}, {title}", brief.setup(shown, transfers.cell)),
    }
}

/// The sizes that a server or file system names, and which blocks are above what one call takes. Of several subjects
/// they stand with the details.
fn sizes(shown: &Shown<'_>) -> Option<String> {
    let [facts] = shown.study.subjects.as_slice() else { return None };
    let sizes = advertised(&facts.storage()?.advertised)?;
    let above = several_calls(shown, 0);
    let above = above.map(|largest| format!("; blocks above {largest} are several calls"));
    Some(format!("Sizes that the server advertises: {sizes}{}.", above.unwrap_or_default()))
}

/// The largest block of a subject that is one call, if larger ones were moved.
fn several_calls(shown: &Shown<'_>, subject: u16) -> Option<Bytes> {
    let own = shown.transfers.iter().filter(|of| of.cell.subject == subject);
    let above = own.filter_map(|of| {
        let largest = of.sizes.last()?.block;
        (of.largest > 0 && largest.0 > of.largest.into()).then_some(of.largest)
    });
    above.min().map(|largest| Bytes(largest.into()))
}

/// The same of several subjects: "Several calls: blocks above 64 KiB (old) and 1 MiB (new)."
pub(crate) fn calls_of_several(shown: &Shown<'_>) -> Option<String> {
    let of = |subject: u16| {
        Some(format!("{} ({})", several_calls(shown, subject)?, shown.names.subject(subject)))
    };
    let all: Vec<String> =
        (0..).zip(&shown.study.subjects).filter_map(|(subject, _)| of(subject)).collect();
    let several = shown.study.subjects.len() > 1 && !all.is_empty();
    several.then(|| format!("Several calls: blocks above {}.", listed(&all)))
}

/// What binds one kind of transfer, in a sentence.
pub(crate) fn binds(shown: &Shown<'_>, transfers: &Transfers) -> Option<String> {
    let flights = transfers.flights.first()?;
    let block = flights.block;
    let title = transfers.title.trim_start_matches("sequential ");
    let name = match shown.names.setups() {
        1 => capital(title),
        // The name of a subject stays as the user writes it.
        _ => format!("{}, {title}", shown.names.setup(transfers.cell)),
    };
    let waits = match transfers.share_of_operation(block) {
        Some(share) => {
            format!(
                "{} of the time of {block} is the operation, the rest its bytes",
                percent(share)
            )
        }
        None => match transfers.off_by() {
            Some(off) => format!(
                "no cost is given, because operation and bytes together are up to {} off",
                percent(off)
            ),
            None => "too few sizes for the costs of an operation and a byte".to_owned(),
        },
    };
    let cause = many_calls(transfers).unwrap_or_default();
    Some(format!("{name}: {waits}; {}.{cause}", several(flights)?))
}

/// What more in flight brings.
fn several(flights: &Flights) -> Option<String> {
    if let Some((flight, gain)) = flights.contradiction() {
        return Some(format!(
            "{} in flight measured {gain:.1}× one, which is impossible: these figures contradict each other, and are \
             not used",
            flight.depth
        ));
    }
    let (gain, enough) = (flights.gain()?, flights.enough()?);
    let best = flights.depths.iter().map(|one| one.per_second.value).reduce(f64::max)?;
    Some(match gain >= HELPS {
        true => format!(
            "{} in flight bring {gain:.1}× one ({}/s), within {}",
            enough.at,
            RATE.value(best),
            percent(ENOUGH)
        ),
        false => {
            format!("more in flight bring no more than {gain:.1}× one ({}/s)", RATE.value(best))
        }
    })
}

/// The largest transfer, where it makes many calls of a block.
fn many_calls(transfers: &Transfers) -> Option<String> {
    let (block, calls) = transfers.calls().filter(|(_, calls)| *calls >= MANY_CALLS)?;
    let largest = Bytes(transfers.largest.into());
    let one = transfers.sizes.iter().rfind(|size| size.block <= largest);
    let each = one.map_or(String::new(), |one| {
        format!(" ({} for {})", TIME.value(one.seconds.value), one.block)
    });
    Some(format!(
        " Cause of its rate: client and server agreed on at most {largest} in a call, so {block} are {calls} calls, \
         each with a time of its own{each}. Raise the largest transfer of the server (MaxRead and MaxWrite of \
         NFS-Ganesha, max_block_size of the kernel's)."
    ))
}

/// A round trip that is no bound of what operations take, in a sentence.
fn broken_round_trip(shown: &Shown<'_>) -> Option<String> {
    let of = |setup: Cell| RoundTrip::of(shown.study, setup.subject);
    let trip = shown.names.every_setup().filter_map(of).find(|trip| trip.bound().is_none())?;
    let shorter = trip.longer_than.iter().map(|(kind, seconds)| {
        format!("{} ({})", kind.name().replace('_', " "), TIME.value(*seconds))
    });
    Some(format!(
        "The round trip of {} is longer than {}, which contain one: it was measured at rest, and is not used.",
        TIME.value(trip.seconds),
        listed(&shorter.collect::<Vec<_>>())
    ))
}

/// The time of a scan with a lookup of each name: "16.1–39.7 s" if something held up lookups among other operations.
fn time_with_lookups(scan: &Scan) -> String {
    let most = long(scan.with_lookups);
    let Some(least) = scan.with_lookups_at_least.map(long) else { return most };
    match (least.split_once(' '), most.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number}–{most}"),
        _ => format!("{least}–{most}"),
    }
}

/// What a scan of many names takes; of several there are rows of the table.
fn scans(shown: &Shown<'_>, operations: &Operations<'_>) -> Option<String> {
    let [column] = &operations.columns(shown)[..] else { return None };
    let scan = column.scan(shown)?;
    let mounted = scan.mounted.map(|seconds| format!("; on a mount by Linux {}", long(seconds)));
    Some(format!(
        "A scan of {NAMES} names, in directories of {}: {} by listings alone, {} with a {} of each{}.",
        scan.entries,
        long(scan.listings),
        time_with_lookups(&scan),
        OpKind::LOOKUP.name(),
        mounted.unwrap_or_default()
    ))
}
