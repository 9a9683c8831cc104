//! What the study is and what each target turned out to be.

use super::warnings;
use crate::date::utc;
use crate::device::amount::binary;
use crate::document::Warning;
use crate::text::{listed, printable, shortened, target};
use plimsoll_model::{
    Cause, Ended, Failure, InPlace, Origin, StoredOn, Study, SubjectFacts, TargetFacts,
};

/// Longest address of a target in a line.
const LONGEST: usize = 40;

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
        study.plan.clients().map(|host| printable(&host.to_string())).collect();
    match study.plan.is_remote() {
        true => format!(", measured from {}", listed(&clients)),
        false => String::new(),
    }
}

/// What is wrong with how it ended, and what to do, if anything is.
pub(crate) fn ending(study: &Study) -> Option<Warning> {
    let text = match &study.ended {
        Ended::Done | Ended::CapReached => return None,
        Ended::Open => "The study is still running, or was killed",
        Ended::Interrupted => "The study was interrupted, so its results are partial",
        Ended::Failed { failure } => {
            let Failure { cause, tried, on, happened, next, .. } = failure;
            let text =
                |tried: &str| printable(&format!("The study stopped: {happened}{tried} ({on})"));
            let advice = super::advised(study, next);
            let whole = text(&format!("; could not {tried}"));
            // Where a host is gone, it matters less what was tried.
            let brief = match cause {
                Cause::Unreachable => warnings::brief_or(&whole, &text(""), advice.as_deref()),
                _ => String::new(),
            };
            return Some(Warning { text: whole, advice, brief, ..Warning::default() });
        }
    };
    Some(Warning { text: text.to_owned(), ..Warning::default() })
}

/// What a subject turned out to be.
pub(crate) fn described(facts: &SubjectFacts) -> String {
    match (facts.storage(), facts.host()) {
        (Some(facts), _) => storage(facts),
        (_, Some(facts)) => crate::device::subtitle(facts),
        (None, None) => {
            let mut text = vec![target(facts.given())];
            text.extend(facts.described().iter().map(|(_, value)| printable(value)));
            text.retain(|part| !part.is_empty());
            text.join("; ")
        }
    }
}

/// The protocol of the only subject, if it speaks one. The title has it.
pub(crate) fn only_protocol(subjects: &[SubjectFacts]) -> Option<String> {
    let [only] = subjects else { return None };
    let protocol = printable(&only.storage()?.protocol.to_string());
    Some(protocol).filter(|protocol| !protocol.is_empty())
}

/// A subject in a line: what it is and, unless it is the only one, what it speaks.
pub(crate) fn in_brief(facts: &SubjectFacts, is_only: bool) -> String {
    if let Some(facts) = facts.host() {
        let text = crate::device::subtitle(facts);
        let known = text.strip_prefix(&format!("{}: ", printable(&facts.given)));
        return known.map_or(text.clone(), str::to_owned);
    }
    let Some(facts) = facts.storage() else { return described(facts) };
    let mut text = vec![shortened(&target(&facts.given), LONGEST)];
    let protocol = printable(&facts.protocol.to_string());
    text.extend(Some(protocol).filter(|part| !is_only && !part.is_empty()));
    text.extend(facts.in_place.as_ref().map(in_place));
    text.join("; ")
}

fn storage(facts: &TargetFacts) -> String {
    let protocol = printable(&facts.protocol.to_string());
    let parts = [target(&facts.given), protocol, printable(&facts.engine)];
    let mut text: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
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
        StoredOn::ClientMemory => "reads come from client memory",
        StoredOn::ServerMemory => "reads come from server memory",
        StoredOn::Disk => "reads come from disk",
        StoredOn::Unknown => "reads come from memory or disk: unknown",
    }
}
