//! Tables for the terminal: figures right-aligned, words left-aligned; columns that do not fit go into
//! further tables below, which repeat the names of the rows.

use crate::chart::Table;
use crate::document::Layout;
use crate::text::{self, wrapped};
use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table as Text, TableStyle};

/// Spaces after every column, and where one less makes a table of words fit.
const GAP: u16 = 2;
const NARROW_GAP: u16 = 1;

/// As many tables below each other as it takes to stay within `width`, each with the first column.
/// A single column that is too wide stands alone and overflows.
pub(super) fn fitted(table: &Table, layout: Layout, width: usize) -> String {
    let columns: Vec<usize> = (1..table.header.len()).collect();
    if layout == Layout::Words {
        let whole = drawn(table, layout, &columns);
        return match [GAP, NARROW_GAP].into_iter().find(|gap| drawn_width(&whole, *gap) <= width) {
            Some(gap) => lines(whole, gap),
            None => stacked(table, width),
        };
    }
    let facts;
    let table = match layout {
        Layout::Facts if drawn_width(&drawn(table, layout, &columns), GAP) > width => {
            facts = wrapped_cells(table, width);
            &facts
        }
        _ => table,
    };
    let mut out = String::new();
    let mut rest = &columns[..];
    while !rest.is_empty() {
        // As many tables as it takes, but the columns dealt out evenly: no lone last one.
        let mut tables = 0;
        let mut left = rest;
        while !left.is_empty() {
            left = &left[fitting(table, layout, left, width)..];
            tables += 1;
        }
        let count = rest.len().div_ceil(tables).min(fitting(table, layout, rest, width));
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&lines(drawn(table, layout, &rest[..count]), GAP));
        rest = &rest[count..];
    }
    out
}

/// The lines of a table, with so many spaces between its columns.
fn lines(mut table: Text, gap: u16) -> String {
    let last = table.column_count().saturating_sub(1);
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, if i < last { gap } else { 0 }));
    }
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Least columns of a cell of facts.
const LEAST: usize = 16;

/// Facts whose lines share the width of the page; lists without spaces are broken at their commas.
fn wrapped_cells(table: &Table, width: usize) -> Table {
    let first = table.rows.iter().filter_map(|row| row.first());
    let first = first.map(|name| text::width(name)).max().unwrap_or(0);
    let count = table.header.len().saturating_sub(1).max(1);
    let each = (width.saturating_sub(first) / count).saturating_sub(GAP.into()).max(LEAST);
    let broken = |word: &str| match text::width(word) > each {
        true => word.replace(',', ", "),
        false => word.to_owned(),
    };
    let fact = |cell: &String| {
        let words: Vec<String> = cell.split_whitespace().map(broken).collect();
        wrapped("", &words.join(" "), each).trim_end().to_owned()
    };
    let row = |row: &Vec<String>| {
        let name = row.first().cloned().unwrap_or_default();
        std::iter::once(name).chain(row.iter().skip(1).map(fact)).collect()
    };
    Table { header: table.header.clone(), rows: table.rows.iter().map(row).collect() }
}

/// Row by row, a line a cell: where what belongs together would be torn apart.
fn stacked(table: &Table, width: usize) -> String {
    let mut out = String::new();
    for row in &table.rows {
        let Some((name, cells)) = row.split_first() else { continue };
        if !name.is_empty() {
            out.push_str(&wrapped("", name, width));
        }
        for (heading, cell) in table.header.iter().skip(1).zip(cells).filter(|(_, c)| !c.is_empty())
        {
            let [heading, cell] = [heading, cell].map(|text| text.replace('\n', " "));
            let first = if heading.is_empty() { "  ".to_owned() } else { format!("  {heading}: ") };
            // A long heading leaves too little of a narrow line.
            match 2 * text::width(&first) <= width {
                true => out.push_str(&wrapped(&first, &cell, width)),
                false => out.push_str(&wrapped("  ", &format!("{heading}: {cell}"), width)),
            }
        }
    }
    out
}

