//! Keeping studies: a SQLite store that loses at most the trial under way, the export formats, and the
//! import of results from elsewhere. Writing is done by the one who conducts a study; reading by
//! everything that shows one.
#![forbid(unsafe_code)]

mod document;
mod export;
mod failures;
#[doc(hidden)]
pub mod fuzzing;
mod import;
mod input;
mod open;
mod predictions;
mod row;
mod schema;
mod store;
mod stored;
mod summary;
#[cfg(test)]
#[path = "../tests/support/mod.rs"]
mod support;

pub use export::{csv_text, from_json, to_csv, to_json};
pub use import::{IMPORT_LIMIT_BYTES, ImportFile, ImportOptions, Imports, import};
pub use input::open_regular;
pub use open::default_path;
pub use store::Store;
pub use summary::{StudySummary, SubjectSummary};
