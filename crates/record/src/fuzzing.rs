//! Entry points of the fuzz target: a store with foreign content.

use crate::{Store, open};
use plimsoll_model::Failure;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{ToSql, params_from_iter};
use std::path::Path;

/// Columns of text and of numbers, in the order of the fields of a row.
const TABLES: [(&[u8], &str, &[&str]); 4] = [
    (
        b"study",
        "studies",
        &[
            "id",
            "started_unix_seconds",
            "schema",
            "origin",
            "plan",
            "subjects",
            "hosts",
            "flags",
            "ended",
            "measures",
        ],
    ),
    (b"trial", "trials", &["study", "number", "block", "subject", "kind", "outcome", "document"]),
    (
        b"figure",
        "figures",
        &[
            "study",
            "trial",
            "block",
            "subject",
            "workload",
            "setting",
            "kind",
            "metric",
            "value",
            "disturbed",
        ],
    ),
    (
        b"prediction",
        "predictions",
        &["study", "changes", "made_unix_seconds", "document", "measured"],
    ),
];
const NUMBERS: [&str; 9] = [
    "started_unix_seconds",
    "number",
    "block",
    "subject",
    "trial",
    "workload",
    "setting",
    "disturbed",
    "made_unix_seconds",
];

/// An arbitrary file, opened as a store.
pub fn file(bytes: &[u8], path: &Path) -> Result<Store, Failure> {
    std::fs::write(path, bytes).expect("there is room for the file");
    Store::open(path)
}

/// A store with these rows, as far as the tables take them: rows end with the byte 0x1e, fields
/// with 0x1f, and the first field of a row is "study", "trial", "figure" or "prediction".
pub fn rows(bytes: &[u8]) -> Store {
    let path = Path::new("fuzz");
    let store = Store::new(open::empty(path).expect("a store in memory"), path);
    for row in bytes.split(|b| *b == 0x1e) {
        let mut fields = row.split(|b| *b == 0x1f);
        let first = fields.next().unwrap_or_default();
        let Some((_, table, columns)) = TABLES.iter().find(|(name, ..)| *name == first) else {
            continue;
        };
        let values = columns.iter().map(|column| {
            let field = fields.next().unwrap_or_default();
            let number = || std::str::from_utf8(field).ok()?.parse::<i64>().ok();
            Value(field, NUMBERS.contains(column).then(|| number().unwrap_or_default()))
        });
        let places = vec!["?"; columns.len()].join(", ");
        let sql = format!("INSERT INTO {table} ({}) VALUES ({places})", columns.join(", "));
        // A key that is taken is no row.
        let _ = store.connection().execute(&sql, params_from_iter(values));
    }
    store
}

/// Text that need not be UTF-8, or a number.
struct Value<'a>(&'a [u8], Option<i64>);

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self.1 {
            Some(number) => number.into(),
            None => ToSqlOutput::Borrowed(ValueRef::Text(self.0)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StudyStore;

    #[test]
    fn the_seeds_are_stores() {
        let seed = |name| {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/store_rows");
            std::fs::read(folder.join(name)).unwrap()
        };
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("seed.db");
        for store in [file(&seed("file"), &path).unwrap(), rows(&seed("rows"))] {
            assert_eq!(store.load("0123").unwrap().trials.len(), 5);
            assert_eq!(store.list().unwrap().len(), 2);
        }
        let endless = file(&seed("endless"), &path).unwrap_err();
        assert!(endless.happened.contains("not that of plimsoll"), "{endless}");
    }
}
