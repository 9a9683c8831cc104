//! `plimsoll advise`: which changes would help most, and which would not.

use crate::arguments::{DocumentArguments, StoreArguments};
use crate::{explain, output, predict};
use clap::{Args, ValueEnum};
use plimsoll_explain::whatif::Purpose;
use plimsoll_model::{Cause, Failure};
use plimsoll_report::Document;

#[derive(Args)]
pub struct AdviseArguments {
    /// Study: its id, the start of its id, 'latest', or an exported file
    #[arg(value_name = "STUDY", default_value = "latest")]
    pub study: String,
    /// Consider only the work that this purpose needs
    #[arg(long = "for", value_name = "PURPOSE", value_enum)]
    pub purpose: Option<PurposeChoice>,
    #[command(flatten)]
    pub output: DocumentArguments,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PurposeChoice {
    /// Sequential reads, copies of films from the server
    Films,
    /// Sequential writes, copies to the server
    Backup,
    /// Reads, copies of pictures
    Photos,
    /// Random reads and writes, directory scans, log records, copies of source code
    Office,
}

impl From<PurposeChoice> for Purpose {
    fn from(choice: PurposeChoice) -> Purpose {
        match choice {
            PurposeChoice::Films => Purpose::Films,
            PurposeChoice::Backup => Purpose::Backup,
            PurposeChoice::Photos => Purpose::Photos,
            PurposeChoice::Office => Purpose::Office,
        }
    }
}

/// Advises.
pub fn run(advise: &AdviseArguments, arguments: &StoreArguments) -> Result<u8, Failure> {
    let name = &advise.study;
    if let Some(source) = explain::source(name) {
        let next = format!("Predict one change: plimsoll predict {} --link 2.5G.", source.key);
        let failure = Failure::new(Cause::Usage, "advise on changes").on(name);
        return Err(failure
            .happened("published rows have no settings that can be tried")
            .next(next));
    }
    let study = predict::study(name, arguments)?;
    let document = Document::advising(&study, advise.purpose.map(Purpose::from));
    output::document(&document, &advise.output)
}
