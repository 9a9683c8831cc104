//! Keeping studies and records of devices: a SQLite store that loses at most the trial under way, the export formats,
//! and the import of results from elsewhere. Writing is done by the one who conducts a study; reading by everything that shows one.
#![forbid(unsafe_code)]

mod device;
mod document;
mod export;
#[doc(hidden)]
pub mod fuzzing;
mod import;
mod input;
mod open;
mod row;
mod store;
mod summary;
#[cfg(test)]
#[path = "../tests/support/mod.rs"]
mod support;
mod trouble;

pub use device::DeviceSummary;
pub use export::{
    device_from_json, device_to_json, devices_to_csv, from_json, is_device_json, to_csv, to_json,
};
pub use import::{IMPORT_LIMIT_BYTES, ImportFile, ImportOptions, import};
pub use input::open_regular;
pub use open::default_path;
pub use store::{Kept, Store};
pub use summary::StudySummary;
