//! UDP through a router at rising rates: how much of each offered rate arrives.

use crate::forwarding::{self, At, Judged, Loaded};
use crate::gather::Gathered;
use crate::pair::Rules;
use crate::thresholds::RATE_REACHED;
use crate::{CellFindings, Findings, Level, QueueSeen, RateLimit, RouterCpu};
use plimsoll_model::{
    Cell, DatagramsJob, HostName, Job, Measure, Metric, Parameter, Point, Steps, StreamJob, Study,
    Subject, Trial, Workload,
};
use plimsoll_stats::interval::mean;

/// Rates that differ by less are the same in three digits.
const SAME: f64 = 0.005;

/// What arrived at B of each rate that A offered to a router, the lowest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Routed {
    /// The cell.
    pub cell: Cell,
    /// At least one. Those at the end that A was too slow for are one, if A sent the same at each of them.
    pub rates: Vec<OfferedRate>,
    /// The router's cores at the highest rate without loss; at the lowest rate if there is none.
    pub cpu: RouterCpu,
    /// Share of the lost datagrams that the queues of its cores dropped (softnet).
    pub softnet_dropped: Option<f64>,
    /// The queueing discipline that dropped or held back most of the lost datagrams.
    pub queue: Option<QueueSeen>,
    /// What sets the rate; `None` if every rate was forwarded without loss.
    pub limit: Option<RateLimit>,
}

/// A router at one offered rate, over all trials that count. Rates are payload, in bytes per second. Means are
/// arithmetic, as in the publication.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OfferedRate {
    /// What A was to send: the lowest and the highest rate, which differ where A sent the same for several.
    pub planned: [f64; 2],
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
        self.offered < RATE_REACHED * self.planned[1]
    }

    /// Whether A sent the same for several rates that it was to send.
    pub fn is_of_several(&self) -> bool {
        self.planned[0] < self.planned[1]
    }
}

impl Routed {
    /// The place of the highest rate at which no trial lost a datagram.
    pub fn without_loss(&self) -> Option<usize> {
        without_loss(&self.rates)
    }
}

fn without_loss(rates: &[OfferedRate]) -> Option<usize> {
    rates.iter().rposition(|rate| rate.largest_loss == 0.0)
}

/// The datagrams of a workload that offers rising rates of them to a router between both ends.
fn datagrams<'a>(study: &Study, workload: &'a Workload) -> Option<&'a DatagramsJob> {
    let path = study.plan.subjects.first().and_then(Subject::path)?;
    let is_swept = matches!(workload.steps, Some(Steps::Sweep { over: Parameter::Rate, .. }));
    match &workload.main()?.job {
        Job::Datagrams(job) if is_swept && path.via.is_some() => Some(job),
        _ => None,
    }
}

/// Every such cell with complete trials.
pub fn routed(study: &Study, findings: &Findings) -> Vec<Routed> {
    let gathered = Gathered::new(study);
    let mut all = Vec::new();
    for found in &findings.workloads {
        let Some(job) = datagrams(study, &found.workload) else { continue };
        all.extend(found.cells.iter().filter_map(|cell| of_cell(study, &gathered, cell, job)));
    }
    all
}

fn of_cell(
    study: &Study,
    gathered: &Gathered<'_>,
    found: &CellFindings,
    job: &DatagramsJob,
) -> Option<Routed> {
    let router = study.plan.router(usize::from(found.cell.subject));
    let trials = gathered.counted(found.cell);
    let offers = Offers { trials, router, rules: Rules::new(study) };
    let mut rates: Vec<OfferedRate> =
        found.points.iter().filter_map(|(at, _)| offers.rate(&[*at])).collect();
    let first = most_of_a(&rates);
    let same: Vec<f64> = rates.split_off(first).into_iter().flat_map(|rate| rate.planned).collect();
    rates.extend(offers.rate(&same));
    let best = without_loss(&rates);
    let last = rates.last()?;
    let payload_bytes = job.payload.0 as f64;
    let points = offers.trials.iter().flat_map(|trial| &trial.points);
    let all: Vec<At<'_>> =
        points.filter_map(|point| At::of_datagrams(point, payload_bytes, router?)).collect();
    let kept = offers.loads(&rates.get(best.unwrap_or(0))?.planned);
    let Judged { cpu, softnet_dropped, queue, limit } = Judged::new(study, &kept, &all);
    let limit = match best {
        Some(place) if place + 1 == rates.len() => last.is_short().then_some(RateLimit::Sender),
        _ => Some(limit),
    };
    Some(Routed { cell: found.cell, rates, cpu, softnet_dropped, queue, limit })
}

/// The place from which A sends no more, in rates that A was to send, the lowest first.
fn most_of_a(rates: &[OfferedRate]) -> usize {
    let Some(last) = rates.last().filter(|last| last.is_short()) else { return rates.len() };
    let is_same = |rate: &&OfferedRate| {
        let near = if rate.is_short() { 1.0 - RATE_REACHED } else { SAME };
        (rate.offered / last.offered - 1.0).abs() <= near
    };
    rates.len() - rates.iter().rev().take_while(is_same).count()
}

