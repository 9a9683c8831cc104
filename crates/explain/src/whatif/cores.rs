//! A row whose work is done on as few cores as account for what was measured.
//!
//! Where no core is much busier than the others, counters do not show whether several share the work or one does it.
//! Those of a CPU quota of more than one core never do. On one core operations wait for each other, and a faster core
//! shortens that as well. If several share the work, the same time is spent elsewhere, and stays.

use super::bounds::{ClosedNetwork, whole_number};
use super::demands::Demands;
use crate::limits::network::Network;
use crate::{Limits, Resource, Use};

/// Steps in which the number of cores is found: to a part in 2⁴⁰ of all.
const STEPS: usize = 40;

impl<'a> Demands<'a> {
    /// The limits of the row on as few cores as carry what was measured, with the time that nothing accounts for then.
    /// `None` if all cores carry less, or nothing has several.
    pub(super) fn limits_on_fewest_cores(&self) -> Option<Limits> {
        let limits = self.limits;
        let is_enough = |share: f64| {
            let network = ClosedNetwork::new(&on_cores(&limits.uses, share), 0.0, |_| true);
            let carried = network.carries(whole_number(limits.in_flight));
            carried.is_some_and(|carried| carried >= limits.per_second)
        };
        if !limits.uses.iter().any(has_several_cores) || !is_enough(1.0) {
            return None;
        }
        let share = least(is_enough);
        let uses = on_cores(&limits.uses, share);
        let waiting_seconds = match share > 0.0 {
            // They carry no more than that even without any waiting.
            true => 0.0,
            false => Network::fit(&uses, limits.per_second, limits.in_flight)?.waiting,
        };
        let waiting_seconds = waiting_seconds.min(limits.waiting_seconds);
        Some(Limits { uses, waiting_seconds, ..limits.clone() })
    }

    /// Servers of a resource that share its work for certain: of cores as many as the work keeps busy, and one at least. If
    /// no core of a processor stands out, more share the work, but only at the measured load.
    pub(super) fn certain_servers(&self, one: &Use) -> f64 {
        let may_be_fewer = match one.resource {
            Resource::Processor => self.is_worse,
            Resource::Quota { .. } => true,
            _ => false,
        };
        match self.today(one) {
            Some(today) if may_be_fewer => {
                let busy = self.limits.per_second * today.demand_seconds;
                one.servers.min(busy.max(1.0))
            }
            _ => one.servers,
        }
    }

    /// The same changes of the row with these limits, which differ from its own by their cores.
    pub(super) fn with_cores_of<'b>(&self, limits: &'b Limits) -> Demands<'b>
    where
        'a: 'b,
    {
        let with_cores = |uses: &[Use]| -> Vec<Use> {
            let mut uses = uses.to_vec();
            for one in uses.iter_mut().filter(|one| has_several_cores(one)) {
                let known = limits.uses.iter().find(|known| known.is_same(one));
                one.servers = known.map_or(one.servers, |known| known.servers);
            }
            uses
        };
        Demands {
            study: self.study,
            limits,
            slow: with_cores(&self.slow),
            fast: with_cores(&self.fast),
            in_flight: self.in_flight,
            measured: self.measured,
            is_better: self.is_better,
            is_worse: self.is_worse,
            may_lose: self.may_lose,
            knows_new_disk: self.knows_new_disk,
            unknown: Vec::new(),
        }
    }
}

/// The least share that is enough, where all is.
fn least(is_enough: impl Fn(f64) -> bool) -> f64 {
    let (mut too_few, mut enough) = (0.0, 1.0);
    if is_enough(too_few) {
        return too_few;
    }
    for _ in 0..STEPS {
        let share = f64::midpoint(too_few, enough);
        match is_enough(share) {
            true => enough = share,
            false => too_few = share,
        }
    }
    enough
}

fn has_several_cores(one: &Use) -> bool {
    matches!(one.resource, Resource::Processor | Resource::Quota { .. }) && one.servers > 1.0
}

/// The same with one core of each processor or quota, and with this share of its other cores.
fn on_cores(uses: &[Use], share: f64) -> Vec<Use> {
    let mut uses = uses.to_vec();
    for one in uses.iter_mut().filter(|one| has_several_cores(one)) {
        one.servers = 1.0 + share * (one.servers - 1.0);
    }
    uses
}
