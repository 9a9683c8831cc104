//! What is known of one part of a host, and how that becomes a section of a report.

use super::bars;
use super::host::DISTURBED;
use crate::columns::Columns;
use crate::document::{self, Layout};
use crate::figure::Kind;
use crate::text::capital;
use plimsoll_model::device::Part;

/// A stretch under a heading.
#[derive(Debug, Default)]
pub(super) struct Section {
    /// Unique on the page.
    pub(super) id: &'static str,
    pub(super) heading: &'static str,
    /// What to know before reading the figures.
    pub(super) remarks: Vec<String>,
    /// Names and what is known of them.
    pub(super) facts: Vec<(String, String)>,
    pub(super) table: Columns,
    pub(super) bars: Vec<BarGroup>,
    /// What follows from the figures.
    pub(super) claims: Vec<String>,
    /// What is missing or odd.
    pub(super) warnings: Vec<String>,
    /// What could not be measured: "could not ...".
    pub(super) failures: Vec<String>,
}

/// Bars of one kind, from zero, so that they may be compared.
#[derive(Debug)]
pub(super) struct BarGroup {
    /// The name of the chart's file, unique on the page.
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// What the bars show.
    pub(super) axis: &'static str,
    pub(super) kind: Kind,
    /// Label, value, and whether it is this device's or a published one's.
    pub(super) bars: Vec<(String, f64, Whose)>,
    pub(super) caption: String,
}

/// Whose figure a bar is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    Device,
    Published,
}

impl Section {
    pub(super) fn new(id: &'static str, heading: &'static str) -> Section {
        Section { id, heading, ..Section::default() }
    }

    /// The same in a report, under this name and heading.
    pub(super) fn reported(&self, id: String, heading: String) -> document::Section {
        let mut section = document::Section::details(id, heading);
        section.texts(self.remarks.iter().cloned());
        section.facts(self.facts.clone());
        section.table(self.table.table(), Layout::Figures);
        section.texts(footnote(&self.table));
        section.figures(self.bars.iter().map(bars::figure));
        section.texts(self.claims.iter().cloned());
        self.warnings.iter().for_each(|warning| section.warning(warning));
        self.failures.iter().for_each(|failure| section.warning(capital(failure)));
        section
    }

    /// Whether there is nothing to be said.
    pub(super) fn is_empty(&self) -> bool {
        self.remarks.is_empty()
            && self.facts.is_empty()
            && self.table.rows.is_empty()
            && self.claims.is_empty()
            && self.warnings.is_empty()
            && self.failures.is_empty()
    }

    /// Adds a fact, if it is known.
    pub(super) fn fact(&mut self, name: &str, value: Option<String>) {
        self.facts.extend(value.filter(|v| !v.is_empty()).map(|value| (name.to_owned(), value)));
    }
}

/// The heading of a part.
pub(super) fn heading(part: Part) -> &'static str {
    match part {
        Part::Inventory => "Inventory",
        Part::Cpu => "CPU",
        Part::Memory => "Memory",
        Part::Crypto => "Cryptography",
        Part::Disk => "Disk",
    }
}

/// What the mark of disturbed figures means, where one in the table has it.
pub(super) fn footnote(table: &Columns) -> Option<String> {
    let mut cells = table.columns.iter().flat_map(|(_, cells)| cells);
    let marked = cells.any(|cell| cell.ends_with(DISTURBED));
    marked.then(|| format!("{DISTURBED} disturbed; see the warning."))
}

/// What is known of several things, joined: "up, 1 Gbit/s".
pub(super) fn joined(parts: impl IntoIterator<Item = Option<String>>) -> Option<String> {
    let known: Vec<String> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    (!known.is_empty()).then(|| known.join(", "))
}
