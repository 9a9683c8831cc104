//! Amount of files of one kind, for which a user wants to know the time.

use crate::DataClass;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// An amount of the user's own files. Written as `200GB:photos`, or with their mean size as `120GB:2MB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amount {
    /// All of them together.
    pub bytes: Bytes,
    /// Kind of the files.
    #[serde(flatten)]
    pub files: AmountOf,
}

/// Kind of the files of an amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AmountOf {
    /// Files of a class, with its mean size.
    Class(DataClass),
    /// Of this mean size.
    MeanBytes(Bytes),
}

/// Other names of the classes.
const WORDS: [(&str, DataClass); 9] = [
    ("movies", DataClass::Movies),
    ("films", DataClass::Movies),
    ("music", DataClass::Music),
    ("songs", DataClass::Music),
    ("pictures", DataClass::Pictures),
    ("photos", DataClass::Pictures),
    ("source", DataClass::Source),
    ("source-tree", DataClass::Source),
    ("code", DataClass::Source),
];

impl Amount {
    /// Mean size of a file, in bytes.
    pub fn mean_bytes(&self) -> f64 {
        match self.files {
            AmountOf::Class(class) => class.files_and_mean_bytes().1,
            AmountOf::MeanBytes(mean) => mean.0 as f64,
        }
    }

    /// How many files that is, one at least.
    pub fn count(&self) -> f64 {
        (self.bytes.0 as f64 / self.mean_bytes()).max(1.0)
    }
}

impl FromStr for Amount {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let amount = || -> Option<Amount> {
            let (bytes, files) = text.split_once(':')?;
            let bytes: Bytes = bytes.parse().ok()?;
            let word = files.trim().to_ascii_lowercase();
            let class = WORDS.iter().find(|(name, _)| *name == word).map(|(_, class)| *class);
            let files = match class {
                Some(class) => AmountOf::Class(class),
                None => AmountOf::MeanBytes(files.parse().ok()?),
            };
            let fits = match files {
                AmountOf::Class(_) => bytes.0 > 0,
                AmountOf::MeanBytes(mean) => (1..=bytes.0).contains(&mean.0),
            };
            fits.then_some(Amount { bytes, files })
        };
        amount().ok_or_else(|| {
            format!(
                "'{text}' is not an amount of files; write 200GB:photos (or movies, music, source), or \
                120GB:2MB with the mean size of a file"
            )
        })
    }
}

impl fmt::Display for Amount {
    /// "200 GB of pictures", "120 GB of 2 MB files".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.files {
            AmountOf::Class(class) => write!(f, "{} of {}", decimal(self.bytes), class.title()),
            AmountOf::MeanBytes(mean) => {
                write!(f, "{} of {} files", decimal(self.bytes), decimal(mean))
            }
        }
    }
}

/// As disks are sold: in the largest decimal unit that it reaches, without digits that say nothing.
fn decimal(bytes: Bytes) -> String {
    const UNITS: [(&str, f64); 4] = [("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
    let value = bytes.0 as f64;
    let (unit, size) = UNITS.into_iter().find(|unit| value >= unit.1).unwrap_or(("B", 1.0));
    let digits = format!("{:.2}", value / size);
    format!("{} {unit}", digits.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn amounts_by_class_or_by_mean_size() {
        let parsed = |text: &str| text.parse::<Amount>().unwrap();
        let photos =
            Amount { bytes: Bytes(200_000_000_000), files: AmountOf::Class(DataClass::Pictures) };
        for text in ["200GB:photos", "200GB:pictures", " 200 gb : Photos "] {
            assert_eq!(parsed(text), photos);
        }
        assert!((photos.count() - 200e9 / 2_919_623.21).abs() < 1e-3);
        let own = parsed("120GB:2MB");
        assert_eq!((own.mean_bytes(), own.count()), (2e6, 60_000.0));
        assert_eq!(parsed("1MB:films").count(), 1.0, "a part of a file is a file");
        let shown = ["200GB:photos", "120GB:2MB", "1536MiB:12kB", "900:64", "2TB:source"];
        assert_eq!(
            shown.map(|text| parsed(text).to_string()),
            [
                "200 GB of pictures",
                "120 GB of 2 MB files",
                "1.61 GB of 12 kB files",
                "900 B of 64 B files",
                "2 TB of source tree"
            ]
        );
    }

    #[test]
    fn what_is_no_amount_is_refused_with_what_is_one() {
        for text in [
            "",
            ":",
            "200GB",
            "200GB:",
            ":photos",
            "0:photos",
            "200GB:0",
            "200GB:0MB",
            "-5GB:photos",
            "200GB:letters",
            "200GB:photos:2MB",
            "1e9:photos",
            "nan:photos",
            "1.5TB:photos",
            "99999999999999999999GB:photos",
            "200GB:99999999999TB",
            "1GB:20TB",
            "200GB:ph\u{1b}[2Jotos",
        ] {
            let refused = text.parse::<Amount>().unwrap_err();
            assert!(refused.contains("200GB:photos") && refused.contains("120GB:2MB"), "{refused}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_an_amount_that_can_be_computed_with_or_refused(text in "\\PC{0,20}|[0-9]{1,20}[kMGT]?B?:([a-z]{1,8}|[0-9]{1,20}[kMGT]?B?)") {
            if let Ok(amount) = text.parse::<Amount>() {
                prop_assert!(amount.count() >= 1.0 && amount.count().is_finite());
                prop_assert!(amount.mean_bytes() >= 1.0);
                let json = serde_json::to_string(&amount).unwrap();
                prop_assert_eq!(serde_json::from_str::<Amount>(&json).unwrap(), amount);
            }
        }
    }
}
