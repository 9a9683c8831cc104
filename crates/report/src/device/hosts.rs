//! The hosts of a study of several: their sections after the study's own, from its facts.

use super::{Host, compare, host, hosts, sections, terminal};
use crate::content::Part;
use crate::page::Page;
use crate::study::Shown;
use crate::text::printable;
use plimsoll_model::{Measure, Study, SubjectFacts};

/// The host of a study of nothing else, whose page is that of a device.
pub(crate) fn only<'a>(shown: &Shown<'a>) -> Option<Host<'a>> {
    let study = shown.study;
    if study.subjects.len() != 1 || !study.plan.factors.is_empty() {
        return None;
    }
    hosts(study, &shown.findings).pop()
}

/// What a host's figure is called: as in its facts, where it is of those.
pub(crate) fn figure(study: &Study, measure: Measure) -> Option<String> {
    let devices = study.subjects.iter().filter_map(SubjectFacts::host).map(|facts| &facts.device);
    let mut figures = devices.flat_map(|device| device.measured());
    let named = figures.find(|figure| host::measure(figure) == Some(measure));
    named.map(|figure| printable(&figure.figure))
}

/// "CPU: nas" where there are several, else "CPU".
fn heading(heading: &str, host: &Host<'_>, of: usize) -> String {
    match of {
        0 | 1 => heading.to_owned(),
        _ => format!("{heading}: {}", printable(&host.facts.label)),
    }
}

/// What was found out about every host, for the terminal.
pub(crate) fn add_hosts(page: &mut Page, shown: &Shown<'_>) {
    let hosts = hosts(shown.study, &shown.findings);
    for host in &hosts {
        for section in sections(host) {
            terminal::add(page, &section, &heading(section.heading, host, hosts.len()));
        }
    }
    for other in hosts.iter().skip(1) {
        compare::apart(page, &hosts[0], other);
    }
}

/// The same on a page.
pub(crate) fn host_parts(shown: &Shown<'_>) -> Vec<Part> {
    let mut parts = Vec::new();
    let hosts = hosts(shown.study, &shown.findings);
    for (number, host) in hosts.iter().enumerate() {
        let unique = |id: &str| match number {
            0 => format!("host-{id}"),
            n => format!("host-{id}-{}", n + 1),
        };
        for section in sections(host) {
            let mut part = super::paper::part(&section);
            part.id = unique(&part.id);
            part.heading = heading(&part.heading, host, hosts.len());
            part.figures.iter_mut().for_each(|figure| figure.id = unique(&figure.id));
            // A page has its warnings in one place; those of a host stand with what they are about.
            part.claims.extend(section.warnings.iter().cloned());
            parts.push(part);
        }
    }
    parts
}

/// What was measured in different ways on the hosts of two studies.
pub(crate) fn add_apart(page: &mut Page, a: &Shown<'_>, b: &Shown<'_>) {
    let (a, b) = (hosts(a.study, &a.findings), hosts(b.study, &b.findings));
    for (a, b) in a.iter().zip(&b) {
        compare::apart(page, a, b);
    }
}
