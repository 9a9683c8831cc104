//! Keeping studies: a SQLite store that loses at most the trial under way, and the export
//! formats. Writing is done by the one who conducts a study; reading by everything that shows one.
#![forbid(unsafe_code)]

mod document;
mod export;
mod open;
mod row;
mod store;
mod summary;
#[cfg(test)]
#[path = "../tests/support/mod.rs"]
mod support;
mod trouble;

pub use export::{from_json, to_csv, to_json};
pub use open::default_path;
pub use store::Store;
pub use summary::StudySummary;
