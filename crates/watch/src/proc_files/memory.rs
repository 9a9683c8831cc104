//! Memory.

use plimsoll_model::MemoryNow;

/// Reads /proc/meminfo; `None` without MemTotal. Kernels before 3.14 have no MemAvailable: then
/// what is free or holds file contents counts.
pub fn parse_memory(text: &str) -> Option<MemoryNow> {
    let bytes = |name: &str| -> Option<u64> {
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        value.split_ascii_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
    };
    let or_none = |name: &str| bytes(name).unwrap_or(0);
    let cached_bytes = or_none("Cached").saturating_add(or_none("Buffers"));
    Some(MemoryNow {
        total_bytes: bytes("MemTotal")?,
        available_bytes: bytes("MemAvailable")
            .unwrap_or_else(|| or_none("MemFree").saturating_add(cached_bytes)),
        cached_bytes,
        dirty_bytes: or_none("Dirty").saturating_add(or_none("Writeback")),
    })
}

/// /proc/pressure/memory: `total` of the line `some`, in microseconds; as seconds.
pub fn parse_pressure(text: &str) -> Option<f64> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let total = some.split_ascii_whitespace().find_map(|field| field.strip_prefix("total="))?;
    total.parse::<u64>().ok().map(|microseconds| microseconds as f64 * 1e-6)
}
