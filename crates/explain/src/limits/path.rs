//! The bottleneck of streams over a network path, by rules. A path is no closed network of operations: of each
//! resource that was monitored only its utilisation counts, and of what was not monitored what TCP noticed.

use super::path_link::{IdealGoodput, LinkLayer, NominalRate};
use crate::gather::{Gathered, is_imported};
use crate::thresholds::{
    MOSTLY_STOPPED, PATH_SATURATED, QUEUED, QUEUED_SECONDS, RATE_REACHED, SENT_AGAIN,
};
use plimsoll_model::{
    Cell, Flag, Flow, HostLoad, HostName, InterfaceLoad, Job, Measure, Metric, Parameter,
    PartResult, PathSubject, Point, Steps, Study, Subject, Trial, Workload,
};

/// Host of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathEnd {
    /// The first host.
    A,
    /// The second host.
    B,
    /// The router between both.
    Router,
    /// One machine that is both, or in which the ends cannot be distinguished.
    Both,
}

/// Bottleneck of a path.
#[derive(Clone, Debug, PartialEq)]
pub enum PathBottleneck {
    /// A link at an end, at this utilisation.
    Link {
        /// The end whose interface it is.
        end: PathEnd,
        /// Interface.
        interface: String,
        /// Its rate.
        rate: NominalRate,
        /// Utilisation in its fuller direction.
        share: f64,
    },
    /// A core of a host, or of the machine that is both ends, at this utilisation.
    Core {
        /// The host.
        end: PathEnd,
        /// Utilisation.
        share: f64,
    },
    /// A process of an end on the machine that is both: all processes share its cores.
    Process {
        /// The end.
        end: PathEnd,
        /// Share of a core that the process used.
        share: f64,
    },
    /// The CPU quota of a host.
    Quota {
        /// The host.
        end: PathEnd,
        /// The quota in cores.
        cores: f64,
        /// Utilisation.
        share: f64,
    },
    /// The receive window, for this share of the sending time.
    ReceiveWindow {
        /// Share.
        share: f64,
    },
    /// The send buffer, for this share of the sending time.
    SendBuffer {
        /// Share.
        share: f64,
    },
    /// Packet loss: this share of the payload was sent again.
    Loss {
        /// Share.
        share: f64,
    },
    /// A saturated link or device on the path that is not monitored: a queue grows in front of it.
    Queue {
        /// Round trip under load, in seconds.
        loaded_seconds: f64,
        /// Round trip of the empty path, in seconds.
        least_seconds: f64,
    },
    /// Nothing that was monitored is saturated.
    Unknown {
        /// Whether the rate of a link at an end is known.
        knows_link: bool,
        /// The busiest core that was monitored.
        busiest_core: Option<f64>,
    },
}

/// Bottleneck of the streams of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct PathLimits {
    /// The cell.
    pub cell: Cell,
    /// Its bottleneck.
    pub bottleneck: PathBottleneck,
    /// Highest goodput of TCP over its links, if they are known.
    pub ideal: Option<IdealGoodput>,
    /// Every resource that was monitored, the links first.
    pub uses: Vec<PathUse>,
}

/// Utilisation of a resource of a path, as a mean over the trials.
#[derive(Clone, Debug, PartialEq)]
pub struct PathUse {
    /// The resource.
    pub resource: PathResource,
    /// Utilisation.
    pub share: f64,
}

/// A resource of a path.
#[derive(Clone, Debug, PartialEq)]
pub enum PathResource {
    /// The busiest link at an end.
    Link {
        /// The end whose interface it is.
        end: PathEnd,
        /// Its rate.
        bits_per_second: u64,
    },
    /// The busiest core of a host.
    Core(PathEnd),
    /// The CPU quota of a host.
    Quota(PathEnd),
}

/// Bottlenecks of all cells of paths that have complete trials and move payload. Nothing was monitored while another tool
/// ran: of imported runs, only the bottlenecks that their own figures show.
pub fn path_limits(study: &Study) -> Vec<PathLimits> {
    let gathered = Gathered::new(study);
    let workloads = (0..study.plan.workloads.len()).filter_map(|w| u16::try_from(w).ok());
    let cells = workloads.flat_map(|workload| gathered.cells(workload));
    let limits = cells.filter_map(|cell| of_cell(study, &gathered, cell));
    let is_shown = |limits: &PathLimits| {
        !is_imported(study) || !matches!(limits.bottleneck, PathBottleneck::Unknown { .. })
    };
    limits.filter(is_shown).collect()
}

