//! Test beds: hosts in namespaces or virtual machines, links between them, services on them.
//!
//! A lab that is up is held by processes that go on by themselves and by a directory in which it
//! is written down what they are; see [`PARENT`]. Whoever wants something of it looks there.
#![forbid(unsafe_code)]

mod changes;
pub mod doctor;
mod facts;
#[doc(hidden)]
pub mod fuzzing;
mod machines;
mod netns;
pub mod plan;
mod reset;
mod saved;
#[doc(hidden)]
pub mod services;
mod setup;
mod shipped;
mod state;
mod status;
mod up;
#[doc(hidden)]
pub mod vm;

pub use changes::set;
pub use facts::facts;
pub use netns::Namespaces;
pub use plan::Plan;
pub use reset::reset;
pub use shipped::{SHIPPED, shipped};
pub use state::{PARENT, PARENT_VARIABLE};
pub use status::{DiskStatus, HostStatus, LabState, LabStatus, LinkStatus, status, status_of};
pub use up::{How, Watch, up};
pub use vm::{AgentPort, Heard, RemoteCommand, Window};

use plan::HostKind;
use plimsoll_model::{Cause, Failure};
use plimsoll_reach::Reach;
use state::{Bed, Directory};
use std::path::PathBuf;
use std::sync::Arc;

/// Takes a lab down: removes all that it has made, after any crash too, and nothing else. Where what
/// is written down of it cannot be read, what can be found.
///
/// # Errors
/// [`Cause::Usage`] where there is no such lab, or another command is at work on it.
/// [`Cause::Trial`] for what could not be removed.
pub fn down(name: &str) -> Result<(), Failure> {
    let directory = Directory::for_lab(name)?;
    let Some(lock) = directory.exists().then(|| directory.lock()).transpose()?.flatten() else {
        return Err(state::unknown(name));
    };
    let removed = match directory.read() {
        Ok(bed) => state::remove(&directory, bed.as_ref()),
        Err(_) => state::salvage(&directory),
    };
    drop(lock);
    removed
}

/// Reaches a host of a lab that is up.
///
/// # Errors
/// [`Cause::Usage`] for names that are not there; [`Cause::Unreachable`] for a host that has died.
pub fn reach(lab: &str, host: &str) -> Result<Arc<dyn Reach>, Failure> {
    let (directory, bed) = state::find(lab)?;
    host_of(&directory, &bed, host)
}

/// The directories of the control group of this machine that a machine of a lab runs in; none of one without a
/// share of a core, and of namespaces, where it is the group of every process inside.
///
/// # Errors
/// [`Cause::Usage`] where there is no such lab.
pub fn group(lab: &str, host: &str) -> Result<Vec<PathBuf>, Failure> {
    let (_, bed) = state::find(lab)?;
    let is_machine = bed.plan.hosts.get(host).is_some_and(|host| host.kind == HostKind::Vm);
    let own = bed.groups.get(host).filter(|_| is_machine);
    Ok(own.into_iter().flat_map(|path| netns::group::both(path)).collect())
}

/// How a person or a program gets inside a host.
pub enum Entrance {
    /// The namespaces of a host, which the program joins.
    Namespaces(Namespaces),
    /// The agent of a machine.
    Agent(AgentPort),
}

/// The entrance of a host of a lab that is up.
pub fn entrance(lab: &str, host: &str) -> Result<Entrance, Failure> {
    let (directory, bed) = state::find(lab)?;
    let reach = host_of(&directory, &bed, host)?;
    let kind = bed.plan.hosts.get(host).map(|host| host.kind);
    match (kind, bed.holders.get(host)) {
        (Some(HostKind::Netns), Some(holder)) if holder.alive() => {
            let group = bed.groups.get(host).map(|path| path.as_path());
            Ok(Entrance::Namespaces(Namespaces::new(reach.name(), holder, group)))
        }
        (Some(HostKind::Vm), _) => {
            Ok(Entrance::Agent(AgentPort::new(directory.path(), host, reach.name())))
        }
        _ => Err(died(reach.name())),
    }
}

/// A host is not there any more.
fn died(name: &str) -> Failure {
    let next = "Run plimsoll lab down, then plimsoll lab up.";
    Failure::new(Cause::Unreachable, "reach the host")
        .on(name)
        .happened("it has stopped")
        .next(next)
}

/// The same, while the lab may still be coming up.
fn host_of(directory: &Directory, bed: &Bed, name: &str) -> Result<Arc<dyn Reach>, Failure> {
    let shown = format!("lab://{}/{name}", bed.name);
    let known = || bed.plan.hosts.keys().collect::<Vec<_>>();
    match bed.plan.hosts.get(name).map(|host| host.kind) {
        None => {
            let next = plimsoll_config::nearest(name, &known());
            Err(Failure::new(Cause::Usage, "find the host")
                .on(shown)
                .happened("the lab has no host of this name")
                .next(next))
        }
        Some(HostKind::Netns) => {
            let holder = bed.holders.get(name).cloned().unwrap_or_default();
            let group = bed.groups.get(name).map(|path| path.as_path());
            Ok(Arc::new(netns::Inside::new(shown, holder, group)))
        }
        Some(HostKind::Vm) if bed.holders.get(name).is_some_and(|holder| holder.alive()) => {
            Ok(vm::reach_as(directory.path(), name, &shown))
        }
        Some(HostKind::Vm) => Err(died(&shown)),
    }
}
