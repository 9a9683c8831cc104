//! The tables that there are, and their rows.

use super::cited;
use crate::chart::Table as Cells;
use crate::columns::Columns;
use crate::document::{Document, Layout, Section};
use crate::text::counted;
use plimsoll_references::{SOURCES, Table, of_source, source};

impl Document {
    /// Every published table, by source.
    pub fn of_references() -> Document {
        let mut sections = Vec::new();
        for source in SOURCES {
            let mut section = Section {
                id: source.key.to_owned(),
                heading: source.key.to_owned(),
                ..cited(source)
            };
            let mut table = Columns::with_headings(["rows", "contents"]);
            for published in of_source(source.key) {
                let rows = published.rows().len().to_string();
                table.row(&published.name, [rows, published.holds.clone()]);
            }
            section.table(table.table(), Layout::Words);
            sections.push(section);
        }
        let mut more = Section::new("more", "");
        more.command(
            "Rows of a table",
            "plimsoll references show puskas2017_transfer".into(),
            String::new(),
        );
        more.command(
            "Explanation of a source",
            "plimsoll explain puskas2017".into(),
            String::new(),
        );
        sections.push(more);
        let (title, none) = ("Published figures".to_owned(), String::new());
        Document { title, subtitle: none.clone(), extent: none, sections }
    }

    /// The rows of some tables of one source.
    pub fn of_tables(tables: &[Table]) -> Document {
        let names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
        let source = tables.first().and_then(|table| source(table.source()));
        let sections = source.map(cited).into_iter().chain(tables.iter().map(section)).collect();
        let (title, none) = (names.join(", "), String::new());
        Document { title, subtitle: none.clone(), extent: none, sections }
    }
}

fn section(table: &Table) -> Section {
    let mut section = Section::new(&table.name, format!("{}: {}", table.name, table.holds));
    section.text(format!("{}.", table.about.trim_end_matches('.')));
    let header = std::iter::once("row").chain(table.columns().iter().map(String::as_str));
    let mut cells = Cells::new(header.map(str::to_owned).collect());
    // Numbered, since no column need be different in every row.
    for (number, row) in table.rows().iter().enumerate() {
        let number = (number + 1).to_string();
        cells.rows.push(std::iter::once(number).chain(row.cells().iter().cloned()).collect());
    }
    match table.rows().is_empty() {
        true => section.text("No row has these values."),
        false => section.text(format!("{}:", counted(table.rows().len() as u64, "row"))),
    }
    section.table(cells, Layout::Figures);
    section
}
