//! What others may leave in a directory, for fuzzing. Not part of the interface.

use crate::lease::Lease;

/// A lease file: what is read can be written and read again, and its run is alive or not.
pub fn lease(bytes: &[u8]) {
    if let Some(lease) = Lease::from_bytes(bytes) {
        lease.state();
        assert_eq!(Lease::from_bytes(&lease.to_bytes()), Some(lease));
    }
}
