//! The idle window: how busy every host is without our load, and whether something else runs.

use host::Watch;
use host::proc_files::Sample;
use model::{Clock, CpuStretch, CpuTimes, Flag, HostLoad};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Busy share of all cores in the idle window above which a warning is given.
const BUSY: f64 = 0.10;
/// Network traffic in the idle window above which a warning is given, in bytes per second.
const TRAFFIC: f64 = 1e6;

/// How often a waiting study looks whether it was stopped.
const LOOK: Duration = Duration::from_millis(100);
/// Longest wait for disks to come to rest, and how often they are looked at.
const REST: Duration = Duration::from_secs(2);
const REST_LOOK: Duration = Duration::from_millis(20);

/// The hosts of a study with the idle baseline of each.
pub struct Hosts {
    watched: Vec<Watched>,
}

struct Watched {
    name: String,
    watch: Box<dyn Watch>,
    /// Busy CPU seconds per second.
    idle: f64,
    begin: Option<Sample>,
    end: Option<Sample>,
    /// Where [`Hosts::look`] left off.
    looked: Option<Sample>,
    /// The load between the looks since the last begin.
    stretches: Vec<CpuStretch>,
}

/// Stretches that are kept of a trial; when there are more, neighbours are put together.
const MOST_STRETCHES: usize = 240;

impl Hosts {
    /// Hosts to be watched; none in simulations.
    pub fn new(watches: Vec<Box<dyn Watch>>) -> Self {
        let watched = watches
            .into_iter()
            .map(|watch| {
                let name = watch.facts().name;
                let (begin, end, looked, stretches) = (None, None, None, Vec::new());
                Watched { name, watch, idle: 0.0, begin, end, looked, stretches }
            })
            .collect();
        Hosts { watched }
    }

    /// What each host is.
    pub fn facts(&self) -> Vec<model::HostFacts> {
        self.watched.iter().map(|w| w.watch.facts()).collect()
    }

    /// Watches the idle hosts for `window` and returns what disturbs; ends early when stopped.
    pub fn idle(&mut self, window: Duration, clock: &dyn Clock, stop: &AtomicBool) -> Vec<Flag> {
        if window.is_zero() || self.watched.is_empty() {
            return Vec::new();
        }
        self.begin();
        let end = clock.now() + window;
        while clock.now() < end && !stop.load(Ordering::Relaxed) {
            clock.sleep_until(end.min(clock.now() + LOOK));
        }
        self.end();
        let mut flags = Vec::new();
        for host in &mut self.watched {
            let (Some(from), Some(to)) = (&host.begin, &host.end) else { continue };
            let load = host::load_between(&host.name, from, to, 0.0);
            if load.seconds <= 0.0 {
                continue;
            }
            host.idle = load.cpu.busy().0 / load.seconds;
            let busy = load.cpu.busy().0 / load.cpu.total().max(f64::MIN_POSITIVE);
            if busy > BUSY {
                flags.push(Flag::BusyBaseline { host: host.name.clone(), busy });
            }
            let rate = to.network_bytes.saturating_sub(from.network_bytes) as f64 / load.seconds;
            if rate > TRAFFIC {
                flags.push(Flag::OtherTraffic { host: host.name.clone(), bytes_per_second: rate });
            }
        }
        flags
    }

    /// Waits until the disks of every host are at rest where that can be seen, but not for long:
    /// somebody else may be using them.
    pub fn rest(&mut self, clock: &dyn Clock) {
        let end = clock.now() + REST;
        let busy = |hosts: &[Watched]| hosts.iter().any(|h| h.watch.disks_idle() == Some(false));
        while busy(&self.watched) && clock.now() < end {
            clock.sleep_until(clock.now() + REST_LOOK);
        }
    }

    /// The load begins.
    pub fn begin(&mut self) {
        for host in &mut self.watched {
            host.begin = host.watch.sample();
            host.end = None;
            host.looked.clone_from(&host.begin);
            host.stretches.clear();
        }
    }

    /// The load ended; later calls before the next [`Hosts::begin`] change nothing.
    pub fn end(&mut self) {
        for host in &mut self.watched {
            if host.end.is_none() {
                host.end = host.watch.sample();
            }
        }
    }

    /// The load of every host since the last look or begin, for those who look on.
    pub fn look(&mut self) -> Vec<HostLoad> {
        let load = |host: &mut Watched| {
            let to = host.watch.sample()?;
            let from = host.looked.replace(to)?;
            let load = host::load_between(&host.name, &from, host.looked.as_ref()?, host.idle);
            host.stretches.push(CpuStretch { seconds: load.seconds, cpu: load.cpu });
            if host.stretches.len() > MOST_STRETCHES {
                host.stretches = host.stretches.chunks(2).map(together).collect();
            }
            Some(load)
        };
        self.watched.iter_mut().filter_map(load).collect()
    }

    /// The load of every host between the last begin and end.
    pub fn loads(&self) -> Vec<HostLoad> {
        self.watched
            .iter()
            .filter_map(|h| {
                let (from, to) = (h.begin.as_ref()?, h.end.as_ref()?);
                let mut load = host::load_between(&h.name, from, to, h.idle);
                if let (Some(looked), false) = (&h.looked, h.stretches.is_empty()) {
                    load.stretches.clone_from(&h.stretches);
                    let last = host::load_between(&h.name, looked, to, h.idle);
                    load.stretches.push(CpuStretch { seconds: last.seconds, cpu: last.cpu });
                }
                Some(load)
            })
            .collect()
    }
}

/// Neighbouring stretches as one.
fn together(stretches: &[CpuStretch]) -> CpuStretch {
    CpuStretch {
        seconds: stretches.iter().map(|s| s.seconds).sum(),
        cpu: stretches.iter().fold(CpuTimes::default(), |sum, s| sum + s.cpu),
    }
}
