//! What limits each workload on each subject: the service demands of an operation on every resource that
//! was seen, how busy each was, what each would allow alone, and which one's doubling would help most.
//!
//! A closed network (`stats::closed`) of the resources is fitted to what was measured: what an operation
//! takes beyond its demands and their queues is *waiting*, a delay. Then each is halved in turn. The one
//! that this helps most is the limit, where it stands out; else it cannot be told. Nothing is named that
//! no figure supports: of hosts that were not watched nothing is known, and waiting that exceeds what
//! was seen is said to be just that.

mod ladder;
mod network;
mod resources;
mod seen;

pub use ladder::{Ladder, Rung, is_ladder};
pub use resources::{Resource, Role, Use};

use crate::gather::Gathered;
use network::Network;
use plimsoll_model::{Cell, Study};
use seen::Seen;

/// A resource whose doubling would help by less than this, as a share, is no limit.
const HELPS: f64 = 0.05;
/// Two that are both so busy: twice as much of either alone would help by next to nothing, as more than
/// 1/U − 1 is not to be had of the other (Denning and Buzen 1978, ACM Computing Surveys 10, 225–261).
const BOTH_FULL: f64 = 0.9;
/// Operations of so many bytes go through a link while their server still works on them: what one that was not seen
/// takes of them may be as long as all of it, however long the link takes.
const STREAMED: f64 = 65_536.0;
/// What stands out would help by so many times as much as the next.
const STANDS_OUT: f64 = 1.5;
/// More than a link can carry is a wrong figure, beyond what rounding and clocks explain.
const IMPOSSIBLE: f64 = 1.05;

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
    /// Nothing that was seen is near its limit: each operation waits elsewhere.
    Waiting,
    /// More in flight does not help, and nothing that was seen is busy: something is full that was not.
    Hidden,
    /// Figures that contradict each other: the place of what is beyond what it can be.
    Contradiction(usize),
}

/// What was not measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unseen {
    /// The server's processor and disks: its host was not watched.
    Server,
    /// The server's processor: it is on a machine with the client, and cannot be attributed.
    SharedProcessor,
    /// What the network carries: no interface whose rate is known.
    Link,
    /// The round trip of the network.
    RoundTrip,
}

/// What is to be known of a host beside how busy it was (method, section 2).
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// Its clock was not always the same: CPU time at one is not that at another.
    ClockMoved {
        /// The host.
        host: String,
        /// Lowest and highest of any core, in hertz.
        hertz: (f64, f64),
    },
    /// Next to nothing of its memory was left.
    MemoryShort {
        /// The host.
        host: String,
        /// Least that programs could have had, and all of it, in bytes.
        bytes: (u64, u64),
    },
    /// Processes stood still for want of its memory.
    MemoryPressure {
        /// The host.
        host: String,
        /// Share of the time.
        share: f64,
    },
    /// A hypervisor took some of its time for others.
    Stolen {
        /// The host.
        host: String,
        /// Share of the time of its cores.
        share: f64,
    },
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
            one.resource == Resource::Processor && one.servers > 1.0 && (0.9..=1.1).contains(&busy)
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
/// a fixed rate: they have none, nor has what nothing at all was seen of.
pub fn limits(study: &Study) -> Vec<Limits> {
    let gathered = Gathered::new(study);
    let workloads = (0..study.plan.workloads.len()).filter_map(|w| u16::try_from(w).ok());
    let workloads = workloads.filter(|workload| !is_ladder(&study.plan, *workload));
    let cells = workloads.flat_map(|workload| gathered.cells(workload));
    cells.filter_map(|cell| of_cell(study, &gathered, cell)).collect()
}

fn of_cell(study: &Study, gathered: &Gathered<'_>, cell: Cell) -> Option<Limits> {
    study.plan.target(usize::from(cell.subject))?;
    let parts = &study.plan.workload(cell)?.parts;
    if parts.iter().any(|part| part.arrival.per_second().is_some()) {
        return None;
    }
    let trials = gathered.complete(cell);
    let seen = Seen::of_trials(study, cell, &trials).filter(|seen| !seen.uses.is_empty())?;
    let ladder = ladder::of(study, gathered, cell);
    let mut uses = seen.uses;
    for one in &mut uses {
        if let Some((servers, seconds)) = ladder.as_ref().and_then(|ladder| ladder.overlap(one)) {
            *one = Use { servers, ..one.clone() }.at(seen.per_second, seconds, one.background);
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
        conditions: seen.conditions,
        uses,
        ladder,
    };
    limits.verdict = verdict(&limits);
    Some(limits)
}

fn verdict(limits: &Limits) -> Limit {
    let impossible = |one: &Use| one.utilisation > IMPOSSIBLE;
    if let Some(place) = limits.uses.iter().position(impossible) {
        return Limit::Contradiction(place);
    }
    let mut helps: Vec<(Option<usize>, f64)> =
        limits.uses.iter().enumerate().map(|(place, one)| (Some(place), one.gain)).collect();
    helps.push((None, limits.waiting_gain));
    helps.retain(|(_, gain)| *gain >= HELPS);
    helps.sort_by(|a, b| b.1.total_cmp(&a.1));
    let Some((first, most)) = helps.first().copied() else { return Limit::Waiting };
    let alike: Vec<Option<usize>> = helps
        .iter()
        .take_while(|(_, gain)| gain * STANDS_OUT > most)
        .map(|(place, _)| *place)
        .collect();
    let hidden = || limits.ladder.as_ref().is_some_and(Ladder::is_saturated);
    // By utilisation alone; a delay has none, and what others keep busy no workload frees.
    let full = |place: &usize| {
        let one = &limits.uses[*place];
        one.utilisation >= BOTH_FULL && one.demand_seconds > 0.0
    };
    let full: Vec<usize> = (0..limits.uses.len()).filter(full).collect();
    let may_be_unseen = |binding: usize| {
        !full.contains(&binding)
            && limits.unseen.contains(&Unseen::Server)
            && (limits.leaves() >= BOTH_FULL || limits.bytes_per_operation >= STREAMED)
    };
    match (alike.as_slice(), first) {
        ([_], Some(binding)) if full.len() > 1 && full.contains(&binding) => {
            let others = full.into_iter().filter(|place| *place != binding);
            Limit::Several { uses: [binding].into_iter().chain(others).collect(), waiting: false }
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
        _ => Limit::Several {
            uses: alike.iter().flatten().copied().collect(),
            waiting: alike.contains(&None),
        },
    }
}
