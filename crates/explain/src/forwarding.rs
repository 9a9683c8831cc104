//! What a router did while it kept a rate: its busiest core, whether the frames passed it, and what sets the rate.

mod connections;
mod lost;
mod rates;

pub use connections::{ConnectionLimit, NewConnections, new_connections};
pub use lost::QueueSeen;
pub use rates::AtRate;

use crate::gather::Gathered;
use crate::thresholds::{
    AROUND_FRAME_BYTES, LOST_THERE, ONE_RATE, PASSED, PATH_SATURATED, ROUTER_IDLE,
};
use plimsoll_model::{
    Cell, ConntrackLoad, CpuTimes, Flag, HostLoad, HostName, Measure, Metric, PartResult,
    RateCaveat, Steps, Study, Trial,
};
use std::collections::BTreeMap;

/// What sets the rate that a router keeps.
#[derive(Clone, Debug, PartialEq)]
pub enum RateLimit {
    /// The sender: the router keeps at least that.
    Sender,
    /// A core of the router, at this utilisation.
    Core {
        /// Utilisation.
        share: f64,
    },
    /// A link of the router, at this utilisation.
    Link {
        /// Its interface.
        interface: String,
        /// Utilisation.
        share: f64,
    },
    /// The queue of a core of the router, which was full.
    CpuQueue {
        /// Share of the lost frames that were lost there.
        share: f64,
    },
    /// A queueing discipline of the router: its CPU is idle enough.
    Queue {
        /// Utilisation of its busiest core by the kernel.
        share: f64,
    },
    /// A shaper, a policer or a link that is not known: the router's CPU is idle enough.
    NotCpu {
        /// Utilisation of its busiest core.
        share: f64,
    },
    /// Nothing is known of the router.
    Unknown,
}

/// A router at the rate that it keeps.
#[derive(Clone, Debug, PartialEq)]
pub struct Forwarded {
    /// The cell.
    pub cell: Cell,
    /// Bytes of a frame.
    pub frame_bytes: f64,
    /// Share of the time that the busiest core of the router spends in soft interrupts.
    pub softirq: Option<f64>,
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
}

/// Frames that were offered to a router, and its load meanwhile.
#[derive(Clone, Copy, Debug)]
struct At<'a> {
    /// Frames per second that were sent, and that arrived.
    offered: f64,
    received: f64,
    /// Frames that were sent.
    sent: f64,
    load: &'a HostLoad,
}

