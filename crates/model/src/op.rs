//! Kinds of operations, and what a trial keeps of each kind.

use crate::name::{intern, open_set};
use crate::{Histogram, Measure};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Kind of an operation: an open set; all counts are by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OpKind(&'static str);

impl OpKind {
    /// Bytes from the server.
    pub const READ: OpKind = OpKind("read");
    /// Bytes to the server.
    pub const WRITE: OpKind = OpKind("write");
    /// Make written bytes stable: COMMIT, fdatasync.
    pub const FLUSH: OpKind = OpKind("flush");
    /// Make a file that must not exist, and open it.
    pub const CREATE: OpKind = OpKind("create");
    /// Open an existing file.
    pub const OPEN: OpKind = OpKind("open");
    /// Close a file.
    pub const CLOSE: OpKind = OpKind("close");
    /// Remove a file.
    pub const REMOVE: OpKind = OpKind("remove");
    /// Find a name and get its attributes: LOOKUP and GETATTR, stat.
    pub const LOOKUP: OpKind = OpKind("lookup");
    /// List a directory.
    pub const READ_DIRECTORY: OpKind = OpKind("read_directory");
    /// Make a directory.
    pub const MAKE_DIRECTORY: OpKind = OpKind("make_directory");
    /// Remove an empty directory.
    pub const REMOVE_DIRECTORY: OpKind = OpKind("remove_directory");
    /// Give a name another one in its directory.
    pub const RENAME: OpKind = OpKind("rename");
    /// Set times or mode: SETATTR, utimensat, chmod.
    pub const SET_ATTRIBUTES: OpKind = OpKind("set_attributes");
    /// Write a small file whole: create, write, close.
    pub const PUT: OpKind = OpKind("put");
    /// Read a small file whole: open, read, close.
    pub const GET: OpKind = OpKind("get");
    /// Get the attributes of an open file: GETATTR, QUERY_INFO, fstat.
    pub const GET_ATTRIBUTES: OpKind = OpKind("get_attributes");
    /// Ask for the permissions of a directory: ACCESS, faccessat.
    pub const ACCESS: OpKind = OpKind("access");
    /// Lock a whole open file for oneself.
    pub const LOCK: OpKind = OpKind("lock");
    /// Give such a lock back.
    pub const UNLOCK: OpKind = OpKind("unlock");
    /// Payload from A to B of a network path: system calls or datagrams of the receiver.
    pub const SEND: OpKind = OpKind("send");
    /// The same from B to A.
    pub const RECEIVE: OpKind = OpKind("receive");
    /// Request with its answer.
    pub const REQUEST: OpKind = OpKind("request");
    /// TCP connection.
    pub const CONNECT: OpKind = OpKind("connect");
}

const KNOWN: [&str; 23] = [
    "read",
    "write",
    "flush",
    "create",
    "open",
    "close",
    "remove",
    "lookup",
    "read_directory",
    "make_directory",
    "remove_directory",
    "rename",
    "set_attributes",
    "put",
    "get",
    "get_attributes",
    "access",
    "lock",
    "unlock",
    "send",
    "receive",
    "request",
    "connect",
];
open_set!(OpKind);

impl OpKind {
    fn rank(self) -> usize {
        KNOWN.iter().position(|known| *known == self.0).unwrap_or(KNOWN.len())
    }

    fn named(text: &str) -> Result<OpKind, String> {
        let known = KNOWN.into_iter().find(|known| *known == text);
        known.map_or_else(|| intern(text), Ok).map(OpKind)
    }
}

/// Operations that completed, and their payload bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// Operations.
    pub operations: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Count {
    /// Whether there were no operations.
    pub fn is_none(&self) -> bool {
        *self == Count::default()
    }

    /// Adds others, at most up to the largest number there is.
    pub fn add(&mut self, other: Count) {
        self.operations = self.operations.saturating_add(other.operations);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
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
    /// No space on the server or file system, or the quota is used up.
    #[error("no space left")]
    NoSpace,
    /// Not allowed: permissions, read-only.
    #[error("not permitted")]
    NotPermitted,
    /// The file or its handle is gone.
    #[error("file or handle gone (stale)")]
    Gone,
    /// Fewer bytes than requested.
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

/// Counts and latencies of one kind of operation in a trial. Imports have a summary, own trials a
/// histogram.
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
    /// RPC latency: last byte sent to reply complete. `None` for directories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rpc_latency: Option<LatencySummary>,
}

impl OpStats {
    /// Adds operations of another client, or of another kind.
    pub fn add(&mut self, more: &OpStats) {
        self.count = self.count.saturating_add(more.count);
        self.bytes = self.bytes.saturating_add(more.bytes);
        for (error, count) in &more.errors {
            let errors = self.errors.entry(error.clone()).or_default();
            *errors = errors.saturating_add(*count);
        }
        // Of operations that began in the measured part, or none.
        if more.client_latency.histogram.is_some() {
            self.client_latency.add(&more.client_latency);
        }
        if let Some(more) = &more.rpc_latency {
            self.rpc_latency.get_or_insert_default().add(more);
        }
    }
}

/// Latency distribution in seconds. A quantile is present only if the data support it: quantile q
/// needs n(1-q) >= 20 (method, section 5). Imports have the quantiles of the tool.
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
    /// Operations that a median needs to be a figure.
    pub const P50_OPERATIONS: u32 = 40;
    /// The same of a 99th percentile.
    pub const P99_OPERATIONS: u32 = 2000;

    /// The quantile named as in `quantiles_seconds`, where the data support it.
    pub fn quantile(&self, name: &str) -> Option<f64> {
        self.quantiles_seconds.get(name).copied()
    }

    /// The figures of a client latency, each with its measure.
    pub fn figures(&self) -> impl Iterator<Item = (Measure, f64)> {
        let [mean, max] = [self.mean_seconds, self.max_seconds];
        let ends = [(Measure::LATENCY_MEAN, mean), (Measure::LATENCY_MAX, max)];
        let quantiles = [(Measure::LATENCY_P50, "0.5"), (Measure::LATENCY_P99, "0.99")];
        let supported = move |(measure, name)| Some((measure, self.quantile(name)?));
        ends.into_iter().chain(quantiles.into_iter().filter_map(supported))
    }
}
