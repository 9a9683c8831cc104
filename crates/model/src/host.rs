//! The machines that take part: what they are, and how loaded they were.

use serde::{Deserialize, Serialize};
use std::ops::{Add, Sub};

/// What a host is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostFacts {
    /// The name in the study: `local`, or as the user named it.
    pub name: String,
    /// Kernel release.
    pub kernel: String,
    /// CPU model, where the kernel names it.
    pub cpu_model: String,
    /// Online cores.
    pub cpus: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// How the kernel accounts CPU time: "ticks" or "precise" (method, section 2).
    pub cpu_accounting: String,
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
    /// Taken by the hypervisor.
    pub steal: f64,
}

/// Seconds of CPU time.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CpuSeconds(pub f64);

impl CpuTimes {
    /// Busy time: user, nice, system, irq, softirq, steal (method, section 2).
    pub fn busy(&self) -> CpuSeconds {
        CpuSeconds(self.user + self.nice + self.system + self.irq + self.softirq + self.steal)
    }

    /// All classes together.
    pub fn total(&self) -> f64 {
        self.busy().0 + self.idle + self.iowait
    }
}

impl Sub for CpuTimes {
    type Output = CpuTimes;
    /// Never below zero: some kernels let iowait run backwards.
    fn sub(self, o: CpuTimes) -> CpuTimes {
        let d = |a: f64, b: f64| (a - b).max(0.0);
        CpuTimes {
            user: d(self.user, o.user),
            nice: d(self.nice, o.nice),
            system: d(self.system, o.system),
            idle: d(self.idle, o.idle),
            iowait: d(self.iowait, o.iowait),
            irq: d(self.irq, o.irq),
            softirq: d(self.softirq, o.softirq),
            steal: d(self.steal, o.steal),
        }
    }
}

impl Add for CpuTimes {
    type Output = CpuTimes;
    fn add(self, o: CpuTimes) -> CpuTimes {
        CpuTimes {
            user: self.user + o.user,
            nice: self.nice + o.nice,
            system: self.system + o.system,
            idle: self.idle + o.idle,
            iowait: self.iowait + o.iowait,
            irq: self.irq + o.irq,
            softirq: self.softirq + o.softirq,
            steal: self.steal + o.steal,
        }
    }
}

/// How loaded a host was during one trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostLoad {
    /// The host's name in the study.
    pub host: String,
    /// Seconds watched.
    pub seconds: f64,
    /// CPU seconds by class over all cores.
    pub cpu: CpuTimes,
    /// Busy share (0..1) of each core.
    pub cores_busy: Vec<f64>,
    /// Busy CPU seconds per second in the idle window before this trial's block.
    pub idle_baseline: f64,
    /// How it went on: stretches from the first to the last sample, one after the other. Empty
    /// where nobody looked meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stretches: Vec<CpuStretch>,
}

/// CPU time between two looks at a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuStretch {
    /// How long, in seconds.
    pub seconds: f64,
    /// CPU seconds by class over all cores.
    pub cpu: CpuTimes,
}

impl HostLoad {
    /// Busy CPU seconds that the trial itself caused: busy minus baseline x duration. Below zero
    /// where the baseline was busier than the trial: cutting such values off, or leaving them out,
    /// would make the mean over the trials too large.
    pub fn caused(&self) -> CpuSeconds {
        CpuSeconds(self.cpu.busy().0 - self.idle_baseline * self.seconds)
    }
}
