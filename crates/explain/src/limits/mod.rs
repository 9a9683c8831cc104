//! What limits each workload on each subject: the service demands of an operation on every resource that
//! was seen, how busy each was, what each would allow alone, and which one's doubling would help most.
//!
//! A closed network (`stats::closed`) of the resources is fitted to what was measured: what an operation
//! takes beyond its demands and their queues is *waiting*, a delay. Then each is halved in turn. The one
//! that this helps most is the limit, where it stands out; else it cannot be told. Nothing is named that
//! no figure supports: of hosts that were not watched nothing is known, and waiting that exceeds what
//! was seen is said to be just that.

mod conditions;
mod host;
mod ladder;
mod named;
pub(crate) mod network;
mod observed;
mod path;
mod path_costs;
mod path_link;
mod resources;

pub use conditions::{Condition, Unseen};
pub use ladder::{Ladder, Rung, is_ladder};
pub use named::{NamedLimit, named_limits};
pub use path::{PathBottleneck, PathEnd, PathLimits, PathResource, PathUse, path_limits};
pub use path_costs::{PathCosts, StreamCosts, path_costs};
pub use path_link::{IdealGoodput, LinkLayer, NominalRate};
pub use resources::{Resource, Role, Use};

use crate::gather::Gathered;
use crate::thresholds::{BOTH_SATURATED, LEAST_GAIN, ONE_CORE, STANDS_OUT, STREAMED_BYTES};
use crate::transfers::largest_transfer;
use network::Network;
use observed::Observed;
use plimsoll_model::{Cell, HostName, Parameter, Study, Target};

/// What limits a workload on a subject under a setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Which.
    pub cell: Cell,
    /// Operations per second, the final flush included.
    pub per_second: f64,
    /// Payload bytes of an operation; 0 where none are moved.
    pub bytes_per_operation: f64,
    /// Operations in flight on average.
    pub in_flight: f64,
    /// Every resource that was seen, the busiest first.
    pub uses: Vec<Use>,
    /// Seconds of an operation that no resource that was seen accounts for, queues included: the
    /// network's round trip where that is not known, locks, hosts that were not watched.
    pub waiting_seconds: f64,
    /// How much more would be done if that were half, as a share.
    pub waiting_gain: f64,
    /// What that makes the limit.
    pub verdict: Limit,
    /// What was not measured and may be the limit.
    pub unseen: Vec<Unseen>,
    /// Hosts with a quota that were not watched, of a lab alone.
    pub held: Vec<QuotaHost>,
    /// How many calls one operation is, where the largest transfer that client and server agreed on is smaller, and
    /// how many bytes that takes.
    pub calls: Option<(u64, u32)>,
    /// What makes figures of a host bounds rather than predictions.
    pub conditions: Vec<Condition>,
    /// How it went with other numbers in flight, where that was measured.
    pub ladder: Option<Ladder>,
}

/// What the limit is.
#[derive(Clone, Debug, PartialEq)]
pub enum Limit {
    /// One resource, and what would help most after it, both as places in [`Limits::uses`].
    Resource {
        /// The limit.
        binding: usize,
        /// The one after it; `None` where that is waiting, or nothing.
        runner_up: Option<usize>,
    },
    /// Several of [`Limits::uses`] would help about as much as each other, or as less waiting would.
    Several {
        /// Which, what helps most first.
        uses: Vec<usize>,
        /// Whether waiting is among them.
        waiting: bool,
    },
    /// Nothing that was monitored is saturated, so nothing is named. These of [`Limits::uses`] take most of an
    /// operation's time, what helps most first.
    Unsaturated(Vec<usize>),
    /// Nothing that was seen is near its limit: each operation waits elsewhere.
    Waiting,
    /// More in flight does not help, and nothing that was seen is busy: something is full that was not.
    Hidden,
    /// Nothing is named, and figures contradict each other: the place of what is beyond what it can be.
    Contradiction(usize),
}

/// A host of a lab on the way between client and server that may have a part of a core alone, and was not watched.
#[derive(Clone, Debug, PartialEq)]
pub struct QuotaHost {
    /// The host.
    pub host: HostName,
    /// Of how many cores it may have the time.
    pub cores: f64,
}

impl Limits {
    /// The seconds of one operation: what is in flight by what is done in a second (Little's law).
    pub fn response_seconds(&self) -> f64 {
        self.in_flight / self.per_second
    }

    /// Operations in flight that are not being served by what was seen: one of them is enough to keep something
    /// busy all the time that was not seen, however much waits for what was.
    fn leaves(&self) -> f64 {
        let served: f64 = self.uses.iter().map(Use::service_seconds).sum();
        self.in_flight - self.per_second * served
    }

