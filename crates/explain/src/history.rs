//! Studies of one subject over time. Figures of equal work are one series, in which changes of level are looked for.

use crate::changes::{Change, changes};
use crate::level::Level;
use crate::limits::is_ladder;
use crate::set_apart::SetApart;
use crate::subjects::Place;
use crate::work::apart;
use plimsoll_model::{Cell, Figure, Metric, PastStudy, Plan, Study, Workload, factor};
use plimsoll_stats::divisive::{self, Shift};

/// Studies of one subject, the oldest first.
#[derive(Clone, Debug, PartialEq)]
pub struct History<'a> {
    /// Its studies.
    pub moments: Vec<Moment<'a>>,
    /// Series of equal work, in the order of their first figures.
    pub series: Vec<Series<'a>>,
}

/// Study of the subject.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment<'a> {
    /// The study, without its trials.
    pub study: &'a Study,
    /// Number of the subject in its plan.
    pub subject: u16,
    /// Recorded changes since the study before it.
    pub changes: Vec<Change>,
}

/// Figures of equal work.
#[derive(Clone, Debug, PartialEq)]
pub struct Series<'a> {
    /// Study and cell of the first figure, with which all others agree.
    pub first: (&'a Study, Cell),
    /// Study and cell of the last figure.
    pub last: (&'a Study, Cell),
    /// Figure that tables show of the work.
    pub metric: Metric,
    /// Level in each of the moments; `None` if the study has none.
    pub levels: Vec<Option<f64>>,
    /// Changes of level, as places among the moments, with the levels before and after.
    pub shifts: Vec<Shift>,
}

impl Series<'_> {
    /// Studies with a figure.
    pub fn len(&self) -> usize {
        self.levels.iter().flatten().count()
    }

    /// Whether no study has a figure.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it has as many studies as the search for changes needs.
    pub fn is_searched(&self) -> bool {
        self.len() >= divisive::FEWEST
    }
}

/// Latest studies of a series in which changes are looked for: the cost grows with the square of their number.
pub const MOST_SEARCHED: usize = 200;

/// Metric of a workload in tables and gates: its speed; its latency at a fixed rate, where the speed is given.
pub(crate) fn metric(workload: &Workload) -> Option<Metric> {
    let main = workload.main()?;
    let is_given = main.arrival.per_second().is_some();
    Some(if is_given { main.headline() } else { Metric::all(main.job.speed()) })
}

/// Level of a cell over the blocks of a study, as its report has it.
pub(crate) fn level(figures: &[Figure], cell: Cell, metric: Metric) -> Option<f64> {
    let is_own = |figure: &&Figure| (figure.cell, figure.metric) == (cell, metric);
    let own: Vec<&Figure> = figures.iter().filter(is_own).collect();
    let counted = SetApart::new(own, |figure| figure.is_disturbed).counted;
    let values: Vec<f64> = counted.into_iter().map(|figure| figure.value).collect();
    Level::new(&values, |_| None).map(|level| level.estimate)
}

/// Cells of a subject that have figures, ladders left out: their points are no figures of the work.
pub(crate) fn cells(past: &PastStudy, subject: u16) -> Vec<Cell> {
    let own = past.figures.iter().map(|figure| figure.cell);
    let mut cells: Vec<Cell> = own.filter(|cell| cell.subject == subject).collect();
    cells.sort_by_key(|cell| (cell.workload, cell.setting));
    cells.dedup();
    cells.retain(|cell| !is_ladder(&past.study.plan, cell.workload));
    cells
}

/// Whether two cells are the same work under the same setting, done by the same clients over the same protocol.
pub(crate) fn is_equal(a: &Study, in_a: Cell, b: &Study, in_b: Cell) -> bool {
    is_alike(&a.plan, in_a, &b.plan, in_b) && apart(a, in_a, b, in_b).is_empty()
}

/// Whether two cells are of jobs of the same kind under the same setting.
pub(crate) fn is_alike(a: &Plan, in_a: Cell, b: &Plan, in_b: Cell) -> bool {
    let kind = |plan: &Plan, cell| Some(plan.workload(cell)?.main()?.job.kind());
    let levels = |plan: &Plan, cell: Cell| factor::words(&plan.factors, cell.setting);
    kind(a, in_a).is_some() && kind(a, in_a) == kind(b, in_b) && levels(a, in_a) == levels(b, in_b)
}

/// History of the subject at these places among studies, the oldest first. `seed` is that of the permutations.
pub fn history<'a>(pasts: &'a [PastStudy], places: &[Place], seed: u64) -> History<'a> {
    let mut found = History { moments: Vec::new(), series: Vec::new() };
    for place in places {
        let Some(past) = pasts.get(place.study) else { continue };
        let before = found.moments.last().map(|moment| moment.study);
        let changes = before.map_or_else(Vec::new, |before| changes(before, &past.study));
        found.moments.push(Moment { study: &past.study, subject: place.subject, changes });
        found.add(past, place.subject);
    }
    let moments = found.moments.len();
    for series in &mut found.series {
        series.levels.resize(moments, None);
        series.shifts = shifts(&series.levels, seed);
    }
    found
}

impl<'a> History<'a> {
    /// Adds the figures of the last moment to their series.
    fn add(&mut self, past: &'a PastStudy, subject: u16) {
        let place = self.moments.len() - 1;
        for cell in cells(past, subject) {
            let Some(metric) = past.study.plan.workload(cell).and_then(metric) else { continue };
            let Some(level) = level(&past.figures, cell, metric) else { continue };
            let own = (&past.study, cell);
            let is_own = |series: &&mut Series<'_>| {
                let (first, of) = series.first;
                series.metric == metric
                    && series.levels.len() <= place
                    && is_equal(first, of, &past.study, cell)
            };
            match self.series.iter_mut().find(is_own) {
                Some(series) => {
                    series.levels.resize(place, None);
                    series.levels.push(Some(level));
                    series.last = own;
                }
                None => {
                    let levels = [vec![None; place], vec![Some(level)]].concat();
                    let shifts = Vec::new();
                    self.series.push(Series { first: own, last: own, metric, levels, shifts });
                }
            }
        }
    }

    /// Series of the latest study that has figures.
    pub fn current(&self) -> Vec<&Series<'a>> {
        let last = |series: &Series<'_>| series.levels.iter().rposition(Option::is_some);
        let latest = self.series.iter().filter_map(last).max();
        self.series.iter().filter(|series| last(series) == latest).collect()
    }
}

/// Changes of level. Studies without a figure are passed over: they are no reason for a change.
fn shifts(levels: &[Option<f64>], seed: u64) -> Vec<Shift> {
    let known =
        levels.iter().enumerate().filter_map(|(place, level)| Some((place, (*level)?.ln())));
    let known: Vec<(usize, f64)> = known.collect();
    let latest = &known[known.len().saturating_sub(MOST_SEARCHED)..];
    let logs: Vec<f64> = latest.iter().map(|(_, log)| *log).collect();
    let at_moment = |shift: Shift| Shift {
        at: latest[shift.at].0,
        before: shift.before.exp(),
        after: shift.after.exp(),
    };
    divisive::find(&logs, seed).into_iter().map(at_moment).collect()
}
