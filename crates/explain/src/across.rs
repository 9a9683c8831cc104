//! Two studies against each other. They were measured at different times, so nothing is paired and
//! whatever changed between them is in the difference.

use crate::gather::{self, Gathered};
use crate::pair::{Claim, Ratio, THROUGHPUT};
use plimsoll_model::{Metric, Pattern, Study, Trial, Workload};
use plimsoll_stats::family::adjusted_confidence;
use plimsoll_stats::fieller;
use plimsoll_stats::verdict::Verdict;
use plimsoll_stats::welch;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

/// Study B against study A.
#[derive(Clone, Debug, PartialEq)]
pub struct Across {
    /// What was measured in both, target by target.
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
    /// Ratio B/A of every metric that both have, by Welch, or for CPU time by Fieller, each at A's confidence by itself.
    pub ratios: BTreeMap<Metric, Ratio>,
    /// The verdict on throughput, at a confidence shared by all counterparts.
    pub claim: Option<Claim>,
}

/// Compares what both studies measured: targets that were given alike (where none were: that stand
/// at the same position), under the same workload (where it has none: the only one with the same
/// pattern). Margin and confidence are those of A.
pub fn across(a: &Study, b: &Study) -> Across {
    let (gathered_a, gathered_b) = (Gathered::new(a), Gathered::new(b));
    let partners: HashMap<usize, usize> = target_pairs(a, b).into_iter().collect();
    let workloads = workload_pairs(a, b);
    let mut matched = Vec::new();
    for (workload_a, workload_b) in &workloads {
        let measured: HashSet<usize> = gathered_b.targets(workload_b).iter().copied().collect();
        for target_a in gathered_a.targets(workload_a) {
            if let Some(target_b) = partners.get(target_a).filter(|t| measured.contains(t)) {
                matched.push(((*target_a, workload_a), (*target_b, workload_b)));
            }
        }
    }
    // Target by target, as a reader looks for them.
    matched.sort_by_key(|((target, _), _)| *target);
    // What another tool ran once, in an unknown order, has no interval.
    let imported = gather::is_imported(a) || gather::is_imported(b);
    let family = adjusted_confidence(a.plan.confidence, matched.len()).unwrap_or(f64::NAN);
    let unmatched = |study: &Study, gathered: &Gathered<'_>, taken: HashSet<(usize, &Workload)>| {
        let mut cells: Vec<(usize, Workload)> = gather::workloads(study)
            .iter()
            .flat_map(|w| gathered.targets(w).iter().map(move |t| (*t, w.clone())))
            .filter(|(target, workload)| !taken.contains(&(*target, workload)))
            .collect();
        cells.sort_by_key(|cell| cell.0);
        cells
    };
    let counterpart = |&((target_a, workload_a), (target_b, workload_b)): &Matched<'_>| {
        let trials_a = gathered_a.complete(target_a, workload_a);
        let trials_b = gathered_b.complete(target_b, workload_b);
        let ratio = |metric, confidence| match imported {
            true => Ratio::of_runs(&trials_a, &trials_b, metric),
            false if metric.measure.is_cpu() => costs(
                gather::values(&trials_a, metric),
                gather::values(&trials_b, metric),
                confidence,
            ),
            false => ratio(logs(&trials_a, metric), logs(&trials_b, metric), confidence),
        };
        let metrics = gather::metrics(trials_a.iter().copied()).into_iter();
        let ratios = metrics.filter_map(|m| Some((m, ratio(m, a.plan.confidence)?))).collect();
        let claim = ratio(THROUGHPUT, family).map(|ratio| Claim {
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
            ratios,
            claim,
        }
    };
    Across {
        only_a: unmatched(a, &gathered_a, matched.iter().map(|m| m.0).collect()),
        only_b: unmatched(b, &gathered_b, matched.iter().map(|m| m.1).collect()),
        counterparts: matched.iter().map(counterpart).collect(),
    }
}

/// A cell of A and the one of B that corresponds to it.
type Matched<'a> = ((usize, &'a Workload), (usize, &'a Workload));

fn logs(trials: &[&Trial], metric: Metric) -> Vec<f64> {
    let values = gather::values(trials, metric).into_iter();
    values.map(f64::ln).filter(|v| v.is_finite()).collect()
}

fn ratio(a: Vec<f64>, b: Vec<f64>, confidence: f64) -> Option<Ratio> {
    let mean = |logs: &[f64]| plimsoll_stats::interval::mean(logs);
    let difference = mean(&b)? - mean(&a)?;
    let ratio = Ratio::new(&[difference], welch::ratio_interval(&a, &b, confidence))?;
    Some(Ratio { blocks: a.len() + b.len(), ..ratio })
}

fn costs(a: Vec<f64>, b: Vec<f64>, confidence: f64) -> Option<Ratio> {
    let quotient = fieller::independent(&a, &b, confidence);
    let ratio = Ratio::of_costs((&a, &b), quotient, confidence)?;
    Some(Ratio { blocks: a.len() + b.len(), ..ratio })
}

/// Indices of the targets that correspond to each other.
fn target_pairs(a: &Study, b: &Study) -> Vec<(usize, usize)> {
    let given = |study: &Study, i: usize| match study.targets.get(i) {
        Some(facts) => Some(facts.given.clone()),
        None => study.plan.targets.get(i).map(ToString::to_string),
    };
    let (in_a, in_b) = (gather::targets(a), gather::targets(b));
    let mut free: HashMap<Option<String>, VecDeque<usize>> = HashMap::new();
    (0..in_b).for_each(|j| free.entry(given(b, j)).or_default().push_back(j));
    // Each only once: a target may be given twice, as a check of the noise.
    let same = |i: usize| Some((i, free.get_mut(&given(a, i))?.pop_front()?));
    let pairs: Vec<(usize, usize)> = (0..in_a).filter_map(same).collect();
    if pairs.is_empty() { (0..in_a.min(in_b)).map(|i| (i, i)).collect() } else { pairs }
}

/// The workloads that correspond to each other.
fn workload_pairs(a: &Study, b: &Study) -> Vec<(Workload, Workload)> {
    let (in_a, in_b) = (gather::workloads(a), gather::workloads(b));
    let known: HashSet<&Workload> = in_b.iter().collect();
    let mut of_pattern: BTreeMap<Pattern, (Vec<&Workload>, Vec<&Workload>)> = BTreeMap::new();
    in_a.iter().for_each(|w| of_pattern.entry(w.pattern).or_default().0.push(w));
    in_b.iter().for_each(|w| of_pattern.entry(w.pattern).or_default().1.push(w));
    let counterpart = |w: &Workload| {
        if known.contains(w) {
            return Some(w.clone());
        }
        match of_pattern.get(&w.pattern) {
            Some((of_a, of_b)) if of_a.len() == 1 && of_b.len() == 1 => Some(of_b[0].clone()),
            _ => None,
        }
    };
    in_a.iter().filter_map(|w| Some((w.clone(), counterpart(w)?))).collect()
}
