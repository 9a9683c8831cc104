//! What trials show of the resources that an operation goes through.

use super::host::Host;
use super::{Condition, Resource, Role, Unseen, Use};
use crate::thresholds::{BEYOND_DRIVER, IMPOSSIBLE, SATURATED};
use plimsoll_model::{
    Cell, Flag, HostLoad, HostName, Measure, Metric, OpKind, Part, PartResult, Point, Study,
    Target, Trial,
};
use std::collections::BTreeMap;

/// One run of a workload: a trial, or a point of one.
pub(super) struct Run<'a> {
    parts: Vec<&'a PartResult>,
    pub(super) loads: &'a [HostLoad],
}

/// What several runs of one workload show.
pub(super) struct Observed {
    pub(super) per_second: f64,
    pub(super) bytes_per_operation: f64,
    pub(super) in_flight: f64,
    pub(super) uses: Vec<Use>,
    pub(super) unseen: Vec<Unseen>,
    pub(super) conditions: Vec<Condition>,
}

impl Observed {
    pub(super) fn of_trials(study: &Study, cell: Cell, trials: &[&Trial]) -> Option<Observed> {
        let run = |trial: &&'_ Trial| trial.points.is_empty();
        let runs = trials
            .iter()
            .filter(|trial| run(trial))
            .map(|trial| Run { parts: trial.result.parts.iter().collect(), loads: &trial.loads });
        Observed::new(study, cell, &runs.collect::<Vec<_>>())
    }

    /// The value of a sweep or a search that carried most, of those that were accepted.
    pub(super) fn of_best_points(study: &Study, cell: Cell, trials: &[&Trial]) -> Option<Observed> {
        let mut values: BTreeMap<u64, Vec<&Point>> = BTreeMap::new();
        let points = trials.iter().flat_map(|trial| &trial.points);
        for point in points.filter(|point| point.accepted != Some(false)) {
            values.entry(point.at.to_bits()).or_default().push(point);
        }
        let seen =
            values.into_values().filter_map(|points| Observed::of_points(study, cell, &points));
        seen.max_by(|a, b| a.carried().total_cmp(&b.carried()))
    }

    /// Bytes per second; operations where no bytes are moved.
    fn carried(&self) -> f64 {
        match self.bytes_per_operation > 0.0 {
            true => self.per_second * self.bytes_per_operation,
            false => self.per_second,
        }
    }

    pub(super) fn of_points(study: &Study, cell: Cell, points: &[&Point]) -> Option<Observed> {
        let runs = points
            .iter()
            .map(|point| Run { parts: point.parts.iter().collect(), loads: &point.loads });
        Observed::new(study, cell, &runs.collect::<Vec<_>>())
    }

