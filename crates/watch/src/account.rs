//! From samples to a load: what was counted between the first and the last look.
//!
//! Differences are taken from look to look and added up, so that counters of 32 bits may wrap
//! between the ends of a trial, but hardly between two looks.

use super::difference::{Odd, between};
use crate::proc_files::{Hardware, Sample};
use plimsoll_model::{CpuTimes, Flag, HostLoad, HostName, LoadStretch, MemoryLoad};

/// Stretches that are kept of a trial; when there are more, neighbours are put together.
const MOST_STRETCHES: usize = 240;
/// Disks and interfaces that are kept of a trial, the busiest ones.
const MOST_DEVICES: usize = 16;
/// A fall of the clock under load that matters, as a share.
const THROTTLED: f64 = 0.05;
/// Busy share of a core at which its clock should be what it can be.
const UNDER_LOAD: f64 = 0.5;
/// Share of its CPU time that a host may lose to others before it is worth a warning.
const STOLEN: f64 = 0.02;
/// CPU seconds that tasks ran and ticks did not see: so many a second, and so many in all, may be
/// chance.
const HIDDEN_A_SECOND: f64 = 0.1;
const HIDDEN_IN_ALL: f64 = 0.2;

/// How busy a host is without our load: CPU seconds by class, per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Idle(pub CpuTimes);

/// Adds up the load of a host over a trial.
#[derive(Clone, Debug)]
pub struct Account {
    hardware: Hardware,
    last: Option<Sample>,
    watcher_began: Option<f64>,
    total: HostLoad,
    looks: usize,
    odd: Option<Odd>,
    clock: ClockWatch,
}

impl Account {
    /// Of this host, with these real devices, which is so busy without our load.
    pub fn new(host: &HostName, hardware: Hardware, idle: Option<Idle>) -> Account {
        let total = HostLoad {
            host: host.clone(),
            idle_baseline: idle.map_or(0.0, |idle| idle.0.busy().0),
            idle: idle.map(|idle| rounded(idle.0)),
            ..HostLoad::default()
        };
        Account {
            hardware,
            last: None,
            watcher_began: None,
            total,
            looks: 0,
            odd: None,
            clock: ClockWatch::default(),
        }
    }

    /// Takes the next sample in; returns the load since the one before. `None` for the first, and
    /// where the counters make no sense: then counting begins anew from here.
    pub fn add(&mut self, sample: &Sample) -> Option<HostLoad> {
        self.watcher_began = self.watcher_began.or(sample.watcher_seconds);
        let mut now = sample.clone();
        if let Some(last) = &self.last {
            // They are asked for at the ends alone.
            now.conntrack = now.conntrack.or(last.conntrack);
            if now.queues.is_empty() {
                now.queues.clone_from(&last.queues);
            }
        }
        let counted = self.last.as_ref().map(|last| between(&self.hardware, last, &now));
        self.last = Some(now);
        match counted? {
            Ok(part) => {
                self.looks += 1;
                self.clock.look(part.busiest_core(), sample);
                Some(self.take(part, sample))
            }
            Err(odd) => {
                self.odd = self.odd.or(Some(odd));
                self.watcher_began = sample.watcher_seconds;
                None
            }
        }
    }

    fn take(&mut self, part: super::difference::Part, sample: &Sample) -> HostLoad {
        let super::difference::Part { mut load, moved } = part;
        load.host.clone_from(&self.total.host);
        load.idle_baseline = self.total.idle_baseline;
        self.total.stretches.push(LoadStretch {
            seconds: load.seconds,
            cpu: load.cpu,
            memory: sample.memory,
            moved,
            frequency_hertz: sample.frequency.map(|f| f.highest_hertz),
        });
        if self.total.stretches.len() > MOST_STRETCHES {
            self.total.stretches = self.total.stretches.chunks(2).map(together).collect();
        }
        super::difference::add(&mut self.total, &load);
        let total = &mut self.total;
        total.load_average = higher(total.load_average, sample.load_average);
        total.temperature_celsius = higher(total.temperature_celsius, sample.celsius);
        if let Some(now) = sample.memory {
            let known = total
                .memory
                .unwrap_or(MemoryLoad { least_available_bytes: u64::MAX, ..MemoryLoad::default() });
            total.memory = Some(MemoryLoad {
                least_available_bytes: known.least_available_bytes.min(now.available_bytes),
                most_dirty_bytes: known.most_dirty_bytes.max(now.dirty_bytes),
                cached_bytes: now.cached_bytes,
            });
        }
        total.watcher_cpu_seconds =
            sample.watcher_seconds.zip(self.watcher_began).map(|(now, began)| tidy(now - began));
        load
    }

