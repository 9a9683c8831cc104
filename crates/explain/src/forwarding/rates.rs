//! What a router did at each rate that was offered to it.

use super::seen::At;
use plimsoll_model::{ConntrackLoad, CpuTimes};

/// Rates that differ by less, as a share, are one rate; wider if there are more rates than that.
const SAME_RATE: f64 = 0.02;
const MOST_RATES: usize = 16;

/// A router at one offered rate, over all trials at it, in which each frame counts once. What was counted is a share of the
/// frames that were sent. Its CPU is that of the time in which they were sent.
#[derive(Clone, Debug, PartialEq)]
pub struct AtRate {
    /// Frames per second that were sent.
    pub offered: f64,
    /// Frames per second that arrived.
    pub received: f64,
    /// Cores that each class of CPU time took.
    pub cpu: CpuTimes,
    /// Utilisation of each core.
    pub cores: Vec<f64>,
    /// Dropped by the queues of its cores.
    pub softnet_dropped: f64,
    /// Dropped by its queueing disciplines.
    pub queue_dropped: f64,
    /// Times that these held packets back to keep their rate.
    pub held_back: f64,
    /// Marked by them.
    pub marked: f64,
    /// Its connection tracking.
    pub conntrack: Option<ConntrackLoad>,
}

impl AtRate {
    /// Share of the frames that was lost.
    pub fn loss(&self) -> f64 {
        (1.0 - self.received / self.offered).clamp(0.0, 1.0)
    }
}

/// A row for each rate, the lowest first.
pub(super) fn rates(all: &[At<'_>]) -> Vec<AtRate> {
    let mut sorted: Vec<&At<'_>> = all.iter().collect();
    sorted.sort_by(|a, b| a.offered.total_cmp(&b.offered));
    let mut width = SAME_RATE;
    loop {
        let groups = groups(&sorted, width);
        // No width is infinite: offered rates are finite and above 0.
        if groups.len() <= MOST_RATES {
            return groups.into_iter().map(of_group).collect();
        }
        width *= 2.0;
    }
}

/// Neighbours that are no further apart from the first one of them.
fn groups<'a>(sorted: &'a [&'a At<'a>], width: f64) -> Vec<&'a [&'a At<'a>]> {
    let mut groups = Vec::new();
    let mut rest = sorted;
    while let Some(first) = rest.first() {
        let end = rest.partition_point(|at| at.offered <= first.offered * (1.0 + width));
        let (group, others) = rest.split_at(end.max(1));
        groups.push(group);
        rest = others;
    }
    groups
}

