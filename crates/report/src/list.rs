//! The studies that are kept.

use crate::date::utc;
use crate::style::Style;
use crate::text::{counted, printable, target, width, wrapped};
use plimsoll_model::{Ended, Origin};
use plimsoll_record::{StudySummary, SubjectSummary};

/// Every study kept, in the order begun: when, how far, how it ended, and what was measured of what.
pub fn list(studies: &[StudySummary], style: &Style) -> String {
    let mut page = String::new();
    let columns = style.columns();
    if studies.is_empty() {
        page.push_str(&wrapped("", "No studies yet. To create one, run plimsoll check.", columns));
    }
    for study in studies {
        let once = single_block(study);
        let mut facts = vec![utc(study.started_unix_seconds)];
        match &study.origin {
            Origin::Measured { .. } => match once {
                Some(name) => facts.push(name.to_owned()),
                None => facts.extend([
                    counted(study.blocks.into(), "block"),
                    counted(study.complete.into(), "trial"),
                ]),
            },
            Origin::Imported { tool } => facts.extend([
                format!("imported from {}", printable(tool)),
                counted(study.complete.into(), "run"),
            ]),
        }
        if study.incomplete > 0 && once.is_none() {
            facts.push(format!("{} failed or stopped", study.incomplete));
        }
        if matches!(study.origin, Origin::Measured { .. }) {
            facts.push(match study.ended {
                Ended::Done if once.is_some() && study.incomplete > 0 => "partial".to_owned(),
                _ => ended(&study.ended).to_owned(),
            });
        }
        let id = printable(&study.id.0);
        page.push_str(&wrapped(&format!("{id}  "), &facts.join(", "), columns));
        let subjects: Vec<String> = study.subjects.iter().map(subject).collect();
        let indent = " ".repeat(width(&id) + 2);
        page.push_str(&wrapped(&indent, &subjects.join("  "), columns));
        if !study.jobs.is_empty() {
            page.push_str(&wrapped(&indent, &study.jobs.join(", "), columns));
        }
    }
    page
}

/// Name of a study of one block whose subjects have one; `None` of others.
fn single_block(study: &StudySummary) -> Option<&'static str> {
    let name = |subject: &SubjectSummary| subject.kind?.info().single_block;
    let mut names = study.subjects.iter().map(name);
    let first = names.next()??;
    (study.blocks <= 1 && names.all(|other| other == Some(first))).then_some(first)
}

/// "nfs://nas/volume1", "ssh://router: TP-Link TL-WR1043ND v1".
fn subject(subject: &SubjectSummary) -> String {
    match &subject.model {
        Some(model) => format!("{}: {}", target(&subject.given), printable(model)),
        None => target(&subject.given),
    }
}

fn ended(ended: &Ended) -> &'static str {
    match ended {
        Ended::Open => "not ended",
        Ended::Done => "done",
        Ended::CapReached => "time cap reached",
        Ended::Interrupted => "interrupted",
        Ended::Failed { .. } => "failed",
    }
}
