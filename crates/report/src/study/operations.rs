//! What single operations cost, in words and figures.

use super::Shown;
use crate::figure::{Kind, TIME};
use crate::text::duration;
use plimsoll_explain::{CellFindings, Level, RoundTrip, Scan, WorkloadFindings};
use plimsoll_model::units::Bytes;
use plimsoll_model::{AdvertisedSizes, Cell, Flag, Measure, Metric, OpKind, Workload};
use plimsoll_stats::interval::Interval;

const NOTHING: &str = "–";

/// What one operation of each kind costs, where each was alone in flight by turns: by one client, or by
/// several that do more or less by themselves.
pub(crate) struct Operations<'a> {
    of: Vec<&'a WorkloadFindings>,
    /// Names in the directory that is listed.
    pub(crate) entries: u32,
}

/// Such times of one subject under one setting.
pub(crate) struct Column<'a> {
    pub(crate) setup: Cell,
    pub(crate) workload: &'a Workload,
    /// What was found.
    pub(crate) found: Option<&'a CellFindings>,
}

impl Column<'_> {
    /// "attributes cached for 3 s"; `None` where a client does nothing by itself.
    pub(crate) fn techniques(&self) -> Option<String> {
        let techniques = &self.workload.main()?.techniques;
        let words: Vec<String> = techniques.iter().map(ToString::to_string).collect();
        (!words.is_empty()).then(|| words.join(", "))
    }
}

impl<'a> Operations<'a> {
    /// `None` where a study has nothing of the kind.
    pub(crate) fn new(shown: &'a Shown<'_>) -> Option<Operations<'a>> {
        let is_of_kind = |found: &&WorkloadFindings| {
            found.workload.main().is_some_and(|part| part.job.kind() == "operations")
        };
        let of: Vec<_> = shown.findings.workloads.iter().filter(is_of_kind).collect();
        let parameters = of.first()?.workload.main()?.job.parameters();
        let (_, entries) = parameters.into_iter().find(|(name, _)| *name == "entries")?;
        Some(Operations { of, entries: entries.parse().ok()? })
    }

    /// The kinds that were tried, in the order of tables.
    pub(crate) fn kinds(&self) -> &'static [OpKind] {
        let part = self.of.first().and_then(|found| found.workload.main());
        part.map_or(&[], |part| part.job.kinds_apart())
    }

    /// Every subject under every setting, by every client.
    pub(crate) fn columns(&self, shown: &Shown<'_>) -> Vec<Column<'a>> {
        let of_setup = |setup: Cell| {
            self.of.iter().map(move |of| {
                let same = |c: &&CellFindings| {
                    (c.cell.subject, c.cell.setting) == (setup.subject, setup.setting)
                };
                let found = of.cells.iter().find(same);
                Column { setup, workload: &of.workload, found }
            })
        };
        shown.names.every_setup().flat_map(of_setup).collect()
    }
}

impl Column<'_> {
    /// What a scan of many names takes, each of which is looked up for the first time, so that no cache is a
    /// help; `None` where a client has one, and where nothing is known of it.
    pub(crate) fn scan(&self, shown: &Shown<'_>) -> Option<Scan> {
        let plain = self.techniques().is_none();
        plain.then(|| Scan::predict(shown.study, self.workload, self.found?))?
    }
}

/// How a value and its interval are shown.
pub(crate) type Figure = fn(Kind, f64, Option<Interval>) -> String;

