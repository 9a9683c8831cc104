//! Where a router lost the frames that did not arrive, by its own counters, and whether its CPU had work with those that
//! did.

use super::seen::At;
use crate::thresholds::{
    CONNTRACK_FULL, FEW_TICKS_SECONDS, FRAME_SECONDS, HELD_BACK, LOST_ENOUGH, LOST_THERE,
    OFFLOADED_SECONDS,
};
use plimsoll_model::{ConntrackLoad, QueueLoad};

/// What a queueing discipline of the router did to the frames, at the rates at which frames were lost.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueSeen {
    /// Its interface.
    pub interface: String,
    /// Its name.
    pub discipline: String,
    /// Share of the lost frames that it dropped.
    pub dropped: f64,
    /// Times that it held frames back to keep its rate, for each frame that was sent.
    pub held_back: f64,
}

impl QueueSeen {
    /// Whether it keeps a rate of its own.
    pub fn shapes(&self) -> bool {
        self.held_back >= HELD_BACK
    }

    /// Whether the frames were lost, or held back, there.
    pub(super) fn limits(&self) -> bool {
        self.dropped >= LOST_THERE || self.shapes()
    }
}

/// Frames that were sent and lost at the rates at which some were lost; `None` if the router lost none.
fn lossy<'a>(all: &'a [At<'a>]) -> Option<(Vec<&'a At<'a>>, f64, f64)> {
    let lossy: Vec<&At<'_>> = all.iter().filter(|at| at.loss() >= LOST_ENOUGH).collect();
    let sent = lossy.iter().map(|at| at.sent).sum::<f64>();
    let lost = lossy.iter().map(|at| at.sent * at.loss()).sum::<f64>();
    (lost > 0.0).then_some((lossy, sent, lost))
}

