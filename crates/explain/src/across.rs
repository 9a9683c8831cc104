//! Two studies against each other. They were measured at different times, so nothing is paired and
//! whatever changed between them is in the difference.

use crate::gather::{self, Gathered};
use crate::pair::{Claim, Ratio, THROUGHPUT};
use model::{Metric, Study, Workload};
use stats::family::adjusted_confidence;
use stats::verdict::Verdict;
use stats::welch;
use std::collections::BTreeMap;

/// Study B against study A.
#[derive(Clone, Debug, PartialEq)]
pub struct Across {
    /// What was measured in both.
    pub counterparts: Vec<Counterpart>,
    /// Cells of A (target, workload) without a counterpart.
    pub only_a: Vec<(usize, Workload)>,
    /// Cells of B without a counterpart.
    pub only_b: Vec<(usize, Workload)>,
}

/// One cell of A and the one of B that corresponds to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Counterpart {
    /// Index of the target in A.
    pub target_a: usize,
    /// Index of the target in B.
    pub target_b: usize,
    /// The workload in A.
    pub workload_a: Workload,
    /// The workload in B: the same pattern, perhaps with other settings.
    pub workload_b: Workload,
    /// Complete trials in A and in B.
    pub trials: (usize, usize),
    /// Ratio B/A of every metric that both have, by Welch, each at A's confidence by itself.
    pub ratios: BTreeMap<Metric, Ratio>,
    /// The verdict on throughput, at a confidence shared by all counterparts.
    pub claim: Option<Claim>,
}

/// Compares what both studies measured: targets that were given alike (where none were: that stand
/// at the same position), under the same workload (where it has none: the only one with the same
/// pattern). Margin and confidence are those of A.
pub fn across(a: &Study, b: &Study) -> Across {
    let (gathered_a, gathered_b) = (Gathered::new(a), Gathered::new(b));
    let workloads = workload_pairs(a, b);
    let mut matched = Vec::new();
    for (target_a, target_b) in target_pairs(a, b) {
        for (workload_a, workload_b) in &workloads {
            matched.push(((target_a, workload_a), (target_b, workload_b)));
        }
    }
    let family = adjusted_confidence(a.plan.confidence, matched.len()).unwrap_or(f64::NAN);
    let unmatched = |study: &Study, is_matched: &dyn Fn(usize, &Workload) -> bool| {
        let all = gather::workloads(study);
        let cells = (0..gather::targets(study)).flat_map(|t| all.iter().map(move |w| (t, w)));
        cells.filter(|(t, w)| !is_matched(*t, w)).map(|(t, w)| (t, w.clone())).collect()
    };
    Across {
        only_a: unmatched(a, &|t, w| matched.iter().any(|m| m.0 == (t, w))),
        only_b: unmatched(b, &|t, w| matched.iter().any(|m| m.1 == (t, w))),
        counterparts: matched
            .iter()
            .map(|&((target_a, workload_a), (target_b, workload_b))| {
                let trials_a = gathered_a.complete(target_a, workload_a);
                let trials_b = gathered_b.complete(target_b, workload_b);
                let logs = |metric| {
                    let logs = |trials| {
                        let values = gather::values(trials, metric).into_iter();
                        values.map(f64::ln).filter(|v| v.is_finite()).collect::<Vec<_>>()
                    };
                    (logs(&trials_a), logs(&trials_b))
                };
                let metrics = gather::metrics(trials_a.iter().copied()).into_iter();
                let ratios = metrics
                    .filter_map(|metric| Some((metric, ratio(logs(metric), a.plan.confidence)?)));
                let claim = ratio(logs(THROUGHPUT), family).map(|ratio| Claim {
                    ratio,
                    verdict: ratio.interval.and_then(|i| Verdict::on(i, a.plan.margin)),
                    sign_flip_p: None,
                    more_blocks: None,
                });
                Counterpart {
                    target_a,
                    target_b,
                    workload_a: workload_a.clone(),
                    workload_b: workload_b.clone(),
                    trials: (trials_a.len(), trials_b.len()),
                    ratios: ratios.collect(),
                    claim,
                }
            })
            .collect(),
    }
}

fn ratio((a, b): (Vec<f64>, Vec<f64>), confidence: f64) -> Option<Ratio> {
    let mean = |logs: &[f64]| stats::interval::mean(logs);
    let difference = mean(&b)? - mean(&a)?;
    let ratio = Ratio::new(&[difference], welch::ratio_interval(&a, &b, confidence))?;
    Some(Ratio { blocks: a.len() + b.len(), ..ratio })
}

/// Indices of the targets that correspond to each other.
fn target_pairs(a: &Study, b: &Study) -> Vec<(usize, usize)> {
    let given = |study: &Study, i: usize| match study.targets.get(i) {
        Some(facts) => Some(facts.given.clone()),
        None => study.plan.targets.get(i).map(ToString::to_string),
    };
    let (in_a, in_b) = (gather::targets(a), gather::targets(b));
    let mut free: Vec<usize> = (0..in_b).collect();
    let mut pairs = Vec::new();
    for i in 0..in_a {
        let wanted = given(a, i);
        // Each only once: a target may be given twice, as a check of the noise.
        if let Some(at) = free.iter().position(|j| given(b, *j) == wanted) {
            pairs.push((i, free.remove(at)));
        }
    }
    if pairs.is_empty() { (0..in_a.min(in_b)).map(|i| (i, i)).collect() } else { pairs }
}

/// The workloads that correspond to each other.
fn workload_pairs(a: &Study, b: &Study) -> Vec<(Workload, Workload)> {
    let (in_a, in_b) = (gather::workloads(a), gather::workloads(b));
    let only_with_pattern = |all: &[Workload], w: &Workload| {
        let mut same = all.iter().filter(|other| other.pattern == w.pattern);
        same.next().filter(|_| same.next().is_none()).cloned()
    };
    let counterpart = |w: &Workload| {
        if in_b.contains(w) {
            return Some(w.clone());
        }
        only_with_pattern(&in_a, w)?;
        only_with_pattern(&in_b, w)
    };
    in_a.iter().filter_map(|w| Some((w.clone(), counterpart(w)?))).collect()
}