/// How many of the first of these columns fit into one table; at least one.
fn fitting(table: &Table, layout: Layout, columns: &[usize], width: usize) -> usize {
    let fits =
        |n: &usize| *n == 1 || drawn_width(&drawn(table, layout, &columns[..*n]), GAP) <= width;
    (1..=columns.len()).rev().find(fits).unwrap_or(1)
}

fn drawn(table: &Table, layout: Layout, columns: &[usize]) -> Text {
    let figures: Vec<bool> = (0..table.header.len())
        .map(|column| match layout {
            Layout::Facts => false,
            Layout::Words if column + 1 == table.header.len() => false,
            Layout::Words | Layout::Figures => has_figures(table, column),
        })
        .collect();
    let cell = |row: &[String], column: usize| {
        let cell = Cell::new(row.get(column).map_or("", String::as_str));
        match figures.get(column) {
            Some(true) => cell.set_alignment(CellAlignment::Right),
            _ => cell,
        }
    };
    let row = |row: &[String]| -> Vec<Cell> {
        let first = Cell::new(row.first().map_or("", String::as_str));
        std::iter::once(first).chain(columns.iter().map(|column| cell(row, *column))).collect()
    };
    let mut text = Text::new();
    text.load_style(TableStyle::new().header_separator(LineStyle::none().fill('─')));
    text.set_content_arrangement(ContentArrangement::Disabled);
    text.set_header(row(&table.header));
    for cells in &table.rows {
        text.add_row(row(cells));
    }
    text
}

/// Whether most cells of a column are figures.
fn has_figures(table: &Table, column: usize) -> bool {
    let cells = || table.rows.iter().filter_map(|row| row.get(column)).filter(|c| !c.is_empty());
    let begins = |cell: &&String, with: fn(char) -> bool| cell.starts_with(with);
    let of_figure = |c: char| c.is_ascii_digit() || "-–<+".contains(c);
    let figures = cells().filter(|cell| begins(cell, of_figure)).count();
    2 * figures > cells().count()
}

fn drawn_width(table: &Text, gap: u16) -> usize {
    let widths = table.column_max_content_widths();
    widths.iter().map(|w| usize::from(w + gap)).sum::<usize>().saturating_sub(gap.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_dealt_out_to_as_many_tables_as_needed() {
        let mut table = Table::new(["", "a", "b", "c", "d", "e"].map(str::to_owned).into());
        for name in ["first", "second"] {
            let cells = std::iter::repeat_n("12345678\n[1]".to_owned(), 5);
            table.rows.push(std::iter::once(name.to_owned()).chain(cells).collect());
        }
        for (width, tables) in [(200, 1), (40, 2), (20, 5), (5, 5)] {
            let text = fitted(&table, Layout::Figures, width);
            assert_eq!(text.matches("first").count(), tables, "{text}");
            assert_eq!(text.matches("12345678").count(), 10);
            assert!(width < 20 || text.lines().all(|l| l.chars().count() <= width), "{text}");
        }
    }

    /// A column less between the columns is better than verdicts in two lines each.
    #[test]
    fn a_table_of_words_is_narrowed_before_it_is_torn_apart() {
        let mut table = Table::new(["work", "nfs", "verdict"].map(str::to_owned).into());
        table.rows.push(["random read", "12 IOPS", "nfs faster"].map(str::to_owned).into());
        for (width, row) in [
            (32, "random read  12 IOPS  nfs faster\n"),
            (31, "random read 12 IOPS nfs faster\n"),
            (30, "random read 12 IOPS nfs faster\n"),
            (29, "random read\n  nfs: 12 IOPS\n"),
        ] {
            let text = fitted(&table, Layout::Words, width);
            assert!(text.contains(row), "{width}:\n{text}");
        }
    }

    /// Letters of two columns and those that go on top of others: by their width, not their number.
    #[test]
    fn the_width_of_letters_counts() {
        let mut table = Table::new(["", "速度"].map(str::to_owned).into());
        table.rows.push(vec!["ключ".to_owned(), "1".to_owned()]);
        table.rows.push(vec!["数据盘".to_owned(), "22".to_owned()]);
        let text = fitted(&table, Layout::Figures, 80);
        assert!(text.contains("ключ       1\n数据盘    22\n"), "{text}");
    }
}
