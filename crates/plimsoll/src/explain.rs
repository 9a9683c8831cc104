//! `plimsoll explain`: what binds, and why.

use crate::arguments::{DocumentArguments, StoreArguments};
use crate::{output, store};
use clap::Args;
use plimsoll_config::nearest;
use plimsoll_model::{Failure, Study};
use plimsoll_references::{SOURCES, Source, tables};
use plimsoll_report::Document;

#[derive(Args)]
pub struct ExplainArguments {
    /// A study, by its id, the beginning of that, or 'latest'; or a source of published tables (plimsoll
    /// references has them all)
    #[arg(value_name = "STUDY|SOURCE")]
    pub subject: String,
    #[command(flatten)]
    pub output: DocumentArguments,
}

/// Explains it.
pub fn run(explain: &ExplainArguments, arguments: &StoreArguments) -> Result<u8, Failure> {
    let document = match source(&explain.subject) {
        Some(source) => Document::of_source(source, tables()),
        None => Document::explaining(&study(&explain.subject, arguments)?),
    };
    output::document(&document, &explain.output)
}

/// A source of published tables, by its own name or that of one of its tables.
fn source(name: &str) -> Option<&'static Source> {
    let key = plimsoll_references::table(name).map_or(name, |table| table.source());
    plimsoll_references::source(key)
}

/// A study; where there is none of that name, a source may have been meant.
fn study(name: &str, arguments: &StoreArguments) -> Result<Study, Failure> {
    let known: Vec<&str> = SOURCES.iter().map(|source| source.key).collect();
    store::open(arguments)?.load(name).map_err(|failure| {
        let next = format!("{} Of published sources: {}", failure.next, nearest(name, &known));
        Failure { next, ..failure }
    })
}
