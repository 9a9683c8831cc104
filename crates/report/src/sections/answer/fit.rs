//! Tables that fit on a screen: how wide they are, and where their cells are broken.

use crate::chart::Table;
use crate::text::{parts_figure, width};

/// Columns of a screen.
pub(super) const COLUMNS: usize = 80;
/// Spaces between columns, at least.
pub(super) const GAP: usize = 1;
/// Columns of a name of work that stays in one line.
const SHORT: usize = 13;

/// Whether a table is no wider than a screen.
pub(in crate::sections) fn is_narrow(table: &Table) -> bool {
    drawn_width(table) <= COLUMNS
}

/// Breaks verdicts and then long names of work into two lines, if the table is wider than a screen. Whether it fits then.
pub(in crate::sections) fn fits_a_screen(table: &mut Table) -> bool {
    for (separator, broken) in [(": ≥", ":\n≥"), (" (", "\n(")] {
        if drawn_width(table) <= COLUMNS {
            return true;
        }
        for row in &mut table.rows {
            let cells = row.iter_mut().enumerate();
            // Marks stay in the line of their bottleneck.
            let cells = cells.filter(|(column, _)| separator != " (" || *column == 0);
            cells.for_each(|(_, cell)| *cell = cell.replacen(separator, broken, 1));
        }
    }
    if is_narrow(table) {
        return true;
    }
    let mut with_broken_names = table.clone();
    break_names(&mut with_broken_names);
    let fits = is_narrow(&with_broken_names);
    if fits {
        *table = with_broken_names;
    }
    fits
}

/// Breaks long names of work into two lines, before the last word; before a number if that is its unit.
fn break_names(table: &mut Table) {
    for name in table.rows.iter_mut().filter_map(|row| row.first_mut()) {
        if width(name) <= SHORT || name.contains('\n') {
            continue;
        }
        let mut spaces = name.rmatch_indices(' ').map(|(at, _)| (&name[..at], &name[at + 1..]));
        let broken = spaces.find(|(begin, end)| !parts_figure(begin, end));
        if let Some(in_lines) = broken.map(|(begin, end)| format!("{begin}\n{end}")) {
            *name = in_lines;
        }
    }
}

/// Breaks names, verdicts and bottlenecks of a table that is too wide in any case.
pub(super) fn broken(table: &mut Table) {
    break_names(table);
    for heading in &mut table.header {
        *heading = heading.replace(" is (", "\nis (");
    }
    for cell in table.rows.iter_mut().flatten() {
        *cell = cell.replace("practically equal", "practically\nequal");
    }
    for cell in table.rows.iter_mut().filter_map(|row| row.last_mut()) {
        *cell = cell.replace(" ≈ ", "\n≈ ").replace("; ", ";\n");
    }
}

/// Columns that a table takes.
pub(super) fn drawn_width(table: &Table) -> usize {
    let cells = |column: usize| {
        let rows = table.rows.iter().filter_map(move |row| row.get(column));
        table.header.get(column).into_iter().chain(rows).flat_map(|cell| cell.lines())
    };
    let widths = (0..table.header.len()).map(|column| cells(column).map(width).max().unwrap_or(0));
    widths.map(|width| width + GAP).sum::<usize>().saturating_sub(GAP)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row of a sweep ended in "2.00", and the line below began with "ms".
    #[test]
    fn names_are_broken_before_a_number_and_not_before_its_unit() {
        let names =
            ["random read at 2.00 ms", "random read at 4 KiB", "random write", "scan at 64"];
        let mut table = Table::new(vec!["work".to_owned()]);
        table.rows = names.map(|name| vec![name.to_owned()]).into();
        break_names(&mut table);
        let found: Vec<&str> = table.rows.iter().map(|row| row[0].as_str()).collect();
        let expected =
            ["random read at\n2.00 ms", "random read at\n4 KiB", "random write", "scan at 64"];
        assert_eq!(found, expected);
    }
}
