//! What was counted between two samples. The counters are another host's word: what cannot be is
//! not taken in.

use crate::proc_files::{GroupCounters, Hardware, Sample};
use plimsoll_model::{
    ConntrackLoad, ControlGroupLoad, CpuTimes, DiskLoad, Frequency, HostLoad, InterfaceLoad, Moved,
    NfsdLoad, QueueLoad, Softirqs, Softnet,
};

/// What was counted between two samples.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// Without stretches and without what is looked at rather than counted.
    pub(super) load: HostLoad,
    /// By the real devices together.
    pub(super) moved: Option<Moved>,
}

impl Part {
    pub(super) fn busiest_core(&self) -> f64 {
        self.load.cores_busy.iter().copied().fold(0.0, f64::max)
    }
}

/// Why nothing can be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Odd {
    /// The host's clock ran backwards: it restarted.
    Restarted,
    /// More CPU time than its cores have.
    Impossible,
}

/// CPU time that cores may have beyond the time that passed, as a factor and in seconds: the moment
/// of a sample is only known to half a round trip, and kernels account idle time late.
const SLACK: f64 = 1.5;
const SLACK_SECONDS: f64 = 1.0;

/// Devices of a trial that are believed, whatever names the samples have.
const MOST_DEVICES: usize = 256;

/// How much a counter grew. One that went backwards wrapped at 32 bits, if that is plausible; else it
/// began anew, and nothing is known.
fn grown(from: u64, to: u64) -> u64 {
    const WRAP: u64 = 1 << 32;
    match to.checked_sub(from) {
        Some(grown) => grown,
        None if from < WRAP && WRAP - from + to < WRAP / 2 => WRAP - from + to,
        None => 0,
    }
}

fn grown_too(from: Option<u64>, to: Option<u64>) -> Option<u64> {
    Some(grown(from?, to?))
}

pub(super) fn between(hardware: &Hardware, from: &Sample, to: &Sample) -> Result<Part, Odd> {
    let uptime = to.uptime_seconds.zip(from.uptime_seconds).map(|(to, from)| to - from);
    if uptime.is_some_and(|seconds| seconds < 0.0) {
        return Err(Odd::Restarted);
    }
    let seconds = to.at.since(from.at).as_secs_f64();
    let longest = seconds + from.within.as_secs_f64() + to.within.as_secs_f64();
    let cores = to.cores.len().max(from.cores.len()).max(1) as f64;
    let cpu = to.cpu - from.cpu;
    if cpu.total() > cores * (longest * SLACK + SLACK_SECONDS) {
        return Err(Odd::Impossible);
    }
    let cores: Vec<CpuTimes> = from.cores.iter().zip(&to.cores).map(|(a, b)| *b - *a).collect();
    let disks = disks(from, to);
    let interfaces = interfaces(from, to);
    let moved = moved(hardware, &disks, &interfaces);
    let load = HostLoad {
        seconds,
        cpu,
        cores_busy: cores.iter().map(busy).collect(),
        cores,
        run_seconds: from.run_seconds.zip(to.run_seconds).map(|(a, b)| (b - a).max(0.0)),
        memory_stall_seconds: from
            .memory_stall_seconds
            .zip(to.memory_stall_seconds)
            .map(|(a, b)| (b - a).clamp(0.0, longest)),
        disks: disks.into_iter().filter(|d| d.reads > 0 || d.writes > 0).collect(),
        interfaces: interfaces
            .into_iter()
            .filter(|i| i.received_packets > 0 || i.sent_packets > 0)
            .collect(),
        tcp_retransmitted: grown_too(from.tcp_retransmitted, to.tcp_retransmitted),
        softirqs: from.softirqs.zip(to.softirqs).map(|(a, b)| Softirqs {
            net_rx: grown(a.net_rx, b.net_rx),
            net_tx: grown(a.net_tx, b.net_tx),
        }),
        softnet: from.softnet.zip(to.softnet).map(|(a, b)| Softnet {
            processed: grown(a.processed, b.processed),
            dropped: grown(a.dropped, b.dropped),
            squeezed: grown(a.squeezed, b.squeezed),
        }),
        conntrack: from.conntrack.zip(to.conntrack).map(|(a, b)| ConntrackLoad {
            entries: a.entries.max(b.entries),
            most_entries: b.most_entries,
            insert_failed: grown(a.insert_failed, b.insert_failed),
            dropped: grown(a.dropped, b.dropped),
            early_dropped: grown(a.early_dropped, b.early_dropped),
            offloaded: b.offloaded,
            offloaded_in_hardware: b.offloaded_in_hardware,
        }),
        queues: queues(from, to),
        frequency: to.frequency,
        control_group: from.control_group.zip(to.control_group).and_then(group),
        nfsd: from.nfsd.zip(to.nfsd).map(|(a, b)| NfsdLoad {
            calls: grown(a.calls, b.calls),
            read_bytes: grown(a.read_bytes, b.read_bytes),
            written_bytes: grown(a.written_bytes, b.written_bytes),
            threads: b.threads,
        }),
        ..HostLoad::default()
    };
    Ok(Part { load, moved })
}

