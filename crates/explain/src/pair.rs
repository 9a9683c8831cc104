//! One target against the first, under one workload.

use crate::gather::{self, Gathered};
use plimsoll_model::{Measure, Metric, Rule, Study, Trial, Workload};
use plimsoll_stats::family::adjusted_confidence;
use plimsoll_stats::fieller::{self, Quotient};
use plimsoll_stats::interval::{Interval, mean, ratio_interval, t_interval};
use plimsoll_stats::sign_flip;
use plimsoll_stats::stein::Stein;
use plimsoll_stats::verdict::{Verdict, more_blocks_to_resolve};
use std::collections::BTreeMap;

/// The metric that verdicts are about.
pub(crate) const THROUGHPUT: Metric = Metric::all(Measure::Throughput);

/// A ratio B/A of one metric, without a claim.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// Values it is from: blocks, or trials of both sides.
    pub blocks: usize,
    /// Geometric mean of the blocks' ratios; of CPU time, the ratio of its means.
    pub estimate: f64,
    /// Its interval at the plan's confidence; `None` below two blocks, and where it has no ends.
    pub interval: Option<Interval>,
    /// Of CPU time: whether the mean of A, or of B, cannot be told from zero. Then the numbers say
    /// nothing that is worth showing.
    pub zero: (bool, bool),
}

impl Ratio {
    /// The ratio of two means of CPU time, with Fieller's interval where there is one.
    pub(crate) fn of_costs(
        (a, b): (&[f64], &[f64]),
        quotient: Option<Quotient>,
        confidence: f64,
    ) -> Option<Ratio> {
        let zero = |values: &[f64]| match t_interval(values, confidence) {
            Some(interval) => Some(interval.low <= 0.0),
            None => Some(mean(values)? <= 0.0),
        };
        let interval = match quotient {
            Some(Quotient::Bounded(interval)) => Some(interval),
            Some(Quotient::Unbounded) | None => None,
        };
        let (estimate, zero) = (mean(b)? / mean(a)?, (zero(a)?, zero(b)?));
        Some(Ratio { blocks: a.len(), estimate, interval, zero })
    }

    pub(crate) fn new(log_ratios: &[f64], interval: Option<Interval>) -> Option<Ratio> {
        let estimate = mean(log_ratios)?.exp();
        let usable = estimate.is_finite() && estimate > 0.0;
        let zero = (false, false);
        usable.then_some(Ratio { blocks: log_ratios.len(), estimate, interval, zero })
    }

    /// B's mean over A's, of runs that are not paired, without an interval.
    pub(crate) fn of_runs(a: &[&Trial], b: &[&Trial], metric: Metric) -> Option<Ratio> {
        if metric.measure.is_cpu() {
            let (a, b) = (gather::values(a, metric), gather::values(b, metric));
            let ratio = Ratio::of_costs((&a, &b), None, f64::NAN)?;
            return Some(Ratio { blocks: a.len() + b.len(), ..ratio });
        }
        let logs = |runs| -> Vec<f64> {
            let values = gather::values(runs, metric).into_iter();
            values.map(f64::ln).filter(|v| v.is_finite()).collect()
        };
        let (a, b) = (logs(a), logs(b));
        let ratio = Ratio::new(&[mean(&b)? - mean(&a)?], None)?;
        Some(Ratio { blocks: a.len() + b.len(), ..ratio })
    }
}

/// What is claimed about throughput.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    /// The ratio B/A; its interval holds simultaneously with those of the family.
    pub ratio: Ratio,
    /// The verdict; `None` without an interval.
    pub verdict: Option<Verdict>,
    /// Two-sided p-value of the sign-flip test, the cross-check; `None` between studies.
    pub sign_flip_p: Option<f64>,
    /// Where it is not resolved: about how many blocks more would do.
    pub more_blocks: Option<u64>,
}

/// Target B against target A under one workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// Index of target A, the baseline.
    pub a: usize,
    /// Index of target B.
    pub b: usize,
    /// Blocks in which both trials are complete.
    pub blocks: usize,
    /// Ratio B/A of every metric that both have, each at the plan's confidence by itself.
    pub ratios: BTreeMap<Metric, Ratio>,
    /// The verdict on throughput; `None` where no block has both.
    pub claim: Option<Claim>,
}

