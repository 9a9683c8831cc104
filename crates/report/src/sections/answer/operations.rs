//! What operations cost: a time for each kind, what a byte costs, what is enough, and what a walk takes.

use super::names::Brief;
use crate::chart::Table;
use crate::document::{Layout, Section};
use crate::figure::{BANDWIDTH, RATE, TIME};
use crate::study::Shown;
use crate::study::files::{self, files};
use crate::study::operations::{Operations, WALK, name, round_trip, time};
use crate::text::{capital, duration};
use crate::verdict::percent;
use plimsoll_explain::{ENOUGH, Enough, Transfers};
use plimsoll_model::units::Bytes;
use plimsoll_model::{Cell, OpKind};
use plimsoll_stats::fit::Estimate;
use plimsoll_stats::fit::costs::Kind;

/// More in flight that bring less than so many times as much are no help.
const HELPS: f64 = 1.5;
const NOTHING: &str = "–";

/// Whether a study is about what single operations cost.
pub(super) fn are_shown(shown: &Shown<'_>) -> bool {
    !shown.transfers.is_empty() || Operations::new(shown).is_some() || files(shown).next().is_some()
}

pub(super) fn add(section: &mut Section, shown: &Shown<'_>, brief: &Brief) {
    let operations = Operations::new(shown);
    if let Some(operations) = &operations {
        section.table(times(shown, brief, operations), Layout::Figures);
    }
    section.table(costs(shown, brief), Layout::Words);
    let files = files::table(shown, &|cell| match shown.names.setups() {
        1 => format!("speed [{}]", percent(shown.study.plan.design.confidence)),
        _ => brief.setup(shown, cell),
    });
    if let Some(files) = files {
        section.table(files.table(), Layout::Figures);
        section.text(files::published_by());
    }
    let mut sentences: Vec<String> =
        shown.transfers.iter().flat_map(|t| sentences(shown, brief, t)).collect();
    if let Some(operations) = &operations {
        sentences.extend(walks(shown, brief, operations));
    }
    section.texts(sentences);
}

/// A row for each kind of operation. Of one subject alone there are two beside each other, so that a screen
/// holds them.
fn times(shown: &Shown<'_>, brief: &Brief, operations: &Operations<'_>) -> Table {
    let setups: Vec<Cell> = shown.names.every_setup().collect();
    let mut rows: Vec<Vec<String>> = Vec::new();
    let trips: Vec<Option<f64>> = setups.iter().map(|cell| round_trip(shown, *cell)).collect();
    if trips.iter().any(Option::is_some) {
        let trip = |trip: &Option<f64>| trip.map_or(NOTHING.to_owned(), |s| TIME.value(s));
        let name = "round trip".to_owned();
        rows.push(std::iter::once(name).chain(trips.iter().map(trip)).collect());
    }
    for kind in operations.kinds() {
        let times = setups.iter().map(|cell| time(shown, operations.cell(*cell), *kind));
        rows.push(std::iter::once(name(*kind, operations.entries)).chain(times).collect());
    }
    let confidence = percent(shown.study.plan.design.confidence);
    if setups.len() == 1 {
        let half = rows.len().div_ceil(2);
        let right = rows.split_off(half.min(rows.len()));
        for (at, row) in rows.iter_mut().enumerate() {
            let beside = right.get(at).cloned();
            row.extend(beside.unwrap_or_else(|| vec![String::new(), String::new()]));
        }
        let heading = format!("mean [{confidence}]");
        let header = ["operation", &heading, "operation", &heading].map(str::to_owned);
        return Table { header: header.into(), rows };
    }
    let names = setups.iter().map(|cell| brief.setup(shown, *cell));
    let header = std::iter::once(format!("operation, mean [{confidence}]")).chain(names).collect();
    Table { header, rows }
}

