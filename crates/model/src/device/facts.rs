//! Facts that come from outside: every one may be missing, and one of the wrong kind is missing.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Most entries of a list; the rest is left out.
pub const MOST_ENTRIES: usize = 256;
/// Most letters of a text; the rest is cut off.
pub const MOST_LETTERS: usize = 1024;

/// Field of facts, read from any JSON value; empty for a value of the wrong kind.
pub(super) trait Known: Default {
    fn from_value(value: Value) -> Self;
    fn is_nothing(&self) -> bool;
}

impl<T: DeserializeOwned> Known for Option<T> {
    fn from_value(value: Value) -> Self {
        serde_json::from_value(value).ok()
    }

    fn is_nothing(&self) -> bool {
        self.is_none()
    }
}

impl<T: DeserializeOwned> Known for Vec<T> {
    fn from_value(value: Value) -> Self {
        let Value::Array(items) = value else { return Vec::new() };
        let entries = items.into_iter().filter_map(|item| serde_json::from_value(item).ok());
        entries.take(MOST_ENTRIES).collect()
    }

    fn is_nothing(&self) -> bool {
        self.is_empty()
    }
}

impl<T: DeserializeOwned> Known for BTreeMap<String, Vec<T>> {
    fn from_value(value: Value) -> Self {
        let Value::Object(items) = value else { return BTreeMap::new() };
        let entries = items.into_iter().map(|(key, value)| (key, Vec::from_value(value)));
        entries.take(MOST_ENTRIES).collect()
    }

    fn is_nothing(&self) -> bool {
        self.is_empty()
    }
}

/// Fields of facts that are not read yet.
pub(super) struct Fields(Map<String, Value>);

impl Fields {
    /// All fields. Fails where there is no map.
    pub(super) fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Fields, D::Error> {
        Ok(Fields(Map::deserialize(from)?))
    }

    /// The field of that key; empty where it is missing, or has the wrong kind.
    pub(super) fn take<T: Known>(&mut self, key: &str) -> T {
        self.0.remove(key).map(T::from_value).unwrap_or_default()
    }
}

/// Structs of facts. Their field names, with units, equal the keys of the probe's JSON, so its
/// output is read directly. A key that is no name in Rust is given by `#[serde(rename)]`.
///
/// `from_fields` is not generic: so every struct is compiled once, not by each crate for each format.
macro_rules! facts {
    ($($(#[$meta:meta])* pub struct $name:ident {
        $($(#[doc = $doc:literal])* $(#[serde(rename = $key:literal)])? pub $field:ident: $kind:ty,)*
    })*) => {
        $(
            $(#[$meta])*
            #[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
            pub struct $name {
                $(
                    $(#[doc = $doc])*
                    $(#[serde(rename = $key)])?
                    #[serde(skip_serializing_if = "crate::device::facts::Known::is_nothing")]
                    pub $field: $kind,
                )*
            }

            impl $name {
                fn from_fields(mut fields: crate::device::facts::Fields) -> Self {
                    // The key that is given comes before the name of the field.
                    Self { $($field: fields.take([$($key,)? stringify!($field)][0]),)* }
                }
            }

            impl<'de> serde::Deserialize<'de> for $name {
                fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                    crate::device::facts::Fields::read(from).map(Self::from_fields)
                }
            }
        )*
    };
}
pub(super) use facts;

#[cfg(test)]
mod tests {
    use crate::device::{Mtd, Nic, Nics};
    use serde_json::json;

    #[test]
    fn what_has_the_wrong_kind_is_missing_and_the_rest_is_there() {
        let nics: Nics = serde_json::from_value(json!({
            "congestion_control": 7,
            "default_queue_discipline": "fq",
            "unknown": [1, 2],
            "nics": [
                {"name": "eth0", "mtu_bytes": -1, "rate_bits_per_second": "NaN", "bridge": null},
                "no object",
                ["no object either"],
                {"name": "eth1", "mtu_bytes": 1500, "offloads": ["rx-gro", 3]},
            ],
        }))
        .unwrap();
        assert_eq!(nics.congestion_control, None);
        assert_eq!(nics.default_queue_discipline.as_deref(), Some("fq"));
        let named = |name: &str| Nic { name: Some(name.to_owned()), ..Nic::default() };
        let second =
            Nic { mtu_bytes: Some(1500), offloads: vec!["rx-gro".to_owned()], ..named("eth1") };
        assert_eq!(nics.nics, [named("eth0"), second]);
    }

    #[test]
    fn a_key_can_differ_from_the_name_of_its_field() {
        let json = json!({"name": "mtd0", "type": "nand"});
        let mtd: Mtd = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(mtd.kind.as_deref(), Some("nand"));
        assert_eq!(serde_json::to_value(mtd).unwrap(), json);
    }

    #[test]
    fn text_is_read_as_values_are() {
        let text = r#"{"nics": [{"name": "eth0", "mtu_bytes": 1500, "bridge": "no"}, 7]}"#;
        let nics: Nics = serde_json::from_str(text).unwrap();
        assert_eq!(
            nics,
            serde_json::from_value::<Nics>(serde_json::from_str(text).unwrap()).unwrap()
        );
        assert_eq!(nics.nics.len(), 1);
        assert!(serde_json::from_str::<Nics>("[]").is_err());
    }

    #[test]
    fn what_is_missing_is_not_written() {
        assert_eq!(serde_json::to_value(Nics::default()).unwrap(), json!({}));
    }

    #[test]
    fn lists_have_an_end() {
        let many = vec![json!({"name": "eth"}); 1000];
        let nics: Nics = serde_json::from_value(json!({ "nics": many })).unwrap();
        assert_eq!(nics.nics.len(), super::MOST_ENTRIES);
    }
}
