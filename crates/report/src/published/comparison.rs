//! A study beside what a source published, where both have the same.

use crate::columns::Columns;
use crate::device;
use crate::document::{Document, Layout, Section};
use crate::sections::{
    compared_copies, compared_films, published_gains, published_rates, published_sizes,
};
use crate::study::{Shown, head};
use crate::text::printable;
use plimsoll_model::Study;
use plimsoll_references::{Source, of_source};

impl Document {
    /// The figures of a study beside those of a source that correspond: devices and paths beside platforms, copies
    /// beside copies, films beside films, patterns beside patterns. Where none does it says so, and what the source
    /// has.
    pub fn compared_with_source(study: &Study, source: &Source) -> Document {
        let shown = Shown::new(study);
        let mut sections = match source.key {
            "kofler2011" => {
                let mut sections = device::platform_comparisons(&shown);
                sections.push(published_sizes(&shown));
                sections.push(published_gains(&shown));
                sections.push(published_rates(&shown));
                sections
            }
            "puskas2017" => vec![compared_copies(&shown), compared_films(&shown)],
            "jonfk2024" => vec![super::patterns::section(&shown)],
            _ => Vec::new(),
        };
        sections.retain(|section| !section.items.is_empty());
        for section in &mut sections {
            section.details = false;
        }
        if sections.is_empty() {
            sections.push(nothing(source));
        }
        let title = format!("{} compared with {}", printable(&study.id.0), source.key);
        Document { title, subtitle: head::title(study), extent: String::new(), sections }
    }
}

fn nothing(source: &Source) -> Section {
    let mut section = Section::new("answer", "");
    section.text(format!(
        "No figure of this study can be compared with a figure of {}, which has:",
        source.key
    ));
    let mut table = Columns::with_headings(["contents"]);
    for published in of_source(source.key) {
        table.row(&published.name, [published.holds.clone()]);
    }
    section.table(table.table(), Layout::Words);
    section.command(
        "Rows of a table",
        format!("plimsoll references show {}", source.key),
        String::new(),
    );
    section
}
