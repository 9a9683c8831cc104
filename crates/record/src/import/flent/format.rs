//! The format of flent's files, versions 1 to 4.

use super::NEXT;
use crate::import::malformed::{Malformed, Parsed};
use crate::import::numbers;
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::fmt;

/// Most values of a file.
const MOST_VALUES: usize = 4 << 20;
/// Most series of a file.
const MOST_SERIES: usize = 4096;

/// A file as flent wrote it.
#[derive(Deserialize)]
pub(super) struct Document {
    pub(super) version: u32,
    pub(super) metadata: Metadata,
    #[serde(default)]
    pub(super) x_values: Numbers,
    pub(super) results: BTreeMap<String, Numbers>,
    #[serde(default)]
    pub(super) raw_values: Option<BTreeMap<String, Samples>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) struct Metadata {
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) title: Option<String>,
    #[serde(default)]
    pub(super) note: Option<String>,
    #[serde(default)]
    pub(super) host: Option<String>,
    #[serde(default)]
    pub(super) hosts: Option<Vec<Option<String>>>,
    #[serde(default)]
    pub(super) local_host: Option<String>,
    #[serde(default)]
    pub(super) length: Option<Number>,
    #[serde(default)]
    pub(super) step_size: Option<Number>,
    #[serde(default)]
    pub(super) time: Option<String>,
    #[serde(default)]
    pub(super) t0: Option<String>,
    #[serde(default)]
    pub(super) flent_version: Option<String>,
    #[serde(default)]
    pub(super) failed_runners: Option<Number>,
    #[serde(default)]
    pub(super) series_meta: Option<BTreeMap<String, SeriesFacts>>,
}

/// What flent says of a series.
#[derive(Default, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) struct SeriesFacts {
    #[serde(default)]
    pub(super) units: Option<String>,
    #[serde(default)]
    pub(super) runner: Option<String>,
    #[serde(default)]
    pub(super) mean_value: Option<Number>,
}

/// A number; anything else in its place is none.
#[derive(Clone, Copy, Deserialize)]
#[serde(untagged)]
pub(super) enum Number {
    Known(f64),
    Unknown(IgnoredAny),
}

impl Number {
    pub(super) fn known(self) -> Option<f64> {
        match self {
            Number::Known(number) => Some(number).filter(|number| number.is_finite()),
            Number::Unknown(_) => None,
        }
    }
}

/// A measurement as a tool printed it.
#[derive(Deserialize)]
pub(super) struct Sample {
    /// When it was taken, in seconds.
    #[serde(default)]
    pub(super) t: Option<Number>,
    #[serde(default)]
    pub(super) val: Option<Number>,
    #[serde(default)]
    pub(super) seq: Option<Number>,
    #[serde(default)]
    pub(super) tcp_rtt: Option<Number>,
}

/// Numbers of a series; `None` where flent has none.
#[derive(Default)]
pub(super) struct Numbers(pub(super) Vec<Option<f64>>);

/// Measurements of a series.
#[derive(Default)]
pub(super) struct Samples(pub(super) Vec<Sample>);

/// Reads at most so many elements of an array; more of them are an error.
struct Bounded<T>(std::marker::PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Bounded<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an array of at most {MOST_VALUES} values")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Vec<T>, A::Error> {
        let mut all = Vec::new();
        while let Some(value) = values.next_element()? {
            if all.len() >= MOST_VALUES {
                return Err(serde::de::Error::invalid_length(all.len(), &self));
            }
            all.push(value);
        }
        Ok(all)
    }

    fn visit_unit<E>(self) -> Result<Vec<T>, E> {
        Ok(Vec::new())
    }
}

impl<'de> Deserialize<'de> for Numbers {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Numbers, D::Error> {
        let bounded = Bounded::<Option<Number>>(std::marker::PhantomData);
        let values = from.deserialize_any(bounded)?;
        Ok(Numbers(values.into_iter().map(|value| value?.known()).collect()))
    }
}

impl<'de> Deserialize<'de> for Samples {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Samples, D::Error> {
        from.deserialize_any(Bounded::<Sample>(std::marker::PhantomData)).map(Samples)
    }
}

/// Reads a file, if its format is known.
pub(super) fn document(text: &str) -> Parsed<Document> {
    let document: Document = serde_json::from_str(&numbers::repaired(text))
        .map_err(|error| Malformed::json(1, &error, NEXT))?;
    if !(1..=4).contains(&document.version) {
        let happened = format!("its format has version {}: expected 1 to 4", document.version);
        let next = "Convert it with the flent that wrote it, or import it with a newer plimsoll.";
        return Err(Malformed::new(1, happened, next));
    }
    if document.results.len() > MOST_SERIES {
        let happened = format!("it has more than {MOST_SERIES} series");
        return Err(Malformed::new(1, happened, NEXT));
    }
    Ok(document)
}
