//! The page of one study.

use super::shape::{Content, Method, Warning};
use super::{answer, machines, part, settings};
use crate::study::{Shown, head, method, warnings};
use crate::text::{listed, printable};
use plimsoll_model::Study;

/// The page of one study. Works for any study: under way, failed, empty.
pub(super) fn study(study: &Study) -> Content {
    let shown = Shown::new(study);
    let answer::Answer { answer, further } = answer::answer(&shown);
    let mut parts = vec![answer::verdicts(&shown)];
    let workloads = &shown.findings.workloads;
    parts.extend(workloads.iter().enumerate().map(|(i, found)| part::part(&shown, i, found)));
    parts.extend(machines::parts(&shown));
    let told = |warning: warnings::Warning| {
        let warnings::Warning { text, advice } = warning;
        Warning { text, advice }
    };
    Content {
        title: title(&shown),
        subtitle: head::title(study),
        trouble: head::ending(study).map(|(text, reason)| match reason {
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
        warnings: warnings::all(&shown).into_iter().map(told).collect(),
    }
}

fn title(shown: &Shown<'_>) -> String {
    match &shown.names[..] {
        [] => "A study without a target".to_owned(),
        [one] => format!("How fast is {one}?"),
        few if few.len() <= 4 => format!("{} compared", listed(few)),
        [first, others @ ..] => format!("{first} and {} others compared", others.len()),
    }
}
