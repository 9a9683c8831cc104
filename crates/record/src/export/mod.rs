//! Formats for other programs: JSON in the schema `plimsoll/1` (docs/schema.md), which reads back,
//! and CSV, a row a trial.

mod csv;
mod json;
mod layout;

pub use csv::to_csv;
pub(crate) use json::same_major;
pub use json::{from_json, to_json};
