//! Files copied whole, one after the other: films, music, pictures, a source tree.

use super::dataset::{DataClass, DataSource, Dataset};
use super::{Footprint, JobFacts, Stability, SubjectKind};
use crate::metric::{Aggregation, Direction, Row};
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

/// Copies every file of a dataset, directories included. The names on the storage are of plimsoll's
/// making.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CopyJob {
    /// What is copied.
    #[serde(flatten)]
    pub dataset: Dataset,
    /// Which way.
    pub transfer: Transfer,
    /// Bytes per operation.
    pub block: Bytes,
    /// Compare everything that is copied from the storage with what it should be, byte by byte.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub verify: bool,
}

impl CopyJob {
    /// What the client itself generates and compares in a second, without any storage, by all workers
    /// together: bytes.
    pub const CLIENT_CEILING: Measure = Measure::own("client_ceiling_bytes_per_second");
    /// The same in files.
    pub const CLIENT_CEILING_FILES: Measure = Measure::own("client_ceiling_files_per_second");

    fn class(&self) -> Option<DataClass> {
        match &self.dataset.source {
            DataSource::Directory { .. } => None,
            DataSource::Generated(files) => Some(files.class),
        }
    }
}

pub(super) const MEASURES: [Row; 2] = [
    (CopyJob::CLIENT_CEILING, "B/s", "", Direction::More, Aggregation::Geometric),
    (CopyJob::CLIENT_CEILING_FILES, "1/s", "", Direction::More, Aggregation::Geometric),
];

impl JobFacts for CopyJob {
    fn kind(&self) -> &'static str {
        use DataClass::{Movies, Music, Pictures, Source};
        use Transfer::{Down, Up};
        match (self.class(), self.transfer) {
            (None, Up) => "copy-up",
            (None, Down) => "copy-down",
            (Some(Movies), Up) => "copy-movies-up",
            (Some(Movies), Down) => "copy-movies-down",
            (Some(Music), Up) => "copy-music-up",
            (Some(Music), Down) => "copy-music-down",
            (Some(Pictures), Up) => "copy-pictures-up",
            (Some(Pictures), Down) => "copy-pictures-down",
            (Some(Source), Up) => "copy-source-up",
            (Some(Source), Down) => "copy-source-down",
        }
    }

    fn title(&self) -> String {
        let way = if self.transfer == Transfer::Up { "up" } else { "down" };
        format!("{} {way}", self.dataset.title())
    }

    fn subject(&self) -> SubjectKind {
        SubjectKind::Storage
    }

    fn headline(&self) -> Metric {
        Metric::all(Measure::THROUGHPUT)
    }

    /// Small files are counted.
    fn speed(&self) -> Measure {
        match self.class() {
            Some(DataClass::Source) => Measure::FILES,
            _ => Measure::THROUGHPUT,
        }
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
        let Dataset { files, directories, bytes, .. } = &self.dataset;
        let counts = match (files, directories) {
            (1, 1) => "1 file".to_owned(),
            (_, 1) => format!("{files} files in 1 directory"),
            _ => format!("{files} files in {directories} directories"),
        };
        let mut settings = vec![counts, bytes.to_string(), format!("{} blocks", self.block)];
        if let Some(scale) = self.dataset.scale().filter(|scale| *scale != 1.0) {
            settings.insert(0, format!("scale {scale}"));
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
            ("block_bytes", self.block.0.to_string()),
            ("files", files.to_string()),
            ("directories", directories.to_string()),
            ("data_bytes", bytes.0.to_string()),
        ]);
        parameters
    }

    fn stability(&self) -> Option<Stability> {
        (self.transfer == Transfer::Up).then_some(Stability::Unstable)
    }

    /// Files are copied as they are, or not at all; what is generated has a scale.
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
        let of = |transfer| if self.transfer == transfer { bytes.0 } else { 0 };
        let (read, written) = (of(Transfer::Down), of(Transfer::Up));
        Footprint { read, written, names: files.saturating_add(*directories), shared: false }
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
        assert_eq!(job, Job::Copy(CopyJob { dataset, transfer, block, verify: true }));
        assert_eq!(
            (job.kind(), job.title().as_str(), job.scale()),
            ("copy-down", "copy down", None)
        );
    }

    #[test]
    fn each_dataset_and_way_is_a_kind_of_its_own() {
        let mut kinds = std::collections::HashSet::from(["copy-up", "copy-down"]);
        for class in DataClass::ALL {
            for transfer in [Transfer::Up, Transfer::Down] {
                let (count, mean_bytes) = class.whole();
                let data = crate::GeneratedData { class, count, mean_bytes, scale: 0.5, seed: 1 };
                let (dataset, block) = (data.dataset(), Bytes(4096));
                let mut job = CopyJob { dataset, transfer, block, verify: false };
                assert!(kinds.insert(job.kind()), "{}", job.kind());
                let (before, needed) = (job.footprint(), job.dataset.bytes.0);
                assert_eq!(before.read + before.written, needed);
                job.set_scale(0.25);
                assert!(job.dataset.bytes.0 < needed && job.scale() == Some(0.25));
                assert!(job.settings()[0] == "scale 0.25", "{:?}", job.settings());
            }
        }
    }
}
