//! Two figures of a study against each other, block by block.

use crate::Level;
use crate::gather::{self, Gathered, Pairs, Results};
use crate::needed;
use plimsoll_model::{
    Cell, Contrast, Factor, Flag, Measurand, Measure, Metric, RateCaveat, Rule, Steps, Study,
    Switch, Workload, factor,
};
use plimsoll_stats::family::adjusted_confidence;
use plimsoll_stats::fieller::{self, Quotient};
use plimsoll_stats::interval::{Interval, mean, t_interval};
use plimsoll_stats::sequential::{self, Sequential};
use plimsoll_stats::verdict::{Verdict, more_blocks_to_resolve};
use plimsoll_stats::{correlation, outlier, sign_flip};
use std::collections::BTreeMap;

/// Whole plots on each side below which there is no verdict (method, section 5).
pub(crate) const WHOLE_PLOTS: usize = 4;

/// The ratios B/A of single blocks, for figures that have too few for an interval that says anything.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockRatios {
    /// How many.
    pub values: usize,
    /// How many are above 1.
    pub above: usize,
    /// The smallest.
    pub low: f64,
    /// The largest.
    pub high: f64,
}

impl BlockRatios {
    /// `None` without values.
    pub(crate) fn new(log_ratios: &[f64]) -> Option<BlockRatios> {
        let end = |pick: fn(f64, f64) -> f64| log_ratios.iter().copied().reduce(pick).map(f64::exp);
        Some(BlockRatios {
            values: log_ratios.len(),
            above: log_ratios.iter().filter(|log| **log > 0.0).count(),
            low: end(f64::min)?,
            high: end(f64::max)?,
        })
    }

    /// The same of A/B.
    pub fn reversed(self) -> BlockRatios {
        BlockRatios {
            above: self.values - self.above,
            low: 1.0 / self.high,
            high: 1.0 / self.low,
            ..self
        }
    }
}

/// A ratio B/A of one metric, without a claim.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// Values it is from: blocks, or trials of both sides.
    pub blocks: usize,
    /// Geometric mean of the blocks' ratios; of CPU time, the ratio of its means.
    pub estimate: f64,
    /// Its interval at the plan's confidence; `None` below two blocks, and where it has no ends.
    pub interval: Option<Interval>,
    /// Of CPU time: whether the mean of A, or of B, cannot be distinguished from zero. Then the numbers say
    /// nothing that is worth showing.
    pub zero: (bool, bool),
    /// The ratios of single blocks; `None` of CPU time, and of runs that are not paired.
    pub seen: Option<BlockRatios>,
}

impl Ratio {
    /// The ratio of two means of CPU time, with Fieller's interval where there is one.
    pub(crate) fn of_costs(
        a: &[f64],
        b: &[f64],
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
        Some(Ratio { blocks: a.len(), estimate, interval, zero, seen: None })
    }

    pub(crate) fn new(log_ratios: &[f64], interval: Option<Interval>) -> Option<Ratio> {
        let estimate = mean(log_ratios)?.exp();
        let usable = estimate.is_finite() && estimate > 0.0;
        let zero = (false, false);
        let (blocks, seen) = (log_ratios.len(), BlockRatios::new(log_ratios));
        usable.then_some(Ratio { blocks, estimate, interval, zero, seen })
    }

    /// B's mean over A's, of runs that are not paired, without an interval.
    pub(crate) fn of_runs(a: &Results<'_>, b: &Results<'_>, metric: Metric) -> Option<Ratio> {
        if metric.measure.is_cpu() {
            let (a, b) = (a.values(metric), b.values(metric));
            let ratio = Ratio::of_costs(&a, &b, None, f64::NAN)?;
            return Some(Ratio { blocks: a.len() + b.len(), ..ratio });
        }
        let (a, b) = (a.logs(metric), b.logs(metric));
        let ratio = Ratio::new(&[mean(&b)? - mean(&a)?], None)?;
        Some(Ratio { blocks: a.len() + b.len(), seen: None, ..ratio })
    }
}

/// What is claimed about the figure of a contrast.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    /// The ratio B/A; its interval holds simultaneously with those of the family.
    pub ratio: Ratio,
    /// The verdict; `None` without an interval.
    pub verdict: Option<Verdict>,
    /// Whether there is no verdict because a rate is known as a bound only, or in quiet moments only.
    pub is_bound: bool,
    /// Two-sided p-value of the sign-flip test, the cross-check; `None` between studies.
    pub sign_flip_p: Option<f64>,
    /// Correlation of the blocks' logarithms with those before them; `None` between studies, and where
    /// it cannot be had.
    pub correlation: Option<f64>,
    /// Blocks whose ratio is far from those of the others.
    pub far: usize,
    /// Where it is not resolved: about how many blocks more would do.
    pub more_blocks: Option<u64>,
}

impl Claim {
    /// The correlation of neighbouring blocks, where it is so high that they move together: more time
    /// would settle the claim, not more blocks.
    pub fn moves_together(&self) -> Option<f64> {
        correlation::moves_together(self.correlation, self.ratio.blocks)
    }
}

