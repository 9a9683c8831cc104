//! Gates: a study against earlier ones of the same subject and equal work, by the spread between these.
//!
//! A condition fails if the figure is beyond its bound *and* leaves the range in which one more study lies if nothing
//! changed ([`plimsoll_stats::prediction`]). So a study without a change fails with a probability of at most 1 minus the
//! confidence of its plan, over all conditions and all work together.

use crate::changes::Change;
use crate::history::{cells, is_alike, is_equal, level, metric};
use crate::subjects::recognise;
use crate::work::apart;
use plimsoll_model::{
    Cell, Gate, GateCondition, GateSide, Metric, PastStudy, Plan, Study, SubjectKey, Workload,
};
use plimsoll_stats::interval::mean;
use plimsoll_stats::prediction::{FEWEST, Prediction};

/// Latest studies of a baseline that count.
pub const MOST_BASELINES: usize = 30;

/// Result of the gate of a study.
#[derive(Clone, Debug, PartialEq)]
pub struct GateResult {
    /// A row for each condition and each cell that it is about.
    pub rows: Vec<GateRow>,
    /// Probability that a study without a change fails, over all rows together.
    pub level: f64,
}

/// One condition on one cell.
#[derive(Clone, Debug, PartialEq)]
pub struct GateRow {
    /// Condition; `None` if the study has none: then the row is a comparison only.
    pub condition: Option<GateCondition>,
    /// Cell of the study.
    pub cell: Cell,
    /// Figure that is compared.
    pub metric: Metric,
    /// Level of the study; `None` if no trial is complete.
    pub now: Option<f64>,
    /// Geometric mean of the levels of the baseline; `None` without one.
    pub baseline: Option<f64>,
    /// Studies of the baseline.
    pub studies: usize,
    /// Change that one more study exceeds on one side by chance, with the row's share of the level: a ratio above 1.
    /// `None` if the spread is not known.
    pub by_chance: Option<f64>,
    /// Outcome.
    pub outcome: GateOutcome,
}

/// Outcome of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateOutcome {
    /// Within the bound, or within what happens by chance.
    Passed,
    /// Beyond both.
    Failed,
    /// Too few studies of the baseline to know the spread from day to day; nothing fails.
    SpreadUnknown,
    /// No earlier study with equal work.
    NoBaseline,
    /// The study has no figure.
    NotMeasured,
}

impl GateRow {
    /// Change as a share of the baseline: −0.12 for 12% lower.
    pub fn change(&self) -> Option<f64> {
        Some(self.now? / self.baseline? - 1.0).filter(|change| change.is_finite())
    }
}

impl GateResult {
    /// Whether a condition failed.
    pub fn has_failed(&self) -> bool {
        self.rows.iter().any(|row| row.outcome == GateOutcome::Failed)
    }
}

/// Kind and title of a workload, for conditions.
fn is_about(condition: &GateCondition, workload: &Workload) -> bool {
    workload.main().is_some_and(|part| condition.is_about(part.job.kind(), &part.job.title()))
}

/// Conditions of a gate that are about no work of a plan.
pub fn conditions_without_work<'a>(gate: &'a Gate, plan: &Plan) -> Vec<&'a GateCondition> {
    let has_none = |condition: &&GateCondition| {
        !plan.workloads.iter().any(|workload| is_about(condition, workload))
    };
    gate.conditions.iter().filter(has_none).collect()
}

/// Every condition with each cell that it is about; without conditions, every cell.
fn gated<'a>(
    gate: &'a Gate,
    plan: &Plan,
    cells: &[Cell],
) -> Vec<(Option<&'a GateCondition>, Cell)> {
    if gate.conditions.is_empty() {
        return cells.iter().map(|cell| (None, *cell)).collect();
    }
    let about = |condition: &'a GateCondition| {
        let is_own = move |cell: &&Cell| {
            plan.workload(**cell).is_some_and(|workload| is_about(condition, workload))
        };
        cells.iter().filter(is_own).map(move |cell| (Some(condition), *cell))
    };
    gate.conditions.iter().flat_map(about).collect()
}

/// Cells of a plan without ladders.
fn planned(plan: &Plan) -> Vec<Cell> {
    let mut cells = plan.cells();
    cells.retain(|cell| !crate::limits::is_ladder(plan, cell.workload));
    cells
}