    /// A host whose cores were busy for one core's worth together, give or take a tenth: what a single thread
    /// makes of them that is always busy and moves from one to another. Where more in flight does not help and
    /// nothing else is full, that may be it.
    pub fn one_thread(&self) -> Option<&Use> {
        let full = matches!(self.verdict, Limit::Hidden);
        let one = |one: &&Use| {
            let busy = (one.utilisation - one.background) * one.servers;
            one.resource == Resource::Processor && one.servers > 1.0 && ONE_CORE.contains(&busy)
        };
        self.uses.iter().find(one).filter(|_| full)
    }

    /// The limit, where it is one resource.
    pub fn binding(&self) -> Option<&Use> {
        match self.verdict {
            Limit::Resource { binding, .. } => self.uses.get(binding),
            _ => None,
        }
    }
}

/// What limits each cell that has complete trials, by workload, setting and subject. Imports have no
/// loads of hosts, and paths and hosts by themselves are no closed loops of operations, nor is what is done at
/// a fixed rate: they have none, nor has what nothing at all was seen of. A sweep or a search has the limits of its
/// fastest value.
pub fn limits(study: &Study) -> Vec<Limits> {
    let gathered = Gathered::new(study);
    let workloads = (0..study.plan.workloads.len()).filter_map(|w| u16::try_from(w).ok());
    let workloads = workloads.filter(|workload| !is_ladder(&study.plan, *workload));
    let cells = workloads.flat_map(|workload| gathered.cells(workload));
    cells.filter_map(|cell| of_cell(study, &gathered, cell)).collect()
}

fn of_cell(study: &Study, gathered: &Gathered<'_>, cell: Cell) -> Option<Limits> {
    study.plan.target(usize::from(cell.subject))?;
    let workload = study.plan.workload(cell)?;
    if workload.has_fixed_rate() || workload.steps_through_rates() {
        return None;
    }
    let trials = gathered.counted(cell);
    let seen = match workload.steps {
        None => Observed::of_trials(study, cell, &trials),
        Some(_) => Observed::of_best_points(study, cell, &trials),
    };
    let seen = seen.filter(|seen| !seen.uses.is_empty())?;
    let ladder = ladder::find(study, gathered, cell);
    let mut uses = seen.uses;
    for one in &mut uses {
        if let Some((servers, seconds)) = ladder.as_ref().and_then(|ladder| ladder.overlap(one)) {
            let overlapping = Use { servers, ..one.clone() };
            let overlapping = overlapping.at(seen.per_second, seconds, one.background);
            *one = overlapping.bounded(seen.per_second, 1.0);
        }
    }
    let network = Network::fit(&uses, seen.per_second, seen.in_flight)?;
    for (number, one) in uses.iter_mut().enumerate() {
        one.gain = network.gain(number);
    }
    uses.sort_by(|a, b| b.utilisation.total_cmp(&a.utilisation));
    let mut limits = Limits {
        cell,
        per_second: seen.per_second,
        bytes_per_operation: seen.bytes_per_operation,
        in_flight: seen.in_flight,
        waiting_seconds: network.waiting,
        waiting_gain: network.gain_of_waiting(),
        verdict: Limit::Waiting,
        unseen: seen.unseen,
        held: quota_hosts(study, cell),
        calls: calls(study, cell),
        conditions: seen.conditions,
        uses,
        ladder,
    };
    limits.verdict = verdict(&limits);
    Some(limits)
}

/// Hosts of a lab between client and server, which are not watched, and may have a part of a core.
fn quota_hosts(study: &Study, cell: Cell) -> Vec<QuotaHost> {
    let server = study.plan.target(usize::from(cell.subject)).and_then(Target::host);
    let lab = study.hosts.iter().find_map(|facts| {
        let HostName::Lab { lab, host } = &facts.name else { return None };
        Some((lab, host, facts.lab.as_ref()?))
    });
    let (Some(server), Some((lab, client, facts))) = (server, lab) else { return Vec::new() };
    let quota = |host: &str| {
        let cores = facts.quota(host)?;
        let host = HostName::Lab { lab: lab.clone(), host: host.to_owned() };
        let watched = study.hosts.iter().any(|known| known.name == host);
        (!watched).then_some(QuotaHost { host, cores })
    };
    facts.between(client, server).into_iter().filter_map(quota).collect()
}

/// How many calls one operation is, and of how many bytes, where it is several.
fn calls(study: &Study, cell: Cell) -> Option<(u64, u32)> {
    let workload = study.plan.workload(cell)?;
    // The block of a sweep over blocks is not the one of the plan.
    if workload.steps.as_ref().is_some_and(|steps| steps.over() == Parameter::Block) {
        return None;
    }
    let job = &workload.main()?.job;
    let facts = study.subjects.get(usize::from(cell.subject))?.storage()?;
    let largest = largest_transfer(job, facts);
    let calls = job.block()?.0.div_ceil(u64::from(largest).max(1));
    (largest > 0 && calls > 1).then_some((calls, largest))
}

