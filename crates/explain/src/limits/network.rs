//! The closed network that was measured: its resources, and the delay that makes it carry what it did.

use super::Use;
use plimsoll_stats::closed;

/// Steps in which the delay is found: to a part in 2⁴⁰ of a response.
const STEPS: usize = 40;
/// Waiting of less than this share of an operation's time is none.
const LEAST: f64 = 1e-6;
/// Most in flight that are gone through one by one; of more the network is the same as of these.
pub(crate) const MOST_IN_FLIGHT: f64 = 2048.0;

/// A network fitted to a throughput.
pub(crate) struct Network {
    /// Demand of each resource on one of its servers, lengthened by what keeps it busy anyway.
    queues: Vec<f64>,
    /// What of each resource's demand is a delay: with m servers the share (m − 1)/m (Seidmann, Schweitzer
    /// and Shalev-Oren 1987, Performance Evaluation 7, 91–107).
    delays: Vec<f64>,
    in_flight: u16,
    per_second: f64,
    /// The delay that is left: what nobody accounts for.
    pub(crate) waiting: f64,
}

impl Network {
    /// The network of these resources that carries so many operations per second with so many in flight.
    /// Where it would carry less even without any waiting, because service is more regular than it
    /// assumes, there is none. `None` of figures that no network has.
    pub(crate) fn fit(uses: &[Use], per_second: f64, in_flight: f64) -> Option<Network> {
        let usable = per_second.is_finite() && per_second > 0.0 && in_flight.is_finite();
        if !usable || in_flight <= 0.0 {
            return None;
        }
        let mut network = Network {
            queues: uses.iter().map(queue_seconds).collect(),
            delays: uses.iter().map(delay_seconds).collect(),
            in_flight: in_flight.round().clamp(1.0, MOST_IN_FLIGHT) as u16,
            per_second: 0.0,
            waiting: 0.0,
        };
        let (mut least, mut most) = (0.0, in_flight / per_second);
        for _ in 0..STEPS {
            network.waiting = f64::midpoint(least, most);
            match network.carries(&network.queues, &network.delays, network.waiting)? > per_second {
                true => least = network.waiting,
                false => most = network.waiting,
            }
        }
        if network.waiting * per_second < LEAST * in_flight {
            network.waiting = 0.0;
        }
        network.per_second = network.carries(&network.queues, &network.delays, network.waiting)?;
        Some(network)
    }

    fn carries(&self, queues: &[f64], delays: &[f64], waiting: f64) -> Option<f64> {
        let delay = waiting + delays.iter().sum::<f64>();
        closed::mva(self.in_flight, queues, delay).map(|closed| closed.per_second)
    }

    /// How much more it would carry if operations took half as much of one resource, as a share.
    pub(super) fn gain(&self, number: usize) -> f64 {
        let (mut queues, mut delays) = (self.queues.clone(), self.delays.clone());
        for part in [queues.get_mut(number), delays.get_mut(number)].into_iter().flatten() {
            *part /= 2.0;
        }
        self.more(self.carries(&queues, &delays, self.waiting))
    }

    /// The same if they waited half as long.
    pub(super) fn gain_of_waiting(&self) -> f64 {
        self.more(self.carries(&self.queues, &self.delays, self.waiting / 2.0))
    }

    /// Without waiting and demands it would carry any number.
    fn more(&self, per_second: Option<f64>) -> f64 {
        per_second.map_or(f64::INFINITY, |more| (more / self.per_second - 1.0).max(0.0))
    }
}

/// Seconds that an operation is served by a resource alone, on one of its servers.
pub(crate) fn queue_seconds(one: &Use) -> f64 {
    match one.is_delay() {
        true => 0.0,
        // A resource that others keep busy serves the slower.
        false => one.demand_seconds / one.servers / (1.0 - one.background).max(0.01),
    }
}

/// Seconds that it takes without keeping others from it.
pub(crate) fn delay_seconds(one: &Use) -> f64 {
    match one.is_delay() {
        true => one.demand_seconds,
        false => one.demand_seconds * (one.servers - 1.0).max(0.0) / one.servers,
    }
}