fn of_group(group: &[&At<'_>]) -> AtRate {
    let sum = |of: &dyn Fn(&At<'_>) -> f64| group.iter().map(|at| of(at)).sum::<f64>();
    let (seconds, sent) = (sum(&|at| at.seconds), sum(&|at| at.sent));
    // By frames, as the drops are: a long trial has more of them than a short one.
    let frames = |at: &At<'_>| if sent > 0.0 { at.sent } else { 1.0 };
    let mean = |of: fn(&At<'_>) -> f64| sum(&|at| frames(at) * of(at)) / sum(&frames);
    let share = |counted: f64| if sent > 0.0 { counted / sent } else { 0.0 };
    let queues = |of: fn(&plimsoll_model::QueueLoad) -> u64| {
        sum(&|at| at.load.queues.iter().map(of).fold(0, u64::saturating_add) as f64)
    };
    let cores = group.iter().map(|at| at.load.cores_busy.len()).min().unwrap_or_default();
    let busy = |core: usize| {
        let busy = |at: &At<'_>| at.load.cores_busy.get(core).copied().unwrap_or_default();
        (sum(&|at| busy(at) * at.load.seconds) / seconds).min(1.0)
    };
    let cpu = group.iter().fold(CpuTimes::default(), |all, at| all + at.load.cpu);
    AtRate {
        offered: mean(|at| at.offered),
        received: mean(|at| at.received),
        cpu: cpu * (1.0 / seconds),
        cores: (0..cores).map(busy).collect(),
        softnet_dropped: share(sum(&|at| {
            at.load.softnet.map_or(0.0, |softnet| softnet.dropped as f64)
        })),
        queue_dropped: share(queues(|queue| queue.dropped)),
        held_back: share(queues(|queue| queue.overlimits)),
        marked: share(queues(|queue| queue.marked)),
        conntrack: group.iter().filter_map(|at| at.load.conntrack).reduce(|all, one| all + one),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::{HostLoad, QueueLoad, Softnet};

    fn load(seconds: f64, softirq: f64, dropped: u64) -> HostLoad {
        let queue = QueueLoad { dropped, overlimits: 2 * dropped, ..QueueLoad::default() };
        HostLoad {
            seconds,
            cpu: CpuTimes { softirq, ..CpuTimes::default() },
            cores_busy: vec![softirq / seconds, 0.0],
            queues: vec![queue],
            softnet: Some(Softnet { dropped: 10, ..Softnet::default() }),
            ..HostLoad::default()
        }
    }

    /// 1000 frames that were sent all the time.
    fn at(load: &HostLoad, offered: f64, received: f64) -> At<'_> {
        At { offered, received, sent: 1000.0, seconds: load.seconds, load }
    }

    #[test]
    fn trials_at_about_one_rate_are_a_row() {
        let (a, b, c) = (load(2.0, 1.0, 0), load(6.0, 1.0, 100), load(2.0, 2.0, 500));
        let rows = rates(&[at(&c, 2000.0, 1000.0), at(&a, 1000.0, 1000.0), at(&b, 1020.0, 1010.0)]);
        let [low, high] = &rows[..] else { panic!("{rows:?}") };
        assert_eq!((low.offered, low.received, high.offered), (1010.0, 1005.0, 2000.0));
        assert_eq!((low.cpu.softirq, low.cores.clone()), (0.25, vec![0.25, 0.0]));
        assert_eq!((low.queue_dropped, low.held_back, low.softnet_dropped), (0.05, 0.1, 0.01));
        assert_eq!((high.queue_dropped, high.cpu.softirq), (0.5, 1.0));
        assert!(rates(&[]).is_empty());
        assert_eq!((low.loss(), high.loss()), (1.0 - 1005.0 / 1010.0, 0.5));
    }

    /// "0.4% of 1.3%" stood beside a queue that had dropped all lost frames: short trials lost as much as long ones.
    #[test]
    fn lost_frames_and_dropped_ones_are_shares_of_the_same_frames() {
        let (kept, lossy) = (load(5.0, 1.0, 0), load(0.5, 0.1, 500));
        let long = At { sent: 10_000.0, ..at(&kept, 1000.0, 1000.0) };
        let rows = rates(&[long, at(&lossy, 1000.0, 500.0)]);
        let [row] = &rows[..] else { panic!("{rows:?}") };
        assert!((row.loss() - 500.0 / 11_000.0).abs() < 1e-9, "{row:?}");
        assert!((row.loss() - row.queue_dropped).abs() < 1e-9, "{row:?}");
        // Of no frames at all, each trial counts once.
        let none = At { sent: 0.0, ..at(&lossy, 1000.0, 500.0) };
        let rows = rates(&[none, At { received: 1000.0, ..none }]);
        assert_eq!((rows[0].offered, rows[0].received), (1000.0, 750.0));
    }

    /// Monitoring begins before the frames and ends after them.
    #[test]
    fn cores_are_as_busy_as_they_were_while_frames_were_sent() {
        let (a, b, full) = (load(2.0, 0.4, 0), load(2.0, 1.6, 0), load(2.0, 1.7, 0));
        let short = |load| At { seconds: 1.6, ..at(load, 1000.0, 1000.0) };
        let rows = rates(&[short(&a), short(&b)]);
        assert_eq!((rows[0].cores.clone(), rows[0].cpu.softirq), (vec![0.625, 0.0], 0.625));
        assert_eq!(rates(&[short(&full)])[0].cores, [1.0, 0.0]);
    }

    #[test]
    fn many_rates_are_put_together() {
        let load = load(1.0, 0.1, 0);
        let trial = |n: i32| at(&load, 1.05_f64.powi(n), 1.0);
        let all: Vec<At<'_>> = (0..100).map(trial).collect();
        let rows = rates(&all);
        assert!((4..=MOST_RATES).contains(&rows.len()), "{}", rows.len());
        assert!(rows.windows(2).all(|pair| pair[0].offered < pair[1].offered));
    }
}
