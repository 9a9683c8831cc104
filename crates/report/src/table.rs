//! Tables that fit: where the columns do not, they are dealt out to several tables.

use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

/// Columns with a heading above each and a row for each of several things. Cells and headings may
/// have several lines.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    /// What the rows are.
    pub(crate) rows: Vec<String>,
    /// Heading, and a cell a row.
    pub(crate) columns: Vec<(String, Vec<String>)>,
}

impl Columns {
    /// As many tables below each other as it takes to stay within `width`, each with the names of
    /// its rows. A single column that is too wide stands alone and overflows.
    pub(crate) fn fitted(&self, width: usize) -> String {
        let mut out = String::new();
        let mut rest = &self.columns[..];
        while !rest.is_empty() {
            // As many tables as it takes, but the columns dealt out evenly: no lone last one.
            let mut tables = 0;
            let mut left = rest;
            while !left.is_empty() {
                left = &left[self.fitting(left, width)..];
                tables += 1;
            }
            let count = rest.len().div_ceil(tables).min(self.fitting(rest, width));
            let table = self.table(&rest[..count]);
            if !out.is_empty() {
                out.push('\n');
            }
            for line in table.lines() {
                out.push_str(line.trim_end());
                out.push('\n');
            }
            rest = &rest[count..];
        }
        out
    }

    /// How many of the first columns fit into one table; at least one.
    fn fitting(&self, columns: &[(String, Vec<String>)], width: usize) -> usize {
        let fits = |n: &usize| *n == 1 || table_width(&self.table(&columns[..*n])) <= width;
        (1..=columns.len()).rev().find(fits).unwrap_or(1)
    }

    fn table(&self, columns: &[(String, Vec<String>)]) -> Table {
        let mut table = Table::new();
        table.load_style(TableStyle::new().header_separator(LineStyle::none().fill('─')));
        table.set_content_arrangement(ContentArrangement::Disabled);
        let right = |text: &str| Cell::new(text).set_alignment(CellAlignment::Right);
        let mut header = vec![Cell::new("")];
        header.extend(columns.iter().map(|(heading, _)| right(heading)));
        table.set_header(header);
        for (i, name) in self.rows.iter().enumerate() {
            let mut row = vec![Cell::new(name)];
            row.extend(columns.iter().map(|(_, cells)| right(cells.get(i).map_or("", |c| c))));
            table.add_row(row);
        }
        for (i, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, if i < columns.len() { GAP } else { 0 }));
        }
        table
    }
}

/// Spaces after every column.
const GAP: u16 = 2;

fn table_width(table: &Table) -> usize {
    let widths = table.column_max_content_widths();
    widths.iter().map(|w| usize::from(w + GAP)).sum::<usize>().saturating_sub(GAP.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_dealt_out_to_as_many_tables_as_needed() {
        let column =
            |name: &str| (name.to_owned(), vec!["12345678\n[1]".to_owned(), String::new()]);
        let columns = Columns {
            rows: vec!["first".into(), "second".into()],
            columns: ["a", "b", "c", "d", "e"].map(column).into(),
        };
        for (width, tables) in [(200, 1), (40, 2), (20, 5), (5, 5)] {
            let text = columns.fitted(width);
            assert_eq!(text.matches("first").count(), tables, "{text}");
            assert_eq!(text.matches("12345678").count(), 5);
            assert!(width < 20 || text.lines().all(|l| l.chars().count() <= width), "{text}");
        }
    }
}
