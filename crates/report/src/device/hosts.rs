//! The hosts that a study measured by themselves: the pages of their records, from the facts of the
//! study. How their figures vary from block to block is in the tables of the workloads.

use super::{compare, sections, terminal};
use crate::content::Part;
use crate::page::Page;
use crate::text::printable;
use plimsoll_model::{BoxFacts, Device, Measure, Study, SubjectFacts};

fn hosts(study: &Study) -> impl Iterator<Item = &BoxFacts> {
    study.subjects.iter().filter_map(SubjectFacts::host)
}

/// The records of a study of nothing but hosts, each measured once: those say everything.
pub(crate) fn measured_once(study: &Study) -> Option<Vec<&Device>> {
    let devices: Vec<&Device> = hosts(study).map(|facts| &facts.device).collect();
    let mut cells: Vec<_> = study.trials.iter().map(|trial| trial.cell).collect();
    cells.sort_unstable();
    let once = cells.windows(2).all(|pair| pair[0] != pair[1]);
    let only = devices.len() == study.subjects.len() && study.plan.factors.is_empty();
    (!devices.is_empty() && only && once).then_some(devices)
}

/// What a host's figure is called: as in its record, where it is of that.
pub(crate) fn figure(study: &Study, measure: Measure) -> Option<String> {
    let figures = hosts(study).flat_map(|facts| facts.device.measured());
    let mut named = figures.filter(|f| f.info().is_ok_and(|info| info.measure == measure));
    named.next().map(|figure| printable(&figure.figure))
}

/// "CPU: nas" where there are several, else "CPU".
fn heading(study: &Study, heading: &str, facts: &BoxFacts) -> String {
    match hosts(study).nth(1) {
        Some(_) => format!("{heading}: {}", printable(&facts.label)),
        None => heading.to_owned(),
    }
}

/// What was found out about every host, for the terminal.
pub(crate) fn add_hosts(page: &mut Page, study: &Study) {
    for facts in hosts(study) {
        for section in sections(&facts.device) {
            terminal::add(page, &section, &heading(study, section.heading, facts));
        }
    }
}

/// The same on a page.
pub(crate) fn host_parts(study: &Study) -> Vec<Part> {
    let mut parts = Vec::new();
    for (number, facts) in hosts(study).enumerate() {
        let unique = |id: &str| match number {
            0 => format!("host-{id}"),
            n => format!("host-{id}-{}", n + 1),
        };
        for section in sections(&facts.device) {
            let mut part = super::paper::part(&section);
            part.id = unique(&part.id);
            part.heading = heading(study, &part.heading, facts);
            part.figures.iter_mut().for_each(|figure| figure.id = unique(&figure.id));
            // A page has its warnings in one place; those of a host stand with what they are about.
            part.claims.extend(section.warnings.iter().cloned());
            parts.push(part);
        }
    }
    parts
}

/// The hosts of two studies against each other, figure by figure, those in the same place.
pub(crate) fn compare_hosts(page: &mut Page, a: &Study, b: &Study) {
    for (a, b) in hosts(a).zip(hosts(b)) {
        page.heading(&format!("A: {}", super::subtitle(&a.device)));
        page.lines(&format!("B: {}\n", super::subtitle(&b.device)));
        compare::figures(page, &a.device, &b.device);
    }
}