fn of_cell(study: &Study, gathered: &Gathered<'_>, cell: Cell) -> Option<PathLimits> {
    let PathSubject { from, to, via } =
        study.plan.subjects.get(usize::from(cell.subject)).and_then(Subject::path)?;
    let workload = study.plan.workload(cell)?;
    // A router between both ends sets that rate, see `forwarded` and `routed`.
    if via.is_some() || matches!(workload.steps, Some(Steps::Kept { .. })) {
        return None;
    }
    // The first part that puts a load of bytes on the path, and has streams of its own.
    let part =
        workload.parts.iter().position(|p| p.job.moves_payload() && !p.job.settable().workers)?;
    let trials = gathered.counted(cell);
    let highest = at_highest_rate(workload);
    if arrives(&highest.as_ref().unwrap_or(workload).parts.get(part)?.job, &trials, part) {
        return None;
    }
    let seen: Vec<Observed> = trials
        .iter()
        .filter_map(|trial| Observed::new(study, trial, part, [&from.host, &to.host]))
        .collect();
    let mean = Mean(&seen);
    let (bottleneck, ideal) = (mean.bottleneck()?, mean.ideal());
    Some(PathLimits { cell, bottleneck, ideal, uses: mean.uses() })
}

/// The workload at the highest rate of its sweep, if it sweeps rates: the fastest point is to reach that.
fn at_highest_rate(workload: &Workload) -> Option<Workload> {
    let Some(Steps::Sweep { over: over @ Parameter::Rate, values }) = &workload.steps else {
        return None;
    };
    let highest = values.iter().copied().max_by(f64::total_cmp)?;
    workload.at(*over, highest).ok()
}

/// Whether a job has a fixed rate that arrived in all trials: then the rate is the request, and nothing limits it.
fn arrives(job: &Job, trials: &[&Trial], part: usize) -> bool {
    let Job::Datagrams(job) = job else { return false };
    let Some(rate) = job.rate else { return false };
    let ways = if job.flow == Flow::Both { 2.0 } else { 1.0 };
    let requested = ways * f64::from(rate.get()) * f64::from(job.streams) * job.payload.0 as f64;
    trials.iter().all(|trial| {
        let result = trial.result.parts.get(part);
        let carried = result.and_then(|r| r.quantities.get(&Metric::all(Measure::THROUGHPUT)));
        carried.is_some_and(|carried| *carried >= RATE_REACHED * requested)
    })
}

/// What a part of a trial did, with the loads of the hosts; of a search, at the fastest value that it accepted.
fn measured(trial: &Trial, part: usize) -> Option<(&PartResult, &[HostLoad])> {
    let speed = |point: &&Point| {
        let result = point.parts.get(part);
        let speed = result.and_then(|r| r.quantities.get(&Metric::all(Measure::THROUGHPUT)));
        speed.copied().unwrap_or(0.0)
    };
    let accepted = trial.points.iter().filter(|point| point.accepted != Some(false));
    match accepted.max_by(|a, b| speed(a).total_cmp(&speed(b))) {
        Some(point) => Some((point.parts.get(part)?, &point.loads)),
        None => Some((trial.result.parts.get(part)?, &trial.loads)),
    }
}

/// A link at an end, and its utilisation in the fuller direction.
#[derive(Clone, Debug)]
struct BusyLink {
    end: PathEnd,
    interface: String,
    rate: NominalRate,
    share: f64,
}

/// What one trial shows.
#[derive(Debug, Default)]
struct Observed {
    /// Busiest link of both ends.
    link: Option<BusyLink>,
    /// Busiest core of each host. Of an end with a machine of its own, also its busiest process, on whatever cores.
    cores: Vec<(PathEnd, f64)>,
    /// Busiest process of each end on the machine that is both, in cores.
    processes: Vec<(PathEnd, f64)>,
    /// Quotas: host, cores, utilisation.
    quotas: Vec<(PathEnd, f64, f64)>,
    receive_window: Option<f64>,
    send_buffer: Option<f64>,
    loss: Option<f64>,
    least_trip: Option<f64>,
    loaded_trip: Option<f64>,
    /// Rate of the interface that carried the most, at each end.
    used_rates: Vec<NominalRate>,
    segment: Option<f64>,
    path_mtu: Option<f64>,
}

