//! The kernel's counters, as /proc prints them. Text from another host is untrusted: what does not
//! parse is left out, never believed and never a panic.

use model::{CpuTimes, Nanos};

/// Counters of one host at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// When, on the clock of whoever took it.
    pub at: Nanos,
    /// CPU seconds by class since boot, all cores.
    pub cpu: CpuTimes,
    /// The same core by core.
    pub cores: Vec<CpuTimes>,
    /// Bytes received and sent since boot on every interface but loopback.
    pub network_bytes: u64,
}

/// Most cores that are believed.
const MAX_CORES: usize = 4096;

/// Reads /proc/stat (see proc(5)); times there are in ticks, `ticks_per_second` of them a second.
pub fn parse_stat(text: &str, ticks_per_second: f64) -> Option<(CpuTimes, Vec<CpuTimes>)> {
    let mut all = None;
    let mut cores = Vec::new();
    for line in text.lines() {
        let Some(rest) = line.strip_prefix("cpu") else { continue };
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

/// Sums bytes received and sent in /proc/net/dev over every interface but loopback.
pub fn parse_net_dev(text: &str) -> u64 {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .filter(|(name, _)| name.trim() != "lo")
        .filter_map(|(_, fields)| {
            let mut numbers = fields.split_ascii_whitespace().map(|f| f.parse::<u64>().ok());
            // Eight receive columns stand before the first transmit column.
            let received = numbers.next()??;
            let sent = numbers.nth(7)??;
            received.checked_add(sent)
        })
        .fold(0, u64::saturating_add)
}

/// Operations in flight on all block devices, from /proc/diskstats (field 12 of a line; see the
/// kernel's Documentation/admin-guide/iostats.rst). Lines that do not parse count as idle.
pub fn parse_disks_in_flight(text: &str) -> u64 {
    text.lines()
        .filter_map(|line| line.split_ascii_whitespace().nth(11)?.parse::<u64>().ok())
        .fold(0, u64::saturating_add)
}

/// MemTotal of /proc/meminfo, in bytes.
pub fn parse_memory_total(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
    line.split_ascii_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// The first CPU model named in /proc/cpuinfo (x86: "model name", MIPS: "cpu model", ARM:
/// "Processor" or "Hardware").
pub fn parse_cpu_model(text: &str) -> Option<String> {
    let keys = ["model name", "cpu model", "Processor", "Hardware"];
    keys.iter().find_map(|key| {
        text.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == *key).then(|| value.trim().to_owned()).filter(|v| !v.is_empty())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STAT: &str = "cpu  100 0 50 800 40 5 5 0 0 0\ncpu0 60 0 30 400 20 5 5 0 0 0\n\
                        cpu1 40 0 20 400 20 0 0 0 0 0\nintr 1 2 3\nctxt 5\n";

    #[test]
    fn stat_in_seconds() {
        let (all, cores) = parse_stat(STAT, 100.0).unwrap();
        assert_eq!(all.user, 1.0);
        assert!((all.busy().0 - 1.6).abs() < 1e-12, "iowait is idle time");
        assert_eq!(cores.len(), 2);
        assert_eq!(cores[1].system, 0.2);
    }

    #[test]
    fn an_old_kernel_without_steal() {
        let (all, _) = parse_stat("cpu  1 2 3 4\n", 1.0).unwrap();
        assert_eq!((all.idle, all.steal), (4.0, 0.0));
        assert!(parse_stat("nothing here", 100.0).is_none());
        assert!(parse_stat("cpu  1 x 3 4\n", 100.0).is_none());
    }

    #[test]
    fn net_dev_leaves_loopback_out() {
        let text = "Inter-|   Receive                |  Transmit\n face |bytes packets\n\
                    \x20   lo: 999 1 0 0 0 0 0 0 999 1 0 0 0 0 0 0\n\
                    \x20 eth0:1000 1 0 0 0 0 0 0 234 1 0 0 0 0 0 0\n";
        assert_eq!(parse_net_dev(text), 1234);
    }

    #[test]
    fn disks_in_flight() {
        let line = "   8       0 sda 6000 10 500000 1000 900 20 7000 300 3 800 1300";
        let idle = line.replace(" 3 800", " 0 800");
        assert_eq!(parse_disks_in_flight(&format!("{line}\n{idle}\nnonsense")), 3);
    }

    #[test]
    fn memory_and_model() {
        assert_eq!(parse_memory_total("MemTotal:       24576 kB\n"), Some(24576 * 1024));
        let mips = "system type\t: Atheros AR9344\ncpu model\t\t: MIPS 74Kc V4.12\n";
        assert_eq!(parse_cpu_model(mips).as_deref(), Some("MIPS 74Kc V4.12"));
    }

    proptest! {
        #[test]
        fn garbage_is_refused_without_panic(text in "(cpu[0-9]* ?[0-9 x]{0,40}\n|[a-z0-9]*:[0-9 ]{0,60}\n){0,8}") {
            let _ = parse_stat(&text, 100.0);
            let _ = parse_net_dev(&text);
            let _ = parse_memory_total(&text);
            let _ = parse_cpu_model(&text);
            let _ = parse_disks_in_flight(&text);
        }
    }
}
