//! The figures in the cells of a table.

use super::rows::NOTHING;
use crate::study::{Shown, speed, stalls, writes};
use crate::text::counted;
use plimsoll_explain::{CellFindings, Level, Levels, WorkloadFindings};
use plimsoll_model::{Cell, Measurand, Measure, Metric, Part};

/// The speed of a cell with its interval.
pub(super) fn level_of(shown: &Shown<'_>, found: &WorkloadFindings, cell: &CellFindings) -> String {
    let measure = speed(&found.workload);
    match cell.levels.get(&Metric::all(measure)) {
        Some(level) => {
            let mark = writes::mark(shown, cell.cell);
            let over_all = stalls::over_all_time(shown, cell, measure);
            let level = shown.shape(measure).level(level) + mark + &no_interval(shown, level);
            level + &over_all
        }
        None => missing(cell),
    }
}

/// In place of an interval that is expected: why there is none.
fn no_interval(shown: &Shown<'_>, level: &Level) -> String {
    match level.interval {
        None if !shown.findings.imported => {
            let few = if level.trials > 1 { ": too few" } else { "" };
            format!(" [{}{few}]", counted(level.trials as u64, "trial"))
        }
        _ => String::new(),
    }
}

/// Why a cell has no figure.
fn missing(cell: &CellFindings) -> String {
    incomplete(cell).unwrap_or(NOTHING).to_owned()
}

/// Outcome of the trials of a cell of which none is complete.
pub(super) fn incomplete(cell: &CellFindings) -> Option<&'static str> {
    match cell {
        cell if cell.failed > 0 => Some("failed"),
        cell if cell.void > 0 => Some("void"),
        cell if cell.stopped > 0 => Some("stopped"),
        _ => None,
    }
}

/// What was found of work on the subject and under the setting of a cell.
pub(super) fn of_setup(found: &WorkloadFindings, cell: Cell) -> Option<&CellFindings> {
    let is = |c: &&CellFindings| (c.cell.subject, c.cell.setting) == (cell.subject, cell.setting);
    found.cells.iter().find(is)
}

/// The speed of a cell; of what failed, that it did.
pub(super) fn figure_of(shown: &Shown<'_>, found: &WorkloadFindings, cell: Cell) -> String {
    let Some(cell) = of_setup(found, cell) else { return NOTHING.to_owned() };
    let measure = speed(&found.workload);
    match cell.levels.get(&Metric::all(measure)) {
        Some(level) => {
            let mark = writes::mark(shown, cell.cell);
            let over_all = stalls::over_all_time(shown, cell, measure);
            shown.shape(measure).plain(level.estimate) + mark + &over_all
        }
        None => missing(cell),
    }
}

/// A figure of a contrast; of the headline the speed, which is in the unit that people know.
pub(super) fn figure(shown: &Shown<'_>, measurand: &Measurand) -> String {
    let Some(found) = shown.findings.workloads.get(usize::from(measurand.cell.workload)) else {
        return NOTHING.to_owned();
    };
    let headline = found.workload.headline_part();
    let job = found.workload.parts.get(usize::from(headline)).or(found.workload.main());
    // At a fixed rate the speed is the request, and the latency is the answer.
    let is_speed =
        |part: &Part| part.headline() == measurand.metric && part.arrival.per_second().is_none();
    if measurand.part == headline && job.is_some_and(is_speed) {
        return figure_of(shown, found, measurand.cell);
    }
    let cell = found.cells.iter().find(|c| c.cell == measurand.cell);
    let level = cell.and_then(|cell| {
        let levels = match measurand.part == headline {
            true => &cell.levels,
            false => cell.parts.get(usize::from(measurand.part))?,
        };
        levels.get(&measurand.metric)
    });
    let shape = shown.shape(measurand.metric.measure);
    match (level, cell) {
        (Some(level), _) => shape.plain(level.estimate),
        (None, Some(cell)) => missing(cell),
        (None, None) => NOTHING.to_owned(),
    }
}

/// A figure that is not the headline.
pub(super) struct OtherFigure {
    pub(super) name: String,
    part: usize,
    /// The part of the headline.
    headline: usize,
    measure: Measure,
}

impl OtherFigure {
    /// The figure of a cell.
    pub(super) fn figure(&self, shown: &Shown<'_>, cell: Option<&CellFindings>) -> String {
        let levels = cell.and_then(|cell| levels_of_part(cell, self.part, self.headline));
        let level = levels.and_then(|levels| levels.get(&Metric::all(self.measure)));
        level.map_or(NOTHING.to_owned(), |l| shown.shape(self.measure).plain(l.estimate))
    }
}

/// The speeds of what else ran in imported work, and of each direction if they are known. The details of measured work
/// have them.
pub(super) fn other_figures(shown: &Shown<'_>, found: &WorkloadFindings) -> Vec<OtherFigure> {
    let headline = usize::from(found.workload.headline_part());
    let parts = found.workload.parts.iter().enumerate();
    let parts = parts.filter(|_| shown.findings.imported);
    let of_part = |(number, part): (usize, &Part)| {
        let title = part.job.title();
        let is_known = |measure: Measure| {
            let levels_of = |cell| levels_of_part(cell, number, headline);
            let mut levels = found.cells.iter().filter_map(levels_of);
            levels.any(|levels| levels.contains_key(&Metric::all(measure)))
        };
        let ways = [(Measure::GOODPUT_OUT, ": out"), (Measure::GOODPUT_IN, ": in")];
        let ways = ways.into_iter().filter(|(measure, _)| is_known(*measure));
        let mut all: Vec<OtherFigure> = ways
            .map(|(measure, way)| OtherFigure {
                name: format!("{title}{way}"),
                part: number,
                headline,
                measure,
            })
            .collect();
        if all.is_empty() && number != headline {
            all.push(OtherFigure {
                name: title,
                part: number,
                headline,
                measure: part.job.speed(),
            });
        }
        all
    };
    parts.flat_map(of_part).collect()
}

/// Figures of a part. A cell with one part has them as its own.
fn levels_of_part(cell: &CellFindings, part: usize, headline: usize) -> Option<&Levels> {
    cell.parts.get(part).or((part == headline).then_some(&cell.levels))
}