    /// The load between the first and the last sample; `None` before there are two.
    pub fn load(&self) -> Option<HostLoad> {
        (self.looks > 0).then_some(())?;
        let mut load = self.total.clone();
        load.cpu = rounded(of_time(&load));
        load.cores = load.cores.into_iter().map(rounded).collect();
        load.run_seconds = load.run_seconds.map(tidy);
        load.stretches.iter_mut().for_each(|s| s.cpu = rounded(s.cpu));
        if self.looks < 2 {
            load.stretches.clear();
        }
        load.disks.sort_by(|a, b| b.busy_seconds.total_cmp(&a.busy_seconds));
        load.disks.truncate(MOST_DEVICES);
        let bytes =
            |i: &plimsoll_model::InterfaceLoad| i.received_bytes.saturating_add(i.sent_bytes);
        load.interfaces.sort_by_key(|i| std::cmp::Reverse(bytes(i)));
        load.interfaces.truncate(MOST_DEVICES);
        Some(load)
    }

    /// What is odd about it.
    pub fn flags(&self) -> Vec<Flag> {
        let host = || self.total.host.clone();
        let mut flags = Vec::new();
        match self.odd {
            Some(Odd::Restarted) => flags.push(Flag::HostRestarted { host: host() }),
            Some(Odd::Impossible) => flags.push(Flag::ImpossibleCounters { host: host() }),
            None => {}
        }
        if let Some((from_hertz, to_hertz)) = self.clock.fell {
            let celsius = self.total.temperature_celsius;
            flags.push(Flag::Throttled { host: host(), from_hertz, to_hertz, celsius });
        }
        let share = self.total.stolen();
        if share > STOLEN {
            flags.push(Flag::Stolen { host: host(), share });
        }
        flags.extend(self.hidden());
        flags
    }

    /// Work that ticks did not see. Steal counts as seen, for the scheduler may count it as run.
    fn hidden(&self) -> Option<Flag> {
        let total = &self.total;
        let (ran, seen) = (total.run_seconds?, total.cpu.busy().0 + total.cpu.steal);
        (ran - seen > HIDDEN_A_SECOND * total.seconds + HIDDEN_IN_ALL).then(|| {
            Flag::HiddenFromTicks {
                host: total.host.clone(),
                by_ticks: seen / total.seconds,
                by_scheduler: ran / total.seconds,
            }
        })
    }
}

/// Counters whose classes together are less than this share of the time of all cores, or more than it by as
/// much, are no account of it: cores came or went.
const ACCOUNTED: f64 = 0.5;

/// CPU seconds by class: its share of all that was counted, of the time of all cores, as mpstat, sar and top
/// have it. Where a kernel counts in ticks, cores that sleep in between lose some of them, and all classes
/// together come to less than the time.
fn of_time(load: &HostLoad) -> CpuTimes {
    let (time, counted) = (load.seconds * load.cores_busy.len() as f64, load.cpu.total());
    let accounted = counted > ACCOUNTED * time && ACCOUNTED * counted < time;
    if accounted { load.cpu * (time / counted) } else { load.cpu }
}

/// Whether the clock falls while a core is under load.
#[derive(Clone, Debug, Default)]
struct ClockWatch {
    /// At the last look, if a core was under load before it.
    last: Option<f64>,
    highest: f64,
    /// From where, to where.
    fell: Option<(f64, f64)>,
}

impl ClockWatch {
    /// A look at which a core had been so busy since the last one. The clock at a look counts if
    /// there was load before and after it: at the ends of a load it may fall by right.
    fn look(&mut self, busy: f64, sample: &Sample) {
        let loaded = busy >= UNDER_LOAD;
        if let (true, Some(hertz)) = (loaded, self.last) {
            self.highest = self.highest.max(hertz);
            let lowest = self.fell.map_or(f64::INFINITY, |(_, to)| to);
            if hertz < self.highest * (1.0 - THROTTLED) && hertz < lowest {
                self.fell = Some((self.highest, hertz));
            }
        }
        self.last = sample.frequency.filter(|_| loaded).map(|f| f.highest_hertz);
    }
}

/// The load of a host between two samples, for those that need no more; `None` where the counters
/// make no sense.
pub fn load_between(
    host: &HostName,
    hardware: &Hardware,
    from: &Sample,
    to: &Sample,
) -> Option<HostLoad> {
    let mut account = Account::new(host, hardware.clone(), None);
    account.add(from);
    account.add(to)?;
    account.load()
}

fn higher(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.into_iter().chain(b).reduce(f64::max)
}

/// Neighbouring stretches as one.
fn together(stretches: &[LoadStretch]) -> LoadStretch {
    let last = stretches.last().copied().unwrap_or_default();
    LoadStretch {
        seconds: stretches.iter().map(|s| s.seconds).sum(),
        cpu: stretches.iter().fold(CpuTimes::default(), |sum, s| sum + s.cpu),
        moved: stretches.iter().map(|s| s.moved).reduce(|a, b| Some(a? + b?)).flatten(),
        ..last
    }
}

/// Without the digits that adding and subtracting left: ticks are 1 ms at least.
fn tidy(seconds: f64) -> f64 {
    (seconds * 1e4).round() / 1e4
}

fn rounded(cpu: CpuTimes) -> CpuTimes {
    cpu.map(tidy)
}

#[cfg(test)]
mod tests;
