//! Which file a text is from.

/// A file of the kernel whose text is understood here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// /proc/uptime
    Uptime,
    /// /proc/stat
    Stat,
    /// /proc/schedstat, or the root's cpuacct.usage
    Scheduler,
    /// /proc/meminfo
    Memory,
    /// /proc/diskstats
    Disks,
    /// /proc/net/dev
    Interfaces,
    /// /proc/net/snmp
    Snmp,
    /// /proc/softirqs
    Softirqs,
    /// /proc/net/softnet_stat
    Softnet,
    /// /proc/net/stat/nf_conntrack
    Conntrack,
    /// /proc/sys/net/netfilter/nf_conntrack_max
    ConntrackMost,
    /// What `tc -s qdisc show` prints
    Queues,
    /// The two addresses with most offloaded connections, and how many these are
    Offloaded,
    /// /proc/loadavg
    LoadAverage,
    /// /proc/net/rpc/nfsd
    Nfsd,
    /// A `scaling_cur_freq`
    Frequency,
    /// A temperature in 1/1000 °C
    Temperature,
    /// cpu.max or cpu.cfs_quota_us of a control group
    GroupQuota,
    /// Its cpu.cfs_period_us
    GroupPeriod,
    /// Its cpu.stat
    GroupStat,
    /// Its cpuacct.usage
    GroupUsage,
    /// /proc/pressure/memory
    Pressure,
    /// /proc/mdstat
    Raid,
    /// The /proc/PID/stat of a process that does the watching
    Watcher,
    /// The /proc/PID/stat of every process, one after the other
    Processes,
    /// /proc/self/mountinfo
    MountInfo,
    /// /proc/self/mountstats
    MountStats,
    /// /proc/fs/cifs/Stats
    CifsStats,
}

impl FileKind {
    /// By the file's path.
    pub fn of_path(path: &str) -> Option<FileKind> {
        Some(match path {
            "/proc/uptime" => FileKind::Uptime,
            "/proc/stat" => FileKind::Stat,
            "/proc/schedstat" => FileKind::Scheduler,
            "/proc/meminfo" => FileKind::Memory,
            "/proc/diskstats" => FileKind::Disks,
            "/proc/net/dev" => FileKind::Interfaces,
            "/proc/net/snmp" => FileKind::Snmp,
            "/proc/softirqs" => FileKind::Softirqs,
            "/proc/net/softnet_stat" => FileKind::Softnet,
            "/proc/net/stat/nf_conntrack" => FileKind::Conntrack,
            "/proc/sys/net/netfilter/nf_conntrack_max" => FileKind::ConntrackMost,
            "/proc/loadavg" => FileKind::LoadAverage,
            "/proc/net/rpc/nfsd" => FileKind::Nfsd,
            "/proc/mdstat" => FileKind::Raid,
            "/proc/pressure/memory" => FileKind::Pressure,
            "/proc/self/mountinfo" => FileKind::MountInfo,
            "/proc/self/mountstats" => FileKind::MountStats,
            "/proc/fs/cifs/Stats" => FileKind::CifsStats,
            "/sys/fs/cgroup/cpuacct/cpuacct.usage" | "/sys/fs/cgroup/cpu,cpuacct/cpuacct.usage" => {
                FileKind::Scheduler
            }
            _ if path.ends_with("/cpuacct.usage") => FileKind::GroupUsage,
            _ if path.ends_with("/cpu.max") || path.ends_with("/cpu.cfs_quota_us") => {
                FileKind::GroupQuota
            }
            _ if path.ends_with("/cpu.cfs_period_us") => FileKind::GroupPeriod,
            _ if path.ends_with("/cpu.stat") => FileKind::GroupStat,
            _ if path.ends_with("/scaling_cur_freq") => FileKind::Frequency,
            _ if path.ends_with("/temp") => FileKind::Temperature,
            _ if path.starts_with("/proc/") && path.ends_with("/stat") => FileKind::Watcher,
            _ => return None,
        })
    }

    /// By its number in the probe's samples (probe/README.md).
    pub fn of_probe(number: u8) -> Option<FileKind> {
        Some(match number {
            1 => FileKind::Stat,
            2 => FileKind::Memory,
            3 => FileKind::Disks,
            4 => FileKind::Interfaces,
            5 => FileKind::Snmp,
            6 => FileKind::Softirqs,
            7 => FileKind::LoadAverage,
            8 => FileKind::Nfsd,
            9 => FileKind::Frequency,
            10 => FileKind::Temperature,
            11 => FileKind::Scheduler,
            12 => FileKind::Raid,
            13 => FileKind::GroupQuota,
            14 => FileKind::GroupPeriod,
            15 => FileKind::GroupStat,
            16 => FileKind::GroupUsage,
            17 => FileKind::Pressure,
            18 => FileKind::Softnet,
            _ => return None,
        })
    }
}