/// What a control group had between two samples.
fn group((from, to): (GroupCounters, GroupCounters)) -> Option<ControlGroupLoad> {
    let periods = grown_too(from.periods, to.periods).filter(|periods| *periods > 0);
    let throttled = grown_too(from.throttled, to.throttled);
    Some(ControlGroupLoad {
        cpu_seconds: (to.cpu_seconds? - from.cpu_seconds?).max(0.0),
        quota_cores: to.quota_cores(),
        throttled_share: throttled.zip(periods).map(|(t, all)| (t as f64 / all as f64).min(1.0)),
    })
}

/// One after the other: the share of periods by how much was used in each.
fn both_groups(a: ControlGroupLoad, b: ControlGroupLoad, seconds: (f64, f64)) -> ControlGroupLoad {
    let all = seconds.0 + seconds.1;
    let mean = |a: f64, b: f64| if all > 0.0 { (a * seconds.0 + b * seconds.1) / all } else { b };
    ControlGroupLoad {
        cpu_seconds: a.cpu_seconds + b.cpu_seconds,
        quota_cores: b.quota_cores,
        throttled_share: sum(a.throttled_share, b.throttled_share, mean),
    }
}

fn busy(spent: &CpuTimes) -> f64 {
    if spent.total() > 0.0 { spent.busy().0 / spent.total() } else { 0.0 }
}

fn disks(from: &Sample, to: &Sample) -> Vec<DiskLoad> {
    let disk = |b: &crate::proc_files::DiskCounters| {
        let a = from.disks.iter().find(|a| a.name == b.name)?;
        Some(DiskLoad {
            name: b.name.clone(),
            reads: grown(a.reads, b.reads),
            read_bytes: grown(a.read_bytes, b.read_bytes),
            writes: grown(a.writes, b.writes),
            written_bytes: grown(a.written_bytes, b.written_bytes),
            busy_seconds: grown(a.busy_ms, b.busy_ms) as f64 * 1e-3,
            in_flight_seconds: grown(a.in_flight_ms, b.in_flight_ms) as f64 * 1e-3,
        })
    };
    to.disks.iter().filter_map(disk).collect()
}

fn interfaces(from: &Sample, to: &Sample) -> Vec<InterfaceLoad> {
    let interface = |b: &crate::proc_files::InterfaceCounters| {
        let a = from.interfaces.iter().find(|a| a.name == b.name)?;
        Some(InterfaceLoad {
            name: b.name.clone(),
            received_bytes: grown(a.received_bytes, b.received_bytes),
            received_packets: grown(a.received_packets, b.received_packets),
            sent_bytes: grown(a.sent_bytes, b.sent_bytes),
            sent_packets: grown(a.sent_packets, b.sent_packets),
            errors: grown(a.errors, b.errors),
            drops: grown(a.drops, b.drops),
        })
    };
    to.interfaces.iter().filter_map(interface).collect()
}

/// Disciplines that did more than pass packets on. One that was replaced begins anew.
fn queues(from: &Sample, to: &Sample) -> Vec<QueueLoad> {
    let queue = |b: &QueueLoad| {
        let a = from.queues.iter().find(|a| is_same(a, b))?;
        let grown = QueueLoad {
            dropped: grown(a.dropped, b.dropped),
            overlimits: grown(a.overlimits, b.overlimits),
            marked: grown(a.marked, b.marked),
            ..b.clone()
        };
        ([grown.dropped, grown.overlimits, grown.marked] != [0; 3]).then_some(grown)
    };
    to.queues.iter().filter_map(queue).collect()
}

fn is_same(a: &QueueLoad, b: &QueueLoad) -> bool {
    (&a.interface, &a.discipline) == (&b.interface, &b.discipline)
}

fn moved(hardware: &Hardware, disks: &[DiskLoad], interfaces: &[InterfaceLoad]) -> Option<Moved> {
    if disks.is_empty() && interfaces.is_empty() {
        return None;
    }
    let mut moved = Moved::default();
    for disk in disks {
        if hardware.is_disk(&disk.name, disks.iter().map(|d| d.name.as_str())) {
            moved.disk_read_bytes = moved.disk_read_bytes.saturating_add(disk.read_bytes);
            moved.disk_written_bytes = moved.disk_written_bytes.saturating_add(disk.written_bytes);
        }
    }
    for interface in interfaces.iter().filter(|i| hardware.is_interface(&i.name)) {
        moved.received_bytes = moved.received_bytes.saturating_add(interface.received_bytes);
        moved.sent_bytes = moved.sent_bytes.saturating_add(interface.sent_bytes);
    }
    Some(moved)
}

