//! A host watched by a few lines of POSIX shell on the host; nothing is installed.
//!
//! The shell waits for a line, then has one `head` print all files with their names: one process a
//! sample, and none that sleeps meanwhile. It ends by itself when its input closes.

use super::Ask;
use super::remote::{Opened, Remote, Source};
use super::stream::{MOST_SAMPLE, Sections, end_of};
use crate::proc_files::{
    FileKind, Hardware, Sample, cpu_accounting, parse_cpu_model, parse_disk_facts, parse_link_rates,
};
use plimsoll_model::{Cause, Clock, Failure, HostFacts, HostName, WatchedBy};
use plimsoll_reach::{Channel, Opener, Reach};
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a host may take until its first answer, and for each later one.
const START: Duration = Duration::from_secs(20);
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a shell that has ended may take to say why.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// One process a sample: each second that is next to nothing.
const INTERVAL: Duration = Duration::from_secs(1);

/// Defines `offloaded`, which prints the two addresses with most connections that a flowtable forwards, and how many
/// these are. It fails where there is no flowtable, or so many connections that looking at all of them takes long.
pub(super) const OFFLOADED: &str = r#"
offloaded() {
    [ -d /sys/module/nf_flow_table ] && [ -r /proc/net/nf_conntrack ] || return 1
    read -r i < /proc/sys/net/netfilter/nf_conntrack_count && [ "$i" -le 16384 ] || return 1
    s offloaded
    o='^.* src=\([^ ]*\) dst=\([^ ]*\) .*\[\(H*W*_*\)OFFLOAD\].*'
    sed -n "s/$o/\1 \2 \3/p" /proc/net/nf_conntrack | sort | uniq -c | sort -rn | head -n 1
}
"#;

/// Says what the host is, then answers each line: the lines that follow a number are printed under
/// that number. Files that cannot be read are left out once and for all.
const SCRIPT: &str = r#"
s() { printf '\n==> %s <==\n' "$1"; }
f=/dev/null
for p in /proc/uptime /proc/stat /proc/schedstat \
    /sys/fs/cgroup/cpuacct/cpuacct.usage /sys/fs/cgroup/cpu,cpuacct/cpuacct.usage \
    /proc/meminfo /proc/diskstats /proc/net/dev /proc/net/snmp /proc/softirqs /proc/loadavg \
    /proc/net/softnet_stat /proc/mdstat /proc/net/rpc/nfsd /proc/pressure/memory \
    /sys/devices/system/cpu/cpu[0-9]/cpufreq/scaling_cur_freq \
    /sys/devices/system/cpu/cpu1[0-5]/cpufreq/scaling_cur_freq \
    /sys/class/thermal/thermal_zone[0-9]/temp /sys/class/thermal/thermal_zone1[0-5]/temp \
    $(while IFS=: read -r i c p; do
        p=${p%/}
        case ,$c, in
            ,,) echo "/sys/fs/cgroup$p/cpu.max /sys/fs/cgroup$p/cpu.stat";;
            *,cpu,*) for i in cpu.cfs_quota_us cpu.cfs_period_us cpu.stat; do
                echo "/sys/fs/cgroup/cpu$p/$i"; done;;
        esac
        case ,$c, in *,cpuacct,*) [ -z "$p" ] || echo "/sys/fs/cgroup/cpuacct$p/cpuacct.usage";; esac
    done < /proc/self/cgroup) \
    /proc/$$/stat
do if [ -r "$p" ]; then f="$f $p"; fi; done
p=$PPID
for i in 1 2; do
    read -r i c i q i < /proc/$p/stat || break
    case $c in *sshd*|*dropbear*) f="$f /proc/$p/stat"; break;; esac
    p=$q
done 2>/dev/null
{
    s kernel; cat /proc/sys/kernel/osrelease
    s cpuinfo; grep -E '^(model name|cpu model|Processor|Hardware)' /proc/cpuinfo | head -n 4
    s ticks; getconf CLK_TCK
    s boot; cat /proc/sys/kernel/random/boot_id
    s nohz_full; cat /sys/devices/system/cpu/nohz_full
    s config; { zcat /proc/config.gz || cat "/boot/config-$(cat /proc/sys/kernel/osrelease)"; } |
        grep -E '^CONFIG_(TICK_CPU|VIRT_CPU|IRQ_TIME|CONTEXT_TRACKING)'
    s devices; echo /sys/block/*/device /sys/class/net/*/device
    s speeds; for i in /sys/class/net/*/device; do i=${i%/device}; echo "${i##*/} $(cat "$i/speed")"; done
    s disks; for i in /sys/block/*/queue/rotational; do
        d=${i%/queue/rotational}
        case ${d##*/} in loop*|ram*|zram*) continue;; esac
        echo "${d##*/} $(cat "$i" "$d/device/queue_depth" | tr '\n' ' ')"
    done
    s 'end facts'
} 2>/dev/null
c='/proc/net/stat/nf_conntrack /proc/sys/net/netfilter/nf_conntrack_max'
m='/proc/self/mountinfo /proc/self/mountstats /proc/fs/cifs/Stats'
while read -r n p; do
    case $p in
        mounts) head -n 50000 $f $m;;
        forward*) head -n 5000 $f $c; s queues; PATH=$PATH:/usr/sbin:/sbin tc -s qdisc show
            case $p in forwarded) offloaded;; esac;;
        processes) head -n 5000 $f; s processes; cat /proc/[0-9]*/stat;;
        *) head -n 5000 $f;;
    esac
    s "end $n"
