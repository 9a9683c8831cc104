//! The studies and devices that are kept.

use crate::date::utc;
use crate::page::Page;
use crate::style::Style;
use crate::text::{counted, printable};
use plimsoll_model::{Ended, Origin};
use plimsoll_record::{DeviceSummary, StudySummary};

/// Everything kept, in the order begun: a study with when, how far, how it ended, and what was
/// measured; a device with when, how it ended, and what it is.
pub fn list(studies: &[StudySummary], devices: &[DeviceSummary], style: &Style) -> String {
    let mut page = Page::new(style);
    if studies.is_empty() && devices.is_empty() {
        page.paragraph("No studies yet; plimsoll check makes one.");
    }
    let mut devices = devices.iter().peekable();
    for study in studies {
        let before = |d: &&DeviceSummary| d.started_unix_seconds < study.started_unix_seconds;
        while let Some(device) = devices.next_if(before) {
            add_device(&mut page, device);
        }
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
    devices.for_each(|device| add_device(&mut page, device));
    page.finish()
}

fn add_device(page: &mut Page, device: &DeviceSummary) {
    let parts: Vec<&str> = device.parts.iter().map(|part| part.name()).collect();
    let ended = match (&device.ended, device.complete) {
        (Ended::Done, false) => "partial",
        (other, _) => ended(other),
    };
    let facts = [utc(device.started_unix_seconds), "device".to_owned(), ended.to_owned()];
    let id = printable(&device.id.0);
    page.item(&format!("{id}  "), &facts.join(", "));
    let indent = " ".repeat(id.chars().count() + 2);
    let model = device.model.as_deref().map(|model| format!(": {}", printable(model)));
    page.item(&indent, &format!("{}{}", printable(&device.host), model.unwrap_or_default()));
    page.item(&indent, &parts.join(", "));
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
