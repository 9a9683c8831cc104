//! The kernel's counters, as its files print them. One parser for whatever brings the texts: this
//! machine's /proc, a shell on the host, the probe. Text from another host is untrusted: what does
//! not parse is left out, never believed and never a panic; what is counted is bounded.

mod control_group;
mod cpu;
mod disks;
mod facts;
mod kind;
mod memory;
mod network;
mod processes;
mod queues;
mod raid;
mod sensors;
mod words;

pub use control_group::{GroupCounters, group_paths};
pub use cpu::{parse_run_seconds, parse_stat};
pub use disks::{DiskCounters, parse_disks};
pub use facts::{Hardware, cpu_accounting, parse_cpu_model, parse_disk_facts, parse_link_rates};
pub use kind::FileKind;
pub use memory::{parse_memory, parse_pressure};
pub use network::{
    InterfaceCounters, parse_interfaces, parse_nfsd, parse_retransmitted, parse_softnet,
};
pub use processes::{ProcessTime, parse_processes};
pub use queues::{parse_conntrack, parse_offloaded, parse_queues};
pub use raid::parse_raid;
pub use sensors::{parse_celsius, parse_hertz};

use plimsoll_model::{
    ConntrackLoad, CpuTimes, Frequency, MemoryNow, Nanos, NfsdLoad, QueueLoad, Softirqs, Softnet,
};
use plimsoll_reach::mounts::MountTexts;
use std::time::Duration;
use words::number;

/// Counters of one host at one moment, since boot where they count.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// When, on the clock of whoever asked: the middle between asking and the answer.
    pub at: Nanos,
    /// How far from `at` it may have been taken: half the time between asking and the answer.
    pub within: Duration,
    /// The host's own clock: seconds since it booted.
    pub uptime_seconds: Option<f64>,
    /// CPU seconds by class, all cores.
    pub cpu: CpuTimes,
    /// The same core by core.
    pub cores: Vec<CpuTimes>,
    /// CPU seconds that tasks ran by the scheduler's clock.
    pub run_seconds: Option<f64>,
    /// Memory.
    pub memory: Option<MemoryNow>,
    /// Seconds in which some process stood still for want of it.
    pub memory_stall_seconds: Option<f64>,
    /// Every block device.
    pub disks: Vec<DiskCounters>,
    /// Every network interface.
    pub interfaces: Vec<InterfaceCounters>,
    /// TCP segments sent again.
    pub tcp_retransmitted: Option<u64>,
    /// Soft interrupts of the network.
    pub softirqs: Option<Softirqs>,
    /// Packets taken from the network interfaces.
    pub softnet: Option<Softnet>,
    /// Connection tracking; only where it was asked for.
    pub conntrack: Option<ConntrackLoad>,
    /// Queueing disciplines; only where they were asked for.
    pub queues: Vec<QueueLoad>,
    /// Load average over one minute.
    pub load_average: Option<f64>,
    /// Slowest and fastest core.
    pub frequency: Option<Frequency>,
    /// The hottest sensor.
    pub celsius: Option<f64>,
    /// The kernel's NFS server.
    pub nfsd: Option<NfsdLoad>,
    /// The control group of the process that watches.
    pub control_group: Option<GroupCounters>,
    /// What a RAID array is busy with.
    pub raid: Option<String>,
    /// CPU time of every process; only where it was asked for.
    pub processes: Vec<ProcessTime>,
    /// What is mounted; only where it was asked for.
    pub mounts: Option<MountTexts>,
    /// CPU seconds that watching cost so far.
    pub watcher_seconds: Option<f64>,
}

