//! Figures that others published: the tables in `references/`, each with its source. They are part of the
//! program.
#![forbid(unsafe_code)]

mod catalogue;
mod table;

pub use catalogue::{SOURCES, Source, of_source, source, table, tables};
pub use table::{Row, Table};
