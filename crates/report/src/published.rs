//! Figures that others published, from `references/`: the tables, as they lie there.

use plimsoll_stats::fit::costs::{Cell, Groups, Work};

/// A published table.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Its name: the key of its source, and what it holds.
    pub name: &'static str,
    text: &'static str,
}

macro_rules! tables {
    ($($name:literal)*) => {
        /// Every published table, by name.
        pub const TABLES: &[Table] = &[$(Table {
            name: $name,
            text: include_str!(concat!("../../../references/", $name, ".csv")),
        }),*];
    };
}

tables! {
    "jonfk2024_fio"
    "kofler2011_network"
    "kofler2011_platforms"
    "puskas2017_cpu_load"
    "puskas2017_other"
    "puskas2017_transfer"
    "rtems2012_nfsread"
    "rtems2012_write"
}

/// The table of that name.
pub fn table(name: &str) -> Option<Table> {
    TABLES.iter().copied().find(|table| table.name == name)
}

impl Table {
    /// The key of its source in `references/README.md`.
    pub fn source(&self) -> &'static str {
        self.name.split_once('_').map_or(self.name, |(key, _)| key)
    }

    /// What holds for all of it.
    pub fn about(&self) -> &'static str {
        let first = self.text.lines().next().unwrap_or_default();
        first.trim_start_matches(['#', ' '])
    }

    /// Its rows, in the order published.
    pub fn rows(&self) -> Vec<Row> {
        let mut lines = self.text.lines().skip(1);
        let names: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
        lines
            .map(|line| Row { columns: names.iter().copied().zip(line.split(',')).collect() })
            .collect()
    }
}

/// A row of a table: its columns by name.
#[derive(Clone, Debug)]
pub struct Row {
    columns: Vec<(&'static str, &'static str)>,
}

impl Row {
    /// What a column holds; `None` where the source says nothing.
    pub fn text(&self, column: &str) -> Option<&'static str> {
        let (_, text) = self.columns.iter().find(|(name, _)| *name == column)?;
        (!text.is_empty()).then_some(text)
    }

    /// The same as a number, in the unit that the column's name ends with.
    pub fn number(&self, column: &str) -> Option<f64> {
        self.text(column)?.parse().ok()
    }
}

/// A row of `puskas2017_transfer` for the cost model; `None` of other tables' rows. Up, what a file costs
/// depends on the export (`sync` is group 0, `async` 1); nothing else does. Down is a group of its own: 2 for
/// files, 1 for operations and bytes.
pub fn transfer(row: &Row) -> Option<Cell> {
    let (files, mean) = (row.number("file_count")?, row.number("mean_file_size_B")?);
    let blocks = (mean / row.number("block_size_B")?).ceil();
    let groups = match (row.text("direction")?, row.text("export")?) {
        ("upload", "sync") => Groups { file: 0, operation: 0, byte: 0 },
        ("upload", "async") => Groups { file: 1, operation: 0, byte: 0 },
        ("download", _) => Groups { file: 2, operation: 1, byte: 1 },
        _ => return None,
    };
    Some(Cell {
        work: Work { files, operations: files * blocks, bytes: files * mean },
        groups,
        // Whole seconds and a half: to half a second it is the time.
        seconds: vec![Some(row.number("elapsed_s")? + 0.5)],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every file of figures is a table here, and names its source by a key, which the index explains and
    /// points to.
    #[test]
    fn every_figure_has_a_source() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../references");
        let index = std::fs::read_to_string(folder.join("README.md")).unwrap();
        let mut files = 0;
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let file = path.file_name().unwrap().to_str().unwrap();
            let Some(name) = file.strip_suffix(".csv") else { continue };
            files += 1;
            let table = table(name).unwrap_or_else(|| panic!("{name} is no table"));
            let key = table.source();
            assert!(table.about().starts_with(key), "{name} is named after its source, {key}");
            assert!(table.text.starts_with("# "), "{name} begins with what holds for all of it");
            assert!(index.contains(&format!("\n| {key} | ")), "{key} is in the index");
            assert!(index.contains(&format!("\n| `{file}` | ")), "{file} is in the index");
            let mut rows = table.text.lines().skip(1).map(|line| line.split(',').count());
            let columns = rows.next().unwrap();
            assert!(!table.text.contains('"') && rows.all(|count| count == columns), "{name}");
        }
        assert_eq!(files, TABLES.len());
    }

    #[test]
    fn rows_by_the_names_of_their_columns() {
        let rows = table("rtems2012_nfsread").unwrap().rows();
        assert_eq!(rows.len(), 4);
        assert_eq!(rows[1].text("buffer_B"), Some("8192"));
        assert_eq!(rows[1].number("rate_MB_per_s"), Some(7.63));
        assert_eq!(rows[1].text("no such column"), None);
        assert_eq!(rows[1].number("no such column"), None);
        let linux = &table("rtems2012_write").unwrap().rows()[1];
        assert_eq!(linux.number("system"), None, "no number: {:?}", linux.text("system"));
        assert!(table("rtems2012").is_none());
    }
}
