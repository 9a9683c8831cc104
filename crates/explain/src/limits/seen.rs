//! What trials show of the resources that an operation goes through.

use super::{Condition, IMPOSSIBLE, Resource, Role, Unseen, Use};
use plimsoll_model::{
    Cell, CpuTimes, Flag, HostFacts, HostLoad, HostName, Measure, Metric, Part, PartResult, Point,
    Study, Target, Trial,
};
use std::collections::BTreeMap;

/// A core that is so busy, and so many times as busy as all of them on average, limits by itself.
const BUSY_CORE: f64 = 0.6;
const BUSIER: f64 = 1.25;
/// Share of the time from which a client's processor as a whole is what holds its threads up.
const FULL: f64 = 0.85;
/// It is so many times as busy as plimsoll's own threads make it.
const BEYOND: f64 = 1.2;

/// A disk works for a workload if it moves at least this share of its bytes or, of operations of so few bytes,
/// does so many for each: what is small is gathered, and what is kept in memory costs the disk nothing.
const OURS: f64 = 0.2;
const SMALL: f64 = 16_384.0;
/// A clock that moved by more than this share, memory of which less than this share was left, time in which
/// processes waited for it, and time that a hypervisor took, are worth a word.
const CLOCK_MOVED: f64 = 0.05;
const MEMORY_LEFT: f64 = 0.05;
const STALLED: f64 = 0.01;
const STOLEN: f64 = 0.02;

/// One run of a workload: a trial, or a point of one.
struct Run<'a> {
    parts: Vec<&'a PartResult>,
    loads: &'a [HostLoad],
}

/// What several runs of one workload show.
pub(super) struct Seen {
    pub(super) per_second: f64,
    pub(super) bytes_per_operation: f64,
    pub(super) in_flight: f64,
    pub(super) uses: Vec<Use>,
    pub(super) unseen: Vec<Unseen>,
    pub(super) conditions: Vec<Condition>,
}

impl Seen {
    pub(super) fn of_trials(study: &Study, cell: Cell, trials: &[&Trial]) -> Option<Seen> {
        let run = |trial: &&'_ Trial| trial.points.is_empty();
        let runs = trials
            .iter()
            .filter(|trial| run(trial))
            .map(|trial| Run { parts: trial.result.parts.iter().collect(), loads: &trial.loads });
        Seen::new(study, cell, &runs.collect::<Vec<_>>())
    }

    pub(super) fn of_points(study: &Study, cell: Cell, points: &[&Point]) -> Option<Seen> {
        let runs = points
            .iter()
            .map(|point| Run { parts: point.parts.iter().collect(), loads: &point.loads });
        Seen::new(study, cell, &runs.collect::<Vec<_>>())
    }

