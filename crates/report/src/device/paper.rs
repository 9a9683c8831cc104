//! The page of one host on paper: the same sections, with the bars as charts.

use super::section::{BarGroup, Section, Whose};
use super::{Host, ending, flagged, repeated, sections, subtitle, title};
use crate::chart::{Axis, Bar, Bars, Table};
use crate::content::{Content, Figure, Method, Part, Warning};
use crate::text::printable;

/// Which of the distinguishable styles bars have.
const OWN: usize = 0;
const PUBLISHED: usize = 1;

/// Everything a page says of a study of one host.
pub(crate) fn content(host: &Host<'_>) -> Content {
    let sections = sections(host);
    let warnings = sections.iter().flat_map(|section| &section.warnings).cloned();
    let warnings = host.study.flags.iter().map(flagged).chain(warnings);
    Content {
        title: format!("What is {}?", host.given()),
        subtitle: title(host.study),
        failure: ending(host.study),
        answer: vec![format!("{}.", subtitle(host.facts))],
        further: Vec::new(),
        parts: sections.iter().map(part).filter(|part| !is_empty(part)).collect(),
        method: Method {
            sentences: method(host),
            tables: Vec::new(),
            commands: vec![printable(&host.study.plan.command)],
        },
        warnings: warnings.map(|text| Warning { text, advice: None }).collect(),
    }
}

fn is_empty(part: &Part) -> bool {
    part.remarks.is_empty()
        && part.table.is_none()
        && part.claims.is_empty()
        && part.figures.is_empty()
}

pub(super) fn part(section: &Section) -> Part {
    Part {
        id: section.id.to_owned(),
        heading: section.heading.to_owned(),
        remarks: section.remarks.clone(),
        table: table(section),
        claims: section.claims.clone(),
        figures: section.bars.iter().map(figure).collect(),
    }
}

/// Facts, or a table of figures: no section has both.
fn table(section: &Section) -> Option<Table> {
    if !section.facts.is_empty() {
        let mut table = Table::new(vec![String::new(), String::new()]);
        table
            .rows
            .extend(section.facts.iter().map(|(name, value)| vec![name.clone(), value.clone()]));
        return Some(table);
    }
    if section.table.rows.is_empty() {
        return None;
    }
    let columns = &section.table.columns;
    let header = columns.iter().map(|(heading, _)| heading.clone());
    let mut table = Table::new(std::iter::once(String::new()).chain(header).collect());
    table.rows.extend(section.table.rows.iter().enumerate().map(|(i, name)| {
        let cells = columns.iter().map(|(_, cells)| cells.get(i).cloned().unwrap_or_default());
        std::iter::once(name.clone()).chain(cells).collect()
    }));
    Some(table)
}

fn figure(group: &BarGroup) -> Figure {
    let bar = |(label, value, whose): &(String, f64, Whose)| Bar {
        label: label.clone(),
        series: if *whose == Whose::Device { OWN } else { PUBLISHED },
        value: *value,
        interval: None,
    };
    let chart = Bars {
        title: group.title.to_owned(),
        description: group.caption.clone(),
        axis: Axis::new(group.axis, group.kind),
        bars: group.bars.iter().map(bar).collect(),
    };
    Figure { id: group.id.to_owned(), chart: Box::new(chart), caption: group.caption.clone() }
}

fn method(host: &Host<'_>) -> Vec<String> {
    let once = || "Measured once, without repeats: the figures have no intervals.".to_owned();
    let mut sentences =
        vec![repeated(host).unwrap_or_else(once), "What is not known is left out.".to_owned()];
    if host.is_quick() {
        sentences.push("Short measurements were asked for.".to_owned());
    }
    for record in &host.parts {
        let part = record.part;
        sentences.push(match record.complete {
            true => format!("The part {part} took {:.1} s.", record.seconds),
            false => format!("The part {part} is not complete; it took {:.1} s.", record.seconds),
        });
    }
    sentences
}
