//! Changes of hardware or of concurrency whose effect is predicted.

use crate::device::DiskFigures;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU16;

/// A change of hardware or of concurrency.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhatIf {
    /// Other links.
    Link {
        /// Links that change.
        end: LinkEnd,
        /// Their new rate.
        to: LinkRate,
    },
    /// Other processors.
    Processor {
        /// Hosts that change.
        of: Processors,
        /// How much faster they are.
        speed: ProcessorSpeed,
    },
    /// Another round trip.
    RoundTrip {
        /// Its length without load, in seconds.
        seconds: f64,
    },
    /// Another disk of the server.
    Disk(NewDisk),
    /// Another number of workers.
    Readers(NonZeroU16),
    /// Another number of operations in flight per worker.
    Depth(NonZeroU16),
    /// So many times the memory of the server.
    Memory(f64),
    /// Encryption where there is none.
    Encrypt {
        /// Between which.
        layer: Encryption,
        /// CPU time of the server for a byte, by its device study.
        seconds_per_byte: f64,
    },
}

/// Encryption of data on their way or at rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Encryption {
    /// Messages of SMB.
    Smb,
    /// The server's disk.
    Disk,
}

/// Links of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkEnd {
    /// All of them.
    Path,
    /// The client's alone.
    Client,
    /// The server's alone.
    Server,
}

/// New rate of a link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkRate {
    /// Bits per second.
    BitsPerSecond(u64),
    /// So many times the rate of today.
    Times(f64),
}

/// Hosts whose processors change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Processors {
    /// Those of client and server.
    All,
    /// The client's.
    Client,
    /// The server's.
    Server,
}

/// How much faster a processor is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessorSpeed {
    /// One core, as times that of today.
    pub one_core: f64,
    /// All cores together, as times those of today.
    pub all_cores: f64,
    /// Whether the architecture is another one: what the same work takes there is not known.
    pub other_architecture: bool,
}

impl ProcessorSpeed {
    /// Everything so many times as fast.
    pub fn times(factor: f64) -> ProcessorSpeed {
        ProcessorSpeed { one_core: factor, all_cores: factor, other_architecture: false }
    }
}

/// A disk instead of the server's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NewDisk {
    /// So many times as fast.
    Times(f64),
    /// One that was measured.
    Like(DiskFigures),
}

impl WhatIf {
    /// Whether its figures make sense: factors and times are above 0 and finite.
    pub fn is_valid(&self) -> bool {
        let factor = |factor: f64| factor.is_finite() && factor > 0.0;
        match self {
            WhatIf::Link { to: LinkRate::BitsPerSecond(rate), .. } => *rate > 0,
            WhatIf::Link { to: LinkRate::Times(times), .. } | WhatIf::Memory(times) => {
                factor(*times)
            }
            WhatIf::Processor { speed, .. } => factor(speed.one_core) && factor(speed.all_cores),
            WhatIf::RoundTrip { seconds } => seconds.is_finite() && *seconds >= 0.0,
            WhatIf::Disk(NewDisk::Times(times)) => factor(*times),
            WhatIf::Encrypt { seconds_per_byte, .. } => factor(*seconds_per_byte),
            WhatIf::Disk(NewDisk::Like(_)) | WhatIf::Readers(_) | WhatIf::Depth(_) => true,
        }
    }
}