/// One contrast of the plan: B, what it is of, against A, the baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// What is compared with what.
    pub contrast: Contrast,
    /// Blocks in which both trials are complete.
    pub blocks: usize,
    /// How many of these have a trial that the figures of its cell leave out, because others used a host meanwhile.
    pub left_out_of_figures: usize,
    /// Ratio B/A of every metric that both have, each at the plan's confidence by itself.
    pub ratios: BTreeMap<Metric, Ratio>,
    /// The verdict on the contrast's metric; `None` where no block has both, or none is wanted.
    pub claim: Option<Claim>,
}

impl Pair {
    pub(crate) fn new(gathered: &Gathered<'_>, contrast: Contrast, rules: &Rules) -> Pair {
        if rules.imported {
            return Pair::of_single_runs(gathered, contrast);
        }
        let pairs = gathered.pairs(contrast.of, contrast.against);
        let ratios = pairs.a.metrics().into_iter().filter_map(|metric| {
            if metric.measure.is_cpu() {
                let (a, b) = pairs.both(metric);
                let quotient = fieller::paired(&a, &b, rules.confidence);
                let ratio = Ratio::of_costs(&a, &b, quotient, rules.confidence);
                return Some((metric, ratio?));
            }
            let logs = pairs.log_ratios(metric);
            let interval = rules.interval(&logs);
            let interval =
                interval.map(|own| rules.on_grid(own, contrast.of.cell, metric, logs.len()));
            Some((metric, Ratio::new(&logs, interval.and_then(Interval::exp))?))
        });
        let ratios = ratios.collect();
        let claim = contrast.claim.then(|| rules.claim(&pairs, &contrast)).flatten();
        let Contrast { of, against, .. } = contrast;
        let left_out_of_figures = gathered.left_out_of_figures(&pairs, of, against);
        Pair { contrast, blocks: pairs.a.len(), left_out_of_figures, ratios, claim }
    }

    /// Imports have no blocks: the ratio of the means of the runs, without an interval.
    fn of_single_runs(gathered: &Gathered<'_>, contrast: Contrast) -> Pair {
        let Contrast { of, against, claim } = contrast;
        let a = gathered.results(against.cell, against.part);
        let b = gathered.results(of.cell, of.part);
        let ratio = |metric| Ratio::of_runs(&a, &b, metric);
        let metrics = a.metrics().into_iter();
        let ratios = metrics.filter_map(|metric| Some((metric, ratio(metric)?))).collect();
        let claim = ratio(of.metric).filter(|_| claim).map(|ratio| Claim {
            ratio,
            verdict: None,
            is_bound: false,
            sign_flip_p: None,
            correlation: None,
            far: 0,
            more_blocks: None,
        });
        Pair { contrast, blocks: 0, left_out_of_figures: 0, ratios, claim }
    }
}

/// Whether an interval of B/A may be judged. A rate of a router's quiet moments is compared with nothing, and a lower
/// bound shows no more than that its side is the faster one.
pub(crate) fn is_telling(a: &Results<'_>, b: &Results<'_>, ratio: Interval) -> bool {
    let has = |side: &Results<'_>, is_meant: fn(&RateCaveat) -> bool| {
        side.has_flag(|flag| matches!(flag, Flag::KeptRate { caveat, .. } if is_meant(caveat)))
    };
    let is_quiet = |caveat: &RateCaveat| matches!(caveat, RateCaveat::QuietMoments { .. });
    let is_least = |caveat: &RateCaveat| *caveat == RateCaveat::AtLeast;
    !has(a, is_quiet)
        && !has(b, is_quiet)
        && (!has(a, is_least) || ratio.high < 1.0)
        && (!has(b, is_least) || ratio.low > 1.0)
}

/// How the blocks and the interval of one figure come about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stop {
    Sequential(Sequential),
    Fixed { confidence: f64 },
}

impl Stop {
    /// Interval of a mean, on the scale of the values.
    pub(crate) fn interval(&self, values: &[f64]) -> Option<Interval> {
        match self {
            Stop::Sequential(rule) => rule.interval(values),
            Stop::Fixed { confidence } => t_interval(values, *confidence),
        }
    }
}

/// Width of the grid on which the rates that a workload searches for end, as a share.
fn grid(workload: &Workload) -> f64 {
    match workload.steps {
        Some(Steps::Kept { width, .. }) if width > 0.0 && width.is_finite() => width,
        _ => 0.0,
    }
}

/// How the intervals of a study are made, from its plan alone.
pub(crate) struct Rules {
    rule: Rule,
    margin: f64,
    seed: u64,
    factors: Vec<Factor>,
    /// Of a single interval.
    pub(crate) confidence: f64,
    /// Of each interval of the family.
    pub(crate) family_confidence: f64,
    /// Whether the figures are another tool's: then there are no intervals.
    pub(crate) imported: bool,
    /// Widths of the grids on which the rates that each workload searches for end, as shares; 0 where it searches none.
    grids: Vec<f64>,
    /// Blocks that are missing until anything may be decided, because too little time was measured.
    missing: u64,
}

