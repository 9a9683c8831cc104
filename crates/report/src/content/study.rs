//! The page of one study.

use super::shape::{Content, Method, Warning};
use super::{answer, machines, part, settings};
use crate::device;
use crate::study::{Shown, head, method, warnings};
use crate::text::{listed, printable};
use plimsoll_model::{Study, SubjectFacts};

/// The page of one study. Works for any study: under way, failed, empty.
pub(super) fn study(study: &Study) -> Content {
    let shown = Shown::new(study);
    if let Some(host) = device::only(&shown) {
        return device::content(&host);
    }
    let answer::Answer { answer, further } = answer::answer(&shown);
    let mut parts = vec![answer::verdicts(&shown)];
    let workloads = &shown.findings.workloads;
    parts.extend(workloads.iter().enumerate().map(|(i, found)| part::part(&shown, i, found)));
    parts.extend(machines::parts(&shown));
    parts.extend(device::host_parts(&shown));
    Content {
        title: title(&shown),
        subtitle: head::title(study),
        failure: head::ending(study).map(|(text, reason)| match reason {
            Some(reason) => format!("{text} {reason}"),
            None => text.to_owned(),
        }),
        answer,
        further,
        parts,
        method: Method {
            sentences: method::sentences(&shown),
            tables: settings::tables(&shown),
            commands: vec![printable(&study.plan.command)],
        },
        warnings: warnings::all(&shown).into_iter().map(Warning::from).collect(),
    }
}

fn title(shown: &Shown<'_>) -> String {
    let is_host = |facts: &SubjectFacts| matches!(facts, SubjectFacts::Host(_));
    let only_hosts = !shown.study.subjects.is_empty() && shown.study.subjects.iter().all(is_host);
    match &shown.names.subjects[..] {
        [] => "A study without a subject".to_owned(),
        [one] if shown.names.setups() > 1 => format!("{one} under several settings"),
        [one] if only_hosts => format!("What is {one}?"),
        [one] => format!("How fast is {one}?"),
        few if few.len() <= 4 => format!("{} compared", listed(few)),
        [first, others @ ..] => format!("{first} and {} others compared", others.len()),
    }
}
