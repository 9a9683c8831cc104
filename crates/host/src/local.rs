//! This machine.

use crate::Watch;
use crate::proc_files::{
    Sample, parse_cpu_model, parse_disks_in_flight, parse_memory_total, parse_net_dev, parse_stat,
};
use model::{Clock, HostFacts};
use nix::unistd::{SysconfVar, sysconf};
use std::fs::read_to_string;
use std::sync::Arc;

/// This machine, watched through /proc.
pub struct Local {
    clock: Arc<dyn Clock>,
    ticks_per_second: f64,
}

impl Local {
    /// Watches this machine; samples are stamped by `clock`.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let ticks = sysconf(SysconfVar::CLK_TCK).ok().flatten().filter(|t| *t > 0);
        Local { clock, ticks_per_second: ticks.unwrap_or(100) as f64 }
    }
}

impl Watch for Local {
    fn facts(&self) -> HostFacts {
        let text = |path: &str| read_to_string(path).unwrap_or_default();
        let kernel = text("/proc/sys/kernel/osrelease").trim().to_owned();
        let config = text(&format!("/boot/config-{kernel}"));
        // Tick accounting charges whole ticks to whoever runs when they fall; precise accounting
        // measures at each entry to and exit from the kernel.
        let cpu_accounting = if config.is_empty() {
            "unknown"
        } else if config.contains("CONFIG_VIRT_CPU_ACCOUNTING_GEN=y")
            || config.contains("CONFIG_VIRT_CPU_ACCOUNTING_NATIVE=y")
        {
            "precise"
        } else {
            "ticks"
        };
        HostFacts {
            name: "local".to_owned(),
            kernel,
            cpu_model: parse_cpu_model(&text("/proc/cpuinfo")).unwrap_or_default(),
            cpus: std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
            memory_bytes: parse_memory_total(&text("/proc/meminfo")).unwrap_or(0),
            cpu_accounting: cpu_accounting.to_owned(),
        }
    }

    fn sample(&mut self) -> Option<Sample> {
        let stat = read_to_string("/proc/stat").ok()?;
        let (cpu, cores) = parse_stat(&stat, self.ticks_per_second)?;
        let network_bytes = read_to_string("/proc/net/dev").map(|t| parse_net_dev(&t)).unwrap_or(0);
        Some(Sample { at: self.clock.now(), cpu, cores, network_bytes })
    }

    fn disks_idle(&self) -> Option<bool> {
        let stats = read_to_string("/proc/diskstats").ok()?;
        Some(parse_disks_in_flight(&stats) == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load_between;
    use model::Nanos;
    use std::time::{Duration, Instant};

    struct Since(Instant);
    impl Clock for Since {
        fn now(&self) -> Nanos {
            Nanos(self.0.elapsed().as_nanos() as u64)
        }
        fn sleep_until(&self, _: Nanos) {}
    }

    #[test]
    fn busy_work_is_seen() {
        let mut local = Local::new(Arc::new(Since(Instant::now())));
        let facts = local.facts();
        assert!(facts.cpus >= 1 && facts.memory_bytes > 1 << 20 && !facts.kernel.is_empty());
        let before = local.sample().unwrap();
        let begin = Instant::now();
        let mut sum = 0u64;
        while begin.elapsed() < Duration::from_millis(300) {
            sum = sum.wrapping_add(std::hint::black_box(1));
        }
        let after = local.sample().unwrap();
        let load = load_between("local", &before, &after, 0.0);
        assert!(sum > 0 && load.seconds >= 0.3);
        assert!(load.caused().0 > 0.1, "a third of a second of work leaves a trace: {load:?}");
        assert!(load.cores_busy.iter().all(|b| (0.0..=1.0).contains(b)));
    }
}