impl Sample {
    /// The counters in the texts of the kernel's files; `None` without CPU times, which every
    /// kernel has. `ticks_per_second` is the unit of the kernel's times (USER_HZ).
    pub fn from_files<'a>(
        ticks_per_second: f64,
        files: impl IntoIterator<Item = (FileKind, &'a str)>,
    ) -> Option<Sample> {
        let mut sample = Sample::default();
        let (mut cpu, mut most_connections, mut offloaded) = (None, None, None);
        for (kind, text) in files {
            match kind {
                FileKind::Uptime => sample.uptime_seconds = cpu::first_number(text),
                FileKind::Stat => cpu = parse_stat(text, ticks_per_second),
                FileKind::Scheduler => {
                    sample.run_seconds = sample.run_seconds.or(parse_run_seconds(text));
                }
                FileKind::Memory => sample.memory = parse_memory(text),
                FileKind::Pressure => sample.memory_stall_seconds = parse_pressure(text),
                FileKind::Disks => sample.disks = parse_disks(text),
                FileKind::Interfaces => sample.interfaces = parse_interfaces(text),
                FileKind::Snmp => sample.tcp_retransmitted = parse_retransmitted(text),
                FileKind::Softirqs => sample.softirqs = cpu::parse_softirqs(text),
                FileKind::Softnet => sample.softnet = parse_softnet(text),
                FileKind::Conntrack => sample.conntrack = parse_conntrack(text),
                FileKind::ConntrackMost => most_connections = number(text, 0),
                FileKind::Queues => sample.queues = parse_queues(text),
                FileKind::Offloaded => offloaded = Some(parse_offloaded(text)),
                FileKind::LoadAverage => sample.load_average = cpu::first_number(text),
                FileKind::Nfsd => sample.nfsd = parse_nfsd(text),
                FileKind::Frequency => {
                    sample.frequency = widest(sample.frequency, parse_hertz(text));
                }
                FileKind::Temperature => {
                    sample.celsius = highest(sample.celsius, parse_celsius(text));
                }
                FileKind::GroupQuota => group(&mut sample).quota(text),
                FileKind::GroupPeriod => group(&mut sample).period(text),
                FileKind::GroupStat => group(&mut sample).stat(text),
                FileKind::GroupUsage => group(&mut sample).usage(text),
                FileKind::Raid => sample.raid = parse_raid(text),
                FileKind::Watcher => {
                    let own = processes::parse_watcher(text, ticks_per_second);
                    sample.watcher_seconds =
                        own.map(|own| own + sample.watcher_seconds.unwrap_or(0.0));
                }
                FileKind::Processes => {
                    sample.processes = parse_processes(text, ticks_per_second);
                }
                FileKind::MountInfo => mounts(&mut sample).mountinfo = text.to_owned(),
                FileKind::MountStats => mounts(&mut sample).mountstats = text.to_owned(),
                FileKind::CifsStats => mounts(&mut sample).cifs_stats = text.to_owned(),
            }
        }
        (sample.cpu, sample.cores) = cpu?;
        if let Some(conntrack) = &mut sample.conntrack {
            conntrack.most_entries = most_connections;
            conntrack.offloaded = offloaded.map(|(connections, _)| connections);
            conntrack.offloaded_in_hardware = offloaded.is_some_and(|(_, hardware)| hardware);
        }
        Some(sample)
    }

    /// The same, asked for and answered at these times.
    pub fn taken(self, asked: Nanos, answered: Nanos) -> Sample {
        let within = answered.since(asked) / 2;
        Sample { at: asked + within, within, ..self }
    }
}

fn mounts(sample: &mut Sample) -> &mut MountTexts {
    sample.mounts.get_or_insert_default()
}

fn group(sample: &mut Sample) -> &mut GroupCounters {
    sample.control_group.get_or_insert_default()
}

fn highest(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    }
}

fn widest(known: Option<Frequency>, hertz: Option<f64>) -> Option<Frequency> {
    let Some(hertz) = hertz else { return known };
    let known = known.unwrap_or(Frequency { lowest_hertz: hertz, highest_hertz: hertz });
    Some(Frequency {
        lowest_hertz: known.lowest_hertz.min(hertz),
        highest_hertz: known.highest_hertz.max(hertz),
    })
}

#[cfg(test)]
mod tests;
