//! This machine.

use super::shell::OFFLOADED;
use super::{Ask, PendingSample, Watch};
use crate::proc_files::{
    FileKind, Hardware, Sample, cpu_accounting, group_paths, parse_cpu_model, parse_disk_facts,
    parse_link_rates, parse_memory,
};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::{SysconfVar, sysconf};
use plimsoll_model::{Clock, HostFacts, HostName, WatchedBy};
use plimsoll_process::child;
use std::fs::{read_dir, read_to_string};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// This machine, watched through /proc.
pub struct Local {
    clock: Arc<dyn Clock>,
    ticks_per_second: f64,
    files: Vec<(FileKind, PathBuf)>,
    hardware: Hardware,
    facts: HostFacts,
    own_seconds: f64,
}

const FILES: [&str; 14] = [
    "/proc/uptime",
    "/proc/stat",
    "/proc/schedstat",
    "/sys/fs/cgroup/cpuacct/cpuacct.usage",
    "/proc/meminfo",
    "/proc/diskstats",
    "/proc/net/dev",
    "/proc/net/snmp",
    "/proc/softirqs",
    "/proc/net/softnet_stat",
    "/proc/loadavg",
    "/proc/mdstat",
    "/proc/pressure/memory",
    "/proc/net/rpc/nfsd",
];
/// What is mounted, and what the kernel's own clients say of it.
const MOUNTS: [&str; 3] = ["/proc/self/mountinfo", "/proc/self/mountstats", "/proc/fs/cifs/Stats"];
/// Connection tracking, and how the queueing disciplines are listed.
const CONNTRACK: [&str; 2] =
    ["/proc/net/stat/nf_conntrack", "/proc/sys/net/netfilter/nf_conntrack_max"];
const QUEUES: &str = "PATH=$PATH:/usr/sbin:/sbin; tc -s qdisc show";
/// CPUs and thermal zones that are looked at.
const SENSORS: usize = 16;

impl Local {
    /// Watches this machine; samples are stamped by `clock`.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let ticks = sysconf(SysconfVar::CLK_TCK).ok().flatten().filter(|t| *t > 0);
        let sensors = (0..SENSORS).flat_map(|n| {
            [
                format!("/sys/devices/system/cpu/cpu{n}/cpufreq/scaling_cur_freq"),
                format!("/sys/class/thermal/thermal_zone{n}/temp"),
            ]
        });
        let group = group_paths(&read_to_string("/proc/self/cgroup").unwrap_or_default());
        let paths = FILES.map(str::to_owned).into_iter().chain(sensors).chain(group);
        let readable = paths.filter_map(|path| {
            let kind = FileKind::of_path(&path)?;
            std::fs::File::open(&path).ok().map(|_| (kind, path.into()))
        });
        Local {
            clock,
            ticks_per_second: ticks.unwrap_or(100) as f64,
            files: readable.collect(),
            hardware: hardware(),
            facts: facts(),
            own_seconds: 0.0,
        }
    }

    fn sample(&mut self, what: Ask) -> Option<Sample> {
        let begun = thread_seconds();
        let asked = self.clock.now();
        let mut texts: Vec<(FileKind, String)> = self
            .files
            .iter()
            .filter_map(|(kind, path)| Some((*kind, read_to_string(path).ok()?)))
            .collect();
        let answered = self.clock.now();
        match what {
            Ask::Counters => {}
            Ask::Processes => texts.push((FileKind::Processes, processes())),
            Ask::Mounts => texts.extend(read(&MOUNTS)),
            Ask::Forwarding | Ask::Forwarded => {
                texts.extend(read(&CONNTRACK));
                texts.push((FileKind::Queues, printed(QUEUES).unwrap_or_default()));
                let offloaded = (what == Ask::Forwarded).then(offloaded).flatten();
                texts.extend(offloaded.map(|text| (FileKind::Offloaded, text)));
            }
        }
        let texts = texts.iter().map(|(kind, text)| (*kind, text.as_str()));
        let mut sample = Sample::from_files(self.ticks_per_second, texts)?.taken(asked, answered);
        self.own_seconds += thread_seconds() - begun;
        sample.watcher_seconds = Some(self.own_seconds);
        Some(sample)
    }
}

