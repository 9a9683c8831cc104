//! What a kernel keeps of files in its memory.

use crate::Reach;
use crate::printed::last_line;
use plimsoll_model::{Cause, Failure};
use std::time::Duration;

/// Writing everything out may take as long as the disk has to do.
const PATIENCE: Duration = Duration::from_secs(120);

/// Writes out what is dirty on a host and drops what its kernel has in memory of files and names
/// (proc(5)). Nothing is lost by it; what the host reads next it has to read from its disks.
///
/// # Errors
/// [`Cause::NotPermitted`] where the host does not let it be done; what [`Reach::run`] fails with.
pub fn drop_caches(host: &dyn Reach) -> Result<(), Failure> {
    let output = host.run("sync && echo 3 >/proc/sys/vm/drop_caches", b"", PATIENCE)?;
    if output.status == Some(0) {
        return Ok(());
    }
    let why = last_line(&output.errors);
    let happened = why.unwrap_or_else(|| "the command failed without a message".into());
    let next = "This needs root on the host.";
    Err(Failure::new(Cause::NotPermitted, "drop the caches")
        .on(host.name())
        .happened(happened)
        .next(next))
}
