//! Hosts of every kind, reached and watched.

use host::probe::Programs;
use host::reach::Reach;
use host::watch::{Probe, Remote};
use host::{Local, Watch};
use model::{Clock, Failure, Flag, HostName, Plan, ServerHost};
use std::sync::Arc;

/// Reaches a host; `may_ask`: whether somebody may be asked on the terminal now.
pub fn open(host: &HostName, may_ask: bool) -> Result<Arc<dyn Reach>, Failure> {
    host::reach::open(host, may_ask)
}

/// The hosts that are watched while a plan is carried out.
pub struct Watching {
    /// This machine, then each host that the plan names.
    pub hosts: Vec<Box<dyn Watch>>,
    /// Which of those that were only guessed could not be watched.
    pub flags: Vec<Flag>,
}

/// Begins to watch this machine and each host that the plan names.
///
/// # Errors
/// A host that was named cannot be reached or watched.
pub fn watch(plan: &Plan, clock: &Arc<dyn Clock>) -> Result<Watching, Failure> {
    let mut watching =
        Watching { hosts: vec![Box::new(Local::new(clock.clone()))], flags: Vec::new() };
    let mut seen = vec![&HostName::Local];
    for ServerHost { host, guessed, .. } in &plan.hosts {
        if seen.contains(&host) {
            continue;
        }
        seen.push(host);
        match watch_one(host, !guessed, clock.clone()) {
            Ok(watch) => watching.hosts.push(Box::new(watch)),
            Err(Failure { happened: reason, .. }) if *guessed => {
                watching.flags.push(Flag::NotWatched { host: host.to_string(), reason });
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(watching)
}

/// By the probe where it can be placed there.
fn watch_one(host: &HostName, may_ask: bool, clock: Arc<dyn Clock>) -> Result<Remote, Failure> {
    let reach = open(host, may_ask)?;
    let host = host.clone();
    let again = Box::new(move || open(&host, false));
    Probe::watch_by(reach, again, Programs::of_this_program(), clock)
}
