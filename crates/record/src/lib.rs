//! Keeping studies: SQLite store, migrations, export.
#![forbid(unsafe_code)]
