//! What sets the rate that a router keeps: the one rule for searches of frames and for rising rates of datagrams.

use super::lost::{self, QueueSeen};
use super::seen::{At, Loaded, kernel, mean};
use crate::thresholds::{AROUND_FRAME_BYTES, LOST_THERE, PATH_SATURATED, ROUTER_IDLE};
use plimsoll_model::Study;

/// What sets the rate that a router keeps.
#[derive(Clone, Debug, PartialEq)]
pub enum RateLimit {
    /// The sender: the router keeps at least that.
    Sender,
    /// A core of the router, at this utilisation.
    Core {
        /// Utilisation.
        share: f64,
    },
    /// A link of the router, at this utilisation.
    Link {
        /// Its interface.
        interface: String,
        /// Utilisation.
        share: f64,
    },
    /// The queue of a core of the router, which was full.
    CpuQueue {
        /// Share of the lost frames that were lost there.
        share: f64,
    },
    /// A queueing discipline of the router: its CPU is idle enough.
    Queue {
        /// Utilisation of its busiest core by the kernel.
        share: f64,
    },
    /// A shaper, a policer or a link that is not known: the router's CPU is idle enough.
    NotCpu {
        /// Utilisation of its busiest core.
        share: f64,
    },
    /// Nothing is known of the router.
    Unknown,
}

/// The router's cores at the rate that it keeps, as means of the trials; each `None` if it was not monitored.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RouterCpu {
    /// Share of the time that the busiest core spends in soft interrupts.
    pub softirq: Option<f64>,
    /// Utilisation of the busiest core by the kernel.
    pub kernel: Option<f64>,
    /// Utilisation of the busiest core by everything.
    pub busiest: Option<f64>,
    /// Utilisation of the core after it; `None` of a router with one core.
    pub next: Option<f64>,
}

/// What the loads of a router show.
pub(crate) struct Judged {
    pub(crate) cpu: RouterCpu,
    /// Share of the lost frames that the queues of its cores dropped (softnet).
    pub(crate) softnet_dropped: Option<f64>,
    /// The queueing discipline that dropped or held back most of the lost frames.
    pub(crate) queue: Option<QueueSeen>,
    /// What sets the rate, if the sender does not.
    pub(crate) limit: RateLimit,
}

impl Judged {
    /// By the loads at the rate that it keeps, and at all rates.
    pub(crate) fn new(study: &Study, kept: &[Loaded<'_>], all: &[At<'_>]) -> Judged {
        let cpu = RouterCpu::new(kept);
        let (softnet_dropped, queue) = (lost::softnet(all), lost::queue(all));
        let limit = match kept {
            [] => RateLimit::Unknown,
            _ => {
                full_link(study, kept).unwrap_or_else(|| cpu.limit(softnet_dropped, queue.as_ref()))
            }
        };
        Judged { cpu, softnet_dropped, queue, limit }
    }
}

impl RouterCpu {
    fn new(kept: &[Loaded<'_>]) -> RouterCpu {
        RouterCpu {
            softirq: mean(kept, |seen| seen.busiest(|cpu| cpu.softirq)),
            kernel: mean(kept, |seen| seen.busiest(kernel)),
            busiest: mean(kept, Loaded::core),
            next: mean(kept, Loaded::next_core),
        }
    }

    /// What sets the rate if no link does, with the share of the lost frames that the queues of cores dropped, and a
    /// queueing discipline.
    fn limit(self, softnet_dropped: Option<f64>, queue: Option<&QueueSeen>) -> RateLimit {
        let limits = queue.is_some_and(QueueSeen::limits);
        match (self.kernel, self.busiest, softnet_dropped) {
            (Some(share), ..) if share >= PATH_SATURATED => RateLimit::Core { share },
            (.., Some(share)) if share >= LOST_THERE => RateLimit::CpuQueue { share },
            (Some(share), ..) if share <= ROUTER_IDLE && limits => RateLimit::Queue { share },
            (_, Some(share), _) if share <= ROUTER_IDLE => RateLimit::NotCpu { share },
            _ => RateLimit::Unknown,
        }
    }
}

/// The first link of a router that is saturated.
fn full_link(study: &Study, kept: &[Loaded<'_>]) -> Option<RateLimit> {
    let first = kept.first()?.load;
    let facts = study.hosts.iter().find(|facts| facts.name == first.host)?;
    // The rate of a lab is a shaper's, which counts frames alone.
    let around = if facts.lab.is_some() { 0.0 } else { AROUND_FRAME_BYTES };
    let wire = |bytes: u64, packets: u64| bytes as f64 + around * packets as f64;
    let full = |name: &str| {
        let rate = facts.link_rate(name)?;
        let share = mean(kept, |seen| {
            let own = seen.load.interfaces.iter().find(|one| one.name == name)?;
            let sent = wire(own.sent_bytes, own.sent_packets);
            let bytes = sent.max(wire(own.received_bytes, own.received_packets));
            Some(8.0 * bytes / rate as f64 / seen.seconds)
        });
        share.filter(|share| *share >= PATH_SATURATED)
    };
    first.interfaces.iter().find_map(|one| {
        let share = full(&one.name)?.min(1.0);
        Some(RateLimit::Link { interface: one.name.clone(), share })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_sets_the_rate_is_a_core_then_its_queue_then_a_discipline() {
        let cpu = |kernel, busiest| RouterCpu {
            kernel: Some(kernel),
            busiest: Some(busiest),
            ..RouterCpu::default()
        };
        let queue = |dropped| QueueSeen {
            interface: "eth0".into(),
            discipline: "tbf".into(),
            dropped,
            held_back: 0.0,
        };
        let (much, little) = (queue(0.5), queue(0.49));
        assert_eq!(cpu(0.9, 0.9).limit(Some(0.9), Some(&much)), RateLimit::Core { share: 0.9 });
        let at = cpu(0.89, 0.9).limit(Some(0.5), Some(&much));
        assert_eq!(at, RateLimit::CpuQueue { share: 0.5 });
        // Processes may keep the cores busy.
        let at = cpu(0.7, 1.0).limit(Some(0.49), Some(&much));
        assert_eq!(at, RateLimit::Queue { share: 0.7 });
        assert_eq!(cpu(0.71, 1.0).limit(None, Some(&much)), RateLimit::Unknown);
        assert_eq!(cpu(0.2, 0.7).limit(None, Some(&little)), RateLimit::NotCpu { share: 0.7 });
        assert_eq!(cpu(0.2, 0.71).limit(None, None), RateLimit::Unknown);
        assert_eq!(RouterCpu::default().limit(None, Some(&much)), RateLimit::Unknown);
    }
}
