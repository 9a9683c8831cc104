//! What the control group of the process that watches has of the processors, and what it may have: both
//! versions of control groups (the kernel's Documentation/admin-guide/cgroup-v2.rst, "CPU", and
//! scheduler/sched-bwc.rst).

use super::number;
use std::fs::read_to_string;
use std::path::Path;

/// Counters and limits of a control group.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GroupCounters {
    /// CPU seconds that its processes used.
    pub cpu_seconds: Option<f64>,
    /// Microseconds that it may use in each period; `None`: no limit.
    pub quota_us: Option<u64>,
    /// Length of a period in microseconds.
    pub period_us: Option<u64>,
    /// Periods in which it wanted to run.
    pub periods: Option<u64>,
    /// Those of them in which it was held back.
    pub throttled: Option<u64>,
}

/// Reads the text of one file into the counters.
type Reader = fn(&mut GroupCounters, &str);

impl GroupCounters {
    /// Those of a group of this machine by its directories: its own, and the one that counts what is used where
    /// version 1 has that apart. `None` where nothing is there.
    pub fn read(directories: &[impl AsRef<Path>]) -> Option<GroupCounters> {
        let read = |name: &str| {
            directories.iter().find_map(|own| read_to_string(own.as_ref().join(name)).ok())
        };
        let mut group = GroupCounters::default();
        if let Some(quota) = read("cpu.max").or_else(|| read("cpu.cfs_quota_us")) {
            group.quota(&quota);
        }
        let all: [(&str, Reader); 3] = [
            ("cpu.cfs_period_us", GroupCounters::period),
            ("cpu.stat", GroupCounters::stat),
            ("cpuacct.usage", GroupCounters::usage),
        ];
        for (name, take) in all {
            if let Some(text) = read(name) {
                take(&mut group, &text);
            }
        }
        (group != GroupCounters::default()).then_some(group)
    }

    /// How many cores' time it may use.
    pub fn quota_cores(&self) -> Option<f64> {
        let cores = self.quota_us? as f64 / self.period_us? as f64;
        (cores.is_finite() && cores > 0.0).then_some(cores)
    }

    /// Reads cpu.max ("50000 100000", "max 100000") or cpu.cfs_quota_us ("50000", "-1").
    pub(super) fn quota(&mut self, text: &str) {
        self.quota_us = number(text, 0);
        self.period_us = number(text, 1).or(self.period_us);
    }

    /// Reads cpu.cfs_period_us.
    pub(super) fn period(&mut self, text: &str) {
        self.period_us = number(text, 0);
    }

    /// Reads cpu.stat.
    pub(super) fn stat(&mut self, text: &str) {
        let counter = |name: &str| {
            text.lines().find_map(|line| number(line.strip_prefix(name)?.strip_prefix(' ')?, 0))
        };
        let used = counter("usage_usec").map(|micros| micros as f64 * 1e-6);
        self.cpu_seconds = used.or(self.cpu_seconds);
        (self.periods, self.throttled) = (counter("nr_periods"), counter("nr_throttled"));
    }

    /// Reads cpuacct.usage.
    pub(super) fn usage(&mut self, text: &str) {
        self.cpu_seconds = number(text, 0).map(|nanos| nanos as f64 * 1e-9);
    }
}

/// Where the files of a process's own group are, by its /proc/PID/cgroup, with both versions mounted where
/// systems have them. What is not there is for whoever reads to find out.
pub fn group_paths(cgroup: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for line in cgroup.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let below = path.trim_end_matches('/');
        let has = |name: &str| controllers.split(',').any(|one| one == name);
        if controllers.is_empty() {
            paths.extend(["cpu.max", "cpu.stat"].map(|f| format!("/sys/fs/cgroup{below}/{f}")));
        }
        if has("cpu") {
            let files = ["cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.stat"];
            paths.extend(files.map(|file| format!("/sys/fs/cgroup/cpu{below}/{file}")));
        }
        // The root's is that of all processes.
        if has("cpuacct") && !below.is_empty() {
            paths.push(format!("/sys/fs/cgroup/cpuacct{below}/cpuacct.usage"));
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_say_the_same() {
        let mut second = GroupCounters::default();
        second.quota("50000 100000\n");
        second.stat("usage_usec 2500000\nuser_usec 1\nnr_periods 40\nnr_throttled 7\n");
        let mut first = GroupCounters::default();
        first.quota("50000\n");
        first.period("100000\n");
        first.stat("nr_periods 40\nnr_throttled 7\nthrottled_time 99\n");
        first.usage("2500000000\n");
        assert_eq!(first, second);
        assert_eq!(first.quota_cores(), Some(0.5));
        for unlimited in ["max 100000", "-1", "", "0 100000"] {
            first.quota(unlimited);
            assert_eq!(first.quota_cores(), None, "{unlimited}");
        }
    }

    #[test]
    fn paths_are_those_of_the_own_group() {
        let first = "5:cpuacct:/lab/nas\n2:cpu,other:/lab/nas\n1:memory:/x\n0::/\n";
        let expected = [
            "/sys/fs/cgroup/cpuacct/lab/nas/cpuacct.usage",
            "/sys/fs/cgroup/cpu/lab/nas/cpu.cfs_quota_us",
            "/sys/fs/cgroup/cpu/lab/nas/cpu.cfs_period_us",
            "/sys/fs/cgroup/cpu/lab/nas/cpu.stat",
            "/sys/fs/cgroup/cpu.max",
            "/sys/fs/cgroup/cpu.stat",
        ];
        assert_eq!(group_paths(first), expected);
        let expected = ["/sys/fs/cgroup/a/b.slice/cpu.max", "/sys/fs/cgroup/a/b.slice/cpu.stat"];
        assert_eq!(group_paths("0::/a/b.slice\n"), expected);
        assert!(group_paths("nonsense\n::\n3:cpuacct:/").len() <= 2);
    }
}
