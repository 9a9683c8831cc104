//! Published tables: what there is, their rows, and what they say. A file for each source.

mod common;
mod comparison;
mod jonfk2024;
mod kofler2011;
mod list;
mod patterns;
mod puskas2017;
mod rtems2012;

use crate::document::{Document, Section};
use plimsoll_references::{Source, Table};

impl Document {
    /// What the tables of a source say, as far as these tables have its figures.
    pub fn of_source(source: &Source, tables: &[Table]) -> Document {
        let sections = match source.key {
            "jonfk2024" => jonfk2024::sections(tables),
            "kofler2011" => kofler2011::sections(tables),
            "puskas2017" => puskas2017::sections(tables),
            "rtems2012" => rtems2012::sections(tables),
            _ => Vec::new(),
        };
        let (title, none) = (format!("Explanation of {}", source.key), String::new());
        let mut all = vec![cited(source)];
        all.extend(sections);
        Document { title, subtitle: none.clone(), extent: none, sections: all }
    }
}

/// Who published it.
fn cited(source: &Source) -> Section {
    let mut section = Section::new("source", "");
    section.text(format!("{}.", source.citation));
    section
}
