//! What single operations cost, in words and figures.

use super::Shown;
use crate::figure::TIME;
use plimsoll_explain::{CellFindings, Level, WorkloadFindings};
use plimsoll_model::{Cell, Flag, Measure, Metric, OpKind, SubjectFacts};

/// Names that the walk has whose time is predicted.
pub(crate) const WALK: u32 = 5_000;

/// What one operation of each kind costs, where each was alone in flight by turns.
pub(crate) struct Operations<'a> {
    pub(crate) found: &'a WorkloadFindings,
    /// Names in the directory that is listed.
    pub(crate) entries: u32,
}

impl<'a> Operations<'a> {
    /// `None` where a study has nothing of the kind.
    pub(crate) fn new(shown: &'a Shown<'_>) -> Option<Operations<'a>> {
        let of = |found: &&WorkloadFindings| {
            found.workload.main().is_some_and(|part| part.job.kind() == "operations")
        };
        let found = shown.findings.workloads.iter().find(of)?;
        let parameters = found.workload.main()?.job.parameters();
        let (_, entries) = parameters.into_iter().find(|(name, _)| *name == "entries")?;
        Some(Operations { found, entries: entries.parse().ok()? })
    }

    /// The kinds that were tried, in the order of tables.
    pub(crate) fn kinds(&self) -> &'static [OpKind] {
        self.found.workload.main().map_or(&[], |part| part.job.kinds_apart())
    }

    /// What was found of a subject under a setting.
    pub(crate) fn cell(&self, of: Cell) -> Option<&'a CellFindings> {
        let same = |c: &&CellFindings| (c.cell.subject, c.cell.setting) == (of.subject, of.setting);
        self.found.cells.iter().find(same)
    }

    /// Seconds that a walk over [`WALK`] names in directories of as many takes by the round trips it is made
    /// of: their listings alone, and with a lookup of every name.
    pub(crate) fn walk(&self, cell: &CellFindings) -> Option<(f64, f64)> {
        let listing = level(cell, OpKind::READ_DIRECTORY)?.estimate;
        let lookup = level(cell, OpKind::LOOKUP)?.estimate;
        let names = f64::from(WALK);
        let listings = names / f64::from(self.entries.max(1)) * listing;
        Some((listings, listings + names * lookup))
    }
}

/// The mean time of one operation of a kind, in seconds.
pub(crate) fn level(cell: &CellFindings, kind: OpKind) -> Option<&Level> {
    cell.levels.get(&Metric { kind: Some(kind), measure: Measure::LATENCY_MEAN })
}

/// "121 µs [118–124]", or that the kind was refused; a dash where nothing is known.
pub(crate) fn time(shown: &Shown<'_>, found: Option<&CellFindings>, kind: OpKind) -> String {
    let Some(found) = found else { return "–".to_owned() };
    let given = shown.study.plan.target(usize::from(found.cell.subject)).map(ToString::to_string);
    let refused = |flag: &Flag| match flag {
        Flag::OperationRefused { target, operation, .. } => {
            *operation == kind && given.as_ref() == Some(target)
        }
        _ => false,
    };
    match level(found, kind) {
        Some(level) => TIME.with_ends(level.estimate, level.interval),
        None if shown.study.flags.iter().any(refused) => "refused".to_owned(),
        None => "–".to_owned(),
    }
}

/// What an operation is called in a table: "look up", "list 640 names".
pub(crate) fn name(kind: OpKind, entries: u32) -> String {
    match kind {
        OpKind::READ_DIRECTORY => format!("list {entries} names"),
        kind => kind.name().replace('_', " "),
    }
}

/// Seconds of a call that does nothing, where there is such a call.
pub(crate) fn round_trip(shown: &Shown<'_>, cell: Cell) -> Option<f64> {
    let facts = shown.study.subjects.get(usize::from(cell.subject));
    facts.and_then(SubjectFacts::storage)?.round_trip_seconds
}