impl Pair {
    pub(crate) fn new(
        gathered: &Gathered<'_>,
        (a, b): (usize, usize),
        workload: &Workload,
        reckoning: &Reckoning,
    ) -> Pair {
        if reckoning.imported {
            return Pair::of_single_runs(gathered, (a, b), workload);
        }
        let pairs = gathered.pairs(a, b, workload);
        let trials = pairs.iter().map(|pair| pair.0);
        let ratios = gather::metrics(trials).into_iter().filter_map(|metric| {
            if metric.measure.is_cpu() {
                let (a, b) = gather::both(&pairs, metric);
                let quotient = fieller::paired(&a, &b, reckoning.confidence);
                let ratio = Ratio::of_costs((&a, &b), quotient, reckoning.confidence);
                return Some((metric, ratio?));
            }
            let logs = gather::log_ratios(&pairs, metric);
            let interval = ratio_interval(&logs, reckoning.confidence);
            Some((metric, Ratio::new(&logs, interval)?))
        });
        let ratios = ratios.collect();
        Pair { a, b, blocks: pairs.len(), ratios, claim: reckoning.claim(&pairs) }
    }

    /// Imports have no blocks: the ratio of the means of the runs, without an interval.
    fn of_single_runs(
        gathered: &Gathered<'_>,
        (a, b): (usize, usize),
        workload: &Workload,
    ) -> Pair {
        let runs = (gathered.complete(a, workload), gathered.complete(b, workload));
        let ratio = |metric| Ratio::of_runs(&runs.0, &runs.1, metric);
        let metrics = gather::metrics(runs.0.iter().copied()).into_iter();
        let ratios = metrics.filter_map(|metric| Some((metric, ratio(metric)?))).collect();
        let claim = ratio(THROUGHPUT).map(|ratio| Claim {
            ratio,
            verdict: None,
            sign_flip_p: None,
            more_blocks: None,
        });
        Pair { a, b, blocks: 0, ratios, claim }
    }
}

/// How the intervals of a study are reckoned, from its plan alone.
pub(crate) struct Reckoning {
    rule: Rule,
    margin: f64,
    seed: u64,
    /// Of a single interval.
    pub(crate) confidence: f64,
    /// Of each interval of the family.
    pub(crate) family_confidence: f64,
    /// Whether the figures are another tool's: then there are no intervals.
    pub(crate) imported: bool,
}

impl Reckoning {
    /// The family is the throughput of every workload, for every target after the first.
    pub(crate) fn new(study: &Study, targets: usize) -> Reckoning {
        let plan = &study.plan;
        let comparisons = plan.workloads.len().saturating_mul(targets.saturating_sub(1));
        Reckoning {
            imported: gather::is_imported(study),
            rule: plan.rule,
            margin: plan.margin,
            seed: plan.seed,
            confidence: plan.confidence,
            // A confidence outside (0, 1) stays what it is, and gives no intervals.
            family_confidence: adjusted_confidence(plan.confidence, comparisons)
                .unwrap_or(f64::NAN),
        }
    }

    /// The stop rule for one comparison of the family; `None` where the plan fixes the blocks.
    pub(crate) fn stein(&self) -> Option<Stein> {
        match self.rule {
            Rule::Stein { pilot, half_width } => Some(Stein {
                pilot: pilot as usize,
                half_width,
                confidence: self.family_confidence,
            }),
            Rule::Fixed { .. } => None,
        }
    }

    /// Interval of a mean of the family's kind, on the scale of the values.
    pub(crate) fn family_interval(&self, values: &[f64]) -> Option<Interval> {
        match self.stein() {
            Some(stein) => stein.interval(values),
            None => plimsoll_stats::interval::t_interval(values, self.family_confidence),
        }
    }

    fn claim(&self, pairs: &[(&Trial, &Trial)]) -> Option<Claim> {
        let logs = gather::log_ratios(pairs, THROUGHPUT);
        let interval = self.family_interval(&logs).and_then(Interval::exp);
        let ratio = Ratio::new(&logs, interval)?;
        let verdict = interval.and_then(|i| Verdict::on(i, self.margin));
        let more_blocks = match (verdict, interval) {
            (Some(Verdict::NotResolved(_)), Some(interval)) => {
                more_blocks_to_resolve(interval, logs.len() as u64, self.margin)
            }
            _ => None,
        };
        let sign_flip_p = sign_flip::p_value(&logs, self.seed);
        Some(Claim { ratio, verdict, sign_flip_p, more_blocks })
    }
}
