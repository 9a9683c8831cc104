//! /proc/self/mountstats (the kernel's fs/nfs/super.c and net/sunrpc/stats.c; nfs-utils'
//! mountstats(8) explains the figures).

use super::table::unescaped;
use plimsoll_model::{MountOperation, MountWire};
use std::collections::BTreeMap;

/// Kinds of operations that are believed: NFSv4.2 has 70.
const MOST: usize = 128;

/// The operations of the NFS mount on this point, of several the last, which hides the others;
/// `None` where there is none.
pub fn operations(mountstats: &str, point: &str) -> Option<BTreeMap<String, MountOperation>> {
    let at = mountstats.lines().enumerate().filter(|(_, line)| is_mount_on(line, point)).last()?.0;
    let own = mountstats.lines().skip(at + 1).take_while(|line| !begins_mount(line));
    let operations = own.skip_while(|line| line.trim() != "per-op statistics").skip(1);
    Some(operations.filter_map(operation).take(MOST).collect())
}

/// "device …" or "no device mounted on …", each at the line's begin; what follows of it is indented.
fn begins_mount(line: &str) -> bool {
    line.starts_with("device ") || line.starts_with("no device ")
}

/// "device nas:/volume1 mounted on /mnt/nas with fstype nfs statvers=1.1"
fn is_mount_on(line: &str, point: &str) -> bool {
    let place = line.strip_prefix("device ").and_then(|rest| rest.split_once(" mounted on "));
    let kind = place.and_then(|(_, rest)| rest.rsplit_once(" with fstype "));
    kind.is_some_and(|(on, kind)| unescaped(on) == point && kind.starts_with("nfs"))
}

/// "READ: 12 12 0 1536 49536 3 40 45 0": operations, transmissions, timeouts, bytes sent and
/// received, milliseconds queued, of round trips and of execution; errors since Linux 5.3.
fn operation(line: &str) -> Option<(String, MountOperation)> {
    let (name, figures) = line.trim().split_once(':')?;
    let mut figures = figures.split_ascii_whitespace().map(|n| n.parse::<u64>().ok());
    let mut next = || figures.next().flatten();
    let count = next()?;
    let (transmissions, timeouts, sent_bytes, received_bytes) =
        (next()?, next()?, next()?, next()?);
    let mut seconds = || Some(next()? as f64 * 1e-3);
    let wire = MountWire {
        transmissions,
        timeouts,
        sent_bytes,
        received_bytes,
        queue_seconds: seconds()?,
        round_trip_seconds: seconds()?,
        execution_seconds: seconds()?,
    };
    let errors = next().unwrap_or(0);
    let plain = name.len() <= 32 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    plain.then(|| {
        (name.to_owned(), MountOperation { count, errors, wire: Some(wire), command: None })
    })
}
