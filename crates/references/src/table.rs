//! A published table: a line that says what holds for all of it, then CSV (RFC 4180) with the names of its
//! columns first.

use std::sync::Arc;

/// A published table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its name: the key of its source, and what it is about.
    pub name: String,
    /// What it holds, in a few words.
    pub holds: String,
    /// What holds for all of it.
    pub about: String,
    columns: Arc<[String]>,
    rows: Vec<Row>,
}

/// A row of a table: its columns by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    columns: Arc<[String]>,
    cells: Vec<String>,
}

impl Table {
    /// Reads a table. `None` where it is not one: no first line, no columns, rows of another length.
    pub fn parse(name: &str, holds: &str, text: &str) -> Option<Table> {
        let (about, rows) = text.split_once('\n')?;
        let about = about.strip_prefix("# ")?.trim_end().to_owned();
        let mut reader = csv::Reader::from_reader(rows.as_bytes());
        let columns: Arc<[String]> = reader.headers().ok()?.iter().map(str::to_owned).collect();
        let row = |record: csv::StringRecord| Row {
            columns: Arc::clone(&columns),
            cells: record.iter().map(str::to_owned).collect(),
        };
        let rows =
            reader.into_records().map(|record| record.ok().map(row)).collect::<Option<_>>()?;
        let (name, holds) = (name.to_owned(), holds.to_owned());
        (!columns.is_empty()).then_some(Table { name, holds, about, columns, rows })
    }

    /// The key of its source.
    pub fn source(&self) -> &str {
        self.name.split_once('_').map_or(&self.name, |(key, _)| key)
    }

    /// The names of its columns, each of which ends with its unit.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Its rows, in the order published.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The different values of a column, in the order published; empty where the source says nothing.
    pub fn values(&self, column: &str) -> Vec<&str> {
        let mut values = Vec::new();
        for row in &self.rows {
            let value = row.text(column).unwrap_or_default();
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values
    }

    /// The same with those rows alone that have this value: in letters of any case, numbers as numbers, and
    /// nothing where the source says nothing.
    #[must_use]
    pub fn with(mut self, column: &str, value: &str) -> Table {
        self.rows.retain(|row| row.is(column, value));
        self
    }
}

impl Row {
    /// What a column holds; `None` where the source says nothing.
    pub fn text(&self, column: &str) -> Option<&str> {
        let place = self.columns.iter().position(|name| name == column)?;
        self.cells.get(place).map(String::as_str).filter(|text| !text.is_empty())
    }

    /// The same as a number, in the unit that the column's name ends with.
    pub fn number(&self, column: &str) -> Option<f64> {
        self.text(column)?.parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// Whether a column holds this, as [`Table::with`] takes it.
    pub fn is(&self, column: &str, value: &str) -> bool {
        let text = self.text(column).unwrap_or_default();
        let number = value.parse().is_ok_and(|value: f64| self.number(column) == Some(value));
        number || text.to_lowercase() == value.to_lowercase()
    }

    /// What it holds, column by column.
    pub fn cells(&self) -> &[String] {
        &self.cells
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str =
        "# key2000: a router\nsize_B,host,note\n1024,Nas,\"a, b\"\n4096,,\n1024,nas,\n";

    #[test]
    fn rows_are_found_by_their_values() {
        let table = Table::parse("key2000_it", "figures", TEXT).unwrap();
        assert_eq!((table.source(), table.about.as_str()), ("key2000", "key2000: a router"));
        assert_eq!(table.columns(), ["size_B", "host", "note"]);
        assert_eq!(table.rows()[0].cells(), ["1024", "Nas", "a, b"]);
        assert_eq!(table.rows()[1].text("note"), None);
        assert_eq!(table.values("host"), ["Nas", "", "nas"]);
        let count = |column: &str, value: &str| table.clone().with(column, value).rows().len();
        assert_eq!(count("size_B", "1024.0"), 2);
        assert_eq!(count("host", "NAS"), 2);
        assert_eq!(count("host", ""), 1);
        assert_eq!(count("host", "na"), 0);
        assert_eq!(table.clone().with("size_B", "1024").with("note", "A, B").rows().len(), 1);
    }

    #[test]
    fn what_is_no_table_is_none() {
        for text in ["", "# a", "a,b\n1,2\n", "# a\n", "# a\na,b\n1\n", "# a\na,b\n1,2,3\n"] {
            assert_eq!(Table::parse("a", "", text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_table_or_none(text in "(# a\n)?[ab,\"\n1]{0,40}", value in "\\PC{0,3}") {
            if let Some(table) = Table::parse("a_b", "", &text) {
                prop_assert!(table.rows().iter().all(|row| row.cells().len() == table.columns().len()));
                for column in table.columns().to_vec() {
                    let found = table.clone().with(&column, &value).rows().len();
                    prop_assert!(found <= table.rows().len());
                }
            }
        }
    }
}
