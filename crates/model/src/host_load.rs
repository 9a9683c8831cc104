//! Load of a host during one trial. Unknown values are absent, never 0.

use crate::{CpuSeconds, CpuTimes, HostName};
use serde::{Deserialize, Serialize};
use std::ops::Add;

/// Load of a host during one trial, from the first to the last sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostLoad {
    /// The host.
    pub host: HostName,
    /// Seconds watched.
    pub seconds: f64,
    /// CPU seconds by class over all cores.
    pub cpu: CpuTimes,
    /// Busy share (0..1) of each core.
    pub cores_busy: Vec<f64>,
    /// Busy CPU seconds per second in the idle window before this trial's block.
    pub idle_baseline: f64,
    /// The same by class: CPU seconds per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<CpuTimes>,
    /// CPU seconds by class of each core.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cores: Vec<CpuTimes>,
    /// CPU seconds that tasks ran by the scheduler's own clock, interrupts not included: it sees
    /// what ticks do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_seconds: Option<f64>,
    /// Memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryLoad>,
    /// Seconds during which some process waited for memory (pressure stall information).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_stall_seconds: Option<f64>,
    /// Disks that did something, the busiest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<DiskLoad>,
    /// Network interfaces that did something, the busiest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<InterfaceLoad>,
    /// Retransmitted TCP segments of all connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp_retransmitted: Option<u64>,
    /// Soft interrupts of the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub softirqs: Option<Softirqs>,
    /// Packets that the kernel took from its network interfaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub softnet: Option<Softnet>,
    /// Connection tracking, of a router that frames are sent through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conntrack: Option<ConntrackLoad>,
    /// Queueing disciplines of such a router that dropped, held back or marked packets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<QueueLoad>,
    /// Largest load average over one minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_average: Option<f64>,
    /// Lowest and highest clock of any core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency: Option<Frequency>,
    /// Highest temperature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature_celsius: Option<f64>,
    /// Work of the kernel's NFS server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nfsd: Option<NfsdLoad>,
    /// CPU time of the control group of the host's processes, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_group: Option<ControlGroupLoad>,
    /// CPU seconds of the monitoring on the host, including its end of the connection if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watcher_cpu_seconds: Option<f64>,
    /// Consecutive intervals from the first to the last sample. Empty without samples in between.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stretches: Vec<LoadStretch>,
}

impl HostLoad {
    /// Busy CPU seconds that the trial itself caused: busy minus baseline x duration. Below zero
    /// where the baseline was busier than the trial: cutting such values off, or leaving them out,
    /// would make the mean over the trials too large.
    pub fn caused(&self) -> CpuSeconds {
        // By class where it is known: in older records the sum holds stolen time too.
        let idle = self.idle.map_or(self.idle_baseline, |idle| idle.busy().0);
        CpuSeconds(self.cpu.busy().0 - idle * self.seconds)
    }

    /// Share (0..1) of the time of its cores that a hypervisor took for others.
    pub fn stolen(&self) -> f64 {
        let total = self.cpu.total();
        if total > 0.0 { self.cpu.steal / total } else { 0.0 }
    }
}

/// Resource of a host that other work may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostResource {
    /// Its processor, in CPU seconds.
    Cpu,
    /// Its busiest disk, in bytes read and written.
    Disk,
    /// Its busiest network interface, in bytes of both directions.
    Network,
}

impl HostResource {
    /// All of them.
    pub const ALL: [HostResource; 3] =
        [HostResource::Cpu, HostResource::Disk, HostResource::Network];
}

/// Load of a host between two samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadStretch {
    /// How long, in seconds.
    pub seconds: f64,
    /// CPU seconds by class over all cores.
    pub cpu: CpuTimes,
    /// Memory at its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryNow>,
    /// Bytes moved by disks and network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<Moved>,
    /// Clock of the fastest core at its end, in hertz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency_hertz: Option<f64>,
}

/// Memory at one moment, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryNow {
    /// All of it.
    pub total_bytes: u64,
    /// Memory available to programs without swapping (MemAvailable).
    pub available_bytes: u64,
    /// File contents (Cached and Buffers).
    pub cached_bytes: u64,
    /// Written and not yet on a disk (Dirty and Writeback).
    pub dirty_bytes: u64,
}

/// Memory over a trial, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryLoad {
    /// Least that programs could have had.
    pub least_available_bytes: u64,
    /// Most that was written and not yet on a disk.
    pub most_dirty_bytes: u64,
    /// File contents at the end.
    pub cached_bytes: u64,
}

/// Bytes moved by real disks and network interfaces, if known; layers above them are not counted
/// again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// Read from disks.
    pub disk_read_bytes: u64,
    /// Written to disks.
    pub disk_written_bytes: u64,
    /// Received.
    pub received_bytes: u64,
    /// Sent.
    pub sent_bytes: u64,
}

impl Add for Moved {
    type Output = Moved;
    fn add(self, o: Moved) -> Moved {
        Moved {
            disk_read_bytes: self.disk_read_bytes.saturating_add(o.disk_read_bytes),
            disk_written_bytes: self.disk_written_bytes.saturating_add(o.disk_written_bytes),
            received_bytes: self.received_bytes.saturating_add(o.received_bytes),
            sent_bytes: self.sent_bytes.saturating_add(o.sent_bytes),
        }
    }
}