impl Watch for Local {
    fn facts(&self) -> HostFacts {
        self.facts.clone()
    }

    fn hardware(&self) -> &Hardware {
        &self.hardware
    }

    fn ask(&mut self, what: Ask) -> PendingSample {
        PendingSample::answered(self.sample(what))
    }

    fn interval(&self) -> Duration {
        Duration::from_millis(500)
    }
}

fn facts() -> HostFacts {
    let text = |path: &str| read_to_string(path).unwrap_or_default();
    let kernel = text("/proc/sys/kernel/osrelease").trim().to_owned();
    let config = match text(&format!("/boot/config-{kernel}")) {
        none if none.is_empty() => running_config(),
        config => config,
    };
    let nohz_full = text("/sys/devices/system/cpu/nohz_full");
    let memory = parse_memory(&text("/proc/meminfo"));
    HostFacts {
        name: HostName::Local,
        kernel,
        cpu_model: parse_cpu_model(&text("/proc/cpuinfo")).unwrap_or_default(),
        cpus: std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
        memory_bytes: memory.map_or(0, |m| m.total_bytes),
        cpu_accounting: cpu_accounting(&config, &nohz_full).to_owned(),
        watched_by: Some(WatchedBy::Proc),
        link_rates: parse_link_rates(&speeds()),
        disks: parse_disk_facts(&disks()),
        ..HostFacts::default()
    }
}

/// A line for each network interface that is a real device: its name, and what it is connected at.
fn speeds() -> String {
    let entries = read_dir("/sys/class/net").into_iter().flatten().flatten();
    let devices = entries.map(|e| e.path()).filter(|path| path.join("device").exists());
    let line = |path: PathBuf| {
        let speed = read_to_string(path.join("speed")).ok()?;
        Some(format!("{} {}", path.file_name()?.to_string_lossy(), speed.trim()))
    };
    devices.filter_map(line).collect::<Vec<_>>().join("\n")
}

/// A line for each block device: its name, whether it turns, and how many operations it takes at a time.
fn disks() -> String {
    let entries = read_dir("/sys/block").into_iter().flatten().flatten();
    let line = |path: PathBuf| {
        let text = |file: &str| read_to_string(path.join(file)).unwrap_or_default();
        let (turns, depth) = (text("queue/rotational"), text("device/queue_depth"));
        Some(format!("{} {} {}", path.file_name()?.to_string_lossy(), turns.trim(), depth.trim()))
    };
    entries.filter_map(|entry| line(entry.path())).collect::<Vec<_>>().join("\n")
}

/// The configuration that a kernel carries, where there is a program to unpack it.
fn running_config() -> String {
    let unpacked = child::command("zcat").arg("/proc/config.gz").output();
    unpacked.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default()
}

/// CPU time of the calling thread.
fn thread_seconds() -> f64 {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID);
    time.map_or(0.0, |t| Duration::from(t).as_secs_f64())
}

fn hardware() -> Hardware {
    let paths = |folder: &str| {
        let entries = read_dir(folder).into_iter().flatten().flatten();
        let devices = entries.map(|e| e.path().join("device")).filter(|d| d.exists());
        devices.map(|d| d.display().to_string()).collect::<Vec<_>>().join(" ")
    };
    Hardware::from_paths(&format!("{} {}", paths("/sys/block"), paths("/sys/class/net")))
}

/// Those of these files that can be read.
fn read(paths: &[&str]) -> Vec<(FileKind, String)> {
    let file = |path: &&str| Some((FileKind::of_path(path)?, read_to_string(path).ok()?));
    paths.iter().filter_map(file).collect()
}

/// The offloaded connections, if they can be looked at.
fn offloaded() -> Option<String> {
    printed(&format!("s() {{ :; }}{OFFLOADED}offloaded"))
}

/// What a script prints if it succeeds.
fn printed(script: &str) -> Option<String> {
    let output = child::command("sh").args(["-c", script]).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    output.status.success().then(|| text.into_owned())
}

fn processes() -> String {
    let mut all = String::new();
    for entry in read_dir("/proc").into_iter().flatten().flatten() {
        if entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit) {
            all += &read_to_string(entry.path().join("stat")).unwrap_or_default();
        }
    }
    all
}
