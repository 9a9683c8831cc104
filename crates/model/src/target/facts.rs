//! What a target turned out to be.

use crate::StoredOn;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// What a target turned out to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetFacts {
    /// Short name that is unique in the study, for tables.
    pub label: String,
    /// The target as the user wrote it.
    pub given: String,
    /// What is spoken: "NFSv3 over TCP", "directory on ext4".
    pub protocol: String,
    /// How it is driven: "plimsoll's NFS client", "io_uring", "psync".
    pub engine: String,
    /// Largest read in one operation on the wire, in bytes; 0 where there is no limit.
    pub read_size_bytes: u32,
    /// Largest write in one operation on the wire, in bytes; 0 where there is no limit.
    pub write_size_bytes: u32,
    /// The sizes that the server or file system names by itself.
    #[serde(default, skip_serializing_if = "AdvertisedSizes::is_empty")]
    pub advertised: AdvertisedSizes,
    /// What can serve a read from memory on this machine: "none", "O_DIRECT", "page cache".
    pub client_cache: String,
    /// What a completed write and a flush mean: "UNSTABLE, then COMMIT".
    pub stability: String,
    /// Whether every write is committed before it completes, whatever was asked for: O_DIRECT on an
    /// NFS mount.
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
    /// The file that is read, where it is the user's; then nothing is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_place: Option<InPlace>,
    /// Seconds of the shortest round trip without load: of a call that does nothing (NFS NULL, SMB ECHO).
    /// `None` where there is no such call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip_seconds: Option<f64>,
    /// How the bytes of a connection are protected; `None` where they are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protection: Option<Protection>,
    /// What is known of the writes of each workload that is a pattern and writes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<WriteState>,
    /// Anything else worth knowing, a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Sizes of transfers, in bytes, that a server or file system names by itself, whatever is used: `None` where
/// it names none.
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
    /// Whether none is named.
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
        /// What was agreed on: "AES-128-GCM".
        algorithm: String,
    },
    /// They are signed.
    Signing {
        /// What was agreed on: "AES-128-GMAC".
        algorithm: String,
    },
}

impl Protection {
    /// What was agreed on.
    pub fn algorithm(&self) -> &str {
        match self {
            Protection::Encryption { algorithm } | Protection::Signing { algorithm } => algorithm,
        }
    }
}

/// What was written by a workload before the first block, so that what is measured is what the storage
/// sustains and not the memory in front of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WriteState {
    /// Index of the workload in the plan.
    pub workload: u16,
    /// For how long it wrote, in seconds; 0 where there was no time for it, or nobody wanted it.
    pub seconds: f64,
    /// What it wrote, in bytes.
    pub bytes: Bytes,
    /// The rate that it came to, with the flushes: once as much was written as the server's memory holds
    /// twice, or for a minute, and without a change for ten seconds. `None` where it did not come to that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady_bytes_per_second: Option<f64>,
}

/// A file of the user's that is read where it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InPlace {
    /// Its path below the target.
    pub file: String,
    /// Its size when the target was opened.
    pub size: Bytes,
}
