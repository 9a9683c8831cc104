//! What operations cost: a time for each kind, what a byte costs, what is enough, and what a scan takes.

use super::fit::is_narrow;
use super::names::Brief;
use super::rows::{Explained, NOTHING, Rows};
use crate::chart::Table;
use crate::document::{Item, Layout, Section};
use crate::figure::{BANDWIDTH, Kind, RATE, TIME, TOO_WIDE};
use crate::study::Shown;
use crate::study::bottleneck::{self, Notes, Room};
use crate::study::files::{self, files};
use crate::study::operations::{Column, Figure, Operations, advertised, long, row, rows};
use crate::study::stalls;
use crate::study::{stored, warnings, writes};
use crate::text::{capital, listed, width};
use crate::verdict::percent;
use plimsoll_explain::thresholds::{MANY_CALLS, SEVERAL_HELP};
use plimsoll_explain::{ENOUGH, Enough, Flight, Flights, NAMES, RoundTrip, Scan, Transfers};
use plimsoll_model::units::Bytes;
use plimsoll_model::{Cell, OpKind};
use plimsoll_stats::fit::Estimate;
use plimsoll_stats::fit::costs;
use plimsoll_stats::interval::Interval;

/// Names of two columns no longer than this leave room for two rows beside each other.
const NARROW: usize = 14;

/// Whether a study is about what single operations cost.
pub(super) fn are_shown(shown: &Shown<'_>) -> bool {
    !shown.transfers.is_empty() || Operations::new(shown).is_some() || files(shown).next().is_some()
}