/// A row for the round trip and for each of these kinds of operation, with a figure for each column.
pub(crate) fn rows(
    shown: &Shown<'_>,
    operations: &Operations<'_>,
    kinds: &[OpKind],
    columns: &[Column<'_>],
    figure: Figure,
) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let trips: Vec<Option<RoundTrip>> = columns
        .iter()
        .map(|column| RoundTrip::to_subject(shown.study, column.setup.subject))
        .collect();
    if trips.iter().any(Option::is_some) {
        let time = |trip: &Option<RoundTrip>| match trip {
            None => NOTHING.to_owned(),
            Some(trip) if trip.bound().is_none() => {
                format!("{} (contradictory)", long(trip.seconds))
            }
            Some(trip) => long(trip.seconds),
        };
        rows.push(std::iter::once("round trip".to_owned()).chain(trips.iter().map(time)).collect());
    }
    // A study that was made before a kind was measured has none of it.
    let is_known = |kind: &OpKind| {
        let measured =
            |column: &Column<'_>| column.found.is_some_and(|of| level(of, *kind).is_some());
        let refused = |flag: &Flag| matches!(flag, Flag::OperationRefused { operation, .. } if operation == kind);
        columns.iter().any(measured) || shown.study.flags.iter().any(refused)
    };
    for kind in kinds.iter().filter(|kind| is_known(kind)) {
        let times = columns.iter().map(|column| time(shown, column.found, *kind, figure));
        rows.push(std::iter::once(name(*kind, operations.entries)).chain(times).collect());
    }
    rows
}

/// A row of times.
pub(crate) fn row(name: String, seconds: Vec<Option<f64>>) -> Vec<String> {
    let time = |seconds: Option<f64>| seconds.map_or(NOTHING.to_owned(), long);
    std::iter::once(name).chain(seconds.into_iter().map(time)).collect()
}

/// A time that may be short or long.
pub(crate) fn long(seconds: f64) -> String {
    if seconds < 60.0 { TIME.value(seconds) } else { duration(seconds) }
}

/// The mean time of one operation of a kind, in seconds.
fn level(cell: &CellFindings, kind: OpKind) -> Option<&Level> {
    cell.levels.get(&Metric { kind: Some(kind), measure: Measure::LATENCY_MEAN })
}

/// "121 µs [118–124]" or as `figure` has it, or that the kind was refused, or that there is no such call; a dash where
/// nothing is known.
fn time(shown: &Shown<'_>, found: Option<&CellFindings>, kind: OpKind, figure: Figure) -> String {
    let Some(found) = found else { return NOTHING.to_owned() };
    let given = shown.study.plan.target(usize::from(found.cell.subject)).map(ToString::to_string);
    let refused = |flag: &Flag| match flag {
        Flag::OperationRefused { target, operation, .. } => {
            // A lock that cannot be given back is not taken, either.
            let same = *operation == kind || (*operation, kind) == (OpKind::LOCK, OpKind::UNLOCK);
            same && given.as_ref() == Some(target)
        }
        _ => false,
    };
    match level(found, kind) {
        Some(level) => figure(TIME, level.estimate, level.interval),
        None if shown.study.flags.iter().any(refused) => "refused".to_owned(),
        // What can be done at all was done in each trial.
        None if found.complete > 0 => "not available".to_owned(),
        None => NOTHING.to_owned(),
    }
}

/// What an operation is called in a table: "look up", "list 640 names".
fn name(kind: OpKind, entries: u32) -> String {
    match kind {
        OpKind::READ_DIRECTORY => format!("list {entries} names"),
        kind => kind.name().replace('_', " "),
    }
}

/// "largest read 1 MiB, largest write 1 MiB, preferred read 64 KiB": what a server or file system names by itself.
pub(crate) fn advertised(sizes: &AdvertisedSizes) -> Option<String> {
    let AdvertisedSizes {
        largest_read_bytes,
        largest_write_bytes,
        preferred_read_bytes,
        preferred_write_bytes,
        listing_bytes,
    } = *sizes;
    // Mostly they are the same of reads and writes.
    let both = |which: &str, read: Option<u32>, write: Option<u32>| match (read, write) {
        (Some(read), Some(write)) if read == write => {
            vec![format!("{which} read and write {}", Bytes(read.into()))]
        }
        _ => {
            let each = [("read", read), ("write", write)].into_iter();
            let named = each.filter_map(|(way, size)| Some((way, size?)));
            named.map(|(way, size)| format!("{which} {way} {}", Bytes(size.into()))).collect()
        }
    };
    let mut all = both("largest", largest_read_bytes, largest_write_bytes);
    all.extend(both("preferred", preferred_read_bytes, preferred_write_bytes));
    all.extend(listing_bytes.map(|size| format!("listing {}", Bytes(size.into()))));
    (!all.is_empty()).then(|| all.join(", "))
}
