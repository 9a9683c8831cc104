//! Taking away what a lab has made, and nothing else.

use super::{Bed, Directory, MARK_VARIABLE};
use crate::netns::group;
use plimsoll_model::{Cause, Failure};
use plimsoll_process::{ProcessId, kill_all, marked};
use plimsoll_reach::{Local, deploy};
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};

/// Killed processes are waited for so long; a machine with much memory takes a while.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// Removes a lab with all that it has made. Namespaces, interfaces and mounts go with the processes
/// that hold them.
///
/// # Errors
/// What could not be removed. The rest is; what is written down stays, to try again.
pub(crate) fn remove(directory: &Directory, bed: Option<&Bed>) -> Result<(), Failure> {
    if let Some(bed) = bed {
        let mut processes: Vec<ProcessId> = bed
            .holders
            .values()
            .flat_map(|h| h.processes.iter().copied().chain(h.inside))
            .collect();
        processes.extend(marked(MARK_VARIABLE, &bed.mark));
        let inside = bed.holders.values().filter_map(|holder| holder.inside);
        let spaces: Vec<String> = inside.filter_map(ProcessId::space).collect();
        if !kill_all(&processes, PATIENCE) {
            let left: Vec<u32> = processes.iter().filter(|p| p.alive()).map(|p| p.pid).collect();
            return Err(failed(directory, format!("these processes do not end: {left:?}")));
        }
        // Programs of runs that were measuring inside lie in directories that hosts share with this machine, and
        // the guards that would remove them were killed as well.
        deploy::forgotten(&Local, &spaces);
        for group in bed.groups.values().flat_map(|path| group::both(path)) {
            if let Err(error) = remove_group(&group) {
                let stays =
                    format!("the control group {} could not be removed: {error}", group.display());
                return Err(failed(directory, stays));
            }
        }
    }
    match std::fs::remove_dir_all(directory.path()) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(directory, error)),
        _ => Ok(()),
    }
}

pub(super) fn failed(directory: &Directory, happened: impl std::fmt::Display) -> Failure {
    let next = "Wait a moment, then run plimsoll lab down again.";
    Failure::new(Cause::Trial, "take the lab down")
        .on(directory.path().display())
        .happened(happened)
        .next(next)
}

/// Kills all that is written down of a lab: who waits for any of it waits no longer.
pub(crate) fn kill_holders(directory: &Directory) {
    let holders = directory.read().ok().flatten().map(|bed| bed.holders).unwrap_or_default();
    holders
        .values()
        .flat_map(|h| h.processes.iter().copied().chain(h.inside))
        .for_each(ProcessId::kill);
}

/// A control group can be removed once the last process in it is gone: those that were led into
/// namespaces go with them, a moment later.
pub(super) fn remove_group(path: &Path) -> std::io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match std::fs::remove_dir(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) if Instant::now() > deadline => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
            Ok(()) => return Ok(()),
        }
    }
}
