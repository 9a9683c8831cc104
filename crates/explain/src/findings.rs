//! Everything a study says, cell by cell.

use crate::gather::{self, Gathered, Results};
use crate::hosts::{self, HostFindings};
use crate::pair::Rules;
use crate::set_apart::SetApart;
use crate::stalls;
use crate::{Level, Pair};
use plimsoll_model::{
    Cell, Contrast, Length, Measure, Metric, Outcome, PartResult, Rule, Study, Trial, Workload,
};
use std::collections::BTreeMap;

/// What a study says.
#[derive(Clone, Debug, PartialEq)]
pub struct Findings {
    /// One for each workload of the plan, in its order.
    pub workloads: Vec<WorkloadFindings>,
    /// Every host that was watched.
    pub hosts: Vec<HostFindings>,
    /// Whether the number of blocks was fixed, as in published designs.
    pub fixed_repeats: bool,
    /// Whether the figures are another tool's: then there are no intervals and no verdicts.
    pub imported: bool,
    /// Seconds from the start of one trial to that of the next, on average.
    pub seconds_per_trial: f64,
}

/// What a study says about one workload.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadFindings {
    /// Its index in the plan.
    pub number: u16,
    /// Which.
    pub workload: Workload,
    /// Every cell that has trials, by setting and subject.
    pub cells: Vec<CellFindings>,
    /// The plan's contrasts of what has trials, in their order.
    pub pairs: Vec<Pair>,
}

/// The figures of one part: every metric that was measured. Intervals hold each by itself, at the
/// plan's confidence.
pub type Levels = BTreeMap<Metric, Level>;

/// What a study says about one subject under one workload and setting.
#[derive(Clone, Debug, PartialEq)]
pub struct CellFindings {
    /// Which.
    pub cell: Cell,
    /// Trials that ran to their end.
    pub complete: usize,
    /// Trials that failed.
    pub failed: usize,
    /// Trials that were stopped.
    pub stopped: usize,
    /// Trials that say nothing.
    pub void: usize,
    /// The figures that verdicts are about: the first part's, or of all parts together where several
    /// clients do the same job.
    pub levels: Levels,
    /// Rates of the same over all time: stalls count to their ends. Empty where nothing stalled.
    pub over_all_time: BTreeMap<Metric, f64>,
    /// Trials during which others used a host; `None` without any.
    pub disturbed: Option<Disturbed>,
    /// The figures of each part, where there are several.
    pub parts: Vec<Levels>,
    /// Figures that all parts have together and none alone: CPU time of machines.
    pub whole: Levels,
    /// The figures of the first part at each value of what the trials stepped through, in the order
    /// of the values.
    pub points: Vec<(f64, Levels)>,
}

impl CellFindings {
    /// Trials that were begun.
    pub fn trials(&self) -> usize {
        self.complete + self.failed + self.stopped + self.void
    }
}

/// Complete trials of a cell during which others used a host.
#[derive(Clone, Debug, PartialEq)]
pub struct Disturbed {
    /// How many.
    pub trials: usize,
    /// Their figures, of the part that verdicts are about.
    pub levels: Levels,
    /// Whether they are counted apart: the cell's figures are of the other trials. They are not where they
    /// are half of the trials or more.
    pub apart: bool,
}

/// What the study says, from its plan and its complete trials alone. The same study always gives the
/// same findings.
pub fn findings(study: &Study) -> Findings {
    let gathered = Gathered::new(study);
    let rules = Rules::new(study);
    // Cells without trials have nothing to say, and a damaged record may name very many.
    let mut contrasts: BTreeMap<u16, Vec<Contrast>> = BTreeMap::new();
    for contrast in &study.plan.contrasts {
        if !gathered.trials(contrast.of.cell).is_empty() {
            contrasts.entry(contrast.of.cell.workload).or_default().push(*contrast);
        }
    }
    let of_workload = |(number, workload): (u16, &Workload)| {
        let contrasts = contrasts.get(&number).into_iter().flatten();
        WorkloadFindings {
            number,
            workload: workload.clone(),
            cells: gathered
                .cells(number)
                .into_iter()
                .map(|cell| of_cell(study, &gathered, cell, workload, &rules))
                .collect(),
            pairs: contrasts.map(|contrast| Pair::new(&gathered, *contrast, &rules)).collect(),
        }
    };
    Findings {
        hosts: hosts::hosts(study, &gathered),
        workloads: (0..).zip(&study.plan.workloads).map(of_workload).collect(),
        fixed_repeats: !rules.imported && matches!(study.plan.design.rule, Rule::Fixed { .. }),
        imported: rules.imported,
        seconds_per_trial: seconds_per_trial(study),
    }
}

