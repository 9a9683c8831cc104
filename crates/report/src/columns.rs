//! Tables that grow by columns.

use crate::chart::Table;

/// Columns of figures beside the names of rows; a cell may have several lines.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    /// What the rows are.
    pub(crate) rows: Vec<String>,
    /// Heading, and a cell a row.
    pub(crate) columns: Vec<(String, Vec<String>)>,
}

impl Columns {
    /// Columns of these headings, without rows.
    pub(crate) fn with_headings<const N: usize>(headings: [&str; N]) -> Columns {
        let columns = headings.map(|heading| (heading.to_owned(), Vec::new()));
        Columns { rows: Vec::new(), columns: columns.into() }
    }

    /// Adds a row; cells that are missing are empty.
    pub(crate) fn row(&mut self, name: impl Into<String>, cells: impl IntoIterator<Item = String>) {
        self.rows.push(name.into());
        let mut cells = cells.into_iter();
        for (_, column) in &mut self.columns {
            column.push(cells.next().unwrap_or_default());
        }
    }

    /// The same, row by row.
    pub(crate) fn table(&self) -> Table {
        let header = self.columns.iter().map(|(heading, _)| heading.clone());
        let mut table = Table::new(std::iter::once(String::new()).chain(header).collect());
        table.rows.extend(self.rows.iter().enumerate().map(|(i, name)| {
            let cells =
                self.columns.iter().map(|(_, cells)| cells.get(i).cloned().unwrap_or_default());
            std::iter::once(name.clone()).chain(cells).collect()
        }));
        table
    }
}