    fn new(study: &Study, cell: Cell, runs: &[Run<'_>]) -> Option<Observed> {
        let per_second = mean(runs.iter().map(Run::per_second))?;
        let throughput = mean(runs.iter().map(|run| run.sum(Measure::THROUGHPUT))).unwrap_or(0.0);
        let workload = study.plan.workload(cell)?;
        let in_flight = |part: &Part| f64::from(part.workers.get()) * f64::from(part.depth().get());
        let planned = workload.parts.iter().map(in_flight).sum();
        let in_flight = mean(runs.iter().map(|run| run.sum(Measure::IN_FLIGHT))).unwrap_or(planned);
        let mut seen = Observed {
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
            let one = Use::new(Resource::Driver, None, Role::Client);
            // More threads than workers took part where they were busy for more than all of their time.
            let servers = threads.max((self.per_second * seconds / IMPOSSIBLE).ceil());
            let one = Use { servers, ..one }.at(self.per_second, seconds, 0.0);
            self.uses.push(one.bounded(self.per_second, 1.0));
        }
    }

    /// What the hosts' own counters show.
    fn hosts(&mut self, study: &Study, cell: Cell, runs: &[Run<'_>]) {
        let Some(target) = study.plan.target(usize::from(cell.subject)) else { return };
        let servers = || study.plan.far_ends(usize::from(cell.subject));
        let local = matches!(target, Target::Directory(_)) && servers().next().is_none();
        // On one machine the processors of a client are those of a server too.
        let one_machine = study.flags.iter().any(|flag| matches!(flag, Flag::SameMachine { .. }));
        let shared = |host: &HostName, client: bool| {
            client && one_machine || study.is_on_machine_of_client(host)
        };
        let hosts: Vec<&HostName> = match runs.iter().find(|run| !run.loads.is_empty()) {
            Some(run) => run.loads.iter().map(|load| &load.host).collect(),
            None => Vec::new(),
        };
        let payload_bytes = payload_bytes(study, target, runs);
        let (mut links, mut served) = (Vec::new(), false);
        // The processors of the machine that client and server share, and whether a server is on it of which
        // nothing else is known.
        let (mut machine, mut unattributed) = (None, false);
        // Whether the host that is monitored as the client is monitored as the server too.
        let mut is_both = false;
        for host in hosts {
            let client = study.plan.is_client(host);
            let server = servers().any(|server| server.host == *host);
            if !client && !server {
                continue;
            }
            let shared = shared(host, client && !server);
            let role = match (client, server || local) {
                (true, true) => Role::Both,
                (true, false) => Role::Client,
                (false, _) => Role::Server,
            };
            let host = Host::new(host, role, study, runs);
            served |= role != Role::Client;
            is_both |= client && server;
            self.conditions.extend(host.conditions());
            links.extend(host.link(self.per_second, payload_bytes));
            let quota = host.quota(self.per_second);
            if shared {
                unattributed |= role != Role::Client && quota.is_none();
                let fullest = || {
                    let all = host.processor(self.per_second)?;
                    Some(host.core(self.per_second, &all).unwrap_or(all))
                };
                machine = machine.or_else(fullest).map(|one| Use { role: Role::Both, ..one });
            }
            match quota {
                Some(one) if role == Role::Client => self.client(one),
                Some(one) => self.uses.push(one),
                None if shared => {}
                None => self.processor(&host),
            }
            if role != Role::Client {
                let disk = host.disk(self.per_second, self.bytes_per_operation);
                if disk.is_none() {
                    self.conditions.extend(host.waits_for_io());
                }
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
        let is_full = machine.is_some_and(|machine| self.machine(machine));
        if unattributed && !is_full {
            self.unseen.push(Unseen::SharedProcessor);
        }
        // The same link has two ends.
        let fullest = links.into_iter().max_by(|a, b| a.utilisation.total_cmp(&b.utilisation));
        // What never leaves a machine goes over no link.
        let has_link = !(local || is_both && target.is_on_loopback());
        match fullest {
            Some(link) => self.uses.push(link),
            None if has_link => self.unseen.push(Unseen::Link),
            None => {}
        }
    }

    /// The processors of a host, or the one core that is much busier than the others.
    fn processor(&mut self, host: &Host<'_>) {
        let Some(all) = host.processor(self.per_second) else { return };
        let core = host.core(self.per_second, &all);
        match all.role {
            Role::Client => self.client(core.unwrap_or(all)),
            Role::Server | Role::Both => {
                if host.may_be_full(&all) {
                    self.unseen.push(Unseen::FewTicks);
                }
                self.uses.push(core.unwrap_or(all));
            }
        }
    }

    /// The processors of a machine that client and server share, or one of its cores. Saturated they are the bottleneck, whosever work it
    /// is: in place of plimsoll's threads, which are a part of that, unless these are fuller. Says whether they are.
    fn machine(&mut self, one: Use) -> bool {
        if one.is_contradictory() {
            self.uses.push(one);
            return false;
        }
        if !one.is_conclusive() || one.utilisation < SATURATED {
            return false;
        }
        match self.uses.iter().position(|known| known.resource == Resource::Driver) {
            Some(driver) if self.uses[driver].utilisation > one.utilisation => {}
            Some(driver) => self.uses[driver] = one,
            None => self.uses.push(one),
        }
        true
    }

    /// A client's processor, in place of plimsoll's threads on it where it is full and they are not.
    fn client(&mut self, one: Use) {
        let driver = self.uses.iter().position(|known| known.resource == Resource::Driver);
        match driver {
            Some(driver)
                if one.utilisation >= SATURATED
                    && one.is_conclusive()
                    && one.utilisation - one.background
                        > BEYOND_DRIVER * self.uses[driver].utilisation =>
            {
                self.uses[driver] = one;
            }
            Some(_) => {}
            None => self.uses.push(one),
        }
    }

    /// The round trip that was measured before the load, when processors had to wake up for it: under load it
    /// is no longer than what the others leave of an operation's time. One that is longer than all of an operation
    /// is no bound of it, and is not used.
    fn round_trip(&mut self, study: &Study, cell: Cell) {
        let facts = study.subjects.get(usize::from(cell.subject)).and_then(|s| s.storage());
        let local = matches!(
            study.plan.target(usize::from(cell.subject)),
            Some(Target::Directory(_)) | None
        );
        let response = self.in_flight / self.per_second;
        match facts.and_then(|facts| facts.round_trip_seconds) {
            Some(seconds) if seconds > response => {
                self.conditions.push(Condition::RoundTripIsNoBound { seconds, response });
                self.unseen.push(Unseen::RoundTrip);
            }
            Some(seconds) if seconds > 0.0 => {
                let one = Use::new(Resource::RoundTrip, None, Role::Both);
                let others: f64 = self.uses.iter().map(Use::service_seconds).sum();
                let delay =
                    Use { demand_seconds: seconds.min((response - others).max(0.0)), ..one };
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
            let quantity = |measure| part.quantities.get(&Metric::all(measure)).copied();
            a_second += quantity(Measure::CLIENT_CPU_PER_OP)? * quantity(Measure::IOPS)?;
        }
        Some(a_second / self.per_second()?).filter(|seconds| seconds.is_finite())
    }

    /// Operations that completed while the hosts were watched, warm-up and what was still in flight at the end
    /// included; of another tool's runs, which have no windows, those that it counted.
    pub(super) fn operations(&self) -> f64 {
        self.parts.iter().map(|part| completed(part)).sum()
    }
}

/// Payload that an operation moves through the link in one direction, in bytes: of the kind of operation that moves
/// most. 0 if that is not known: a directory's bytes may come from this machine's memory, and of several clients each
/// has a link of its own.
fn payload_bytes(study: &Study, target: &Target, runs: &[Run<'_>]) -> f64 {
    if matches!(target, Target::Directory(_)) || study.plan.clients().count() > 1 {
        return 0.0;
    }
    let mut kinds: BTreeMap<OpKind, f64> = BTreeMap::new();
    for part in runs.iter().flat_map(|run| &run.parts) {
        for (kind, column) in &part.series.kinds {
            let bytes = column.bytes.iter().map(|bytes| *bytes as f64).sum::<f64>();
            *kinds.entry(*kind).or_default() += bytes;
        }
    }
    let operations: f64 = runs.iter().map(Run::operations).sum();
    let most = kinds.into_values().fold(0.0, f64::max);
    if operations > 0.0 { most / operations } else { 0.0 }
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
