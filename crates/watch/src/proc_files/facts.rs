//! What a host is, from its files.

use plimsoll_model::DiskFacts;
use std::collections::BTreeMap;

/// The devices of a host that are real ones: what passes through layers above them (RAID, volumes,
/// bridges, tunnels) would be counted twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hardware {
    /// Names of disks; empty where that is not known.
    pub disks: Vec<String>,
    /// Names of network interfaces; empty where that is not known, or there is none.
    pub interfaces: Vec<String>,
}

/// Most devices that are believed.
const MAX_DEVICES: usize = 256;
/// Longest name of a network interface (IFNAMSIZ), and the most of them.
const LONGEST_INTERFACE: usize = 15;
const MOST_INTERFACES: usize = 64;
/// The same of disks (DISK_NAME_LEN), and of operations that one takes at a time.
const LONGEST_DISK: usize = 31;
const MOST_DISKS: usize = 64;
const DEEPEST_QUEUE: u32 = 65_536;

impl Hardware {
    /// From paths such as `/sys/block/sda/device` and `/sys/class/net/eth0/device`, which are there
    /// for real devices alone.
    pub fn from_paths(text: &str) -> Hardware {
        let named = |folder: &str| {
            let paths = text.split_ascii_whitespace();
            let names = paths.filter_map(|path| {
                let name = path.strip_prefix(folder)?.strip_suffix("/device")?;
                (name != "*" && !name.contains('/')).then(|| name.to_owned())
            });
            names.take(MAX_DEVICES).collect()
        };
        Hardware { disks: named("/sys/block/"), interfaces: named("/sys/class/net/") }
    }

    /// Whether this block device is a real disk. Where that is not known, everything counts that
    /// has no name of a layer or of memory and is no partition of another one of `all`.
    pub fn is_disk<'a>(&self, name: &str, mut all: impl Iterator<Item = &'a str>) -> bool {
        if !self.disks.is_empty() {
            return self.disks.iter().any(|disk| disk == name);
        }
        let layers = ["dm-", "md", "loop", "ram", "zram", "drbd", "bcache"];
        !layers.iter().any(|layer| name.starts_with(layer))
            && !all.any(|whole| is_partition_of(name, whole))
    }

    /// Whether this network interface is a real one; all but loopback where there is none.
    pub fn is_interface(&self, name: &str) -> bool {
        match self.interfaces.is_empty() {
            true => name != "lo",
            false => self.interfaces.iter().any(|interface| interface == name),
        }
    }
}

/// `sda1` of `sda`, `mmcblk0p1` of `mmcblk0`.
fn is_partition_of(name: &str, whole: &str) -> bool {
    let Some(rest) = name.strip_prefix(whole).filter(|_| !whole.is_empty()) else { return false };
    let number = match whole.ends_with(|c: char| c.is_ascii_digit()) {
        true => rest.strip_prefix('p').unwrap_or(""),
        false => rest,
    };
    !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
}

/// The first CPU model named in /proc/cpuinfo (x86: "model name", MIPS: "cpu model", ARM:
/// "Processor" or "Hardware").
pub fn parse_cpu_model(text: &str) -> Option<String> {
    let keys = ["model name", "cpu model", "Processor", "Hardware"];
    keys.iter().find_map(|key| {
        text.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            let value: String = value.trim().chars().take(128).collect();
            (name.trim() == *key).then_some(value).filter(|v| !v.is_empty())
        })
    })
}

/// What network interfaces are connected at, in bits per second, from lines of a name and what
/// /sys/class/net/*/speed says, in Mbit/s. Below 1: not connected, or not known.
pub fn parse_link_rates(text: &str) -> BTreeMap<String, u64> {
    let rate = |line: &str| {
        let (name, speed) = line.trim().split_once(' ')?;
        let speed: u32 = speed.trim().parse().ok().filter(|speed| *speed > 0)?;
        let name: String = name.chars().take(LONGEST_INTERFACE).collect();
        Some((name, u64::from(speed) * 1_000_000))
    };
    text.lines().filter_map(rate).take(MOST_INTERFACES).collect()
}

/// Disks, from lines of a name, what /sys/block/*/queue/rotational says, and device/queue_depth where there is
/// one.
pub fn parse_disk_facts(text: &str) -> BTreeMap<String, DiskFacts> {
    let disk = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let name: String = words.next()?.chars().take(LONGEST_DISK).collect();
        let rotational = match words.next()? {
            "0" => false,
            "1" => true,
            _ => return None,
        };
        let queue_depth = words.next().and_then(|depth| depth.parse().ok());
        let queue_depth = queue_depth.filter(|depth| (1..=DEEPEST_QUEUE).contains(depth));
        Some((name, DiskFacts { rotational, queue_depth }))
    };
    text.lines().filter_map(disk).take(MOST_DISKS).collect()
}

/// How the kernel accounts CPU time, from its configuration, and from what
/// /sys/devices/system/cpu/nohz_full names.
///
/// Tick accounting charges whole ticks to whoever runs when they fall: what always sleeps then is
/// never seen. CONFIG_VIRT_CPU_ACCOUNTING_GEN measures at each entry to the kernel, but only on
/// cores without a tick or where it is forced; elsewhere it falls back to ticks, as on the kernels of
/// distributions. CONFIG_IRQ_TIME_ACCOUNTING measures interrupts alone.
pub fn cpu_accounting(config: &str, nohz_full: &str) -> &'static str {
    let set = |name: &str| config.lines().any(|line| line.trim() == format!("{name}=y"));
    let forced = set("CONFIG_CONTEXT_TRACKING_FORCE") || set("CONFIG_CONTEXT_TRACKING_USER_FORCE");
    let tickless = nohz_full.trim().starts_with(|c: char| c.is_ascii_digit());
    if !config.contains("CONFIG_") {
        "unknown"
    } else if set("CONFIG_VIRT_CPU_ACCOUNTING_NATIVE")
        || (set("CONFIG_VIRT_CPU_ACCOUNTING_GEN") && forced)
    {
        "precise"
    } else if set("CONFIG_VIRT_CPU_ACCOUNTING_GEN") && tickless {
        "ticks, precise on cores without a tick"
    } else if set("CONFIG_IRQ_TIME_ACCOUNTING") {
        "ticks, interrupts measured"
    } else {
        "ticks"
    }
}
