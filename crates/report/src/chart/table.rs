//! The data behind a chart, as a table.

use plimsoll_model::units::three_digits;

/// Columns with a name each, and rows of as many cells; numbers in the unit that the column names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Names of the columns, with their units.
    pub header: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub fn new(header: Vec<String>) -> Table {
        Table { header, rows: Vec::new() }
    }

    /// A number for a cell, to be copied and computed with: to four digits at least, no unit; empty
    /// where there is none.
    pub(super) fn number(value: f64) -> String {
        match value {
            v if !v.is_finite() => String::new(),
            v if v.abs() >= 999.5 || v == 0.0 => format!("{:.0}", v + 0.0),
            v => {
                let more = three_digits(v);
                let decimals = more.split('.').nth(1).map_or(1, |d| d.len() + 1);
                let digits = format!("{v:.decimals$}");
                digits.trim_end_matches('0').trim_end_matches('.').to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_can_be_computed_with() {
        let shown = [0.0, 112.34, 0.012345, 7334.4, -1.5].map(Table::number);
        assert_eq!(shown, ["0", "112.3", "0.01235", "7334", "-1.5"]);
        assert_eq!(Table::number(f64::NAN), "");
    }
}
