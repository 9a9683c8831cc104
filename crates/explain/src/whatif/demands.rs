//! The demands of a row as changes make them.

use super::{Part, Refusal, Settle, Unknown, Why};
use crate::{Condition, Limits, Resource, Role, RoundTrip, Unseen, Use};
use plimsoll_model::what_if::{LinkEnd, LinkRate, ProcessorSpeed, Processors, WhatIf};
use plimsoll_model::{HostFacts, HostName, Parameter, Part as WorkloadPart, Study, Workload};

/// Demands of a row after some changes.
pub(super) struct Demands<'a> {
    pub(super) study: &'a Study,
    /// The row as it is.
    pub(super) limits: &'a Limits,
    /// Resources with the demands of the lower end.
    pub(super) slow: Vec<Use>,
    /// Resources with the demands of the upper end.
    pub(super) fast: Vec<Use>,
    /// Operations in flight.
    pub(super) in_flight: f64,
    /// Operations per second that were measured with as many in flight, or with fewer and with more.
    pub(super) measured: Option<[Option<f64>; 2]>,
    /// Whether a change helps.
    pub(super) is_better: bool,
    /// Whether a change costs.
    pub(super) is_worse: bool,
    /// Whether it may be slower than today though nothing of it is worse.
    pub(super) may_lose: bool,
    /// Whether the capacity of a new disk was measured.
    pub(super) knows_new_disk: bool,
    pub(super) unknown: Vec<Unknown>,
}

pub(super) type Applied = Result<(), Refusal>;

pub(super) fn refused(why: Why, settle: Settle) -> Applied {
    Err(Refusal { why, settle })
}

