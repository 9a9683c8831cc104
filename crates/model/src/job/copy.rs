//! Files copied whole, one after the other: films, music, pictures, a source tree.

use super::dataset::{DataClass, DataSource, Dataset};
use super::{FileWork, Footprint, JobFacts, Settable, Stability};
use crate::metric::{Aggregation, Combine, Direction, Row};
use crate::units::Bytes;
use crate::{Measure, Metric, OpKind, SubjectKind};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU16;

/// Which way files go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transfer {
    /// From the client to empty storage.
    Up,
    /// The same a second time, when one file of [`CopyJob::CHANGED_ONE_IN`] has changed.
    Update,
    /// From the storage to the client.
    Down,
}

impl Transfer {
    /// All of them, in the order of tables.
    pub const ALL: [Transfer; 3] = [Transfer::Up, Transfer::Update, Transfer::Down];

    /// Name in tables.
    pub fn title(self) -> &'static str {
        match self {
            Transfer::Up => "up",
            Transfer::Update => "update",
            Transfer::Down => "down",
        }
    }
}

/// How files are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// As rsync does: one after the other; each looked up, written under a temporary name, given its
    /// time and mode, and renamed. Each directory is listed before its files are read.
    Rsync,
    /// By rsync itself, between a disk of the client's and a mounted target.
    ByRsync,
    /// Many files at a time, in as few operations as possible: the rate that the server could
    /// reach.
    Pipelined {
        /// Files in flight, of each worker.
        files: NonZeroU16,
    },
}

impl Method {
    /// Name in tables.
    pub fn title(self) -> &'static str {
        match self {
            Method::Rsync => "as rsync",
            Method::ByRsync => "by rsync",
            Method::Pipelined { .. } => "pipelined",
        }
    }
}

/// Method of studies that do not record it.
impl Default for Method {
    fn default() -> Self {
        Method::Pipelined { files: NonZeroU16::MIN }
    }
}

/// Copies every file of a dataset, directories included. The names on the storage are of plimsoll's
/// making.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CopyJob {
    /// Copied data.
    #[serde(flatten)]
    pub dataset: Dataset,
    /// Which way.
    pub transfer: Transfer,
    /// How.
    #[serde(default)]
    pub method: Method,
    /// Bytes per operation.
    pub block: Bytes,
    /// Compare everything that is copied from the storage with what it should be, byte by byte.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub verify: bool,
}

impl CopyJob {
    /// Bytes that the client alone generates and compares per second, without storage, by all
    /// workers together.
    pub const CLIENT_CEILING: Measure = Measure::own("client_ceiling_bytes_per_second");
    /// The same in files.
    pub const CLIENT_CEILING_FILES: Measure = Measure::own("client_ceiling_files_per_second");

    /// Of so many files one has changed when they are copied a second time; of fewer, one.
    pub const CHANGED_ONE_IN: u64 = 100;

    /// Files that have changed when they are copied a second time.
    pub fn changed_files(&self) -> u64 {
        (self.dataset.files / Self::CHANGED_ONE_IN).max(1)
    }

    fn class(&self) -> Option<DataClass> {
        match &self.dataset.source {
            DataSource::Directory { .. } => None,
            DataSource::Generated(files) => Some(files.class),
        }
    }
}

/// By class (none first), transfer and method.
const KINDS: [[[&str; 3]; 3]; 5] = [
    [
        ["copy-up", "copy-up-rsync", "copy-up-by-rsync"],
        ["copy-update", "copy-update-rsync", "copy-update-by-rsync"],
        ["copy-down", "copy-down-rsync", "copy-down-by-rsync"],
    ],
    [
        ["copy-movies-up", "copy-movies-up-rsync", "copy-movies-up-by-rsync"],
        ["copy-movies-update", "copy-movies-update-rsync", "copy-movies-update-by-rsync"],
        ["copy-movies-down", "copy-movies-down-rsync", "copy-movies-down-by-rsync"],
    ],
    [
        ["copy-music-up", "copy-music-up-rsync", "copy-music-up-by-rsync"],
        ["copy-music-update", "copy-music-update-rsync", "copy-music-update-by-rsync"],
        ["copy-music-down", "copy-music-down-rsync", "copy-music-down-by-rsync"],
    ],
    [
        ["copy-pictures-up", "copy-pictures-up-rsync", "copy-pictures-up-by-rsync"],
        ["copy-pictures-update", "copy-pictures-update-rsync", "copy-pictures-update-by-rsync"],
        ["copy-pictures-down", "copy-pictures-down-rsync", "copy-pictures-down-by-rsync"],
    ],
    [
        ["copy-source-up", "copy-source-up-rsync", "copy-source-up-by-rsync"],
        ["copy-source-update", "copy-source-update-rsync", "copy-source-update-by-rsync"],
        ["copy-source-down", "copy-source-down-rsync", "copy-source-down-by-rsync"],
    ],
];

