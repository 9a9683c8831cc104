//! Costs of the parts of a router's path, in CPU time a packet: the difference between the setting with a part and the one
//! that differs by this part alone, block by block.

use crate::forwarding::passed;
use crate::gather::Gathered;
use crate::interactions::{Interaction, interactions};
use crate::thresholds::PASSED;
use plimsoll_model::{
    Cell, Failure, Measure, Metric, Outcome, PathPart, Rule, StreamJob, Study, Trial,
};
use plimsoll_stats::family::adjusted_confidence;
use plimsoll_stats::interval::{Interval, mean, t_interval};
use std::collections::BTreeMap;

/// Share of lost frames from which two settings do not do the same work.
const MUCH_LOST: f64 = 0.02;

/// Costs of the parts of a router's path under one workload.
#[derive(Clone, Debug, PartialEq)]
pub struct PartCosts {
    /// Index of the workload.
    pub workload: u16,
    /// CPU seconds a packet with all parts, of the blocks in which that was measured.
    pub whole: Option<f64>,
    /// The A/A control: the same setting twice.
    pub control: Difference,
    /// Each part, in the order in which they are switched off.
    pub parts: Vec<PartCost>,
    /// Whether parts with settings of their own are independent of those before them.
    pub interactions: Vec<Interaction>,
    /// Share of the frames that an interface of the router counted; `None` if it was not monitored.
    pub passed: Option<f64>,
}

/// Cost of one part.
#[derive(Clone, Debug, PartialEq)]
pub struct PartCost {
    /// The part.
    pub part: PathPart,
    /// CPU seconds a packet with it, in the blocks that have both settings.
    pub with: Option<f64>,
    /// The same without it.
    pub without: Option<f64>,
    /// What it costs. The intervals of all parts of a workload hold at once.
    pub cost: Difference,
    /// The verdict.
    pub verdict: PartVerdict,
}

/// Difference of CPU seconds a packet between two settings.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Difference {
    /// Blocks that have both.
    pub blocks: usize,
    /// Mean of the blocks.
    pub seconds: Option<f64>,
    /// Its interval; `None` below two blocks.
    pub interval: Option<Interval>,
}

/// What is claimed of a part.
#[derive(Clone, Debug, PartialEq)]
pub enum PartVerdict {
    /// It costs CPU time.
    Costs,
    /// It saves CPU time.
    Saves,
    /// The interval holds 0, or what the A/A control differs by.
    NoDifference,
    /// There is no interval.
    TooFewBlocks,
    /// Frames were lost under one of its settings, so that these are not compared.
    Lost {
        /// Share of the frames, of the setting that lost more.
        share: f64,
    },
    /// No trial without it was complete.
    Failed {
        /// Why the first one was not.
        failure: Failure,
    },
}

impl PartCosts {
    /// Whether the router's interfaces stood still while frames arrived: offloaded, or on another path.
    pub fn passes_by(&self) -> bool {
        self.passed.is_some_and(|share| share < PASSED)
    }
}

/// The costs for each workload of a study that prices parts of a path.
pub fn part_costs(study: &Study) -> Vec<PartCosts> {
    let Some(parts) = &study.plan.parts else { return Vec::new() };
    let gathered = Gathered::new(study);
    let workloads = (0..study.plan.workloads.len()).filter_map(|w| u16::try_from(w).ok());
    let of_workload = |workload: u16| {
        let cell = |setting| Cell { subject: 0, workload, setting };
        let each = plan_confidence(study, 1);
        let shared = plan_confidence(study, parts.priced.len());
        let control =
            Sides::new(&gathered, cell(parts.control), cell(parts.whole)).difference(each);
        let limit = control.interval.map_or(0.0, unsteadiness);
        let priced = parts.priced.iter().map(|priced| {
            let (with, without) = (cell(priced.with), cell(priced.without));
            let sides = Sides::new(&gathered, with, without);
            let cost = sides.difference(shared);
            let verdict = failure(&gathered, [with, without])
                .or_else(|| lost(&gathered, [with, without]))
                .unwrap_or_else(|| verdict(&cost, limit));
            let (with, without) = (mean(&sides.a), mean(&sides.b));
            PartCost { part: priced.part, with, without, cost, verdict }
        });
        let whole: Vec<f64> = by_block(&gathered, cell(parts.whole)).into_values().collect();
        PartCosts {
            workload,
            whole: mean(&whole),
            control,
            parts: priced.collect(),
            interactions: interactions(&gathered, parts, workload, limit, |intervals| {
                plan_confidence(study, intervals)
            }),
            passed: of_router(study, &gathered, workload),
        }
    };
    workloads.map(of_workload).collect()
}

