//! Two studies against each other. They were measured at different times, so nothing is paired and
//! whatever changed between them is in the difference. Only equal work is compared.

use crate::changes::Change;
use crate::gather::{self, Gathered, Results};
use crate::pair::{self, Claim, Ratio};
use crate::work;
use plimsoll_model::{Cell, Metric, Study, Workload, factor};
use plimsoll_stats::family::adjusted_confidence;
use plimsoll_stats::fieller;
use plimsoll_stats::interval::Interval;
use plimsoll_stats::verdict::Verdict;
use plimsoll_stats::welch;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

/// Study B against study A.
#[derive(Clone, Debug, PartialEq)]
pub struct Across {
    /// What was measured in both, subject by subject.
    pub counterparts: Vec<Counterpart>,
    /// What corresponds to each other and is other work: it is not compared.
    pub unequal: Vec<Unequal>,
    /// Cells of A without a counterpart.
    pub only_a: Vec<Cell>,
    /// Cells of B without a counterpart.
    pub only_b: Vec<Cell>,
}

/// Two cells that correspond to each other but for settings of the work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unequal {
    /// The cell of A.
    pub a: Cell,
    /// The cell of B: a workload of the same kind.
    pub b: Cell,
    /// Every setting that differs; at least one.
    pub differences: Vec<Change>,
}

/// One cell of A and the one of B that corresponds to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Counterpart {
    /// The cell of A.
    pub a: Cell,
    /// The cell of B: the same work.
    pub b: Cell,
    /// Protocol and clients, where they differ: nothing of the work, but no trend goes on across them.
    pub conditions: Vec<Change>,
    /// Trials in A and in B that the figures are of.
    pub trials: (usize, usize),
    /// Ratio B/A of every metric that both have, by Welch, or for CPU time by Fieller, each at A's
    /// confidence by itself.
    pub ratios: BTreeMap<Metric, Ratio>,
    /// The verdict on the headline of A's workload, at a confidence shared by all counterparts.
    pub claim: Option<Claim>,
}

/// Compares what both studies measured: subjects that were given alike (where none were: that stand
/// at the same position), under the same workload, and under settings of the same levels. Workloads that are
/// the only ones of a kind correspond, too, but are compared only if their work is the same. Margin and
/// confidence are those of A.
pub fn across(a: &Study, b: &Study) -> Across {
    let (gathered_a, gathered_b) = (Gathered::new(a), Gathered::new(b));
    let subjects: HashMap<u16, u16> = subject_pairs(a, b).into_iter().collect();
    let workloads = workload_pairs(a, b);
    let settings: HashMap<u16, u16> = setting_pairs(a, b);
    let mut matched: Vec<(Cell, Cell)> = Vec::new();
    for (in_a, in_b) in &workloads {
        let measured: HashSet<Cell> = gathered_b.cells(*in_b).into_iter().collect();
        for cell in gathered_a.cells(*in_a) {
            let partner = subjects.get(&cell.subject).zip(settings.get(&cell.setting));
            let partner = partner.map(|(subject, setting)| Cell {
                subject: *subject,
                workload: *in_b,
                setting: *setting,
            });
            matched.extend(partner.filter(|c| measured.contains(c)).map(|c| (cell, c)));
        }
    }
    // Subject by subject, as a reader looks for them.
    matched.sort_by_key(|(cell, _)| cell.subject);
    let (mut equal, mut unequal) = (Vec::new(), Vec::new());
    for (in_a, in_b) in &matched {
        match work::differences(a, *in_a, b, *in_b) {
            none if none.is_empty() => equal.push((*in_a, *in_b)),
            differences => unequal.push(Unequal { a: *in_a, b: *in_b, differences }),
        }
    }
    // What another tool ran once, in an unknown order, has no interval.
    let imported = gather::is_imported(a) || gather::is_imported(b);
    let confidence = a.plan.design.confidence;
    let family = adjusted_confidence(confidence, equal.len()).unwrap_or(f64::NAN);
    let unmatched = |study: &Study, gathered: &Gathered<'_>, taken: HashSet<Cell>| {
        let workloads = (0..).zip(&study.plan.workloads).map(|(number, _)| number);
        let mut cells: Vec<Cell> = workloads.flat_map(|w| gathered.cells(w)).collect();
        cells.retain(|cell| !taken.contains(cell));
        cells.sort_by_key(|cell| cell.subject);
        cells
    };
    let counterpart = |&(cell_a, cell_b): &(Cell, Cell)| {
        let part =
            |study: &Study, cell| study.plan.workload(cell).map_or(0, Workload::headline_part);
        let in_a = gathered_a.results(cell_a, part(a, cell_a));
        let in_b = gathered_b.results(cell_b, part(b, cell_b));
        let ratio = |metric: Metric, confidence| match imported {
            true => Ratio::of_runs(&in_a, &in_b, metric),
            false if metric.measure.is_cpu() => costs(&in_a, &in_b, metric, confidence),
            false => of_logs(in_a.logs(metric), in_b.logs(metric), confidence),
        };
        let metrics = in_a.metrics().into_iter();
        let ratios = metrics.filter_map(|m| Some((m, ratio(m, confidence)?))).collect();
        let headline = a.plan.workload(cell_a).and_then(Workload::main).map(|p| p.headline());
        let is_telling = |interval: &Interval| pair::is_telling(&in_a, &in_b, *interval);
        let claim = headline.and_then(|metric| ratio(metric, family)).map(|ratio| Claim {
            ratio,
            verdict: ratio
                .interval
                .filter(is_telling)
                .and_then(|i| Verdict::on(i, a.plan.design.margin)),
            is_bound: ratio.interval.is_some_and(|interval| !is_telling(&interval)),
            sign_flip_p: None,
            correlation: None,
            far: 0,
            more_blocks: None,
        });
        let conditions = work::conditions(a, cell_a, b, cell_b);
        let trials = (in_a.len(), in_b.len());
        Counterpart { a: cell_a, b: cell_b, conditions, trials, ratios, claim }
    };
    Across {
        only_a: unmatched(a, &gathered_a, matched.iter().map(|m| m.0).collect()),
        only_b: unmatched(b, &gathered_b, matched.iter().map(|m| m.1).collect()),
        counterparts: equal.iter().map(counterpart).collect(),
        unequal,
    }
}

