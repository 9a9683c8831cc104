//! What an operation and a byte cost where blocks of several sizes were moved one at a time, and what more in
//! flight brings: the cost model of [`plimsoll_stats::fit`] over the sizes,
//!
//! ```text
//! t(b) = α + β·b                 one operation of b bytes, alone in flight
//! ```
//!
//! and from which size, and from which number in flight, on more is wasted.

use crate::costs::{self, CostModel};
use crate::gather::{self, Gathered};
use crate::round_trip::RoundTrip;
use plimsoll_model::units::Bytes;
use plimsoll_model::{
    Arrival, Cell, Job, Measure, Metric, Parameter, Study, SubjectFacts, TargetFacts, Workload,
};
use plimsoll_stats::closed::{mva, rounds};
use plimsoll_stats::fit::costs::{Cell as Observed, CostKind, Groups, Work};
use plimsoll_stats::fit::{Estimate, Rule};
use std::collections::{BTreeMap, BTreeSet};

/// What brings less than this share of the most that was measured is enough.
pub const ENOUGH: f64 = 0.1;

/// Blocks of several sizes, one at a time, on one subject under one setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfers {
    /// Subject, setting, and the workload that sweeps over sizes.
    pub cell: Cell,
    /// What was done: "sequential read".
    pub title: String,
    /// The largest transfer that client and server agreed on, in bytes; 0 where there is none.
    pub largest: u32,
    /// Seconds of a call that does nothing, where there is one and nothing took less.
    pub round_trip: Option<f64>,
    /// By size, the smallest first.
    pub sizes: Vec<SizeTime>,
    /// The model of the times of sizes up to the largest transfer: larger ones are several at once.
    pub model: CostModel,
    /// Sweeps over the number in flight.
    pub flights: Vec<Flights>,
    rule: Rule,
}

/// One operation of a size.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeTime {
    /// Bytes.
    pub block: Bytes,
    /// Seconds of one, the final flush of writes included.
    pub seconds: Estimate,
    /// The model's time over the measured one, less 1, also of a model that says nothing; `None` of sizes
    /// that it is not about.
    pub error: Option<f64>,
}

/// Operations of one size with several in flight.
#[derive(Clone, Debug, PartialEq)]
pub struct Flights {
    /// Subject, setting, and the workload that sweeps over the number in flight.
    pub cell: Cell,
    /// Bytes of one.
    pub block: Bytes,
    /// Whether they went in rounds; else each followed as soon as one had ended.
    pub rounds: bool,
    /// By number in flight, the fewest first.
    pub depths: Vec<Flight>,
}

/// A number in flight.
#[derive(Clone, Debug, PartialEq)]
pub struct Flight {
    /// How many.
    pub depth: u16,
    /// Operations per second.
    pub per_second: Estimate,
    /// The same by the model, if the round trip of a call that does nothing is waiting, which many do at once,
    /// and all else goes one after the other. `None` without a model, and where there is no such call.
    pub modelled: Option<f64>,
}

/// The smallest of what was swept over that is enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Enough {
    /// Its value: bytes, or a number in flight.
    pub at: f64,
    /// Whether it is the largest that was measured: more may bring more.
    pub is_last: bool,
}

impl SizeTime {
    /// Bytes per second.
    pub fn rate(&self) -> f64 {
        self.block.0 as f64 / self.seconds.value
    }

    /// Bytes per second, with the interval. `None` of a time of zero.
    pub fn bytes_per_second(&self) -> Option<Estimate> {
        Some(self.seconds.reciprocal()?.scaled(self.block.0 as f64))
    }
}

impl Transfers {
    /// Seconds of an operation beside its bytes (α), or of a byte (β). `None` without a model, and where the
    /// sizes do not separate them.
    pub fn cost(&self, kind: CostKind) -> Option<Estimate> {
        match &self.model {
            CostModel::Fits { costs, .. } => costs.cost(kind, 0, self.rule),
            _ => None,
        }
    }

    /// Which share of the time of one operation of a size is its own rather than that of its bytes.
    pub fn share_of_operation(&self, block: Bytes) -> Option<f64> {
        let (operation, byte) =
            (self.cost(CostKind::Operation)?.value, self.cost(CostKind::Byte)?.value);
        let share = operation / (operation + byte * block.0 as f64);
        share.is_finite().then_some(share)
    }

    /// The largest relative error of the model.
    pub fn off_by(&self) -> Option<f64> {
        let errors = self.sizes.iter().filter_map(|size| size.error);
        errors.map(f64::abs).reduce(f64::max)
    }

    /// How many calls the largest block is, where it is several.
    pub fn calls(&self) -> Option<(Bytes, u64)> {
        let block = self.sizes.last()?.block;
        let calls = block.0.div_ceil(u64::from(self.largest).max(1));
        (self.largest > 0 && calls > 1).then_some((block, calls))
    }

