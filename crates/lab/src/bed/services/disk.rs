//! Disks of machines: formatted, mounted, and as slow as is wanted (dm-delay).
//!
//! The delay is there from the beginning, if only of 0 ms, so that it can be changed under a
//! mounted and exported file system.

use super::script;
use crate::bed::plan::Delay;
use host::reach::{Reach, quote};
use model::{Cause, Failure};

/// Formats a disk if it is not, and mounts it. `device` is such as `/dev/vdb`; `name` is what
/// [`set_latency`] knows it by.
pub fn attach(
    host: &dyn Reach,
    name: &str,
    device: &str,
    at: &str,
    latency: Option<Delay>,
) -> Result<(), Failure> {
    let (mapped, table) = (mapped(name), table(host, device, latency)?);
    let text = format!(
        "export DM_DISABLE_UDEV=1
        /sbin/modprobe dm-delay
        dmsetup create {mapped} --table {table}
        mkdir -p {at}
        blkid {device} >/dev/null || mke2fs -q -t ext4 -m 0 /dev/mapper/{mapped}
        mount -t ext4 -o noinit_itable /dev/mapper/{mapped} {at}",
        at = quote(at),
    );
    script(host, &format!("set up the disk {name}"), &text).map(drop)
}

/// Changes what is added to each operation of a disk.
pub fn set_latency(
    host: &dyn Reach,
    name: &str,
    device: &str,
    latency: Option<Delay>,
) -> Result<(), Failure> {
    let (mapped, table) = (mapped(name), table(host, device, latency)?);
    // Resumed in any case: what waits for a suspended disk waits for ever.
    let text = format!(
        "export DM_DISABLE_UDEV=1
        dmsetup suspend {mapped}
        dmsetup reload {mapped} --table {table} || {{ dmsetup resume {mapped}; exit 1; }}
        dmsetup resume {mapped}"
    );
    script(host, &format!("change the latency of the disk {name}"), &text).map(drop)
}

fn mapped(name: &str) -> String {
    quote(&format!("plimsoll-{name}"))
}

/// The kernel counts in whole milliseconds.
fn table(host: &dyn Reach, device: &str, latency: Option<Delay>) -> Result<String, Failure> {
    let microseconds = latency.map_or(0, |delay| delay.0);
    if !microseconds.is_multiple_of(1000) {
        let happened = format!("{} is not a whole number of milliseconds", Delay(microseconds));
        let next = "Give the latency of a disk in whole milliseconds, as 2ms.";
        return Err(Failure::new(Cause::Usage, "slow a disk down", host.name(), happened, next));
    }
    let milliseconds = microseconds / 1000;
    Ok(format!(r#""0 $(blockdev --getsz {device}) delay {device} 0 {milliseconds}""#))
}
