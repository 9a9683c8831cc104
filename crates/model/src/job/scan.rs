//! A walk over a tree of directories: what a photo library or a backup program does before it reads
//! a byte.

use super::{Footprint, JobFacts, SubjectKind};
use crate::{Measure, Metric, OpKind};
use serde::{Deserialize, Serialize};

/// Lists every directory of a tree and looks up every name in it, once a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScanJob {
    /// Directories of the tree.
    pub directories: u32,
    /// Empty files in each of them.
    pub files: u32,
}

impl Default for ScanJob {
    fn default() -> Self {
        ScanJob { directories: 40, files: 50 }
    }
}

impl JobFacts for ScanJob {
    fn kind(&self) -> &'static str {
        "scan"
    }

    fn subject(&self) -> SubjectKind {
        SubjectKind::Storage
    }

    fn headline(&self) -> Metric {
        Metric::all(Measure::ENTRIES)
    }

    fn speed(&self) -> Measure {
        Measure::ENTRIES
    }

    fn kinds_apart(&self) -> &'static [OpKind] {
        &[OpKind::LOOKUP, OpKind::READ_DIRECTORY]
    }

    fn moves_payload(&self) -> bool {
        false
    }

    fn settings(&self) -> Vec<String> {
        vec![format!("{} directories", self.directories), format!("{} files in each", self.files)]
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        let (directories, files) = (self.directories.to_string(), self.files.to_string());
        vec![("directories", directories), ("files_per_directory", files)]
    }

    fn footprint(&self) -> Footprint {
        let names = u64::from(self.directories) * (1 + u64::from(self.files));
        Footprint { names, ..Footprint::default() }
    }
}
