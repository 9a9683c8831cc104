//! The runner's program: how it is found on this machine and deployed.

use plimsoll_reach::deploy::Bundle;
use std::time::Duration;

/// How the runner is found and deployed, and what messages call it.
pub const BUNDLE: Bundle = Bundle {
    file: "plimsoll-runner",
    name: "the runner",
    directory: "runner",
    variable: "PLIMSOLL_RUNNER",
    make: "run `make runner` (for this machine) or `make runners` (for all) in plimsoll's sources",
    // One with all that helps to find faults in it has 100 MB.
    most_bytes: 256 << 20,
    refuse,
    elsewhere: "Free 20 MB on the host in a directory where programs may run: /dev/shm, /run, /tmp, /var/tmp \
    or the home directory.",
    without: "omit --on to measure from this machine; --host monitors the other host",
    time_limit: Duration::from_secs(300),
};

fn refuse(program: &[u8]) -> Option<&'static str> {
    match is_static(program) {
        Some(true) => None,
        Some(false) => Some("it is dynamically linked, so it may not run on other hosts"),
        None => Some("it is not a 64-bit program"),
    }
}

/// Whether a program of 64 bits, little-endian, asks for no interpreter, which would load its
/// libraries (System V ABI, chapter 5). `None`: it is no such program.
fn is_static(bytes: &[u8]) -> Option<bool> {
    const INTERPRETER: u32 = 3;
    let field = |at: usize, length: usize| bytes.get(at..at.checked_add(length)?);
    let half = |at| Some(u16::from_le_bytes(field(at, 2)?.try_into().ok()?));
    if field(0, 6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let table = u64::from_le_bytes(field(32, 8)?.try_into().ok()?);
    let (size, count) = (half(54)?, half(56)?);
    for number in 0..count {
        let at = table.checked_add(u64::from(size) * u64::from(number))?;
        let kind = field(usize::try_from(at).ok()?, 4)?;
        if u32::from_le_bytes(kind.try_into().ok()?) == INTERPRETER {
            return Some(false);
        }
    }
    Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_need_libraries_are_known() {
        // This one does.
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(is_static(&own), Some(false));
        assert_eq!(is_static(b"#!/bin/sh\n"), None);
        for length in 0..64 {
            assert_ne!(is_static(&own[..length]), Some(true), "{length}");
        }
    }
}
