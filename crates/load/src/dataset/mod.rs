//! The files that are copied, whichever way that is done: those of a directory of the client's, or files
//! that are generated.
//!
//! What is known of a file is its size and the directory that it is in. Its bytes are made or read a span
//! at a time ([`Content`](crate::Content)), by its number.

mod file_set;
mod manifest;
pub(crate) mod shape;

pub use file_set::FileSet;
pub use manifest::Manifest;

use crate::content::{Content, LocalFiles};
use plimsoll_model::{DataSource, Dataset, Failure};
use std::sync::Arc;

/// The files of a dataset, and their bytes.
///
/// # Errors
/// A directory that cannot be listed; sizes that no file set can have.
pub(crate) fn open(dataset: &Dataset) -> Result<(Arc<dyn FileSet>, Content), Failure> {
    match &dataset.source {
        DataSource::Directory { data } => {
            let files = Arc::new(LocalFiles::list(data)?);
            Ok((files.clone(), Content::of_files(files)))
        }
        DataSource::Generated(data) => {
            let manifest = Manifest::new(dataset, data)?;
            Ok((Arc::new(manifest), Content::of_generated(data.seed, data.class.is_text())))
        }
    }
}
