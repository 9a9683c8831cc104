//! Statistics of the kernel's client for a mounted target.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The kernel client's account of a mount over one trial: an operation's name as the kernel has it
/// (`READ`, `Writes`), and what was counted of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MountAccount {
    /// By the file system's own name: `nfs`, `nfs4`, `cifs`, `smb3`.
    pub file_system: String,
    /// Only operations that happened.
    pub operations: BTreeMap<String, MountOperation>,
}

/// One kind of operation, the trial's sum. Times are of all its operations together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MountOperation {
    /// Operations done.
    pub count: u64,
    /// Those that failed.
    pub errors: u64,
    /// NFS: transfers on the wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<MountWire>,
    /// SMB: times of the command, if the kernel records them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<MountCommand>,
}

/// Counts of the kernel's SMB client for a command on its connection to a server, over all shares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MountCommand {
    /// Requests that were answered.
    pub count: u64,
    /// From being made to being done, by the kernel's ticks.
    pub seconds: f64,
}

/// Counts of the kernel's NFS client for one kind of operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MountWire {
    /// Requests sent, those sent again included.
    pub transmissions: u64,
    /// Requests that had to wait longer than the mount's timeout.
    pub timeouts: u64,
    /// Bytes sent, with headers.
    pub sent_bytes: u64,
    /// Bytes received, with headers.
    pub received_bytes: u64,
    /// From request to sent.
    pub queue_seconds: f64,
    /// From being sent to the reply.
    pub round_trip_seconds: f64,
    /// From request to done.
    pub execution_seconds: f64,
}
