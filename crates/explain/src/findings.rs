//! Everything a study says, cell by cell.

use crate::gather::{self, Gathered};
use crate::hosts::{self, HostFindings};
use crate::pair::{Reckoning, THROUGHPUT};
use crate::{Level, Pair};
use plimsoll_model::{Metric, Outcome, Rule, Study, Workload};
use std::collections::BTreeMap;

/// What a study says.
#[derive(Clone, Debug, PartialEq)]
pub struct Findings {
    /// A part per workload: those of the plan in its order, then others that have trials.
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
    /// Which.
    pub workload: Workload,
    /// Every target that has trials, in the plan's order.
    pub targets: Vec<TargetFindings>,
    /// Each of them after the first target, against the first.
    pub pairs: Vec<Pair>,
}

/// What a study says about one target under one workload.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetFindings {
    /// Index of the target.
    pub target: usize,
    /// Trials that ran to their end.
    pub complete: usize,
    /// Trials that failed.
    pub failed: usize,
    /// Trials that were stopped.
    pub stopped: usize,
    /// Every metric that was measured. Intervals hold each by itself, at the plan's confidence.
    pub levels: BTreeMap<Metric, Level>,
}

/// What the study says, reckoned from its plan and its complete trials. The same study always
/// gives the same findings.
pub fn findings(study: &Study) -> Findings {
    let gathered = Gathered::new(study);
    let targets = gather::targets(study);
    let reckoning = Reckoning::new(study, targets);
    // Cells without trials have nothing to say, and a damaged record may name very many.
    let of_workload = |workload: Workload| {
        let measured = gathered.targets(&workload);
        WorkloadFindings {
            targets: measured
                .iter()
                .map(|target| of_target(&gathered, *target, targets, &workload, &reckoning))
                .collect(),
            pairs: measured
                .iter()
                .filter(|target| **target > 0)
                .map(|target| Pair::new(&gathered, (0, *target), &workload, &reckoning))
                .collect(),
            workload,
        }
    };
    let workloads = gather::workloads(study);
    Findings {
        hosts: hosts::hosts(study, &gathered, &workloads),
        workloads: workloads.into_iter().map(of_workload).collect(),
        fixed_repeats: !reckoning.imported && matches!(study.plan.rule, Rule::Fixed { .. }),
        imported: reckoning.imported,
        seconds_per_trial: seconds_per_trial(study),
    }
}

fn of_target(
    gathered: &Gathered<'_>,
    target: usize,
    targets: usize,
    workload: &Workload,
    reckoning: &Reckoning,
) -> TargetFindings {
    let complete = gathered.complete(target, workload);
    let count = |kind: fn(&Outcome) -> bool| {
        gathered.trials(target, workload).iter().filter(|t| kind(&t.result.outcome)).count()
    };
    let level = |metric: Metric| {
        let values = gather::values(&complete, metric);
        // With one target there is nothing to compare: the stop rule looks at the level itself.
        if reckoning.imported {
            Level::new(&values, |_| None)
        } else if targets == 1 && metric == THROUGHPUT {
            Level::new(&values, |v| reckoning.family_interval(v))
        } else {
            Level::plain(&values, reckoning.confidence)
        }
    };
    let metrics = gather::metrics(complete.iter().copied());
    TargetFindings {
        target,
        complete: complete.len(),
        failed: count(|o| matches!(o, Outcome::Failed { .. })),
        stopped: count(|o| matches!(o, Outcome::Stopped)),
        levels: metrics.into_iter().filter_map(|m| Some((m, level(m)?))).collect(),
    }
}

fn seconds_per_trial(study: &Study) -> f64 {
    let starts = || study.trials.iter().map(|trial| trial.started_seconds);
    let span = starts().fold(f64::NEG_INFINITY, f64::max) - starts().fold(f64::INFINITY, f64::min);
    let mean = span / study.trials.len().saturating_sub(1) as f64;
    if mean.is_finite() && mean > 0.0 { mean } else { study.plan.trial_seconds }
}