/// The discipline that dropped most of the lost frames; of those that dropped none the one that held back most.
pub(super) fn queue(all: &[At<'_>]) -> Option<QueueSeen> {
    let (lossy, sent, lost) = lossy(all)?;
    let mut sums: Vec<QueueLoad> = Vec::new();
    for queue in lossy.iter().flat_map(|at| &at.load.queues) {
        let is_same = |sum: &&mut QueueLoad| {
            (&sum.interface, &sum.discipline) == (&queue.interface, &queue.discipline)
        };
        match sums.iter_mut().find(is_same) {
            Some(sum) => {
                sum.dropped = sum.dropped.saturating_add(queue.dropped);
                sum.overlimits = sum.overlimits.saturating_add(queue.overlimits);
            }
            None => sums.push(queue.clone()),
        }
    }
    let most = sums.into_iter().max_by_key(|sum| (sum.dropped, sum.overlimits))?;
    Some(QueueSeen {
        interface: most.interface,
        discipline: most.discipline,
        dropped: (most.dropped as f64 / lost).min(1.0),
        held_back: most.overlimits as f64 / sent,
    })
}

/// Share of the lost frames that the queues of the router's cores dropped.
pub(super) fn softnet(all: &[At<'_>]) -> Option<f64> {
    let (lossy, _, lost) = lossy(all)?;
    let dropped: Vec<u64> = lossy.iter().filter_map(|at| Some(at.load.softnet?.dropped)).collect();
    (!dropped.is_empty()).then(|| (dropped.iter().sum::<u64>() as f64 / lost).min(1.0))
}

/// The router's connection tracking over all rates.
pub(super) fn conntrack(all: &[At<'_>]) -> Option<ConntrackLoad> {
    all.iter().filter_map(|at| at.load.conntrack).reduce(|all, one| all + one)
}

/// Whether the table of connections had no room for another one.
pub(super) fn is_full(conntrack: &ConntrackLoad) -> bool {
    let most = conntrack.most_entries.map_or(f64::INFINITY, |most| most as f64);
    conntrack.early_dropped > 0 || conntrack.entries as f64 >= CONNTRACK_FULL * most
}

/// Share of a core that the kernel took for frames that arrived, if it is less than forwarding takes any CPU.
pub(super) fn offloaded(all: &[At<'_>]) -> Option<f64> {
    let arrived: f64 = all.iter().map(|at| at.sent * (1.0 - at.loss())).sum();
    let caused: f64 = all.iter().map(At::caused_by_kernel).sum();
    let seconds: f64 = all.iter().map(|at| at.load.seconds).sum();
    let is_seen = arrived * FRAME_SECONDS >= FEW_TICKS_SECONDS;
    (is_seen && caused < OFFLOADED_SECONDS * arrived).then(|| (caused / seconds).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::{CpuTimes, HostLoad, Softnet};

    /// A load with a discipline that dropped and held back so often, and a queue of a core that dropped so many.
    fn load(dropped: u64, overlimits: u64, by_core: u64) -> HostLoad {
        HostLoad {
            seconds: 2.0,
            queues: vec![QueueLoad {
                interface: "eth0".into(),
                discipline: "tbf".into(),
                dropped,
                overlimits,
                marked: 0,
            }],
            softnet: Some(Softnet { processed: 1, dropped: by_core, squeezed: 0 }),
            ..HostLoad::default()
        }
    }

    /// 1,000,000 frames sent at 10,000 a second, of which so many arrived.
    fn at(load: &HostLoad, received: f64) -> At<'_> {
        At { offered: 10_000.0, received, sent: 1e6, seconds: load.seconds, load }
    }

    #[test]
    fn a_discipline_limits_if_it_dropped_or_held_back_half_of_the_lost_frames() {
        // A tenth of the frames was lost.
        for (dropped, overlimits, limits, shapes) in [
            (49_999, 0, false, false),
            (50_000, 0, true, false),
            (0, 499_999, false, false),
            (0, 500_000, true, true),
        ] {
            let load = load(dropped, overlimits, 0);
            let seen = queue(&[at(&load, 9_000.0)]).unwrap();
            assert_eq!((seen.limits(), seen.shapes()), (limits, shapes), "{dropped} {overlimits}");
        }
        // What it did at a rate that was kept is its business.
        let (busy, idle) = (load(90_000, 900_000, 0), load(10_000, 0, 0));
        let seen = queue(&[at(&busy, 9_901.0), at(&idle, 9_900.0)]).unwrap();
        assert!((seen.dropped - 1.0).abs() < 1e-9 && seen.held_back == 0.0, "{seen:?}");
        assert_eq!(queue(&[at(&busy, 9_901.0)]), None, "nothing was lost");
    }

    #[test]
    fn what_the_queues_of_cores_dropped_is_a_share_of_the_lost_frames() {
        let load = load(0, 0, 30_000);
        assert_eq!(softnet(&[at(&load, 9_000.0)]).map(|share| (share * 100.0).round()), Some(30.0));
        assert_eq!(softnet(&[at(&HostLoad::default(), 9_000.0)]), None);
    }

    #[test]
    fn a_table_of_connections_is_full_from_95_percent_on_or_if_it_made_room() {
        let table = ConntrackLoad { most_entries: Some(1000), ..ConntrackLoad::default() };
        for (entries, early_dropped, full) in
            [(949, 0, false), (950, 0, true), (1000, 0, true), (10, 1, true)]
        {
            assert_eq!(
                is_full(&ConntrackLoad { entries, early_dropped, ..table }),
                full,
                "{entries}"
            );
        }
        assert!(!is_full(&ConntrackLoad { entries: 5000, most_entries: None, ..table }));
        // The most of all rates, and the sum of what was counted.
        let load = |entries| HostLoad {
            conntrack: Some(ConntrackLoad { entries, dropped: 2, ..table }),
            ..HostLoad::default()
        };
        let (few, many) = (load(10), load(70));
        let all = conntrack(&[at(&many, 9_000.0), at(&few, 9_000.0)]).unwrap();
        assert_eq!((all.entries, all.dropped, all.most_entries), (70, 4, Some(1000)));
    }

    #[test]
    fn frames_that_cost_no_cpu_time_are_offloaded() {
        // Of 20 s, with an idle router that spends 0.1 s a second.
        let share = |softirq: f64, sent: f64| {
            let load = HostLoad {
                seconds: 20.0,
                cpu: CpuTimes { softirq, ..CpuTimes::default() },
                idle: Some(CpuTimes { softirq: 0.1, ..CpuTimes::default() }),
                ..HostLoad::default()
            };
            offloaded(&[At { sent, ..at(&load, 10_000.0) }])
        };
        // 0.05 µs a frame are 0.05 s.
        assert!((share(2.04, 1e6).unwrap() - 0.002).abs() < 1e-9);
        assert_eq!(share(2.051, 1e6), None, "as much as a fast router takes");
        assert_eq!(share(1.0, 1e6), Some(0.0));
        // Of too few frames nothing would show.
        assert!(share(2.0, 401_000.0).is_some() && share(2.0, 399_000.0).is_none());
    }
}