    /// The size with the highest rate.
    pub fn fastest(&self) -> Option<&SizeTime> {
        self.sizes.iter().max_by(|a, b| a.rate().total_cmp(&b.rate()))
    }

    /// The size from which on larger ones bring next to nothing.
    pub fn enough(&self) -> Option<Enough> {
        enough(self.sizes.iter().map(|size| (size.block.0 as f64, size.rate())))
    }
}

impl Flights {
    /// A number in flight that brought more than so many times as much as one, by the nearest ends of both
    /// intervals: no number can, so the figures contradict each other, and nothing follows from them. A figure
    /// without an interval contradicts nothing.
    pub fn contradiction(&self) -> Option<(&Flight, f64)> {
        let alone = self.alone()?;
        let most = alone.interval?.high;
        let is_beyond = |one: &&Flight| {
            let least = one.per_second.interval.map(|interval| interval.low);
            least.is_some_and(|least| least > most * f64::from(one.depth))
        };
        let one = self.depths.iter().find(is_beyond)?;
        Some((one, one.per_second.value / alone.value))
    }

    /// The number in flight with the highest rate.
    pub fn fastest(&self) -> Option<&Flight> {
        let rate = |one: &Flight| one.per_second.value;
        self.depths.iter().max_by(|a, b| rate(a).total_cmp(&rate(b)))
    }

    /// The number in flight from which on more bring next to nothing. `None` where figures contradict each other.
    pub fn enough(&self) -> Option<Enough> {
        if self.contradiction().is_some() {
            return None;
        }
        enough(self.depths.iter().map(|one| (f64::from(one.depth), one.per_second.value)))
    }

    /// How many times as much the best number brings as one in flight: of uncertain figures at most that number,
    /// which is the most that can be true. `None` where figures contradict each other.
    pub fn gain(&self) -> Option<f64> {
        if self.contradiction().is_some() {
            return None;
        }
        let alone = self.alone()?.value;
        let gain = |one: &Flight| (one.per_second.value / alone).min(f64::from(one.depth));
        self.depths.iter().map(gain).reduce(f64::max)
    }

    fn alone(&self) -> Option<Estimate> {
        self.depths.iter().find(|one| one.depth == 1).map(|one| one.per_second)
    }
}

/// Of values in rising order with what each brings, the first that brings all but [`ENOUGH`] of the most.
fn enough(curve: impl Iterator<Item = (f64, f64)> + Clone) -> Option<Enough> {
    let most = curve.clone().map(|(_, brings)| brings).reduce(f64::max)?;
    let last = curve.clone().last()?.0;
    let (at, _) = curve.into_iter().find(|(_, brings)| *brings >= most * (1.0 - ENOUGH))?;
    Some(Enough { at, is_last: at == last })
}

/// Everything that swept over sizes one at a time, in the order of the plan. Nothing of other tools' figures.
pub fn transfers(study: &Study) -> Vec<Transfers> {
    if gather::is_imported(study) {
        return Vec::new();
    }
    let gathered = Gathered::new(study);
    let workloads = (0..).zip(&study.plan.workloads);
    let sweeps = workloads.filter(|(_, workload)| sweeps(workload, Parameter::Block));
    let sweeps = sweeps.filter(|(_, workload)| in_flight(workload) == Some(1));
    let cells = sweeps.flat_map(|(number, _)| gathered.cells(number));
    cells.filter_map(|cell| of_cell(study, &gathered, cell)).collect()
}

/// The largest transfer of a job that client and server agreed on, in bytes; 0 where there is none.
pub(crate) fn largest_transfer(job: &Job, facts: &TargetFacts) -> u32 {
    match job.stability() {
        Some(_) => facts.write_size_bytes,
        None => facts.read_size_bytes,
    }
}

fn sweeps(workload: &Workload, over: Parameter) -> bool {
    workload.parts.len() == 1 && workload.steps.as_ref().is_some_and(|steps| steps.over() == over)
}

fn in_flight(workload: &Workload) -> Option<u32> {
    let part = workload.main()?;
    Some(u32::from(part.workers.get()) * u32::from(part.depth().get()))
}