pub(super) const MEASURES: [Row; 2] = [
    (CopyJob::CLIENT_CEILING, "B/s", "", Direction::More, Aggregation::Geometric, Combine::Sum),
    (
        CopyJob::CLIENT_CEILING_FILES,
        "1/s",
        "",
        Direction::More,
        Aggregation::Geometric,
        Combine::Sum,
    ),
];

impl JobFacts for CopyJob {
    fn kind(&self) -> &'static str {
        let class = match self.class() {
            None => 0,
            Some(class) => 1 + class as usize,
        };
        let method = match self.method {
            Method::Pipelined { .. } => 0,
            Method::Rsync => 1,
            Method::ByRsync => 2,
        };
        KINDS[class][self.transfer as usize][method]
    }

    fn title(&self) -> String {
        let (data, way) = (self.dataset.title(), self.transfer.title());
        match self.method {
            Method::Pipelined { files: NonZeroU16::MIN } => format!("{data} {way}"),
            method => format!("{data} {way}, {}", method.title()),
        }
    }

    fn subject(&self) -> SubjectKind {
        SubjectKind::Storage
    }

    fn headline(&self) -> Metric {
        Metric::all(Measure::THROUGHPUT)
    }

    /// Small files are counted. An update mostly checks files, so its time is the measure.
    fn speed(&self) -> Measure {
        match (self.class(), self.transfer) {
            (_, Transfer::Update) => Measure::ELAPSED,
            (Some(DataClass::Source), _) => Measure::FILES,
            _ => Measure::THROUGHPUT,
        }
    }

    fn kinds_apart(&self) -> &'static [OpKind] {
        match self.transfer {
            Transfer::Up | Transfer::Update => &[
                OpKind::LOOKUP,
                OpKind::CREATE,
                OpKind::WRITE,
                OpKind::FLUSH,
                OpKind::SET_ATTRIBUTES,
                OpKind::CLOSE,
                OpKind::RENAME,
                OpKind::PUT,
            ],
            Transfer::Down => {
                &[OpKind::READ_DIRECTORY, OpKind::OPEN, OpKind::READ, OpKind::CLOSE, OpKind::GET]
            }
        }
    }

    fn settings(&self) -> Vec<String> {
        let Dataset { files, directories, bytes, .. } = &self.dataset;
        let counts = match (files, directories) {
            (1, 1) => "1 file".to_owned(),
            (_, 1) => format!("{files} files in 1 directory"),
            _ => format!("{files} files in {directories} directories"),
        };
        let mut settings = vec![counts, bytes.to_string(), format!("block size {}", self.block)];
        if let Some(scale) = self.dataset.scale().filter(|scale| *scale != 1.0) {
            settings.insert(0, format!("scale {scale}"));
        }
        if self.transfer == Transfer::Update {
            settings.push(format!("{} changed", self.changed_files()));
        }
        if let Method::Pipelined { files } = self.method
            && files > NonZeroU16::MIN
        {
            settings.push(format!("{files} files in flight"));
        }
        if self.verify {
            settings.push("content verified".to_owned());
        }
        settings
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        let Dataset { source, files, directories, bytes } = &self.dataset;
        let mut parameters = match source {
            DataSource::Directory { data } => vec![("data", data.clone())],
            DataSource::Generated(data) => vec![
                ("data", data.class.title().to_owned()),
                ("scale", data.scale.to_string()),
                ("data_seed", data.seed.to_string()),
            ],
        };
        parameters.extend([
            ("method", self.method.title().to_owned()),
            ("block_bytes", self.block.0.to_string()),
            ("files", files.to_string()),
            ("directories", directories.to_string()),
            ("data_bytes", bytes.0.to_string()),
        ]);
        parameters
    }

    /// Its operations follow from the files that are there.
    fn settable(&self) -> Settable {
        Settable::OF_WORKERS
    }

    fn stability(&self) -> Option<Stability> {
        (self.transfer != Transfer::Down).then_some(Stability::Unstable)
    }

    fn file_work(&self) -> Option<FileWork> {
        let Dataset { files, bytes, .. } = self.dataset;
        Some(FileWork {
            files_of: self.dataset.title(),
            class: self.class(),
            way: self.transfer.title(),
            method: self.method.title(),
            all: self.transfer != Transfer::Update,
            files,
            bytes,
            block: self.block,
        })
    }

    /// Existing files are copied whole or not at all; generated files have a scale.
    fn fit(&mut self, _: u16, largest: u64) -> bool {
        self.dataset.bytes.0 <= largest
    }

    fn scale(&self) -> Option<f64> {
        self.dataset.scale()
    }

    fn set_scale(&mut self, scale: f64) {
        self.dataset.set_scale(scale);
    }

    fn needs_less(&self) -> Option<&'static str> {
        Some(match &self.dataset.source {
            DataSource::Directory { .. } => "copy a smaller --data directory",
            DataSource::Generated(_) => "give a smaller --scale",
        })
    }

    fn footprint(&self) -> Footprint {
        let Dataset { files, directories, bytes, .. } = &self.dataset;
        let changed = bytes.0 / (*files / self.changed_files()).max(1);
        let (read, transient) = match self.transfer {
            Transfer::Up => (0, bytes.0),
            // What is copied again lies beside what is there until it takes its place.
            Transfer::Update => (bytes.0, changed),
            Transfer::Down => (bytes.0, 0),
        };
        let names = files.saturating_add(*directories);
        Footprint { read, transient, names, ..Footprint::default() }
    }

    fn dataset(&self) -> Option<&Dataset> {
        (self.transfer != Transfer::Up).then_some(&self.dataset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Job;

    /// As it was written before there were datasets.
    #[test]
    fn copies_of_earlier_studies_read() {
        let earlier = r#"{"job": "copy", "data": "/home/me/films", "transfer": "down",
            "block": 1048576, "files": 3, "directories": 2, "bytes": 5242880, "verify": true}"#;
        let job: Job = serde_json::from_str(earlier).unwrap();
        let source = DataSource::Directory { data: "/home/me/films".into() };
        let dataset = Dataset { source, files: 3, directories: 2, bytes: Bytes(5_242_880) };
        let (transfer, block) = (Transfer::Down, Bytes(1_048_576));
        assert_eq!(
            job,
            Job::Copy(CopyJob {
                dataset,
                transfer,
                method: Method::default(),
                block,
                verify: true
            })
        );
        assert_eq!(
            (job.kind(), job.title().as_str(), job.scale()),
            ("copy-down", "copy down", None)
        );
    }

    fn job(class: DataClass, transfer: Transfer, method: Method) -> CopyJob {
        let (count, mean_bytes) = class.files_and_mean_bytes();
        let data = crate::GeneratedData { class, count, mean_bytes, scale: 0.5, seed: 1 };
        CopyJob { dataset: data.dataset(), transfer, method, block: Bytes(4096), verify: false }
    }

    #[test]
    fn each_dataset_way_and_method_is_a_kind_of_its_own() {
        let mut kinds = std::collections::HashSet::from(["copy-up", "copy-down"]);
        let pipelined = Method::Pipelined { files: NonZeroU16::new(16).unwrap() };
        let all = DataClass::ALL.iter().flat_map(|class| Transfer::ALL.map(|way| (*class, way)));
        for (class, transfer) in all {
            for method in [Method::Rsync, Method::ByRsync, pipelined] {
                let mut job = job(class, transfer, method);
                assert!(kinds.insert(job.kind()), "{}", job.kind());
                let words = [transfer.title(), class.title().split(' ').next().unwrap()];
                assert!(words.iter().all(|word| job.kind().contains(word)), "{}", job.kind());
                assert!(words.iter().all(|word| job.title().contains(word)), "{}", job.title());
                assert_eq!(job.kind().ends_with("rsync"), method != pipelined);
                assert_eq!(job.kind().ends_with("by-rsync"), method == Method::ByRsync);
                let (before, needed) = (job.footprint(), job.dataset.bytes.0);
                assert!(before.read + before.transient >= needed);
                job.set_scale(0.25);
                assert!(job.dataset.bytes.0 < needed && job.scale() == Some(0.25));
                assert!(job.settings()[0] == "scale 0.25", "{:?}", job.settings());
            }
        }
    }

    #[test]
    fn one_file_of_a_hundred_changes_and_one_at_least() {
        let update = |class| job(class, Transfer::Update, Method::Rsync);
        let source = update(DataClass::Source);
        assert_eq!((source.changed_files(), source.dataset.files), (281, 28_103));
        let footprint = source.footprint();
        assert_eq!(footprint.transient, source.dataset.bytes.0 / 100);
        let film = update(DataClass::Movies);
        assert_eq!((film.changed_files(), film.footprint().transient), (1, film.dataset.bytes.0));
    }
}
