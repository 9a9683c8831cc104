//! New connections through a router: a row for each number at a time, with their rate, and what the router does meanwhile.

use super::figures::incomplete;
use super::forwarding::{compared, compares};
use super::names::Brief;
use super::rows::NOTHING;
use crate::chart::Table;
use crate::figure::{RATE, SHARE, TIME};
use crate::study::Shown;
use crate::verdict::percent;
use plimsoll_explain::{CellFindings, ConnectionLimit, NewConnections, WorkloadFindings};
use plimsoll_model::{Cell, Measure, Metric, Subject, Workload};

const LOAD: &str = "new con-\nnections";
const SETTING: &str = "setting";
const RATES: &str = "per\nsecond";
const FAILED: &str = "not\nopened";
const MEDIAN: &str = "opened\nin p50";
const LATE: &str = "\np99";
const SOFTIRQ: &str = "R soft\nirq";
const LIMIT: &str = "limit";
const MORE: &str = "new connections";

/// Whether a workload opens connections through a router.
pub(super) fn are_of(shown: &Shown<'_>, workload: &Workload) -> bool {
    let path = shown.study.plan.subjects.first().and_then(Subject::path);
    let opens = workload.main().is_some_and(|part| part.job.speed() == Measure::CONNECTIONS);
    opens && path.is_some_and(|path| path.via.is_some())
}

/// "16 at a time".
pub(super) fn label(found: &WorkloadFindings) -> String {
    let settings = found.workload.main().map(|part| part.job.settings()).unwrap_or_default();
    settings.into_iter().next().unwrap_or_default()
}

fn all<'a>(shown: &'a Shown<'_>) -> impl Iterator<Item = &'a WorkloadFindings> {
    shown.findings.workloads.iter().filter(|found| are_of(shown, &found.workload))
}

/// The table; `None` if no connections are opened.
pub(super) fn table(shown: &Shown<'_>, brief: &Brief) -> Option<Table> {
    let compares = compares(shown);
    let mut header = vec![LOAD];
    header.extend(compares.then_some(SETTING));
    header.extend([RATES, FAILED, MEDIAN]);
    header.extend((!compares).then_some(LATE));
    header.extend([SOFTIRQ, LIMIT]);
    header.extend(compares.then_some(MORE));
    let mut table = Table::new(header.into_iter().map(str::to_owned).collect());
    for found in all(shown) {
        for cell in &found.cells {
            let mut row = vec![label(found)];
            row.extend(compares.then(|| brief.setup(shown, cell.cell)));
            row.extend(figures(shown, found, cell));
            row.resize(table.header.len(), NOTHING.to_owned());
            table.rows.push(row);
        }
    }
    (!table.rows.is_empty()).then_some(table)
}

fn figures(shown: &Shown<'_>, found: &WorkloadFindings, cell: &CellFindings) -> Vec<String> {
    if cell.complete == 0 {
        return vec![incomplete(cell).unwrap_or("stopped").to_owned()];
    }
    let nothing = || NOTHING.to_owned();
    let level = |measure: Measure| cell.levels.get(&Metric::all(measure));
    let time = |measure| level(measure).map_or_else(nothing, |level| TIME.value(level.estimate));
    let rate = level(Measure::CONNECTIONS);
    let failed = level(Measure::UNANSWERED);
    let mut row = vec![
        rate.map_or_else(nothing, |level| {
            // None at all has no relative error.
            let interval = level.interval.filter(|_| level.estimate > 0.0);
            RATE.within(level.estimate, interval)
        }),
        failed.map_or_else(nothing, |level| SHARE.value(level.arithmetic_mean)),
        time(Measure::LATENCY_P50),
    ];
    let compares = compares(shown);
    row.extend((!compares).then(|| time(Measure::LATENCY_P99)));
    let router = new_connections(shown, cell.cell);
    let softirq = router.and_then(|router| router.softirq);
    row.push(softirq.map_or_else(nothing, |share| percent(whole(share))));
    row.push(router.map_or_else(nothing, |router| limit(router.limit)));
    row.extend(compares.then(|| compared(found, cell.cell)));
    row
}

fn new_connections<'a>(shown: &'a Shown<'_>, cell: Cell) -> Option<&'a NewConnections> {
    shown.new_connections.iter().find(|router| router.cell == cell)
}

fn limit(limit: ConnectionLimit) -> String {
    match limit {
        ConnectionLimit::Table => "R table".to_owned(),
        ConnectionLimit::Core { share } => format!("R core {}", percent(whole(share))),
        ConnectionLimit::SharedCore { share } => format!("shared core {}", percent(whole(share))),
        ConnectionLimit::End { share } => format!("sender {}", percent(whole(share))),
        ConnectionLimit::NotOpened { .. } => "not opened".to_owned(),
        ConnectionLimit::RoundTrips => "round trips".to_owned(),
        ConnectionLimit::Unknown => "not monitored".to_owned(),
    }
}

/// To whole percents.
fn whole(share: f64) -> f64 {
    (100.0 * share).round() / 100.0
}

/// What a new connection is.
pub(super) fn legend(shown: &Shown<'_>) -> Option<String> {
    all(shown).next()?;
    Some("Each new TCP connection carries one exchange of 20 bytes, and is reset.".to_owned())
}
