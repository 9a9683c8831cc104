//! What a router did while it kept a rate: its busiest core, whether the frames passed it, and what sets the rate.

mod connections;
mod limit;
mod lost;
mod rates;
mod seen;

pub use connections::{ConnectionLimit, NewConnections, new_connections};
pub(crate) use limit::Judged;
pub use limit::{RateLimit, RouterCpu};
pub use lost::QueueSeen;
pub use rates::AtRate;
pub(crate) use seen::{At, Loaded, mean};

use crate::gather::Gathered;
use crate::thresholds::{LOST_ENOUGH, ONE_RATE, PASSED};
use plimsoll_model::{
    Cell, ConntrackLoad, Flag, Flow, HostName, Job, Measure, Metric, PartResult, PathSubject,
    RateCaveat, Steps, Study, Subject, Trial,
};
use std::collections::BTreeMap;

/// A router at the rate that it keeps.
#[derive(Clone, Debug, PartialEq)]
pub struct Forwarded {
    /// The cell.
    pub cell: Cell,
    /// Bytes of a frame.
    pub frame_bytes: f64,
    /// Frames per second that it keeps, as a mean of the trials.
    pub kept: Option<f64>,
    /// Its cores at the rate that it keeps.
    pub cpu: RouterCpu,
    /// Utilisation of the busiest core or process of the end that sends; where both send, of the busier end. `None` if it
    /// was not monitored.
    pub sender: Option<f64>,
    /// Share of the frames that an interface of the router counted, its other traffic taken out; `None` if it was not
    /// monitored.
    pub passed: Option<f64>,
    /// Share of the lost frames that the queues of its cores dropped (softnet).
    pub softnet_dropped: Option<f64>,
    /// The queueing discipline that dropped or held back most of the lost frames.
    pub queue: Option<QueueSeen>,
    /// Its connection tracking.
    pub conntrack: Option<ConntrackLoad>,
    /// Share of a core that the kernel took for the frames, where it did not forward them: its hardware did.
    pub offloaded: Option<f64>,
    /// What it did at each rate, the lowest first.
    pub rates: Vec<AtRate>,
    /// What sets the rate.
    pub limit: RateLimit,
}

impl Forwarded {
    /// Whether the router's interfaces stood still while frames arrived: offloaded, or on another path.
    pub fn passes_by(&self) -> bool {
        self.passed.is_some_and(|share| share < PASSED)
    }

    /// Its connection tracking, if the table had no room for another connection.
    pub fn full_conntrack(&self) -> Option<ConntrackLoad> {
        self.conntrack.filter(lost::is_full)
    }

    /// The lowest rate above the one that it keeps at which so many frames were lost that the place is looked for.
    pub fn first_loss(&self) -> Option<&AtRate> {
        let is_above = |at: &&AtRate| self.kept.is_none_or(|kept| at.offered > kept);
        self.rates.iter().filter(is_above).find(|at| at.loss() >= LOST_ENOUGH)
    }
}

/// Every cell whose workload searches the highest rate that is kept, and that has complete trials.
pub fn forwarded(study: &Study) -> Vec<Forwarded> {
    let gathered = Gathered::new(study);
    let workloads = (0..study.plan.workloads.len()).filter_map(|w| u16::try_from(w).ok());
    let cells = workloads.flat_map(|workload| gathered.cells(workload));
    cells.filter_map(|cell| of_cell(study, &gathered, cell)).collect()
}

fn of_cell(study: &Study, gathered: &Gathered<'_>, cell: Cell) -> Option<Forwarded> {
    let workload = study.plan.workload(cell)?;
    if !matches!(workload.steps, Some(Steps::Kept { .. })) {
        return None;
    }
    let router = study.plan.router(usize::from(cell.subject))?;
    let trials = gathered.complete(cell);
    if trials.is_empty() {
        return None;
    }
    let job = &workload.main()?.job;
    let path = study.plan.subjects.get(usize::from(cell.subject)).and_then(Subject::path)?;
    let kept: Vec<f64> = trials
        .iter()
        .filter_map(|trial| trial.result.value(0, Metric::all(Measure::KEPT)))
        .collect();
    let passed = passed(&trials, router);
    let all = At::all(&trials, router);
    let at_kept = Loaded::of_searches(&trials, router);
    let Judged { cpu, softnet_dropped, queue, limit } = Judged::new(study, &at_kept, &all);
    let passes_by = passed.is_some_and(|share| share < PASSED);
    Some(Forwarded {
        cell,
        frame_bytes: job.block()?.0 as f64,
        kept: seen::average(&kept),
        cpu,
        sender: sender(&trials, path, job),
        passed,
        softnet_dropped,
        queue,
        conntrack: lost::conntrack(&all),
        // Frames that its interfaces do not count may go another way.
        offloaded: lost::offloaded(&all).filter(|_| !passes_by),
        rates: rates::rates(&all),
        limit: if is_of_sender(&trials) { RateLimit::Sender } else { limit },
    })
}

