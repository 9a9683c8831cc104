//! What the kernel fetched from storage for this process.

use std::fs::read_to_string;

/// Bytes that reads of this process's threads so far have fetched from block devices, by the kernel's
/// count (proc(5), /proc/pid/io); what came from the page cache is not among them. `None` where the
/// kernel does not count.
pub fn fetched() -> Option<u64> {
    read_bytes("/proc/self/io")
}

/// The same of the calling thread alone.
pub(super) fn by_this_thread() -> Option<u64> {
    read_bytes("/proc/thread-self/io")
}

fn read_bytes(file: &str) -> Option<u64> {
    let text = read_to_string(file).ok()?;
    text.lines().find_map(|line| line.strip_prefix("read_bytes:"))?.trim().parse().ok()
}
