//! The studies that are kept.

use crate::date::utc;
use crate::page::Page;
use crate::style::Style;
use crate::text::{counted, printable};
use model::{Ended, Origin};
use record::StudySummary;

/// Every study, two lines each: when, how far, how it ended; and what was measured.
pub fn list(studies: &[StudySummary], style: &Style) -> String {
    let mut page = Page::new(style);
    if studies.is_empty() {
        page.paragraph("No studies yet; plimsoll check makes one.");
    }
    for study in studies {
        let mut facts = vec![utc(study.started_unix_seconds)];
        match &study.origin {
            Origin::Measured { .. } => facts.extend([
                counted(study.blocks.into(), "block"),
                counted(study.complete.into(), "trial"),
            ]),
            Origin::Imported { tool } => facts.extend([
                format!("imported from {}", printable(tool)),
                counted(study.complete.into(), "run"),
            ]),
        }
        if study.incomplete > 0 {
            facts.push(format!("{} failed or stopped", study.incomplete));
        }
        if matches!(study.origin, Origin::Measured { .. }) {
            facts.push(ended(&study.ended).to_owned());
        }
        let id = printable(&study.id.0);
        page.item(&format!("{id}  "), &facts.join(", "));
        let targets: Vec<String> = study.targets.iter().map(|t| printable(t)).collect();
        let patterns: Vec<&str> = study.patterns.iter().map(|p| p.name()).collect();
        let indent = " ".repeat(id.chars().count() + 2);
        page.item(&indent, &targets.join("  "));
        page.item(&indent, &patterns.join(", "));
    }
    page.finish()
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
