//! The kernel's own account of a mounted file system: /proc/self/mountstats of NFS,
//! /proc/fs/cifs/Stats of SMB. Texts become figures here, wherever the texts come from.

mod cifs;
#[doc(hidden)]
pub mod fuzzing;
mod nfs;
mod table;

pub use table::{Mount, mount_of};

use plimsoll_model::{MountAccount, MountCommand};

/// What a kernel says of its mounts; empty where it has no such file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MountTexts {
    /// /proc/self/mountinfo
    pub mountinfo: String,
    /// /proc/self/mountstats
    pub mountstats: String,
    /// /proc/fs/cifs/Stats
    pub cifs_stats: String,
}

/// The counters of the mount that a directory is on, since it was mounted; `None` where it is on no
/// file system whose client keeps an account. `directory` is absolute, without symbolic links.
pub fn account(texts: &MountTexts, directory: &str) -> Option<MountAccount> {
    let mount = table::mount_of(&texts.mountinfo, directory)?;
    let operations = match mount.file_system.as_str() {
        "nfs" | "nfs4" => nfs::operations(&texts.mountstats, &mount.point)?,
        "cifs" | "smb3" => cifs::operations(&texts.cifs_stats, &mount.source)?,
        _ => return None,
    };
    Some(MountAccount { file_system: mount.file_system, operations })
}

/// What was counted between two accounts of the same mount; `None` if it was mounted anew.
pub fn between(from: &MountAccount, to: &MountAccount) -> Option<MountAccount> {
    let mut operations = to.operations.clone();
    for (name, operation) in &mut operations {
        let Some(before) = from.operations.get(name) else { continue };
        operation.count = operation.count.checked_sub(before.count)?;
        operation.errors = operation.errors.checked_sub(before.errors)?;
        if let (Some(wire), Some(before)) = (&mut operation.wire, &before.wire) {
            wire.transmissions = wire.transmissions.checked_sub(before.transmissions)?;
            wire.timeouts = wire.timeouts.checked_sub(before.timeouts)?;
            wire.sent_bytes = wire.sent_bytes.checked_sub(before.sent_bytes)?;
            wire.received_bytes = wire.received_bytes.checked_sub(before.received_bytes)?;
            wire.queue_seconds = tidy(wire.queue_seconds - before.queue_seconds);
            wire.round_trip_seconds = tidy(wire.round_trip_seconds - before.round_trip_seconds);
            wire.execution_seconds = tidy(wire.execution_seconds - before.execution_seconds);
        }
        operation.command = match (operation.command, before.command) {
            (Some(now), Some(before)) => Some(MountCommand {
                count: now.count.checked_sub(before.count)?,
                seconds: tidy(now.seconds - before.seconds),
            }),
            _ => None,
        };
    }
    operations.retain(|_, operation| operation.count > 0 || operation.errors > 0);
    Some(MountAccount { file_system: to.file_system.clone(), operations })
}

/// The kernel counts milliseconds.
fn tidy(seconds: f64) -> f64 {
    (seconds.max(0.0) * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests;
