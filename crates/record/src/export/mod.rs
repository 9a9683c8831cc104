//! Formats for other programs: JSON in the schema `plimsoll/1` (docs/schema.md), which reads back,
//! and CSV, a row a trial; the same for records of devices.

mod csv;
mod device;
mod json;
mod layout;

pub use csv::to_csv;
pub use device::{device_from_json, device_to_json, devices_to_csv, is_device_json};
pub(crate) use json::same_major;
pub use json::{from_json, to_json};
