//! The record as a page: the same sections, with the bars as charts.

use super::section::{BarGroup, Section, Whose};
use super::{ending, sections, subtitle, title};
use crate::chart::{Axis, Bar, Bars, Table};
use crate::content::{Content, Figure, Method, Part, Warning};
use crate::paper::Paper;
use crate::text::printable;
use plimsoll_model::Device;

/// Which of the distinguishable styles bars have.
const OWN: usize = 0;
const PUBLISHED: usize = 1;

impl Paper {
    /// The paper of a device. Works for any record: under way, failed, empty.
    pub fn of_device(device: &Device) -> Paper {
        Paper(content(device))
    }
}

/// Everything a page says of a device.
pub(crate) fn content(device: &Device) -> Content {
    let sections = sections(device);
    let warnings = sections.iter().flat_map(|section| &section.warnings);
    let warnings = warnings.map(|text| Warning { text: text.clone(), advice: None }).collect();
    Content {
        title: format!("What is {}?", printable(&device.host.to_string())),
        subtitle: title(device),
        trouble: ending(device).map(str::to_owned),
        answer: vec![format!("{}.", subtitle(device))],
        further: Vec::new(),
        parts: sections.iter().map(part).filter(|part| !is_empty(part)).collect(),
        method: Method {
            sentences: method(device),
            tables: Vec::new(),
            commands: vec![printable(&device.command)],
        },
        warnings,
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

fn method(device: &Device) -> Vec<String> {
    let mut sentences = vec![
        "Measured once, without repeats: the figures have no intervals.".to_owned(),
        "What is not known is left out.".to_owned(),
    ];
    if device.quick {
        sentences.push("Short measurements were asked for.".to_owned());
    }
    for record in &device.parts {
        let part = record.part;
        sentences.push(match record.complete {
            true => format!("The part {part} took {:.1} s.", record.seconds),
            false => format!("The part {part} is not complete; it took {:.1} s.", record.seconds),
        });
    }
    sentences
}
