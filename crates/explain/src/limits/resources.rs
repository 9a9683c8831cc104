//! Resources, and how much of each an operation takes.

use crate::thresholds::{BOTH_SATURATED, IMPOSSIBLE, NEARLY_SATURATED, SATURATED};
use plimsoll_model::{CpuTimes, HostName};

/// Whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// The machine that drives the trials.
    Client,
    /// A server's host.
    Server,
    /// One machine is both.
    Both,
}

/// What an operation takes time of.
#[derive(Clone, Debug, PartialEq)]
pub enum Resource {
    /// The network, in its fuller direction.
    Link {
        /// The interface whose counters these are.
        interface: String,
        /// What it is connected at.
        bits_per_second: u64,
    },
    /// plimsoll's own driving threads, one for each worker.
    Driver,
    /// All cores of a host.
    Processor,
    /// One core of a host that is much busier than the others: a receive queue, or one thread.
    Core {
        /// Its number.
        number: usize,
    },
    /// What a control group lets a host or its server have of the processors.
    Quota {
        /// In cores.
        cores: f64,
        /// Share of the time that its processes were held back.
        throttled: f64,
    },
    /// The threads of the kernel's NFS server, where all of them are busy or wait for its disk.
    Threads {
        /// How many.
        count: u32,
    },
    /// A disk that had something to do.
    Disk {
        /// As in /dev.
        name: String,
    },
    /// The network's round trip, without load: a delay, of which nothing is used up.
    RoundTrip,
}

/// How much of a resource a workload took.
#[derive(Clone, Debug, PartialEq)]
pub struct Use {
    /// Which.
    pub resource: Resource,
    /// On which host of the study; `None` of a round trip and of the load generator.
    pub host: Option<HostName>,
    /// Whose that is.
    pub role: Role,
    /// Share of the time that it was busy, with what it does anyway: U = U₀ + X·D. 0 of a delay; above 1 where its
    /// figures contradict each other.
    pub utilisation: f64,
    /// The same without the workload: U₀.
    pub background: f64,
    /// Seconds of it that one operation took beyond that: D, of all its servers together. 0 where that is
    /// inconclusive, and where figures contradict each other.
    pub demand_seconds: f64,
    /// How many can work at a time: cores, threads; operations of a disk that is seen or known to work on
    /// several. 1 of others.
    pub servers: f64,
    /// Operations per second that it would allow alone: (1 − U₀)·servers/D, never less than were measured. `None` of
    /// a delay, and where the demand is not known.
    pub alone_per_second: Option<f64>,
    /// How much more would be done if an operation took half as much of it, as a share.
    pub gain: f64,
    /// Of processors: shares of their time by class.
    pub classes: Option<CpuTimes>,
    /// Of disks: how many operations it had at a time, on average while it had any.
    pub at_a_time: Option<f64>,
}

impl Use {
    pub(super) fn new(resource: Resource, host: Option<&HostName>, role: Role) -> Use {
        Use {
            resource,
            host: host.cloned(),
            role,
            utilisation: 0.0,
            background: 0.0,
            demand_seconds: 0.0,
            servers: 1.0,
            alone_per_second: None,
            gain: 0.0,
            classes: None,
            at_a_time: None,
        }
    }

    /// Busy by so many operations a second of so many seconds each, and by what it does anyway.
    pub(super) fn at(self, per_second: f64, demand_seconds: f64, background: f64) -> Use {
        let demand_seconds = demand_seconds.max(0.0);
        let background = background.clamp(0.0, 1.0);
        let alone = (1.0 - background) * self.servers / demand_seconds;
        Use {
            utilisation: background + per_second * demand_seconds / self.servers,
            background,
            demand_seconds,
            alone_per_second: Some(alone).filter(|alone| alone.is_finite()),
            ..self
        }
    }

    /// The same, held against the share of the time of its counters in which it was busy. These begin before the
    /// operations that are counted and end after them, and quotas save up, so that more than all of it may seem to
    /// have been used. What was busy nearly all the time carried what was measured: it cannot allow less. Of
    /// anything else, more than all of it is a contradiction: what an operation takes of it is not known.
    pub(super) fn bounded(self, per_second: f64, busy_share: f64) -> Use {
        let full = NEARLY_SATURATED..IMPOSSIBLE;
        if self.utilisation <= 1.0 {
            return self;
        }
        if self.utilisation > IMPOSSIBLE && !full.contains(&busy_share) {
            return Use { demand_seconds: 0.0, alone_per_second: None, ..self };
        }
        let demand_seconds = (1.0 - self.background) * self.servers / per_second;
        let alone_per_second = Some(per_second).filter(|_| demand_seconds > 0.0);
        Use { utilisation: 1.0, demand_seconds, alone_per_second, ..self }
    }

    /// Busy for this share of the time, of which nothing is known to be an operation's.
    pub(super) fn inconclusive(self, busy_share: f64) -> Use {
        let utilisation = busy_share.clamp(0.0, 1.0);
        Use { utilisation, background: utilisation, ..self }
    }

    /// Whether its figures contradict each other: it would have been busy for more than all of the time.
    pub fn is_contradictory(&self) -> bool {
        self.utilisation > IMPOSSIBLE
    }

    /// Whether it is busy nearly all the time, by its utilisation alone: a delay has none, and what others keep busy no
    /// workload frees. Of the processors of a machine that client and server share less is enough: threads of both
    /// wait for each other there.
    pub fn is_full(&self) -> bool {
        let of_both = self.role == Role::Both
            && matches!(self.resource, Resource::Processor | Resource::Core { .. });
        self.is_conclusive() && self.utilisation >= if of_both { SATURATED } else { BOTH_SATURATED }
    }

    /// Whether it is busy enough to be named as a bottleneck. Of a delay nothing is used up.
    pub fn is_nearly_saturated(&self) -> bool {
        self.is_conclusive() && !self.is_delay() && self.utilisation >= NEARLY_SATURATED
    }

    /// Whether it is known what of it an operation takes.
    pub fn is_conclusive(&self) -> bool {
        self.demand_seconds > 0.0 && !self.is_contradictory()
    }

    /// Seconds that it takes over one operation when nothing else is there: its demand on one server, which a
    /// quota below a core makes slower.
    pub fn service_seconds(&self) -> f64 {
        self.demand_seconds / self.servers.min(1.0)
    }

    /// Whether it is the same as one that was seen with another number in flight: of a link either end, of a
    /// quota whatever share of the time it held its processes back.
    pub(crate) fn is_same(&self, other: &Use) -> bool {
        match (&self.resource, &other.resource) {
            (Resource::Link { .. }, Resource::Link { .. }) => true,
            (Resource::Quota { cores: a, .. }, Resource::Quota { cores: b, .. }) => {
                self.host == other.host && a == b
            }
            (a, b) => self.host == other.host && a == b,
        }
    }

    /// Whether it only delays.
    pub fn is_delay(&self) -> bool {
        self.resource == Resource::RoundTrip
    }
}