fn verdict(limits: &Limits) -> Limit {
    let named = if_saturated(limits, what_helps_most(limits));
    let is_open = matches!(named, Limit::Waiting | Limit::Hidden | Limit::Unsaturated(_));
    // What contradicts itself is left out; what else is full is full.
    match limits.uses.iter().position(Use::is_contradictory) {
        Some(place) if is_open => Limit::Contradiction(place),
        _ => named,
    }
}

/// A resource that is not saturated is no bottleneck, however much it would help; and where one is nearly saturated it is
/// not waiting alone.
fn if_saturated(limits: &Limits, helps_most: Limit) -> Limit {
    let is_saturated = |place: &usize| limits.uses[*place].is_nearly_saturated();
    let is_delay = |place: &usize| limits.uses[*place].is_delay();
    let unsaturated = |uses: Vec<usize>| {
        let is_elsewhere = limits.unseen.contains(&Unseen::Server) || !limits.held.is_empty();
        let is_flat = limits.ladder.as_ref().is_some_and(Ladder::is_saturated);
        match (is_elsewhere, is_flat) {
            (true, true) => Limit::Hidden,
            (true, false) => Limit::Waiting,
            (false, _) => Limit::Unsaturated(uses),
        }
    };
    match helps_most {
        Limit::Resource { binding, .. } if !is_saturated(&binding) && !is_delay(&binding) => {
            unsaturated(vec![binding])
        }
        Limit::Several { uses, .. }
            if !uses.iter().any(is_saturated) && !uses.iter().all(is_delay) =>
        {
            unsaturated(uses)
        }
        Limit::Several { uses, waiting } => {
            let is_named = |place: &usize| is_saturated(place) || is_delay(place);
            let (uses, others): (Vec<usize>, Vec<usize>) = uses.into_iter().partition(is_named);
            match uses.len() {
                1 if !waiting => {
                    Limit::Resource { binding: uses[0], runner_up: others.first().copied() }
                }
                _ => Limit::Several { uses, waiting },
            }
        }
        Limit::Waiting | Limit::Hidden => {
            let nearly: Vec<usize> = (0..limits.uses.len()).filter(is_saturated).collect();
            match nearly.is_empty() {
                true => helps_most,
                false => Limit::Several { uses: nearly, waiting: true },
            }
        }
        named => named,
    }
}

/// The resource whose doubling would help most, saturated or not.
fn what_helps_most(limits: &Limits) -> Limit {
    let mut helps: Vec<(Option<usize>, f64)> =
        limits.uses.iter().enumerate().map(|(place, one)| (Some(place), one.gain)).collect();
    let full = |place: &usize| limits.uses[*place].is_full();
    let mut full: Vec<usize> = (0..limits.uses.len()).filter(full).collect();
    // Of two or more that are full no single one helps, however many more there are.
    if full.len() > 1 {
        full.sort_by(|a, b| limits.uses[*b].gain.total_cmp(&limits.uses[*a].gain));
        return Limit::Several { uses: full, waiting: false };
    }
    helps.push((None, limits.waiting_gain));
    helps.retain(|(_, gain)| *gain >= LEAST_GAIN);
    helps.sort_by(|a, b| b.1.total_cmp(&a.1));
    let Some((first, most)) = helps.first().copied() else {
        let runner_up = None;
        return full
            .first()
            .map_or(Limit::Waiting, |binding| Limit::Resource { binding: *binding, runner_up });
    };
    let alike: Vec<Option<usize>> = helps
        .iter()
        .take_while(|(_, gain)| gain * STANDS_OUT > most)
        .map(|(place, _)| *place)
        .collect();
    let hidden = || limits.ladder.as_ref().is_some_and(Ladder::is_saturated);
    let may_be_unseen = |binding: usize| {
        !full.contains(&binding)
            && limits.unseen.contains(&Unseen::Server)
            && (limits.leaves() >= BOTH_SATURATED || limits.bytes_per_operation >= STREAMED_BYTES)
    };
    match (alike.as_slice(), first) {
        // What is full is named, whatever else would help: by how much it would is not known well where others keep
        // it busy as well.
        ([_], other) if full.first().is_some_and(|full| other != Some(*full)) => {
            let uses = other.into_iter().chain(full).collect();
            Limit::Several { uses, waiting: other.is_none() }
        }
        ([_], Some(binding)) if may_be_unseen(binding) => {
            Limit::Several { uses: vec![binding], waiting: true }
        }
        ([_], Some(binding)) => {
            let runner_up = helps.get(1).and_then(|(place, _)| *place);
            Limit::Resource { binding, runner_up }
        }
        ([_], None) if hidden() => Limit::Hidden,
        ([_], None) => Limit::Waiting,
        _ => {
            full.retain(|place| !alike.contains(&Some(*place)));
            Limit::Several {
                uses: alike.iter().flatten().copied().chain(full).collect(),
                waiting: alike.contains(&None),
            }
        }
    }
}
