//! Block devices.

use super::number;

/// Counters of one block device, since boot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskCounters {
    /// Its name.
    pub name: String,
    /// Reads completed.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Writes completed.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Operations in flight now.
    pub in_flight: u64,
    /// Milliseconds with an operation in flight.
    pub busy_ms: u64,
    /// Operations in flight, integrated over time, in operation milliseconds.
    pub in_flight_ms: u64,
}

/// Sectors in the kernel's counters have 512 bytes, whatever the device's have.
const SECTOR: u64 = 512;
/// Most devices that are believed, and longest name.
const MAX_DEVICES: usize = 256;
pub(super) const MAX_NAME: usize = 64;

/// Every device of /proc/diskstats (the kernel's Documentation/admin-guide/iostats.rst). Lines that
/// do not parse are left out, among them those of partitions of Linux 2.6 with four fields.
pub fn parse_disks(text: &str) -> Vec<DiskCounters> {
    let device = |line: &str| {
        let name = line.split_ascii_whitespace().nth(2).filter(|n| n.len() <= MAX_NAME)?;
        let field = |n: usize| number(line, n);
        Some(DiskCounters {
            name: name.to_owned(),
            reads: field(3)?,
            read_bytes: field(5)?.saturating_mul(SECTOR),
            writes: field(7)?,
            written_bytes: field(9)?.saturating_mul(SECTOR),
            in_flight: field(11)?,
            busy_ms: field(12)?,
            in_flight_ms: field(13)?,
        })
    };
    text.lines().filter_map(device).take(MAX_DEVICES).collect()
}
