//! The machines that take part, and the time of their processors.

use crate::HostName;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Add, Mul, Sub};

/// How a host's counters are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WatchedBy {
    /// By this program, from its own /proc.
    Proc,
    /// By a few lines of shell on the host.
    Shell,
    /// By the probe on the host.
    Probe,
}

/// Properties of a host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostFacts {
    /// The name in the study: `local`, or as the user named it.
    pub name: HostName,
    /// Kernel release.
    pub kernel: String,
    /// CPU model, if the kernel names it.
    pub cpu_model: String,
    /// Online cores.
    pub cpus: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// How the kernel accounts CPU time (method, section 2): "ticks" (whole ticks are charged to
    /// whatever runs when they fall), "ticks, interrupts measured", "precise" or "unknown".
    pub cpu_accounting: String,
    /// How its counters were read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watched_by: Option<WatchedBy>,
    /// Reason why the probe does not monitor it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_probe: Option<String>,
    /// Whether it is the machine that plimsoll ran on, reached under another name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_this_machine: bool,
    /// Link rates of its network interfaces in bits per second, by name, if known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub link_rates: BTreeMap<String, u64>,
    /// Its disks by name, as far as its kernel knows their kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub disks: BTreeMap<String, DiskFacts>,
    /// The lab that it belongs to, as that was when the study began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lab: Option<LabFacts>,
}

impl HostFacts {
    /// Bits per second that a network interface is connected at; in a lab what its link is set to.
    pub fn link_rate(&self, interface: &str) -> Option<u64> {
        let lab = |what: &str| {
            let settings = &self.lab.as_ref()?.settings;
            bits_per_second(settings.get(&format!("link {interface} {what}"))?)
        };
        lab("shaped rate").or(lab("rate")).or(self.link_rates.get(interface).copied())
    }

    /// Names of its network interfaces whose rates may be known; those of a host of a lab are called as its links.
    pub fn interfaces(&self) -> BTreeSet<&str> {
        let mut names: BTreeSet<&str> = self.link_rates.keys().map(String::as_str).collect();
        for (key, ends) in self.lab.iter().flat_map(|lab| &lab.settings) {
            let link = key.strip_prefix("link ").and_then(|key| key.strip_suffix(" between"));
            let is_own = ends.split(", ").any(|end| end == self.name.name());
            names.extend(link.filter(|_| is_own));
        }
        names
    }

    /// How many cores' time a lab lets this host have, where its lab file or `lab set` limits that.
    pub fn lab_quota(&self) -> Option<f64> {
        let HostName::Lab { host, .. } = &self.name else { return None };
        self.lab.as_ref()?.quota(host)
    }

    /// Operations that a disk can work on at a time: for solid-state disks its queue depth. `None`
    /// for a rotating disk, whose operations wait for its arm, and if unknown.
    pub fn disk_overlap(&self, disk: &str) -> Option<u32> {
        let facts = self.disks.get(disk).filter(|facts| !facts.rotational)?;
        // Memory cards take one at a time unless they queue, which no file tells.
        let many = facts.queue_depth.unwrap_or(u32::MAX);
        (many > 1 && !disk.starts_with("mmcblk")).then_some(many)
    }
}

/// Properties of a disk in the kernel (Documentation/ABI/stable/sysfs-block).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskFacts {
    /// Whether it turns (`queue/rotational`).
    pub rotational: bool,
    /// Operations that it takes at a time (`device/queue_depth`, of SCSI and SATA alone).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_depth: Option<u32>,
}

impl LabFacts {
    /// CPU quota of a host in cores, if limited.
    pub fn quota(&self, host: &str) -> Option<f64> {
        let share = self.settings.get(&format!("host {host} cpu"))?.strip_suffix('%')?;
        let cores = share.trim().parse::<f64>().ok()? / 100.0;
        (cores.is_finite() && cores > 0.0).then_some(cores)
    }

    /// Whether a host is a namespace of this machine, whose disks are in memory.
    pub fn is_namespace(&self, host: &str) -> bool {
        self.settings.get(&format!("host {host} kind")).is_some_and(|kind| kind == "netns")
    }

    /// Whether a host has a disk.
    pub fn has_disk(&self, host: &str) -> bool {
        let disk = format!("host {host} disk ");
        self.settings.keys().any(|key| key.starts_with(&disk))
    }

    /// Hosts on a path between two hosts of the lab, by name. Both ends are included.
    pub fn between(&self, one: &str, other: &str) -> BTreeSet<&str> {
        let links: Vec<Vec<&str>> = self
            .settings
            .iter()
            .filter(|(key, _)| key.starts_with("link ") && key.ends_with(" between"))
            .map(|(_, hosts)| hosts.split(", ").collect())
            .collect();
        // As many steps from each end: a host is on a shortest way where its two numbers add up to the whole.
        let steps = |from: &str| {
            let mut steps: BTreeMap<&str, usize> = BTreeMap::new();
            let mut reached: Vec<&str> =
                links.iter().flatten().copied().filter(|host| *host == from).take(1).collect();
            let mut step = 0;
            while !reached.is_empty() {
                reached.retain(|host| steps.insert(host, step).is_none());
                step += 1;
                let joined = links.iter().filter(|link| link.iter().any(|h| reached.contains(h)));
                let joined: BTreeSet<&str> = joined.flatten().copied().collect();
                reached = joined.into_iter().filter(|host| !steps.contains_key(host)).collect();
            }
            steps
        };
        let (there, back) = (steps(one), steps(other));
        let Some(whole) = there.get(other) else { return BTreeSet::new() };
        let on_the_way =
            |host: &str, step: usize| back.get(host).is_some_and(|back| step + back == *whole);
        there
            .iter()
            .filter(|(host, step)| on_the_way(host, **step))
            .map(|(host, _)| *host)
            .collect()
    }
}