fn of_cell(
    study: &Study,
    gathered: &Gathered<'_>,
    cell: Cell,
    workload: &Workload,
    rules: &Rules,
) -> CellFindings {
    let count = |kind: fn(&Outcome) -> bool| {
        gathered.trials(cell).iter().filter(|t| kind(&t.result.outcome)).count()
    };
    // With nothing to compare, the stop rule looks at the level itself.
    let judged = workload
        .main()
        .map(|part| part.headline())
        .filter(|_| gather::subjects(study) == 1 && study.plan.contrasts.is_empty());
    let levels = |results: &Results<'_>| -> Levels {
        let level = |metric: Metric| {
            let values = results.values(metric);
            let interval = |v: &[f64]| match () {
                () if rules.imported => None,
                () if Some(metric) == judged => rules.stop(false).interval(v),
                () => rules.interval(v),
            };
            Level::new(&values, |v| {
                interval(v).map(|own| rules.on_grid(own, cell, metric, v.len()))
            })
        };
        results.metrics().into_iter().filter_map(|m| Some((m, level(m)?))).collect()
    };
    let SetApart { counted, disturbed, apart } = gathered.set_apart(cell);
    let headline = workload.headline_part();
    let of_headline = workload.parts.get(usize::from(headline)).or(workload.main());
    let is_open_loop = of_headline.is_some_and(|part| part.arrival.per_second().is_some());
    let results = |part| Results::new(counted.clone(), part);
    let parts = match workload.parts.len() {
        0 | 1 => Vec::new(),
        many => (0..many as u16).map(|part| levels(&results(part))).collect(),
    };
    let disturbed = (!disturbed.is_empty()).then(|| Disturbed {
        trials: disturbed.len(),
        levels: levels(&Results::new(disturbed, headline)),
        apart,
    });
    CellFindings {
        cell,
        complete: count(|o| matches!(o, Outcome::Complete)),
        failed: count(|o| matches!(o, Outcome::Failed { .. })),
        stopped: count(|o| matches!(o, Outcome::Stopped)),
        void: count(Outcome::is_void),
        levels: levels(&results(headline)),
        over_all_time: stalls::over_all_time(&results(headline), is_open_loop),
        disturbed,
        parts,
        whole: whole(&counted, rules),
        points: points(&counted, rules),
    }
}

/// One figure of the first part of a cell, averaged as published designs average it: arithmetically, with its interval.
/// `None` without values.
pub fn arithmetic_level(study: &Study, cell: Cell, metric: Metric) -> Option<Level> {
    let values = Gathered::new(study).results(cell, 0).values(metric);
    Rules::new(study).arithmetic(&values)
}

/// The figures of the whole workload.
fn whole(trials: &[&Trial], rules: &Rules) -> Levels {
    let mut values: BTreeMap<Metric, Vec<f64>> = BTreeMap::new();
    for (metric, value) in trials.iter().flat_map(|trial| &trial.result.whole) {
        values.entry(*metric).or_default().extend(value.is_finite().then_some(*value));
    }
    let level = |(metric, values): (Metric, Vec<f64>)| {
        Some((metric, Level::new(&values, |v| rules.interval(v))?))
    };
    values.into_iter().filter_map(level).collect()
}

/// The first part's figures at each value that trials stepped through.
fn points(trials: &[&Trial], rules: &Rules) -> Vec<(f64, Levels)> {
    let mut values: BTreeMap<u64, BTreeMap<Metric, Vec<f64>>> = BTreeMap::new();
    for point in trials.iter().flat_map(|trial| &trial.points) {
        // Finite values that are not negative are in the order of their bits.
        let known = point.at.is_finite() && point.at >= 0.0;
        for (metric, value) in
            point.parts.first().filter(|_| known).iter().flat_map(|p| &p.quantities)
        {
            let of_point = values.entry(point.at.abs().to_bits()).or_default();
            of_point.entry(*metric).or_default().extend(value.is_finite().then_some(*value));
        }
    }
    let level = |(metric, values): (Metric, Vec<f64>)| {
        Some((metric, Level::new(&values, |v| rules.interval(v))?))
    };
    let levels = |of: BTreeMap<Metric, Vec<f64>>| of.into_iter().filter_map(level).collect();
    values.into_iter().map(|(at, of)| (f64::from_bits(at), levels(of))).collect()
}

/// Seconds from the start of one trial to that of the next, on average. Before there are two: of timed work the length
/// that is planned, of work that ends when it is done the time that it was measured for.
pub fn seconds_per_trial(study: &Study) -> f64 {
    let starts = || study.trials.iter().map(|trial| trial.started_seconds);
    let span = starts().fold(f64::NEG_INFINITY, f64::max) - starts().fold(f64::INFINITY, f64::min);
    let mean = span / study.trials.len().saturating_sub(1) as f64;
    if mean.is_finite() && mean > 0.0 {
        return mean;
    }
    let planned = |workload: &Workload| match workload.length {
        Length::For { .. } => Some(workload.trial_seconds()),
        // The time that it may take at most tells nothing of the time that it takes.
        Length::UntilDone { .. } => None,
    };
    if study.trials.is_empty() {
        return study.plan.workloads.iter().filter_map(planned).fold(0.0, f64::max);
    }
    let seconds = |trial: &Trial| {
        let planned = study.plan.workload(trial.cell).and_then(planned);
        planned.unwrap_or_else(|| measured_seconds(trial))
    };
    study.trials.iter().map(seconds).fold(0.0, f64::max)
}

/// Seconds that a trial was measured for, however it ended; 0 if nothing of it was.
fn measured_seconds(trial: &Trial) -> f64 {
    let of_part = |part: &PartResult| {
        let elapsed = part.quantities.get(&Metric::all(Measure::ELAPSED)).copied();
        elapsed.unwrap_or(part.series.len() as f64 * part.series.window_seconds)
    };
    let of_parts = |parts: &[PartResult]| parts.iter().map(of_part).fold(0.0, f64::max);
    let seconds = match trial.points.is_empty() {
        true => of_parts(&trial.result.parts),
        false => trial.points.iter().map(|point| of_parts(&point.parts)).sum(),
    };
    let watched = trial.loads.iter().map(|load| load.seconds);
    Some(watched.fold(seconds, f64::max)).filter(|seconds| seconds.is_finite()).unwrap_or(0.0)
}
