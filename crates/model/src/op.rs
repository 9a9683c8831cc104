//! Kinds of operations, and what a trial keeps of each kind.

use crate::Histogram;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// What one operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpKind {
    /// Bytes from the server.
    Read,
    /// Bytes to the server.
    Write,
    /// Make written bytes stable: COMMIT, fdatasync.
    Flush,
}

/// Why an operation failed.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, thiserror::Error,
)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The connection was closed or reset.
    #[error("connection lost")]
    ConnectionLost,
    /// No answer in time.
    #[error("no answer in time")]
    TimedOut,
    /// The server or file system is full, or a quota is used up.
    #[error("no space left")]
    NoSpace,
    /// Not allowed: permissions, read-only.
    #[error("not permitted")]
    NotPermitted,
    /// The file or its handle is gone.
    #[error("file or handle gone (stale)")]
    Gone,
    /// Fewer bytes than asked for.
    #[error("short transfer")]
    Short,
    /// Read back older content than was written last.
    #[error("stale content")]
    StaleContent,
    /// Read back content that belongs to another place.
    #[error("misplaced content")]
    MisplacedContent,
    /// Read back bytes that were never written.
    #[error("corrupt content")]
    CorruptContent,
    /// Unstable writes were lost: the server restarted between WRITE and COMMIT.
    #[error("server restarted before the data was stable")]
    Lost,
    /// The peer broke its protocol.
    #[error("protocol error")]
    Protocol,
    /// Anything else.
    #[error("input/output error")]
    Io,
}

impl ErrorKind {
    /// Whether it says that content was wrong rather than that an operation failed.
    pub fn is_content(&self) -> bool {
        matches!(
            self,
            ErrorKind::StaleContent | ErrorKind::MisplacedContent | ErrorKind::CorruptContent
        )
    }
}

impl fmt::Display for OpKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OpKind::Read => "read",
            OpKind::Write => "write",
            OpKind::Flush => "flush",
        })
    }
}

/// What a trial keeps of one kind of operation. Imports have a summary, own trials a histogram.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OpStats {
    /// Operations completed without error.
    pub count: u64,
    /// Their payload bytes.
    pub bytes: u64,
    /// Operations that failed, by kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<ErrorKind, u64>,
    /// Client latency: submit to complete.
    pub client_latency: LatencySummary,
    /// RPC latency: last byte sent to reply complete. `None` where there is no wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rpc_latency: Option<LatencySummary>,
}

/// A latency distribution in seconds. Quantiles are present only where the data support them:
/// quantile q needs n(1-q) >= 20 (method, section 5); those of imports are as the tool said them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencySummary {
    /// Arithmetic mean.
    pub mean_seconds: f64,
    /// Smallest.
    pub min_seconds: f64,
    /// Largest.
    pub max_seconds: f64,
    /// Standard deviation, where another tool said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standard_deviation_seconds: Option<f64>,
    /// Quantile (0..1, as text with its digits: "0.99") to seconds.
    pub quantiles_seconds: BTreeMap<String, f64>,
    /// The whole distribution, for pictures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub histogram: Option<Histogram>,
}

impl LatencySummary {
    /// The quantile named as in `quantiles_seconds`, where the data support it.
    pub fn quantile(&self, name: &str) -> Option<f64> {
        self.quantiles_seconds.get(name).copied()
    }
}
