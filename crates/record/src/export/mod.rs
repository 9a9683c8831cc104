//! Formats for other programs: JSON in the schema `plimsoll/2` (docs/schema.md), which reads back,
//! and CSV, a row a result; of devices a row a figure.

mod csv;
mod device;
mod json;
mod layout;

pub use csv::to_csv;
pub use device::devices_to_csv;
pub(crate) use json::parse;
pub use json::{from_json, to_json};
