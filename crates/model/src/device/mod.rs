//! Inventory of a host, and figures of its CPU, memory, cryptography and disk: the facts of a
//! [`Subject::Host`](crate::Subject::Host).

mod disturbed;
mod facts;
mod figures;
mod inventory;
mod measured;
mod network;
mod servers;
mod storage;

pub use disturbed::{DisturbedFigure, disturbance};
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
pub use network::{Interrupt, Netfilter, Nic, Nics, Queue, QueueDiscipline, Radio};
pub use servers::{NfsServer, SmbServer};
pub use storage::{Disk, Mtd, PathFacts, PciDevice, SataLink, UsbDevice};

use crate::Failure;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Inventory of a host, and details of its last measurement. The trials of the study have the
/// figures of every block.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// Requested parts that were started, in order.
    #[serde(default)]
    pub parts: Vec<PartRecord>,
    /// Hardware and software of the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inventory: Option<Inventory>,
    /// Figures of the CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<CpuFigures>,
    /// Figures of the memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryFigures>,
    /// Figures of encryption and hashing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crypto: Option<CryptoFigures>,
    /// Figures of the disk of the named path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskFigures>,
    /// Impossible or too long values of the host, which were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub odd: Vec<String>,
}

impl Device {
    /// Whether everything that was begun was measured whole, each time.
    pub fn is_complete(&self) -> bool {
        self.parts.iter().all(|part| part.complete)
    }

    /// Result of a part.
    pub fn part(&self, part: Part) -> Option<&PartRecord> {
        self.parts.iter().find(|record| record.part == part)
    }
}

/// Part of the measurement of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Inventory.
    Inventory,
    /// Figures of the CPU.
    Cpu,
    /// Figures of the memory.
    Memory,
    /// Figures of encryption and hashing.
    Crypto,
    /// Figures of the disk of a path.
    Disk,
}

impl Part {
    /// All parts, in the order of their measurement.
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
                "'{}' is not a part: choose from inventory, cpu, memory, crypto and disk",
                text.escape_debug()
            )
        })
    }
}

/// Result of a part, all blocks together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartRecord {
    /// Part: `inventory`, `cpu`, `memory`, `crypto`, `disk`.
    pub part: Part,
    /// Duration in seconds.
    pub seconds: f64,
    /// Whether the whole part was measured.
    pub complete: bool,
    /// Failed measurements with their reasons, each once; empty if the user stopped the part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
    /// Important remarks, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl PartRecord {
    /// Adds another measurement of the same part.
    pub fn add(&mut self, other: PartRecord) {
        self.seconds += other.seconds;
        self.complete &= other.complete;
        let (failures, notes) = (&mut self.failures, &mut self.notes);
        other.failures.into_iter().for_each(|failure| add_new(failures, failure));
        other.notes.into_iter().for_each(|note| add_new(notes, note));
    }
}

fn add_new<T: PartialEq>(known: &mut Vec<T>, new: T) {
    if !known.contains(&new) {
        known.push(new);
    }
}
