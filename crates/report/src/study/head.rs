//! What the study is and what each target turned out to be.

use super::Shown;
use crate::date::utc;
use crate::device::amount::binary;
use crate::page::Page;
use crate::text::{listed, printable};
use plimsoll_model::{Ended, InPlace, Origin, StoredOn, Study, SubjectFacts, TargetFacts};

/// "Study 5eed0001 of 2025-10-09 08:53 UTC (plimsoll 0.1.0)".
pub(crate) fn title(study: &Study) -> String {
    let origin = match &study.origin {
        Origin::Measured { version } => format!("plimsoll {}", printable(version)),
        Origin::Imported { tool } => format!("imported from {}", printable(tool)),
    };
    let id = printable(&study.id.0);
    format!("Study {id} of {} ({origin}){}", utc(study.started_unix_seconds), driven_from(study))
}

/// ", driven from ssh://me@client"; empty where it was this machine.
pub(crate) fn driven_from(study: &Study) -> String {
    let clients: Vec<String> =
        study.plan.clients.iter().map(|host| printable(&host.to_string())).collect();
    match clients.is_empty() {
        true => String::new(),
        false => format!(", driven from {}", listed(&clients)),
    }
}

/// What is wrong with how it ended, and why, if anything is.
pub(crate) fn ending(study: &Study) -> Option<(&'static str, Option<String>)> {
    match &study.ended {
        Ended::Done | Ended::CapReached => None,
        Ended::Open => Some(("It did not end: it is under way, or was killed.", None)),
        Ended::Interrupted => Some(("It was interrupted; the results are partial.", None)),
        Ended::Failed { failure } => {
            Some(("It was given up:", Some(super::warnings::failure(failure))))
        }
    }
}

pub(super) fn add(page: &mut Page, shown: &Shown<'_>) {
    let study = shown.study;
    page.heading(&title(study));
    for (i, name) in shown.names.subjects.iter().enumerate() {
        match study.subjects.get(i) {
            Some(facts) => page.item(&format!("  {name}: "), &described(facts)),
            None => page.item(&format!("  {name}: "), "was not reached"),
        }
    }
    if let Some((text, reason)) = ending(study) {
        page.warning("", text);
        reason.iter().for_each(|reason| page.warning("  ", reason));
    }
}

/// What a subject turned out to be.
fn described(facts: &SubjectFacts) -> String {
    match facts {
        SubjectFacts::Storage(facts) => storage(facts),
        SubjectFacts::Path(facts) => {
            let mut text = vec![printable(&facts.given)];
            text.extend(facts.notes.iter().map(|note| printable(note)));
            text.retain(|part| !part.is_empty());
            text.join("; ")
        }
        SubjectFacts::Host(facts) => crate::device::subtitle(facts),
    }
}

fn storage(facts: &TargetFacts) -> String {
    let mut parts = vec![&facts.given, &facts.protocol, &facts.engine];
    parts.retain(|part| !part.is_empty());
    let mut text: Vec<String> = parts.into_iter().map(|part| printable(part)).collect();
    if let Some(from) = facts.reads_from {
        text.push(reads_from(from).to_owned());
    }
    text.extend(facts.in_place.as_ref().map(in_place));
    text.extend(facts.notes.iter().map(|note| printable(note)));
    text.join("; ")
}

/// The file that is read, in words.
pub(crate) fn in_place(read: &InPlace) -> String {
    let file = printable(&read.file);
    format!("reads its file {file} ({}) in place and writes nothing", binary(read.size.0))
}

/// Where reads came from, in words.
pub(crate) fn reads_from(from: StoredOn) -> &'static str {
    match from {
        StoredOn::ServerMemory => "reads come from server memory",
        StoredOn::Disk => "reads come from disk",
        StoredOn::Unknown => "reads come from server memory or disk: unknown",
    }
}