/// "100Mbit/s", as lab files have it.
fn bits_per_second(text: &str) -> Option<u64> {
    let units = [("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3), ("bit/s", 1.0)];
    let (number, size) =
        units.iter().find_map(|(unit, size)| Some((text.strip_suffix(unit)?, size)))?;
    let rate = number.trim().parse::<f64>().ok()? * size;
    (1.0..1e15).contains(&rate).then_some(rate as u64)
}

/// A lab: hosts, links, disks and services, as set by its file and `lab set`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabFacts {
    /// Its name.
    pub name: String,
    /// Its settings by where they stand in the lab file: "link lan rate" is "1Gbit/s".
    pub settings: BTreeMap<String, String>,
}

/// CPU seconds by class since boot, as in /proc/stat. `iowait` is idle time with I/O outstanding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuTimes {
    /// User.
    pub user: f64,
    /// User, niced.
    pub nice: f64,
    /// Kernel.
    pub system: f64,
    /// Idle.
    pub idle: f64,
    /// Idle with I/O outstanding: never busy.
    pub iowait: f64,
    /// Hard interrupts.
    pub irq: f64,
    /// Soft interrupts: most of the network's work.
    pub softirq: f64,
    /// Taken by the hypervisor for others: neither busy nor idle.
    pub steal: f64,
}

/// Seconds of CPU time.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CpuSeconds(pub f64);

impl CpuTimes {
    /// Busy time: user, nice, system, irq, softirq. Time that a hypervisor gave to other guests
    /// (`steal`) is not work of this host (method, section 2).
    pub fn busy(&self) -> CpuSeconds {
        CpuSeconds(self.user + self.nice + self.system + self.irq + self.softirq)
    }

    /// All classes together.
    pub fn total(&self) -> f64 {
        self.busy().0 + self.idle + self.iowait + self.steal
    }

    /// The same done to every class.
    pub fn map(self, to: impl Fn(f64) -> f64) -> CpuTimes {
        self.with(self, |seconds, _| to(seconds))
    }

    fn with(self, o: CpuTimes, both: impl Fn(f64, f64) -> f64) -> CpuTimes {
        CpuTimes {
            user: both(self.user, o.user),
            nice: both(self.nice, o.nice),
            system: both(self.system, o.system),
            idle: both(self.idle, o.idle),
            iowait: both(self.iowait, o.iowait),
            irq: both(self.irq, o.irq),
            softirq: both(self.softirq, o.softirq),
            steal: both(self.steal, o.steal),
        }
    }
}

impl Sub for CpuTimes {
    type Output = CpuTimes;
    /// Never below zero: some kernels let iowait run backwards.
    fn sub(self, o: CpuTimes) -> CpuTimes {
        self.with(o, |a, b| (a - b).max(0.0))
    }
}

impl Add for CpuTimes {
    type Output = CpuTimes;
    fn add(self, o: CpuTimes) -> CpuTimes {
        self.with(o, |a, b| a + b)
    }
}

impl Mul<f64> for CpuTimes {
    type Output = CpuTimes;
    fn mul(self, factor: f64) -> CpuTimes {
        self.map(|seconds| seconds * factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Between machines that are emulated links are a tenth as fast as asked for: a full one once seemed to be
    /// 9% full.
    #[test]
    fn a_labs_link_has_the_rate_that_it_is_shaped_to() {
        let mut facts = HostFacts::default();
        facts.link_rates.insert("lan".into(), 10_000_000_000);
        assert_eq!(facts.link_rate("lan"), Some(10_000_000_000));
        let set = |what: &str, rate: &str| (format!("link lan {what}"), rate.to_owned());
        let settings = BTreeMap::from([set("rate", "1Gbit/s")]);
        facts.lab = Some(LabFacts { name: "bed".into(), settings });
        assert_eq!(facts.link_rate("lan"), Some(1_000_000_000));
        let lab = facts.lab.as_mut().unwrap();
        lab.settings.extend([set("shaped rate", "100Mbit/s")]);
        assert_eq!(facts.link_rate("lan"), Some(100_000_000));
        assert_eq!(facts.link_rate("wan"), None);
    }

    #[test]
    fn a_lab_knows_its_quotas_and_who_passes_on_what_two_hosts_send() {
        let settings = [
            ("host router cpu", "20%"),
            ("link outer between", "wan, router"),
            ("link inner between", "router, lan"),
            ("link other between", "wan, printer"),
        ];
        let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        let lab = LabFacts { name: "bed".into(), settings };
        let between = |one, other| lab.between(one, other).into_iter().collect::<Vec<_>>();
        assert_eq!(between("lan", "wan"), ["lan", "router", "wan"]);
        assert_eq!(between("printer", "wan"), ["printer", "wan"]);
        assert_eq!(between("lan", "nobody"), [""; 0]);
        let facts = |name: &str| HostFacts {
            name: name.parse().unwrap(),
            lab: Some(lab.clone()),
            ..HostFacts::default()
        };
        assert_eq!(facts("lab://bed/router").lab_quota(), Some(0.2));
        for other in ["lab://bed/wan", "local", "ssh://router"] {
            assert_eq!(facts(other).lab_quota(), None, "{other}");
        }
    }
}
