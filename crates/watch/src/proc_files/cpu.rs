//! CPU time.

use plimsoll_model::{CpuTimes, Softirqs};

/// Most cores that are believed.
pub(super) const MAX_CORES: usize = 4096;

/// Reads /proc/stat (see proc(5)): all cores together, and each; times there are in ticks,
/// `ticks_per_second` of them a second.
pub fn parse_stat(text: &str, ticks_per_second: f64) -> Option<(CpuTimes, Vec<CpuTimes>)> {
    let mut all = None;
    let mut cores = Vec::new();
    for line in text.lines() {
        // The CPU lines come first; what follows may be long.
        let Some(rest) = line.strip_prefix("cpu") else { break };
        let (name, fields) = rest.split_once(' ')?;
        let times = parse_times(fields, ticks_per_second)?;
        if name.is_empty() {
            all = Some(times);
        } else if name.bytes().all(|b| b.is_ascii_digit()) && cores.len() < MAX_CORES {
            cores.push(times);
        }
    }
    all.map(|a| (a, cores))
}

fn parse_times(fields: &str, ticks_per_second: f64) -> Option<CpuTimes> {
    let mut next = fields
        .split_ascii_whitespace()
        .map(|f| f.parse::<u64>().ok().map(|t| t as f64 / ticks_per_second));
    // user nice system idle iowait irq softirq steal; `steal` came with Linux 2.6.11.
    let mut field = || next.next().unwrap_or(Some(0.0));
    Some(CpuTimes {
        user: field()?,
        nice: field()?,
        system: field()?,
        idle: field()?,
        iowait: field()?,
        irq: field()?,
        softirq: field()?,
        steal: field()?,
    })
}

/// Seconds that tasks ran by the scheduler's clock, all cores: /proc/schedstat from its version 15
/// on (field 7 of a `cpu` line, in nanoseconds; the kernel's Documentation/scheduler/sched-stats.rst),
/// or the root's cpuacct.usage, nanoseconds. The first counts a task's time when it leaves the core.
pub fn parse_run_seconds(text: &str) -> Option<f64> {
    if let Ok(nanoseconds) = text.trim().parse::<u64>() {
        return Some(nanoseconds as f64 * 1e-9);
    }
    let version: u32 = text.lines().next()?.strip_prefix("version ")?.trim().parse().ok()?;
    if version < 15 {
        return None;
    }
    let cores = text.lines().filter(|line| line.starts_with("cpu")).take(MAX_CORES);
    cores
        .map(|line| super::number(line, 7).map(|ns| ns as f64 * 1e-9))
        .reduce(|sum, core| Some(sum? + core?))?
}

/// NET_RX and NET_TX of /proc/softirqs, all cores.
pub fn parse_softirqs(text: &str) -> Option<Softirqs> {
    let sum = |name: &str| {
        let counts = text.lines().find_map(|line| line.trim_start().strip_prefix(name))?;
        let counts = counts.split_ascii_whitespace().take(MAX_CORES).map(|n| n.parse().ok());
        counts.reduce(|sum: Option<u64>, n| Some(sum?.saturating_add(n?)))?
    };
    Some(Softirqs { net_rx: sum("NET_RX:")?, net_tx: sum("NET_TX:")? })
}

/// The first number of /proc/uptime and /proc/loadavg.
pub fn first_number(text: &str) -> Option<f64> {
    let number: f64 = text.split_ascii_whitespace().next()?.parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}
