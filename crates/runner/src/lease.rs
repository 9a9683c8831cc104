//! Who is using a run directory: written into it, so that others can tell a live run from the
//! leftovers of a dead one.

use plimsoll_process::{ProcessId, space};
use serde::{Deserialize, Serialize};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Name of the lease file inside a run directory.
pub const LEASE_FILE: &str = "lease.json";

/// Largest lease file that is read; anything longer is not ours.
pub const LEASE_LIMIT: usize = 4096;

/// A run that was not heard of for this long after its last renewal is dead, where its process
/// cannot be looked up.
const GRACE: Duration = Duration::from_secs(600);

/// The content of a lease file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The study it belongs to.
    pub study: String,
    /// Host name, for people.
    pub host: String,
    /// Identifies one boot and one process-id namespace: process numbers compare only within.
    pub process_space: String,
    /// Process id.
    pub process: u32,
    /// Start time of the process in ticks since boot: tells a reused process id apart.
    pub process_start: u64,
    /// Until when, in seconds since 1970, the run may be silent.
    pub expires_unix_seconds: u64,
}

/// Whether a run is alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseState {
    /// Its process runs, or it was heard of lately.
    Live,
    /// Its process is gone, or it was silent for too long.
    Dead,
    /// That cannot be known, and why: whoever cannot tell must not touch it.
    Unknown(String),
}

impl Lease {
    /// A lease of this process, good for [`GRACE`] and twice `silence`, the longest time in which
    /// it is not going to be renewed.
    pub fn of_this_process(study: &str, silence: Duration) -> Self {
        let ProcessId { pid: process, started: process_start } = ProcessId::this();
        Lease {
            study: study.to_owned(),
            host: nix::unistd::gethostname()
                .map(|h| h.to_string_lossy().into_owned())
                .unwrap_or_default(),
            process_space: space(),
            process,
            process_start,
            expires_unix_seconds: (now() + GRACE + 2 * silence).as_secs(),
        }
    }

    /// Whether its run is alive, as seen from this process.
    pub fn state(&self) -> LeaseState {
        let alive = if self.process_space == space() {
            ProcessId { pid: self.process, started: self.process_start }.alive()
        } else {
            now().as_secs() < self.expires_unix_seconds
        };
        if alive { LeaseState::Live } else { LeaseState::Dead }
    }

    /// As stored.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Whether this can be what a crash left of a lease of this study: nothing, or its beginning
    /// and then what the file held before.
    pub fn is_torn(bytes: &[u8], study: &str) -> bool {
        let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        let (found, begins) = (&bytes[..end], format!("{{\"study\":\"{study}\","));
        found.starts_with(begins.as_bytes()) || begins.as_bytes().starts_with(found)
    }

    /// From what was stored; `None` if it is not a lease.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_alive_until_it_ends_and_a_reused_number_is_not_it() {
        let mine = Lease::of_this_process("00000000", Duration::ZERO);
        assert_eq!(mine.state(), LeaseState::Live);
        let reused = Lease { process_start: mine.process_start + 1, ..mine.clone() };
        assert_eq!(reused.state(), LeaseState::Dead);
        let gone = Lease { process: u32::MAX - 1, ..mine };
        assert_eq!(gone.state(), LeaseState::Dead);
    }

    #[test]
    fn another_machine_is_judged_by_time() {
        let mine = Lease::of_this_process("00000000", Duration::from_secs(5));
        let mut other = Lease { process_space: "elsewhere".into(), process: 1, ..mine };
        assert_eq!(other.state(), LeaseState::Live);
        other.expires_unix_seconds = now().as_secs() - 1;
        assert_eq!(other.state(), LeaseState::Dead);
    }

    #[test]
    fn torn_leases_are_no_leases() {
        let whole = Lease::of_this_process("00000000", Duration::ZERO).to_bytes();
        for length in 0..whole.len() {
            assert_eq!(Lease::from_bytes(&whole[..length]), None);
            assert!(Lease::is_torn(&whole[..length], "00000000"));
        }
        assert!(Lease::from_bytes(&whole).is_some());
        assert!(Lease::is_torn(&[0; 300], "00000000"));
        assert!(Lease::is_torn(&[&whole[..], b"1}"].concat(), "00000000"));
        // A file of the same name that is none of ours.
        for other in [&whole[..100], b"{}", b"precious", b"\0{"] {
            assert!(!Lease::is_torn(other, "0123abcd"), "{other:?}");
        }
    }
}
