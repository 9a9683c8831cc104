//! Figures of trials that are kept in rows, so that many studies can be read at once.

use crate::{Cell, Metric, Outcome, Plan, Study, Trial};

/// Figure of a complete trial: the metric of the verdicts of its workload, or its speed.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Number of the trial in the study.
    pub trial: u32,
    /// Block of the trial; `None` for imports that have no blocks.
    pub block: Option<u32>,
    /// Subject, workload and setting.
    pub cell: Cell,
    /// Metric, of the part that verdicts are about.
    pub metric: Metric,
    /// Value in the unit of the metric.
    pub value: f64,
    /// Whether others used a host during the trial.
    pub is_disturbed: bool,
}

impl Figure {
    /// Figures of a trial; none if it is not complete.
    pub fn of_trial(plan: &Plan, trial: &Trial) -> Vec<Figure> {
        let workload = plan.workload(trial.cell);
        let (Outcome::Complete, Some(workload)) = (&trial.result.outcome, workload) else {
            return Vec::new();
        };
        let Some(main) = workload.main() else { return Vec::new() };
        let mut metrics = vec![main.headline(), Metric::all(main.job.speed())];
        metrics.dedup();
        let figure = |metric: Metric| {
            let value = trial.result.value(workload.headline_part(), metric)?;
            value.is_finite().then_some(Figure {
                trial: trial.number,
                block: trial.block,
                cell: trial.cell,
                metric,
                value,
                is_disturbed: trial.is_disturbed(),
            })
        };
        metrics.into_iter().filter_map(figure).collect()
    }
}

/// Study without its trials, and the figures of its trials.
#[derive(Clone, Debug, PartialEq)]
pub struct PastStudy {
    /// The study; its trials are left out.
    pub study: Study,
    /// Figures, in the order of the trials.
    pub figures: Vec<Figure>,
}

impl PastStudy {
    /// A whole study.
    pub fn new(study: &Study) -> PastStudy {
        let figures = study.trials.iter().flat_map(|trial| Figure::of_trial(&study.plan, trial));
        let figures = figures.collect();
        PastStudy { study: study.without_trials(), figures }
    }
}
