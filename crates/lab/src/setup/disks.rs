//! Disks of namespaces: memory.

use super::script;
use crate::plan::Host;
use plimsoll_model::Failure;
use plimsoll_reach::Reach;

/// Mounts a tmpfs for each disk, open to all, as clients of any user come.
pub(crate) fn tmpfs(host: &Host, reach: &dyn Reach) -> Result<(), Failure> {
    let mount = |disk: &crate::plan::Disk| {
        let (at, bytes) = (&disk.at, disk.size.0);
        format!("mkdir -p {at}\nmount -t tmpfs -o size={bytes},mode=0777 lab {at}\n")
    };
    let text: String = host.disks.values().map(mount).collect();
    if text.is_empty() {
        return Ok(());
    }
    script(reach, "mount a disk", &text, b"").map(drop)
}
