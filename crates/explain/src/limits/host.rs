//! What the counters of one host show of its processors, disks, threads and links.

use super::observed::{Observed, Run};
use super::{Condition, Resource, Role, Use};
use crate::hosts::above_idle;
use crate::thresholds::{
    BUSIER_THAN_AVERAGE, BUSY_CORE, CARRIED, CLOCK_MOVED, FEW_TICKS_SECONDS, FRAME_BYTES,
    HEADER_BYTES, IMPOSSIBLE, JUMBO_FRAME_BYTES, MAY_BE_SATURATED, MEMORY_LEFT, MEMORY_STALL,
    OWN_DISK_WORK, SATURATED, SMALL_BYTES, STOLEN, WAITS_FOR_IO, WRITES_PER_READ,
};
use plimsoll_model::{CpuTimes, HostFacts, HostLoad, HostName, InterfaceLoad, Study};
use std::collections::BTreeMap;

/// The loads of one host over the runs, added up.
pub(super) struct Host<'a> {
    name: &'a HostName,
    role: Role,
    facts: Option<&'a HostFacts>,
    /// With the operations during each.
    loads: Vec<(f64, &'a HostLoad)>,
    operations: f64,
    seconds: f64,
    confidence: f64,
}

impl<'a> Host<'a> {
    pub(super) fn new(
        name: &'a HostName,
        role: Role,
        study: &'a Study,
        runs: &'a [Run<'_>],
    ) -> Host<'a> {
        let load = |run: &'a Run<'_>| {
            let load = run.loads.iter().find(|load| load.host == *name)?;
            Some((run.operations(), load))
        };
        let loads: Vec<(f64, &HostLoad)> =
            runs.iter().filter_map(load).filter(|(operations, _)| *operations > 0.0).collect();
        Host {
            name,
            role,
            facts: study.hosts.iter().find(|facts| facts.name == *name),
            operations: loads.iter().map(|(operations, _)| operations).sum(),
            seconds: loads.iter().map(|(_, load)| load.seconds).sum(),
            loads,
            confidence: study.plan.design.confidence,
        }
    }

    fn loads(&self) -> impl Iterator<Item = &'a HostLoad> {
        self.loads.iter().map(|(_, load)| *load)
    }

    fn known(&self) -> bool {
        self.operations > 0.0 && self.seconds > 0.0
    }

    fn cpu(&self) -> CpuTimes {
        self.loads().fold(CpuTimes::default(), |sum, load| sum + load.cpu)
    }

    fn cores(&self) -> f64 {
        self.loads().map(|load| load.cores_busy.len()).max().unwrap_or(0).max(1) as f64
    }

    /// What else is to be known of it.
    pub(super) fn conditions(&self) -> Vec<Condition> {
        let host = || self.name.clone();
        let mut found = Vec::new();
        let clocks = self.loads().filter_map(|load| load.frequency);
        let widest = clocks.map(|clock| (clock.lowest_hertz, clock.highest_hertz));
        let widest = widest.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        if let Some(hertz) = widest.filter(|(low, high)| *low < *high * (1.0 - CLOCK_MOVED)) {
            found.push(Condition::ClockMoved { host: host(), hertz });
        }
        let left = self.loads().filter_map(|load| Some(load.memory?.least_available_bytes));
        let all = self.facts.map_or(0, |facts| facts.memory_bytes);
        if let Some(least) = left.min().filter(|least| (*least as f64) < MEMORY_LEFT * all as f64) {
            found.push(Condition::MemoryShort { host: host(), bytes: (least, all) });
        }
        let stalls = self.loads().filter_map(|load| load.memory_stall_seconds);
        let share = stalls.sum::<f64>() / self.seconds;
        if share > MEMORY_STALL {
            found.push(Condition::MemoryPressure { host: host(), share });
        }
        let total = self.cpu();
        let share = total.steal / total.total();
        if share > STOLEN {
            found.push(Condition::Stolen { host: host(), share });
        }
        found
    }

    /// All of its cores. Where its CPU time cannot be distinguished from what it does anyway, or is a few ticks, that
    /// is no demand.
    pub(super) fn processor(&self, per_second: f64) -> Option<Use> {
        let (cores, total) = (self.cores(), self.cpu());
        if !self.known() || total.total() <= 0.0 {
            return None;
        }
        let caused: f64 = self.loads().map(|load| load.caused().0).sum();
        let busy = (total.busy().0 / self.seconds / cores).min(1.0);
        let all = Use {
            servers: cores,
            classes: Some(total * (1.0 / total.total())),
            ..Use::new(Resource::Processor, Some(self.name), self.role)
        };
        if caused < FEW_TICKS_SECONDS || !above_idle(&self.loads, self.confidence) {
            return Some(all.inconclusive(busy));
        }
        let background = (total.busy().0 - caused) / self.seconds / cores;
        Some(all.at(per_second, caused / self.operations, background).bounded(per_second, busy))
    }

    /// One core, where it is much busier than all of them are on average.
    pub(super) fn core(&self, per_second: f64, all: &Use) -> Option<Use> {
        let (number, busy, cpu) = self.busiest_core()?;
        let on_average = self.cpu().busy().0 / self.seconds / self.cores();
        let stands_out =
            busy >= BUSY_CORE && busy >= BUSIER_THAN_AVERAGE * on_average && self.cores() > 1.0;
        if !stands_out || !all.is_conclusive() || busy * self.seconds < FEW_TICKS_SECONDS {
            return None;
        }
        // What it does without the workload is not known core by core, nor more exactly than by ticks.
        let busy = busy.min(1.0);
        let core = Use::new(Resource::Core { number }, Some(self.name), self.role);
        let core = core.at(per_second, busy * self.seconds / self.operations, 0.0);
        Some(Use { classes: Some(cpu), ..core.bounded(per_second, busy) })
    }

    /// Whether a processor of which so little is known may have been the bottleneck: it was busy, or too few of its
    /// ticks fell into the time to tell.
    pub(super) fn may_be_full(&self, all: &Use) -> bool {
        !all.is_conclusive()
            && all.utilisation + FEW_TICKS_SECONDS / self.seconds / self.cores() >= MAY_BE_SATURATED
    }

    /// The core that was busiest over all runs: its number, busy share, and shares by class.
    fn busiest_core(&self) -> Option<(usize, f64, CpuTimes)> {
        let mut cores: Vec<CpuTimes> = Vec::new();
        for load in self.loads() {
            cores.resize(cores.len().max(load.cores.len()), CpuTimes::default());
            for (sum, core) in cores.iter_mut().zip(&load.cores) {
                *sum = *sum + *core;
            }
        }
        let shares = cores.into_iter().enumerate().filter(|(_, core)| core.total() > 0.0);
        let shares = shares.map(|(number, core)| {
            let share = core * (1.0 / core.total());
            (number, share.busy().0, share)
        });
        shares.max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// What its control group used of what it may, or a host of a lab of what that lets it have.
    pub(super) fn quota(&self, per_second: f64) -> Option<Use> {
        if !self.known() {
            return None;
        }
        let groups: Option<Vec<_>> = self.loads().map(|load| load.control_group).collect();
        let groups = groups.unwrap_or_default();
        let Some(cores) = groups.first().and_then(|group| group.quota_cores) else {
            return self.lab_quota(per_second);
        };
        let used: f64 = groups.iter().map(|group| group.cpu_seconds).sum();
        let throttled: f64 = groups.iter().filter_map(|group| group.throttled_share).sum();
        let throttled = throttled / groups.len() as f64;
        // What was saved up for a period and not used in it is lost: a group that was held back in all of
        // them had all that it could have.
        let had = (used / (cores * self.seconds)).clamp(0.0, 1.0);
        let usable = if throttled > had { cores * had / throttled } else { cores };
        self.of_quota(per_second, Resource::Quota { cores, throttled }, usable, used)
    }

    /// A machine whose own kernel knows nothing of its quota: from outside it is stopped, and counts neither busy nor
    /// idle time, or stolen time, meanwhile. Whenever it is not idle it uses its quota or waits for more of it.
    fn lab_quota(&self, per_second: f64) -> Option<Use> {
        let cores = self.facts?.lab_quota()?;
        let (all, total) = (self.seconds * self.cores(), self.cpu());
        let busy = (1.0 - (total.idle + total.iowait) / all).clamp(0.0, 1.0);
        let held_back = (1.0 - (total.total() - total.steal) / all).clamp(0.0, 1.0);
        self.of_quota(
            per_second,
            Resource::Quota { cores, throttled: held_back },
            cores,
            busy * cores * self.seconds,
        )
    }

    fn of_quota(&self, per_second: f64, resource: Resource, usable: f64, used: f64) -> Option<Use> {
        // Of less than a core it is one server that is slow; of more, as many as there are cores.
        let one = Use { servers: usable, ..Use::new(resource, Some(self.name), self.role) };
        let busy = (used / (usable * self.seconds)).min(1.0);
        (usable > 0.0)
            .then(|| one.at(per_second, used / self.operations, 0.0).bounded(per_second, busy))
    }

    /// The disk that was busiest, where it did enough for the workload to be what kept it so: what others do on
    /// it meanwhile is no demand of ours. A kernel of 5.0 to 6.9 counts less than all of the time in which several
    /// operations were in flight; while a server's core was idle with I/O outstanding, its busiest disk had work.
    pub(super) fn disk(&self, per_second: f64, bytes_per_operation: f64) -> Option<Use> {
        let mut done: BTreeMap<&str, (f64, f64, f64, f64)> = BTreeMap::new();
        for disk in self.loads().flat_map(|load| &load.disks) {
            let (busy, in_flight, operations, bytes) = done.entry(&disk.name).or_default();
            *busy += disk.busy_seconds;
            *in_flight += disk.in_flight_seconds;
            *operations += disk.reads.saturating_add(disk.writes) as f64;
            *bytes += disk.read_bytes.saturating_add(disk.written_bytes) as f64;
        }
        let (name, (seconds, in_flight, operations, bytes)) =
            done.into_iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
        let moved = bytes >= OWN_DISK_WORK * bytes_per_operation * self.operations;
        let small =
            bytes_per_operation <= SMALL_BYTES && operations >= OWN_DISK_WORK * self.operations;
        if !(bytes_per_operation > 0.0 && moved || small) {
            return None;
        }
        let resource = Resource::Disk { name: name.to_owned() };
        if !self.known() || seconds <= 0.0 {
            return None;
        }
        let waited = if self.role == Role::Server { self.waited_for_disks() } else { 0.0 };
        let seconds = seconds.max(waited.min(self.seconds));
        let at_a_time = Some(in_flight / seconds);
        let one = Use { at_a_time, ..Use::new(resource, Some(self.name), self.role) };
        let one = one.at(per_second, seconds / self.operations, 0.0);
        Some(one.bounded(per_second, seconds / self.seconds))
    }

    /// A server that waits for disks of which nothing else is known.
    pub(super) fn waits_for_io(&self) -> Option<Condition> {
        let total = self.cpu();
        let share = total.iowait / total.total();
        let waits = self.role == Role::Server && share >= WAITS_FOR_IO;
        waits.then(|| Condition::WaitsForIo { host: self.name.clone(), share })
    }

    /// Seconds in which a core at least was idle with I/O outstanding.
    fn waited_for_disks(&self) -> f64 {
        let of_cores =
            |load: &HostLoad| load.cores.iter().map(|core| core.iowait).fold(0.0, f64::max);
        self.loads().map(of_cores).sum()
    }

    /// A disk that could work on more operations at a time than the threads of its server ask it for: it is busy
    /// all the time, and yet not full.
    pub(super) fn kept_idle(&self, seen: &Observed, disk: Use) -> Use {
        let overlap = match &disk.resource {
            Resource::Disk { name } => self.facts.and_then(|facts| facts.disk_overlap(name)),
            _ => None,
        };
        let at_a_time = disk.at_a_time.unwrap_or(1.0).max(1.0);
        match overlap.map(|most| seen.in_flight.min(most.into())) {
            Some(servers) if servers > at_a_time => {
                let seconds = disk.demand_seconds * at_a_time;
                let disk = Use { servers, ..disk }.at(seen.per_second, seconds, 0.0);
                disk.bounded(seen.per_second, 1.0)
            }
            _ => disk,
        }
    }

    /// The threads of its NFS server, where fewer than there are calls in flight are all taken. What a call
    /// is known to keep one for is the processor's time and the disk's, of small reads alone: what is
    /// written, and what is read ahead, no thread waits for.
    pub(super) fn threads(&self, seen: &Observed) -> Option<Use> {
        let count = self.loads().filter_map(|load| load.nfsd?.threads).max()?;
        let disks = || self.loads().flat_map(|load| &load.disks);
        let reads: f64 = disks().map(|disk| disk.reads as f64).sum();
        let writes: f64 = disks().map(|disk| disk.writes as f64).sum();
        let small = seen.bytes_per_operation > 0.0 && seen.bytes_per_operation <= SMALL_BYTES;
        let fewer = count > 0 && f64::from(count) < seen.in_flight;
        if !(self.known() && small && fewer && reads >= OWN_DISK_WORK * self.operations)
            || writes > WRITES_PER_READ * reads
        {
            return None;
        }
        let most = |load: &HostLoad| {
            load.disks.iter().map(|disk| disk.in_flight_seconds).fold(0.0, f64::max)
        };
        // An idle window that was busier than the trial takes nothing off what threads wait for.
        let kept: f64 = self.loads().map(|load| load.caused().0.max(0.0) + most(load)).sum();
        let one = Use::new(Resource::Threads { count }, Some(self.name), self.role);
        let one = Use { servers: count.into(), ..one };
        let one = one.at(seen.per_second, kept / self.operations, 0.0);
        let one = one.bounded(seen.per_second, kept / self.seconds / f64::from(count));
        (one.utilisation >= SATURATED && one.is_conclusive()).then_some(one)
    }

    /// The fullest of its interfaces whose rate is known. `payload_bytes` of an operation went through them in one
    /// direction for certain: counters of short trials miss some of it, because they begin late or end early.
    pub(super) fn link(&self, per_second: f64, payload_bytes: f64) -> Option<Use> {
        let facts = self.facts?;
        let mut moved: BTreeMap<&str, Moved> = BTreeMap::new();
        for interface in self.loads().flat_map(|load| &load.interfaces) {
            moved.entry(&interface.name).or_default().add(interface);
        }
        let everywhere: f64 = moved.values().map(Moved::bytes).sum();
        let link = |(name, moved): (&str, Moved)| {
            let bits_per_second = facts.link_rate(name)?;
            let resource = Resource::Link { interface: name.to_owned(), bits_per_second };
            let seconds = 8.0 * moved.bytes() / bits_per_second as f64;
            let one = Use::new(resource, Some(self.name), self.role);
            // Of several interfaces each carried its share of the payload; those of another server carried none.
            let carried_payload = everywhere >= CARRIED * payload_bytes * self.operations;
            let payload = payload_bytes * moved.bytes() / everywhere.max(1.0);
            let payload = if carried_payload { payload } else { 0.0 };
            let least = 8.0 * payload * moved.with_headers() / bits_per_second as f64;
            let demand = (seconds / self.operations).max(least.min(1.0 / per_second));
            let one = one.at(per_second, demand, 0.0);
            let carried = seconds / self.seconds;
            let one = match carried > IMPOSSIBLE {
                true => {
                    Use { utilisation: carried, demand_seconds: 0.0, alone_per_second: None, ..one }
                }
                false => one.bounded(per_second, carried),
            };
            self.known().then_some(one)
        };
        let links = moved.into_iter().filter_map(link);
        links.max_by(|a, b| a.utilisation.total_cmp(&b.utilisation))
    }
}

/// What an interface moved: bytes and packets, received and sent.
#[derive(Clone, Copy, Default)]
struct Moved {
    received: (f64, f64),
    sent: (f64, f64),
}

impl Moved {
    fn add(&mut self, load: &InterfaceLoad) {
        self.received.0 += load.received_bytes as f64;
        self.received.1 += load.received_packets as f64;
        self.sent.0 += load.sent_bytes as f64;
        self.sent.1 += load.sent_packets as f64;
    }

    /// The fuller direction.
    fn fuller(&self) -> (f64, f64) {
        if self.received.0 >= self.sent.0 { self.received } else { self.sent }
    }

    fn bytes(&self) -> f64 {
        self.fuller().0
    }

    /// By how much headers lengthen its payload at least.
    fn with_headers(&self) -> f64 {
        let (bytes, packets) = self.fuller();
        let packet = bytes / packets.max(1.0);
        let is_jumbo = packet > FRAME_BYTES && packet <= JUMBO_FRAME_BYTES;
        let frame = if is_jumbo { packet } else { FRAME_BYTES };
        frame / (frame - HEADER_BYTES)
    }
}
