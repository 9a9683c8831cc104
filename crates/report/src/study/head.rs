//! What the study is and what each target turned out to be.

use super::Shown;
use crate::date::utc;
use crate::page::Page;
use crate::text::printable;
use model::{Ended, Origin, StoredOn, TargetFacts};

pub(super) fn add(page: &mut Page, shown: &Shown<'_>) {
    let study = shown.study;
    let origin = match &study.origin {
        Origin::Measured { version } => format!("plimsoll {}", printable(version)),
        Origin::Imported { tool } => format!("imported from {}", printable(tool)),
    };
    let id = printable(&study.id.0);
    page.heading(&format!("Study {id} of {} ({origin})", utc(study.started_unix_seconds)));
    for (i, name) in shown.names.iter().enumerate() {
        match study.targets.get(i) {
            Some(facts) => page.item(&format!("  {name}: "), &described(facts)),
            None => page.item(&format!("  {name}: "), "was not reached"),
        }
    }
    match &study.ended {
        Ended::Done | Ended::CapReached => {}
        Ended::Open => page.warning("", "It did not end: it is under way, or was killed."),
        Ended::Interrupted => page.warning("", "It was interrupted; the results are partial."),
        Ended::Failed { failure } => {
            page.warning("", "It was given up:");
            page.warning("  ", &super::warnings::told(failure));
        }
    }
}

fn described(facts: &TargetFacts) -> String {
    let mut parts = vec![&facts.given, &facts.protocol, &facts.engine];
    parts.retain(|part| !part.is_empty());
    let mut text: Vec<String> = parts.into_iter().map(|part| printable(part)).collect();
    if let Some(from) = facts.reads_from {
        text.push(reads_from(from).to_owned());
    }
    text.extend(facts.notes.iter().map(|note| printable(note)));
    text.join("; ")
}

/// Where reads came from, in words.
pub(super) fn reads_from(from: StoredOn) -> &'static str {
    match from {
        StoredOn::ServerMemory => "reads come from server memory",
        StoredOn::Disk => "reads come from disk",
        StoredOn::Unknown => "reads come from server memory or disk: unknown",
    }
}
