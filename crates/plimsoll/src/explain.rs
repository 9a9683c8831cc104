//! `plimsoll explain`: what binds, and why.

use crate::arguments::{DocumentArguments, StoreArguments};
use crate::{output, store};
use clap::Args;
use plimsoll_config::nearest;
use plimsoll_model::{Failure, Study, SubjectFacts, printable};
use plimsoll_record::StudyStore;
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
            let store = store::open(arguments)?;
            let study = study(&explain.subject, &store)?;
            Document::explaining(&study, &devices(&study, &store)?)
        }
    };
    output::document(&document, &explain.output)
}

/// A source of published tables, by its own name or that of one of its tables.
pub fn source(name: &str) -> Option<&'static Source> {
    let key = plimsoll_references::table(name).map_or(name, |table| table.source());
    plimsoll_references::source(key)
}

/// What is known of the hosts of a study by themselves: the latest that was measured of each. A study that cannot be
/// read is left out, with a warning.
pub fn devices(study: &Study, store: &dyn StudyStore) -> Result<Vec<RecordedDevice>, Failure> {
    let mut devices: Vec<RecordedDevice> = Vec::new();
    let (readable, unreadable): (Vec<_>, Vec<_>) =
        store.each_head()?.into_iter().partition(Result::is_ok);
    let unreadable: Vec<Failure> = unreadable.into_iter().filter_map(Result::err).collect();
    if let Some(warning) = left_out(&unreadable) {
        output::complain(&warning);
    }
    for head in readable.into_iter().flatten().rev() {
        for subject in head.subjects {
            if let SubjectFacts::Host(facts) = subject
                && study.hosts.iter().any(|host| host.name == *facts.given)
                && devices.iter().all(|known| known.facts.given != facts.given)
            {
                devices.push(RecordedDevice { study: head.id.clone(), facts: *facts });
            }
        }
    }
    Ok(devices)
}

/// The warning of studies that cannot be read: it names the first, and counts the others.
fn left_out(unreadable: &[Failure]) -> Option<String> {
    let (first, others) = unreadable.split_first()?;
    let others = match others.len() {
        0 => String::new(),
        1 => " Another study could not be read either.".to_owned(),
        many => format!(" {many} other studies could not be read either."),
    };
    Some(format!(
        "plimsoll: warning: could not {}: {}.{others} Devices that they measured are left out.",
        printable(&first.tried),
        printable(&first.happened)
    ))
}

/// A study; where there is none of that name, a source may have been meant.
pub fn study(name: &str, store: &dyn StudyStore) -> Result<Study, Failure> {
    let known: Vec<&str> = SOURCES.iter().map(|source| source.key).collect();
    store.load(name).map_err(|failure| {
        let next =
            format!("{} Or name a published source. {}", failure.next, nearest(name, &known));
        Failure { next, ..failure }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::device::Device;
    use plimsoll_model::{
        BoxFacts, Design, Ended, HostFacts, HostSubject, Origin, Plan, SCHEMA, StudyId,
    };
    use plimsoll_record::MemoryStore;

    /// A study of a host.
    fn measured(id: &str, started_unix_seconds: u64, host: &str) -> Study {
        let subject = HostSubject { host: host.parse().unwrap() }.into();
        let name = || host.to_owned();
        let facts = BoxFacts { label: name(), given: name(), device: Device::default() };
        Study {
            schema: SCHEMA.to_owned(),
            id: StudyId(id.to_owned()),
            started_unix_seconds,
            origin: Origin::Measured { version: "test".to_owned() },
            plan: Plan::new(vec![subject], Vec::new(), Design::default()),
            subjects: vec![SubjectFacts::Host(Box::new(facts))],
            hosts: vec![HostFacts { name: host.parse().unwrap(), ..HostFacts::default() }],
            flags: Vec::new(),
            measures: Vec::new(),
            trials: Vec::new(),
            ended: Ended::Done,
        }
    }

    #[test]
    fn the_latest_figures_of_a_host_are_found_without_a_whole_study() {
        let store = MemoryStore::default();
        let studies = [("aa", 3, "ssh://nas"), ("bb", 1, "ssh://nas"), ("cc", 2, "ssh://router")];
        for (id, started, host) in studies {
            store.begin(&measured(id, started, host)).unwrap();
        }
        store.set_damaged(true);
        let found = devices(&measured("dd", 4, "ssh://nas"), &store).unwrap();
        let found: Vec<&str> = found.iter().map(|device| device.study.0.as_str()).collect();
        assert_eq!(found, ["aa"]);
    }
}
