//! Formats for other programs: JSON in the schema `plimsoll/1` (docs/schema.md), which reads back,
//! and CSV, a row a result.

mod csv;
mod json;
mod layout;

pub use csv::{text as csv_text, to_csv};
pub(crate) use json::{Each, write as write_json};
pub use json::{from_json, to_json};