/// The tables and sentences; whether figures are marked as bursts.
pub(super) fn add(section: &mut Section, shown: &Shown<'_>, brief: &Brief) -> bool {
    let operations = Operations::new(shown);
    let mut notes = Notes::default();
    let name = |cell: Cell| brief.setup(shown, cell);
    let scans_of_several = operations.as_ref().and_then(|of| times(section, shown, brief, of));
    let (rows, explained) = transfers(shown, brief, &mut notes);
    let marked = rows.table.rows.iter().flatten().any(|cell| cell.ends_with('*'));
    section.table_or_compact(rows.table, rows.compact, Layout::Words);
    if let Some(operations) = &operations {
        section.texts(over_all_time(shown, brief, operations));
        section.texts(of_kinds(shown, brief, operations, &mut notes));
        section.texts(broken_round_trip(shown));
    }
    if let Some([whole, shorter]) = warnings::burst(shown).filter(|_| marked) {
        section.text_or_shorter(whole, shorter);
    }
    if let Some(text) = stored::sentence(shown, &name).filter(|_| !explained.stored) {
        let shorter = stored::shorter(&text);
        section.text_or_shorter(text, shorter);
    }
    section.asides(enough_of_one(shown));
    section.asides(sizes(shown));
    let files = files::table(shown, &|cell| match shown.names.setups() {
        1 => format!("speed [{}]", percent(shown.study.plan.design.confidence)),
        _ => brief.setup(shown, cell),
    });
    if let Some(files) = files {
        section.table(files.table(), Layout::Figures);
        section.texts(files::published_by(shown));
    }
    section.asides(scans_of_several);
    // Those of several stand with the details.
    if shown.names.setups() == 1 {
        section.asides(shown.transfers.iter().filter_map(|transfers| binds(shown, transfers)));
    }
    section.asides(operations.iter().filter_map(|operations| scans(shown, operations)));
    let is_wide = |item: &Item| match item.fullest() {
        Item::Table(table, _) => table.rows.iter().flatten().any(|cell| cell.contains(TOO_WIDE)),
        _ => false,
    };
    if section.items.iter().any(is_wide) {
        section
            .text(format!("{TOO_WIDE}: an end is more than 10 times away from the mean. Raise --repeats to narrow it."));
    }
    notes.add_to(section);
    marked
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

/// Kinds of operations that every screen has, and those of one with more room; the others stand with the details.
const FEW: [OpKind; 6] = [
    OpKind::LOOKUP,
    OpKind::OPEN,
    OpKind::READ,
    OpKind::WRITE,
    OpKind::CREATE,
    OpKind::READ_DIRECTORY,
];
const SOME: [OpKind; 9] = [
    OpKind::LOOKUP,
    OpKind::GET_ATTRIBUTES,
    OpKind::OPEN,
    OpKind::READ,
    OpKind::WRITE,
    OpKind::FLUSH,
    OpKind::CREATE,
    OpKind::REMOVE,
    OpKind::READ_DIRECTORY,
];

/// A row for each kind of operation, and what to know of it. Where they are narrow enough there are two beside each
/// other. A screen has as many kinds as it has room for.
fn times(
    section: &mut Section,
    shown: &Shown<'_>,
    brief: &Brief,
    operations: &Operations<'_>,
) -> Option<String> {
    let columns = operations.columns(shown);
    let confidence = percent(shown.study.plan.design.confidence);
    let selections: [&[OpKind]; 3] = [operations.kinds(), &SOME, &FEW];
    if columns.len() == 1 {
        let header = vec!["operation".to_owned(), format!("mean [{confidence}]")];
        let table = |kinds: &[OpKind]| {
            let rows = rows(shown, operations, kinds, &columns, Kind::with_ends);
            halves(header.clone(), rows)
        };
        section.forms(selections.map(table), Layout::Figures);
        return None;
    }
    let names: Vec<String> = columns.iter().map(|column| whose(shown, brief, column)).collect();
    let narrow = columns.len() == 2 && names.iter().all(|name| width(name) <= NARROW);
    let (figure, first): (Figure, _) = match narrow {
        true => (plain, "mean time".to_owned()),
        false => (Kind::with_ends, format!("operation, mean [{confidence}]")),
    };
    let header: Vec<String> = std::iter::once(first).chain(names).collect();
    let table = |kinds: &[OpKind]| {
        let mut rows = rows(shown, operations, kinds, &columns, figure);
        rows.extend(scan_rows(shown, &columns, narrow));
        match narrow {
            true => halves(header.clone(), rows),
            false => Table { header: header.clone(), rows },
        }
    };
    match (narrow, columns.len()) {
        (true, _) => section.table(table(&FEW), Layout::Figures),
        (false, 2) => section.forms(selections.map(table), Layout::Figures),
        (false, _) => section.table(table(operations.kinds()), Layout::Figures),
    }
    let scan = columns.iter().find_map(|column| column.scan(shown))?;
    Some(format!("Scans have {NAMES} names in directories of {}.", scan.entries))
}

/// A value without its interval.
fn plain(kind: Kind, value: f64, _: Option<Interval>) -> String {
    kind.value(value)
}

/// "Mean of all kinds: 5.00 ms (7.00 over all time).", of those whose server stalled.
fn over_all_time(shown: &Shown<'_>, brief: &Brief, operations: &Operations<'_>) -> Option<String> {
    let columns = operations.columns(shown);
    let mean_time = |column: &Column<'_>| {
        let time = stalls::time_over_all(shown, column.workload, column.found?)?;
        Some(match columns.len() {
            1 => time,
            _ => format!("{} {time}", whose(shown, brief, column)),
        })
    };
    let times: Vec<String> = columns.iter().filter_map(mean_time).collect();
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
    let row_if_known = |name: &str, seconds: fn(&Scan) -> Option<f64>| {
        let seconds: Vec<_> = scans.iter().map(|scan| scan.as_ref().and_then(seconds)).collect();
        let known = seconds.iter().any(Option::is_some);
        known.then(|| row(name.to_owned(), seconds))
    };
    let rows = [
        row_if_known("scan, listings", |scan| Some(scan.listings)).filter(|_| !narrow),
        scans.iter().any(Option::is_some).then(|| {
            let times = scans.iter().map(|scan| match scan {
                Some(scan) => time_with_lookups(scan),
                None => NOTHING.to_owned(),
            });
            std::iter::once("scan, lookups".to_owned()).chain(times).collect()
        }),
        row_if_known("scan on a mount", |scan| scan.mounted).filter(|_| !narrow),
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

/// The highest rates: of one setup a row for the blocks and one for the number in flight of each kind of transfer, of
/// several a row for each kind of transfer of each.
fn transfers(shown: &Shown<'_>, brief: &Brief, notes: &mut Notes) -> (Rows, Explained) {
    let name = |cell: Cell| brief.setup(shown, cell);
    let confidence = percent(shown.study.plan.design.confidence);
    if shown.names.setups() == 1 {
        let header = ["size × in flight".to_owned(), format!("top rate [{confidence}]")];
        let mut rows = Rows::new(header.into());
        for transfers in &shown.transfers {
            let way = way(transfers);
            if let Some((block, rate)) = top_speed(shown, transfers) {
                rows.push(vec![format!("{way} {block} × 1"), rate], vec![transfers.cell]);
            }
            if let Some(flights) = transfers.flights.first()
                && let Some((depth, rate)) = top_rate(shown, flights)
            {
                let name = format!("{way} {} × {depth}", flights.block);
                rows.push(vec![name, rate], vec![flights.cell]);
            }
        }
        let explained = rows.explain(shown, &name, notes);
        return (rows, explained);
    }
    let of_several = |with_enough: bool| {
        let mut header = vec![String::new(), format!("top rate [{confidence}]"), "size".to_owned()];
        header.extend(with_enough.then(|| "90% of top rate with".to_owned()));
        let mut rows = Rows::new(header);
        for transfers in &shown.transfers {
            let Some((block, rate)) = top_speed(shown, transfers) else { continue };
            let name = format!("{}, {}", brief.setup(shown, transfers.cell), way(transfers));
            let enough =
                with_enough.then(|| enough(transfers).unwrap_or_else(|| NOTHING.to_owned()));
            let row = [name, rate, block.to_string()].into_iter().chain(enough);
            rows.push(row.collect(), vec![transfers.cell]);
        }
        rows
    };
    let (mut rows, mut own) = (of_several(true), notes.clone());
    let explained = rows.explain(shown, &name, &mut own);
    if is_narrow(&rows.table) {
        *notes = own;
        return (rows, explained);
    }
    let mut rows = of_several(false);
    let explained = rows.explain(shown, &name, notes);
    (rows, explained)
}

/// The block with the highest rate of those that were alone in flight, and that rate with the mark of a burst.
fn top_speed(shown: &Shown<'_>, transfers: &Transfers) -> Option<(Bytes, String)> {
    let fastest = transfers.fastest()?;
    let rate = fastest.bytes_per_second()?;
    let mark = writes::mark(shown, transfers.cell);
    Some((fastest.block, BANDWIDTH.with_ends(rate.value, rate.interval) + mark))
}

/// The number in flight with the highest rate, and that rate with the mark of a burst.
fn top_rate(shown: &Shown<'_>, flights: &Flights) -> Option<(u16, String)> {
    if let Some((flight, _)) = flights.contradiction() {
        return Some((flight.depth, "contradictory".to_owned()));
    }
    let Flight { depth, per_second, .. } = flights.fastest()?;
    let mark = writes::mark(shown, flights.cell);
    Some((*depth, format!("{} IOPS{mark}", RATE.with_ends(per_second.value, per_second.interval))))
}

/// "≥ 64 KiB, 16 in flight": the least that reaches nearly the highest rate.
fn enough(transfers: &Transfers) -> Option<String> {
    let value = |of: Enough, value: String| match of.is_last {
        true => format!("≥ {value}"),
        false => value,
    };
    let block = transfers.enough().map(|of| value(of, Bytes(of.at as u64).to_string()));
    let flight = transfers.flights.first().and_then(Flights::enough);
    let flight = flight.map(|of| format!("{} in flight", value(of, of.at.to_string())));
    let both: Vec<String> = block.into_iter().chain(flight).collect();
    (!both.is_empty()).then(|| both.join(", "))
}

/// The same of one setup, in a line: "90% of these rates with: read 64 KiB, ≥ 64 in flight; write 256 KiB, 8 in flight."
fn enough_of_one(shown: &Shown<'_>) -> Option<String> {
    let enough_for =
        |transfers: &Transfers| Some(format!("{} {}", way(transfers), enough(transfers)?));
    let all: Vec<String> = shown.transfers.iter().filter_map(enough_for).collect();
    let one = shown.names.setups() == 1 && !all.is_empty();
    one.then(|| format!("90% of these rates with: {}.", all.join("; ")))
}

/// "read", "write".
fn way(transfers: &Transfers) -> &str {
    transfers.title.trim_start_matches("sequential ")
}

/// The sizes that a server or file system names, and which blocks are above what one call takes. Of several subjects
/// they stand with the details.
fn sizes(shown: &Shown<'_>) -> Option<String> {
    let [facts] = shown.study.subjects.as_slice() else { return None };
    let sizes = advertised(&facts.storage()?.advertised)?;
    let above = several_calls(shown, 0);
    let above = above.map(|largest| format!("; sizes above {largest} take several calls"));
    Some(format!("The server advertises these sizes: {sizes}{}.", above.unwrap_or_default()))
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

/// The same of several subjects: "Sizes above 64 KiB (old) and 1 MiB (new) take several calls."
pub(crate) fn calls_of_several(shown: &Shown<'_>) -> Option<String> {
    let calls = |subject: u16| {
        Some(format!("{} ({})", several_calls(shown, subject)?, shown.names.subject(subject)))
    };
    let all: Vec<String> =
        (0..).zip(&shown.study.subjects).filter_map(|(subject, _)| calls(subject)).collect();
    let several = shown.study.subjects.len() > 1 && !all.is_empty();
    several.then(|| format!("Sizes above {} take several calls.", listed(&all)))
}

/// What binds one kind of transfer, in a sentence.
pub(crate) fn binds(shown: &Shown<'_>, transfers: &Transfers) -> Option<String> {
    let flights = transfers.flights.first()?;
    let block = flights.block;
    let title = way(transfers);
    let name = match shown.names.setups() {
        1 => capital(title),
        // The name of a subject stays as the user writes it.
        _ => format!("{}, {title}", shown.names.setup(transfers.cell)),
    };
    let waits = match transfers.share_of_operation(block) {
        Some(share) => {
            format!(
                "{}{} of the time of {block} is the operation, the rest its bytes",
                costs(transfers),
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

/// The costs of the model: "an operation takes 33.9 µs and its bytes pass at 7.15 MB/s, so ".
fn costs(transfers: &Transfers) -> String {
    let operation = transfers.cost(costs::CostKind::Operation);
    let rate = transfers.cost(costs::CostKind::Byte).and_then(Estimate::reciprocal);
    let Some((operation, rate)) = operation.zip(rate) else { return String::new() };
    format!(
        "an operation takes {} and its bytes pass at {}, so ",
        TIME.with_ends(operation.value, operation.interval),
        BANDWIDTH.with_ends(rate.value, rate.interval)
    )
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
    Some(match gain >= SEVERAL_HELP {
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
    let round_trip = |setup: Cell| RoundTrip::to_subject(shown.study, setup.subject);
    let trip =
        shown.names.every_setup().filter_map(round_trip).find(|trip| trip.bound().is_none())?;
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
