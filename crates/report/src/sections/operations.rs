//! What one operation of each kind costs, with its interval, where the answer has room for less.

use crate::chart::Table;
use crate::document::{Layout, Section};
use crate::figure::Kind;
use crate::study::Shown;
use crate::study::operations::{Column, Operations, rows};
use crate::verdict::percent;

pub(super) fn section(shown: &Shown<'_>) -> Section {
    let mut section = Section::details("operations", "Each kind of operation");
    let Some(operations) = Operations::new(shown) else { return section };
    let columns = operations.columns(shown);
    if columns.len() == 1 {
        return section;
    }
    let name = |column: &Column<'_>| {
        let subject = shown.names.setup(column.setup);
        column.techniques().map_or(subject.clone(), |own| format!("{subject}, {own}"))
    };
    let confidence = percent(shown.study.plan.design.confidence);
    let first = std::iter::once(format!("mean time [{confidence}]"));
    let header = first.chain(columns.iter().map(name)).collect();
    let rows = rows(shown, &operations, operations.kinds(), &columns, Kind::with_ends);
    section.table(Table { header, rows }, Layout::Figures);
    section
}