    fn new(study: &Study, cell: Cell, runs: &[Run<'_>]) -> Option<Seen> {
        let per_second = mean(runs.iter().map(Run::per_second))?;
        let throughput = mean(runs.iter().map(|run| run.sum(Measure::THROUGHPUT))).unwrap_or(0.0);
        let workload = study.plan.workload(cell)?;
        let in_flight = |part: &Part| f64::from(part.workers.get()) * f64::from(part.depth().get());
        let planned = workload.parts.iter().map(in_flight).sum();
        let in_flight = mean(runs.iter().map(|run| run.sum(Measure::IN_FLIGHT))).unwrap_or(planned);
        let mut seen = Seen {
            per_second,
            bytes_per_operation: throughput / per_second,
            in_flight,
            uses: Vec::new(),
            unseen: Vec::new(),
            conditions: Vec::new(),
        };
        seen.driver(runs, workload.parts.iter().map(|part| f64::from(part.workers.get())).sum());
        seen.hosts(study, cell, runs);
        seen.round_trip(study, cell);
        seen.unseen.sort();
        seen.unseen.dedup();
        Some(seen)
    }

    /// plimsoll's own threads.
    fn driver(&mut self, runs: &[Run<'_>], threads: f64) {
        let cost = mean(runs.iter().map(Run::driver_seconds));
        if let Some(seconds) = cost.filter(|seconds| *seconds > 0.0) {
            let one = Use::new(Resource::Driver, "", Role::Client);
            self.uses.push(Use { servers: threads, ..one }.at(self.per_second, seconds, 0.0));
        }
    }

    /// What the hosts' own counters show.
    fn hosts(&mut self, study: &Study, cell: Cell, runs: &[Run<'_>]) {
        let Some(target) = study.plan.target(usize::from(cell.subject)) else { return };
        let of_subject = |host: &plimsoll_model::ServerHost| host.serves(usize::from(cell.subject));
        let local =
            matches!(target, Target::Directory(_)) && !study.plan.hosts.iter().any(of_subject);
        let clients: Vec<String> = match study.plan.clients.as_slice() {
            [] => vec![HostName::Local.to_string()],
            clients => clients.iter().map(ToString::to_string).collect(),
        };
        // On one machine the processors of a client are those of a server too.
        let one_machine = study.flags.iter().any(|flag| matches!(flag, Flag::SameMachine { .. }));
        let shared = |host: &str, client: bool| {
            let same = |flag: &Flag| matches!(flag, Flag::SameMachine { host: own } if own == host);
            client && one_machine || study.flags.iter().any(same)
        };
        let hosts: Vec<&str> = match runs.iter().find(|run| !run.loads.is_empty()) {
            Some(run) => run.loads.iter().map(|load| load.host.as_str()).collect(),
            None => Vec::new(),
        };
        let (mut links, mut served) = (Vec::new(), false);
        for host in hosts {
            let client = clients.iter().any(|own| own == host);
            let own = study.plan.hosts.iter().filter(|server| server.is(host));
            let server = own.clone().any(|server| server.serves(usize::from(cell.subject)));
            if !client && !server {
                continue;
            }
            let role = match (client, server || local) {
                (true, true) => Role::Both,
                (true, false) => Role::Client,
                (false, _) => Role::Server,
            };
            let host = Host::new(host, role, study, runs, shared(host, client && !server));
            served |= role != Role::Client;
            self.conditions.extend(host.conditions());
            links.extend(host.link(self.per_second));
            match host.processor(self.per_second) {
                Some(one) if role == Role::Client => self.client(one),
                Some(one) => self.uses.push(one),
                None if role == Role::Server => self.unseen.push(Unseen::SharedProcessor),
                None => {}
            }
            if role != Role::Client {
                let disk = host.disk(self.per_second, self.bytes_per_operation);
                let threads = host.threads(self);
                let idle = |disk: Use| match threads {
                    Some(_) => host.kept_idle(self, disk),
                    None => disk,
                };
                self.uses.extend(disk.map(idle));
                self.uses.extend(threads);
            }
        }
        if !served {
            self.unseen.push(Unseen::Server);
        }
        // The same link has two ends.
        let fullest = links.into_iter().max_by(|a, b| a.utilisation.total_cmp(&b.utilisation));
        match fullest {
            Some(link) => self.uses.push(link),
            None if !local => self.unseen.push(Unseen::Link),
            None => {}
        }
    }

    /// A client's processor, in place of plimsoll's threads on it where it is full and they are not.
    fn client(&mut self, one: Use) {
        let driver = self.uses.iter().position(|known| known.resource == Resource::Driver);
        match driver {
            Some(driver)
                if one.utilisation >= FULL
                    && one.utilisation - one.background
                        > BEYOND * self.uses[driver].utilisation =>
            {
                self.uses[driver] = one;
            }
            Some(_) => {}
            None => self.uses.push(one),
        }
    }

    /// The round trip that was measured before the load, when processors had to wake up for it: under load it
    /// is no longer than what the others leave of an operation's time.
    fn round_trip(&mut self, study: &Study, cell: Cell) {
        let facts = study.subjects.get(usize::from(cell.subject)).and_then(|s| s.storage());
        let local = matches!(
            study.plan.target(usize::from(cell.subject)),
            Some(Target::Directory(_)) | None
        );
        match facts.and_then(|facts| facts.round_trip_seconds) {
            Some(seconds) if seconds > 0.0 => {
                let one = Use::new(Resource::RoundTrip, "", Role::Both);
                let others: f64 = self.uses.iter().map(Use::service_seconds).sum();
                let left = (self.in_flight / self.per_second - others).max(0.0);
                let delay = Use { demand_seconds: seconds.min(left), ..one };
                self.uses.push(delay);
            }
            _ if local => {}
            _ => self.unseen.push(Unseen::RoundTrip),
        }
    }
}

impl Run<'_> {
    /// The sum of a figure over the parts.
    fn sum(&self, measure: Measure) -> Option<f64> {
        let values =
            self.parts.iter().filter_map(|part| part.quantities.get(&Metric::all(measure)));
        let sum: f64 = values.clone().sum();
        (values.count() > 0 && sum.is_finite() && sum > 0.0).then_some(sum)
    }

    /// Operations per second; of work that is done when it is done, over the time that it took: there the rate
    /// is that of what is done, such as files, which take several operations each.
    fn per_second(&self) -> Option<f64> {
        let elapsed = self.parts.first()?.quantities.get(&Metric::all(Measure::ELAPSED));
        let rate = match elapsed {
            Some(elapsed) => self.operations() / elapsed,
            None => self.sum(Measure::IOPS)?,
        };
        (rate.is_finite() && rate > 0.0).then_some(rate)
    }

    /// CPU seconds of plimsoll's threads for one operation.
    fn driver_seconds(&self) -> Option<f64> {
        // It is known by what the rate is of, which may be files: a second's worth is the same for both.
        let mut a_second = 0.0;
        for part in &self.parts {
            let of = |measure| part.quantities.get(&Metric::all(measure)).copied();
            a_second += of(Measure::CLIENT_CPU_PER_OP)? * of(Measure::IOPS)?;
        }
        Some(a_second / self.per_second()?).filter(|seconds| seconds.is_finite())
    }

    /// Operations that completed while the hosts were watched, warm-up and what was still in flight at the end
    /// included; of another tool's runs, which have no windows, those that it counted.
    fn operations(&self) -> f64 {
        self.parts.iter().map(|part| completed(part)).sum()
    }
}

fn completed(part: &PartResult) -> f64 {
    match part.series.served().operations {
        0 => part.ops.values().map(|ops| ops.count as f64).sum(),
        counted => counted as f64,
    }
}

/// The arithmetic mean of what is known.
fn mean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let (sum, count) = values.flatten().fold((0.0, 0u32), |(sum, n), value| (sum + value, n + 1));
    (count > 0).then(|| sum / f64::from(count)).filter(|mean| mean.is_finite())
}

/// The loads of one host over the runs, added up.
struct Host<'a> {
    name: &'a str,
    role: Role,
    /// Whether its processors are those of the client too.
    shared: bool,
    facts: Option<&'a HostFacts>,
    loads: Vec<&'a HostLoad>,
    operations: f64,
    seconds: f64,
}