impl Observed {
    fn new(study: &Study, trial: &Trial, part: usize, ends: [&HostName; 2]) -> Option<Observed> {
        let (result, loads) = measured(trial, part)?;
        let value = |measure| result.quantities.get(&Metric::all(measure)).copied();
        let mut seen = Observed {
            receive_window: value(Measure::WINDOW_LIMITED),
            send_buffer: value(Measure::BUFFER_LIMITED),
            loss: value(Measure::RETRANSMITTED),
            least_trip: value(Measure::FLOW_RTT_LEAST),
            loaded_trip: value(Measure::FLOW_RTT_P50),
            segment: value(Measure::SEGMENT),
            path_mtu: value(Measure::PATH_MTU),
            ..Observed::default()
        };
        // Monitoring begins before the load and ends after it.
        let seconds = result.answered_seconds.filter(|seconds| *seconds > 0.0);
        let [a, b] = ends;
        let is_shared = |flag: &Flag| matches!(flag, Flag::SameMachine { .. });
        let shared = a == b || study.flags.iter().any(is_shared);
        let sides = [
            (PathEnd::A, a, value(Measure::NEAR_BUSIEST)),
            (PathEnd::B, b, value(Measure::FAR_BUSIEST)),
        ];
        let monitored = |name: &HostName| {
            let load = loads.iter().find(|load| load.host == *name && load.seconds > 0.0)?;
            Some((load, seconds.unwrap_or(load.seconds)))
        };
        let of_cores = |end: PathEnd| if shared { PathEnd::Both } else { end };
        for (end, name, process) in sides {
            let process = process.map(|share| (end, share.min(1.0)));
            if shared { &mut seen.processes } else { &mut seen.cores }.extend(process);
            let Some((load, seconds)) = monitored(name) else { continue };
            seen.processors(load, of_cores(end), end, seconds);
            seen.links(study, load, end, seconds);
        }
        let router = study.plan.router(usize::from(trial.cell.subject));
        if let Some((load, seconds)) = router.and_then(monitored) {
            seen.processors(load, of_cores(PathEnd::Router), PathEnd::Router, seconds);
        }
        Some(seen)
    }

    /// What the counters of a host show of its processors. Its cores may be those of the other end, too; its quota is
    /// its own.
    fn processors(&mut self, load: &HostLoad, of_cores: PathEnd, end: PathEnd, seconds: f64) {
        let within = load.seconds / seconds;
        let busiest = load.cores_busy.iter().copied().reduce(f64::max);
        self.cores.extend(busiest.map(|busy| (of_cores, (busy * within).min(1.0))));
        let quota = load.control_group.and_then(|group| Some((group, group.quota_cores?)));
        if let Some((group, cores)) = quota.filter(|(_, cores)| *cores > 0.0) {
            let used = group.cpu_seconds / (cores * seconds);
            let share = used.max(group.throttled_share.unwrap_or(0.0));
            self.quotas.push((end, cores, share.min(1.0)));
        }
    }

    /// What the counters of an end show of its links.
    fn links(&mut self, study: &Study, load: &HostLoad, end: PathEnd, seconds: f64) {
        let facts = study.hosts.iter().find(|facts| facts.name == load.host);
        // The rate of a lab is a shaper's.
        let is_shaped = facts.is_some_and(|facts| facts.lab.is_some());
        let layer = if is_shaped { LinkLayer::Frames } else { LinkLayer::Wire };
        let rate = |one: &InterfaceLoad| {
            let bits_per_second = facts.and_then(|facts| facts.link_rate(&one.name))?;
            Some(NominalRate { bits_per_second, layer })
        };
        let used = load.interfaces.iter().max_by_key(|one| one.received_bytes.max(one.sent_bytes));
        self.used_rates.extend(used.and_then(rate));
        for interface in &load.interfaces {
            let Some(rate) = rate(interface) else { continue };
            let received = layer.taken(interface.received_bytes, interface.received_packets);
            let sent = layer.taken(interface.sent_bytes, interface.sent_packets);
            let bits = 8.0 * received.max(sent);
            let share = (bits / rate.bits_per_second as f64 / seconds).min(1.0);
            if self.link.as_ref().is_none_or(|known| share > known.share) {
                self.link = Some(BusyLink { end, interface: interface.name.clone(), rate, share });
            }
        }
    }
}

/// Arithmetic means over the trials of a cell.
struct Mean<'a>(&'a [Observed]);

