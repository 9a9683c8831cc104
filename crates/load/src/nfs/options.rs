//! How long an NFS share may take for what it does outside of measurements.

use std::time::Duration;

/// Time limits of an NFS share. No call waits longer; the hot path's limit is the driver's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NfsOptions {
    /// Longest wait for a name to be resolved and a connection to be made.
    pub connect_timeout: Duration,
    /// Longest wait for the answer to one call of the namespace.
    pub call_timeout: Duration,
}

impl Default for NfsOptions {
    fn default() -> Self {
        NfsOptions {
            connect_timeout: Duration::from_secs(5),
            call_timeout: Duration::from_secs(30),
        }
    }
}
