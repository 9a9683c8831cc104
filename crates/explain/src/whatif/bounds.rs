//! Bounds on the rate of a row from its demands, and the resource that binds then.

use super::demands::Demands;
use super::{Next, Unknown};
use crate::limits::network::{MOST_IN_FLIGHT, delay_seconds, queue_seconds};
use crate::thresholds::{KNOWN_BEYOND, LEAST_GAIN, NEXT_TOO};
use crate::{Condition, Resource, Unseen, Use};
use plimsoll_stats::closed::{self, Bounds};

/// Steps in which a hidden demand is found: to a part in 2⁴⁰ of the time between two operations.
const STEPS: usize = 40;
/// A disk matters if the upper end is above the highest measured rate by more than this.
const MORE: f64 = 1.0 + LEAST_GAIN;
/// A part of what is compared in floating point.
const EXACT: f64 = 1.0 + 1e-9;

/// Bounds in operations per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rates {
    /// Lower end; `None` if none is known.
    pub(super) low: Option<f64>,
    /// Upper end.
    pub(super) high: f64,
    /// Whether the row does not use what changes.
    pub(super) is_unused: bool,
}

/// A closed network: demands of its queues, and its delay.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ClosedNetwork {
    queues: Vec<f64>,
    delay: f64,
}

impl ClosedNetwork {
    /// The network of these resources, of which those that are not `firm` are no more than a delay.
    pub(super) fn new(uses: &[Use], delay: f64, is_firm: impl Fn(&Use) -> bool) -> ClosedNetwork {
        let mut parts = ClosedNetwork { queues: Vec::new(), delay };
        for one in uses {
            parts.delay += delay_seconds(one);
            match is_firm(one) {
                true => parts.queues.push(queue_seconds(one)),
                false => parts.delay += queue_seconds(one),
            }
        }
        parts
    }

    fn with_queue(mut self, seconds: f64) -> ClosedNetwork {
        self.queues.push(seconds);
        self
    }

    fn all(&self) -> f64 {
        self.queues.iter().sum::<f64>() + self.delay
    }

    fn largest(&self) -> f64 {
        self.queues.iter().copied().fold(0.0, f64::max)
    }

    pub(super) fn carries(&self, in_flight: u16) -> Option<f64> {
        closed::mva(in_flight, &self.queues, self.delay).map(|closed| closed.per_second)
    }

    fn bounds(&self, in_flight: u16) -> Option<Bounds> {
        closed::balanced(in_flight, &self.queues, self.delay)
    }
}

pub(super) fn whole_number(in_flight: f64) -> u16 {
    in_flight.round().clamp(1.0, MOST_IN_FLIGHT) as u16
}