impl<'a> Host<'a> {
    fn new(
        name: &'a str,
        role: Role,
        study: &'a Study,
        runs: &'a [Run<'_>],
        shared: bool,
    ) -> Host<'a> {
        let load = |run: &'a Run<'_>| {
            let load = run.loads.iter().find(|load| load.host == name)?;
            Some((run.operations(), load))
        };
        let found: Vec<(f64, &HostLoad)> =
            runs.iter().filter_map(load).filter(|(operations, _)| *operations > 0.0).collect();
        Host {
            name,
            role,
            shared,
            facts: study.hosts.iter().find(|facts| facts.name == name),
            operations: found.iter().map(|(operations, _)| operations).sum(),
            seconds: found.iter().map(|(_, load)| load.seconds).sum(),
            loads: found.into_iter().map(|(_, load)| load).collect(),
        }
    }

    fn known(&self) -> bool {
        self.operations > 0.0 && self.seconds > 0.0
    }

    /// What else is to be known of it.
    fn conditions(&self) -> Vec<Condition> {
        let host = || self.name.to_owned();
        let mut found = Vec::new();
        let clocks = self.loads.iter().filter_map(|load| load.frequency);
        let widest = clocks.map(|clock| (clock.lowest_hertz, clock.highest_hertz));
        let widest = widest.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        if let Some(hertz) = widest.filter(|(low, high)| *low < *high * (1.0 - CLOCK_MOVED)) {
            found.push(Condition::ClockMoved { host: host(), hertz });
        }
        let left = self.loads.iter().filter_map(|load| Some(load.memory?.least_available_bytes));
        let all = self.facts.map_or(0, |facts| facts.memory_bytes);
        if let Some(least) = left.min().filter(|least| (*least as f64) < MEMORY_LEFT * all as f64) {
            found.push(Condition::MemoryShort { host: host(), bytes: (least, all) });
        }
        let stalls = self.loads.iter().filter_map(|load| load.memory_stall_seconds);
        let share = stalls.sum::<f64>() / self.seconds;
        if share > STALLED {
            found.push(Condition::MemoryPressure { host: host(), share });
        }
        let total = self.loads.iter().fold(CpuTimes::default(), |sum, load| sum + load.cpu);
        let share = total.steal / total.total();
        if share > STOLEN {
            found.push(Condition::Stolen { host: host(), share });
        }
        found
    }

    /// What limits it of its processors: a quota, one core, or all of them. `None` where they are the
    /// client's as well and no control group tells them apart.
    fn processor(&self, per_second: f64) -> Option<Use> {
        if !self.known() {
            return None;
        }
        let named = |resource| Use::new(resource, self.name, self.role);
        if let Some(used) = self.quota(per_second) {
            return Some(used);
        }
        if self.shared {
            return None;
        }
        let cores = self.loads.iter().map(|load| load.cores_busy.len()).max()?.max(1) as f64;
        let total = self.loads.iter().fold(CpuTimes::default(), |sum, load| sum + load.cpu);
        let caused: f64 = self.loads.iter().map(|load| load.caused().0).sum();
        let background = (total.busy().0 - caused) / self.seconds / cores;
        let all = Use { servers: cores, ..named(Resource::Processor) };
        let all = all.at(per_second, caused / self.operations, background);
        let shares = (total.total() > 0.0).then(|| total * (1.0 / total.total()));
        let one = match self.busiest_core() {
            Some((number, busy, cpu))
                if busy >= BUSY_CORE && busy >= BUSIER * all.utilisation && cores > 1.0 =>
            {
                // What it does without the workload is not known core by core.
                let demand = busy * self.seconds / self.operations;
                let core = named(Resource::Core { number }).at(per_second, demand, 0.0);
                Use { classes: Some(cpu), ..core }
            }
            _ => Use { classes: shares, ..all },
        };
        Some(one)
    }

    /// The core that was busiest over all runs: its number, busy share, and shares by class.
    fn busiest_core(&self) -> Option<(usize, f64, CpuTimes)> {
        let mut cores: Vec<CpuTimes> = Vec::new();
        for load in &self.loads {
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

    /// What its control group used of what it may.
    fn quota(&self, per_second: f64) -> Option<Use> {
        let groups: Option<Vec<_>> = self.loads.iter().map(|load| load.control_group).collect();
        let groups = groups?;
        let cores = groups.first()?.quota_cores?;
        let used: f64 = groups.iter().map(|group| group.cpu_seconds).sum();
        let throttled: f64 = groups.iter().filter_map(|group| group.throttled_share).sum();
        let throttled = throttled / groups.len() as f64;
        let resource = Resource::Quota { cores, throttled };
        // What was saved up for a period and not used in it is lost: a group that was held back in all of
        // them had all that it could have.
        let had = (used / (cores * self.seconds)).clamp(0.0, 1.0);
        let usable = if throttled > had { cores * had / throttled } else { cores };
        // Of less than a core it is one server that is slow; of more, as many as there are cores.
        let one = Use { servers: usable, ..Use::new(resource, self.name, self.role) };
        (usable > 0.0).then(|| one.at(per_second, used / self.operations, 0.0))
    }

    /// The disk that was busiest, where it did enough for the workload to be what kept it so: what others do on
    /// it meanwhile is no demand of ours.
    fn disk(&self, per_second: f64, bytes_per_operation: f64) -> Option<Use> {
        let mut done: BTreeMap<&str, (f64, f64, f64, f64)> = BTreeMap::new();
        for disk in self.loads.iter().flat_map(|load| &load.disks) {
            let (busy, in_flight, operations, bytes) = done.entry(&disk.name).or_default();
            *busy += disk.busy_seconds;
            *in_flight += disk.in_flight_seconds;
            *operations += disk.reads.saturating_add(disk.writes) as f64;
            *bytes += disk.read_bytes.saturating_add(disk.written_bytes) as f64;
        }
        let (name, (seconds, in_flight, operations, bytes)) =
            done.into_iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
        let moved = bytes >= OURS * bytes_per_operation * self.operations;
        let small = bytes_per_operation <= SMALL && operations >= OURS * self.operations;
        if !(bytes_per_operation > 0.0 && moved || small) {
            return None;
        }
        let resource = Resource::Disk { name: name.to_owned() };
        let used = self.known() && seconds > 0.0;
        let at_a_time = used.then(|| in_flight / seconds);
        let one = Use { at_a_time, ..Use::new(resource, self.name, self.role) };
        used.then(|| one.at(per_second, seconds / self.operations, 0.0))
    }

    /// A disk that could work on more operations at a time than the threads of its server ask it for: it is busy
    /// all the time, and yet not full.
    fn kept_idle(&self, seen: &Seen, disk: Use) -> Use {
        let overlap = match &disk.resource {
            Resource::Disk { name } => self.facts.and_then(|facts| facts.disk_overlap(name)),
            _ => None,
        };
        let at_a_time = disk.at_a_time.unwrap_or(1.0).max(1.0);
        match overlap.map(|most| seen.in_flight.min(most.into())) {
            Some(servers) if servers > at_a_time => {
                let seconds = disk.demand_seconds * at_a_time;
                Use { servers, ..disk }.at(seen.per_second, seconds, 0.0)
            }
            _ => disk,
        }
    }

    /// The threads of its NFS server, where fewer than there are calls in flight are all taken. What a call
    /// is known to keep one for is the processor's time and the disk's, of small reads alone: what is
    /// written, and what is read ahead, no thread waits for.
    fn threads(&self, seen: &Seen) -> Option<Use> {
        let count = self.loads.iter().filter_map(|load| load.nfsd?.threads).max()?;
        let disks = || self.loads.iter().flat_map(|load| &load.disks);
        let reads: u64 = disks().map(|disk| disk.reads).sum();
        let writes: u64 = disks().map(|disk| disk.writes).sum();
        let small = seen.bytes_per_operation > 0.0 && seen.bytes_per_operation <= SMALL;
        let fewer = count > 0 && f64::from(count) < seen.in_flight;
        if !(self.known() && small && fewer && reads as f64 >= OURS * self.operations)
            || writes > reads / 4
        {
            return None;
        }
        let most = |load: &HostLoad| {
            load.disks.iter().map(|disk| disk.in_flight_seconds).fold(0.0, f64::max)
        };
        // An idle window that was busier than the trial takes nothing off what threads wait for.
        let kept: f64 = self.loads.iter().map(|load| load.caused().0.max(0.0) + most(load)).sum();
        let one = Use::new(Resource::Threads { count }, self.name, self.role);
        let one = Use { servers: count.into(), ..one };
        let one = one.at(seen.per_second, kept / self.operations, 0.0);
        (one.utilisation >= FULL).then_some(one)
    }

    /// The fullest of its interfaces whose rate is known.
    fn link(&self, per_second: f64) -> Option<Use> {
        let facts = self.facts?;
        let mut moved: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
        for interface in self.loads.iter().flat_map(|load| &load.interfaces) {
            let sums = moved.entry(&interface.name).or_default();
            sums.0 += interface.received_bytes as f64;
            sums.1 += interface.sent_bytes as f64;
        }
        let link = |(name, (received, sent)): (&str, (f64, f64))| {
            let bits_per_second = facts.link_rate(name)?;
            let resource = Resource::Link { interface: name.to_owned(), bits_per_second };
            let seconds = 8.0 * received.max(sent) / bits_per_second as f64;
            let one = Use::new(resource, self.name, self.role);
            let one = one.at(per_second, seconds / self.operations, 0.0);
            let carried = seconds / self.seconds;
            let utilisation = if carried > IMPOSSIBLE { carried } else { one.utilisation };
            self.known().then_some(Use { utilisation, ..one })
        };
        let links = moved.into_iter().filter_map(link);
        links.max_by(|a, b| a.utilisation.total_cmp(&b.utilisation))
    }
}
