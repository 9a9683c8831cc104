//! `plimsoll explain`: what binds, and why.

use crate::arguments::{DocumentArguments, StoreArguments};
use crate::{output, store};
use clap::Args;
use plimsoll_config::nearest;
use plimsoll_model::{Failure, Study, SubjectFacts, SubjectKind};
use plimsoll_references::{SOURCES, Source, tables};
use plimsoll_report::{Document, RecordedDevice};

#[derive(Args)]
pub struct ExplainArguments {
    /// Study (its id, the start of its id, or 'latest'), or source of published tables (plimsoll references)
    #[arg(value_name = "STUDY|SOURCE")]
    pub subject: String,
    #[command(flatten)]
    pub output: DocumentArguments,
}

/// Explains it.
pub fn run(explain: &ExplainArguments, arguments: &StoreArguments) -> Result<u8, Failure> {
    let document = match source(&explain.subject) {
        Some(source) => Document::of_source(source, tables()),
        None => {
            let study = study(&explain.subject, arguments)?;
            Document::explaining(&study, &devices(&study, arguments)?)
        }
    };
    output::document(&document, &explain.output)
}

/// A source of published tables, by its own name or that of one of its tables.
pub fn source(name: &str) -> Option<&'static Source> {
    let key = plimsoll_references::table(name).map_or(name, |table| table.source());
    plimsoll_references::source(key)
}

/// What is known of the hosts of a study by themselves: the latest that was measured of each.
pub fn devices(study: &Study, arguments: &StoreArguments) -> Result<Vec<RecordedDevice>, Failure> {
    let store = store::open(arguments)?;
    let mut summaries = store.list()?;
    summaries.retain(|summary| {
        summary.subjects.iter().any(|subject| {
            let own = study.hosts.iter().any(|host| host.name == subject.given);
            own && subject.kind == Some(SubjectKind::Host)
        })
    });
    let mut devices: Vec<RecordedDevice> = Vec::new();
    for summary in summaries.iter().rev() {
        let whole = store.load(&summary.id.0)?;
        for subject in whole.subjects {
            if let SubjectFacts::Host(facts) = subject
                && study.hosts.iter().any(|host| host.name == facts.given)
                && devices.iter().all(|known| known.facts.given != facts.given)
            {
                devices.push(RecordedDevice { study: whole.id.clone(), facts: *facts });
            }
        }
    }
    Ok(devices)
}

/// A study; where there is none of that name, a source may have been meant.
pub fn study(name: &str, arguments: &StoreArguments) -> Result<Study, Failure> {
    let known: Vec<&str> = SOURCES.iter().map(|source| source.key).collect();
    store::open(arguments)?.load(name).map_err(|failure| {
        let next =
            format!("{} Or name a published source. {}", failure.next, nearest(name, &known));
        Failure { next, ..failure }
    })
}
