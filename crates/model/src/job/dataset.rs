//! Copied data: a directory on the client, or generated files.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// The files of a copy. It says what there is to copy, not how it is copied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dataset {
    /// Where they come from.
    #[serde(flatten)]
    pub source: DataSource,
    /// Files, as many as there were when the study was planned.
    pub files: u64,
    /// Directories that they are in.
    pub directories: u64,
    /// Their bytes.
    pub bytes: Bytes,
}

/// Where files come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum DataSource {
    /// A directory of the client's.
    Directory {
        /// Its path.
        data: String,
    },
    /// Files of the program's making.
    Generated(GeneratedData),
}

/// Files that are generated, of these properties: names, sizes and bytes follow from them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GeneratedData {
    /// Which kind of files.
    #[serde(rename = "dataset")]
    pub class: DataClass,
    /// Files of the whole.
    pub count: u64,
    /// Mean size of the files of the whole, in bytes.
    pub mean_bytes: f64,
    /// How much of the whole: 1 is all of it.
    pub scale: f64,
    /// Seed of sizes, tree and content.
    pub seed: u64,
}

/// The classes of a home's files as Puskas measured them ("Router NFS performance benchmark", 2017): count and
/// mean size are his.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DataClass {
    /// One film.
    Movies,
    /// An album, losslessly compressed.
    Music,
    /// Photos.
    Pictures,
    /// The source tree of a kernel.
    Source,
}

impl DataClass {
    /// All of them, in the order of tables.
    pub const ALL: [DataClass; 4] =
        [DataClass::Movies, DataClass::Music, DataClass::Pictures, DataClass::Source];

    /// Name in tables.
    pub fn title(self) -> &'static str {
        match self {
            DataClass::Movies => "movies",
            DataClass::Music => "music",
            DataClass::Pictures => "pictures",
            DataClass::Source => "source tree",
        }
    }

    /// Files, and their mean size in bytes.
    pub fn files_and_mean_bytes(self) -> (u64, f64) {
        match self {
            DataClass::Movies => (1, 928_670_754.0),
            DataClass::Music => (11, 39_644_094.91),
            DataClass::Pictures => (52, 2_919_623.21),
            DataClass::Source => (56_206, 11_567.46),
        }
    }

    /// Whether its files are text, which can be compressed.
    pub fn is_text(self) -> bool {
        self == DataClass::Source
    }

    /// Directories that so many files are in: a kernel's 15.4 files in each, media in one.
    fn directories(self, files: u64) -> u64 {
        match self {
            DataClass::Source => ((files as f64 / 15.4).round() as u64).max(1),
            _ => 1,
        }
    }
}

impl GeneratedData {
    /// Files at the scale: fewer files, and one smaller file if less than one is left; movies
    /// become smaller instead. The total is count times mean times scale, except for the rounding
    /// of the count.
    pub fn dataset(self) -> Dataset {
        let GeneratedData { class, count, mean_bytes, scale, .. } = self;
        let scaled = count as f64 * scale;
        let (files, mean) = match class {
            DataClass::Movies => (count, mean_bytes * scale),
            _ if scaled < 1.0 => (1, mean_bytes * scaled),
            _ => (scaled.round() as u64, mean_bytes),
        };
        let bytes = Bytes((files as f64 * mean).round() as u64);
        let directories = class.directories(files);
        Dataset { source: DataSource::Generated(self), files, directories, bytes }
    }
}

impl Dataset {
    /// Name in tables.
    pub fn title(&self) -> &'static str {
        match &self.source {
            DataSource::Directory { .. } => "copy",
            DataSource::Generated(files) => files.class.title(),
        }
    }

    /// Share of the whole dataset, if it can be chosen.
    pub fn scale(&self) -> Option<f64> {
        match &self.source {
            DataSource::Directory { .. } => None,
            DataSource::Generated(files) => Some(files.scale),
        }
    }

    /// Sets the share of the whole dataset, if it can be chosen.
    pub fn set_scale(&mut self, scale: f64) {
        if let DataSource::Generated(files) = self.source {
            *self = GeneratedData { scale, ..files }.dataset();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(class: DataClass, scale: f64) -> Dataset {
        let (count, mean_bytes) = class.files_and_mean_bytes();
        GeneratedData { class, count, mean_bytes, scale, seed: 1 }.dataset()
    }

    /// The totals of the published data: count, and bytes to the last.
    #[test]
    fn a_home_has_the_published_totals() {
        let whole = DataClass::ALL.map(|class| at(class, 1.0)).map(|d| (d.files, d.bytes.0));
        let published =
            [(1, 928_670_754), (11, 436_085_044), (52, 151_820_407), (56_206, 650_160_657)];
        assert_eq!(whole, published);
    }

    #[test]
    fn a_scale_lowers_the_size_of_a_film_and_the_number_of_all_others() {
        let two_percent = DataClass::ALL.map(|class| at(class, 0.02));
        let expected = [(1, 18_573_415), (1, 8_721_701), (1, 2_919_623), (1124, 13_001_825)];
        assert_eq!(two_percent.map(|d| (d.files, d.bytes.0)), expected);
        let mut music = at(DataClass::Music, 0.5);
        assert_eq!((music.files, music.scale()), (6, Some(0.5)));
        music.set_scale(1.0);
        assert_eq!(music, at(DataClass::Music, 1.0), "nothing of the whole is forgotten");
    }

    proptest! {
        #[test]
        fn bytes_are_count_times_mean_at_any_scale(
            class in prop::sample::select(DataClass::ALL.to_vec()),
            count in 1_u64..100_000,
            mean_bytes in (6400..10_000_000_000_u64).prop_map(|hundredths| hundredths as f64 / 100.0),
            scale in (1..100_000_u32).prop_map(|parts| f64::from(parts) / 1e4),
        ) {
            let set = GeneratedData { class, count, mean_bytes, scale, seed: 0 }.dataset();
            let whole = count as f64 * mean_bytes * scale;
            // The count is rounded by half a file at most.
            let rounded = if class == DataClass::Movies { 0.0 } else { mean_bytes / 2.0 };
            prop_assert!((set.bytes.0 as f64 - whole).abs() <= rounded + 1.0);
            prop_assert!(set.files >= 1 && (1..=set.files).contains(&set.directories));
            let json = serde_json::to_string(&set).unwrap();
            prop_assert_eq!(serde_json::from_str::<Dataset>(&json).unwrap(), set);
        }
    }
}