fn of_logs(a: Vec<f64>, b: Vec<f64>, confidence: f64) -> Option<Ratio> {
    let mean = |logs: &[f64]| plimsoll_stats::interval::mean(logs);
    let difference = mean(&b)? - mean(&a)?;
    let ratio = Ratio::new(&[difference], welch::ratio_interval(&a, &b, confidence))?;
    Some(Ratio { blocks: a.len() + b.len(), seen: None, ..ratio })
}

fn costs(a: &Results<'_>, b: &Results<'_>, metric: Metric, confidence: f64) -> Option<Ratio> {
    let (a, b) = (a.values(metric), b.values(metric));
    let quotient = fieller::independent(&a, &b, confidence);
    let ratio = Ratio::of_costs(&a, &b, quotient, confidence)?;
    Some(Ratio { blocks: a.len() + b.len(), ..ratio })
}

/// Cell of B with the same work as a cell of A, as both are planned: none of their trials is needed.
pub(crate) fn planned_counterpart(a: &Study, cell: Cell, b: &Study) -> Option<Cell> {
    let partner = |pairs: Vec<(u16, u16)>, own: u16| {
        pairs.into_iter().find_map(|(in_a, in_b)| (in_a == own).then_some(in_b))
    };
    let other = Cell {
        subject: partner(subject_pairs(a, b), cell.subject)?,
        workload: partner(workload_pairs(a, b), cell.workload)?,
        setting: *setting_pairs(a, b).get(&cell.setting)?,
    };
    work::differences(a, cell, b, other).is_empty().then_some(other)
}

/// Indices of the subjects that correspond to each other.
pub(crate) fn subject_pairs(a: &Study, b: &Study) -> Vec<(u16, u16)> {
    let given = |study: &Study, i: usize| match study.subjects.get(i) {
        Some(facts) => Some(facts.given().to_owned()),
        None => study.plan.subjects.get(i).map(ToString::to_string),
    };
    let count = |study| gather::subjects(study).min(usize::from(u16::MAX)) as u16;
    let (in_a, in_b) = (count(a), count(b));
    let mut free: HashMap<Option<String>, VecDeque<u16>> = HashMap::new();
    (0..in_b).for_each(|j| free.entry(given(b, j.into())).or_default().push_back(j));
    // Each only once: a subject may be given twice, as a check of the noise.
    let same = |i: u16| Some((i, free.get_mut(&given(a, i.into()))?.pop_front()?));
    let pairs: Vec<(u16, u16)> = (0..in_a).filter_map(same).collect();
    if pairs.is_empty() { (0..in_a.min(in_b)).map(|i| (i, i)).collect() } else { pairs }
}

/// The workloads that correspond to each other: the same, or the only ones of a kind.
fn workload_pairs(a: &Study, b: &Study) -> Vec<(u16, u16)> {
    let kind = |w: &Workload| w.main().map(|part| part.job.kind());
    let mut of_kind = HashMap::<_, (Vec<u16>, Vec<u16>)>::new();
    for (number, workload) in (0..).zip(&a.plan.workloads) {
        of_kind.entry(kind(workload)).or_default().0.push(number);
    }
    for (number, workload) in (0..).zip(&b.plan.workloads) {
        of_kind.entry(kind(workload)).or_default().1.push(number);
    }
    let counterpart = |(number, workload): (u16, &Workload)| {
        let mut numbered = (0..).zip(&b.plan.workloads);
        if let Some((same, _)) = numbered.find(|(_, other)| workload.is_same_work(other)) {
            return Some((number, same));
        }
        match of_kind.get(&kind(workload)) {
            Some((of_a, of_b)) if of_a.len() == 1 && of_b.len() == 1 => Some((number, of_b[0])),
            _ => None,
        }
    };
    (0..).zip(&a.plan.workloads).filter_map(counterpart).collect()
}

/// The settings that correspond to each other: those with the same levels of the same factors.
fn setting_pairs(a: &Study, b: &Study) -> HashMap<u16, u16> {
    let named = |study: &Study| -> Vec<(u16, Vec<String>)> {
        let factors = &study.plan.factors;
        let settings = factor::settings(factors).min(usize::from(u16::MAX)) as u16;
        let words = |setting| {
            let levels = factor::levels(factors, setting);
            let word = |(factor, level): (&plimsoll_model::Factor, usize)| {
                format!(
                    "{}={}",
                    factor.name,
                    factor.levels.get(level).map_or(String::new(), |l| l.to_string())
                )
            };
            factors.iter().zip(levels).map(word).collect()
        };
        (0..settings).map(|setting| (setting, words(setting))).collect()
    };
    let in_b: HashMap<Vec<String>, u16> =
        named(b).into_iter().map(|(n, words)| (words, n)).collect();
    named(a).into_iter().filter_map(|(n, words)| Some((n, *in_b.get(&words)?))).collect()
}