/// A row for each kind of transfer: what an operation and a byte cost, and what is enough.
fn costs(shown: &Shown<'_>, brief: &Brief) -> Table {
    let header = ["", "each operation", "bytes", "enough:\nblock", "\nin flight"];
    let mut table = Table { header: header.map(str::to_owned).into(), rows: Vec::new() };
    for transfers in &shown.transfers {
        let figure = |estimate: Option<Estimate>, kind: crate::figure::Kind| {
            estimate.map_or(NOTHING.to_owned(), |e| kind.with_ends(e.value, e.interval))
        };
        let rate = transfers.cost(Kind::Byte).and_then(Estimate::reciprocal);
        let block = transfers.enough().map(|e| enough(e, Bytes(e.at as u64).to_string()));
        let flight = transfers.flights.first().and_then(|flights| {
            let of = flights.enough()?;
            Some(enough(of, format!("{} × {}", of.at, flights.block)))
        });
        table.rows.push(vec![
            row(shown, brief, transfers),
            figure(transfers.cost(Kind::Operation), TIME),
            figure(rate, BANDWIDTH),
            block.unwrap_or(NOTHING.to_owned()),
            flight.unwrap_or(NOTHING.to_owned()),
        ]);
    }
    table
}

/// A value that is enough, or, where it is the largest that was measured, that more may bring more.
fn enough(of: Enough, value: String) -> String {
    if of.is_last { format!("≥ {value}") } else { value }
}

/// "read", "nas, write".
fn row(shown: &Shown<'_>, brief: &Brief, transfers: &Transfers) -> String {
    let title = transfers.title.trim_start_matches("sequential ");
    match shown.names.setups() {
        1 => title.to_owned(),
        _ => format!("{}, {title}", brief.setup(shown, transfers.cell)),
    }
}

/// What binds one kind of transfer, in a sentence.
fn sentences(shown: &Shown<'_>, brief: &Brief, transfers: &Transfers) -> Option<String> {
    let flights = transfers.flights.first()?;
    let (gain, enough) = (flights.gain()?, flights.enough()?);
    let best = flights.depths.iter().map(|one| one.per_second.value).reduce(f64::max)?;
    let block = flights.block;
    let name = match shown.names.setups() {
        1 => capital(&row(shown, brief, transfers)),
        // The name of a subject stays as the user writes it.
        _ => row(shown, brief, transfers),
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
                "no cost is named, as operation and bytes together are up to {} off",
                percent(off)
            ),
            None => "too few sizes to tell what an operation and a byte cost".to_owned(),
        },
    };
    let flight = match gain >= HELPS {
        true => format!(
            "{} in flight bring {gain:.1}× one ({}/s), within {}",
            enough.at,
            RATE.value(best),
            percent(ENOUGH)
        ),
        false => format!(
            "more in flight brings no more than {gain:.1}× one ({}/s), so it is not waiting that binds but \
             work: the client's, the server's or the disk's",
            RATE.value(best)
        ),
    };
    Some(format!("{name}: {waits}; {flight}."))
}

/// A time that may be short or long.
fn long(seconds: f64) -> String {
    if seconds < 60.0 { TIME.value(seconds) } else { duration(seconds) }
}

/// What a walk over names takes.
fn walks(shown: &Shown<'_>, brief: &Brief, operations: &Operations<'_>) -> Vec<String> {
    let several = operations.found.cells.len() > 1;
    let cells = operations.found.cells.iter();
    let sentence = |cell: &plimsoll_explain::CellFindings| {
        let (listings, with_lookups) = operations.walk(cell)?;
        let whose = match several {
            true => format!(" on {}", brief.setup(shown, cell.cell)),
            false => String::new(),
        };
        Some(format!(
            "A scan of {WALK} names{whose}, in directories of {}: {} where listings tell all, {} with a {} \
             of each.",
            operations.entries,
            long(listings),
            long(with_lookups),
            OpKind::LOOKUP.name()
        ))
    };
    cells.filter_map(sentence).collect()
}