/// The gate of a study, by its baseline, the oldest first. `None` if the study has no gate.
pub fn gate(now: &PastStudy, baseline: &[PastStudy]) -> Option<GateResult> {
    let plan = &now.study.plan;
    let gate = plan.gate.as_ref()?;
    let rows = gated(gate, plan, &planned(plan));
    let level = 1.0 - plan.design.confidence;
    let share = level / rows.len().max(1) as f64;
    let heads: Vec<Study> = baseline.iter().map(|past| past.study.clone()).collect();
    let row = |(condition, cell): (Option<&GateCondition>, Cell)| {
        let metric = metric(plan.workload(cell)?)?;
        let key = SubjectKey::new(&now.study, usize::from(cell.subject));
        let places = recognise(&heads, &|other| other.is_same(&key)).places;
        let levels = places.iter().filter_map(|place| {
            let past = baseline.get(place.study)?;
            let is_own = |other: &Cell| is_equal(&past.study, *other, &now.study, cell);
            let other = cells(past, place.subject).into_iter().find(is_own)?;
            self::level(&past.figures, other, metric)
        });
        let mut logs: Vec<f64> = levels.map(f64::ln).filter(|log| log.is_finite()).collect();
        logs.drain(..logs.len().saturating_sub(MOST_BASELINES));
        let now = self::level(&now.figures, cell, metric);
        Some(judged(condition, cell, metric, now, &logs, share))
    };
    Some(GateResult { rows: rows.into_iter().filter_map(row).collect(), level })
}

fn judged(
    condition: Option<&GateCondition>,
    cell: Cell,
    metric: Metric,
    now: Option<f64>,
    logs: &[f64],
    share: f64,
) -> GateRow {
    let prediction = Prediction::from_values(logs, share);
    let log = now.map(f64::ln).filter(|log| log.is_finite());
    let outcome = match (log, prediction) {
        (None, _) => GateOutcome::NotMeasured,
        _ if logs.is_empty() => GateOutcome::NoBaseline,
        (_, None) => GateOutcome::SpreadUnknown,
        (Some(log), Some(range)) => {
            let change = log - range.mean;
            let is_beyond = condition.is_some_and(|condition| match condition.fails {
                GateSide::Below => change < -range.reach && change < (-condition.share).ln_1p(),
                GateSide::Above => change > range.reach && change > condition.share.ln_1p(),
            });
            if is_beyond { GateOutcome::Failed } else { GateOutcome::Passed }
        }
    };
    GateRow {
        condition: condition.cloned(),
        cell,
        metric,
        now,
        baseline: mean(logs).map(f64::exp),
        studies: logs.len(),
        by_chance: prediction.map(|range| range.reach.exp()),
        outcome,
    }
}

/// Fewest studies of a baseline whose spread is known.
pub const FEWEST_BASELINES: usize = FEWEST;

/// Whether a study has any work of the kinds that a planned study is to be compared by, on one of its subjects.
pub fn can_be_baseline(planned: &Study, earlier: &Study) -> bool {
    counterparts(planned, earlier).iter().any(|(_, _, others)| !others.is_empty())
}

/// Differences between the work of a planned study and that of its baseline, as far as the conditions are about it. Empty
/// if each of its cells has equal work there. A size that the program may lower does not differ yet.
pub fn other_work(planned: &Study, baseline: &Study) -> Vec<Change> {
    let may_lower = planned.plan.storage.adapt_size || planned.plan.storage.fit_size;
    let mut found: Vec<Change> = Vec::new();
    for (cell, subject, others) in counterparts(planned, baseline) {
        let mut nearest: Option<Vec<Change>> = None;
        for other in others {
            let mut differences = apart(baseline, other, planned, cell);
            differences.retain(|change| !(may_lower && change.what == "working set"));
            if nearest.as_ref().is_none_or(|least| differences.len() < least.len()) {
                nearest = Some(differences);
            }
        }
        let title = planned.plan.workload(cell).and_then(Workload::main);
        let title = title.map_or_else(String::new, |part| part.job.title());
        let missing = || {
            let what = format!("work on {}", subject.given);
            vec![Change { what, before: "none of this kind".to_owned(), after: title.clone() }]
        };
        for change in nearest.unwrap_or_else(missing) {
            if !found.contains(&change) {
                found.push(change);
            }
        }
    }
    found
}

/// Each gated cell of a planned study with its subject and the cells of the baseline on the same subject that are alike.
fn counterparts(planned: &Study, baseline: &Study) -> Vec<(Cell, SubjectKey, Vec<Cell>)> {
    let Some(gate) = &planned.plan.gate else { return Vec::new() };
    let subjects = SubjectKey::all(baseline);
    let counterpart = |(_, cell): (Option<&GateCondition>, Cell)| {
        let key = SubjectKey::new(planned, usize::from(cell.subject));
        let is_own = |other: &Cell| {
            let same =
                subjects.get(usize::from(other.subject)).is_some_and(|own| own.is_same(&key));
            same && is_alike(&baseline.plan, *other, &planned.plan, cell)
        };
        let others = self::planned(&baseline.plan).into_iter().filter(is_own).collect();
        (cell, key, others)
    };
    gated(gate, &planned.plan, &self::planned(&planned.plan)).into_iter().map(counterpart).collect()
}
