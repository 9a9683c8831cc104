//! Hosts of every kind, reached and watched.

use crate::output::Progress;
use crate::signals::Signals;
use crate::{forgotten, restore};
use plimsoll_model::{Address, Cause, Clock, Deadline, Failure, Flag, HostName, Plan, Watched};
use plimsoll_reach::Reach;
use plimsoll_reach::probe::{BUNDLE, Placed, Programs};
use plimsoll_watch::{Local, Probe, Remote, Watch};
use std::sync::Arc;
use std::time::Duration;

/// Longest time that a host may take to say what it is asked.
const PATIENCE: Duration = Duration::from_secs(20);

/// Reaches a host; `may_ask`: whether somebody may be asked on the terminal now.
pub fn open(host: &HostName, may_ask: bool) -> Result<Arc<dyn Reach>, Failure> {
    match host {
        HostName::Lab { lab, host } => plimsoll_lab::reach(lab, host),
        HostName::Local | HostName::Ssh { .. } | HostName::Iperf3 { .. } => {
            plimsoll_reach::open(host, may_ask)
        }
    }
}

/// What a host says to a command; nothing if it says nothing.
pub fn said(host: &dyn Reach, command: &str) -> String {
    let said = host.run(command, b"", PATIENCE).map(|said| said.output).unwrap_or_default();
    String::from_utf8_lossy(&said).into_owned()
}

/// The address of a host of a lab, on the link that another host has too, if there is one. `None` of other hosts.
pub fn address_in_lab(own: &HostName, other: &HostName) -> Result<Option<Address>, Failure> {
    let HostName::Lab { lab, host } = own else { return Ok(None) };
    let status = plimsoll_lab::status_of(lab)?;
    let at = |host: &str| status.hosts.get(host).map(|known| &known.addresses);
    let others = match other {
        HostName::Lab { lab: same, host } if same == lab => at(host),
        _ => None,
    };
    let Some(own) = at(host) else { return Ok(None) };
    let shared = own.iter().find(|(link, _)| others.is_some_and(|o| o.contains_key(*link)));
    Ok(shared.or(own.iter().next()).map(|(_, address)| Address::from(*address)))
}

/// Reaches a host by the deadline, unless an earlier run left it changed. Somebody may be asked on the terminal.
pub fn reach(host: &HostName, deadline: &Deadline) -> Result<Arc<dyn Reach>, Failure> {
    let named = host.clone();
    Signals::leave_when_over(deadline, "reach the host", host, move || {
        let reach = open(&named, true)?;
        plimsoll_settings::expect_none_left_on(&*reach).map(|()| reach)
    })
}

/// A host that the probe measures.
pub struct Measured {
    pub reach: Arc<dyn Reach>,
    /// The probe on it, or the reason why there is none.
    pub placed: Result<Placed, Failure>,
}

/// Reaches a host, and deploys the probe there in this directory.
///
/// # Errors
/// The host cannot be reached.
pub fn with_probe(
    host: &HostName,
    directory: Option<&str>,
    deadline: &Deadline,
    progress: &Progress,
) -> Result<Measured, Failure> {
    progress.show(&format!("reaching {host}"));
    let reach = reach(host, deadline)?;
    progress.show(&format!("deploying the probe on {host}"));
    let (on, directory) = (reach.clone(), directory.map(str::to_owned));
    let placed = Signals::leave_when_over(deadline, "deploy the probe", host, move || {
        forgotten::remove(&*on);
        Placed::place(on, &Programs::of_this_program(BUNDLE), directory.as_deref())
    });
    match placed {
        Err(failure) if matches!(failure.cause, Cause::Unreachable | Cause::Interrupted) => {
            Err(failure)
        }
        placed => Ok(Measured { reach, placed }),
    }
}

/// The hosts that are watched while a plan is carried out.
pub struct Watching {
    /// The hosts that the trials are driven on, then each that the plan names.
    pub hosts: Vec<Box<dyn Watch>>,
    /// Which of those that were only guessed could not be watched.
    pub flags: Vec<Flag>,
}

/// Begins to watch the hosts that the trials are driven on, which `on` reaches in the plan's order where they are
/// others than this machine, and each other host of the plan.
///
/// # Errors
/// A host that was named cannot be reached or watched, or an earlier run left it changed.
pub fn watch(
    plan: &Plan,
    on: Vec<Arc<dyn Reach>>,
    clock: &Arc<dyn Clock>,
) -> Result<Watching, Failure> {
    let mut watching = Watching { hosts: Vec::new(), flags: Vec::new() };
    let mut seen = Vec::new();
    if plan.is_remote() {
        for (host, reach) in plan.clients().zip(on) {
            seen.push(host);
            forgotten::remove(&*reach);
            watching.hosts.push(match host {
                HostName::Local => Box::new(Local::new(clock.clone())),
                _ => Box::new(watch_by(reach, host, clock.clone())?),
            });
        }
    } else {
        restore::expect_none_left_here()?;
        forgotten::remove(&plimsoll_reach::Local);
        seen.push(plan.client());
        watching.hosts.push(Box::new(Local::new(clock.clone())));
    }
    for Watched { host, guessed, .. } in plan.others() {
        if seen.contains(&host) {
            continue;
        }
        seen.push(host);
        if *host == HostName::Local {
            watching.hosts.push(Box::new(Local::new(clock.clone())));
            continue;
        }
        let unchanged = |reach: Arc<dyn Reach>| {
            plimsoll_settings::expect_none_left_on(&*reach).and_then(|()| {
                forgotten::remove(&*reach);
                watch_by(reach, host, clock.clone())
            })
        };
        match open(host, !guessed).and_then(unchanged) {
            Ok(watch) => watching.hosts.push(Box::new(watch)),
            // One that was left changed is not watched, nor measured.
            Err(Failure { cause, happened: reason, .. }) if *guessed && cause != Cause::Usage => {
                watching.flags.push(Flag::NotWatched { host: host.clone(), reason });
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(watching)
}

/// By the probe where it can be placed there. Of a lab it is kept how that is set, and what its machines have of
/// their shares is read outside of them.
fn watch_by(
    reach: Arc<dyn Reach>,
    host: &HostName,
    clock: Arc<dyn Clock>,
) -> Result<Remote, Failure> {
    let named = host.clone();
    let again = Box::new(move || open(&named, false));
    let watch = Probe::watch_by(reach, again, Programs::of_this_program(BUNDLE), clock)?;
    Ok(match host {
        HostName::Lab { lab, host } => {
            watch.in_lab(plimsoll_lab::facts(lab)?).held_in(plimsoll_lab::group(lab, host)?)
        }
        HostName::Local | HostName::Ssh { .. } | HostName::Iperf3 { .. } => watch,
    })
}
