//! CPU time of streams as a sum of costs: system call, segment and byte. Cells that differ in the size of their calls or
//! of their segments tell them apart; where the sum does not fit, no cost is named.

use super::PathEnd;
use crate::costs::{CLOSE, rule};
use crate::gather::{Gathered, is_imported};
use plimsoll_model::{Cell, Job, Measure, Metric, Parameter, Study, Trial, Workload};
use plimsoll_stats::fit::{Adequacy, Estimate, Fit, Observation, fit};
use plimsoll_stats::interval::mean;
use std::collections::BTreeSet;

/// Sizes from which on the sum can be held against them: it has two costs at least.
const SIZES: usize = 3;
/// Segments differ in size where the largest is so many times the smallest.
const SEGMENTS_DIFFER: f64 = 1.1;
/// Fits are in seconds per gigabyte: seconds per byte are close to the rounding of numbers.
const GIGABYTE: f64 = 1e9;

/// CPU time at one end of streams that differ in sizes alone.
#[derive(Clone, Debug, PartialEq)]
pub struct PathCosts {
    /// The first of the cells.
    pub cell: Cell,
    /// The end.
    pub end: PathEnd,
    /// Sizes that were measured.
    pub sizes: usize,
    /// Largest difference between the sum and a measured time, as a share of it.
    pub off: f64,
    /// The costs, if the sum fits.
    pub costs: Option<StreamCosts>,
}

/// What a stream costs an end, in CPU seconds of the probe's processes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StreamCosts {
    /// A system call; of datagrams with the datagram that it moves.
    pub call: Estimate,
    /// A segment; `None` if all segments had one size, whose costs are those of its bytes then.
    pub segment: Option<Estimate>,
    /// A byte of payload.
    pub byte: Estimate,
}

/// The costs of all streams of a study that were measured with several sizes.
pub fn path_costs(study: &Study) -> Vec<PathCosts> {
    if is_imported(study) {
        return Vec::new();
    }
    let gathered = Gathered::new(study);
    let mut alike: Vec<(Workload, Cell, Vec<Cell>)> = Vec::new();
    for (number, workload) in (0..).zip(&study.plan.workloads) {
        let [part] = &workload.parts[..] else { continue };
        if !matches!(part.job, Job::TcpStream(_) | Job::Datagrams(_)) {
            continue;
        }
        let mut sizeless = workload.clone();
        if sizeless.parts[0].set(Parameter::Block, 1.0).is_err() {
            continue;
        }
        for cell in gathered.cells(number) {
            let same = |(of, first, _): &&mut (Workload, Cell, Vec<Cell>)| {
                *of == sizeless && (first.subject, first.setting) == (cell.subject, cell.setting)
            };
            match alike.iter_mut().find(same) {
                Some((_, _, cells)) => cells.push(cell),
                None => alike.push((sizeless.clone(), cell, vec![cell])),
            }
        }
    }
    let ends = [(PathEnd::A, Measure::NEAR_CPU_PER_BYTE), (PathEnd::B, Measure::FAR_CPU_PER_BYTE)];
    let costs_of_ends = |(_, cell, cells): &(Workload, Cell, Vec<Cell>)| {
        let sized: Vec<Sized> =
            cells.iter().filter_map(|cell| Sized::new(study, &gathered, *cell)).collect();
        let of_end = |(end, measure)| {
            let (sizes, fitted) = fitted(&sized, measure)?;
            let off = fitted.fit.errors().into_iter().map(f64::abs).fold(0.0, f64::max);
            let costs = if off <= CLOSE { fitted.named(study) } else { None };
            Some(PathCosts { cell: *cell, end, sizes, off, costs })
        };
        ends.into_iter().filter_map(of_end).collect::<Vec<_>>()
    };
    alike.iter().flat_map(costs_of_ends).collect()
}

/// The trials of a cell, and its sizes.
struct Sized<'a> {
    trials: Vec<&'a Trial>,
    call_bytes: f64,
    /// Of TCP; a datagram is one segment with its call.
    segment_bytes: Option<f64>,
}

impl<'a> Sized<'a> {
    fn new(study: &Study, gathered: &Gathered<'a>, cell: Cell) -> Option<Sized<'a>> {
        let job = &study.plan.workload(cell)?.main()?.job;
        let trials = gathered.complete(cell);
        let segment = Metric::all(Measure::SEGMENT);
        let segments: Vec<f64> =
            trials.iter().filter_map(|trial| trial.result.value(0, segment)).collect();
        let call_bytes = job.block()?.0 as f64;
        let is_used = !trials.is_empty() && call_bytes > 0.0;
        is_used.then(|| Sized { trials, call_bytes, segment_bytes: mean(&segments) })
    }

    /// Seconds per gigabyte in each of these blocks.
    fn seconds(&self, measure: Measure, blocks: &BTreeSet<u32>) -> Vec<Option<f64>> {
        let metric = Metric::all(measure);
        let seconds_in_block = |block: &u32| {
            let trial = self.trials.iter().rev().find(|trial| trial.block == Some(*block))?;
            trial.result.value(0, metric).map(|per_byte| per_byte * GIGABYTE)
        };
        blocks.iter().map(seconds_in_block).collect()
    }
}

/// The fit of one end.
struct Fitted {
    fit: Fit,
    with_segments: bool,
}

/// The number of sizes, and the fit of one end; `None` of too few.
fn fitted(sized: &[Sized<'_>], measure: Measure) -> Option<(usize, Fitted)> {
    let sizes: BTreeSet<u64> = sized.iter().map(|one| one.call_bytes as u64).collect();
    if sizes.len() < SIZES {
        return None;
    }
    let segments: Vec<f64> = sized.iter().filter_map(|one| one.segment_bytes).collect();
    let least = segments.iter().copied().reduce(f64::min);
    let most = segments.iter().copied().reduce(f64::max);
    let differ = least.zip(most).is_some_and(|(least, most)| most >= SEGMENTS_DIFFER * least);
    let with_segments = differ && segments.len() == sized.len();
    let blocks: BTreeSet<u32> =
        sized.iter().flat_map(|one| &one.trials).filter_map(|trial| trial.block).collect();
    let observation = |one: &Sized<'_>| {
        let segment = one.segment_bytes.filter(|_| with_segments).map(|bytes| GIGABYTE / bytes);
        let amounts = [GIGABYTE / one.call_bytes, GIGABYTE].into_iter().chain(segment).collect();
        Observation { amounts, seconds: one.seconds(measure, &blocks) }
    };
    let observations: Vec<Observation> = sized.iter().map(observation).collect();
    let mut found = fit(&observations)?;
    // Off by more than noise explains, but perhaps by little: then the costs are known as well as it fits.
    if found.adequacy() == Adequacy::Inadequate {
        let means = observations.into_iter().map(|one| {
            let known: Vec<f64> = one.seconds.iter().copied().flatten().collect();
            Observation { seconds: vec![mean(&known)], ..one }
        });
        found = fit(&means.collect::<Vec<_>>())?;
    }
    Some((sizes.len(), Fitted { fit: found, with_segments }))
}

impl Fitted {
    fn named(&self, study: &Study) -> Option<StreamCosts> {
        let cost = |number| self.fit.cost(number, rule(study));
        let segment = if self.with_segments { Some(cost(2)?) } else { None };
        Some(StreamCosts { call: cost(0)?, byte: cost(1)?, segment })
    }
}
