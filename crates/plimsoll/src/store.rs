//! Commands on the store: list, show, compare, export.

use crate::arguments::{CompareArguments, ExportArguments, ShowArguments, StoreArguments};
use crate::output;
use model::Failure;
use record::Store;
use std::path::Path;

/// Columns of the terminal in a picture of it.
const PICTURE_COLUMNS: usize = 96;

/// Opens the store that the arguments name, or the user's own.
pub fn open(arguments: &StoreArguments) -> Result<Store, Failure> {
    match &arguments.db {
        Some(path) => Store::open(path),
        None => Store::open(&record::default_path()?),
    }
}

/// Prints the studies kept.
pub fn list(arguments: &StoreArguments) -> Result<u8, Failure> {
    let studies = open(arguments)?.list()?;
    output::print(&report::list(&studies, &output::style()))?;
    Ok(0)
}

/// Prints one study as `check` did.
pub fn show(show: &ShowArguments, arguments: &StoreArguments) -> Result<u8, Failure> {
    let study = open(arguments)?.load(&show.study)?;
    match &show.svg {
        Some(path) => {
            let style = report::Style { width: PICTURE_COLUMNS, colour: true };
            output::write(path, &report::picture(&report::study(&study, &style)))?;
        }
        None => output::print(&report::study(&study, &output::style()))?,
    }
    Ok(0)
}

/// Prints two studies side by side.
pub fn compare(compare: &CompareArguments, arguments: &StoreArguments) -> Result<u8, Failure> {
    let store = open(arguments)?;
    let (before, after) = (store.load(&compare.before)?, store.load(&compare.after)?);
    output::print(&report::compare(&before, &after, &output::style()))?;
    Ok(0)
}

/// Writes one study as JSON or CSV.
pub fn export(export: &ExportArguments, arguments: &StoreArguments) -> Result<u8, Failure> {
    let study = open(arguments)?.load(&export.study)?;
    let text = if export.csv { record::to_csv(&study)? } else { record::to_json(&study)? };
    output::write(export.output.as_deref().unwrap_or(Path::new("-")), &text)?;
    Ok(0)
}