/// Whether each search ended at what the sender can send.
fn is_of_sender(trials: &[&Trial]) -> bool {
    let is_least = |flag: &Flag| matches!(flag, Flag::KeptRate { caveat: RateCaveat::AtLeast, .. });
    trials.iter().all(|trial| trial.result.flags.iter().any(is_least))
}

/// The busiest core or process of the end that sends.
fn sender(trials: &[&Trial], path: &PathSubject, job: &Job) -> Option<f64> {
    let Job::Forwarding(job) = job else { return None };
    let own = |host: &HostName| Loaded::of_searches(trials, host);
    let a = seen::at_end(trials, &own(&path.from.host), Measure::NEAR_BUSIEST);
    let b = seen::at_end(trials, &own(&path.to.host), Measure::FAR_BUSIEST);
    match job.flow {
        Flow::Out => a,
        Flow::In => b,
        Flow::Both => [a, b].into_iter().flatten().reduce(f64::max),
    }
}

/// The share of the frames that an interface of the router counted: the most of all interfaces. Other traffic is the part
/// of a count that goes with the time and not with the frames. Frames can be lost in front of the router, as in a tunnel
/// of the sender, and in it after they were counted: a count between those that arrived and those that were sent has all
/// that reached it.
pub(crate) fn passed(trials: &[&Trial], router: &HostName) -> Option<f64> {
    let mut counts: BTreeMap<&str, Vec<[f64; 3]>> = BTreeMap::new();
    let mut is_monitored = false;
    for trial in trials {
        let points = trial.points.iter().map(|point| (point.parts.first(), &point.loads));
        for (part, loads) in points.chain([(trial.result.parts.first(), &trial.loads)]) {
            let load = loads.iter().find(|load| load.host == *router);
            let frames = part.and_then(arrived_and_sent);
            let Some(((arrived, sent), load)) = frames.zip(load) else { continue };
            is_monitored = true;
            for one in &load.interfaces {
                let seen = (one.received_packets + one.sent_packets) as f64;
                let reached = seen.clamp(arrived, sent);
                counts.entry(&one.name).or_default().push([reached, load.seconds, seen]);
            }
        }
    }
    let shares = counts.values().map(|rows| share(rows));
    is_monitored.then(|| shares.fold(0.0, f64::max))
}

/// Frames that arrived, and that were sent: the latter at least as many, and as many where nothing is known of the former.
/// `None` if none was sent.
fn arrived_and_sent(part: &PartResult) -> Option<(f64, f64)> {
    let value = |measure| part.quantities.get(&Metric::all(measure)).copied();
    let sent = value(Measure::ALL_SENT).filter(|sent| sent.is_finite() && *sent > 0.0)?;
    let rates = value(Measure::PACKETS).zip(value(Measure::OFFERED_FRAMES));
    let share = rates.map(|(received, offered)| received / offered).filter(|share| *share >= 0.0);
    Some((sent * share.unwrap_or(1.0).min(1.0), sent))
}

/// The factor of the first column by which, with one of the second, it makes the third (least squares); of the first alone
/// where both go together.
fn share(rows: &[[f64; 3]]) -> f64 {
    let sum = |of: &dyn Fn(&[f64; 3]) -> f64| rows.iter().map(of).sum::<f64>();
    let (ff, tt, ft) = (sum(&|r| r[0] * r[0]), sum(&|r| r[1] * r[1]), sum(&|r| r[0] * r[1]));
    let (fs, ts) = (sum(&|r| r[0] * r[2]), sum(&|r| r[1] * r[2]));
    let apart = ff * tt - ft * ft;
    let (share, others) = ((fs * tt - ts * ft) / apart, (ts * ff - fs * ft) / apart);
    match apart > ONE_RATE * ff * tt && others >= 0.0 {
        true => share,
        false => fs / ff,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_traffic_is_no_frame() {
        // 1000 frames a second of others, at several rates of ours.
        let rates = [2_000.0, 5_000.0, 9_000.0];
        let rows = |share: f64| {
            rates.map(|rate| [10.0 * rate, 10.0, share * 10.0 * rate + 10_000.0]).to_vec()
        };
        assert!((share(&rows(1.0)) - 1.0).abs() < 1e-9);
        assert!(share(&rows(0.0)).abs() < 1e-9);
        // Of one rate alone, others cannot be told.
        assert!((share(&[[1000.0, 10.0, 990.0]]) - 0.99).abs() < 1e-9);
    }
}
