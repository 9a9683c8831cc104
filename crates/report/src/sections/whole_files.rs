//! Whole files by several readers, beside what the costs of one reader predict.

use super::transfers::with_error;
use crate::columns::Columns;
use crate::document::{Layout, Section};
use crate::figure::{BANDWIDTH, TIME};
use crate::study::Shown;
use crate::study::files::row;
use crate::text::capital;
use plimsoll_explain::{WholeFiles, whole_files};
use plimsoll_stats::fit::costs::CostKind;

const NOTHING: &str = "–";

pub(super) fn section(shown: &Shown<'_>) -> Section {
    let mut section =
        Section::details("whole-files", "Several readers of a file, predicted from one reader");
    let modelled = |group: &WholeFiles| group.files.iter().any(|file| file.modelled.is_some());
    let groups: Vec<WholeFiles> = whole_files(shown.study).into_iter().filter(modelled).collect();
    if groups.is_empty() {
        return section;
    }
    section.text(
        "Model: time = operations × cost of an operation + bytes × cost of a byte, fitted to the buffer \
         sizes of one reader. For several readers, the model assumes that the costs of operations overlap, \
         and that bytes pass one after another, as through a link. Readers request buffers in batches, or \
         each requests its next buffer when one has arrived (exact mean value analysis). If the measured \
         rate is higher than the model, bytes did not wait for each other. If it is lower, operations \
         waited for each other.",
    );
    for group in &groups {
        let whose = match shown.names.setups() {
            1 => String::new(),
            _ => format!("{}, ", shown.names.setup(group.cell)),
        };
        section.text(format!("{}{}.", capital(&whose), costs(group)));
        section.table(table(group).table(), Layout::Figures);
    }
    section
}

/// "whole file read: an operation costs 2.50 ms, bytes go at 1.22 MB/s".
fn costs(group: &WholeFiles) -> String {
    let operation = group.cost(CostKind::Operation).map(|e| TIME.with_ends(e.value, e.interval));
    let rate = group.cost(CostKind::Byte).and_then(|byte| byte.reciprocal());
    let rate = rate.map(|e| BANDWIDTH.with_ends(e.value, e.interval));
    format!(
        "{}: {} per operation, bandwidth {}",
        group.part.job.title(),
        operation.as_deref().unwrap_or(NOTHING),
        rate.as_deref().unwrap_or(NOTHING)
    )
}

fn table(group: &WholeFiles) -> Columns {
    let mut columns = Columns::with_headings(["measured", "by the model"]);
    for file in &group.files {
        let rate = file.rate;
        let cells = [
            BANDWIDTH.with_ends(rate.value, rate.interval),
            with_error(file.error(), |of| BANDWIDTH.value(rate.value * of)),
        ];
        columns.row(row(&file.part), cells);
    }
    columns
}
