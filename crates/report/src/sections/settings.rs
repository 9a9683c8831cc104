//! What everything was: subjects, machines, program.

use crate::chart::Table;
use crate::device;
use crate::study::operations::advertised;
use crate::study::{Shown, head};
use crate::text::printable;
use plimsoll_model::units::{Bytes, GIB, three_digits};
use plimsoll_model::{
    BoxFacts, HostFacts, Origin, SubjectFacts, SubjectKind, TargetFacts, WatchedBy, with_letters,
};

/// Targets up to which each is a column.
const COLUMNS: usize = 4;

pub(super) fn tables(shown: &Shown<'_>) -> Vec<(String, Table)> {
    let study = shown.study;
    let mut tables = Vec::new();
    let named = || shown.names.subjects.iter().cloned().zip(&study.subjects);
    // With what the disks of watched servers tell of reads.
    let known = |(subject, (name, facts)): (usize, (String, &SubjectFacts))| {
        let reads_from = plimsoll_explain::reads_from(study, subject);
        Some((name, TargetFacts { reads_from, ..facts.storage()?.clone() }))
    };
    let storage: Vec<(String, TargetFacts)> = named().enumerate().filter_map(known).collect();
    let storage = storage.iter().map(|(name, facts)| (name.clone(), facts));
    tables.extend(table("Targets", storage, &TARGET));
    // Kinds without words of their own here.
    for kind in SubjectKind::ALL {
        let own = |facts: &SubjectFacts| facts.storage().is_none() && facts.host().is_none();
        let facts = named().filter(|(_, facts)| facts.kind() == *kind && own(facts));
        tables.extend(described(kind.info().plural, facts));
    }
    let hosts = named().filter_map(|(name, facts)| Some((name, facts.host()?)));
    tables.extend(table("Hosts", hosts, &BY_ITSELF));
    let machines = study.hosts.iter().map(|host| (printable(&host.name.to_string()), host));
    tables.extend(table("Machines", machines, &HOST));
    let mut program = Table::new(vec![String::new(), String::new()]);
    let origin = match &study.origin {
        Origin::Measured { version } => ("plimsoll", printable(version)),
        Origin::Imported { tool } => ("imported from", printable(tool)),
    };
    let rows = [
        origin,
        ("schema", printable(&study.schema)),
        ("study", printable(&study.id.0)),
        ("seed of order, offsets and content", study.plan.design.seed.to_string()),
    ];
    program.rows.extend(rows.into_iter().map(|(what, value)| vec![what.to_owned(), value]));
    tables.push(("Program".to_owned(), program));
    tables
}

/// What is known of a thing, by name; `None` where there is nothing to say.
type Fact<T> = (&'static str, fn(&T) -> Option<String>);

const TARGET: [Fact<TargetFacts>; 12] = [
    ("as given", |t| known(&with_letters(&t.given))),
    ("protocol", |t| known(&t.protocol.to_string())),
    ("client", |t| known(&t.engine)),
    ("largest read", |t| size(t.read_size_bytes)),
    ("largest write", |t| size(t.write_size_bytes)),
    ("advertised sizes", |t| advertised(&t.advertised)),
    ("client cache", |t| known(&t.client_cache)),
    ("writes", |t| known(&t.stability)),
    ("reads", |t| t.reads_from.map(|from| head::reads_from(from).to_owned())),
    ("file", |t| t.in_place.as_ref().map(head::in_place)),
    ("mount options", |t| t.mount_options.as_deref().and_then(known)),
    ("notes", |t| known(&t.notes.join("; "))),
];

const BY_ITSELF: [Fact<BoxFacts>; 2] =
    [("as given", |b| known(&b.given)), ("description", |b| known(&device::subtitle(b)))];

const HOST: [Fact<HostFacts>; 6] = [
    ("kernel", |h| known(&h.kernel)),
    ("CPU", |h| known(&h.cpu_model)),
    ("cores", |h| Some(h.cpus.to_string())),
    ("memory", |h| Some(amount(h.memory_bytes))),
    ("CPU accounting", |h| known(&h.cpu_accounting)),
    ("monitored by", |h| h.watched_by.map(watcher)),
];

fn watcher(by: WatchedBy) -> String {
    match by {
        WatchedBy::Proc => "plimsoll itself",
        WatchedBy::Shell => "a shell on the host",
        WatchedBy::Probe => "the probe on the host",
    }
    .to_owned()
}

fn known(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| printable(text))
}

fn size(bytes: u32) -> Option<String> {
    (bytes > 0).then(|| Bytes(bytes.into()).to_string())
}

/// "15.6 GiB".
fn amount(bytes: u64) -> String {
    format!("{} GiB", three_digits(bytes as f64 / GIB as f64))
}

/// A table with a column a thing where there are few, else with a row a thing; `None` without things.
fn table<'a, T: 'a>(
    title: &str,
    named: impl Iterator<Item = (String, &'a T)>,
    facts: &[Fact<T>],
) -> Option<(String, Table)> {
    let (names, things): (Vec<String>, Vec<&T>) = named.unzip();
    let facts =
        facts.iter().map(|(fact, of)| (*fact, things.iter().map(|thing| of(thing)).collect()));
    (!things.is_empty()).then(|| (title.to_owned(), of_facts(names, facts)))
}

/// The same of subjects that describe themselves.
fn described<'a>(
    title: &str,
    named: impl Iterator<Item = (String, &'a SubjectFacts)>,
) -> Option<(String, Table)> {
    let (names, subjects): (Vec<String>, Vec<&SubjectFacts>) = named.unzip();
    let first = subjects.first()?;
    let given: Vec<Option<String>> = subjects.iter().map(|facts| known(facts.given())).collect();
    // Subjects of one kind have the same facts in the same order.
    let facts = first.described().into_iter().enumerate().map(|(place, (fact, _))| {
        let value = |facts: &&SubjectFacts| known(&facts.described().get(place)?.1);
        (fact, subjects.iter().map(value).collect::<Vec<_>>())
    });
    Some((title.to_owned(), of_facts(names, std::iter::once(("as given", given)).chain(facts))))
}

/// A table of facts, each with its values by the names.
fn of_facts<'a>(
    names: Vec<String>,
    facts: impl Iterator<Item = (&'a str, Vec<Option<String>>)>,
) -> Table {
    let things = names.len();
    let known: Vec<(&str, Vec<String>)> = facts
        .filter(|(_, values)| values.iter().any(Option::is_some))
        .map(|(what, values)| {
            (what, values.into_iter().map(|v| v.unwrap_or_else(|| "–".to_owned())).collect())
        })
        .collect();
    if things <= COLUMNS {
        let mut table = Table::new(std::iter::once(String::new()).chain(names).collect());
        table.rows.extend(
            known
                .into_iter()
                .map(|(what, values)| std::iter::once(what.to_owned()).chain(values).collect()),
        );
        return table;
    }
    let header = std::iter::once("").chain(known.iter().map(|(what, _)| *what));
    let mut table = Table::new(header.map(str::to_owned).collect());
    table.rows.extend(names.into_iter().enumerate().map(|(i, name)| {
        std::iter::once(name).chain(known.iter().map(|(_, values)| values[i].clone())).collect()
    }));
    table
}
