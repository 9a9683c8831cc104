//! Where a figure belongs in a study, and which figures are compared.

use crate::{Metric, Plan, factor};
use serde::{Deserialize, Serialize};

/// Subject, workload and setting: indices in the plan.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Cell {
    /// Of the subject.
    pub subject: u16,
    /// Of the workload.
    pub workload: u16,
    /// Of the setting of all factors (see [`factor::levels`]).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub setting: u16,
}

fn is_zero(value: &u16) -> bool {
    *value == 0
}

impl Cell {
    /// The cell of these indices; no study has more of any than 65,535.
    pub fn new(subject: usize, workload: usize, setting: usize) -> Cell {
        let index = |index: usize| u16::try_from(index).unwrap_or(u16::MAX);
        Cell { subject: index(subject), workload: index(workload), setting: index(setting) }
    }
}

/// One figure of each trial of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Measurand {
    /// Which trials.
    #[serde(flatten)]
    pub cell: Cell,
    /// Index of the part's result.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub part: u16,
    /// Which figure.
    pub metric: Metric,
}

/// Two figures that are compared, block by block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contrast {
    /// The numerator.
    pub of: Measurand,
    /// The denominator: the baseline.
    pub against: Measurand,
    /// Whether a verdict is given. All claims of a study share its confidence.
    pub claim: bool,
}

/// Most comparisons that a plan gets by default.
const MOST_CONTRASTS: usize = 1 << 16;

impl Contrast {
    /// Every subject against the first, and every setting against the first of its subject, under
    /// every workload, by its headline. None where a plan has so many of all that it was made to have them.
    pub fn against_first(plan: &Plan) -> Vec<Contrast> {
        let mut contrasts = Vec::new();
        let settings = factor::settings(&plan.factors);
        let all = plan.subjects.len().saturating_mul(plan.workloads.len()).saturating_mul(settings);
        if all > MOST_CONTRASTS {
            return contrasts;
        }
        for (workload, what) in plan.workloads.iter().enumerate() {
            let Some(main) = what.main() else { continue };
            let (metric, part) = (main.headline(), what.headline_part());
            let measurand = |subject: usize, setting: usize| Measurand {
                cell: Cell::new(subject, workload, setting),
                part,
                metric,
            };
            let kind = main.job.subject();
            let subjects = || {
                let numbered = plan.subjects.iter().enumerate();
                numbered.filter(move |(_, subject)| subject.kind() == kind).map(|(i, _)| i)
            };
            let Some(first) = subjects().next() else { continue };
            for setting in 0..settings {
                for subject in subjects().filter(|subject| (*subject, setting) != (first, 0)) {
                    let baseline = if setting == 0 { first } else { subject };
                    let (of, against) = (measurand(subject, setting), measurand(baseline, 0));
                    contrasts.push(Contrast { of, against, claim: true });
                }
            }
        }
        contrasts
    }
}
