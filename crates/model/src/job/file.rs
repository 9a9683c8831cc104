//! One file from its beginning to its end, as programs read and write one: opened, gone through in buffers of one
//! size, closed.

use super::{CannotSet, Footprint, JobFacts, Settable, Stability, settable};
use crate::units::Bytes;
use crate::{Measure, Metric, Parameter, SubjectKind};
use serde::{Deserialize, Serialize};

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileWay {
    /// A file that is there.
    Read,
    /// A file that is made.
    Write,
}

/// Reads or writes one whole file. Its next buffers are in flight: several readers share it, or one
/// reader reads ahead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileJob {
    /// Which way.
    pub way: FileWay,
    /// Bytes of an operation.
    pub buffer: Bytes,
    /// Bytes of the file.
    pub size: Bytes,
    /// When what is written must be stable: with each write, or by a flush before it is closed.
    #[serde(default)]
    pub stability: Stability,
}

impl JobFacts for FileJob {
    fn kind(&self) -> &'static str {
        match self.way {
            FileWay::Read => "file-read",
            FileWay::Write => "file-write",
        }
    }

    fn title(&self) -> String {
        format!("whole {}", self.kind().replace('-', " "))
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

    fn settings(&self) -> Vec<String> {
        let mut settings = vec![format!("buffers of {}", self.buffer), self.size.to_string()];
        settings.extend(match (self.way, self.stability) {
            (FileWay::Read, _) => None,
            (_, Stability::Unstable) => Some("flushed at the end".to_owned()),
            (_, Stability::DataSync) => Some("data of every write stable".to_owned()),
            (_, Stability::FileSync) => Some("every write stable".to_owned()),
        });
        settings
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        let number = |bytes: Bytes| bytes.0.to_string();
        vec![("block_bytes", number(self.buffer)), ("size_bytes", number(self.size))]
    }

    fn stability(&self) -> Option<Stability> {
        (self.way == FileWay::Write).then_some(self.stability)
    }

    fn footprint(&self) -> Footprint {
        match self.way {
            FileWay::Read => Footprint { read: self.size.0, names: 1, ..Footprint::default() },
            FileWay::Write => Footprint { written: self.size.0, names: 1, ..Footprint::default() },
        }
    }

    fn settable(&self) -> Settable {
        Settable { block: true, ..Settable::OF_OPERATIONS }
    }

    fn block(&self) -> Option<Bytes> {
        Some(self.buffer)
    }

    fn set(&mut self, parameter: Parameter, value: f64) -> Result<(), CannotSet> {
        match parameter {
            Parameter::Block => self.buffer = settable::block(value)?,
            _ => return Err(CannotSet::Parameter),
        }
        Ok(())
    }

    fn needs_less(&self) -> Option<&'static str> {
        Some("give a smaller --size")
    }
}
