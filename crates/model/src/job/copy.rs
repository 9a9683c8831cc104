//! Files copied whole, one after the other: films, music, pictures, a source tree.

use super::{Footprint, JobFacts, Stability, SubjectKind};
use crate::units::Bytes;
use crate::{Measure, Metric, OpKind};
use serde::{Deserialize, Serialize};

/// Which way files go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transfer {
    /// From the client to the storage.
    Up,
    /// From the storage to the client.
    Down,
}

/// Copies every file of a directory of the client's, directories included. Sizes, order and bytes are
/// the user's; the names on the storage are of plimsoll's making.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyJob {
    /// The directory on the client.
    pub data: String,
    /// Which way.
    pub transfer: Transfer,
    /// Bytes per operation.
    pub block: Bytes,
    /// Files in the directory and below, when the study was planned.
    pub files: u64,
    /// Directories below it.
    pub directories: u64,
    /// Their bytes.
    pub bytes: Bytes,
    /// Compare everything that is copied from the storage with the client's files, byte by byte.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub verify: bool,
}

impl JobFacts for CopyJob {
    fn kind(&self) -> &'static str {
        match self.transfer {
            Transfer::Up => "copy-up",
            Transfer::Down => "copy-down",
        }
    }

    fn subject(&self) -> SubjectKind {
        SubjectKind::Storage
    }

    fn headline(&self) -> Metric {
        Metric::all(Measure::THROUGHPUT)
    }

    fn speed(&self) -> Measure {
        Measure::THROUGHPUT
    }

    fn kinds_apart(&self) -> &'static [OpKind] {
        match self.transfer {
            Transfer::Up => {
                &[OpKind::WRITE, OpKind::FLUSH, OpKind::CREATE, OpKind::CLOSE, OpKind::PUT]
            }
            Transfer::Down => &[OpKind::READ, OpKind::OPEN, OpKind::CLOSE, OpKind::GET],
        }
    }

    fn settings(&self) -> Vec<String> {
        let files = format!("{} files in {} directories", self.files, self.directories);
        let mut settings = vec![files, self.bytes.to_string(), format!("{} blocks", self.block)];
        if self.verify {
            settings.push("content verified".to_owned());
        }
        settings
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![
            ("data", self.data.clone()),
            ("block_bytes", self.block.0.to_string()),
            ("files", self.files.to_string()),
            ("directories", self.directories.to_string()),
            ("data_bytes", self.bytes.0.to_string()),
        ]
    }

    fn stability(&self) -> Option<Stability> {
        (self.transfer == Transfer::Up).then_some(Stability::Unstable)
    }

    /// Files are copied as they are, or not at all.
    fn fit(&mut self, _: u16, largest: u64) -> bool {
        self.bytes.0 <= largest
    }

    fn needs_less(&self) -> Option<&'static str> {
        Some("copy a smaller --data directory")
    }

    fn footprint(&self) -> Footprint {
        let of = |transfer| if self.transfer == transfer { self.bytes.0 } else { 0 };
        let names = self.files.saturating_add(self.directories);
        Footprint { read: of(Transfer::Down), written: of(Transfer::Up), names }
    }
}