impl Rules {
    /// The family is every contrast with a claim; without any, the level of every workload.
    pub(crate) fn new(study: &Study) -> Rules {
        let design = &study.plan.design;
        let claims = study.plan.contrasts.iter().filter(|contrast| contrast.claim).count();
        Rules {
            imported: gather::is_imported(study),
            grids: study.plan.workloads.iter().map(grid).collect(),
            missing: needed::missing_for_time(study),
            rule: design.rule,
            margin: design.margin,
            seed: design.seed,
            factors: study.plan.factors.clone(),
            confidence: design.confidence,
            // A confidence outside (0, 1) stays what it is, and gives no intervals.
            family_confidence: adjusted_confidence(design.confidence, claims).unwrap_or(f64::NAN),
        }
    }

    /// The stop rule for one figure of the family: a comparison by its margin, or a level.
    pub(crate) fn stop(&self, compares: bool) -> Stop {
        let confidence = self.family_confidence;
        match self.rule {
            Rule::Sequential { first, half_width, .. } => Stop::Sequential(Sequential {
                first: first as usize,
                half_width,
                margin: compares.then_some(self.margin),
                confidence,
            }),
            Rule::Fixed { .. } => Stop::Fixed { confidence },
        }
    }

    /// Forecast of the blocks more until one figure of the family is decided, under the sequential
    /// rule; `None` as for [`Sequential::blocks_needed`].
    pub(crate) fn more_blocks(&self, rule: &Sequential, values: &[f64]) -> Option<u64> {
        let blocks = rule.blocks_needed(values)?;
        Some(blocks.saturating_sub(values.len() as u64).max(self.missing))
    }

    /// Interval of a single mean, on the scale of the values.
    pub(crate) fn interval(&self, values: &[f64]) -> Option<Interval> {
        match self.rule {
            Rule::Sequential { .. } => sequential::interval(values, self.confidence),
            Rule::Fixed { .. } => t_interval(values, self.confidence),
        }
    }

    /// An interval of logarithms of so many values. Rates that were searched for end on a grid: theirs is no narrower than
    /// its width over √(3n), however near each other they are (method, section 7).
    pub(crate) fn on_grid(
        &self,
        interval: Interval,
        cell: Cell,
        metric: Metric,
        values: usize,
    ) -> Interval {
        let is_searched =
            [Measure::FORWARDED, Measure::KEPT, Measure::STEP].contains(&metric.measure);
        let grid = self.grids.get(usize::from(cell.workload)).filter(|_| is_searched);
        grid.map_or(interval, |grid| interval.at_least(grid.ln_1p() / (3.0 * values as f64).sqrt()))
    }

    /// The level of a single figure as published designs average it: arithmetically.
    pub(crate) fn arithmetic(&self, values: &[f64]) -> Option<Level> {
        Level::arithmetic(values, |v| self.interval(v).filter(|_| !self.imported))
    }

    /// Whether something was restarted between the two sides, so that each is a whole plot of its own.
    fn restarted(&self, contrast: &Contrast) -> bool {
        let level = |setting| factor::levels(&self.factors, setting);
        let (of, against) = (level(contrast.of.cell.setting), level(contrast.against.cell.setting));
        let restarts = self.factors.iter().zip(of.into_iter().zip(against));
        restarts.into_iter().any(|(f, (of, against))| f.switch == Switch::Restart && of != against)
    }

    fn claim(&self, pairs: &Pairs<'_>, contrast: &Contrast) -> Option<Claim> {
        let logs = pairs.log_ratios(contrast.of.metric);
        let stop = self.stop(true);
        // Nothing is claimed before the first look.
        let looked =
            |_: &Interval| !matches!(stop, Stop::Sequential(rule) if logs.len() < rule.first);
        let Measurand { cell, metric, .. } = contrast.of;
        let interval = stop.interval(&logs).filter(looked);
        let interval = interval.map(|own| self.on_grid(own, cell, metric, logs.len()));
        let interval = interval.and_then(Interval::exp);
        let ratio = Ratio::new(&logs, interval)?;
        let enough = logs.len() >= WHOLE_PLOTS || !self.restarted(contrast);
        let is_bound = interval.is_some_and(|interval| !is_telling(&pairs.a, &pairs.b, interval));
        let enough = enough && !is_bound;
        let verdict = interval.filter(|_| enough).and_then(|i| Verdict::on(i, self.margin));
        let unresolved = matches!(verdict, Some(Verdict::NotResolved(_)));
        let more_blocks = match (stop, interval.filter(|_| unresolved)) {
            (Stop::Sequential(rule), Some(_)) => self.more_blocks(&rule, &logs),
            (_, Some(interval)) => more_blocks_to_resolve(interval, logs.len() as u64, self.margin),
            (_, None) => None,
        };
        let sign_flip_p = sign_flip::p_value(&logs, self.seed);
        let (correlation, far) = (correlation::lag_1(&logs), outlier::far(&logs));
        Some(Claim { ratio, verdict, is_bound, sign_flip_p, correlation, far, more_blocks })
    }
}