impl Mean<'_> {
    fn value(&self, of: impl Fn(&Observed) -> Option<f64>) -> Option<f64> {
        let values: Vec<f64> = self.0.iter().filter_map(of).filter(|v| v.is_finite()).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    /// Mean of the busiest of each host.
    fn busiest(&self, all: impl Fn(&Observed) -> &Vec<(PathEnd, f64)>) -> Vec<(PathEnd, f64)> {
        let busiest = |end| {
            let own = |seen: &Observed| {
                all(seen).iter().filter(|one| one.0 == end).map(|one| one.1).reduce(f64::max)
            };
            Some((end, self.value(own)?))
        };
        let hosts = [PathEnd::A, PathEnd::B, PathEnd::Router, PathEnd::Both];
        hosts.into_iter().filter_map(busiest).collect()
    }

    /// Utilisation of the busiest link.
    fn link_share(&self) -> Option<f64> {
        self.value(|seen| Some(seen.link.as_ref()?.share))
    }

    fn ideal(&self) -> Option<IdealGoodput> {
        let (segment, packet) = (self.value(|s| s.segment)?, self.value(|s| s.path_mtu)?);
        let rates = self.0.iter().flat_map(|seen| &seen.used_rates).copied();
        Some(IdealGoodput::new(rates.min_by_key(|rate| rate.bits_per_second)?, segment, packet))
    }

    fn uses(&self) -> Vec<PathUse> {
        let Some(first) = self.0.first() else { return Vec::new() };
        let mut uses = Vec::new();
        if let (Some(share), Some(link)) = (self.link_share(), &first.link) {
            let bits_per_second = link.rate.bits_per_second;
            let resource = PathResource::Link { end: link.end, bits_per_second };
            uses.push(PathUse { resource, share });
        }
        for (end, _, _) in &first.quotas {
            let quota_share = |seen: &Observed| {
                seen.quotas.iter().find(|quota| quota.0 == *end).map(|quota| quota.2)
            };
            let resource = PathResource::Quota(*end);
            uses.extend(self.value(quota_share).map(|share| PathUse { resource, share }));
        }
        let core = |(end, share)| PathUse { resource: PathResource::Core(end), share };
        uses.extend(self.busiest(|seen| &seen.cores).into_iter().map(core));
        uses
    }

    /// What is saturated, else what TCP noticed, else nothing. A saturated link comes first: it is the bottleneck
    /// however busy the cores are. A quota and a process are an end's own. A core may be busy with other work, and no
    /// core of a machine that is both ends is attributed to one of them.
    fn bottleneck(&self) -> Option<PathBottleneck> {
        let first = self.0.first()?;
        let saturated = |share: &f64| *share >= PATH_SATURATED;
        let link = self.link_share();
        if let (Some(share), Some(full)) = (link.filter(saturated), &first.link) {
            let BusyLink { end, interface, rate, .. } = full.clone();
            return Some(PathBottleneck::Link { end, interface, rate, share });
        }
        for (end, cores, _) in &first.quotas {
            let quota_share = |seen: &Observed| {
                seen.quotas.iter().find(|quota| quota.0 == *end).map(|quota| quota.2)
            };
            if let Some(share) = self.value(quota_share).filter(saturated) {
                return Some(PathBottleneck::Quota { end: *end, cores: *cores, share });
            }
        }
        let processes = self.busiest(|seen| &seen.processes);
        let cores = self.busiest(|seen| &seen.cores);
        let fullest = |all: &[(PathEnd, f64)]| {
            all.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a })
        };
        if let Some((end, share)) = fullest(&processes).filter(|(_, share)| saturated(share)) {
            return Some(PathBottleneck::Process { end, share });
        }
        if let Some((end, share)) = fullest(&cores).filter(|(_, share)| saturated(share)) {
            return Some(PathBottleneck::Core { end, share });
        }
        let busiest_core = cores.iter().chain(&processes).map(|(_, share)| *share).reduce(f64::max);
        let limited = |share: Option<f64>| share.filter(|share| *share >= MOSTLY_STOPPED);
        if let Some(share) = limited(self.value(|seen| seen.receive_window)) {
            return Some(PathBottleneck::ReceiveWindow { share });
        }
        if let Some(share) = limited(self.value(|seen| seen.send_buffer)) {
            return Some(PathBottleneck::SendBuffer { share });
        }
        let trips = (self.value(|seen| seen.loaded_trip), self.value(|seen| seen.least_trip));
        if let (Some(loaded_seconds), Some(least_seconds)) = trips
            && loaded_seconds >= QUEUED * least_seconds
            && loaded_seconds - least_seconds >= QUEUED_SECONDS
        {
            return Some(PathBottleneck::Queue { loaded_seconds, least_seconds });
        }
        if let Some(share) = self.value(|seen| seen.loss).filter(|share| *share >= SENT_AGAIN) {
            return Some(PathBottleneck::Loss { share });
        }
        Some(PathBottleneck::Unknown { knows_link: link.is_some(), busiest_core })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(bits_per_second: u64) -> NominalRate {
        NominalRate { bits_per_second, layer: LinkLayer::Wire }
    }

    fn link(end: PathEnd, share: f64) -> Option<BusyLink> {
        Some(BusyLink { end, interface: "lan".into(), rate: rate(100_000_000), share })
    }

    fn idle() -> Observed {
        Observed {
            link: link(PathEnd::A, 0.3),
            cores: vec![(PathEnd::A, 0.2), (PathEnd::B, 0.4), (PathEnd::Both, 0.5)],
            receive_window: Some(0.0),
            send_buffer: Some(0.1),
            loss: Some(0.0),
            least_trip: Some(0.0005),
            loaded_trip: Some(0.0007),
            ..Observed::default()
        }
    }

    fn named(seen: Observed) -> PathBottleneck {
        Mean(&[seen]).bottleneck().unwrap()
    }

    #[test]
    fn what_is_saturated_is_named() {
        let link = link(PathEnd::B, 0.95);
        let found = named(Observed { link: link.clone(), ..idle() });
        assert!(matches!(found, PathBottleneck::Link { end: PathEnd::B, share: 0.95, .. }));
        // Other work that keeps a core busy does not hide it.
        let busy = vec![(PathEnd::Both, 1.0)];
        let found = named(Observed { link, cores: busy.clone(), ..idle() });
        assert!(matches!(found, PathBottleneck::Link { .. }), "{found:?}");
        let quotas = vec![(PathEnd::A, 0.2, 1.0)];
        let found = named(Observed { quotas, cores: busy, ..idle() });
        assert_eq!(found, PathBottleneck::Quota { end: PathEnd::A, cores: 0.2, share: 1.0 });
        let cores = vec![(PathEnd::A, 0.93), (PathEnd::B, 0.99)];
        let found = named(Observed { cores, ..idle() });
        assert_eq!(found, PathBottleneck::Core { end: PathEnd::B, share: 0.99 });
        // A process is known to be an end's own, and is named before a core that both ends share.
        let processes = vec![(PathEnd::A, 0.31), (PathEnd::B, 0.96)];
        let found = named(Observed { processes, cores: vec![(PathEnd::Both, 1.0)], ..idle() });
        assert_eq!(found, PathBottleneck::Process { end: PathEnd::B, share: 0.96 });
        let processes = vec![(PathEnd::A, 0.31), (PathEnd::B, 0.6)];
        let found = named(Observed { processes, cores: vec![(PathEnd::Both, 1.0)], ..idle() });
        assert_eq!(found, PathBottleneck::Core { end: PathEnd::Both, share: 1.0 });
    }

    #[test]
    fn what_tcp_noticed_is_named_where_nothing_is_saturated() {
        let found = named(Observed { receive_window: Some(0.8), ..idle() });
        assert_eq!(found, PathBottleneck::ReceiveWindow { share: 0.8 });
        let found = named(Observed { send_buffer: Some(0.6), ..idle() });
        assert_eq!(found, PathBottleneck::SendBuffer { share: 0.6 });
        let found = named(Observed { loaded_trip: Some(0.02), loss: Some(0.05), ..idle() });
        assert!(matches!(found, PathBottleneck::Queue { .. }), "{found:?}");
        let found = named(Observed { loss: Some(0.05), ..idle() });
        assert_eq!(found, PathBottleneck::Loss { share: 0.05 });
        let found = named(idle());
        assert_eq!(found, PathBottleneck::Unknown { knows_link: true, busiest_core: Some(0.5) });
        assert_eq!(Mean(&[]).bottleneck(), None);
    }

    #[test]
    fn the_ideal_goodput_is_that_of_the_slowest_link() {
        let seen = Observed {
            used_rates: vec![rate(2_500_000_000), rate(1_000_000_000)],
            segment: Some(1448.0),
            path_mtu: Some(1500.0),
            ..idle()
        };
        let ideal = Mean(&[seen]).ideal().unwrap();
        assert!((8.0 * ideal.bytes_per_second - 941.5e6).abs() < 0.1e6, "{ideal:?}");
        assert_eq!((ideal.rate, ideal.packet_bytes), (rate(1_000_000_000), 1500.0));
        assert_eq!(Mean(&[idle()]).ideal(), None, "no segment is known");
    }

    #[test]
    fn trials_are_averaged() {
        let busy = |share| Observed { link: link(PathEnd::A, share), ..idle() };
        let seen = [busy(0.85), busy(0.97)];
        let found = Mean(&seen).bottleneck().unwrap();
        assert!(matches!(found, PathBottleneck::Link { share, .. } if (share - 0.91).abs() < 1e-9));
    }
}
