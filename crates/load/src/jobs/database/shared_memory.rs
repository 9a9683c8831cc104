//! Whether programs can share memory by a file, as SQLite does with a write-ahead log (`journal_mode=WAL`). It is tried
//! where the target is mounted on this machine.

use crate::jobs::Workspace;
use plimsoll_model::{Failure, Flag};

/// Tries it on a new file of this path, and removes that. What is odd about it.
pub(super) fn find(at: &mut Workspace<'_>, path: &str) -> Result<Option<Flag>, Failure> {
    if at.share.local_directory().is_none() {
        return Ok(None);
    }
    let names = at.run.names()?.0;
    let file = names.create(path)?;
    names.close(file);
    let deadline = &at.context.deadline;
    let shared = at.share.share_memory(path, deadline);
    // What is stopped has found nothing.
    let is_over = deadline.remaining().is_err();
    at.run.names()?.0.remove_file(path)?;
    let target = at.share.facts().given;
    Ok(match shared {
        Err(reason) if !is_over => Some(Flag::MemoryNotShared { target, reason }),
        _ => None,
    })
}