impl Demands<'_> {
    /// Bounds on its rate, with what is not known of them. `None` of figures that no network has.
    pub(super) fn rates(&mut self) -> Option<Rates> {
        let today = self.limits.per_second;
        if !self.is_better && !self.is_worse {
            let low = Some(today).filter(|_| !self.may_lose);
            return Some(Rates { low, high: today, is_unused: true });
        }
        if let Some([fewer, more]) = self.measured
            && let (Some(fewer), Some(more)) = (fewer, more)
        {
            // Several numbers were measured: the change lies between two of them.
            let (low, high) = (fewer.min(more), fewer.max(more));
            self.unknown.clear();
            return Some(Rates { low: Some(low), high, is_unused: false });
        }
        let highest = self.highest_measured();
        let fewest = self.limits_on_fewest_cores();
        let fewest = fewest.as_ref().map(|limits| self.with_cores_of(limits));
        let slow = self.lower_end_of_either(fewest.as_ref())?;
        let all = self.upper_end_of_either(fewest.as_ref(), |one| !self.is_unknown_disk(one))?;
        let is_known = all <= KNOWN_BEYOND * highest * EXACT;
        let high = match is_known {
            true => all,
            false => self.upper_end_of_either(fewest.as_ref(), |one| self.is_firm(one))?,
        };
        if !is_known {
            self.unknown.push(Unknown::Beyond(KNOWN_BEYOND * highest / today));
        }
        let high = match (self.is_better, self.is_worse) {
            (true, false) => high.max(today),
            (false, true) => high.min(today),
            _ => high,
        };
        if high > MORE * highest {
            self.unknown.extend(self.unknown_resources());
        }
        let known = slow.min(KNOWN_BEYOND * highest);
        let is_blind = self.is_blind() || self.has_unknown_disk();
        let low = match (self.is_better, self.measured_low()) {
            (true, Some(measured)) if !self.is_worse => measured.max(today),
            (true, None) if !self.is_worse && is_blind => today,
            (true, None) if !self.is_worse => known.max(today),
            (true, _) => known,
            (false, _) => known.min(today),
        };
        let low = Some(low.min(high)).filter(|_| !self.may_lose);
        Some(Rates { low, high, is_unused: false })
    }

    /// More in flight than was ever measured do no less than the most that was.
    fn measured_low(&self) -> Option<f64> {
        self.measured.and_then(|[fewer, _]| fewer)
    }

    /// The highest rate at which the demands of this row were measured.
    fn highest_measured(&self) -> f64 {
        let rungs = self.limits.ladder.iter().flat_map(|ladder| &ladder.rungs);
        rungs.map(|rung| rung.per_second).fold(self.limits.per_second, f64::max)
    }

    /// The smaller of the lower ends of this row and of the same with its work on fewer cores.
    fn lower_end_of_either(&self, fewest: Option<&Demands<'_>>) -> Option<f64> {
        let own = self.lower_end()?;
        let fewest = match fewest {
            Some(fewest) => fewest.lower_end()?,
            None => own,
        };
        Some(own.min(fewest))
    }

    /// The larger of the upper ends of this row and of the same with its work on fewer cores.
    fn upper_end_of_either(
        &self,
        fewest: Option<&Demands<'_>>,
        is_firm: impl Fn(&Use) -> bool,
    ) -> Option<f64> {
        let own = self.upper_end(&is_firm)?;
        let fewest = match fewest {
            Some(fewest) => fewest.upper_end(&is_firm)?,
            None => own,
        };
        Some(own.max(fewest))
    }

    /// What it carries at least: demands are the largest that were measured, and the time that nobody accounts for is
    /// one more queue. Where other times become longer, a queue becomes shorter, so that it may be less with a delay.
    fn lower_end(&self) -> Option<f64> {
        let mut uses = self.at_other_numbers(&self.slow, |_, _, most| most.max(1.0));
        uses.iter_mut().for_each(|one| one.servers = self.certain_servers(one));
        let in_flight = whole_number(self.in_flight);
        let hidden = self.hidden_queue_seconds();
        let queued = ClosedNetwork::new(&uses, 0.0, |_| true).with_queue(hidden);
        let queued = queued.bounds(in_flight)?.low;
        if !self.is_worse {
            return Some(queued);
        }
        let delayed = ClosedNetwork::new(&uses, self.waiting_seconds(), |_| true);
        delayed.carries(in_flight).map(|delayed| delayed.min(queued))
    }

    /// The same resources, each with its demand times a factor: what `factor` makes of the resource today, and of the least
    /// and the largest demand that was measured with other numbers in flight, as times today's. Disks keep theirs: memory
    /// may have served a part of what was read.
    fn at_other_numbers(&self, uses: &[Use], factor: impl Fn(&Use, f64, f64) -> f64) -> Vec<Use> {
        let mut uses = uses.to_vec();
        let ladder = self.limits.ladder.as_ref();
        for one in &mut uses {
            if let Some(today) = self.today(one)
                && let Some((least, most)) = ladder.and_then(|ladder| ladder.demands(today))
                && today.demand_seconds > 0.0
                && !matches!(today.resource, Resource::Disk { .. })
            {
                let own = today.demand_seconds;
                one.demand_seconds *= factor(today, least / own, most / own);
            }
        }
        uses
    }

    /// The demand of one hidden queue that accounts for what was measured.
    fn hidden_queue_seconds(&self) -> f64 {
        let limits = self.limits;
        let measured = ClosedNetwork::new(&limits.uses, 0.0, |_| true);
        let hidden = hidden_queue(&measured, whole_number(limits.in_flight), limits.per_second);
        hidden.min(self.longest_unseen_seconds())
    }

    /// The time of an operation that nothing accounts for, if it is a delay.
    fn waiting_seconds(&self) -> f64 {
        self.limits.waiting_seconds.min(self.longest_unseen_seconds())
    }

    /// What nothing accounts for is no longer than with the fewest in flight, where nothing queues. Otherwise the time for
    /// which a saturated resource is not counted as busy, as a link by 4% of its rate, would be taken for one more resource.
    fn longest_unseen_seconds(&self) -> f64 {
        let ladder = self.limits.ladder.as_ref();
        ladder.map_or(f64::INFINITY, |ladder| ladder.unloaded_waiting_seconds())
    }

    /// What it carries at most with these capacities: demands are the least that were measured, and everything else takes
    /// its time alone. The time that nothing accounts for may be a delay or a queue. Where other times become longer, a
    /// queue becomes shorter, and more is carried than with a delay.
    fn upper_end(&self, is_firm: impl Fn(&Use) -> bool) -> Option<f64> {
        let delayed = self.upper_end_with_delay(&is_firm)?;
        if !self.is_worse {
            return Some(delayed);
        }
        let hidden = self.hidden_queue_seconds();
        let queued = ClosedNetwork::new(&self.fast, 0.0, &is_firm).with_queue(hidden);
        let queued = queued.carries(whole_number(self.in_flight)).filter(|_| hidden > 0.0);
        Some(queued.map_or(delayed, |queued| queued.max(delayed)))
    }

    fn upper_end_with_delay(&self, is_firm: &impl Fn(&Use) -> bool) -> Option<f64> {
        let limits = self.limits;
        let waiting = self.waiting_seconds();
        let today = ClosedNetwork::new(&limits.uses, waiting, is_firm);
        // The capacity of what is saturated was measured; an operation may take less of other resources.
        let least = |today: &Use, least: f64, _| match self.is_changed(today) {
            false if today.is_nearly_saturated() => 1.0,
            _ => least.min(1.0),
        };
        let fast = self.at_other_numbers(&self.fast, least);
        let new = ClosedNetwork::new(&fast, waiting, is_firm);
        // Work on several resources at a time takes less than the sum of their times.
        let overlap = (today.all() - limits.response_seconds()).max(0.0);
        let in_flight = whole_number(self.in_flight);
        let is_regular = today
            .bounds(whole_number(limits.in_flight))
            .is_none_or(|bounds| limits.per_second > bounds.high * EXACT);
        if overlap <= 0.0 && !is_regular {
            return new.bounds(in_flight).map(|bounds| bounds.high);
        }
        let alone = self.in_flight / (new.all() - overlap).max(f64::MIN_POSITIVE);
        let most = alone.min(1.0 / new.largest());
        most.is_finite().then_some(most)
    }

    /// Whether the changes make an operation take more or less of a resource.
    fn is_changed(&self, today: &Use) -> bool {
        let new = self.fast.iter().find(|one| one.is_same(today));
        new.is_none_or(|new| new.demand_seconds != today.demand_seconds)
    }

    /// Whether the capacity of a resource is known: that of a link by its rate, that of others if they were saturated.
    fn is_firm(&self, one: &Use) -> bool {
        match one.resource {
            Resource::Link { .. } => true,
            Resource::Disk { .. } if self.knows_new_disk => true,
            _ => self.today(one).is_some_and(Use::is_nearly_saturated),
        }
    }

    /// A disk that was never saturated: busy shares of flash and arrays mislead, and seeks of several readers differ.
    fn is_unknown_disk(&self, one: &Use) -> bool {
        matches!(one.resource, Resource::Disk { .. }) && !self.is_firm(one)
    }

    fn has_unknown_disk(&self) -> bool {
        self.limits.uses.iter().any(|one| self.is_unknown_disk(one))
    }

    /// What may keep the row from its upper end.
    fn unknown_resources(&self) -> Vec<Unknown> {
        let mut unknown = Vec::new();
        let is_local = self.study.is_local(usize::from(self.limits.cell.subject));
        for unseen in &self.limits.unseen {
            unknown.extend(match unseen {
                Unseen::Server => Some(Unknown::Server),
                Unseen::SharedProcessor | Unseen::FewTicks if is_local => {
                    Some(Unknown::OwnProcessor)
                }
                Unseen::SharedProcessor | Unseen::FewTicks => Some(Unknown::SharedProcessor),
                Unseen::Link => Some(Unknown::Link),
                Unseen::RoundTrip => None,
            });
        }
        unknown.extend(self.limits.held.iter().map(|held| Unknown::Held(held.host.clone())));
        for one in self.limits.uses.iter().filter(|one| self.is_unknown_disk(one)) {
            if let (Resource::Disk { name }, Some(host)) = (&one.resource, &one.host) {
                let (host, name) = (host.clone(), name.clone());
                unknown.push(Unknown::Disk { host, name, utilisation: one.utilisation });
            }
        }
        for condition in &self.limits.conditions {
            if let Condition::ClockMoved { host, .. } = condition {
                unknown.push(Unknown::Clock(host.clone()));
            }
        }
        unknown
    }

    /// What binds after the change: the largest demand, and others within 20% of it. Where too few operations are in
    /// flight to saturate anything, the same of the parts of an operation's time.
    pub(super) fn next(&self) -> Vec<Next> {
        let hidden = self.hidden_queue_seconds();
        let waiting = self.waiting_seconds();
        let all = ClosedNetwork::new(&self.slow, waiting, |_| true);
        let saturates = self.in_flight / all.all() >= 1.0 / all.largest().max(hidden);
        let weight = |one: &Use| match saturates {
            true => queue_seconds(one),
            false if one.is_delay() => one.demand_seconds,
            false => one.service_seconds(),
        };
        let weighed = |one: &Use| (weight(one), Next::Resource(Box::new(one.clone())));
        let mut weights: Vec<(f64, Next)> = self.slow.iter().map(weighed).collect();
        weights.push((if saturates { hidden } else { waiting }, Next::Waiting));
        let most = weights.iter().map(|(weight, _)| *weight).fold(0.0, f64::max);
        weights.retain(|(weight, _)| *weight > 0.0 && *weight >= NEXT_TOO * most);
        weights.sort_by(|a, b| b.0.total_cmp(&a.0));
        weights.into_iter().take(2).map(|(_, next)| next).collect()
    }
}

/// The demand of one hidden queue with which the network carries what was measured; 0 where it carries less without it.
fn hidden_queue(parts: &ClosedNetwork, in_flight: u16, per_second: f64) -> f64 {
    let (mut least, mut most) = (0.0, 1.0 / per_second);
    for _ in 0..STEPS {
        let seconds = f64::midpoint(least, most);
        match parts.clone().with_queue(seconds).carries(in_flight) {
            Some(carried) if carried > per_second => least = seconds,
            _ => most = seconds,
        }
    }
    // What is left of the steps is nothing.
    if most * per_second < 1e-6 { 0.0 } else { least }
}