/// What A offered in the trials of a cell that count.
struct Offers<'a> {
    trials: Vec<&'a Trial>,
    router: Option<&'a HostName>,
    rules: Rules,
}

impl Offers<'_> {
    /// All that A was to send at these rates, as one.
    fn rate(&self, planned: &[f64]) -> Option<OfferedRate> {
        let lowest = planned.iter().copied().reduce(f64::min)?;
        let highest = planned.iter().copied().reduce(f64::max)?;
        // One value of a trial.
        let values = |measure: Measure| -> Vec<f64> {
            let of_trial = |trial: &&Trial| mean(&figures(trial, planned, measure));
            self.trials.iter().filter_map(of_trial).collect()
        };
        let of_each = |trial: &&Trial| figures(trial, planned, StreamJob::LOSS);
        Some(OfferedRate {
            planned: [lowest, highest],
            offered: mean(&values(StreamJob::OFFERED))?,
            arrived: self.rules.arithmetic(&values(Measure::THROUGHPUT))?,
            loss: mean(&values(StreamJob::LOSS))?,
            largest_loss: self.trials.iter().flat_map(of_each).reduce(f64::max)?,
            dropped_at_b: mean(&values(Measure::SOCKET_DROPPED)).unwrap_or(0.0),
            busiest_core: forwarding::mean(&self.loads(planned), Loaded::core),
        })
    }

    /// The loads of the router while A was to send at these rates.
    fn loads(&self, planned: &[f64]) -> Vec<Loaded<'_>> {
        let points = self.trials.iter().flat_map(|trial| points(trial, planned));
        points.filter_map(|point| Loaded::of_point(point, self.router?)).collect()
    }
}

/// The points of a trial at which A was to send at these rates.
fn points<'a>(trial: &'a Trial, planned: &[f64]) -> impl Iterator<Item = &'a Point> {
    trial.points.iter().filter(move |point| planned.contains(&point.at))
}

/// One figure of the first part at these points.
fn figures(trial: &Trial, planned: &[f64], measure: Measure) -> Vec<f64> {
    let figure = |point: &Point| {
        let figure = point.parts.first()?.quantities.get(&Metric::all(measure)).copied();
        figure.filter(|figure| figure.is_finite())
    };
    points(trial, planned).filter_map(figure).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What A sent of a planned rate.
    fn sent(planned: f64, offered: f64, largest_loss: f64) -> OfferedRate {
        let arrived = Level::new(&[offered], |_| None).unwrap();
        OfferedRate {
            planned: [planned; 2],
            offered,
            arrived,
            loss: largest_loss / 2.0,
            largest_loss,
            dropped_at_b: 0.0,
            busiest_core: None,
        }
    }

    fn rate(offered: f64, largest_loss: f64) -> OfferedRate {
        sent(100.0, offered, largest_loss)
    }

    #[test]
    fn the_highest_rate_without_loss_is_that_of_all_trials() {
        let routed = |losses: &[f64]| {
            let rates: Vec<OfferedRate> = losses.iter().map(|loss| rate(100.0, *loss)).collect();
            without_loss(&rates)
        };
        // A datagram lost at a low rate says nothing of a higher one.
        assert_eq!(routed(&[0.0, 0.001, 0.0, 0.2, 0.3]), Some(2));
        assert_eq!(routed(&[0.0, 0.0]), Some(1));
        assert_eq!(routed(&[0.001, 0.2]), None);
        assert!(rate(94.0, 0.0).is_short() && !rate(96.0, 0.0).is_short());
    }

    #[test]
    fn a_slow_sender_sends_the_same_from_one_rate_on() {
        let place = |sent_of: &[[f64; 2]]| {
            let rates = sent_of.iter().map(|[planned, offered]| sent(*planned, *offered, 0.0));
            most_of_a(&rates.collect::<Vec<_>>())
        };
        // Of 60 it sends what it was to send, and of the others no more.
        assert_eq!(place(&[[55.0, 55.0], [60.0, 60.1], [65.0, 59.0], [70.0, 60.0]]), 1);
        // One that was late once is a rate of its own, and so is a nearly equal one that it reached.
        assert_eq!(place(&[[55.0, 40.0], [59.0, 59.0], [65.0, 60.0], [70.0, 60.0]]), 2);
        // Its rate still rises.
        assert_eq!(place(&[[80.0, 60.0], [90.0, 66.0], [100.0, 72.0]]), 2);
        assert_eq!(place(&[[80.0, 80.0], [90.0, 90.0]]), 2, "it reaches all");
        assert_eq!(place(&[[80.0, 0.0], [90.0, 0.0]]), 2, "nothing is near nothing");
        assert_eq!(place(&[]), 0);
    }
}