fn of_cell(study: &Study, gathered: &Gathered<'_>, cell: Cell) -> Option<Transfers> {
    let job = &study.plan.workload(cell)?.main()?.job;
    let facts = study.subjects.get(usize::from(cell.subject)).and_then(SubjectFacts::storage);
    let largest = facts.map_or(0, |facts| largest_transfer(job, facts));
    let rule = costs::rule(study);
    let curve = Curve::new(gathered, cell);
    let whole = |at: &f64| largest == 0 || *at <= f64::from(largest);
    let observed: Vec<Observed> = curve
        .seconds
        .iter()
        .filter(|(at, _)| whole(&f64::from_bits(**at)))
        .map(|(at, seconds)| Observed {
            work: Work { files: 0.0, operations: 1.0, bytes: f64::from_bits(*at) },
            groups: Groups::default(),
            seconds: curve.by_block(seconds),
        })
        .collect();
    let (model, errors) = costs::fitted(&observed);
    let size = |(place, (at, seconds)): (usize, (&u64, &BTreeMap<u32, f64>))| {
        let block = Bytes(f64::from_bits(*at) as u64);
        let error = errors.get(place).copied();
        Some(SizeTime { block, seconds: average(seconds, rule)?, error })
    };
    let sizes = curve.seconds.iter().enumerate().filter_map(size).collect();
    let (title, flights) = (job.title(), Vec::new());
    let round_trip = RoundTrip::to_subject(study, cell.subject).and_then(|trip| trip.bound());
    let mut transfers = Transfers { cell, title, largest, round_trip, sizes, model, flights, rule };
    for (number, workload) in (0..).zip(&study.plan.workloads) {
        let same = workload.main().is_some_and(|part| part.job.kind() == job.kind());
        if same && sweeps(workload, Parameter::Depth) {
            let flights =
                in_flight_of(&transfers, gathered, Cell { workload: number, ..cell }, workload);
            transfers.flights.extend(flights);
        }
    }
    (!transfers.sizes.is_empty()).then_some(transfers)
}

fn in_flight_of(
    transfers: &Transfers,
    gathered: &Gathered<'_>,
    cell: Cell,
    workload: &Workload,
) -> Option<Flights> {
    let part = workload.main().filter(|part| part.workers.get() == 1)?;
    let (block, in_rounds) = (part.job.block()?, matches!(part.arrival, Arrival::Rounds { .. }));
    let costs = transfers.cost(CostKind::Operation).zip(transfers.cost(CostKind::Byte));
    let flight = |(at, seconds): (&u64, &BTreeMap<u32, f64>)| {
        let depth = f64::from_bits(*at) as u16;
        let modelled = costs.zip(transfers.round_trip).and_then(|((operation, byte), trip)| {
            let delay = trip.clamp(0.0, operation.value);
            let demand = operation.value - delay + byte.value * block.0 as f64;
            several(in_rounds, depth, demand, delay)
        });
        let per_second = average(seconds, transfers.rule)?.reciprocal()?;
        Some(Flight { depth, per_second, modelled })
    };
    let depths: Vec<Flight> =
        Curve::new(gathered, cell).seconds.iter().filter_map(flight).collect();
    (!depths.is_empty()).then_some(Flights { cell, block, rounds: in_rounds, depths })
}

/// Seconds between the ends of two operations, the final flush of writes included: by the bits of what was
/// swept over, which are in its order, and by block.
struct Curve {
    seconds: BTreeMap<u64, BTreeMap<u32, f64>>,
    blocks: BTreeSet<u32>,
}

impl Curve {
    fn new(gathered: &Gathered<'_>, cell: Cell) -> Curve {
        let mut curve = Curve { seconds: BTreeMap::new(), blocks: BTreeSet::new() };
        for trial in gathered.complete(cell) {
            let Some(block) = trial.block else { continue };
            for point in trial.points.iter().filter(|point| point.at.is_finite() && point.at >= 1.0)
            {
                let rate = point
                    .parts
                    .first()
                    .and_then(|part| part.quantities.get(&Metric::all(Measure::IOPS)).copied());
                if let Some(rate) = rate.filter(|rate| rate.is_finite() && *rate > 0.0) {
                    curve.blocks.insert(block);
                    curve.seconds.entry(point.at.to_bits()).or_default().insert(block, 1.0 / rate);
                }
            }
        }
        curve
    }

    fn by_block(&self, seconds: &BTreeMap<u32, f64>) -> Vec<Option<f64>> {
        self.blocks.iter().map(|block| seconds.get(block).copied()).collect()
    }
}

/// The mean over blocks, with its interval.
fn average(seconds: &BTreeMap<u32, f64>, rule: Rule) -> Option<Estimate> {
    Estimate::mean(&seconds.values().copied().collect::<Vec<_>>(), rule)
}

/// Operations per second with so many in flight, by what each demands of the one resource that they go through
/// one after the other and by how long each waits beside that. `None` where nothing follows from these.
pub(crate) fn several(in_rounds: bool, depth: u16, demand: f64, delay: f64) -> Option<f64> {
    match in_rounds {
        true => rounds(depth, &[demand], delay),
        false => mva(depth, &[demand], delay).map(|closed| closed.per_second),
    }
}