/// Confidence of each of so many intervals that hold at once; one that gives no interval if there can be none.
fn plan_confidence(study: &Study, intervals: usize) -> f64 {
    match study.plan.design.rule {
        Rule::Fixed { .. } => {
            adjusted_confidence(study.plan.design.confidence, intervals).unwrap_or(f64::NAN)
        }
        // Looked at after each block, the interval would cover less.
        Rule::Sequential { .. } => f64::NAN,
    }
}

/// What the A/A control differs by at most, where it differs at all: as much says nothing of a part.
fn unsteadiness(control: Interval) -> f64 {
    match control.contains(0.0) {
        true => 0.0,
        false => control.low.abs().max(control.high.abs()),
    }
}

fn verdict(cost: &Difference, limit: f64) -> PartVerdict {
    match cost.interval {
        None => PartVerdict::TooFewBlocks,
        Some(interval) if interval.low > limit => PartVerdict::Costs,
        Some(interval) if interval.high < -limit => PartVerdict::Saves,
        Some(_) => PartVerdict::NoDifference,
    }
}

/// CPU seconds a packet under two settings, of the blocks that have both.
struct Sides {
    a: Vec<f64>,
    b: Vec<f64>,
}

impl Sides {
    fn new(gathered: &Gathered<'_>, a: Cell, b: Cell) -> Sides {
        let of_b = by_block(gathered, b);
        let of_a = by_block(gathered, a).into_iter();
        let (a, b) = of_a.filter_map(|(block, a)| Some((a, *of_b.get(&block)?))).unzip();
        Sides { a, b }
    }

    fn difference(&self, confidence: f64) -> Difference {
        let all: Vec<f64> = self.a.iter().zip(&self.b).map(|(a, b)| a - b).collect();
        Difference::new(&all, confidence)
    }
}

impl Difference {
    /// Of a difference in each block.
    pub(crate) fn new(blocks: &[f64], confidence: f64) -> Difference {
        Difference {
            blocks: blocks.len(),
            seconds: mean(blocks),
            interval: t_interval(blocks, confidence),
        }
    }
}

pub(crate) fn by_block(gathered: &Gathered<'_>, cell: Cell) -> BTreeMap<u32, f64> {
    let cost = |trial: &Trial| {
        let cost = trial.result.value(0, Metric::all(Measure::ROUTER_CPU_PER_PACKET))?;
        Some((trial.block?, cost)).filter(|(_, cost)| cost.is_finite())
    };
    gathered.complete(cell).into_iter().filter_map(cost).collect()
}

/// The failure of a setting without a complete trial.
fn failure(gathered: &Gathered<'_>, cells: [Cell; 2]) -> Option<PartVerdict> {
    let of_cell = |cell: Cell| {
        let trials = gathered.trials(cell);
        let first = trials.iter().find_map(|trial| match &trial.result.outcome {
            Outcome::Failed { failure, .. } => Some(failure.clone()),
            _ => None,
        });
        first.filter(|_| gathered.complete(cell).is_empty())
    };
    let failure = cells.into_iter().find_map(of_cell)?;
    Some(PartVerdict::Failed { failure })
}

fn lost(gathered: &Gathered<'_>, cells: [Cell; 2]) -> Option<PartVerdict> {
    lost_share(gathered, &cells).map(|share| PartVerdict::Lost { share })
}

/// The loss of the setting that lost most, where that is much: it did less work.
pub(crate) fn lost_share(gathered: &Gathered<'_>, cells: &[Cell]) -> Option<f64> {
    let loss = |trial: &&Trial| {
        let value = |measure: Measure| trial.result.value(0, Metric::all(measure));
        let of_rates = || Some(1.0 - value(Measure::PACKETS)? / value(Measure::OFFERED_FRAMES)?);
        value(StreamJob::LOSS).or_else(of_rates).filter(|share| share.is_finite())
    };
    let of_cell =
        |cell: &Cell| mean(&gathered.complete(*cell).iter().filter_map(loss).collect::<Vec<_>>());
    cells.iter().filter_map(of_cell).reduce(f64::max).filter(|share| *share > MUCH_LOST)
}

fn of_router(study: &Study, gathered: &Gathered<'_>, workload: u16) -> Option<f64> {
    let router = study.plan.router(0)?;
    let trials: Vec<&Trial> =
        gathered.cells(workload).into_iter().flat_map(|cell| gathered.complete(cell)).collect();
    passed(&trials, router)
}
