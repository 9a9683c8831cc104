//! The same workload with other numbers in flight: whether more help, and whether each resource's
//! utilisation is U = U₀ + X·D, as every prediction assumes.

use super::network::Network;
use super::observed::Observed;
use super::{Resource, Use};
use crate::gather::Gathered;
use crate::thresholds::{CONSTANT_DEMAND, FLAT_GAIN, LEAST_DOUBLINGS};
use plimsoll_model::{Cell, Parameter, Plan, Steps, Study, Workload};
use std::collections::BTreeMap;

/// One workload at several depths.
#[derive(Clone, Debug, PartialEq)]
pub struct Ladder {
    /// By operations in flight, the fewest first; two at least.
    pub rungs: Vec<Rung>,
}

/// What was measured with one number in flight.
#[derive(Clone, Debug, PartialEq)]
pub struct Rung {
    /// Operations in flight on average.
    pub in_flight: f64,
    /// Operations per second.
    pub per_second: f64,
    /// What of each resource they took.
    pub uses: Vec<Use>,
    /// Seconds of an operation that nothing accounts for.
    pub waiting_seconds: f64,
}

impl Ladder {
    /// Seconds that nothing accounts for, of an operation with the fewest in flight.
    pub fn unloaded_waiting_seconds(&self) -> f64 {
        self.rungs.first().map_or(f64::INFINITY, |rung| rung.waiting_seconds)
    }

    /// Whether the last step up brought next to nothing.
    pub fn is_saturated(&self) -> bool {
        self.more_helps() == Some(false)
    }

    /// Whether more in flight brought more. `None` where hardly more were in flight, as of few files that are
    /// copied by more workers.
    pub fn more_helps(&self) -> Option<bool> {
        let [.., before, last] = self.rungs.as_slice() else { return None };
        let more = last.per_second / before.per_second;
        let doublings = (last.in_flight / before.in_flight).log2();
        (doublings >= LEAST_DOUBLINGS).then(|| more.powf(1.0 / doublings) >= 1.0 + FLAT_GAIN)
    }

    /// The least and the most that one operation takes of a resource, over the depths at which it was
    /// used. `None` where that is at fewer than two.
    pub fn demands(&self, of: &Use) -> Option<(f64, f64)> {
        let demands = self.of_each_depth(of);
        let least = demands.iter().copied().fold(f64::INFINITY, f64::min);
        let most = demands.iter().copied().fold(0.0, f64::max);
        (demands.len() > 1).then_some((least, most))
    }

    fn of_each_depth(&self, of: &Use) -> Vec<f64> {
        self.used(of).map(busy_seconds).collect()
    }

    fn used<'a>(&'a self, of: &'a Use) -> impl Iterator<Item = &'a Use> {
        let found = self.rungs.iter().filter_map(|rung| rung.uses.iter().find(|u| u.is_same(of)));
        found.filter(|one| one.demand_seconds > 0.0)
    }

    /// How many operations a disk does at a time, and the seconds that it takes over one of them: where it is
    /// busy for the shorter with each operation the more are in flight, that many overlap. One at a time takes
    /// as long as it did with the fewest in flight, or as here. No more overlap than it had at a time: where
    /// memory serves some of what is read, the disk is busy for the shorter as well. `None` where they do not.
    pub(super) fn overlap(&self, of: &Use) -> Option<(f64, f64)> {
        let demands = self.of_each_depth(of);
        let falling = demands.windows(2).all(|pair| pair[1] < pair[0]);
        let (first, last) = (*demands.first()?, *demands.last()?);
        let overlap = (first / last).min(self.used(of).last()?.at_a_time.unwrap_or(1.0));
        let is_disk = matches!(of.resource, Resource::Disk { .. });
        // What the overlap does not explain was not asked of the disk.
        let seconds = (last * overlap).max(of.demand_seconds);
        (is_disk && falling && overlap > 1.0 + CONSTANT_DEMAND).then_some((overlap, seconds))
    }

    /// Whether U = U₀ + X·D holds of a resource. `None` where that was not tried.
    pub fn is_constant(&self, of: &Use) -> Option<bool> {
        self.demands(of).map(|(least, most)| most <= least * (1.0 + CONSTANT_DEMAND))
    }
}

/// Seconds for which a resource is busy for an operation. A disk that threads ask for less than it could do has the time
/// of an operation alone as its demand, at the depths where that is so.
fn busy_seconds(one: &Use) -> f64 {
    match one.resource {
        Resource::Disk { .. } if one.servers > 1.0 => {
            one.demand_seconds / one.at_a_time.unwrap_or(1.0).max(1.0)
        }
        _ => one.demand_seconds,
    }
}

/// The sweep over numbers in flight of the same work on the same subject under the same setting.
pub(super) fn find(study: &Study, gathered: &Gathered<'_>, cell: Cell) -> Option<Ladder> {
    let own = study.plan.workload(cell).filter(|own| own.steps.is_none())?;
    let is_sweep = |workload: &Workload| is_sweep(workload) && same_work(workload, own);
    let number = study.plan.workloads.iter().position(is_sweep)?;
    let sweep = Cell { workload: u16::try_from(number).ok()?, ..cell };
    let trials = gathered.counted(sweep);
    let mut depths: BTreeMap<u64, Vec<_>> = BTreeMap::new();
    for point in trials.iter().flat_map(|trial| &trial.points) {
        if point.at.is_finite() && point.at >= 1.0 {
            depths.entry(point.at.round() as u64).or_default().push(point);
        }
    }
    let rung = |points: Vec<_>| {
        let seen = Observed::of_points(study, sweep, &points)?;
        let network = Network::fit(&seen.uses, seen.per_second, seen.in_flight)?;
        Some(Rung {
            in_flight: seen.in_flight,
            per_second: seen.per_second,
            uses: seen.uses,
            waiting_seconds: network.waiting,
        })
    };
    let rungs: Vec<Rung> = depths.into_values().filter_map(rung).collect();
    (rungs.len() > 1).then_some(Ladder { rungs })
}

/// Whether a workload of a plan is there for what it shows of another one: the same with several
/// numbers in flight.
pub fn is_ladder(plan: &Plan, workload: u16) -> bool {
    plan.workloads.get(usize::from(workload)).filter(|own| is_sweep(own)).is_some_and(|own| {
        plan.workloads.iter().any(|other| other.steps.is_none() && same_work(own, other))
    })
}

fn is_sweep(workload: &Workload) -> bool {
    let over = workload.steps.as_ref().map(Steps::over);
    matches!(over, Some(Parameter::Depth | Parameter::Workers))
}

/// Whether two workloads do the same but for how many are in flight.
fn same_work(a: &Workload, b: &Workload) -> bool {
    let jobs = |workload: &Workload| -> Vec<_> {
        workload.parts.iter().map(|part| (part.job.clone(), part.client)).collect()
    };
    jobs(a) == jobs(b)
}