impl<'a> Demands<'a> {
    /// The demands after all of these changes.
    pub(super) fn changed(
        study: &'a Study,
        limits: &'a Limits,
        changes: &[WhatIf],
    ) -> Result<Demands<'a>, Refusal> {
        let uses = limits.uses.clone();
        let mut demands = Demands {
            study,
            limits,
            slow: uses.clone(),
            fast: uses,
            in_flight: limits.in_flight,
            measured: None,
            is_better: false,
            is_worse: false,
            may_lose: false,
            knows_new_disk: false,
            unknown: Vec::new(),
        };
        for change in changes {
            match change {
                WhatIf::Link { end, to } => demands.link(*end, *to)?,
                WhatIf::Processor { of, speed } => demands.processor(*of, *speed)?,
                WhatIf::RoundTrip { seconds } => demands.round_trip(*seconds)?,
                WhatIf::Disk(disk) => demands.disk(disk)?,
                WhatIf::Readers(count) => demands.flight(*count, Parameter::Workers)?,
                WhatIf::Depth(count) => demands.flight(*count, Parameter::Depth)?,
                WhatIf::Memory(times) => demands.memory(*times)?,
                WhatIf::Encrypt { layer, seconds_per_byte } => {
                    demands.encrypt(*layer, *seconds_per_byte)?;
                }
            }
        }
        // With other changes, what was measured with another number in flight is of other demands.
        if changes.len() > 1 {
            demands.measured = None;
        }
        Ok(demands)
    }

    /// The demands if a setting made some resources do so many times as much; `None` if no operation uses them.
    pub(super) fn eased(
        study: &'a Study,
        limits: &'a Limits,
        is: impl Fn(&Use) -> bool,
        factor: f64,
    ) -> Option<Demands<'a>> {
        let mut demands = Demands::changed(study, limits, &[]).ok()?;
        let factor = |one: &Use| match one.resource {
            // An operation waits for a thread that waits for other resources, and each of these has its own demand.
            Resource::Threads { .. } => f64::INFINITY,
            _ => factor,
        };
        demands.is_better = demands.faster(is, factor);
        demands.is_better.then_some(demands)
    }

    /// Whether a resource that was not monitored may hold the row back.
    pub(super) fn is_blind(&self) -> bool {
        let matters = |unseen: &Unseen| *unseen != Unseen::RoundTrip;
        self.limits.unseen.iter().any(matters) || !self.limits.held.is_empty()
    }

    pub(super) fn is_unseen(&self, unseen: Unseen) -> bool {
        self.limits.unseen.contains(&unseen)
    }

    /// Whether the CPU time of an operation on the server is known.
    pub(super) fn knows_server_processor(&self) -> bool {
        let blind = [Unseen::Server, Unseen::SharedProcessor, Unseen::FewTicks];
        !blind.iter().any(|unseen| self.is_unseen(*unseen))
    }

    pub(super) fn workload(&self) -> Option<&'a Workload> {
        self.study.plan.workload(self.limits.cell)
    }

    pub(super) fn main(&self) -> Option<&'a WorkloadPart> {
        self.workload()?.main()
    }

    pub(super) fn facts(&self, host: &HostName) -> Option<&'a HostFacts> {
        self.study.hosts.iter().find(|facts| facts.name == *host)
    }

    /// The resource as it is today.
    pub(super) fn today(&self, one: &Use) -> Option<&'a Use> {
        self.limits.uses.iter().find(|known| known.is_same(one))
    }

    /// Marks what a factor of speed does to something that the row uses.
    pub(super) fn note(&mut self, factor: f64) {
        self.is_better |= factor > 1.0;
        self.is_worse |= factor < 1.0;
    }

    /// Divides the demands on some resources, at both ends. Whether there is one.
    pub(super) fn faster(
        &mut self,
        is: impl Fn(&Use) -> bool,
        factor: impl Fn(&Use) -> f64,
    ) -> bool {
        let mut found = false;
        for one in self.slow.iter_mut().chain(&mut self.fast).filter(|one| is(one)) {
            found = true;
            let factor = factor(one);
            one.demand_seconds /= factor;
            one.alone_per_second = one.alone_per_second.map(|alone| alone * factor);
        }
        found
    }

    fn link(&mut self, end: LinkEnd, to: LinkRate) -> Applied {
        let is_link = |one: &Use| matches!(one.resource, Resource::Link { .. });
        let today = self.slow.iter().find_map(|one| match one.resource {
            Resource::Link { bits_per_second, .. } => Some(bits_per_second),
            _ => None,
        });
        let Some(today) = today else {
            return refused(Why::NotMonitored(Part::Link), Settle::Monitor);
        };
        let new = match to {
            LinkRate::BitsPerSecond(rate) => rate as f64,
            LinkRate::Times(times) => times * today as f64,
        };
        let other = match end {
            LinkEnd::Path => None,
            LinkEnd::Client => self.rate_of(Role::Server),
            LinkEnd::Server => self.rate_of(Role::Client),
        };
        // Of one end the other one's rate is as good as that of the path where it is not known.
        let other = other.unwrap_or(today) as f64;
        let slowest = if end == LinkEnd::Path { new } else { new.min(other) };
        if end != LinkEnd::Path && new > other {
            self.may_lose = true;
            self.unknown.push(Unknown::MixedLinks);
        }
        let factor = slowest / today as f64;
        self.faster(is_link, |_| factor);
        for one in self.slow.iter_mut().chain(&mut self.fast) {
            if let Resource::Link { bits_per_second, .. } = &mut one.resource {
                *bits_per_second = slowest as u64;
            }
        }
        self.note(factor);
        Ok(())
    }

    /// Rate of the interface of a side that carried most, in bits per second.
    fn rate_of(&self, role: Role) -> Option<u64> {
        let plan = &self.study.plan;
        let subject = usize::from(self.limits.cell.subject);
        let is_side = |host: &HostName| match role {
            Role::Server => plan.far_ends(subject).any(|own| own.host == *host),
            Role::Client | Role::Both => plan.is_client(host),
        };
        let own = self.study.trials.iter().filter(|trial| trial.cell == self.limits.cell);
        let loads = own.flat_map(|trial| &trial.loads).filter(|load| is_side(&load.host));
        let used = loads.filter_map(|load| {
            let facts = self.facts(&load.host)?;
            let moved =
                load.interfaces.iter().max_by_key(|one| one.received_bytes.max(one.sent_bytes));
            facts.link_rate(&moved?.name)
        });
        used.min()
    }

    fn processor(&mut self, of: Processors, speed: ProcessorSpeed) -> Applied {
        if matches!(of, Processors::All | Processors::Server) {
            self.processor_of(Role::Server, speed)?;
        }
        // Saturated processors of a machine that is both ends take the place of the client's.
        let has = |role: Role| self.slow.iter().any(|one| is_processor(one) && one.role == role);
        let is_done = of == Processors::All && has(Role::Both) && !has(Role::Client);
        if matches!(of, Processors::All | Processors::Client) && !is_done {
            self.processor_of(Role::Client, speed)?;
        }
        Ok(())
    }

    fn processor_of(&mut self, role: Role, speed: ProcessorSpeed) -> Applied {
        let is_server = role == Role::Server;
        if is_server && !self.knows_server_processor() {
            return refused(Why::NotMonitored(Part::ServerProcessor), Settle::Monitor);
        }
        // The processors of a machine that is both count as the server's.
        let is_own = |one: &Use| match role {
            Role::Server => one.role != Role::Client,
            Role::Client | Role::Both => one.role == Role::Client,
        };
        let is = |one: &Use| is_processor(one) && is_own(one) && one.is_conclusive();
        for condition in &self.limits.conditions {
            if let Condition::ClockMoved { host, hertz } = condition
                && self.slow.iter().any(|one| is(one) && one.host.as_ref() == Some(host))
            {
                let (host, hertz) = (Box::new(host.clone()), *hertz);
                return refused(Why::ClockMoved { host, hertz }, Settle::Again);
            }
        }
        let before: f64 =
            self.slow.iter().filter(|one| is(one)).map(|one| one.demand_seconds).sum();
        let factor = |one: &Use| match one.resource {
            Resource::Processor => speed.all_cores,
            _ => speed.one_core,
        };
        if !self.faster(is, factor) {
            let knows = self.slow.iter().any(|one| is_processor(one) && is_own(one));
            let part = if is_server { Part::ServerProcessor } else { Part::ClientProcessor };
            return match knows {
                true => Ok(()),
                false => refused(Why::NotMonitored(part), Settle::Monitor),
            };
        }
        if is_server {
            let after: f64 =
                self.slow.iter().filter(|one| is(one)).map(|one| one.demand_seconds).sum();
            self.threads(before - after);
        }
        self.note(speed.one_core.min(speed.all_cores));
        self.note(speed.one_core.max(speed.all_cores));
        if speed.other_architecture && !self.unknown.contains(&Unknown::Architecture) {
            self.unknown.push(Unknown::Architecture);
        }
        Ok(())
    }

    /// NFS threads are kept for the shorter by what takes so many seconds less.
    pub(super) fn threads(&mut self, less_seconds: f64) {
        for one in self.slow.iter_mut().chain(&mut self.fast) {
            if matches!(one.resource, Resource::Threads { .. }) {
                one.demand_seconds = (one.demand_seconds - less_seconds).max(0.0);
                let alone = one.servers / one.demand_seconds;
                one.alone_per_second = Some(alone).filter(|alone| alone.is_finite());
            }
        }
    }

    fn round_trip(&mut self, seconds: f64) -> Applied {
        // One that is longer than operations which contain it predicts nothing.
        let today = RoundTrip::to_subject(self.study, self.limits.cell.subject);
        let today = today.and_then(|trip| trip.bound());
        let Some(today) = today.filter(|_| self.slow.iter().any(Use::is_delay)) else {
            return refused(Why::NotMonitored(Part::RoundTrip), Settle::Again);
        };
        let more = seconds - today;
        // Calls of one operation go out together, or each when the one before has ended.
        let calls = self.limits.calls.map_or(1.0, |(calls, _)| calls as f64);
        let (slow, fast) = if more > 0.0 { (calls * more, more) } else { (more, calls * more) };
        for (uses, more) in [(&mut self.slow, slow), (&mut self.fast, fast)] {
            if let Some(one) = uses.iter_mut().find(|one| one.is_delay()) {
                one.demand_seconds = (one.demand_seconds + more).max(0.0);
            }
        }
        self.is_better |= more < 0.0;
        self.is_worse |= more > 0.0;
        Ok(())
    }
}

/// Whether it is CPU time, of plimsoll's threads as well.
fn is_processor(one: &Use) -> bool {
    matches!(
        one.resource,
        Resource::Processor | Resource::Core { .. } | Resource::Quota { .. } | Resource::Driver
    )
}
