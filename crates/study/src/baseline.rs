//! The idle window: how busy every host is without our load, and whether something else runs.

use crate::hosts::{Hosts, Watched};
use plimsoll_model::{Clock, Flag, HostLoad, HostName, IdleWindows};
use plimsoll_watch::proc_files::Sample;
use plimsoll_watch::{Ask, Idle, PendingSample};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Busy share of all cores in the idle window above which a warning is given.
const BUSY: f64 = 0.10;
/// Share of a core that one process may use in it.
const BUSY_PROCESS: f64 = 0.10;
/// Network traffic in the idle window above which a warning is given, in bytes per second.
const TRAFFIC: f64 = 1e6;

/// How often a waiting study looks whether it was stopped.
const LOOK: Duration = Duration::from_millis(100);
/// Longer than any host takes until it has answered or is lost.
const SETTLED: Duration = Duration::from_secs(60);

impl Hosts {
    /// Watches the idle hosts for `window`, once their disks have written what was laid out, and returns what
    /// disturbs; ends early when stopped.
    pub(crate) fn idle(
        &mut self,
        window: Duration,
        clock: &dyn Clock,
        stop: &AtomicBool,
    ) -> Vec<Flag> {
        if window.is_zero() || self.watched.is_empty() {
            return Vec::new();
        }
        self.rest(clock);
        // Processes are asked for outside of the window: that costs more than a look.
        let ask = |hosts: &mut Self| -> Vec<PendingSample> {
            hosts.watched.iter_mut().map(|host| host.watch.ask(Ask::Processes)).collect()
        };
        let before = ask(self);
        self.begin();
        let end = clock.now() + window;
        while clock.now() < end && !stop.load(Ordering::Relaxed) {
            clock.sleep_until(end.min(clock.now() + LOOK));
        }
        self.end();
        let after = ask(self);
        let mut flags = Vec::new();
        for ((host, mut before), mut after) in self.watched.iter_mut().zip(before).zip(after) {
            let Some(load) = host.load().filter(|load| load.seconds > 0.0) else { continue };
            host.idle = Some(Idle(load.cpu * (1.0 / load.seconds)));
            let (from, to) = (before.sample(SETTLED), after.sample(SETTLED));
            let own = from.zip(to).map_or(0.0, |(from, to)| own_cores(from, to));
            flags.extend(busy(host, &load, own));
            if let (Some(from), Some(to)) = (from, to) {
                flags.extend(processes(&host.name, from, to));
                let work = to.raid.clone();
                let host = host.name.clone();
                flags.extend(work.map(|work| {
                    let windows = IdleWindows::default();
                    Flag::BusyRaid { host, work, windows }
                }));
            }
        }
        flags
    }
}

/// Work and traffic of the host as a whole, without that of plimsoll itself and of file servers:
/// what they do there is no other work.
fn busy(host: &Watched, load: &HostLoad, own_cores: f64) -> Vec<Flag> {
    let mut flags = Vec::new();
    let others = load.cpu.busy().0 - own_cores * load.seconds;
    let busy = others / load.cpu.total().max(f64::MIN_POSITIVE);
    if busy > BUSY {
        let windows = IdleWindows::default();
        flags.push(Flag::BusyBaseline { host: host.name.clone(), busy, windows });
    }
    // Where packets are forwarded they pass two interfaces: the busier one tells how many.
    let real = load.interfaces.iter().filter(|i| host.watch.hardware().is_interface(&i.name));
    let bytes = real.map(|i| i.received_bytes.saturating_add(i.sent_bytes)).max().unwrap_or(0);
    let bytes_per_second = bytes as f64 / load.seconds;
    if bytes_per_second > TRAFFIC {
        let windows = IdleWindows::default();
        flags.push(Flag::OtherTraffic { host: host.name.clone(), bytes_per_second, windows });
    }
    flags
}

/// plimsoll, and what it carries to hosts: its runner, its probe, the agent of a lab's machine.
fn is_own(process: &str) -> bool {
    process.starts_with("plimsoll")
}

/// How many cores plimsoll's own processes and file servers used.
fn own_cores(from: &Sample, to: &Sample) -> f64 {
    let own = |name: &str| is_own(name) || plimsoll_model::is_file_server(name);
    let own = used(from, to).filter(|(process, _)| own(&process.name));
    own.map(|(_, cores)| cores).filter(|cores| cores.is_finite()).sum()
}

/// The busiest process but for our own, if it is busy.
fn processes(host: &HostName, from: &Sample, to: &Sample) -> Option<Flag> {
    let others = used(from, to).filter(|(process, _)| !is_own(&process.name));
    let (process, cores) = others.max_by(|a, b| a.1.total_cmp(&b.1))?;
    (cores > BUSY_PROCESS && cores.is_finite()).then(|| Flag::BusyProcess {
        host: host.clone(),
        process: process.name.clone(),
        cores,
        kernel: process.kernel,
        windows: IdleWindows::default(),
    })
}

/// What each process used of a core between two samples.
fn used<'a>(
    from: &'a Sample,
    to: &'a Sample,
) -> impl Iterator<Item = (&'a plimsoll_watch::proc_files::ProcessTime, f64)> {
    let seconds = to.at.since(from.at).as_secs_f64();
    let known: std::collections::HashMap<u32, &plimsoll_watch::proc_files::ProcessTime> =
        from.processes.iter().map(|process| (process.id, process)).collect();
    to.processes.iter().filter_map(move |now| {
        let then = known.get(&now.id).filter(|then| then.name == now.name)?;
        Some((now, (now.seconds - then.seconds) / seconds))
    })
}
