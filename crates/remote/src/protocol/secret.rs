//! A password on its way.

use plimsoll_load::Password;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A password on its way: never shown.
#[derive(Clone, Debug)]
pub struct Secret(pub Password);

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.reveal())
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Secret(Password::new(String::deserialize(deserializer)?)))
    }
}
