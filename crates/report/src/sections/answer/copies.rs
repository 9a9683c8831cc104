//! Copies: datasets down, targets, settings and methods across.

use super::figures::{figure_of, level_of};
use super::names::Brief;
use super::rows::{NOTHING, Rows};
use super::table;
use crate::chart::Table;
use crate::sections::common::verdicts as verdicts_heading;
use crate::study::Shown;
use crate::study::copies::{Copied, Copies, Row, same_setup};
use crate::verdict::{lead, percent};
use plimsoll_explain::Pair;
use plimsoll_model::{Cell, Contrast};
use plimsoll_stats::verdict::{Side, Verdict};

/// Columns of figures that still stand beside each other.
const COLUMNS: usize = 4;
/// What a mark says, in the order of the sentence below the table.
const MARKS: [(&str, &str); 6] = [
    ("+", "faster"),
    ("+?", "faster, perhaps by less than the margin"),
    ("-", "slower"),
    ("-?", "slower, perhaps by less than the margin"),
    ("=", "practically equal"),
    ("?", "inconclusive"),
];

/// A row for each dataset and way, a column for each subject, setting and method. Of two the verdict stands
/// beside them; of more, marks beside the figures. `None` of more than can be seen at once.
pub(super) fn table(shown: &Shown<'_>, brief: &Brief, copies: &Copies<'_>) -> Option<Rows> {
    let count = copies.columns.len();
    if !(1..=COLUMNS).contains(&count) {
        return None;
    }
    let name = |cell: Cell| brief.setup(shown, cell);
    let headings: Vec<String> =
        copies.columns.iter().map(|column| copies.heading(*column, &name)).collect();
    let between: Vec<Option<&Pair>> = copies.rows.iter().map(|row| between(shown, row)).collect();
    let verdicts = between.iter().any(Option::is_some);
    let mut columns = vec![copies.rows.iter().map(|row| row.name.clone()).collect::<Vec<_>>()];
    for column in 0..count {
        let own = || copies.rows.iter().map(|row| row.cells[column]);
        let marks: Vec<&str> =
            own().map(|c| c.and_then(|c| mark(shown, c.1.cell)).unwrap_or("")).collect();
        let wide = marks.iter().map(|mark| mark.len()).max().filter(|_| count > 2).unwrap_or(0);
        let figure = |(copied, mark): (Copied<'_>, &&str)| match copied {
            Some((found, cell)) if count > 2 || verdicts => {
                let figure = figure_of(shown, found, cell.cell);
                if wide > 0 { format!("{figure} {mark:<wide$}") } else { figure }
            }
            Some((found, cell)) => level_of(shown, found, cell),
            None => NOTHING.to_owned(),
        };
        columns.push(own().zip(&marks).map(figure).collect());
    }
    let work = match copies.methods() {
        1 => format!("work, {}", copies.columns[0].method),
        _ => "work".to_owned(),
    };
    let mut header: Vec<String> = std::iter::once(work).chain(headings).collect();
    if count == 1 {
        header[1] = format!("speed [{}]", percent(shown.study.plan.design.confidence));
    }
    if verdicts {
        let heading = verdicts_heading(shown.study.plan.design.confidence, shown.findings.imported);
        let words = |pair: &Option<&Pair>| match pair {
            None => NOTHING.to_owned(),
            Some(pair) if copies.methods() == 1 => {
                table::between(shown, pair, &header[1], &header[2])
            }
            Some(pair) => {
                table::between(shown, pair, header[1].trim_start_matches("as "), &header[2])
            }
        };
        columns.push(between.iter().map(words).collect());
        header.push(heading);
    }
    let mut rows = Rows::new(header);
    rows.keeps_columns = count > 2;
    for (number, row) in copies.rows.iter().enumerate() {
        let cells = row.cells.iter().flatten().map(|(_, cell)| cell.cell).collect();
        rows.push(columns.iter().map(|column| column[number].clone()).collect(), cells);
    }
    Some(rows)
}

/// The comparison of the two columns.
fn between<'a>(shown: &'a Shown<'_>, row: &Row<'_>) -> Option<&'a Pair> {
    let [Some((_, a)), Some((_, b))] = row.cells[..] else { return None };
    let two = [a.cell, b.cell];
    pairs(shown).find(|pair| [pair.contrast.against.cell, pair.contrast.of.cell] == two)
}

fn pairs<'a>(shown: &'a Shown<'_>) -> impl Iterator<Item = &'a Pair> {
    shown.findings.workloads.iter().flat_map(|found| &found.pairs)
}

/// How a cell stands against what it is compared with.
fn mark(shown: &Shown<'_>, cell: Cell) -> Option<&'static str> {
    let is_claim = |pair: &&Pair| pair.contrast.claim && pair.contrast.of.cell == cell;
    let pair = pairs(shown).find(is_claim)?;
    let verdict = pair.claim.as_ref()?.verdict?;
    let by = shown.shape(pair.contrast.of.metric.measure).compared;
    let side = lead(&verdict, by).faster;
    Some(match (verdict, side) {
        (Verdict::Faster(_), Side::B) => "+",
        (Verdict::Faster(_), Side::A) => "-",
        (Verdict::PerhapsTooLittle(_), Side::B) => "+?",
        (Verdict::PerhapsTooLittle(_), Side::A) => "-?",
        (Verdict::NoPracticalDifference(_), _) => "=",
        (Verdict::NotResolved(_), _) => "?",
    })
}

/// What the marks of the table mean; `None` where it has none.
pub(super) fn legend(
    shown: &Shown<'_>,
    brief: &Brief,
    copies: &Copies<'_>,
    table: &Table,
) -> Option<String> {
    let cells = || table.rows.iter().flatten().filter_map(|cell| cell.trim().rsplit(' ').next());
    let used = MARKS.iter().filter(|(mark, _)| cells().any(|cell| cell == *mark));
    let used: Vec<String> = used.map(|(mark, words)| format!("{mark} {words}")).collect();
    let claims = || pairs(shown).map(|pair| pair.contrast).filter(|contrast| contrast.claim);
    let first = claims().next()?.against.cell;
    let same_work = |c: &Contrast| c.against.cell.workload == c.of.cell.workload;
    let baseline = match claims().filter(same_work).count() {
        0 => copies.columns[0].method.to_owned(),
        all if all == claims().count() && claims().all(|c| same_setup(c.against.cell, first)) => {
            brief.setup(shown, first)
        }
        _ => "its baseline".to_owned(),
    };
    let design = &shown.study.plan.design;
    (!used.is_empty()).then(|| {
        format!(
            "Compared with {baseline} ({}, margin {}): {}.",
            percent(design.confidence),
            percent(design.margin),
            used.join(", ")
        )
    })
}
