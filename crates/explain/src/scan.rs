//! What a scan of many names takes, by what one operation of each kind costs: that of a media centre, or of
//! `find -ls`.

use crate::findings::{CellFindings, findings};
use crate::round_trip::RoundTrip;
use crate::thresholds::HELD_UP;
use plimsoll_model::{Job, Measure, Metric, OpKind, Protocol, Study, Workload};

/// Names of the scan that is predicted.
pub const NAMES: u32 = 5_000;

/// What Linux sends for a directory beside its listing. Of NFS it sends GETATTR and ACCESS as the directory is opened. Of
/// SMB it looks at the directory by CREATE, QUERY_INFO and CLOSE in one request, which is a lookup of plimsoll's client,
/// and asks for the first names in the request that opens the directory, which plimsoll's does after that. Names below it
/// cost no call: their attributes come with the listing, and are believed for a second or more. Counted by mountstats and
/// /proc/fs/cifs/Stats on Linux 6.1, for 501 directories: 503 GETATTR, 502 ACCESS and 502 READDIRPLUS; 490
/// QUERY_INFO, 990 CREATE and CLOSE and 1005 QUERY_DIRECTORY.
struct CallsBeside {
    /// Calls that take as long as a lookup.
    lookups: f64,
    saved_round_trips: f64,
}

impl CallsBeside {
    fn of_mount(protocol: &Protocol) -> Option<CallsBeside> {
        match protocol {
            Protocol::Nfs { .. } => Some(CallsBeside { lookups: 2.0, saved_round_trips: 0.0 }),
            Protocol::Smb { .. } => Some(CallsBeside { lookups: 1.0, saved_round_trips: 1.0 }),
            Protocol::Directory { .. } | Protocol::Other(_) => None,
        }
    }
}

/// The scan of [`NAMES`] names in directories of as many as were listed, one call at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct Scan {
    /// Names in a directory.
    pub entries: u32,
    /// Seconds where listings tell all.
    pub listings: f64,
    /// Seconds where every name is looked up besides.
    pub with_lookups: f64,
    /// The same if a lookup takes as long as operations of all kinds on average. `None` unless lookups took far longer:
    /// something held them up among operations of other kinds.
    pub with_lookups_at_least: Option<f64>,
    /// Seconds that the calls of a mount by Linux take: each directory is looked at before it is listed. `None`
    /// of directories, and where that takes a round trip that is not known.
    pub mounted: Option<f64>,
}

impl Scan {
    /// By what was found of a cell of a workload of operations. `None` of another workload, and where listings
    /// or lookups were not measured.
    pub fn predict(study: &Study, workload: &Workload, found: &CellFindings) -> Option<Scan> {
        let Job::Operations(job) = &workload.main()?.job else { return None };
        let level = |kind| {
            let metric = Metric { kind: Some(kind), measure: Measure::LATENCY_MEAN };
            Some(found.levels.get(&metric)?.estimate)
        };
        let (listing, lookup) = (level(OpKind::READ_DIRECTORY)?, level(OpKind::LOOKUP)?);
        let average = found.levels.get(&Metric::all(Measure::LATENCY_MEAN));
        let average = average.map(|level| level.estimate).filter(|all| lookup > HELD_UP * all);
        let (names, entries) = (f64::from(NAMES), job.entries.max(1));
        let directories = names / f64::from(entries);
        let facts = study.subjects.get(usize::from(found.cell.subject))?.storage();
        let beside = facts.and_then(|facts| {
            let CallsBeside { lookups, saved_round_trips } =
                CallsBeside::of_mount(&facts.protocol)?;
            let trip = RoundTrip::to_subject(study, found.cell.subject);
            let trip = trip.as_ref().map_or(Some(0.0), RoundTrip::bound);
            let trip = if saved_round_trips > 0.0 { trip? } else { 0.0 };
            Some(lookups * lookup - saved_round_trips * trip)
        });
        Some(Scan {
            entries,
            listings: directories * listing,
            with_lookups: directories * listing + names * lookup,
            with_lookups_at_least: average.map(|all| directories * listing + names * all),
            mounted: beside.map(|beside| directories * (listing + beside)),
        })
    }
}

/// The scans of a study, in the order of its subjects.
pub fn scans(study: &Study) -> Vec<Scan> {
    let findings = findings(study);
    let workloads = findings.workloads.iter();
    let cells = workloads.flat_map(|found| found.cells.iter().map(move |cell| (found, cell)));
    cells.filter_map(|(found, cell)| Scan::predict(study, &found.workload, cell)).collect()
}
