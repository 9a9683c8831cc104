//! The tables of a document as CSV (RFC 4180): a row for each cell.

use crate::document::{Document, Item};

impl Document {
    /// Every cell of every table: the section, the row by its first column, the column, the value.
    /// None of them steers a terminal or is a formula.
    pub fn csv(&self) -> String {
        let mut out = csv::Writer::from_writer(Vec::new());
        // Writing into memory does not fail.
        let mut write = |fields: [&str; 4]| {
            let _ = out.write_record(
                fields.map(|field| plimsoll_record::csv_text(field.replace('\n', " ").trim())),
            );
        };
        write(["section", "row", "column", "value"]);
        for section in &self.sections {
            let name = if section.heading.is_empty() { &section.id } else { &section.heading };
            for item in &section.items {
                let Item::Table(table, _) = item.fullest() else { continue };
                for row in &table.rows {
                    let Some((of, cells)) = row.split_first() else { continue };
                    for (column, value) in table.header.iter().skip(1).zip(cells) {
                        write([name, of, column, value]);
                    }
                }
            }
        }
        String::from_utf8(out.into_inner().unwrap_or_default()).unwrap_or_default()
    }
}
