//! Keeping studies: a SQLite store that loses at most the trial under way, the export formats, and the
//! import of results from elsewhere. Whoever writes or reads studies knows only [`StudyStore`].
#![forbid(unsafe_code)]

mod document;
mod export;
mod failures;
#[doc(hidden)]
pub mod fuzzing;
mod import;
mod input;
mod lookup;
mod memory;
mod open;
mod predictions;
mod row;
mod schema;
mod store;
mod stored;
mod study_store;
mod summary;
#[cfg(test)]
#[path = "../tests/support/mod.rs"]
mod support;

pub use export::{csv_text, from_json, to_csv, to_json};
pub use import::{IMPORT_LIMIT_BYTES, ImportFile, ImportOptions, Imports, import};
pub use input::open_regular;
pub use memory::MemoryStore;
pub use open::default_path;
pub use store::Store;
pub use study_store::StudyStore;
pub use summary::{StudySummary, SubjectSummary};