done 2>/dev/null
"#;

/// Reaches a host.
pub type Connect = Box<dyn Fn() -> Result<Arc<dyn Reach>, Failure> + Send>;

/// A host watched by a shell on the host.
pub struct Shell {
    channel: Option<Box<dyn Channel>>,
    name: HostName,
    clock: Arc<dyn Clock>,
    ticks_per_second: f64,
    asked: u64,
    buffer: Vec<u8>,
}

impl Shell {
    /// Begins to watch a host; samples are stamped by `clock`. Reaching it may ask for a password
    /// now, but never again.
    pub fn watch(
        host: &HostName,
        opener: Opener,
        clock: Arc<dyn Clock>,
    ) -> Result<Remote, Failure> {
        let (reach, host) = (opener(host, true)?, host.clone());
        Shell::watch_by(reach, Box::new(move || opener(&host, false)), clock)
    }

    /// The same of a host that is reached already; `again` is how, should it be lost.
    pub fn watch_by(
        reach: Arc<dyn Reach>,
        again: Connect,
        clock: Arc<dyn Clock>,
    ) -> Result<Remote, Failure> {
        let mut first = Some(reach);
        Remote::start(Box::new(move || {
            let reach = first.take().map_or_else(&again, Ok)?;
            Shell::open(&*reach, clock.clone())
        }))
    }

    pub(super) fn open(reach: &dyn Reach, clock: Arc<dyn Clock>) -> Result<Opened, Failure> {
        let name = reach.name().parse()?;
        let mut shell = Shell {
            channel: Some(reach.open(&[OFFLOADED, SCRIPT].concat())?),
            name,
            clock,
            ticks_per_second: 100.0,
            asked: 0,
            buffer: Vec::new(),
        };
        shell.receive("facts", Instant::now() + START)?;
        let said = Sections::new(&shell.buffer);
        shell.ticks_per_second = ticks_per_second(&said);
        let mut facts = facts(&said, &shell.name);
        let hardware = Hardware::from_paths(said.get("devices"));
        let first = shell.sample(Ask::Counters)?;
        facts.cpus = first.cores.len() as u32;
        facts.memory_bytes = first.memory.map_or(0, |m| m.total_bytes);
        Ok(Opened { source: Box::new(shell), facts, hardware, interval: INTERVAL })
    }

    /// Reads up to the end of an answer.
    fn receive(&mut self, answer: &str, until: Instant) -> Result<(), Failure> {
        let end = end_of(answer);
        let mut piece = [0; 16_384];
        self.buffer.clear();
        while !self.buffer.ends_with(end.as_bytes()) {
            let Some(channel) = &mut self.channel else {
                return Err(self.failure("its shell has ended".to_owned()));
            };
            let happened = match channel.read(&mut piece, until) {
                Ok(0) => self.last_words(),
                Ok(n) if self.buffer.len() + n <= MOST_SAMPLE => {
                    self.buffer.extend_from_slice(&piece[..n]);
                    continue;
                }
                Ok(_) => format!("its answer was longer than {MOST_SAMPLE} bytes"),
                Err(e) if e.kind() == ErrorKind::TimedOut => "it did not answer in time".to_owned(),
                Err(e) => e.to_string(),
            };
            self.channel = None;
            return Err(self.failure(happened));
        }
        Ok(())
    }

    /// Why the shell on the host ended.
    fn last_words(&mut self) -> String {
        let ended = match self.channel.take().map(|channel| channel.finish(LAST_WORDS)) {
            Some(Ok(output)) => String::from_utf8_lossy(&output.errors).trim().to_owned(),
            Some(Err(failure)) => failure.happened,
            None => String::new(),
        };
        match ended.is_empty() {
            true => "its shell has ended".to_owned(),
            false => {
                format!("its shell has ended: {}", ended.chars().take(400).collect::<String>())
            }
        }
    }

    fn failure(&self, happened: String) -> Failure {
        let next = "Check that the host is up and reachable. Finished trials are kept.";
        Failure::new(Cause::Unreachable, "monitor the load of the host")
            .on(&self.name)
            .happened(happened)
            .next(next)
    }
}

