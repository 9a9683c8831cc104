//! Power cuts.

use super::netns::group;
use super::plan::HostKind;
use super::state::{self, Directory};
use super::{machines, up, vm};
use plimsoll_model::{Cause, Failure};

/// Takes the power of a machine away and gives it back: what it had not written to its disks is
/// lost. When this returns it has booted, and has its addresses, disks, services and mounts again.
///
/// # Errors
/// [`Cause::Usage`] for names that are not there, or of hosts without power of their own;
/// [`Cause::Unreachable`] where it does not come up again.
pub fn reset(lab: &str, host: &str) -> Result<(), Failure> {
    let directory = Directory::for_lab(lab)?;
    let Some(_lock) = directory.exists().then(|| directory.lock()).transpose()?.flatten() else {
        return Err(state::unknown(lab));
    };
    let (directory, bed) = state::find(lab)?;
    let shown = format!("lab://{lab}/{host}");
    let usage = |happened: &str, next: String| {
        Failure::new(Cause::Usage, "cut the power of a host")
            .on(shown.clone())
            .happened(happened)
            .next(next)
    };
    match bed.plan.hosts.get(host).map(|host| host.kind) {
        None => {
            let known: Vec<_> = bed.plan.hosts.keys().collect();
            return Err(usage(
                "the lab has no host of this name",
                plimsoll_config::nearest(host, &known),
            ));
        }
        Some(HostKind::Netns) => {
            let next = "Name a virtual machine (kind = \"vm\").".to_owned();
            return Err(usage("it is a namespace, whose power cannot be cut", next));
        }
        Some(HostKind::Vm) => {}
    }
    let machines = machines::machines(&bed.plan, directory.path());
    let Some(machine) = machines.iter().find(|machine| machine.name == host) else { return Ok(()) };
    // With a share of a core it would boot for minutes.
    let limited = bed.groups.get(host).zip(bed.plan.hosts.get(host).and_then(|host| host.cpu));
    limited.map_or(Ok(()), |(group, _)| group::lift(group))?;
    vm::reset(machine)?;
    let configured = vm::ready(machine, up::BOOT).and_then(|()| up::again(&directory, &bed, host));
    configured.and(limited.map_or(Ok(()), |(group, share)| group::limit(group, share)))
}