/// Adds a part to a total.
pub(super) fn add(total: &mut HostLoad, part: &HostLoad) {
    let seconds = (total.seconds, part.seconds);
    total.control_group =
        sum(total.control_group, part.control_group, |a, b| both_groups(a, b, seconds));
    total.seconds += part.seconds;
    total.cpu = total.cpu + part.cpu;
    total.cores.resize(total.cores.len().max(part.cores.len()), CpuTimes::default());
    for (sum, core) in total.cores.iter_mut().zip(&part.cores) {
        *sum = *sum + *core;
    }
    total.cores_busy = total.cores.iter().map(busy).collect();
    total.run_seconds = sum(total.run_seconds, part.run_seconds, |a, b| a + b);
    total.memory_stall_seconds =
        sum(total.memory_stall_seconds, part.memory_stall_seconds, |a, b| a + b);
    total.tcp_retransmitted =
        sum(total.tcp_retransmitted, part.tcp_retransmitted, u64::saturating_add);
    total.softirqs = sum(total.softirqs, part.softirqs, |a, b| Softirqs {
        net_rx: a.net_rx.saturating_add(b.net_rx),
        net_tx: a.net_tx.saturating_add(b.net_tx),
    });
    total.softnet = sum(total.softnet, part.softnet, |a, b| a + b);
    total.conntrack = sum(total.conntrack, part.conntrack, |a, b| a + b);
    for queue in &part.queues {
        let none = || QueueLoad { dropped: 0, overlimits: 0, marked: 0, ..queue.clone() };
        let known = entry(&mut total.queues, |one| is_same(one, queue), none);
        let Some(sum) = known else { continue };
        sum.dropped = sum.dropped.saturating_add(queue.dropped);
        sum.overlimits = sum.overlimits.saturating_add(queue.overlimits);
        sum.marked = sum.marked.saturating_add(queue.marked);
    }
    total.nfsd = sum(total.nfsd, part.nfsd, |a, b| NfsdLoad {
        calls: a.calls.saturating_add(b.calls),
        read_bytes: a.read_bytes.saturating_add(b.read_bytes),
        written_bytes: a.written_bytes.saturating_add(b.written_bytes),
        threads: b.threads,
    });
    total.frequency = sum(total.frequency, part.frequency, |a, b| Frequency {
        lowest_hertz: a.lowest_hertz.min(b.lowest_hertz),
        highest_hertz: a.highest_hertz.max(b.highest_hertz),
    });
    for disk in &part.disks {
        let named = || DiskLoad { name: disk.name.clone(), ..DiskLoad::default() };
        let Some(sum) = entry(&mut total.disks, |d| d.name == disk.name, named) else { continue };
        sum.reads = sum.reads.saturating_add(disk.reads);
        sum.read_bytes = sum.read_bytes.saturating_add(disk.read_bytes);
        sum.writes = sum.writes.saturating_add(disk.writes);
        sum.written_bytes = sum.written_bytes.saturating_add(disk.written_bytes);
        sum.busy_seconds += disk.busy_seconds;
        sum.in_flight_seconds += disk.in_flight_seconds;
    }
    for face in &part.interfaces {
        let named = || InterfaceLoad { name: face.name.clone(), ..InterfaceLoad::default() };
        let known = entry(&mut total.interfaces, |i| i.name == face.name, named);
        let Some(sum) = known else { continue };
        sum.received_bytes = sum.received_bytes.saturating_add(face.received_bytes);
        sum.received_packets = sum.received_packets.saturating_add(face.received_packets);
        sum.sent_bytes = sum.sent_bytes.saturating_add(face.sent_bytes);
        sum.sent_packets = sum.sent_packets.saturating_add(face.sent_packets);
        sum.errors = sum.errors.saturating_add(face.errors);
        sum.drops = sum.drops.saturating_add(face.drops);
    }
}

/// The one that `is` it, made if there is room for it.
fn entry<T>(all: &mut Vec<T>, is: impl Fn(&T) -> bool, make: impl FnOnce() -> T) -> Option<&mut T> {
    let place = all.iter().position(is).unwrap_or(all.len());
    if place == all.len() && place < MOST_DEVICES {
        all.push(make());
    }
    all.get_mut(place)
}

fn sum<T>(a: Option<T>, b: Option<T>, add: impl Fn(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(add(a, b)),
        (a, b) => a.or(b),
    }
}