impl Source for Shell {
    fn sample(&mut self, what: Ask) -> Result<Sample, Failure> {
        let until = Instant::now() + PATIENCE;
        self.asked += 1;
        let number = self.asked.to_string();
        let line = match what {
            Ask::Counters => format!("{number}\n"),
            Ask::Processes => format!("{number} processes\n"),
            Ask::Mounts => format!("{number} mounts\n"),
            Ask::Forwarding => format!("{number} forwarding\n"),
            Ask::Forwarded => format!("{number} forwarded\n"),
        };
        let asked = self.clock.now();
        let written = match &mut self.channel {
            Some(channel) => channel.write(line.as_bytes(), until),
            None => Err(ErrorKind::NotConnected.into()),
        };
        if let Err(e) = written {
            let words = self.last_words();
            return Err(self.failure(format!("{words} ({e})")));
        }
        self.receive(&number, until)?;
        let answered = self.clock.now();
        match sample(&Sections::new(&self.buffer), self.ticks_per_second) {
            Some(sample) => Ok(sample.taken(asked, answered)),
            None => Err(self.failure("its counters (/proc/stat) are not readable".to_owned())),
        }
    }
}

/// USER_HZ is 100 on all but two dead architectures; BusyBox may have no getconf.
pub(super) fn ticks_per_second(said: &Sections<'_>) -> f64 {
    let ticks = said.get("ticks").parse::<u32>().ok().filter(|t| (1..=10_000).contains(t));
    f64::from(ticks.unwrap_or(100))
}

/// What the host is, but for what a sample tells.
pub(super) fn facts(said: &Sections<'_>, name: &HostName) -> HostFacts {
    HostFacts {
        name: name.clone(),
        kernel: said.get("kernel").chars().take(128).collect(),
        cpu_model: parse_cpu_model(said.get("cpuinfo")).unwrap_or_default(),
        cpu_accounting: cpu_accounting(said.get("config"), said.get("nohz_full")).to_owned(),
        watched_by: Some(WatchedBy::Shell),
        is_this_machine: is_this_boot(said.get("boot")),
        link_rates: parse_link_rates(said.get("speeds")),
        disks: parse_disk_facts(said.get("disks")),
        ..HostFacts::default()
    }
}

/// The counters in an answer.
pub(super) fn sample(said: &Sections<'_>, ticks_per_second: f64) -> Option<Sample> {
    let files = said.iter().filter_map(|(name, text)| match name {
        "processes" => Some((FileKind::Processes, text)),
        "queues" => Some((FileKind::Queues, text)),
        "offloaded" => Some((FileKind::Offloaded, text)),
        path => Some((FileKind::of_path(path)?, text)),
    });
    Sample::from_files(ticks_per_second, files)
}

/// Whether a host says the boot that this machine says: then it is this machine.
fn is_this_boot(boot: &str) -> bool {
    let own = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    !boot.is_empty() && own.trim() == boot
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Two flows between two addresses in the hardware, one between others, and one that no flowtable has.
    #[test]
    fn the_addresses_with_most_offloaded_connections_are_counted() {
        let flow = |from: &str, to: &str, mark: &str| {
            format!(
                "ipv4     2 udp      17 src={from} dst={to} sport=5 dport=6 packets=9 bytes=9 src={to} dst={from} sport=6 \
                 dport=5 packets=9 bytes=9 {mark}mark=0 zone=0 use=2\n"
            )
        };
        let [near, far] = ["192.0.2.1", "198.51.100.2"];
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
        let printed = |flows: &[String], count: &str| {
            std::fs::write(path("table"), flows.concat()).unwrap();
            std::fs::write(path("count"), count).unwrap();
            let script = OFFLOADED
                .replace("/proc/sys/net/netfilter/nf_conntrack_count", &path("count"))
                .replace("/proc/net/nf_conntrack", &path("table"))
                .replace("/sys/module/nf_flow_table", place.path().to_str().unwrap());
            let script = format!("s() {{ echo \"$1:\"; }}{script}offloaded");
            let ran = Command::new("sh").args(["-c", &script]).output().unwrap();
            let text = String::from_utf8(ran.stdout).unwrap();
            (ran.status.success(), text.split_whitespace().collect::<Vec<_>>().join(" "))
        };
        let two = [near, far, "[HW_OFFLOAD] "];
        let mut flows: Vec<String> = [two, two, [near, near, "[OFFLOAD] "], [near, far, ""]]
            .map(|[from, to, mark]| flow(from, to, mark))
            .into();
        let expected = format!("offloaded: 2 {far} {near} HW_");
        assert_eq!(printed(&flows, "4\n"), (true, expected));
        assert_eq!(printed(&flows, "16385\n"), (false, String::new()), "that takes too long");
        flows.drain(..2);
        let expected = format!("offloaded: 1 {near} {near}");
        assert_eq!(printed(&flows, "2\n"), (true, expected));
        flows.remove(0);
        assert_eq!(printed(&flows, "1\n"), (true, "offloaded:".to_owned()));
    }
}