/// Work of a block device (the kernel's Documentation/admin-guide/iostats.rst).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DiskLoad {
    /// Its name, as in /dev.
    pub name: String,
    /// Reads completed.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Writes completed.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Seconds with an operation in flight.
    pub busy_seconds: f64,
    /// Operations in flight, integrated over time, in operation seconds.
    pub in_flight_seconds: f64,
}

impl DiskLoad {
    /// Busy share of the time, 0 to 1.
    pub fn busy_share(&self, seconds: f64) -> f64 {
        if seconds > 0.0 { (self.busy_seconds / seconds).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Busy time by operations, in seconds: the mean service time where operations are served one
    /// by one. `None` without an operation.
    pub fn service_seconds(&self) -> Option<f64> {
        let operations = self.reads.saturating_add(self.writes);
        (operations > 0).then(|| self.busy_seconds / operations as f64)
    }
}

/// Work of a network interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterfaceLoad {
    /// Its name.
    pub name: String,
    /// Bytes received.
    pub received_bytes: u64,
    /// Packets received.
    pub received_packets: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Packets sent.
    pub sent_packets: u64,
    /// Errors, both ways.
    pub errors: u64,
    /// Packets dropped, both ways.
    pub drops: u64,
}

/// Soft interrupts of the network, all cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Softirqs {
    /// NET_RX.
    pub net_rx: u64,
    /// NET_TX.
    pub net_tx: u64,
}

/// Packets that the kernel took from its network interfaces (/proc/net/softnet_stat), all cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Softnet {
    /// Packets taken, super-packets once.
    pub processed: u64,
    /// Packets dropped because the queue of a core was full.
    pub dropped: u64,
    /// Runs that ended with packets left, because their time or number was used up.
    pub squeezed: u64,
}

impl Add for Softnet {
    type Output = Softnet;
    fn add(self, o: Softnet) -> Softnet {
        Softnet {
            processed: self.processed.saturating_add(o.processed),
            dropped: self.dropped.saturating_add(o.dropped),
            squeezed: self.squeezed.saturating_add(o.squeezed),
        }
    }
}

/// Connection tracking of a host (/proc/net/stat/nf_conntrack), all cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConntrackLoad {
    /// Most connections in its table at any look.
    pub entries: u64,
    /// Connections that the table has room for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_entries: Option<u64>,
    /// Connections that were not entered, most of them because another core had entered the same one.
    pub insert_failed: u64,
    /// Packets dropped because their connection could not be entered.
    pub dropped: u64,
    /// Connections removed from the full table to make room for others.
    pub early_dropped: u64,
    /// Connections that a flowtable forwards, of the two addresses that have most of them, at the end; `None` if they
    /// were not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offloaded: Option<u64>,
    /// Whether the hardware forwards them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub offloaded_in_hardware: bool,
}

impl Add for ConntrackLoad {
    type Output = ConntrackLoad;
    fn add(self, o: ConntrackLoad) -> ConntrackLoad {
        ConntrackLoad {
            entries: self.entries.max(o.entries),
            most_entries: o.most_entries.or(self.most_entries),
            insert_failed: self.insert_failed.saturating_add(o.insert_failed),
            dropped: self.dropped.saturating_add(o.dropped),
            early_dropped: self.early_dropped.saturating_add(o.early_dropped),
            offloaded: o.offloaded.or(self.offloaded),
            offloaded_in_hardware: match o.offloaded {
                Some(_) => o.offloaded_in_hardware,
                None => self.offloaded_in_hardware,
            },
        }
    }
}

/// Queueing discipline of an interface, its classes and their disciplines included (`tc -s qdisc`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueLoad {
    /// The interface.
    pub interface: String,
    /// Discipline at its root, or of received packets.
    pub discipline: String,
    /// Packets dropped.
    pub dropped: u64,
    /// Times that it held packets back to keep its rate; only shapers and policers do.
    pub overlimits: u64,
    /// Packets marked instead of dropped (ECN).
    pub marked: u64,
}

/// Clocks of the cores, in hertz.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Frequency {
    /// The lowest that any core had at any look.
    pub lowest_hertz: f64,
    /// The highest.
    pub highest_hertz: f64,
}

/// CPU time of a control group (the kernel's Documentation/admin-guide/cgroup-v2.rst, "CPU", and
/// cgroup-v1/cpuacct.rst): the group of the monitoring process, and thus of a container or a lab
/// host. Interrupts are charged to no group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ControlGroupLoad {
    /// CPU seconds that its processes used.
    pub cpu_seconds: f64,
    /// How many cores' time it may use; `None`: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_cores: Option<f64>,
    /// Share (0..1) of its throttled periods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_share: Option<f64>,
}

/// Work of the kernel's NFS server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NfsdLoad {
    /// Calls.
    pub calls: u64,
    /// Bytes that its READs gave.
    pub read_bytes: u64,
    /// Bytes that its WRITEs took.
    pub written_bytes: u64,
    /// Threads that it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
}
