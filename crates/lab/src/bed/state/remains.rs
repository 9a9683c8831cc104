//! Taking away what a lab has made, and nothing else.

use super::process::{kill_all, marked};
use super::{Bed, Directory, MARK_VARIABLE, ProcessId};
use model::{Cause, Failure};
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};

/// Killed processes are waited for so long; a machine with much memory takes a while.
const PATIENCE: Duration = Duration::from_secs(20);

/// Removes a lab with all that it has made. Namespaces, interfaces and mounts go with the processes
/// that hold them.
///
/// # Errors
/// What could not be removed. The rest is; what is written down stays, to try again.
pub(crate) fn remove(directory: &Directory, bed: Option<&Bed>) -> Result<(), Failure> {
    let failed = |happened: String| {
        let next = "Try again in a while: plimsoll lab down.";
        Err(Failure::new(
            Cause::Trial,
            "take the lab down",
            directory.path().display(),
            happened,
            next,
        ))
    };
    if let Some(bed) = bed {
        let mut processes: Vec<ProcessId> = bed
            .holders
            .values()
            .flat_map(|h| h.processes.iter().copied().chain(h.inside))
            .collect();
        processes.extend(marked(MARK_VARIABLE, &bed.mark));
        if !kill_all(&processes, PATIENCE) {
            let left: Vec<u32> = processes.iter().filter(|p| p.alive()).map(|p| p.pid).collect();
            return failed(format!("these processes do not end: {left:?}"));
        }
        for group in bed.groups.values() {
            if let Err(error) = remove_group(group) {
                return failed(format!("the control group {} stays: {error}", group.display()));
            }
        }
    }
    match std::fs::remove_dir_all(directory.path()) {
        Err(error) if error.kind() != ErrorKind::NotFound => failed(error.to_string()),
        _ => Ok(()),
    }
}

/// A control group can be removed once the last process in it is gone: those that were led into
/// namespaces go with them, a moment later.
fn remove_group(path: &Path) -> std::io::Result<()> {
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