impl<'a> At<'a> {
    fn new(part: Option<&PartResult>, loads: &'a [HostLoad], router: &HostName) -> Option<At<'a>> {
        let value = |measure| part?.quantities.get(&Metric::all(measure)).copied();
        let offered = value(Measure::OFFERED_FRAMES)
            .filter(|offered| offered.is_finite() && *offered > 0.0)?;
        let is_count = |count: &f64| count.is_finite() && *count >= 0.0;
        let received = value(Measure::PACKETS).filter(is_count)?;
        let sent = value(Measure::ALL_SENT).filter(is_count)?;
        let load = loads.iter().find(|load| load.host == *router && load.seconds > 0.0)?;
        Some(At { offered, received, sent, load })
    }

    /// Every trial of the searches.
    fn all(trials: &[&'a Trial], router: &HostName) -> Vec<At<'a>> {
        let points = trials.iter().flat_map(|trial| &trial.points);
        points.filter_map(|point| At::new(point.parts.first(), &point.loads, router)).collect()
    }

    /// Share of the frames that was lost.
    fn loss(&self) -> f64 {
        (1.0 - self.received / self.offered).clamp(0.0, 1.0)
    }

    /// CPU seconds that the kernel took beyond those of the idle router.
    fn caused_by_kernel(&self) -> f64 {
        let idle = self.load.idle.as_ref().map_or(0.0, kernel);
        kernel(&self.load.cpu) - idle * self.load.seconds
    }
}

/// Packets are forwarded in the kernel, before any process: what processes take sets no rate.
fn kernel(cpu: &CpuTimes) -> f64 {
    cpu.system + cpu.irq + cpu.softirq
}

/// A figure of the router in one trial.
type Figure<'a> = &'a dyn Fn(&Trial, &HostLoad) -> Option<f64>;

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
    let frame_bytes = workload.main()?.job.block()?.0 as f64;
    let own = |trial: &&Trial| trial.loads.iter().find(|load| load.host == *router).cloned();
    let loads: Vec<(&Trial, HostLoad)> =
        trials.iter().filter_map(|trial| Some((*trial, own(trial)?))).collect();
    let mean = |value: Figure<'_>| {
        let values: Vec<f64> = loads
            .iter()
            .filter_map(|(trial, load)| value(trial, load))
            .filter(|value| value.is_finite())
            .collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let softirq = mean(&|trial, load| busiest(load, sending(trial, load), |cpu| cpu.softirq));
    let passed = passed(&trials, router);
    let all = At::all(&trials, router);
    let (softnet_dropped, queue) = (lost::softnet(&all), lost::queue(&all));
    let limit = limit(study, &trials, &loads, &mean)
        .unwrap_or_else(|cpu| cpu.limit(softnet_dropped, queue.as_ref()));
    let passes_by = passed.is_some_and(|share| share < PASSED);
    Some(Forwarded {
        cell,
        frame_bytes,
        softirq,
        passed,
        softnet_dropped,
        queue,
        conntrack: lost::conntrack(&all),
        // Frames that its interfaces do not count may go another way.
        offloaded: lost::offloaded(&all).filter(|_| !passes_by),
        rates: rates::rates(&all),
        limit,
    })
}

/// The share of the frames that an interface of the router counted: the most of all interfaces. Other traffic is the part
/// of a count that goes with the time and not with the frames. Frames can be lost in front of the router, as in a tunnel
/// of the sender, or in it after they were counted: it is the share of those that were sent or that arrived, the larger.
pub(crate) fn passed(trials: &[&Trial], router: &HostName) -> Option<f64> {
    let mut counts: BTreeMap<&str, [Vec<[f64; 3]>; 2]> = BTreeMap::new();
    let mut is_monitored = false;
    for trial in trials {
        let points = trial.points.iter().map(|point| (point.parts.first(), &point.loads));
        for (part, loads) in points.chain([(trial.result.parts.first(), &trial.loads)]) {
            let load = loads.iter().find(|load| load.host == *router);
            let Some((frames, load)) = part.and_then(sent_and_arrived).zip(load) else { continue };
            is_monitored = true;
            for one in &load.interfaces {
                let seen = (one.received_packets + one.sent_packets) as f64;
                let rows = counts.entry(&one.name).or_default();
                for (rows, frames) in rows.iter_mut().zip(frames) {
                    rows.push([frames, load.seconds, seen]);
                }
            }
        }
    }
    let shares = counts.values().flatten().map(|rows| share(rows));
    is_monitored.then(|| shares.fold(0.0, f64::max))
}

/// Frames that were sent and that arrived; all of them where nothing is known of the latter. `None` if none was sent.
fn sent_and_arrived(part: &PartResult) -> Option<[f64; 2]> {
    let value = |measure| part.quantities.get(&Metric::all(measure)).copied();
    let sent = value(Measure::ALL_SENT).filter(|sent| *sent > 0.0)?;
    let rates = value(Measure::PACKETS).zip(value(Measure::OFFERED_FRAMES));
    let share = rates.map(|(received, offered)| received / offered).filter(|share| *share >= 0.0);
    Some([sent, sent * share.unwrap_or(1.0).min(1.0)])
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

/// Seconds in which frames were sent: monitoring begins before them and ends after them.
fn sending(trial: &Trial, load: &HostLoad) -> f64 {
    let segments = trial.result.value(0, Metric::all(Measure::ALL_SEGMENTS));
    segments.filter(|seconds| *seconds > 0.0 && *seconds < load.seconds).unwrap_or(load.seconds)
}

/// The share of a class of CPU time on the core that has most of it.
fn busiest(load: &HostLoad, seconds: f64, class: impl Fn(&CpuTimes) -> f64) -> Option<f64> {
    let most = load.cores.iter().map(class).reduce(f64::max)?;
    (seconds > 0.0).then(|| (most / seconds).min(1.0))
}

/// The router's CPU at the rate that it keeps: utilisation of the busiest core, by the kernel and by everything.
#[derive(Clone, Copy, Debug, Default)]
struct Cpu {
    kernel: Option<f64>,
    busy: Option<f64>,
}

impl Cpu {
    /// What sets the rate if no link does, with the share of the lost frames that the queues of cores dropped, and a
    /// queueing discipline.
    fn limit(self, softnet_dropped: Option<f64>, queue: Option<&QueueSeen>) -> RateLimit {
        let limits = queue.is_some_and(QueueSeen::limits);
        match (self.kernel, self.busy, softnet_dropped) {
            (Some(share), ..) if share >= PATH_SATURATED => RateLimit::Core { share },
            (.., Some(share)) if share >= LOST_THERE => RateLimit::CpuQueue { share },
            (Some(share), ..) if share <= ROUTER_IDLE && limits => RateLimit::Queue { share },
            (_, Some(share), _) if share <= ROUTER_IDLE => RateLimit::NotCpu { share },
            _ => RateLimit::Unknown,
        }
    }
}

/// The sender or a link, if one of them sets the rate; else what is known of the CPU.
fn limit(
    study: &Study,
    trials: &[&Trial],
    loads: &[(&Trial, HostLoad)],
    mean: &dyn Fn(Figure<'_>) -> Option<f64>,
) -> Result<RateLimit, Cpu> {
    let is_least = |flag: &Flag| matches!(flag, Flag::KeptRate { caveat: RateCaveat::AtLeast, .. });
    if trials.iter().all(|trial| trial.result.flags.iter().any(is_least)) {
        return Ok(RateLimit::Sender);
    }
    let Some((_, first)) = loads.first() else { return Ok(RateLimit::Unknown) };
    let facts = study.hosts.iter().find(|facts| facts.name == first.host);
    let is_shaped = facts.is_some_and(|facts| facts.lab.is_some());
    for interface in &first.interfaces {
        let Some(rate) = facts.and_then(|facts| facts.link_rate(&interface.name)) else { continue };
        let share = mean(&|trial, load| {
            let own = load.interfaces.iter().find(|one| one.name == interface.name)?;
            let wire = |bytes: u64, packets: u64| match is_shaped {
                true => bytes as f64,
                false => bytes as f64 + AROUND_FRAME_BYTES * packets as f64,
            };
            let sent = wire(own.sent_bytes, own.sent_packets);
            let bytes = sent.max(wire(own.received_bytes, own.received_packets));
            Some(8.0 * bytes / rate as f64 / sending(trial, load))
        });
        if let Some(share) = share.filter(|share| *share >= PATH_SATURATED) {
            let interface = interface.name.clone();
            return Ok(RateLimit::Link { interface, share: share.min(1.0) });
        }
    }
    let of_kernel = mean(&|trial, load| busiest(load, sending(trial, load), kernel));
    let busy = mean(&|trial, load| {
        let share = load.cores_busy.iter().copied().reduce(f64::max)?;
        Some((share * load.seconds / sending(trial, load)).min(1.0))
    });
    Err(Cpu { kernel: of_kernel, busy })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_sets_the_rate_is_a_core_then_its_queue_then_a_discipline() {
        let cpu = |kernel, busy| Cpu { kernel: Some(kernel), busy: Some(busy) };
        let queue = |dropped| QueueSeen {
            interface: "eth0".into(),
            discipline: "tbf".into(),
            dropped,
            held_back: 0.0,
        };
        let (much, little) = (queue(0.5), queue(0.49));
        assert_eq!(cpu(0.9, 0.9).limit(Some(0.9), Some(&much)), RateLimit::Core { share: 0.9 });
        let at = cpu(0.89, 0.9).limit(Some(0.5), Some(&much));
        assert_eq!(at, RateLimit::CpuQueue { share: 0.5 });
        // Processes may keep the cores busy.
        let at = cpu(0.7, 1.0).limit(Some(0.49), Some(&much));
        assert_eq!(at, RateLimit::Queue { share: 0.7 });
        assert_eq!(cpu(0.71, 1.0).limit(None, Some(&much)), RateLimit::Unknown);
        assert_eq!(cpu(0.2, 0.7).limit(None, Some(&little)), RateLimit::NotCpu { share: 0.7 });
        assert_eq!(cpu(0.2, 0.71).limit(None, None), RateLimit::Unknown);
        assert_eq!(Cpu::default().limit(None, Some(&much)), RateLimit::Unknown);
    }

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
