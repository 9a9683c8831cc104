//! UDP through a router at rising rates: how much of each offered rate arrives.

use crate::gather::Gathered;
use crate::thresholds::RATE_REACHED;
use crate::{CellFindings, Findings, Level};
use plimsoll_model::{
    Cell, HostName, Job, Measure, Metric, Parameter, Steps, StreamJob, Study, Subject, Trial,
    Workload,
};

/// What arrived at B of each rate that A offered to a router, the lowest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Routed {
    /// The cell.
    pub cell: Cell,
    /// At least one.
    pub rates: Vec<OfferedRate>,
}

/// A router at one offered rate, over all trials that count. Rates are payload, in bytes per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OfferedRate {
    /// What A was to send.
    pub planned: f64,
    /// What A sent.
    pub offered: f64,
    /// What arrived at B.
    pub arrived: Level,
    /// Share of the datagrams that was lost.
    pub loss: f64,
    /// The same in the worst trial.
    pub largest_loss: f64,
    /// Share of the datagrams that B received and then dropped, because its socket was full.
    pub dropped_at_b: f64,
    /// Utilisation of the router's busiest core; `None` if it was not monitored.
    pub busiest_core: Option<f64>,
}

impl OfferedRate {
    /// Whether A was too slow for it.
    pub fn is_short(&self) -> bool {
        self.offered < RATE_REACHED * self.planned
    }
}

impl Routed {
    /// The place of the highest rate at which no trial lost a datagram.
    pub fn without_loss(&self) -> Option<usize> {
        self.rates.iter().rposition(|rate| rate.largest_loss == 0.0)
    }
}

/// Whether a workload offers rising rates of datagrams to a router between both ends.
fn is_routed(study: &Study, workload: &Workload) -> bool {
    let path = study.plan.subjects.first().and_then(Subject::path);
    let is_swept = matches!(workload.steps, Some(Steps::Sweep { over: Parameter::Rate, .. }));
    let is_udp = workload.main().is_some_and(|part| matches!(part.job, Job::Datagrams(_)));
    path.is_some_and(|path| path.via.is_some()) && is_swept && is_udp
}

/// Every such cell with complete trials.
pub fn routed(study: &Study, findings: &Findings) -> Vec<Routed> {
    let gathered = Gathered::new(study);
    let workloads = findings.workloads.iter().filter(|found| is_routed(study, &found.workload));
    let cells = workloads.flat_map(|found| &found.cells);
    cells.filter_map(|cell| of_cell(study, &gathered, cell)).collect()
}

fn of_cell(study: &Study, gathered: &Gathered<'_>, found: &CellFindings) -> Option<Routed> {
    let trials = gathered.counted(found.cell);
    let router = study.plan.router(usize::from(found.cell.subject));
    let rate = |(at, levels): &(f64, crate::Levels)| {
        let level = |measure| levels.get(&Metric::all(measure));
        let loss = level(StreamJob::LOSS)?;
        let rate = OfferedRate {
            planned: *at,
            offered: level(StreamJob::OFFERED)?.arithmetic_mean,
            arrived: *level(Measure::THROUGHPUT)?,
            loss: loss.arithmetic_mean,
            largest_loss: loss.largest,
            dropped_at_b: level(Measure::SOCKET_DROPPED).map_or(0.0, |own| own.arithmetic_mean),
            busiest_core: router.and_then(|router| busiest_core(&trials, router, *at)),
        };
        Some(rate).filter(|rate| rate.offered.is_finite() && rate.arrived.estimate.is_finite())
    };
    let rates: Vec<OfferedRate> = found.points.iter().filter_map(rate).collect();
    (!rates.is_empty()).then_some(Routed { cell: found.cell, rates })
}

/// Utilisation of a host's busiest core while trials were at this value: the mean of the trials.
fn busiest_core(trials: &[&Trial], host: &HostName, at: f64) -> Option<f64> {
    let points = trials.iter().flat_map(|trial| &trial.points).filter(|point| point.at == at);
    let loads = points.flat_map(|point| &point.loads).filter(|load| load.host == *host);
    let most = loads.filter_map(|load| load.cores_busy.iter().copied().reduce(f64::max));
    let most: Vec<f64> = most.collect();
    (!most.is_empty()).then(|| most.iter().sum::<f64>() / most.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(offered: f64, largest_loss: f64) -> OfferedRate {
        let arrived = Level::new(&[offered], |_| None).unwrap();
        OfferedRate {
            planned: 100.0,
            offered,
            arrived,
            loss: largest_loss / 2.0,
            largest_loss,
            dropped_at_b: 0.0,
            busiest_core: None,
        }
    }

    #[test]
    fn the_highest_rate_without_loss_is_that_of_all_trials() {
        let cell = Cell { subject: 0, workload: 0, setting: 0 };
        let routed = |losses: &[f64]| {
            let rates = losses.iter().map(|loss| rate(100.0, *loss)).collect();
            Routed { cell, rates }.without_loss()
        };
        // A datagram lost at a low rate says nothing of a higher one.
        assert_eq!(routed(&[0.0, 0.001, 0.0, 0.2, 0.3]), Some(2));
        assert_eq!(routed(&[0.0, 0.0]), Some(1));
        assert_eq!(routed(&[0.001, 0.2]), None);
        assert!(rate(94.0, 0.0).is_short() && !rate(96.0, 0.0).is_short());
    }
}
