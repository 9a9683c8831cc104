//! Walk over a directory tree, as a photo library or a backup program does before it reads a byte.

use super::{Footprint, JobFacts, Settable};
use crate::{Measure, Metric, OpKind, SubjectKind};
use serde::{Deserialize, Serialize};

/// Lists every directory of a tree and looks up every name in it, once a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScanJob {
    /// Directories of the tree.
    pub directories: u32,
    /// Empty files in each of them.
    pub files: u32,
    /// State of the name cache of the client's kernel, for a tree in a mounted directory.
    #[serde(default, skip_serializing_if = "NamesCached::is_as_found")]
    pub cached: NamesCached,
}

/// State of the name cache of the client's kernel during a scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NamesCached {
    /// Unspecified: targets without such a cache, and studies by earlier versions.
    #[default]
    AsFound,
    /// All of them: each trial follows a walk that is not timed.
    Warm,
    /// None: caches are dropped before each trial, which is one walk.
    Cold,
}

impl NamesCached {
    /// Whether the cache is left unchanged.
    pub fn is_as_found(&self) -> bool {
        *self == NamesCached::AsFound
    }
}

impl Default for ScanJob {
    fn default() -> Self {
        ScanJob { directories: 40, files: 50, cached: NamesCached::AsFound }
    }
}

impl JobFacts for ScanJob {
    fn kind(&self) -> &'static str {
        "scan"
    }

    fn title(&self) -> String {
        match self.cached {
            NamesCached::AsFound => "scan".to_owned(),
            NamesCached::Warm => "scan, warm cache".to_owned(),
            NamesCached::Cold => "scan, cold cache".to_owned(),
        }
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
        let mut settings = vec![
            format!("{} directories", self.directories),
            format!("{} files in each", self.files),
        ];
        settings.extend(match self.cached {
            NamesCached::AsFound => None,
            NamesCached::Warm => Some("names in the client's cache".to_owned()),
            NamesCached::Cold => Some("the client's cache dropped before".to_owned()),
        });
        settings
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        let (directories, files) = (self.directories.to_string(), self.files.to_string());
        vec![("directories", directories), ("files_per_directory", files)]
    }

    fn settable(&self) -> Settable {
        Settable::OF_OPERATIONS
    }

    fn footprint(&self) -> Footprint {
        let names = u64::from(self.directories) * (1 + u64::from(self.files));
        Footprint { names, ..Footprint::default() }
    }
}
