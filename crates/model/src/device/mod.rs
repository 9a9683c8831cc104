//! A device measured by itself: what it is, and what its processor, memory, cryptography and disk
//! do. This is the record that `plimsoll device` keeps and exports.

mod facts;
mod figures;
mod inventory;
mod measured;
mod network;
mod servers;
mod storage;

pub use facts::{MOST_ENTRIES, MOST_LETTERS};
pub use figures::{
    Algorithm, AllRounds, CoreMark, CoreMarkKind, CoreRounds, CpuFigures, CryptoFigure,
    CryptoFigures, CryptoMeans, DiskFigures, DiskPhase, LatencyFigure, MemoryFigures, StreamFigure,
};
pub use inventory::{
    Cache, ClockPolicy, Clocks, Cpu, Distribution, Inventory, Kernel, MemoryFacts, MemoryModule,
    ReadBy, System,
};
pub use measured::{Measured, Quantity};
pub use network::{Netfilter, Nic, Nics, Radio};
pub use servers::{NfsServer, SmbServer};
pub use storage::{Disk, Mtd, PathFacts, PciDevice, SataLink, UsbDevice};

use crate::{Ended, Failure, HostName};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Name and major version of the schema of a device record.
pub const DEVICE_SCHEMA: &str = "plimsoll-device/1";

/// A record's identity: eight lower-case hexadecimal digits, as a study has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DeviceId(pub String);

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a device was found to be and to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// [`DEVICE_SCHEMA`]; readers refuse an unknown major version and ignore unknown fields.
    pub schema: String,
    /// Identity.
    pub id: DeviceId,
    /// Start, in seconds since 1970-01-01 UTC.
    pub started_unix_seconds: u64,
    /// Version of plimsoll.
    pub version: String,
    /// The command that repeats it.
    pub command: String,
    /// The host as the user named it.
    pub host: HostName,
    /// Whether short measurements were asked for.
    pub quick: bool,
    /// Every part that was asked for and begun, in its order.
    pub parts: Vec<PartRecord>,
    /// What the device is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inventory: Option<Inventory>,
    /// What its processor does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<CpuFigures>,
    /// What its memory does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryFigures>,
    /// What it encrypts and hashes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crypto: Option<CryptoFigures>,
    /// What the disk behind the named path does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskFigures>,
    /// What the host said that cannot be true, or was too much, and was left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub odd: Vec<String>,
    /// How it ended: `open`, `done` or `interrupted`.
    pub ended: Ended,
}

impl Device {
    /// Whether everything that was asked for is there.
    pub fn is_complete(&self) -> bool {
        self.ended == Ended::Done && self.parts.iter().all(|part| part.complete)
    }
}

/// A part of what can be found out about a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// What it is.
    Inventory,
    /// What its processor does.
    Cpu,
    /// What its memory does.
    Memory,
    /// What it encrypts and hashes.
    Crypto,
    /// What the disk behind a path does.
    Disk,
}

impl Part {
    /// Every part, in the order in which they are measured.
    pub const ALL: [Part; 5] = [Part::Inventory, Part::Cpu, Part::Memory, Part::Crypto, Part::Disk];

    /// Its name, as in the schema and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Part::Inventory => "inventory",
            Part::Cpu => "cpu",
            Part::Memory => "memory",
            Part::Crypto => "crypto",
            Part::Disk => "disk",
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Part {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Part::ALL.into_iter().find(|part| part.name() == text).ok_or_else(|| {
            format!(
                "'{}' is no part; there are inventory, cpu, memory, crypto and disk",
                text.escape_debug()
            )
        })
    }
}

/// How a part went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartRecord {
    /// Which part: `inventory`, `cpu`, `memory`, `crypto`, `disk`.
    pub part: Part,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// Whether everything of it was measured.
    pub complete: bool,
    /// What was not, and why; empty where it was stopped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
    /// What a reader of the figures must know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}
