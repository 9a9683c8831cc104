//! Properties of a target.

use super::Protocol;
use crate::StoredOn;
use crate::subject_info::FactsInfo;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Properties of a target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetFacts {
    /// Short name that is unique in the study, for tables.
    pub label: String,
    /// The target as the user wrote it.
    pub given: String,
    /// Identity that the server reports, with its kind: "SMB 1f0c… films". It outlives a change of the address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// Protocol in use.
    pub protocol: Protocol,
    /// How it is driven: "plimsoll's NFS client", "io_uring", "psync".
    pub engine: String,
    /// Largest read in one operation on the wire, in bytes; 0 without a limit.
    pub read_size_bytes: u32,
    /// Largest write in one operation on the wire, in bytes; 0 without a limit.
    pub write_size_bytes: u32,
    /// Sizes that the server or file system advertises.
    #[serde(default, skip_serializing_if = "AdvertisedSizes::is_empty")]
    pub advertised: AdvertisedSizes,
    /// Caches that can serve a read on this machine: "none", "O_DIRECT", "page cache".
    pub client_cache: String,
    /// Guarantee of a completed write and of a flush: "UNSTABLE, then COMMIT".
    pub stability: String,
    /// Whether every write is committed before it completes, regardless of the request: O_DIRECT on
    /// an NFS mount.
    #[serde(default)]
    pub commits_each_write: bool,
    /// Space on the target when it was opened, in bytes: (total, available).
    pub space_bytes: (u64, u64),
    /// Whether reads may be served by a memory that this client cannot bypass: a server's, a page
    /// cache, tmpfs. Then the cache test tells memory and disk apart.
    #[serde(default)]
    pub memory_below: bool,
    /// Where reads came from, by the cache test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads_from: Option<StoredOn>,
    /// Options that the file system is mounted with, as the kernel names them, its defaults
    /// included; of directories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mount_options: Option<String>,
    /// Existing file of the user that is read, without any writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_place: Option<InPlace>,
    /// Shortest round trip without load, in seconds: a call that does nothing (NFS NULL, SMB ECHO).
    /// `None` if the protocol has no such call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip_seconds: Option<f64>,
    /// How the bytes of a connection are protected; `None` where they are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protection: Option<Protection>,
    /// Writes of each writing pattern before the first block.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<WriteState>,
    /// Anything else worth knowing, a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A file system's total space may move by so much: some count what others in a pool take.
const SPACE: f64 = 0.05;

impl FactsInfo for TargetFacts {
    fn changes(&self, new: &Self) -> Vec<String> {
        let mut changed = Vec::new();
        let mut compare = |what: &str, before: String, after: String| {
            if before != after {
                changed.push(format!("{what}: {before}, now {after}"));
            }
        };
        let none = || "none".to_owned();
        compare("protocol", self.protocol.to_string(), new.protocol.to_string());
        compare("driven by", self.engine.clone(), new.engine.clone());
        compare("client cache", self.client_cache.clone(), new.client_cache.clone());
        compare("writes", self.stability.clone(), new.stability.clone());
        let sizes = |facts: &TargetFacts| {
            let size =
                |bytes: u32| if bytes == 0 { none() } else { Bytes(bytes.into()).to_string() };
            format!("{} and {}", size(facts.read_size_bytes), size(facts.write_size_bytes))
        };
        compare("largest transfers", sizes(self), sizes(new));
        let options = |facts: &TargetFacts| facts.mount_options.clone().unwrap_or_else(none);
        compare("mounted with", options(self), options(new));
        let file = |facts: &TargetFacts| {
            facts.in_place.as_ref().map_or_else(none, |f| format!("{} of {}", f.file, f.size))
        };
        compare("file", file(self), file(new));
        compare("notes", self.notes.join(", "), new.notes.join(", "));
        let (before, after) = (self.space_bytes.0, new.space_bytes.0);
        // Where either is not known it says nothing.
        let known = before > 0 && after > 0;
        if known && before.abs_diff(after) as f64 > SPACE * before as f64 {
            compare("size", Bytes(before).to_string(), Bytes(after).to_string());
        }
        let from = |facts: &TargetFacts| match facts.reads_from {
            Some(StoredOn::Disk) => Some("the disk"),
            Some(StoredOn::ServerMemory) => Some("the server's memory"),
            Some(StoredOn::ClientMemory) => Some("the client's memory"),
            Some(StoredOn::Unknown) | None => None,
        };
        if let (Some(before), Some(after)) = (from(self), from(new)) {
            compare("reads came from", before.to_owned(), after.to_owned());
        }
        changed
    }
}

/// Transfer sizes in bytes that a server or file system advertises, whether or not they are used;
/// `None` if it advertises none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdvertisedSizes {
    /// Largest read: rtmax of FSINFO (RFC 1813, section 3.3.19), maxread of NFS 4 (RFC 8881, section
    /// 5.8.2.20), MaxReadSize of SMB ([MS-SMB2], section 2.2.4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_read_bytes: Option<u32>,
    /// Largest write: wtmax, maxwrite, MaxWriteSize.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_write_bytes: Option<u32>,
    /// Preferred read: rtpref, tsize of NFS 2 (RFC 1094, section 2.2.18), st_blksize (stat(3type)).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preferred_read_bytes: Option<u32>,
    /// Preferred write: wtpref, tsize, st_blksize.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preferred_write_bytes: Option<u32>,
    /// Preferred size of a page of a listing: dtpref; of SMB the largest, MaxTransactSize.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listing_bytes: Option<u32>,
}

impl AdvertisedSizes {
    /// Whether no size is advertised.
    pub fn is_empty(&self) -> bool {
        *self == AdvertisedSizes::default()
    }
}

/// How the bytes of a connection are protected: each of them takes processor time at both ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "by")]
pub enum Protection {
    /// They are encrypted, and cannot be changed unnoticed either.
    Encryption {
        /// Negotiated algorithm: "AES-128-GCM".
        algorithm: String,
    },
    /// They are signed.
    Signing {
        /// Negotiated algorithm: "AES-128-GMAC".
        algorithm: String,
    },
}

impl Protection {
    /// Negotiated algorithm.
    pub fn algorithm(&self) -> &str {
        match self {
            Protection::Encryption { algorithm } | Protection::Signing { algorithm } => algorithm,
        }
    }
}

/// Writes of a workload before the first block, so that the trials measure the sustained rate of
/// the storage and not the cache in front of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WriteState {
    /// Index of the workload in the plan.
    pub workload: u16,
    /// Duration in seconds; 0 if there was no time for it, or if it was disabled.
    pub seconds: f64,
    /// Written bytes.
    pub bytes: Bytes,
    /// Final rate, flushes included: after twice the server's memory or a minute of writes, and
    /// without a change for ten seconds. `None` if the rate never became steady.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady_bytes_per_second: Option<f64>,
}

/// Existing file of the user that is read in place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InPlace {
    /// Its path below the target.
    pub file: String,
    /// Its size when the target was opened.
    pub size: Bytes,
}
